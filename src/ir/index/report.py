"""What a build did, and what it could not do."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

__all__ = ["BuildReport", "Problem"]


class Problem(NamedTuple):
    """An artifact that a build left as it was, and why."""

    id: str
    reason: str


@dataclass
class BuildReport:
    """``added`` to ``unchanged`` hold artifact ids; ``records`` counts what the store holds now, ``embedded`` and
    ``reused`` count texts.

    ``skipped`` could not be read, ``failed`` could not be taken apart; what the index held of them, it still holds.
    Files that a rule leaves out (too large, a link out of the folder) are ``skipped`` too, and leave the index.
    ``empty`` counts the added or changed artifacts in which there was no text to rank. ``cut`` counts their texts that
    are longer than the embedder reads, by estimate where it does not count tokens itself: the vector of such a text is
    of its beginning only, and the rest is found by words alone.
    """

    added: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)
    empty: int = 0
    cut: int = 0
    records: int = 0
    embedded: int = 0
    reused: int = 0
    skipped: list[Problem] = field(default_factory=list)
    failed: list[Problem] = field(default_factory=list)
    seconds: float = 0.0
    version: str = ""

    def to_dict(self) -> dict[str, Any]:
        """The report in JSON's types only."""
        out = asdict(self)
        for name in ("skipped", "failed"):
            out[name] = [problem._asdict() for problem in getattr(self, name)]
        return out
