"""What every engine for words does, whoever it is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import pytest

from ir.base import Record
from ir.errors import InvalidInput, KeywordError
from ir.keywords import KeywordProvider, KeywordRequest

__all__ = ["DOCUMENTS", "KeywordContract", "Provided"]

Documents = Mapping[str, tuple[str, Mapping[str, Any]]]
#: From documents by id, each a text and its metadata, to a provider and the collection in which it has them.
Provided = Callable[[Documents], tuple[KeywordProvider, str]]

DOCUMENTS: Documents = {
    "tea": ("Green tea is steeped; black tea is steeped for longer.", {"kind": "drink", "tags": ["hot", "leaf"]}),
    "bread": ("Bread dough is kneaded for long.", {"kind": "food", "branch": "main"}),
    "toast": ("Toast is bread that was baked twice.", {"kind": "food", "branch": "draft", "year": 3}),
    "soup": ("Soup is boiled. It is eaten with a spoon.", {"kind": "food", "owner": "O'Brien; \"x\" = 'y'"}),
    "odd": ("A retry_budget in src/ir/endpoint.py", {"kind": "code", "at": {"line": "7"}}),
}
HOSTILE = (
    "tea' OR 1=1; DROP TABLE records; --",
    '"tea (+bread -soup | toast* ~) \\ && ! : <-> tea',
    "tea \x00 \U0001f375 ß 茶 \ufeff",
    "$filter=tags/any(t: t eq 'x') {$where: 1} %s {0} tea",
    "tea " * 2000,
)


class KeywordContract:
    """Subclass it with a fixture ``provided``, which is a :data:`Provided`."""

    @pytest.fixture
    def ask(self, provided: Provided) -> Callable[..., list[str]]:
        provider, collection = provided(DOCUMENTS)

        def asked(query: str, top_k: int = 10, **filters: str) -> list[str]:
            found = provider.search(KeywordRequest(query, collection, top_k, filters))
            assert [one.rank for one in found] == list(range(1, len(found) + 1))
            assert all(one.score >= after.score for one, after in pairwise(found))
            return [one.document_id for one in found]

        return asked

    def test_documents_with_any_of_the_words_come_best_first(self, ask: Callable[..., list[str]]) -> None:
        assert set(ask("bread")) == {"bread", "toast"}
        assert ask("bread baked twice")[0] == "toast"
        assert set(ask("tea or soup")) == {"tea", "soup"}

    def test_no_more_come_than_were_asked_for(self, ask: Callable[..., list[str]]) -> None:
        assert ask("bread baked twice", 1) == ["toast"]

    def test_what_no_document_says_finds_nothing(self, ask: Callable[..., list[str]]) -> None:
        assert ask("zeppelin") == []
        assert ask("?!") == []

    def test_asking_twice_gives_the_same(self, ask: Callable[..., list[str]]) -> None:
        assert ask("bread that is baked") == ask("bread that is baked")

    def test_equal_documents_come_by_their_ids_also_where_the_list_ends(self, provided: Provided) -> None:
        provider, collection = provided({f"d{at}": ("the same words", {}) for at in (5, 3, 9, 1, 7)})
        found = provider.search(KeywordRequest("same words", collection, 3))
        assert [one.document_id for one in found] == ["d1", "d3", "d5"]
        assert len({one.score for one in found}) == 1

    def test_filters_must_all_hold_exactly(self, ask: Callable[..., list[str]]) -> None:
        assert ask("bread", kind="food", branch="main") == ["bread"]
        assert ask("bread", kind="food", branch="other") == []
        assert ask("bread", kind="Food") == []
        assert ask("bread", kind="foo") == []
        assert ask("bread", nothing="food") == []

    def test_filters_hold_before_the_best_are_chosen(self, ask: Callable[..., list[str]]) -> None:
        assert ask("bread baked twice", 1, branch="main") == ["bread"]

    def test_a_filter_finds_a_member_of_a_list_and_a_field_within_a_field(self, ask: Callable[..., list[str]]) -> None:
        assert ask("tea", tags="leaf") == ["tea"]
        assert ask("retry_budget", **{"at.line": "7"}) == ["odd"]

    def test_a_filter_is_for_texts_and_quotes_in_it_are_only_quotes(self, ask: Callable[..., list[str]]) -> None:
        assert ask("bread", year="3") == []
        assert ask("soup", owner="O'Brien; \"x\" = 'y'") == ["soup"]
        assert ask("soup", owner="' or '1'='1") == []

    def test_no_filters_may_be_none(self, provided: Provided) -> None:
        provider, collection = provided(DOCUMENTS)
        none: Any = None
        assert provider.search(KeywordRequest("soup", collection, 5, none))[0].document_id == "soup"

    @pytest.mark.parametrize("query", HOSTILE, ids=lambda text: repr(text)[:12])
    def test_a_query_is_words_whatever_it_holds(self, ask: Callable[..., list[str]], query: str) -> None:
        assert "tea" in ask(query)

    def test_an_identifier_is_found(self, ask: Callable[..., list[str]]) -> None:
        assert ask("retry_budget")[0] == "odd"

    def test_with_nothing_asked_for_the_back_end_is_not_asked(self, provided: Provided) -> None:
        provider, _ = provided(DOCUMENTS)
        assert list(provider.search(KeywordRequest("tea", "no such collection", 0))) == []

    def test_an_unknown_collection_is_an_error_that_names_it(self, provided: Provided) -> None:
        provider, _ = provided(DOCUMENTS)
        with pytest.raises(KeywordError, match="no such collection"):
            provider.search(KeywordRequest("tea", "no such collection", 5))

    def test_an_empty_query_and_a_negative_count_are_refused(self) -> None:
        for query, top_k in (("", 5), (" \n", 5), ("tea", -1)):
            with pytest.raises(InvalidInput):
                KeywordRequest(query, "c", top_k)

    def test_many_threads_ask_at_once(self, provided: Provided) -> None:
        provider, collection = provided(DOCUMENTS)
        request = KeywordRequest("bread baked twice", collection, 3)
        expected = provider.search(request)
        with ThreadPoolExecutor(4) as pool:
            assert all(found == expected for found in pool.map(lambda _: provider.search(request), range(12)))

    def test_it_has_a_name_to_be_shown_by(self, provided: Provided) -> None:
        assert provided(DOCUMENTS)[0].name


def as_records(documents: Documents) -> list[Record]:
    """Documents as records without vectors."""
    import numpy as np

    empty = np.empty(0, dtype=np.float32)
    return [
        Record(name, name, "document", 0, text, empty, dict(metadata)) for name, (text, metadata) in documents.items()
    ]
