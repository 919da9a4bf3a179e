"""The one document that says which version a corpus is in; changing it is what makes a transaction seen."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from ir.errors import FormatMismatch

__all__ = ["FORMAT", "NAME", "State"]

#: Raised whenever an older ``ir`` could misread what is written.
FORMAT = 1
NAME = "state"


@dataclass(frozen=True)
class State:
    """What is known of a version as a whole.

    ``made`` names the corpus, so that one that was dropped and made again is not taken for its predecessor. ``next`` is
    the number that the next attempt to commit gets. ``open`` are the numbers of attempts that did not get to their end,
    yet or ever: what rows say of those does not count. ``counts`` is how many keys each view has, ``dims`` the size of
    each space's vectors, ``content`` the sums that :mod:`ir.content` adds up. ``commits`` are the last versions and
    when they came; of those before ``swept`` not all rows are kept.
    """

    made: str = ""
    version: int = 0
    next: int = 1
    open: tuple[int, ...] = ()
    counts: dict[str, int] = field(default_factory=dict)
    dims: dict[str, int] = field(default_factory=dict)
    content: str = ""
    commits: tuple[tuple[int, float], ...] = ()
    swept: int = 0

    @classmethod
    def of(cls, document: dict[str, Any] | None, label: str) -> State:
        """The state that a document tells; that of an empty corpus for ``None``."""
        if document is None:
            return cls()
        if document.get("format") != FORMAT:
            raise FormatMismatch(
                f"The corpus at {label} has format {document.get('format')}; this version of ir reads {FORMAT}.",
                remedy="Upgrade ir-substrate, or build the corpus under another name.",
            )
        return cls(
            document["made"],
            int(document["version"]),
            int(document["next"]),
            tuple(map(int, document["open"])),
            # Names of spaces may hold dots, which are paths where they name fields: so these are pairs.
            {name: int(count) for name, count in document["counts"]},
            {name: int(dim) for name, dim in document["dims"]},
            document["content"],
            tuple((int(version), float(at)) for version, at in document["commits"]),
            int(document["swept"]),
        )

    @property
    def label(self) -> str:
        """Names the version among all that there ever were."""
        return f"{self.made}-{self.version}" if self.version else "0"

    def told(self) -> dict[str, Any]:
        """The fields of the document, but for its name and its writer."""
        fields = asdict(self)
        for name in ("counts", "dims"):
            fields[name] = [[key, value] for key, value in sorted(fields[name].items())]
        fields["commits"] = [list(commit) for commit in self.commits]
        fields["open"] = list(self.open)
        return {**fields, "format": FORMAT}
