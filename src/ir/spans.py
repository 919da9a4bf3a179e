"""How long is `6h`, and when was `7d` ago? Spans of time and moments as people write them."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from ir.errors import InvalidInput

__all__ = ["Moment", "moment", "span", "told_seconds", "told_span"]

#: A date, a moment, a span before now (``"7d"``), or a number of days before now.
Moment = str | date | datetime | int | float

_UNITS = {"m": timedelta(minutes=1), "h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1)}
_WORDS = {"hourly": "1h", "daily": "1d", "weekly": "1w", "monthly": "30d"}
_SPAN = re.compile(r"(\d+(?:\.\d+)?)\s*([mhdw])")


def span(text: object) -> timedelta:
    """A span of time from minutes, hours, days or weeks, or from a word such as ``daily``.

    >>> span("6h"), span("weekly")
    (datetime.timedelta(seconds=21600), datetime.timedelta(days=7))
    """
    found = _as_span(text) if isinstance(text, str) else None
    if not found:
        raise InvalidInput(
            f"{text!r} is no span of time.",
            remedy=f"Write for instance 30m, 6h, 7d or 2w, or one of {', '.join(_WORDS)}.",
        )
    return found


def told_span(length: timedelta) -> str:
    """A span as :func:`span` takes it, in the largest unit that it is a whole number of; minutes are the smallest.

    >>> told_span(timedelta(hours=6)), told_span(timedelta(days=14)), told_span(timedelta(minutes=90))
    ('6h', '2w', '90m')
    """
    unit = next((unit for unit in "wdh" if length and not length % _UNITS[unit]), "m")
    return f"{round(length / _UNITS[unit])}{unit}"


def told_seconds(seconds: float) -> str:
    """A time to wait, as exactly as it is worth knowing.

    >>> told_seconds(0.2), told_seconds(41.7), told_seconds(100), told_seconds(1500), told_seconds(8000)
    ('1 s', '42 s', '1 min 40 s', '25 min', '2 h 13 min')
    """
    whole = max(1, round(seconds))
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 5:
        tens = rest // 10 * 10
        return f"{minutes} min {tens} s" if tens else f"{minutes} min"
    hours, minutes = divmod(round(whole / 60), 60)
    if not hours:
        return f"{minutes} min"
    return f"{hours} h {minutes} min" if minutes else f"{hours} h"


def moment(value: Moment, *, now: datetime | None = None) -> datetime:
    """The moment that a value stands for. A date is its first instant, and local time is meant where no zone is said.

    >>> at = datetime(2026, 5, 8, 12, tzinfo=UTC)
    >>> moment("7d", now=at).isoformat(), moment("2026-05-01T10:00Z").isoformat()
    ('2026-05-01T12:00:00+00:00', '2026-05-01T10:00:00+00:00')
    """
    present = now or datetime.now(UTC)
    try:
        found = _moment(value, present)
    except (ValueError, OverflowError):
        found = None
    if found is None:
        raise InvalidInput(
            f"{value!r} is no date and no span of time.",
            remedy="Write a date such as 2026-05-01, or how long ago: 12h, 7d, 2w.",
        )
    return found if found.tzinfo else found.astimezone()


def _moment(value: Any, now: datetime) -> datetime | None:
    if isinstance(value, datetime):
        return value
    if isinstance(value, date):
        return datetime.combine(value, time())
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return now - timedelta(days=value)
    if not isinstance(value, str):
        return None
    ago = _as_span(value)
    return now - ago if ago else datetime.fromisoformat(value.strip())


def _as_span(text: str) -> timedelta | None:
    word = text.strip().lower()
    matched = _SPAN.fullmatch(_WORDS.get(word, word))
    try:
        return float(matched[1]) * _UNITS[matched[2]] if matched else None
    except OverflowError:
        return None
