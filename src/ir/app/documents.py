"""An artifact as a text with numbered lines, put together again from what is indexed of it.

Nothing is read but the index: lines are those that a search cites, and no path leads anywhere else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ir.base import POINTER_KEYS, Record, heading_of
from ir.secrets.texts import for_show

if TYPE_CHECKING:
    from ir.protocols import Store

__all__ = ["Document", "document_of", "numbered", "tokens_of"]

#: So many bytes are taken for a token. Prose has 3.5 to 4.5, code 3 to 4; tables and numbers have fewer, but by no
#: tokenizer that was tried does a page of ours have a seventh more tokens than this says.
BYTES_PER_TOKEN = 3.0


def tokens_of(text: str) -> int:
    """About how many tokens a text has, rather too many than too few.

    >>> tokens_of("twelve bytes"), tokens_of("")
    (4, 0)
    """
    return -int(-len(text if text.isascii() else text.encode("utf-8", "surrogatepass")) // BYTES_PER_TOKEN)


@dataclass(frozen=True)
class Document:
    """The lines of an artifact, with the number of the first: a text may begin below its front matter.

    ``cited``: the numbers are those of lines in a file. ``records`` are what it was made of, in order.
    """

    artifact_id: str
    lines: tuple[str, ...]
    first: int = 1
    path: str | None = None
    title: str = ""
    cited: bool = False
    records: tuple[Record, ...] = field(default=(), repr=False)

    @property
    def last(self) -> int:
        return self.first + len(self.lines) - 1

    def between(self, first: int, last: int) -> Sequence[str]:
        """The lines of these numbers, as far as there are any."""
        return self.lines[max(first - self.first, 0) : max(last - self.first + 1, 0)]


def document_of(entry: Mapping[str, Any], store: Store) -> Document:
    """The artifact of a ledger's entry, with stars for the keys in it."""
    wanted = [str(record_id) for record_id in entry.get("record_ids", ())]
    records = sorted(store.get_records(wanted), key=lambda record: record.surface_index)
    placed = [record for record in records if isinstance(record.metadata.get("start"), int)]
    text, first = _joined(placed) if placed else ("\n\n".join(record.text for record in records), None)
    metadata = records[0].metadata if records else {}
    path = next((str(metadata[key]) for key in POINTER_KEYS if metadata.get(key)), None)
    lines = tuple(str(for_show(text)).split("\n"))
    artifact_id = str(entry.get("artifact_id", ""))
    title = heading_of({"title": metadata.get("title")})
    return Document(artifact_id, lines, first or 1, path, title, first is not None, tuple(records))


def _joined(records: Sequence[Record]) -> tuple[str, int | None]:
    """The texts of chunks as the one they were cut from, and its first line where that is known.

    What was trimmed between two chunks is white space, of which only the ends of lines count.
    """
    text, reach, line = "", 0, None
    first = records[0].metadata.get("line_start")
    known = isinstance(first, int)
    for record in sorted(records, key=lambda one: (one.metadata["start"], -len(one.text))):
        start, begins = int(record.metadata["start"]), record.metadata.get("line_start")
        if not text:
            text, reach, line = record.text, start + len(record.text), first if known else None
            continue
        shared = reach - start
        if shared >= len(record.text):
            continue
        if shared < 0:
            here = (line or 1) + text.count("\n")
            missing = begins - here if known and isinstance(begins, int) else 1
            text += "\n" * max(missing, 0) or " "
        text += record.text[max(shared, 0) :]
        reach = start + len(record.text)
    return text, first if known else None


def numbered(lines: Sequence[str], first: int) -> str:
    """Lines with their numbers before them.

    >>> print(numbered(["tea", "bread"], 9))
     9  tea
    10  bread
    """
    width = len(str(first + max(len(lines) - 1, 0)))
    return "\n".join(f"{number:>{width}}  {line}" for number, line in enumerate(lines, start=first))
