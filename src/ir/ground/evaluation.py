"""Is a grounding any good? Recall of the right terms, and what a threshold makes of precision."""

from __future__ import annotations

import csv
import json
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ir.errors import InvalidInput, SourceError
from ir.ground.channels import Lookup
from ir.ground.families import families
from ir.ground.grounding import Grounding, Options, ground_lookups

if TYPE_CHECKING:
    from ir.ground.vocabulary import Vocabulary

__all__ = ["Case", "Evaluation", "evaluate", "held_back_aliases", "read_cases"]

DFLT_KS = (1, 10, 50)
_SEED = 11
_GRID = 40


@dataclass(frozen=True)
class Case:
    """A phrase and the terms that are right for it. ``hidden`` is a surface that is left out for it."""

    phrase: str
    terms: frozenset[str]
    id: str = ""
    hidden: int = -1


@dataclass(frozen=True)
class Evaluation:
    """Means over the cases that were not used to choose ``threshold``.

    ``recall`` is by k. ``precision``, ``recall_at``, ``f1`` count all pairs of a phrase and a term that scores at
    least the threshold. ``grid`` has ``(threshold, precision, recall, f1)``; ``categories`` the recall at 10 and the
    number of right terms of each.
    """

    cases: int
    recall: dict[int, float]
    mrr: float
    ndcg: float
    threshold: float
    precision: float
    recall_at: float
    f1: float
    validated_on: int
    categories: dict[str, tuple[float, int]] = field(default_factory=dict)
    grid: tuple[tuple[float, float, float, float], ...] = ()
    unknown_terms: int = 0


def read_cases(path: str | Path) -> list[Case]:
    """Cases in JSONL (``{"phrase": …, "terms": […]}``) or CSV (``phrase,term,…``)."""
    path = Path(path)
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except FileNotFoundError:
        raise SourceError(f"There is no file {path}.", remedy="Check the path.") from None
    except (OSError, UnicodeDecodeError) as error:
        raise SourceError(f"{path} cannot be read as text in UTF-8.") from error
    cases = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            cases.append(_case(line, path.suffix.lower() in (".csv", ".tsv")))
        except (ValueError, TypeError, KeyError, StopIteration):
            raise InvalidInput(
                f'{path.name}:{number}: a case is {{"phrase": …, "terms": […]}}, or phrase,term in CSV.'
            ) from None
    if not cases:
        raise InvalidInput(f"{path.name} holds no cases.")
    return cases


def _case(line: str, as_csv: bool) -> Case:
    if as_csv:
        phrase, *terms = (cell.strip() for cell in next(csv.reader([line])))
        name = ""
    else:
        value = json.loads(line)
        phrase = next(value[key] for key in ("phrase", "text", "query") if key in value)
        terms = value.get("terms", value.get("tags", value.get("term")))
        terms = [terms] if isinstance(terms, str) else terms
        name = str(value.get("id", value.get("_id", "")))
    if not isinstance(phrase, str) or not terms or not all(isinstance(term, str) for term in terms):
        raise ValueError(line)
    return Case(phrase, frozenset(terms), name)


def held_back_aliases(vocabulary: Vocabulary, most: int = 2000) -> list[Case]:
    """A case for each alias: it is left out, and has to be found by what else is there."""
    surfaces, names = vocabulary.index.surfaces, vocabulary.terms.names
    rows = vocabulary.alias_rows(most)
    if not len(rows):
        raise InvalidInput(
            "The vocabulary has no aliases to hold back.", remedy="Give cases: phrases with their terms."
        )
    return [
        Case(surfaces.texts[row], frozenset({names[int(surfaces.owners[row])]}), hidden=row) for row in rows.tolist()
    ]


def evaluate(
    vocabulary: Vocabulary,
    cases: Sequence[Case],
    *,
    ks: Sequence[int] = DFLT_KS,
    validation: float | Sequence[Case] = 0.3,
    **options: Any,
) -> Evaluation:
    """Ground each case and compare. ``validation`` are cases, or a share of these, on which the threshold is chosen;
    variants of one phrase are never on both sides. ``options`` are those of :func:`ir.ground.ground`."""
    if not cases:
        raise InvalidInput("There are no cases.")
    tried, tested = (list(validation), list(cases)) if not isinstance(validation, float) else _split(cases, validation)
    deep = max(*ks, 10, 50)
    found, checked = (_grounded(vocabulary, part, Options(**{**options, "k": deep})) for part in (tested, tried))
    grid = _grid(checked or found, tried or tested)
    threshold = max(grid, key=lambda row: (row[3], -row[0]))[0]
    precision, recall_at, f1 = _at(found, tested, threshold)
    ranks = [_ranks(one, case) for one, case in zip(found, tested, strict=True)]
    known = sum(term in vocabulary for case in tested for term in case.terms)
    return Evaluation(
        len(tested),
        {k: round(float(np.mean([sum(rank <= k for rank in some) / len(some) for some in ranks])), 4) for k in ks},
        round(float(np.mean([1 / min(some) for some in ranks])), 4),
        round(float(np.mean([_ndcg(some, 10) for some in ranks])), 4),
        threshold,
        precision,
        recall_at,
        f1,
        len(tried),
        _by_category(vocabulary, tested, ranks),
        grid,
        sum(len(case.terms) for case in tested) - known,
    )


def _split(cases: Sequence[Case], share: float) -> tuple[list[Case], list[Case]]:
    group = families([case.phrase for case in cases], [case.id for case in cases])
    order = sorted(set(group))
    random.Random(_SEED).shuffle(order)
    tried = set(order[: int(share * len(order))])
    left = [case for case, one in zip(cases, group, strict=True) if one in tried]
    return left, [case for case, one in zip(cases, group, strict=True) if one not in tried]


def _grounded(vocabulary: Vocabulary, cases: Sequence[Case], options: Options) -> list[Grounding]:
    lookups = [Lookup(case.phrase, vocabulary.folding(case.phrase), case.hidden) for case in cases]
    return list(ground_lookups(lookups, vocabulary, options))


def _ranks(found: Grounding, case: Case) -> list[float]:
    """The rank of each right term; infinity for one that was not found."""
    place = {one.term: float(rank) for rank, one in enumerate(found.terms, start=1)}
    return [place.get(term, float("inf")) for term in sorted(case.terms)]


def _ndcg(ranks: Sequence[float], k: int) -> float:
    ideal = sum(1 / np.log2(rank + 2) for rank in range(min(k, len(ranks))))
    return float(sum(1 / np.log2(rank + 1) for rank in ranks if rank <= k) / ideal)


def _at(found: Sequence[Grounding], cases: Sequence[Case], threshold: float) -> tuple[float, float, float]:
    right = given = wanted = 0
    for one, case in zip(found, cases, strict=True):
        kept = {term.term for term in one.terms if term.score >= threshold}
        right += len(kept & case.terms)
        given += len(kept)
        wanted += len(case.terms)
    precision, recall = right / max(given, 1), right / max(wanted, 1)
    f1 = 2 * precision * recall / (precision + recall) if right else 0.0
    return round(precision, 4), round(recall, 4), round(f1, 4)


def _grid(found: Sequence[Grounding], cases: Sequence[Case]) -> tuple[tuple[float, float, float, float], ...]:
    scores = [term.score for one in found for term in one.terms[:20]]
    if not scores:
        return ((0.0, 0.0, 0.0, 0.0),)
    thresholds = np.unique(np.quantile(scores, np.linspace(0, 1, _GRID)))
    return tuple((round(float(one), 5), *_at(found, cases, float(one))) for one in thresholds)


def _by_category(
    vocabulary: Vocabulary, cases: Sequence[Case], ranks: Sequence[Sequence[float]]
) -> dict[str, tuple[float, int]]:
    hits: dict[str, list[bool]] = {}
    for case, some in zip(cases, ranks, strict=True):
        for term, rank in zip(sorted(case.terms), some, strict=True):
            at = vocabulary.terms.find(term)
            category = vocabulary.terms.categories[at] if at is not None else "not in the vocabulary"
            hits.setdefault(category, []).append(rank <= 10)
    if set(hits) <= {""}:
        return {}
    return {name: (round(sum(some) / len(some), 4), len(some)) for name, some in sorted(hits.items())}
