"""What a build did, and what it could not do."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields
from typing import Any, NamedTuple

from ir.protocols import WithWhyEmpty

__all__ = ["BuildReport", "Problem"]


class Problem(NamedTuple):
    """An artifact that a build left as it was, and why; or a remark about one that it took."""

    id: str
    reason: str


@dataclass(repr=False)
class BuildReport:
    """``added`` to ``unchanged`` hold artifact ids; ``records`` counts what the store holds now, ``embedded`` and
    ``reused`` count texts.

    ``skipped`` could not be read, ``failed`` could not be taken apart; what the index held of them, it still holds.
    Files that a rule leaves out (too large, a link out of the folder) are ``skipped`` too, and leave the index.
    ``empty`` counts the added or changed artifacts in which there was no text to rank. ``cut`` counts their texts that
    are longer than the embedder reads, by estimate where it does not count tokens itself: the vector of such a text is
    of its beginning only, and the rest is found by words alone. ``notes`` are sentences about the whole: why the corpus
    is empty, if it is; ``remarks`` say of single items how they were read. ``floor`` is the score below which a query
    is refused as off topic where nobody calibrated
    another; ``None`` if there is none. ``edges`` counts those that were drawn, ``self_edges`` those of them that lead
    back to where they start, ``relinked`` the items that did not change but use a name whose meaning did, and
    ``unembedded`` the records without a vector in each space that lacks some.
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
    notes: list[str] = field(default_factory=list)
    remarks: list[Problem] = field(default_factory=list)
    floor: float | None = None
    edges: int = 0
    self_edges: int = 0
    relinked: int = 0
    unembedded: dict[str, int] = field(default_factory=dict)

    def __repr__(self) -> str:
        """How many of each, not which."""
        values = ((one.name, getattr(self, one.name)) for one in fields(self))
        told = (f"{name}={len(value) if isinstance(value, list) else value!r}" for name, value in values)
        return f"BuildReport({', '.join(told)})"

    def to_dict(self) -> dict[str, Any]:
        """The report in JSON's types only."""
        out = asdict(self)
        for name in ("skipped", "failed", "remarks"):
            out[name] = [problem._asdict() for problem in getattr(self, name)]
        return out

    def why_empty(self, name: str, scope: object) -> str:
        """What to know of a corpus of that name without records."""
        problems = [*self.failed, *self.skipped]
        if problems:
            items = "1 item" if len(problems) == 1 else f"{len(problems):,} items"
            first = f"{problems[0].id!r}: {problems[0].reason.rstrip('.')}"
            return f"The corpus {name!r} is empty: {items} could not be taken in, among them {first}."
        reason = scope.why_empty() if isinstance(scope, WithWhyEmpty) else None
        if reason:
            return f"The corpus {name!r} is empty: {reason}."
        return f"The corpus {name!r} is empty; look at what its source holds, and build again."
