"""What may be written into a corpus, whatever keeps it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ir.base import Record, json_clean, storable
from ir.errors import InvalidInput

__all__ = ["clean_edges", "clean_record", "clean_records", "clean_settings", "common_dimension", "fits", "mode_key"]


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
            raise mixed_dimensions(record, len(first.vector), f"record {first.id!r}")
    return len(first.vector)


def mixed_dimensions(record: Record, dimension: int, others: str) -> InvalidInput:
    return InvalidInput(
        f"The vector of record {record.id!r} has {len(record.vector)} dimensions, that of {others} {dimension}: "
        "one store holds vectors of one model.",
        remedy="Delete the records of the other model first, or use another store.",
    )


def fits(vector: Any, dim: int | None) -> None:
    """Refuse a query vector that is not of the corpus's dimension."""
    if dim is not None and vector.shape != (dim,):
        raise InvalidInput(
            f"The query vector has the shape {vector.shape}, but the corpus holds vectors of {dim} dimensions.",
            remedy="Embed queries with the model that embedded the records.",
        )


def clean_edges(edges: Mapping[str, Any]) -> dict[str, list[Any]]:
    """Edges as stores keep them: JSON's types, edge types without targets left out.

    >>> clean_edges({"ref": ["b", ("other", "c")], "next": []})
    {'ref': ['b', ['other', 'c']]}
    """
    out: dict[str, list[Any]] = {}
    for edge_type, targets in edges.items():
        if isinstance(targets, (str, bytes, Mapping)) or not hasattr(targets, "__iter__"):
            raise InvalidInput(f"The edges of type {edge_type!r} must be a list of targets, not {targets!r}.")
        cleaned = [json_clean(target) for target in targets]
        if cleaned:
            out[storable(str(edge_type))] = cleaned
    return out


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
