"""DR-1: what every keyword engine is held to, here the corpus's own."""

from __future__ import annotations

from typing import Any

import pytest

from ir.errors import Cancelled, InvalidInput, KeywordError
from ir.keyword import EmbeddedKeywords
from ir.keywords import KeywordProvider, KeywordRequest


def test_a_request_takes_no_filters_as_none_and_refuses_what_makes_no_sense() -> None:
    assert KeywordRequest("order", "shop", 5, None).filters == {}  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="top_k"):
        KeywordRequest("order", "shop", -1)
    with pytest.raises(InvalidInput, match="empty"):
        KeywordRequest(" ", "shop", 1)


def test_scores_fall_ranks_count_from_one_and_ties_go_by_id(shop: Any) -> None:
    with shop.store.snapshot() as snapshot:
        provider = EmbeddedKeywords({"shop": snapshot})
        assert isinstance(provider, KeywordProvider)
        found = provider.search(KeywordRequest("load an order", "shop", 50))
    assert [one.rank for one in found] == list(range(1, len(found) + 1))
    assert [(-one.score, one.document_id) for one in found] == sorted((-one.score, one.document_id) for one in found)
    assert len(found) > 3


def test_the_same_question_has_the_same_answer(shop: Any) -> None:
    with shop.store.snapshot() as snapshot:
        provider = EmbeddedKeywords({"shop": snapshot})
        request = KeywordRequest("order", "shop", 50)
        assert provider.search(request) == provider.search(request)


def test_filters_are_exact_and_all_of_them_hold(shop: Any) -> None:
    with shop.store.snapshot() as snapshot:
        provider = EmbeddedKeywords({"shop": snapshot})
        exact = {"chunkLevel": "method", "provenance": "ingested"}
        found = provider.search(KeywordRequest("order", "shop", 50, exact))
        refs = snapshot.refs_of([one.document_id for one in found])
        assert len(refs) == len(found) > 0
        assert not provider.search(KeywordRequest("order", "shop", 50, {**exact, "objectType": "type"}))
        assert not provider.search(KeywordRequest("order", "shop", 50, {"chunkLevel": "meth"}))


def test_nothing_is_asked_for_top_k_zero(shop: Any) -> None:
    with shop.store.snapshot() as snapshot:
        provider = EmbeddedKeywords({"shop": snapshot})
    shop.store.close()
    assert provider.search(KeywordRequest("order", "shop", 0)) == []


def test_a_collection_that_is_not_there_is_a_keyword_error(shop: Any) -> None:
    with shop.store.snapshot() as snapshot, pytest.raises(KeywordError, match="'other'"):
        EmbeddedKeywords({"shop": snapshot}).search(KeywordRequest("order", "other", 5))


def test_a_fault_of_the_store_is_a_keyword_error_and_being_cancelled_is_not(making: Any) -> None:
    shop = making(local=True)

    class Snapshot:
        """A real one, whose words fail as the database or the user wants it."""

        def __init__(self, real: Any, error: BaseException) -> None:
            self._real, self._error = real, error

        def __getattr__(self, name: str) -> Any:
            return getattr(self._real, name)

        def __len__(self) -> int:
            return len(self._real)

        def lexical(self, *given: Any) -> Any:
            raise self._error

    request = KeywordRequest("order", "shop", 5)
    with shop.store.snapshot() as snapshot:
        failing: Any = Snapshot(snapshot, OSError("disk gone"))
        with pytest.raises(KeywordError, match="disk gone"):
            EmbeddedKeywords({"shop": failing}).search(request)
        failing = Snapshot(snapshot, Cancelled("enough"))
        with pytest.raises(Cancelled):
            EmbeddedKeywords({"shop": failing}).search(request)
