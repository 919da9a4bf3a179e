"""Judgements and runs: making them, and reading and writing them as TREC files.

A *run* maps query id → document id → score. A *ranking* is the ids of one query, best first; where scores are equal
the greater id comes first, as ``trec_eval`` has it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ir.errors import InvalidInput
from ir.eval.cases import DiscoveryCase
from ir.eval.files import read_lines, write_lines
from ir.eval.retrieval import DFLT_MODE, Retrieved, retrieve_cases
from ir.index.progress import Listener
from ir.protocols import CorpusOrName

__all__ = ["Qrels", "Run", "load_qrels", "load_run", "make_run", "ranking_of", "save_qrels", "save_run"]

Run = Mapping[str, Mapping[str, float]]
Qrels = Mapping[str, Mapping[str, float]]

#: How headers of judgements name their columns.
_COLUMNS = {
    "query": {"query-id", "qid", "query", "topic", "topic-id"},
    "document": {"corpus-id", "doc-id", "docid", "did", "pid", "document", "document-id", "docno"},
    "grade": {"score", "relevance", "rel", "grade", "label"},
}
#: What the second of TREC's four columns holds.
_ITERATIONS = {"0", "q0"}


def ranking_of(scores: Mapping[str, float]) -> list[str]:
    """Document ids, best first.

    >>> ranking_of({"a": 1.0, "b": 2.0, "c": 1.0})
    ['b', 'c', 'a']
    """
    return [doc for doc, _ in sorted(sorted(scores.items(), reverse=True), key=lambda item: -item[1])]


def make_run(
    corpus: CorpusOrName,
    queries: Mapping[str, str],
    *,
    k: int = 100,
    mode: str = DFLT_MODE,
    surfaces: Iterable[str] | None = None,
    progress: Listener | None = None,
    **search_kw: Any,
) -> dict[str, dict[str, float]]:
    """Search for each query and keep the scores of the best ``k`` artifacts."""
    cases = [DiscoveryCase(text) for text in queries.values()]
    found = retrieve_cases(corpus, cases, mode=mode, k=k, surfaces=surfaces, progress=progress, **search_kw)
    return {qid: _strictly_falling(item) for qid, item in zip(queries, found, strict=True)}


def _strictly_falling(item: Retrieved) -> dict[str, float]:
    """The scores of a ranking; one that does not fall is lowered by the least there is, so that the order survives."""
    scores: dict[str, float] = {}
    last = math.inf
    for hit in item.hits:
        last = min(float(hit.score), math.nextafter(last, -math.inf))
        scores[hit.artifact_id] = last
    return scores


def save_run(run: Run, path: str | Path, *, tag: str = "ir") -> None:
    """Write ``query Q0 document rank score tag`` lines. Ids may not hold white space: the format has no quoting."""
    name = _word(tag, "tag")
    lines = []
    for qid, scores in run.items():
        for rank, doc in enumerate(ranking_of(scores), start=1):
            lines.append(f"{_word(qid, 'query id')} Q0 {_word(doc, 'document id')} {rank} {scores[doc]!r} {name}")
    write_lines(path, lines)


def load_run(path: str | Path) -> dict[str, dict[str, float]]:
    """Read a TREC run. The score decides the order, not the rank column."""
    run: dict[str, dict[str, float]] = {}
    for place, line in read_lines(path):
        parts = line.split()
        if len(parts) != 6:
            raise InvalidInput(f"{place}: a run has 6 columns (query Q0 document rank score tag), found {len(parts)}.")
        scores = run.setdefault(parts[0], {})
        if parts[2] in scores:
            raise InvalidInput(f"{place}: document {parts[2]!r} is listed twice for query {parts[0]!r}.")
        scores[parts[2]] = _number(parts[4], place, "score")
    return run


def save_qrels(qrels: Qrels, path: str | Path) -> None:
    """Write TREC judgements: ``query 0 document grade`` lines."""
    write_lines(
        path,
        [
            f"{_word(qid, 'query id')} 0 {_word(doc, 'document id')} {grade:g}"
            for qid, grades in qrels.items()
            for doc, grade in grades.items()
        ],
    )


def load_qrels(path: str | Path) -> dict[str, dict[str, float]]:
    """Read judgements: TREC's four columns, or BEIR's three separated by tabs, with or without a header.

    With a header the columns are found by their names, in any order and among others.
    """
    qrels: dict[str, dict[str, float]] = {}
    columns: Sequence[int] | None = None
    for number, (place, line) in enumerate(read_lines(path)):
        if number == 0 and (columns := _header(line, place)):
            continue
        qid, doc, grade = _named(line, columns, place) if columns else _judgement(line, place)
        qrels.setdefault(qid, {})[doc] = _number(grade, place, "grade")
    return qrels


def _header(line: str, place: str) -> Sequence[int] | None:
    """Where the columns for query, document and grade are, if the line is a header."""
    names = [part.lower().replace("_", "-") for part in _parts(line)]
    if not set(names) & _COLUMNS["grade"] or any(name.isdecimal() for name in names):
        return None
    found = [next((at for at, name in enumerate(names) if name in known), None) for known in _COLUMNS.values()]
    missing = [what for what, at in zip(_COLUMNS, found, strict=True) if at is None]
    if missing:
        raise InvalidInput(
            f"{place}: the header {names} names no column for the {' and the '.join(missing)}.",
            remedy="Name the columns query-id, corpus-id and score.",
        )
    return [at for at in found if at is not None]


def _named(line: str, columns: Sequence[int], place: str) -> tuple[str, str, str]:
    parts = _parts(line)
    if len(parts) <= max(columns):
        raise InvalidInput(f"{place}: the header has more columns than the {len(parts)} of this line.")
    qid, doc, grade = (parts[at] for at in columns)
    return qid, doc, grade


def _judgement(line: str, place: str) -> tuple[str, str, str]:
    parts = _parts(line)
    if len(parts) == 3:
        return parts[0], parts[1], parts[2]
    if len(parts) != 4:
        raise InvalidInput(
            f"{place}: judgements have 4 columns (query 0 document grade) or 3 (query document grade), "
            f"found {len(parts)}."
        )
    if parts[1].lower() not in _ITERATIONS:
        # Otherwise the third of "query document grade and something" would be taken for the document.
        raise InvalidInput(
            f"{place}: the second of 4 columns must be 0 or Q0, as TREC has it, not {parts[1]!r}.",
            remedy="Remove the extra column, or begin with the header query-id, corpus-id, score.",
        )
    return parts[0], parts[2], parts[3]


def _parts(line: str) -> list[str]:
    # Tabs first: a BEIR id may hold spaces.
    return [part.strip() for part in line.split("\t")] if line.count("\t") >= 2 else line.split()


def _number(text: str, place: str, what: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if value != value:
        raise InvalidInput(f"{place}: the {what} must be a number, not {text!r}.")
    return value


def _word(text: str, what: str) -> str:
    if not text or text.split() != [text]:
        raise InvalidInput(f"A TREC file cannot hold the {what} {text!r}: it is empty or has white space in it.")
    return text


def rankings(run: Run) -> dict[str, Sequence[str]]:
    """Each query's ranking."""
    return {qid: ranking_of(scores) for qid, scores in run.items()}
