"""What evaluation is judged by: a set of cases, a file of them, judgements, or a collection in BEIR's layout."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ir.errors import InvalidInput, OutsideCorpus

if TYPE_CHECKING:
    from ir.app.context import Context
    from ir.eval import DiscoveryCase
    from ir.index import Corpus

__all__ = [
    "Judged",
    "built_corpus",
    "case_file",
    "listening",
    "new_file",
    "read_cases",
    "read_qrels",
    "refuse_files",
]


@dataclass(frozen=True)
class Judged:
    """Cases, and the same as queries and judgements by query id; abstention cases are in the first only. ``name`` is
    that of the set, or of the file."""

    path: str
    cases: Sequence[DiscoveryCase]
    queries: Mapping[str, str]
    qrels: Mapping[str, Mapping[str, float]]

    @property
    def name(self) -> str:
        return Path(self.path).stem

    @property
    def ids(self) -> list[str]:
        """The query id of each case; those of a BEIR folder have their own."""
        from ir.eval.cases import case_id

        return [str(case.metadata.get("query_id") or case_id(at)) for at, case in enumerate(self.cases)]


def read_cases(path: str, ctx: Context) -> Judged:
    """The cases of a set by its name, of a file of JSON lines, or of a BEIR folder; a broken line is an error that
    names it. Who is not the user names sets alone."""
    from ir.eval import load_beir, load_cases, to_qrels

    place = case_file(path, ctx)
    if place.is_dir():
        data = load_beir(place)
        cases = data.cases()
        queries = {str(case.metadata["query_id"]): case.query for case in cases if not case.gold_is_none}
        return Judged(str(place), _some(cases, path), queries, {qid: data.qrels[qid] for qid in queries})
    with listening(ctx):
        cases = load_cases(place)
    queries, qrels = to_qrels(_some(cases, path))
    return Judged(str(place), cases, queries, qrels)


def case_file(word: str, ctx: Context) -> Path:
    """The file that a user means, or where the set of that name is kept; a file here wins over a set."""
    from ir.eval.judging import open_set, set_file, set_names

    if ctx.for_agent:
        from ir.app.judging import refuse_hidden

        refuse_hidden(open_set(word), ctx)
        return set_file(word)
    place = Path(word).expanduser()
    return set_file(word) if not place.exists() and word in set_names() else place


def _some(cases: list[DiscoveryCase], path: str) -> list[DiscoveryCase]:
    if not cases:
        raise InvalidInput(f"{path} holds no cases.", remedy='Write one on each line: {"query": "…", "gold": ["ID"]}')
    return cases


def read_qrels(path: str, ctx: Context) -> tuple[Mapping[str, Mapping[str, float]], Mapping[str, str]]:
    """Judgements from a TREC or BEIR file, from a file of cases, or from a BEIR folder; and the queries, if known."""
    place = case_file(path, ctx)
    if place.is_dir() or place.suffix == ".jsonl":
        judged = read_cases(path, ctx)
        return judged.qrels, judged.queries
    from ir.eval import load_qrels

    return load_qrels(place), {}


def built_corpus(word: str, ctx: Context, *, embedder: str | None = None) -> Corpus:
    """The corpus that a user means, which must have been built: an evaluation changes nothing on the way."""
    target = ctx.target(word)
    target.require_built()
    return ctx.open(target.name, embedder=embedder)


def refuse_files(ctx: Context, **named: str | tuple[str, ...] | None) -> None:
    """An error if somebody names a file or a folder who may not."""
    for name, value in named.items():
        if value and ctx.for_agent:
            raise OutsideCorpus(f"{name} names files, which cannot be named here.", remedy="Leave it out.")


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
