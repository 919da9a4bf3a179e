"""What may be written into a corpus, whatever keeps it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ir.base import Record, json_clean, storable
from ir.errors import InvalidInput

if TYPE_CHECKING:
    from ir.base import Vector

__all__ = [
    "MAIN_SPACE",
    "clean_record",
    "clean_records",
    "clean_settings",
    "clean_vectors",
    "common_dimension",
    "fits",
    "mixed_dimensions",
    "mode_key",
    "space_name",
    "unknown_space",
]

#: The space of vectors that every corpus begins with.
MAIN_SPACE = "main"
_SPACE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,59}")


def clean_record(record: Record) -> Record:
    """The record as stores keep it: a finite float32 vector of its own, metadata in JSON's types, storable texts."""
    for name in ("id", "artifact_id", "surface_kind", "text"):
        if not isinstance(getattr(record, name), str):
            raise InvalidInput(f"A record's {name} must be a string, not {getattr(record, name)!r}.")
    if not record.id:
        raise InvalidInput("A record needs an id that is not empty.", remedy="Make one with Record.make_id().")
    vector = np.array(record.vector, dtype=np.float32)
    if vector.ndim != 1:
        raise InvalidInput(
            f"The vector of record {record.id!r} has the shape {vector.shape}; a record's vector is one row."
        )
    if not np.isfinite(vector).all():
        raise InvalidInput(
            f"The vector of record {record.id!r} holds values that are not finite.",
            remedy="Look at what the embedder returns for its text.",
        )
    return Record(
        id=storable(record.id),
        artifact_id=storable(record.artifact_id),
        surface_kind=storable(record.surface_kind),
        surface_index=int(record.surface_index),
        text=storable(record.text),
        vector=vector,
        metadata=json_clean(record.metadata),
    )


def clean_records(records: Sequence[Record]) -> list[Record]:
    """:func:`clean_record` of each, with one look at all the vectors where nothing is wrong with any."""
    try:
        matrix = np.array([record.vector for record in records], dtype=np.float32)
    except (TypeError, ValueError):
        return [clean_record(record) for record in records]
    if matrix.ndim != 2 or not np.isfinite(matrix).all() or not all(map(_is_named, records)):
        return [clean_record(record) for record in records]
    return [
        Record(
            storable(record.id),
            storable(record.artifact_id),
            storable(record.surface_kind),
            int(record.surface_index),
            storable(record.text),
            vector,
            json_clean(record.metadata),
        )
        for record, vector in zip(records, matrix, strict=True)
    ]


def _is_named(record: Record) -> bool:
    texts = (record.artifact_id, record.surface_kind, record.text)
    return type(record.id) is str and bool(record.id) and all(type(text) is str for text in texts)


def common_dimension(records: Sequence[Record]) -> int:
    """The one dimension of the records' vectors; an error that names two of them if they differ."""
    first = records[0]
    for record in records:
        if len(record.vector) != len(first.vector):
            raise mixed_dimensions(record.id, len(record.vector), len(first.vector), f"record {first.id!r}")
    return len(first.vector)


def mixed_dimensions(record_id: str, found: int, dimension: int, others: str) -> InvalidInput:
    return InvalidInput(
        f"The vector of record {record_id!r} has {found} dimensions, that of {others} {dimension}: "
        "one space holds vectors of one model.",
        remedy="Add a space for the other model, or delete the records first.",
    )


def fits(vector: Any, dim: int | None) -> None:
    """Refuse a query vector that is not of the corpus's dimension."""
    if dim is not None and vector.shape != (dim,):
        raise InvalidInput(
            f"The query vector has the shape {vector.shape}, but the corpus holds vectors of {dim} dimensions.",
            remedy="Embed queries with the model that embedded the records.",
        )


def clean_vectors(vectors: Mapping[str, Any]) -> dict[str, Vector]:
    """Vectors by record id as stores keep them: finite rows of single precision, all of one dimension."""
    records = [Record(record_id, "", "", 0, "", vector) for record_id, vector in vectors.items()]
    cleaned = clean_records(records)
    common_dimension(cleaned)
    return {record.id: record.vector for record in cleaned}


def space_name(name: Any) -> str:
    """``name`` if it can name a space of vectors (and a table or a folder, in stores that keep one for each)."""
    if isinstance(name, str) and _SPACE.fullmatch(name):
        return name
    raise InvalidInput(
        f"A space of vectors cannot be called {name!r}.",
        remedy="Use up to 60 letters, digits, dots, dashes and underscores, beginning with a letter or a digit.",
    )


def unknown_space(name: Any, known: Iterable[str]) -> InvalidInput:
    spaces = ", ".join(repr(space) for space in sorted(known))
    return InvalidInput(f"There is no space {name!r} of vectors in this corpus; there are: {spaces}.")


def clean_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """A corpus's settings in JSON's types; a language that cannot be analysed is an error now, not at a search."""
    out: dict[str, Any] = json_clean(settings)
    if "language" in out:
        from ir.analysis import analyzer_for

        analyzer_for(out["language"])
    return out


def mode_key(mode: str) -> str:
    """``mode`` if it can name a calibration (and a file, in stores that keep one for each)."""
    if not isinstance(mode, str) or not mode.strip() or "/" in mode or "\\" in mode:
        raise InvalidInput(
            f"A calibration's mode must be a string that is not empty and has no path separator, not {mode!r}.",
            remedy="Use a search mode such as 'dense', 'lexical' or 'hybrid'.",
        )
    return storable(mode)
