"""What a transaction still knows of the records that it wrote, when it comes to making the derived files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from ir.analysis import Analyzer, numbers_at_hand
from ir.analysis.counting import Column
from ir.store.local.faults import parsed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ir.base import Record

    Integers = NDArray[np.int64]

__all__ = ["Remembered"]

#: Of about so many records the metadata are kept at hand: some tens of megabytes, to spare reading them.
_MOST_FIELDS = 50_000
_NUMBER = np.dtype(np.int32)


class Remembered:
    """The metadata of the first records, and the terms of all whose embedder has just found them, by number.

    To find terms is a third of the work of a build, so it is not done twice. Those of a large corpus would fill the
    memory, so they wait in a file without a name.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder
        self._fields: dict[int, Mapping[str, Any]] = {}
        self._file: IO[bytes] | None = None
        # Of each record its number, where its terms end in the file, and which list has their names.
        self._records, self._ends, self._lists = Column(np.int64), Column(np.int64, [0]), Column(np.int64)
        self._names: list[tuple[str, list[str]]] = []

    def add(self, written: Mapping[int, Record], analyzer: Analyzer) -> None:
        """Take note of records that were written just now, with ascending numbers."""
        if len(self._fields) < _MOST_FIELDS:
            self._fields.update({number: record.metadata for number, record in written.items()})
        found = numbers_at_hand(analyzer, [(record.text, record.metadata) for record in written.values()])
        if found is not None:
            vocabulary, numbered = found
            self._keep(list(written), (analyzer.id, vocabulary.terms), numbered)

    def metadata(self, number: int, text: str) -> Mapping[str, Any]:
        """The metadata of a record, given as it is written too."""
        known = self._fields.get(number)
        if known is None:
            return {} if text == "{}" else parsed(text)
        return known

    def terms(self, numbers: Sequence[int], analyzer: Analyzer) -> tuple[list[str], list[NDArray[np.int32]]] | None:
        """The terms of the records, as places in a list of names; ``None`` unless all of them are in one such list."""
        if self._file is None:
            return None
        records = self._records.values
        at = np.minimum(records.searchsorted(numbers), len(records) - 1)
        lists = self._lists.values[at]
        if not (records[at] == numbers).all() or lists.min() != lists.max():
            return None
        found_by, names = self._names[int(lists[0])]
        if found_by != analyzer.id:
            return None
        starts, ends = self._ends.values[at], self._ends.values[at + 1]
        first = int(starts[0])
        self._file.seek(first * _NUMBER.itemsize)
        flat = np.frombuffer(self._file.read((int(ends[-1]) - first) * _NUMBER.itemsize), _NUMBER)
        places = zip((starts - first).tolist(), (ends - first).tolist(), strict=True)
        return names, [flat[start:end] for start, end in places]

    def close(self) -> None:
        if self._file is not None:
            with suppress(OSError):  # what is left to be written, on a full disk, is not needed any more
                self._file.close()
            self._file = None

    def _keep(self, records: Sequence[int], names: tuple[str, list[str]], numbered: Sequence[Integers]) -> None:
        if self._file is None:
            import tempfile  # takes longer to import than to open a corpus with

            self._file = tempfile.TemporaryFile(dir=self._folder)  # noqa: SIM115 - closed with the transaction
        if not self._names or self._names[-1][1] is not names[1]:
            self._names.append(names)
        self._file.write(np.concatenate(numbered).astype(_NUMBER).tobytes())
        self._records.append(np.array(records))
        self._ends.append(self._ends.values[-1] + np.cumsum([len(terms) for terms in numbered]))
        self._lists.append(np.full(len(records), len(self._names) - 1))
