"""Spaces of vectors: the first lies in the table of records, each other one in a table of its own."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from ir.store.postgres.filters import Condition

__all__ = ["MAIN_NUMBER", "Space"]

#: The number of the space that lies in the table of records.
MAIN_NUMBER = 0


@dataclass
class Space:
    """One space. ``held`` is how many records have a vector in it; ``near`` the dimension that has an index."""

    name: str
    number: int
    dim: int | None = None
    near: int | None = None
    held: int = 0

    @property
    def is_main(self) -> bool:
        return self.number == MAIN_NUMBER

    @property
    def table(self) -> str:
        return "records" if self.is_main else f"vectors_{self.number}"

    @property
    def column(self) -> str:
        return "vector" if self.is_main else "embedding"

    @property
    def size(self) -> int | None:
        """The dimension of the vectors, ``None`` while there are none."""
        return self.dim if self.held else None

    def index(self, dim: int) -> str:
        """The name of the index of near vectors of a dimension."""
        return f"{self.table}_near_{dim}"

    @property
    def with_records(self) -> str:
        """What to select from, so that a vector and its record are one row; only those that have a vector."""
        return "records" if self.is_main else f"{self.table} JOIN records USING (number)"

    @property
    def beside_records(self) -> str:
        """The same for every record, whether it has a vector or not. A table is made with its first vector."""
        if self.is_main or not self.held:
            return "records"
        return f"records LEFT JOIN {self.table} USING (number)"

    @property
    def beside(self) -> str:
        """The vector in a row of :attr:`beside_records`."""
        return self.column if self.is_main or self.held else "NULL::bytea"

    def present(self, condition: Condition) -> Condition:
        """The condition, and that there is a vector, in a row of :attr:`with_records`."""
        return (
            Condition(f"vector IS NOT NULL AND ({condition.text})", condition.parameters) if self.is_main else condition
        )

    def values(self) -> dict[str, int | str | None]:
        """What is kept of it under its name."""
        return {key: value for key, value in asdict(self).items() if key != "name"}
