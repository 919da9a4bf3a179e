"""The collections of a corpus: one for its state, one for keyed values, one for its records."""

from __future__ import annotations

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
        self._records = f"{prefix}_records_"

    def records(self, dim: int) -> str:
        """The collection of records whose vectors have ``dim`` numbers."""
        return f"{self._records}{dim}"

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

    def make_records(self, dim: int) -> str:
        """The collection of records of that size."""
        name = self.records(dim)
        if not self._connection.has(name):
            schema = self._schema()
            _add_versioned(schema)
            for text in ("id", "artifact", "body"):
                schema.add_field(text, _type("VARCHAR"), max_length=LONGEST)
            for number in ("kind", "length", "scale", "pages"):
                schema.add_field(number, _type("INT64"))
            schema.add_field("meta", _type("JSON"))
            schema.add_field("dense", _type("FLOAT_VECTOR"), dim=max(dim, 2))
            schema.add_field("sparse", _type("SPARSE_FLOAT_VECTOR"))
            index = self._connection.address.index
            dense = self._index("dense", index, "COSINE", _BUILD.get(index, {}))
            self._connection.create(name, schema, [dense, self._index("sparse", "SPARSE_INVERTED_INDEX", "IP", {})])
        return name

    def _create(self, name: str, schema: Any) -> None:
        schema.add_field("none", _type("FLOAT_VECTOR"), dim=2)
        self._connection.create(name, schema, [self._index("none", "FLAT", "L2", {})])

    def _schema(self) -> Any:
        return self._connection.client.create_schema(auto_id=False, enable_dynamic_field=False)

    def _index(self, field: str, kind: str, metric: str, params: dict[str, Any]) -> Any:
        index = self._connection.client.prepare_index_params()
        index.add_index(field, index_type=kind, metric_type=metric, params=params)
        return index


def _add_versioned(schema: Any) -> None:
    """What every row of a versioned collection has; ``mark`` is a hash of its key, safe to put in an expression."""
    schema.add_field("ref", _type("INT64"), is_primary=True)
    schema.add_field("mark", _type("VARCHAR"), max_length=40)
    schema.add_field("born", _type("INT64"))
    schema.add_field("died", _type("INT64"))


def _type(name: str) -> Any:
    from pymilvus import DataType

    return DataType[name]
