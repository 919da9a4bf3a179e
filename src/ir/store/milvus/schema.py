"""The collections of a corpus: its state, keyed values, records, edges, and one for each space of vectors."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from typing import Any

from ir.store.milvus.connection import Connection

__all__ = ["ALIVE", "LONGEST", "Collections", "visible"]

#: ``died`` of a row that has not.
ALIVE = 2**62
#: The most bytes of one VARCHAR.
LONGEST = 65_535
_SEARCH: dict[str, dict[str, int]] = {
    "HNSW": {"ef": 128},
    "IVF_FLAT": {"nprobe": 32},
    "DISKANN": {"search_list": 128},
}
#: With every list probed, IVF_FLAT is exact; the others come as near to it as Milvus lets them.
_FARTHEST = {"nprobe": 256, "ef": 16_384, "search_list": 16_384}
_BUILD: dict[str, dict[str, int]] = {"HNSW": {"M": 16, "efConstruction": 200}, "IVF_FLAT": {"nlist": 256}}


def visible(version: int) -> str:
    """The rows of one version: those born by then that had not died."""
    return f"born <= {version} and died > {version}"


class Collections:
    """Names the collections of a corpus and makes them when they are first written to.

    Every collection must have a vector; those that need none carry two zeros.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        prefix = connection.address.prefix
        self.state = f"{prefix}_state"
        self.entries = f"{prefix}_entries"
        self.records = f"{prefix}_records"
        self.edges = f"{prefix}_edges"
        self._space = f"{prefix}_space_"

    def space(self, name: str, dim: int, number: int) -> str:
        """A collection of the vectors of a space; ``number`` tells it from those that the space had before."""
        return f"{self._space}{_token(name)}_{dim}_{number}"

    def spaces_there(self) -> list[str]:
        """The collections of vectors that Milvus holds, whether or not a version knows of them."""
        return self._there(rf"{self._space}[a-z0-9]+_\d+_\d+")

    def everything_there(self) -> list[str]:
        """The collections that Milvus holds, also those of the format before, which had ``…_records_384``."""
        prefix = self._connection.address.prefix
        return self._there(rf"{prefix}_(state|entries|edges|records(_\d+)?)") + self.spaces_there()

    def _there(self, pattern: str) -> list[str]:
        # Nothing of another corpus fits, whatever it is called: its collections end in other words.
        return [name for name in self._connection.names() if re.fullmatch(pattern, name)]

    @property
    def search_params(self) -> dict[str, int]:
        """How far an approximate index is asked to look; empty for one that looks everywhere."""
        return _SEARCH.get(self._connection.address.index, {})

    def looking(self, limit: int, *, thorough: bool) -> dict[str, int]:
        """The same for a search of so many results, or as far as the index can look at all."""
        far = _FARTHEST if thorough else {}
        return {
            name: far.get(name) or (value if name == "nprobe" else max(value, limit))
            for name, value in self.search_params.items()
        }

    def make_shared(self) -> None:
        """The collections that do not depend on the vectors' size."""
        if not self._connection.has(self.state):
            schema = self._schema()
            schema.add_field("name", _type("VARCHAR"), is_primary=True, max_length=200)
            schema.add_field("value", _type("VARCHAR"), max_length=LONGEST)
            self._create(self.state, schema)
        if not self._connection.has(self.entries):
            schema = self._schema()
            _add_versioned(schema)
            schema.add_field("view", _type("VARCHAR"), max_length=20)
            schema.add_field("key", _type("VARCHAR"), max_length=LONGEST)
            schema.add_field("page", _type("INT64"))
            schema.add_field("value", _type("VARCHAR"), max_length=LONGEST)
            self._create(self.entries, schema)

    def make_records(self) -> None:
        """The collection of records: what they say and their words."""
        if not self._connection.has(self.records):
            schema = self._schema()
            _add_versioned(schema)
            for text in ("id", "artifact", "body"):
                schema.add_field(text, _type("VARCHAR"), max_length=LONGEST)
            for number in ("kind", "length", "pages"):
                schema.add_field(number, _type("INT64"))
            schema.add_field("meta", _type("JSON"))
            schema.add_field("sparse", _type("SPARSE_FLOAT_VECTOR"))
            self._connection.create(self.records, schema, [self._index("sparse", "SPARSE_INVERTED_INDEX", "IP", {})])

    def make_space(self, collection: str, dim: int) -> None:
        """A collection of vectors, with what filters need of their records."""
        if not self._connection.has(collection):
            schema = self._schema()
            _add_versioned(schema)
            schema.add_field("artifact", _type("VARCHAR"), max_length=LONGEST)
            for number in ("kind", "scale"):
                schema.add_field(number, _type("INT64"))
            schema.add_field("meta", _type("JSON"))
            schema.add_field("dense", _type("FLOAT_VECTOR"), dim=max(dim, 2))
            index = self._connection.address.index
            self._connection.create(collection, schema, [self._index("dense", index, "COSINE", _BUILD.get(index, {}))])

    def make_edges(self) -> None:
        """The collection of edges, found from both ends."""
        if not self._connection.has(self.edges):
            schema = self._schema()
            _add_versioned(schema)
            for mark in ("into", "kind", "elsewhere"):
                schema.add_field(mark, _type("VARCHAR"), max_length=40)
            for number in ("place", "pages"):
                schema.add_field(number, _type("INT64"))
            for text in ("source", "type", "target", "body"):
                schema.add_field(text, _type("VARCHAR"), max_length=LONGEST)
            ends = [self._index(end, "INVERTED", "", {}) for end in ("mark", "into")]
            self._create(self.edges, schema, ends)

    def _create(self, name: str, schema: Any, indexes: Sequence[Any] = ()) -> None:
        schema.add_field("none", _type("FLOAT_VECTOR"), dim=2)
        self._connection.create(name, schema, [self._index("none", "FLAT", "L2", {}), *indexes])

    def _schema(self) -> Any:
        return self._connection.client.create_schema(auto_id=False, enable_dynamic_field=False)

    def _index(self, field: str, kind: str, metric: str, params: dict[str, Any]) -> Any:
        index = self._connection.client.prepare_index_params()
        index.add_index(field, index_type=kind, **({"metric_type": metric, "params": params} if metric else {}))
        return index


def _add_versioned(schema: Any) -> None:
    """What every row of a versioned collection has; ``mark`` is a hash of its key, safe to put in an expression."""
    schema.add_field("ref", _type("INT64"), is_primary=True)
    schema.add_field("mark", _type("VARCHAR"), max_length=40)
    schema.add_field("born", _type("INT64"))
    schema.add_field("died", _type("INT64"))


def _token(space: str) -> str:
    """A space's name in the name of a collection, where few characters are allowed and case may not count.

    >>> _token("main"), _token("bge-small")
    ('main', 'bgesmall33efd6f4bd5d6f53')
    """
    if re.fullmatch("[a-z0-9]{1,16}", space):
        return space
    # Longer than any name that stands for itself, so no two spaces have the same.
    return re.sub("[^a-z0-9]", "", space.lower())[:24] + hashlib.blake2b(space.encode(), digest_size=8).hexdigest()


def _type(name: str) -> Any:
    from pymilvus import DataType

    return DataType[name]
