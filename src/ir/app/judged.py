"""What evaluation is judged by: a file of cases, judgements, or a collection in BEIR's layout."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ir.app.targets import resolve
from ir.errors import InvalidInput

if TYPE_CHECKING:
    from ir.app.context import Context
    from ir.eval import DiscoveryCase
    from ir.index import Corpus

__all__ = ["Judged", "built_corpus", "listening", "new_file", "read_cases", "read_qrels"]


@dataclass(frozen=True)
class Judged:
    """Cases, and the same as queries and judgements by query id; abstention cases are in the first only."""

    path: str
    cases: Sequence[DiscoveryCase]
    queries: Mapping[str, str]
    qrels: Mapping[str, Mapping[str, float]]


def read_cases(path: str, ctx: Context) -> Judged:
    """The cases of a file of JSON lines, or of a BEIR folder; a broken line is an error that names it."""
    from ir.eval import load_beir, load_cases, to_qrels

    place = Path(path).expanduser()
    if place.is_dir():
        data = load_beir(place)
        cases = data.cases()
        queries = {str(case.metadata["query_id"]): case.query for case in cases if not case.gold_is_none}
        return Judged(str(place), _some(cases, path), queries, {qid: data.qrels[qid] for qid in queries})
    with listening(ctx):
        cases = load_cases(place)
    queries, qrels = to_qrels(_some(cases, path))
    return Judged(str(place), cases, queries, qrels)


def _some(cases: list[DiscoveryCase], path: str) -> list[DiscoveryCase]:
    if not cases:
        raise InvalidInput(f"{path} holds no cases.", remedy='Write one on each line: {"query": "…", "gold": ["ID"]}')
    return cases


def read_qrels(path: str, ctx: Context) -> tuple[Mapping[str, Mapping[str, float]], Mapping[str, str]]:
    """Judgements from a TREC or BEIR file, from a file of cases, or from a BEIR folder; and the queries, if known."""
    place = Path(path).expanduser()
    if place.is_dir() or place.suffix == ".jsonl":
        judged = read_cases(path, ctx)
        return judged.qrels, judged.queries
    from ir.eval import load_qrels

    return load_qrels(place), {}


def built_corpus(word: str, ctx: Context, *, embedder: str | None = None) -> Corpus:
    """The corpus that a user means, which must have been built: an evaluation changes nothing on the way."""
    target = ctx.target(word) if ctx.for_agent else resolve(word)
    target.require_built()
    return ctx.open(target.name, embedder=embedder)


def new_file(path: str, *, replace: bool = True) -> Path:
    """Where a file is to be written; checked before the work that it takes to fill it."""
    place = Path(path).expanduser()
    if place.is_dir():
        raise InvalidInput(f"{place} is a folder.", remedy="Name a file.")
    if place.is_file() and not replace:
        raise InvalidInput(f"{place} exists already.", remedy="Choose another name, or replace it with --force.")
    return place


@contextmanager
def listening(ctx: Context) -> Iterator[None]:
    """Tell the user what the library warns about, as notes."""
    import warnings

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        yield
    said: dict[str, Any] = {str(item.message): None for item in caught if issubclass(item.category, UserWarning)}
    for sentence in said:
        ctx.note(sentence)
