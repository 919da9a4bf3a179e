"""Small programs, built as a corpus; their links in words."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from textwrap import dedent

import pytest

import ir
from ir.code.strategy import Code
from ir.sources import CorpusSource
from ir.store import CorpusStore, LocalStore

pytest.importorskip("tree_sitter")


class Project:
    """A program that can be changed and built again."""

    def __init__(self, store: CorpusStore, files: Mapping[str, str]) -> None:
        self.store = store
        self.files = {path: dedent(text).lstrip("\n") for path, text in files.items()}
        self.build()

    def build(self) -> None:
        source = CorpusSource.from_mapping(self.files, name="program", strategy=Code(), embedder="light")
        self.report = ir.build(source, store=self.store).report

    def nodes(self) -> dict[str, str]:
        return {
            node.id.partition(" ")[2]: node.type
            for batch in self.store.iter_nodes()
            for node in batch
            if " " in node.id
        }

    def links(self, kind: str, of: str | None = None) -> set[str]:
        """``source -> target`` for each link of a kind; ``~`` before those that are inferred, ``?`` for unique names."""
        marks = {"exact": "", "inferred": "~", "unique-name": "?", None: ""}
        return {
            f"{source} -> {marks[properties.get('resolution')]}{target}"
            for source, type_, target, properties in self.edges()
            if type_ == kind and (of is None or source == of)
        }

    def calls(self, of: str | None = None) -> set[str]:
        """What one function calls, without its own name; or all that is called."""
        found = self.links("calls", of)
        return {one.partition(" -> ")[2] for one in found} if of is not None else found

    def edges(self) -> list[tuple[str, str, str, Mapping[str, object]]]:
        short = lambda key: key.partition(" ")[2] or key  # noqa: E731
        return sorted(
            (
                (short(edge.source), edge.type, short(edge.target), dict(edge.properties))
                for batch in self.store.iter_edges()
                for _, out in batch
                for edge in out
            ),
            key=repr,
        )


@pytest.fixture(params=["memory", "local"])
def project(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[[Mapping[str, str]], Project]]:
    made: list[CorpusStore] = []

    def make(files: Mapping[str, str]) -> Project:
        where = tmp_path / f"corpus{len(made)}"
        made.append(CorpusStore.memory() if request.param == "memory" else LocalStore(where))
        return Project(made[-1], files)

    yield make
    for store in made:
        store.close()
