"""Records as rows of a Milvus collection, and back."""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ir.base import Record, Row
from ir.errors import InvalidInput
from ir.store.bm25 import rounded_lengths, term_weights
from ir.store.milvus.paths import readable
from ir.store.milvus.schema import ALIVE, LONGEST

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "CARRIED_FIELDS",
    "ROW_FIELDS",
    "STORED_FIELDS",
    "VECTOR_FIELDS",
    "decode_record",
    "decode_row",
    "decode_vector",
    "encode",
    "encode_vector",
    "mark_of",
    "marked",
    "pages_of",
    "slot_of",
]

ROW_FIELDS = ("id", "artifact", "kind", "body", "pages")
STORED_FIELDS = ("mark", "born", "died", *ROW_FIELDS, "length", "meta", "sparse")
#: What a vector's row has of its record's: filters and groups are decided where the search is.
CARRIED_FIELDS = ("mark", "artifact", "kind", "meta")
VECTOR_FIELDS = ("born", "died", *CARRIED_FIELDS, "scale", "dense")
#: A sparse vector may not be empty on every version of Milvus; no term has this slot.
_NOTHING = {0: 1e-6}
_LARGEST, _SMALLEST = 1e12, 1e-12
_PAGE = LONGEST - 535
#: How many keys one expression names.
_MARKS = 1000


@lru_cache(maxsize=500_000)
def slot_of(term: str) -> int:
    """The dimension of a term in sparse vectors: 32 bits of a hash.

    Two of a million terms share one with a chance of about one in 4,000 for a given term; their counts then add up.
    """
    return (
        int.from_bytes(hashlib.blake2b(term.encode("utf-8", "surrogatepass"), digest_size=8).digest()) % (2**32 - 3) + 1
    )


def mark_of(*parts: str) -> str:
    """A hash that stands for a key in expressions, where its own characters might not be safe."""
    return hashlib.blake2b("\x00".join(parts).encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def marked(marks: Sequence[str], field: str = "mark") -> Iterator[str]:
    """Expressions that together hold for the rows with one of the marks."""
    for start in range(0, len(marks), _MARKS):
        names = ", ".join(f'"{mark}"' for mark in marks[start : start + _MARKS])
        yield f"{field} in [{names}]"


def encode(
    record: Record | Row, terms: Sequence[str], *, ref: int, born: int, kind: int, pivot: float
) -> dict[str, Any]:
    """The row of a record; its body may be longer than a field allows, see :func:`pages_of`."""
    for name in ("id", "artifact_id"):
        if len(getattr(record, name).encode("utf-8", "surrogatepass")) > LONGEST:
            raise InvalidInput(f"The {name} of record {record.id[:60]!r}… is longer than the {LONGEST} bytes allowed.")
    body = json.dumps([record.surface_index, record.text, record.metadata], ensure_ascii=False, separators=(",", ":"))
    return {
        "ref": ref,
        "mark": mark_of(record.id),
        "born": born,
        "died": ALIVE,
        "id": record.id,
        "artifact": record.artifact_id,
        "kind": kind,
        "length": len(terms),
        "body": body,
        "pages": 1,
        "meta": readable(record.metadata),
        "sparse": _sparse(terms, pivot),
    }


def encode_vector(row: Mapping[str, Any], vector: NDArray[np.float32], born: int) -> dict[str, Any]:
    """The row of a vector, for the row of its record: it has the same ref."""
    scale = _scale_of(vector)
    # Milvus knows no vectors of fewer than two numbers; a zero more changes no cosine.
    padded = np.zeros(max(len(vector), 2), dtype=np.float32)
    padded[: len(vector)] = np.ldexp(vector.astype(np.float64), -scale)
    carried = {name: row[name] for name in CARRIED_FIELDS}
    return {"ref": int(row["ref"]), "born": born, "died": ALIVE, **carried, "scale": scale, "dense": padded}


def decode_vector(row: Mapping[str, Any], dim: int) -> NDArray[np.float32]:
    vector: NDArray[np.float32] = np.ldexp(np.asarray(row["dense"][:dim], dtype=np.float64), int(row["scale"])).astype(
        np.float32
    )
    return vector


def pages_of(text: str) -> list[str]:
    """The text in pieces of as many bytes as a field takes.

    >>> [len(page) for page in pages_of("é" * 40_000)]
    [32500, 7500]
    """
    data = text.encode("utf-8", "surrogatepass")
    if len(data) <= _PAGE:
        return [text]
    return list(_cut(data))


def decode_row(row: Mapping[str, Any], kinds: Mapping[int, str], body: str) -> Row:
    index, text, metadata = json.loads(body)
    return Row(row["id"], row["artifact"], kinds[int(row["kind"])], index, text, metadata)


def decode_record(
    row: Mapping[str, Any], kinds: Mapping[int, str], body: str, vector: NDArray[np.float32] | None
) -> Record:
    return Record(
        **decode_row(row, kinds, body)._asdict(), vector=np.empty(0, dtype=np.float32) if vector is None else vector
    )


def _sparse(terms: Sequence[str], pivot: float) -> dict[int, float]:
    """The BM25 weight of each term, before its idf, as if ``pivot`` were the average length of a document."""
    if not terms:
        return dict(_NOTHING)
    counts: Counter[int] = Counter(map(slot_of, terms))
    length = rounded_lengths([len(terms)]).astype(np.float64)
    weights = term_weights(np.fromiter(counts.values(), np.float64, len(counts)), length, pivot)
    return dict(zip(counts, weights.tolist(), strict=True))


def _scale_of(vector: NDArray[np.float32]) -> int:
    """The power of two that brings a vector's length near one, 0 for ordinary lengths.

    Milvus squares in single precision, where the squares of very large and very small numbers are lost.
    """
    largest = float(np.abs(vector).max(initial=0.0))
    return 0 if largest == 0 or _SMALLEST < largest < _LARGEST else math.frexp(largest)[1]


def _cut(data: bytes) -> Iterator[str]:
    start = 0
    while start < len(data):
        end = min(start + _PAGE, len(data))
        while end < len(data) and data[end] & 0xC0 == 0x80:
            end -= 1
        yield data[start:end].decode("utf-8", "surrogatepass")
        start = end
