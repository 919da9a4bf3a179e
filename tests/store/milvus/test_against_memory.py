"""Whatever is written, Milvus answers as the store in memory does: the Milvus core in process, not a cluster."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("milvus_lite")

from tests.property.test_stores import batches, drive, few_runs

from ir.store.milvus import MilvusStore

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def milvus_file(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    file = f"milvus+lite:{tmp_path_factory.mktemp('milvus')}/corpora.db"
    with MilvusStore(f"{file}?corpus=holder") as holder:
        holder.set_config({"name": "holder"})
        yield file


@settings(few_runs, max_examples=12)
@given(st.lists(batches, min_size=1, max_size=4))
def test_random_writes(milvus_file: str, batch_list: list[Any]) -> None:
    url = f"{milvus_file}?corpus=p{uuid4().hex[:12]}"

    def renewed(store: Any) -> MilvusStore:
        store.close()
        return MilvusStore(url)

    drive(batch_list, lambda: MilvusStore(url), renewed)
