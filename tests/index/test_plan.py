"""A dry run says what a build then does, and writes nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ir.index import build, plan_build
from ir.sources import CorpusSource
from ir.store import CorpusStore

scopes = st.dictionaries(st.sampled_from("abcdef"), st.sampled_from(["one", "two", "three"]))


@pytest.mark.slow
@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(scopes, scopes, st.booleans())
def test_the_plan_is_what_the_build_does(
    source_of: Callable[..., CorpusSource], before: dict[str, Any], after: dict[str, Any], full: bool
) -> None:
    store = CorpusStore.memory()
    build(source_of(before), store=store)
    version = store.version
    plan = plan_build(source_of(after), store=store, full=full)
    assert store.version == version
    report = build(source_of(after), store=store, full=full).report
    assert report is not None
    for name in ("added", "changed", "removed", "unchanged"):
        assert getattr(plan, name) == getattr(report, name), name
    kept = after if full else {**before, **after}
    assert {store.get_record(key).artifact_id: store.get_record(key).text for key in store.record_ids()} == kept


def test_a_plan_for_a_store_that_does_not_exist_yet(source_of: Callable[..., CorpusSource]) -> None:
    plan = plan_build(source_of({"a": "x"}), store=None)
    assert plan.to_dict() == {
        "added": ["a"],
        "changed": [],
        "removed": [],
        "unchanged": [],
        "skipped": [],
        "failed": [],
        "remarks": [],
    }
