"""DR-7: answers are kept for one version, the least recently used goes first, and threads may share them."""

from __future__ import annotations

import threading

import pytest

from ir.errors import InvalidInput
from ir.query.cache import DFLT_ENTRIES, VersionedCache


def test_it_holds_a_thousand_entries_unless_told_otherwise() -> None:
    assert VersionedCache[str, int]().entries == DFLT_ENTRIES == 1000
    with pytest.raises(InvalidInput, match="entries"):
        VersionedCache[str, int](0)


def test_another_version_is_a_miss_even_if_the_key_is_there() -> None:
    cache = VersionedCache[str, int]()
    cache.set("key", "v1", 1)
    assert (cache.get("key", "v1"), cache.get("key", "v2"), cache.get("other", "v1")) == (1, None, None)


def test_what_was_asked_for_least_recently_goes_first() -> None:
    cache = VersionedCache[str, int](2)
    cache.set("a", "v", 1)
    cache.set("b", "v", 2)
    assert cache.get("a", "v") == 1
    cache.set("c", "v", 3)
    assert (cache.get("a", "v"), cache.get("b", "v"), cache.get("c", "v")) == (1, None, 3)


def test_stale_entries_can_be_dropped_at_once_or_those_of_one_corpus_alone() -> None:
    cache = VersionedCache[tuple[str, int], int]()
    for number in range(4):
        cache.set(("mine", number), "old" if number % 2 else "new", number)
    cache.set(("other", 1), "old", 1)
    assert cache.invalidate_stale("new", among=lambda key: key[0] == "mine") == 2
    assert cache.get(("other", 1), "old") == 1
    assert cache.invalidate_stale("new") == 1
    assert len(cache) == 2


def test_threads_never_see_an_answer_of_another_version() -> None:
    cache = VersionedCache[int, str](50)
    begin, wrong = threading.Barrier(8), []

    def work(own: int) -> None:
        begin.wait(30)
        for step in range(2000):
            key, version = (own * 7 + step) % 80, f"v{step % 3}"
            found = cache.get(key, version)
            if found not in (None, f"{key}-{version}"):
                wrong.append(found)
            cache.set(key, version, f"{key}-{version}")
            if step % 100 == 0:
                cache.invalidate_stale(version)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert len(cache) <= 50
