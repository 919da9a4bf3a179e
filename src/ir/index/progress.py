"""How far a long operation is, how long the rest of it takes, told to whoever listens."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple, Self

__all__ = ["Estimate", "Listener", "Pace", "Progress", "Ticker"]

_EVERY_S = 0.05


@dataclass(frozen=True)
class Estimate:
    """What embedding is going to take: told once, before it begins, where that is long.

    ``faster`` is an embedder that takes less time for the same, ``faster_s`` how much; ``None`` if there is none.
    """

    embedder: str
    texts: int
    seconds: float
    faster: str | None = None
    faster_s: float | None = None


class _Place(NamedTuple):
    stage: str
    done: int
    total: int | None


class Progress(_Place):
    """How far a stage is. As a tuple it is ``(stage, done, total)``; ``total`` is ``None`` where nobody can know it.

    ``about`` if the total is itself an estimate. ``unit`` is what is counted, ``rate`` how many of it a second,
    ``left_s`` how many seconds are left, ``part`` which of several things it is about. ``estimate`` comes once, with
    the first step of a long embedding.

    >>> step = Progress("embed", 10, 40, unit="texts", left_s=3.0)
    >>> step == ("embed", 10, 40), Progress.from_dict(step.to_dict()).left_s
    (True, 3.0)
    """

    about: bool
    unit: str
    rate: float | None
    left_s: float | None
    part: str
    estimate: Estimate | None

    def __new__(
        cls,
        stage: str,
        done: int,
        total: int | None,
        *,
        about: bool = False,
        unit: str = "",
        rate: float | None = None,
        left_s: float | None = None,
        part: str = "",
        estimate: Estimate | None = None,
    ) -> Self:
        made = super().__new__(cls, stage, done, total)
        made.about, made.unit, made.part = about, unit, part
        made.rate, made.left_s, made.estimate = rate, left_s, estimate
        return made

    @property
    def ended(self) -> bool:
        return self.total is not None and not self.about and self.done >= self.total

    def but(self, **changes: Any) -> Progress:
        """The same step with other details."""
        return Progress(*self, **{**vars(self), **changes})

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        estimate = None if self.estimate is None else asdict(self.estimate)
        return {**self._asdict(), **vars(self), "estimate": estimate}

    @classmethod
    def from_dict(cls, told: Mapping[str, Any]) -> Progress:
        estimate = told.get("estimate")
        return cls(**{**told, "estimate": None if estimate is None else Estimate(**estimate)})


Listener = Callable[[Progress], None]


class Pace:
    """How fast work is being done, by its latest half a minute: a machine may slow down, and a cache run out."""

    WINDOW_S = 30.0
    #: Less than this proves nothing.
    LEAST_S = 0.5
    _BETWEEN_S = 0.25

    def __init__(self, work: float = 0.0, now: float | None = None) -> None:
        self._now = (time.monotonic() if now is None else now, work)
        self._marks = deque([self._now])

    def done(self, work: float, now: float | None = None) -> None:
        """So much was done in all."""
        self._now = (time.monotonic() if now is None else now, work)
        if self._now[0] - self._marks[-1][0] < self._BETWEEN_S:
            return
        self._marks.append(self._now)
        while len(self._marks) > 2 and self._now[0] - self._marks[1][0] >= self.WINDOW_S:
            self._marks.popleft()

    @property
    def rate(self) -> float | None:
        """Work a second; ``None`` while too little is known."""
        (began, before), (now, work) = self._marks[0], self._now
        return (work - before) / (now - began) if now - began >= self.LEAST_S and work > before else None


class Ticker:
    """Tells a listener about one stage at most twenty times a second, and always at its end.

    Where the things that are counted differ in what they cost, ``work`` says so: the time left is that of the work.
    """

    def __init__(
        self,
        listener: Listener | None,
        stage: str,
        total: int | None = None,
        *,
        unit: str = "",
    ) -> None:
        self._listener = listener
        self._stage = stage
        self._total = total
        self._unit = unit
        self._about = False
        self._done = 0
        self._work = 0.0
        self._all_work: float | None = None if total is None else float(total)
        self._next = 0.0
        self._assumed: float | None = None
        self.start()

    @property
    def heard(self) -> bool:
        """Whether anybody listens."""
        return self._listener is not None

    def start(self) -> None:
        """What came before now is not part of the pace."""
        self._pace, self._counts = Pace(self._work), Pace(self._done)

    def assume(self, rate: float) -> None:
        """Work a second, by a sample: it holds until more is known."""
        self._assumed = rate

    def expect(self, total: int | None, *, work: float | None = None, about: bool = False) -> None:
        """How much there is in all, as far as that is known by now."""
        self._total, self._about = total, about
        self._all_work = work if work is not None or total is None else float(total)

    def tick(self, count: int = 1, *, work: float | None = None) -> None:
        self._done += count
        self._work += count if work is None else work
        if self._listener is None:
            return
        now = time.monotonic()
        if now >= self._next:
            self._next = now + _EVERY_S
            self._pace.done(self._work, now)
            self._counts.done(self._done, now)
            self.tell()

    def tell(self, estimate: Estimate | None = None) -> None:
        """Say how far it is now."""
        if self._listener is None:
            return
        left_s = None if estimate is None else estimate.seconds
        rate = self._pace.rate or self._assumed
        if left_s is None and rate and self._all_work is not None:
            left_s = max(0.0, self._all_work - self._work) / rate
        total = None if self._total is None else max(self._total, self._done)
        self._listener(
            Progress(
                self._stage,
                self._done,
                total,
                about=self._about,
                unit=self._unit,
                rate=self._counts.rate,
                left_s=left_s,
                estimate=estimate,
            )
        )

    def reach(self, done: int, total: int | None) -> None:
        """So much is done, of so much."""
        self.expect(total)
        self.tick(done - self._done)

    def follow(self) -> Listener:
        """A listener for something that is part of this stage: what is done there is done here."""
        before = self._done
        return lambda step: self.tick(before + step.done - self._done)

    def end(self) -> None:
        self.expect(self._done, work=self._work)
        self.tell()
