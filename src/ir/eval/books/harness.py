"""Asking questions about books in every way that is to be measured."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ir.base import json_clean
from ir.errors import EmbedderError, InvalidInput
from ir.eval.books.gold import HOW, Resolved, expanded, pinned, quotes_gold, resolve
from ir.eval.books.measuring import (
    Ranked,
    all_found,
    answer_similarity,
    contamination,
    gold_ranks,
    hits_and_mrr,
    key_of,
    section_hits,
)
from ir.eval.books.passages import Passage, Passages
from ir.eval.books.questions import BookQuestion
from ir.eval.books.report import BookReport, GraphRow, QuestionRow, RoutingRow
from ir.eval.compare import bootstrap_interval, randomization_test
from ir.index.progress import Listener, Ticker

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ir.base import Hits
    from ir.index import Corpus
    from ir.links import Neighbour

__all__ = ["DFLT_KS", "DFLT_QUOTE_WORDS", "DFLT_TOP_N", "GRAPHS", "evaluate_books"]

DFLT_KS = (1, 3, 5, 10)
#: The chapters that routing is tried with.
DFLT_TOP_N = (3, 8, 12)
#: From so many words in a row on, a question is taken to quote.
DFLT_QUOTE_WORDS = 8
#: The ways to follow links that are compared.
GRAPHS = ("none", "additive", "frontier", "propagate", "expand")
#: So many passages one link away may stand for gold.
_MOST_EXPANDED = 12
#: A node with more links than this is a hub.
_MOST_LINKS = 1000


def evaluate_books(
    corpora: Sequence[Corpus],
    questions: Sequence[BookQuestion],
    *,
    how: Mapping[str, Any] | None = None,
    k: int = 10,
    books: Sequence[str] = (),
    expand_gold: bool = False,
    top_n: Sequence[int] = (),
    graphs: Sequence[str] = (),
    quote_words: int = DFLT_QUOTE_WORDS,
    leave_out_quotes: bool = False,
    progress: Listener | None = None,
) -> tuple[BookReport, list[BookQuestion]]:
    """Measure questions about the books in some corpora; also the questions with gold that survives another cut.

    ``how`` are options of the search, which ranks passages and not sections. ``books`` keeps questions about these
    alone; ``top_n`` are numbers of chapters to route by, ``graphs`` ways to follow links, each measured beside.
    """
    if not corpora:
        raise InvalidInput("Name at least one corpus with books.")
    passages = Passages.of(corpora)
    if not len(passages):
        raise InvalidInput(
            f"There is no passage in {', '.join(corpus.name for corpus in corpora)}.", remedy="Build it first."
        )
    chosen = _of_books(questions, books, passages)
    if not chosen:
        raise InvalidInput("There are no questions to ask.", remedy="Name a file or a folder of questions.")
    return _Harness(corpora, passages, dict(how or {}), k, progress).report(
        [resolve(question, passages) for question in chosen],
        expand_gold=expand_gold,
        top_n=top_n,
        graphs=graphs,
        quote_words=quote_words,
        leave_out_quotes=leave_out_quotes,
    )


def _of_books(questions: Sequence[BookQuestion], books: Sequence[str], passages: Passages) -> list[BookQuestion]:
    if not books:
        return list(questions)
    wanted = set()
    for name in books:
        book = passages.book(name)
        if book is None:
            raise InvalidInput(
                f"There is no book {name!r} in the corpus.",
                remedy=f"There are: {', '.join(list(passages.books)[:20])}.",
            )
        wanted.add(book)
    return [question for question in questions if resolve(question, passages).book in wanted]


class _Harness:
    """Some corpora that are open, and how they are asked."""

    def __init__(
        self, corpora: Sequence[Corpus], passages: Passages, how: dict[str, Any], k: int, progress: Listener | None
    ) -> None:
        self.corpora = {corpus.name: corpus for corpus in corpora}
        self.passages = passages
        self.how = {"mode": "hybrid", **how, "per_artifact": False, "k": k}
        self.ks = tuple(sorted({*(one for one in DFLT_KS if one <= k), k}))
        self.progress = progress
        self.notes: list[str] = []
        self._chapter_of: dict[str, dict[str, str]] = {}

    def report(
        self,
        resolved: Sequence[Resolved],
        *,
        expand_gold: bool,
        top_n: Sequence[int],
        graphs: Sequence[str],
        quote_words: int,
        leave_out_quotes: bool,
    ) -> tuple[BookReport, list[BookQuestion]]:
        with_gold = [one for one in resolved if one.question.gold]
        evaluable = [one for one in with_gold if one.evaluable]
        quoting = {key_of(one): one for one in evaluable if quotes_gold(one, quote_words)}
        asked = [one for one in evaluable if not (leave_out_quotes and key_of(one) in quoting)]
        if not with_gold:
            self.notes.append("no question says what answers it, so nothing can be measured")
        elif not evaluable:
            self.notes.append("nothing of what answers the questions is in the corpus")
        ranked = self._ask(asked, self.how, "search")
        ranked, answers = self._with_similarity(ranked)
        ranks = gold_ranks(ranked)
        metrics = {**hits_and_mrr(ranks, self.ks), **all_found(ranked, self.ks), **section_hits(ranked, self.ks)}
        plain = [rank for one, rank in zip(ranked, ranks, strict=True) if key_of(one.resolved) not in quoting]
        report = BookReport(
            corpora=tuple(self.corpora),
            books={name: len(held) for name, held in self.passages.books.items()},
            settings=json_clean({name: value for name, value in self.how.items() if value is not None}),
            embedders={name: corpus.embedder_id for name, corpus in self.corpora.items()},
            ks=self.ks,
            counts={
                "questions": len(resolved),
                "with_gold": len(with_gold),
                "evaluable": len(evaluable),
                "all_gold_found": sum(not one.missing for one in evaluable),
                "asked": len(asked),
                "with_several_gold": sum(len(one.each) > 1 and not one.missing for one in asked),
            },
            evaluability=len(evaluable) / len(with_gold) if with_gold else None,
            resolved={how: count for how in HOW if (count := Counter(x for r in with_gold for x in r.how)[how])},
            missing={_called(one): [gold.to_dict() for gold in one.missing] for one in with_gold if one.missing},
            unknown_books=self._unknown_books(resolved),
            metrics=metrics,
            intervals=_intervals(ranks, self.ks),
            contamination=contamination(ranked, self.ks) if len(self.passages.books) > 1 else {},
            similarity=answer_similarity(ranked, self.ks),
            answers=answers,
            quotes={
                "words": quote_words,
                "questions": len(quoting),
                "share": len(quoting) / len(evaluable) if evaluable else None,
                "left_out": leave_out_quotes,
                "ids": [_called(one) for one in quoting.values()],
            },
            without_quotes={} if leave_out_quotes else hits_and_mrr(plain, self.ks),
            by_type=self._parts(ranked, lambda one: one.question.type),
            by_book=self._parts(ranked, lambda one: one.book),
            questions=tuple(
                self._row(one, rank, quotes=key_of(one.resolved) in quoting)
                for one, rank in zip(ranked, ranks, strict=True)
            ),
        )
        if expand_gold:
            report = replace(report, expanded=self._expanded(ranked, ranks))
        if top_n:
            report = replace(report, routing=self._routing(asked, len(with_gold), ranks, top_n))
        if graphs:
            report = replace(report, graph=self._graphs(asked, graphs))
        report = replace(report, notes=tuple(dict.fromkeys(self.notes)))
        return report, [pinned(one) for one in resolved]

    # -- asking

    def _ask(self, asked: Sequence[Resolved], how: Mapping[str, Any], step: str) -> list[Ranked]:
        ticker = Ticker(self.progress, step, len(asked), unit="questions")
        found = []
        for one in asked:
            found.append(self._ask_one(one, how))
            ticker.tick()
        ticker.end()
        return found

    def _ask_one(self, one: Resolved, how: Mapping[str, Any]) -> Ranked:
        from ir.retrieve import search

        lists: list[list[tuple[Passage, float]]] = []
        routed, fell_back = [], []
        for name, corpus in self.corpora.items():
            hits: Hits = search(corpus, one.question.text, **how)
            self.notes += [f"{name}: {note}" for note in hits.meta.get("notes", ())]
            routing: Mapping[str, Any] = hits.meta.get("routing") or {}
            routed.append(self._routed(one, name, routing))
            fell_back.append("chapters" in routing and "fallback" in routing)
            known = [(self.passages.of_hit(hit, name), float(hit.score)) for hit in hits]
            lists.append([(passage, score) for passage, score in known if passage is not None])
        found = _merged(lists)[: how["k"]]
        return Ranked(
            one,
            tuple(passage for passage, _ in found),
            tuple(score for _, score in found),
            routed=any(routed),
            fell_back=any(fell_back),
        )

    def _routed(self, one: Resolved, corpus: str, routing: Mapping[str, Any]) -> bool:
        """Whether gold is in the chapters that were chosen; where none were, it is."""
        own = [passage for passage in one.passages if passage.corpus == corpus]
        if "chapters" not in routing:
            return bool(own)
        chapters = self._chapters(corpus)
        return any(chapters.get(passage.record) in routing["chapters"] for passage in own)

    def _chapters(self, corpus: str) -> Mapping[str, str]:
        """The chapter of each record, as routing knows it."""
        from ir.retrieve.chapters import chapters_of
        from ir.retrieve.whole import whole_of

        if corpus not in self._chapter_of:
            opened = self.corpora[corpus]
            with opened.store.snapshot() as snapshot:
                known = chapters_of(opened, snapshot, self.how.get("space"))
                rows = whole_of(opened, snapshot, "chapters").rows
                self._chapter_of[corpus] = {
                    rows[at].id: title
                    for title, places in zip(known.titles, known.places, strict=True)
                    for at in places.tolist()
                }
        return self._chapter_of[corpus]

    # -- the reports beside

    def _expanded(self, ranked: Sequence[Ranked], ranks: Sequence[int]) -> dict[str, Any]:
        more: dict[str, tuple[Passage, ...]] = {}
        for one in ranked:
            more[key_of(one.resolved)] = expanded(one.resolved, self.passages, self._neighbours, most=_MOST_EXPANDED)
        measured = hits_and_mrr(gold_ranks(ranked, more), self.ks)
        before = hits_and_mrr(ranks, self.ks)
        return {
            "most": _MOST_EXPANDED,
            "added": sum(len(several) for several in more.values()),
            "questions": sum(bool(several) for several in more.values()),
            "metrics": measured,
            "gain": {name: value - before[name] for name, value in measured.items()},
        }

    def _neighbours(self, corpus: str, nodes: Sequence[str]) -> Mapping[str, Sequence[Neighbour]]:
        with self.corpora[corpus].store.snapshot() as snapshot:
            found = snapshot.neighbours(list(nodes), direction="both", limit=_MOST_LINKS)
        return dict(zip(nodes, found, strict=True))

    def _routing(
        self, asked: Sequence[Resolved], with_gold: int, ranks: Sequence[int], top_n: Sequence[int]
    ) -> tuple[RoutingRow, ...]:
        everything = hits_and_mrr(ranks, self.ks)
        rows = [RoutingRow(None, len(asked) / with_gold if with_gold else None, 0.0, everything, everything)]
        for n in sorted(set(top_n)):
            ranked = self._ask(asked, {**self.how, "chapters": n}, f"search {n} chapters")
            reached = [one for one in ranked if one.routed]
            rows.append(
                RoutingRow(
                    n,
                    len(reached) / with_gold if with_gold else None,
                    sum(one.fell_back for one in ranked) / len(ranked) if ranked else None,
                    hits_and_mrr(gold_ranks(reached), self.ks),
                    hits_and_mrr(gold_ranks(ranked), self.ks),
                )
            )
        return tuple(rows)

    def _graphs(self, asked: Sequence[Resolved], graphs: Sequence[str]) -> tuple[GraphRow, ...]:
        rows: list[GraphRow] = []
        base: list[int] = []
        for name in dict.fromkeys(("none", *graphs)):
            ranked = self._ask(asked, {**self.how, "graph": name}, f"search with links: {name}")
            ranks = gold_ranks(ranked)
            measured = hits_and_mrr(ranks, self.ks)
            if not rows:
                base = ranks
                rows.append(GraphRow(name, measured, {}, None))
                continue
            gain = {measure: value - rows[0].metrics[measure] for measure, value in measured.items()}
            changes = np.array([_inverse(b) - _inverse(a) for a, b in zip(base, ranks, strict=True)], dtype=float)
            rows.append(GraphRow(name, measured, gain, randomization_test(changes) if len(changes) else None))
        return tuple(rows)

    # -- what is said of the rankings

    def _with_similarity(self, ranked: Sequence[Ranked]) -> tuple[list[Ranked], dict[str, int]]:
        """Each ranking with how near its passages are to the answer: the one that is given, else what gold says."""
        ids = {corpus.embedder_id for corpus in self.corpora.values()}
        if len(ids) > 1:
            self.notes.append("the corpora have different embedders, so nearness to answers is not measured")
            return list(ranked), {}
        try:
            return [self._near(one) for one in ranked], dict(
                Counter("given" if one.resolved.question.answer else "gold" for one in ranked)
            )
        except (EmbedderError, ImportError, OSError) as error:
            self.notes.append(f"nearness to answers is not measured: {error}")
            return list(ranked), {}

    def _near(self, one: Ranked) -> Ranked:
        vectors = self._answer(one.resolved)
        near = [0.0] * len(one.found)
        for name, corpus in self.corpora.items():
            places = [at for at, passage in enumerate(one.found) if passage.corpus == name]
            if not places:
                continue
            with corpus.store.snapshot() as snapshot:
                refs = snapshot.refs_of([one.found[at].record for at in places])
                known = [at for at in places if one.found[at].record in refs]
                wanted = np.array([refs[one.found[at].record] for at in known], dtype=np.int64)
                for vector in vectors:
                    scores = snapshot.dense_scores(vector, wanted, self.how.get("space"))
                    for at, score in zip(known, scores.tolist(), strict=True):
                        near[at] = max(near[at], float(score))
        return replace(one, similar=tuple(near))

    def _answer(self, asked: Resolved) -> list[NDArray[np.float32]]:
        """What passages are held against: the answer in words, or the vectors of all that is gold."""
        space = self.how.get("space")
        if asked.question.answer:
            corpus = next(iter(self.corpora.values()))
            embedder = corpus.embedder if space is None else corpus.embedder_of(space)
            vector = embedder([asked.question.answer], input_type="document")[0]
            return [vector / (float(np.linalg.norm(vector)) or 1.0)]
        found: list[NDArray[np.float32]] = []
        for name, corpus in self.corpora.items():
            records = [passage.record for passage in asked.passages if passage.corpus == name]
            with corpus.store.snapshot() as snapshot:
                refs = np.array(list(snapshot.refs_of(records).values()), dtype=np.int64)
                found += [vector for vector in snapshot.vectors(refs, space) if vector is not None]
        return found

    def _unknown_books(self, resolved: Sequence[Resolved]) -> dict[str, int]:
        """Books that questions are about and that are not here, with how many they are."""
        named = [one.question.book for one in resolved if one.question.book is not None]
        return dict(Counter(name for name in named if self.passages.book(name) is None))

    def _parts(self, ranked: Sequence[Ranked], part_of: Any) -> dict[str, dict[str, float]]:
        parts: dict[str, list[Ranked]] = {}
        for one in ranked:
            parts.setdefault(str(part_of(one.resolved) or "-"), []).append(one)
        return {
            name: {"questions": len(several), **hits_and_mrr(gold_ranks(several), self.ks)}
            for name, several in sorted(parts.items())
        }

    def _row(self, one: Ranked, rank: int, *, quotes: bool) -> QuestionRow:
        asked = one.resolved
        return QuestionRow(
            id=asked.question.id,
            query=asked.question.text,
            book=asked.book,
            type=asked.question.type,
            gold=tuple(passage.id for passage in asked.passages),
            how=asked.how,
            rank=rank or None,
            quotes=quotes,
            found=tuple((passage.id, score) for passage, score in zip(one.found, one.scores, strict=True)),
            books=tuple(passage.book for passage in one.found),
        )


def _intervals(ranks: Sequence[int], ks: Sequence[int]) -> dict[str, tuple[float, float]]:
    """Where the means lie with a probability of 95 %."""
    if not ranks:
        return {}
    values = {f"hit@{k}": [float(0 < rank <= k) for rank in ranks] for k in ks}
    values["mrr"] = [_inverse(rank) for rank in ranks]
    return {name: bootstrap_interval(np.array(held), rounds=2000) for name, held in values.items()}


def _merged(lists: Sequence[list[tuple[Passage, float]]]) -> list[tuple[Passage, float]]:
    """Several corpora's hits by their ranks: raw scores of different corpora never meet."""
    if len(lists) == 1:
        return lists[0]
    placed = [(rank, source, hit) for source, hits in enumerate(lists) for rank, hit in enumerate(hits)]
    return [(hit[0], 1 / (61 + rank)) for rank, _, hit in sorted(placed, key=lambda one: one[:2])]


def _called(one: Resolved) -> str:
    return one.question.id if one.question.book is None else f"{one.question.book}/{one.question.id}"


def _inverse(rank: int) -> float:
    return 1 / rank if rank else 0.0
