"""DR-9 b and c: the reranker is left out where the words are enough, as far as somebody measured that."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ir.errors import InvalidInput
from ir.keyword import EmbeddedKeywords
from ir.keywords import KeywordRequest
from ir.query import HybridQueryOptions, OntologyQuery, Parts, ontology_query
from ir.query.saturation import (
    Tried,
    calibrate,
    forget_saturation,
    is_saturated,
    keep_saturation,
    saturation_of,
    token_count,
)


def rerank(query: str, segments: Any) -> list[float]:
    return [1.0] * len(segments)


def top_score(corpus: Any, query: str) -> float:
    with corpus.store.snapshot() as snapshot:
        return EmbeddedKeywords({corpus.name: snapshot}).search(KeywordRequest(query, corpus.name, 1))[0].score


def test_without_a_measured_threshold_every_query_is_reranked(shop: Any) -> None:
    meta = ontology_query(shop, OntologyQuery("send_receipt"), HybridQueryOptions(), Parts(reranker=rerank)).meta
    assert (meta.reranked, meta.skipped_rerank) == (True, None)


def test_a_short_query_at_the_threshold_skips_the_reranker_and_says_so(shop: Any) -> None:
    threshold = top_score(shop, "send_receipt")

    def skipped(query: str, at: float, **given: Any) -> tuple[bool, str | None]:
        options = HybridQueryOptions(bm_saturation_threshold=at)
        meta = ontology_query(shop, OntologyQuery(query, **given), options, Parts(reranker=rerank)).meta
        return meta.reranked, meta.skipped_rerank

    assert skipped("send_receipt", threshold) == (False, "bm25_saturation")
    assert skipped("send_receipt", threshold + 0.01) == (True, None)
    assert skipped("send_receipt to the very customer", 0.0) == (True, None)
    assert skipped("send_receipt", threshold, precision=False) == (False, None)


def test_a_threshold_is_kept_with_the_corpus_for_one_engine_until_it_is_forgotten(making: Any) -> None:
    shop = making(local=True)
    version = shop.store.content_version
    made = calibrate([Tried(2.0, 1, True)] * 5, "embedded")
    keep_saturation(shop.store, made)
    assert shop.store.content_version == version
    assert saturation_of(shop.store.get_config(), "embedded") == 2.0
    assert saturation_of(shop.store.get_config(), "tsvector") is None
    parts = Parts(reranker=rerank)
    meta = ontology_query(shop, OntologyQuery("send_receipt"), HybridQueryOptions(), parts).meta
    assert meta.skipped_rerank == "bm25_saturation"
    assert forget_saturation(shop.store, "embedded")
    assert not forget_saturation(shop.store, "embedded")
    meta = ontology_query(shop, OntologyQuery("send_receipt"), HybridQueryOptions(), parts).meta
    assert meta.skipped_rerank is None


def test_it_survives_the_next_build(making: Any) -> None:
    from tests.query.conftest import PROGRAM, source

    import ir

    shop = making(local=True)
    keep_saturation(shop.store, calibrate([Tried(2.0, 1, True)] * 5, "embedded"))
    ir.build(source({**PROGRAM, "shop/new.py": "x = 1\n"}), store=shop.store)
    assert saturation_of(shop.store.get_config(), "embedded") == 2.0


def test_the_lowest_safe_score_is_found() -> None:
    tried = [Tried(float(score), 2, score >= 10) for score in range(30)]
    made = calibrate(tried, "embedded", precision=1.0)
    assert (made.threshold, made.above, made.right, made.cases) == (10.0, 20, 20, 30)
    assert calibrate(tried, "embedded", precision=0.9).threshold == 8.0


def test_no_score_is_safe_where_the_best_are_wrong_or_too_few_were_tried() -> None:
    assert calibrate([Tried(float(score), 2, score < 10) for score in range(30)], "embedded").threshold is None
    assert calibrate([Tried(9.0, 2, True)] * 4, "embedded").threshold is None
    assert calibrate([Tried(9.0, 5, True)] * 40, "embedded").cases == 0
    assert calibrate([Tried(None, 1, True)] * 40, "embedded").threshold is None


def test_equal_scores_are_all_above_or_all_below() -> None:
    tried = [Tried(5.0, 1, True)] * 5 + [Tried(5.0, 1, False)] * 5
    assert calibrate(tried, "embedded").threshold is None


def test_a_precision_that_makes_no_sense_is_refused() -> None:
    with pytest.raises(InvalidInput, match="precision"):
        calibrate([], "embedded", precision=0)


def test_words_are_counted_as_they_are_written() -> None:
    assert [token_count(query) for query in ("HttpReranker.deadline_ms", " a  b\tc\nd ", "")] == [1, 4, 0]
    assert not is_saturated(None, 1.0, 1)


def test_the_operation_measures_on_cases_and_keeps_the_threshold(tmp_path: Any) -> None:
    from tests.query.conftest import PROGRAM, source

    import ir
    from ir.app.session import Session

    ir.build(source(PROGRAM))
    gold = {
        "send_receipt": "shop/mail.py",
        "parse_order": "shop/files.py",
        "CachedFileStore": "shop/files.py",
        "save": "shop/store.py",
        "FileStore": "shop/files.py",
        "test_a_receipt_is_sent": "tests/test_mail.py",
    }
    cases = tmp_path / "cases.jsonl"
    cases.write_text("".join(json.dumps({"query": name, "gold": [path]}) + "\n" for name, path in gold.items()))
    with Session() as session:
        asked = {"corpus": "shop", "cases": str(cases), "precision": 0.8}
        dry = session.call("calibrate-saturation", {**asked, "dry_run": True})
        assert (dry.saved, dry.saturation.cases) == (False, len(gold))
        made = session.call("calibrate-saturation", asked)
        assert made.saved
        assert made.saturation.threshold == dry.saturation.threshold
        assert session.call("calibrate-saturation", {"corpus": "shop", "forget": True}).forgotten
        with pytest.raises(InvalidInput, match="CASES"):
            session.call("calibrate-saturation", {"corpus": "shop"})
