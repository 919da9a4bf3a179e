"""Texts that PostgreSQL cannot keep as they are come back as they were."""

from __future__ import annotations

import pytest
from tests.extras import reason_for

pytest.importorskip("psycopg", reason=reason_for("psycopg"))

from hypothesis import given, settings
from hypothesis import strategies as st

from ir.store import CorpusStore
from ir.store.postgres.codec import dumps, encoded, is_plain, loads, packed, unpacked
from ir.testing.made import found, made

strings = st.text(st.sampled_from("ab\x00\x01\x02\ud7ff\ud800\udfff\ue000\ue7ff\uffff🦊"), max_size=6)
exhaustive = settings(max_examples=500, deadline=None, derandomize=True, database=None)


@exhaustive
@given(strings, strings)
def test_packing_can_be_undone_and_keeps_the_order(one: str, other: str) -> None:
    assert unpacked(packed(one)) == one
    assert (packed(one) < packed(other)) == (one < other)
    assert encoded(one) == packed(one).encode()
    assert b"\x00" not in encoded(one)


@exhaustive
@given(strings, strings)
def test_plain_texts_are_found_where_they_are(text: str, part: str) -> None:
    if is_plain(part):
        assert (part in packed(text)) == (part in text)


@exhaustive
@given(st.recursive(strings, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(strings, inner, max_size=2)))
def test_json(value: object) -> None:
    assert loads(dumps(value)) == value
    assert "\\u0000" not in dumps(value)
    dumps(value).encode()


STRANGE = "a\x00b\x01\ud7ff\ue000 🦊"  # halves of surrogate pairs are replaced before they come to any store


def test_everything_comes_back(corpus_url: str) -> None:
    metadata = {"z": STRANGE, STRANGE: [STRANGE], "big": 1e30, "a": -0.0, "whole": 10**30}
    with CorpusStore.open(corpus_url) as store:
        store.put_record(made(STRANGE, f"{STRANGE} fox", artifact=STRANGE, kind=STRANGE, **metadata))
        store.set_links(STRANGE, {STRANGE: [STRANGE]})
        store.set_ledger_entry(STRANGE, {STRANGE: STRANGE})
        store.set_config({"name": STRANGE})
        kept = store.get_record(STRANGE)
        assert (kept.text, kept.artifact_id, kept.surface_kind) == (f"{STRANGE} fox", STRANGE, STRANGE)
        assert list(kept.metadata.items()) == list(metadata.items())
        assert [type(value) for value in kept.metadata.values()] == [type(value) for value in metadata.values()]
        assert list(store.link_items()) == [(STRANGE, {STRANGE: [STRANGE]})]
        assert store.get_ledger_entry(STRANGE) == {STRANGE: STRANGE}
        assert store.get_config() == {"name": STRANGE}
        assert found(store, "fox") == [STRANGE]
        with store.snapshot() as snapshot:
            assert snapshot.kinds() == {STRANGE}


@pytest.mark.parametrize("size", [10, 3000, 100_000])
def test_ids_of_any_length(corpus_url: str, size: int) -> None:
    """Longer than an entry of an index may be."""
    import random

    name = "".join(random.Random(1).choices("abcdefghijklmnopqrstuvwxyz0123456789", k=size))
    with CorpusStore.open(corpus_url) as store:
        store.put_record(made(name, artifact=name))
        store.set_links(name, {"ref": [name]})
        assert store.get_record(name).artifact_id == name
        store.delete_record(name)
        assert len(store) == 0
        assert store.get_links(name) == {"ref": [name]}
