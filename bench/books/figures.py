"""``python -m bench.books.figures [EMBEDDER]… [--kept] [--half] [--set NAME]``: what links, routes and names are worth.

Three sets of questions, each a table with intervals (95 %, bootstrap over the questions): ``hotpot``, paragraphs that
name each other's titles, the fields of `expand` chosen on one half of the questions and reported on the other;
``spells``, questions by others that name the spell they ask about; ``own``, ours about the same rules, of which the
half ``kept`` is only run with ``--kept``. The collections are found as in ``bench.quality``.
"""

from __future__ import annotations

import argparse
import itertools
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

import ir
from bench.books.collections import ALIASES, Question, corpus_of, judged_questions, own_questions
from bench.books.measures import MEASURES, Ranker, difference, figures, measured
from bench.judged import embedder_of, markdown
from ir.book import GraphBoost, retrieve_candidates

#: How deep entries are looked for: several sections may be of one entry.
DEPTH = 20
PLAIN: dict[str, Any] = {"mode": "hybrid", "graph": "none", "ranking": "plain"}
BY_NAME: dict[str, Any] = {"mode": "hybrid", "graph": "none"}
SYSTEMS: dict[str, dict[str, Any]] = {
    "lexical": {**PLAIN, "mode": "lexical"},
    "dense": {**PLAIN, "mode": "dense"},
    "hybrid": PLAIN,
    "minmax_corpus": {**PLAIN, "fusion": "minmax_corpus"},
    "minmax_corpus, additive (the document)": {**PLAIN, "fusion": "minmax_corpus", "graph": "additive"},
    "hybrid + names": BY_NAME,
    "… additive": {**BY_NAME, "graph": "additive"},
    "… frontier": {**BY_NAME, "graph": "frontier"},
    "… propagate": {**BY_NAME, "graph": "propagate"},
    "… expand (**the default**)": {**BY_NAME, "graph": "expand"},
    "… expand, nothing added": {**BY_NAME, "graph": GraphBoost("expand", adds=False)},
    "… graph first": {**BY_NAME, "graph_first": True},
}
ROUTED: dict[str, dict[str, Any]] = {
    **{f"… {most} of 25 chapters": {**BY_NAME, "chapters": most} for most in (3, 8, 12)},
    "… aliases": {**BY_NAME, "aliases": True},
}
#: Fields of `expand` among which one half of the questions chooses.
CHOICES = [
    GraphBoost("expand", seeds=seeds, each=each, least=least)
    for seeds, each, least in itertools.product((1, 2, 3), (1, 2), (0.0, 0.9))
]


def ranker(corpus: ir.Corpus, options: Mapping[str, Any]) -> Ranker:
    return lambda question: [hit.artifact_id for hit in ir.search(corpus, question, k=DEPTH, **options)]


def walker(corpus: ir.Corpus) -> Ranker:
    """Walks alone, from the names in a question."""
    artifacts = {record.id: record.artifact_id for page in corpus.store.iter_records() for record in page}
    return lambda question: [artifacts[one] for one in retrieve_candidates(question, corpus).candidates]


def graph_vectors(corpus: ir.Corpus, dim: int = 64, weight: float = 0.1) -> Callable[[Any], Any]:
    """A trial: what stands near the first hit in the graph gains; nearness by a factorised matrix of the links."""
    links: dict[str, set[str]] = {}
    records = {record.id: record.artifact_id for page in corpus.store.iter_records() for record in page}
    for page in corpus.store.iter_edges():
        for source, edges in page:
            for edge in edges:
                if edge.type in ("refers_to", "mentions") and edge.corpus is None:
                    first, second = records.get(source, source), records.get(edge.target, edge.target)
                    links.setdefault(first, set()).add(second)
                    links.setdefault(second, set()).add(first)
    names = {name: number for number, name in enumerate(links)}
    matrix = np.zeros((len(names), len(names)), dtype=np.float32)
    for name, others in links.items():
        for other in others:
            matrix[names[name], names[other]] = 1 / np.sqrt(len(others) * len(links[other]))
    values, vectors = np.linalg.eigh(matrix + np.eye(len(names), dtype=np.float32))
    rows = vectors[:, -dim:] * values[-dim:]
    rows /= np.linalg.norm(rows, axis=1, keepdims=True) + 1e-9

    def boost(pool: Any) -> Any:
        first = pool.artifact_ids[int(np.argmax(pool.scores))]
        if first not in names:
            return np.zeros(len(pool))
        near = [rows[names[one]] @ rows[names[first]] if one in names else 0.0 for one in pool.artifact_ids]
        return weight * np.clip(np.array(near, dtype=np.float64), 0, 1)

    return boost


def table(questions: Sequence[Question], rankers: Mapping[str, Ranker], base: str) -> str:
    values = {label: measured(questions, one) for label, one in rankers.items()}
    shown = [name for name in MEASURES if any(one is not None for one in values[base][name])]
    rows = []
    for label, found in values.items():
        cells = figures(found)
        gain = difference(values[base]["R@5"], found["R@5"])
        rows.append([label, *(str(cells[name]) for name in shown), "" if label == base else f"{gain.mean:+.3f}"])
    return markdown(["", *shown, f"R@5 to {base}"], rows)


def hotpot(spec: str) -> None:
    corpus = corpus_of("hotpot", spec)
    questions = judged_questions("hotpotqa_small")
    embedder_of(spec).learn(one.text for one in questions)
    first, second = questions[::2], questions[1::2]

    def worth(options: Mapping[str, Any]) -> float:
        means = figures(measured(first, ranker(corpus, options)))
        return means["both@5"].mean + means["R@5"].mean + means["MRR"].mean

    chosen = max(CHOICES, key=lambda one: worth({**BY_NAME, "graph": one}))
    fields = ", ".join(f"{name} {value}" for name, value in chosen.settings.items())
    print(f"\n### {spec}: hotpotqa_small, {len(second)} questions, with links by titles\n")
    print(f"Chosen on the other {len(first)}: expand with {fields}.\n")
    systems = {**SYSTEMS, "… expand, as chosen": {**BY_NAME, "graph": chosen}}
    rankers = {label: ranker(corpus, how) for label, how in systems.items()}
    print(table(second, {**rankers, "traversal only": walker(corpus)}, "hybrid"))


def spells(spec: str, *, half: bool) -> None:
    corpus = corpus_of("srd", spec)
    questions = judged_questions("srd_spell_questions")
    questions = questions[1::2] if half else questions
    embedder_of(spec).learn(one.text for one in questions)
    print(f"\n### {spec}: srd_spell_questions, {len(questions):,} questions\n")
    kept = (
        "lexical",
        "dense",
        "hybrid",
        "minmax_corpus",
        "hybrid + names",
        "… propagate",
        "… expand (**the default**)",
    )
    print(table(questions, {label: ranker(corpus, SYSTEMS[label]) for label in kept}, "hybrid"))

    short = abbreviated(questions)
    print(f"\nThe {len(short)} of them that say one of the longer names, with its abbreviation instead:\n")
    rankers = {
        f"hybrid + names, aliases {'on' if on else 'off'}": ranker(corpus, {**BY_NAME, "aliases": on})
        for on in (False, True)
    }
    print(table(short, rankers, next(iter(rankers))))


def abbreviated(questions: Sequence[Question]) -> list[Question]:
    """The questions that say a name for which there is an abbreviation, with that."""
    longer = {
        name: short for short, names in ALIASES.items() for name in ([names] if isinstance(names, str) else names)
    }
    pattern = re.compile(rf"\b(?:{'|'.join(map(re.escape, longer))})\b", re.IGNORECASE)
    shorts = {name.casefold(): short for name, short in longer.items()}
    made = [(one, pattern.sub(lambda found: shorts[found[0].casefold()], one.text)) for one in questions]
    return [replace(one, text=text) for one, text in made if text != one.text]


def own(spec: str, part: str) -> None:
    corpus = corpus_of("srd", spec)
    questions = own_questions(part)
    embedder_of(spec).learn(one.text for one in questions)
    print(
        f"\n### {spec}: our questions, {part}, {len(questions)} ({sum(len(q.gold) > 1 for q in questions)} need two)\n"
    )
    rankers = {label: ranker(corpus, how) for label, how in {**SYSTEMS, **ROUTED}.items()}
    rankers["… graph vectors (trial)"] = ranker(corpus, {**BY_NAME, "boosts": graph_vectors(corpus)})
    print(table(questions, {**rankers, "traversal only": walker(corpus)}, "hybrid"))


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.books.figures", description=__doc__)
    parser.add_argument("embedders", nargs="*", default=["minilm-int8", "box"])
    parser.add_argument("--set", action="append", choices=("hotpot", "spells", "own"), help="only this; repeatable")
    parser.add_argument("--kept", action="store_true", help="our questions that nobody has looked at, once, at the end")
    parser.add_argument("--half", action="store_true", help="every second of the questions about spells")
    asked = parser.parse_args(arguments)
    for spec in asked.embedders:
        if "hotpot" in (asked.set or ["hotpot"]):
            hotpot(spec)
        if "spells" in (asked.set or ["spells"]):
            spells(spec, half=asked.half)
        if "own" in (asked.set or ["own"]):
            own(spec, "kept" if asked.kept else "open")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
