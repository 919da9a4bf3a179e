"""DR-9 and DR-11: the steps in their order, and an envelope that tells what ran."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Mapping, Sequence
from math import ceil
from typing import Any

import pytest
from tests.extras import needs
from tests.query.conftest import Wrapped

from ir.keyword import EmbeddedKeywords
from ir.keywords import KeywordRequest, KeywordResult
from ir.query import (
    HybridQueryOptions,
    OntologyQuery,
    Parts,
    QueryMeta,
    VersionedCache,
    ontology_query,
)
from ir.query.envelope import answer_schema

LONG = "how is a receipt mailed to the customer"


class Reranker:
    """Likes what is short; remembers what it read."""

    id = "short-first"

    def __init__(self) -> None:
        self.read: list[int] = []

    def __call__(self, query: str, segments: Sequence[Mapping[str, Any]]) -> list[float]:
        self.read.append(len(segments))
        return [-float(len(segment["text"])) for segment in segments]


def test_meaning_and_words_are_in_flight_at_the_same_time(shop: Any) -> None:
    meeting = threading.Barrier(2)  # each side waits here for the other: one after the other would never pass

    class Meeting:
        name = "meeting"

        def __init__(self, real: EmbeddedKeywords) -> None:
            self._real = real

        def search(self, request: KeywordRequest, *, timeout_s: float | None = None) -> Sequence[KeywordResult]:
            meeting.wait(60)
            return self._real.search(request)

    shop.embedder = Wrapped(shop.embedder, lambda: meeting.wait(60) and None)
    with shop.store.snapshot() as snapshot:
        parts = Parts(provider=Meeting(EmbeddedKeywords({"shop": snapshot})), keyword_timeout_s=120)
        answer = ontology_query(shop, OntologyQuery(LONG), HybridQueryOptions(), parts)
    assert (answer.meta.hybrid, answer.meta.degraded, answer.meta.backend) == (True, (), "meeting")
    assert not meeting.broken


def test_the_steps_come_in_their_order(shop: Any) -> None:
    order: list[str] = []
    shop.embedder = Wrapped(shop.embedder, lambda: order.append("dense"))

    class Watched(VersionedCache[Any, Any]):
        def get(self, key: Any, version: str) -> Any:
            order.append("cache get")
            return super().get(key, version)

        def set(self, key: Any, version: str, value: Any) -> None:
            order.append(f"cache set with {len(value.meta.expanded_context) > 0} context")
            super().set(key, version, value)

    def boost(pool: Any) -> list[float]:
        order.append("rank")
        return [0.0] * len(pool)

    def rerank(query: str, segments: Any) -> list[float]:
        order.append("rerank")
        return [0.0] * len(segments)

    parts = Parts(cache=Watched(), boosts=(boost,), reranker=rerank)
    ontology_query(shop, OntologyQuery(LONG, follow_links=True), HybridQueryOptions(), parts)
    assert order == ["cache get", "dense", "rank", "rerank", "cache set with True context"]


@pytest.mark.parametrize(("precision", "follow", "cached"), list(itertools.product([True, False], repeat=3)))
def test_all_eight_ways_of_precision_links_and_cache(shop: Any, precision: bool, follow: bool, cached: bool) -> None:
    reranker = Reranker()
    parts = Parts(reranker=reranker, cache=VersionedCache())
    asked = OntologyQuery(LONG, precision=precision, follow_links=follow, top_k=4)
    first = ontology_query(shop, asked, HybridQueryOptions(), parts)
    answer = ontology_query(shop, asked, HybridQueryOptions(), parts) if cached else first
    assert answer.meta.cache_hit is cached
    assert answer.meta.reranked is precision
    assert answer.meta.reranker == ("short-first" if precision else None)
    assert bool(answer.meta.expanded_context) is follow
    assert answer.results == first.results
    assert len(reranker.read) == (1 if precision else 0)
    assert (answer.meta.degraded, answer.meta.hybrid, answer.meta.skipped_rerank) == ((), True, None)
    assert answer.meta.ontology_version == shop.store.content_version
    if precision:
        lengths = [len(one.text) for one in answer.results]
        assert lengths == sorted(lengths)


def test_half_as_much_again_goes_to_the_reranker(shop: Any) -> None:
    reranker = Reranker()
    for top_k in (1, 3, 4):
        ontology_query(shop, OntologyQuery(LONG, top_k=top_k), HybridQueryOptions(), Parts(reranker=reranker))
    assert reranker.read == [ceil(1.5 * top_k) for top_k in (1, 3, 4)]


def test_without_a_reranker_nothing_is_reranked_and_nothing_is_degraded(shop: Any) -> None:
    meta = ontology_query(shop, OntologyQuery(LONG), HybridQueryOptions()).meta
    assert (meta.reranked, meta.reranker, meta.degraded, meta.skipped_rerank) == (False, None, (), None)


def test_where_nothing_is_left_nobody_is_asked_to_rerank(shop: Any) -> None:
    reranker = Reranker()
    answer = ontology_query(
        shop, OntologyQuery(LONG, min_relevance=1.0), HybridQueryOptions(), Parts(reranker=reranker)
    )
    assert (answer.results, answer.meta.reranked, answer.meta.degraded, reranker.read) == ((), False, (), [])


def test_other_parameters_another_branch_or_another_reranker_are_other_answers(shop: Any) -> None:
    cache: VersionedCache[Any, Any] = VersionedCache()
    ways = [
        (OntologyQuery(LONG), None),
        (OntologyQuery(LONG, top_k=3), None),
        (OntologyQuery(LONG, object_type="type"), None),
        (OntologyQuery(LONG, filter={"a": {"$ne": 1}}), None),  # type: ignore[arg-type]
        (OntologyQuery(LONG), Reranker()),
        (OntologyQuery("order"), None),
    ]
    for asked, reranker in ways:
        parts = Parts(cache=cache, reranker=reranker)
        assert not ontology_query(shop, asked, HybridQueryOptions(), parts).meta.cache_hit
    assert len(cache) == len(ways)
    for workspace in ("one", "two"):
        parts = Parts(cache=cache, workspace=workspace)
        assert not ontology_query(shop, OntologyQuery(LONG), HybridQueryOptions(), parts).meta.cache_hit


def test_what_was_kept_is_gone_when_the_content_changes_and_back_when_it_is_as_before(making: Any) -> None:
    from tests.query.conftest import PROGRAM, source

    import ir

    shop = making(local=True)
    parts = Parts(cache=VersionedCache())

    def ask() -> QueryMeta:
        return ontology_query(shop, OntologyQuery(LONG), HybridQueryOptions(), parts).meta

    before = ask()
    ir.build(source({**PROGRAM, "shop/new.py": "def mail():\n    '''Mail.'''\n"}), store=shop.store)
    after = ask()
    assert (after.cache_hit, after.ontology_version != before.ontology_version) == (False, True)
    assert ask().cache_hit
    ir.build(source(PROGRAM), store=shop.store)
    back = ask()
    assert back.ontology_version == before.ontology_version


def test_a_question_about_links_is_told_and_changes_nothing_else(shop: Any) -> None:
    asking = ontology_query(shop, OntologyQuery("who calls parse_order"), HybridQueryOptions())
    following = ontology_query(shop, OntologyQuery("who calls parse_order", follow_links=True), HybridQueryOptions())
    plain = ontology_query(shop, OntologyQuery(LONG), HybridQueryOptions())
    assert asking.meta.could_benefit_from_link_expansion
    assert not following.meta.could_benefit_from_link_expansion
    assert not plain.meta.could_benefit_from_link_expansion
    assert asking.results == following.results
    assert any(one.name == "load" and one.link_name == "calls" for one in following.meta.expanded_context)


def test_every_answer_is_what_the_schema_says(shop: Any) -> None:
    needs("jsonschema")
    from jsonschema import Draft202012Validator

    schema = answer_schema()
    Draft202012Validator.check_schema(schema)
    for given in ({}, {"follow_links": True}, {"include": ("signature", "doc", "text")}, {"provenance": "ingested"}):
        asked = OntologyQuery.of(LONG, **given)
        answer = ontology_query(shop, asked, HybridQueryOptions(), Parts(reranker=Reranker()))
        assert not list(Draft202012Validator(schema).iter_errors(answer.to_dict()))
    assert answer.meta.timings["total"] > 0


def test_a_result_tells_its_symbol_place_ranks_and_origin(shop: Any) -> None:
    (first,) = ontology_query(shop, OntologyQuery("send_receipt", top_k=1), HybridQueryOptions()).results
    told = first.to_dict()
    assert (told["symbolKey"], told["objectType"]) == ("python shop/mail.py/send_receipt().", "function")
    assert (told["chunkLevel"], told["provenance"], told["path"]) == ("method", "ingested", "shop/mail.py")
    assert told["lineStart"] <= 3 <= told["lineEnd"]
    assert set(told["sourceRanks"]) == {"dense", "keyword"}
    assert "Mail a receipt" in told["text"]


@pytest.mark.parametrize(
    "wrong",
    [
        {"skipped_rerank": "because"},
        {"degraded": ("weather",)},
        {"degraded": ("dense", "dense")},
        {"reranked": True, "skipped_rerank": "bm25_saturation"},
        {"reranked": True, "degraded": ("reranker",)},
        {"hybrid": True, "degraded": ("keyword",)},
        {"timings": {"total": -1.0}},
        {"ontology_version": ""},
    ],
)
def test_an_envelope_that_cannot_be_true_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="no envelope"):
        QueryMeta(**{"ontology_version": "v", **wrong})


def test_a_corpus_without_records_has_an_empty_answer(making: Any) -> None:
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        empty = making({"a.py": ""})
    answer = ontology_query(empty, OntologyQuery("anything", follow_links=True), HybridQueryOptions())
    assert answer.results == ()


def test_many_threads_get_the_same_answer(shop: Any) -> None:
    parts = Parts(cache=VersionedCache(2))
    expected = {query: ontology_query(shop, OntologyQuery(query), HybridQueryOptions()).results for query in "abc"}
    wrong: list[str] = []

    def work() -> None:
        for query in list("abcabc"):
            found = ontology_query(shop, OntologyQuery(query), HybridQueryOptions(), parts)
            if found.results != expected[query]:
                wrong.append(query)

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
