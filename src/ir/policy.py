"""How often is a corpus looked after? What its owner asked for, and when it was last done."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from ir.config import data_dir
from ir.config.files import file_lock, write_atomic
from ir.errors import InvalidInput
from ir.options import choice
from ir.spans import span, told_span

__all__ = ["Done", "Policy"]

CHANGED, OUTDATED, NEVER = "changed", "outdated", "never"
_HOURS = re.compile(r"(\d{1,2})-(\d{1,2})")
_DAY = 24


@dataclass(frozen=True)
class Policy:
    """What maintenance may do to a corpus, and when.

    ``refresh``: ``"changed"`` looks for changes in the source at every run, a span such as ``"6h"`` no more often than
    that, ``"never"`` leaves it to you. ``calibrate``: ``"outdated"`` makes floors again that are for another embedder,
    a span does so also for older ones if the corpus changed since, ``"never"`` leaves them. ``hours``: only between
    these hours of the day, such as ``"22-6"``.

    >>> Policy.of({"refresh": "6h", "calibrate": "weekly"}).to_dict()
    {'refresh': '6h', 'calibrate': '1w'}
    """

    refresh: str = CHANGED
    calibrate: str = OUTDATED
    hours: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "refresh", _rule("refresh", self.refresh, CHANGED))
        object.__setattr__(self, "calibrate", _rule("calibrate", self.calibrate, OUTDATED))
        if self.hours is not None:
            _hours(self.hours)

    @classmethod
    def of(cls, given: Mapping[str, Any] | None) -> Policy:
        """The policy that an entry of the registry holds; the default one without any."""
        if given is None:
            return cls()
        if not isinstance(given, Mapping):
            raise InvalidInput(f"A maintenance policy is a mapping such as {{'refresh': '6h'}}, not {given!r}.")
        for name in given:
            choice("part of a maintenance policy", name, cls.__dataclass_fields__)
        return cls(**given)

    def to_dict(self) -> dict[str, str]:
        """What differs from the default."""
        plain = Policy()
        return {name: value for name, value in vars(self).items() if value != getattr(plain, name)}

    def pause(self, now: datetime) -> str | None:
        """Why nothing is to be done at this hour, if so."""
        if self.hours is None:
            return None
        first, last = _hours(self.hours)
        inside = first <= now.hour < last if first < last else now.hour >= first or now.hour < last
        return None if inside else f"only between {first:02}:00 and {last:02}:00, by its policy"

    def wait(self, rule: str, last: datetime | None, now: datetime) -> str | None:
        """Why what was last done then is not due yet, if so; ``rule`` is ``refresh`` or ``calibrate``."""
        asked = getattr(self, rule)
        if asked == NEVER:
            return "never, by its policy"
        if asked in (CHANGED, OUTDATED) or last is None:
            return None
        left = last + span(asked) - now
        # A moment in the future is a clock that was wrong once.
        if left <= timedelta(0) or last > now:
            return None
        return f"every {asked}, by its policy; due in {told_span(max(left, timedelta(minutes=1)))}"

    @property
    def is_timed(self) -> bool:
        """Whether it has to be known when something was done."""
        return self.refresh not in (CHANGED, NEVER) or self.calibrate not in (OUTDATED, NEVER)


def _rule(name: str, value: object, default: str) -> str:
    if value in (default, NEVER):
        return str(value)
    try:
        return told_span(span(value))
    except InvalidInput as error:
        raise InvalidInput(
            f"{name} cannot be {value!r}.", remedy=f"Use {default!r}, {NEVER!r} or a span such as '6h' or 'weekly'."
        ) from error


def _hours(text: object) -> tuple[int, int]:
    matched = _HOURS.fullmatch(text) if isinstance(text, str) else None
    if matched is not None:
        first, last = int(matched[1]) % _DAY, int(matched[2])
        if first != last % _DAY and int(matched[1]) <= _DAY and last <= _DAY:
            return first, last
    raise InvalidInput(f"hours cannot be {text!r}.", remedy="Write two different hours of the day, such as 22-6.")


class Done:
    """When what was last done for which corpus, in a file of this machine.

    Nothing else depends on the file: if it is lost or cannot be read, everything is due once more.
    """

    def __init__(self) -> None:
        self._path = data_dir() / "maintenance.json"

    def about(self, corpus: str) -> dict[str, str]:
        """What is written about a corpus."""
        about = self._load().get(corpus)
        return {str(key): str(value) for key, value in about.items()} if isinstance(about, dict) else {}

    def when(self, corpus: str, task: str) -> datetime | None:
        """When a task was last done, with its zone; ``None`` if it never was."""
        with suppress(KeyError, ValueError):
            found = datetime.fromisoformat(self.about(corpus)[task])
            return found if found.tzinfo else found.astimezone()
        return None

    def note(self, corpus: str, **said: str) -> None:
        """Write something about a corpus."""
        with file_lock(self._path):
            whole = self._load()
            whole[corpus] = {**self.about(corpus), **said}
            write_atomic(self._path, json.dumps(whole, indent=2, ensure_ascii=False, sort_keys=True) + "\n")

    def _load(self) -> dict[str, Any]:
        try:
            found = json.loads(self._path.read_text("utf-8"))
        except (OSError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}
