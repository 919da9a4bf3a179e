"""What Milvus's own fusion means, beside ours: why searches fuse here and not there."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.extras import reason_for

pytest.importorskip("milvus_lite", reason=reason_for("milvus_lite"))

from pymilvus import AnnSearchRequest, DataType, RRFRanker, WeightedRanker

from ir.store.milvus import MilvusStore
from ir.testing.made import EVERYTHING, made, unit, words

QUERY = unit(1, 0.3, 0)


@pytest.fixture
def store(tmp_path: Path) -> MilvusStore:
    store = MilvusStore(f"milvus+lite:{tmp_path}/corpora.db")
    store.put_records([made(f"r{at}", "fox " * (1 + at % 7) + "hen " * at, (1, at / 9, at % 3)) for at in range(20)])
    return store


def fused_there(store: MilvusStore, depth: int, ranker: object) -> dict[int, float]:
    """What Milvus makes of both channels in one collection; the store keeps words and vectors in two."""
    client = store._connection.client
    schema = client.create_schema(auto_id=False)
    schema.add_field("ref", DataType.INT64, is_primary=True)
    schema.add_field("dense", DataType.FLOAT_VECTOR, dim=3)
    schema.add_field("sparse", DataType.SPARSE_FLOAT_VECTOR)
    indexes = client.prepare_index_params()
    indexes.add_index("dense", index_type="FLAT", metric_type="COSINE")
    indexes.add_index("sparse", index_type="SPARSE_INVERTED_INDEX", metric_type="IP")
    client.create_collection("both", schema=schema, index_params=indexes, consistency_level="Strong")
    with store.snapshot() as snapshot:
        view = snapshot._view  # type: ignore[attr-defined]
        refs = snapshot.dense(QUERY, 20, EVERYTHING).refs
        words_of = view.fetch(refs, ["sparse"])
        client.insert(
            "both",
            [
                {"ref": row["ref"], "sparse": row["sparse"], "dense": vector}
                for row, vector in zip(words_of, snapshot.vectors(refs), strict=True)
            ],
        )
        requests = [
            AnnSearchRequest([QUERY.tolist()], "dense", {"metric_type": "COSINE"}, depth),
            AnnSearchRequest([view.weights(words("fox"))], "sparse", {"metric_type": "IP"}, depth),
        ]
        (hits,) = client.hybrid_search("both", requests, ranker, limit=20)
    return {int(hit["id"]): float(hit["distance"]) for hit in hits}


def test_reciprocal_ranks_are_ours(store: MilvusStore) -> None:
    """The same number, but a hit of theirs carries neither rank nor raw score of a channel, which ours must."""
    expected: dict[int, float] = {}
    with store.snapshot() as snapshot:
        for ranking in (snapshot.dense(QUERY, 10, EVERYTHING), snapshot.lexical(words("fox"), 10, EVERYTHING)):
            for rank, ref in enumerate(ranking.refs.tolist(), start=1):
                expected[ref] = expected.get(ref, 0.0) + 1 / (60 + rank)
    assert fused_there(store, 10, RRFRanker(60)) == pytest.approx(expected, abs=1e-6)
    store.close()


def test_weighted_scores_are_not_ours(store: MilvusStore) -> None:
    """Theirs squeezes both scores by an arc tangent; our blend keeps the cosine and saturates BM25 at B/(B+35)."""
    with store.snapshot() as snapshot:
        refs = snapshot.dense(QUERY, 20, EVERYTHING).refs
        cosine = snapshot.dense_scores(QUERY, refs)
        bm25 = snapshot.lexical_scores(words("fox"), refs)
    ours = dict(zip(refs.tolist(), (0.5 * cosine + 0.5 * bm25 / (bm25 + 35)).tolist(), strict=True))
    theirs = fused_there(store, 20, WeightedRanker(0.5, 0.5))
    assert theirs.keys() == ours.keys()
    assert theirs != pytest.approx(ours, abs=0.05)
    store.close()
