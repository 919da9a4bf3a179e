"""The short way of the plain blend and the long way through all stages give the same."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

import ir
from ir.base import Record
from ir.retrieve import Pool, search
from ir.retrieve.fusion import blended, bm25_for
from ir.select.magnitude import blend_of
from ir.store import CorpusStore

WORDS = ("tea", "bread", "harbour", "ice", "lighthouse", "letter", "wind", "road")


def nothing(pool: Pool) -> Any:
    """A boost that changes nothing, and sends a search the long way."""
    return np.zeros(len(pool))


def embed(texts: list[str], *, input_type: str = "document") -> np.ndarray:
    """Some direction for each text, the same every time."""
    rows = [np.random.default_rng(sum(map(ord, text))).normal(size=4) for text in texts]
    return np.array(rows, dtype=np.float32)


embed._ir_id = "random"  # type: ignore[attr-defined]


@st.composite
def corpora(draw: st.DrawFn) -> ir.Corpus:
    """Records of few words in some order, several to an artifact, some of them alike, some without a vector."""
    seed, size = draw(st.integers(0, 2**16)), draw(st.integers(1, 260))
    per_artifact, alike = draw(st.integers(1, 6)), draw(st.integers(1, 40))
    random = np.random.default_rng(seed)
    directions = random.normal(size=(alike, 4)).astype(np.float32)
    records = []
    for number in range(size):
        words = random.choice(WORDS, size=int(random.integers(1, 6)))
        artifact, index = f"a{number // per_artifact}", number % per_artifact
        kind = "note" if index else "document"
        record_id = Record.make_id(artifact, kind, index)
        metadata = {"n": int(random.integers(0, 5))}
        vector = directions[int(random.integers(0, alike))]
        records.append(Record(record_id, artifact, kind, index, " ".join(words), vector, metadata))
    store = CorpusStore.memory()
    with store.transaction():
        store.put_records(records)
        store.set_config({"name": "random", "embedder_id": "random"})
        if draw(st.booleans()):  # some records have no vector in the other space
            store.add_space("other")
            some = [record for record in records if random.random() < 0.7]
            store.put_vectors("other", {record.id: -record.vector for record in some})
            told = {"other": {"embedder": "custom", "embedder_id": "random"}}
            store.set_config({"name": "random", "embedder_id": "random", "spaces": told})
    return ir.Corpus("random", store, embed, "random")  # type: ignore[arg-type]


@settings(max_examples=120, deadline=None)
@given(
    corpus=corpora(),
    query=st.lists(st.sampled_from((*WORDS, "unheard")), min_size=1, max_size=4).map(" ".join),
    k=st.integers(1, 30),
    alpha=st.one_of(st.none(), st.floats(0, 1)),
    saturation=st.one_of(st.none(), st.floats(0.5, 100)),
    lowest=st.one_of(st.none(), st.integers(0, 5)),
    surfaces=st.sampled_from((None, ("document",))),
    per_artifact=st.sampled_from((False, True, 2, 3)),
)
def test_short_and_long_way_rank_and_score_alike(
    corpus: ir.Corpus,
    query: str,
    k: int,
    alpha: float | None,
    saturation: float | None,
    lowest: int | None,
    surfaces: tuple[str, ...] | None,
    per_artifact: bool | int,
) -> None:
    options: dict[str, Any] = {
        "k": k,
        "mode": "hybrid",
        "surfaces": surfaces,
        "per_artifact": per_artifact,
        "explain": True,
        "bm25_sat_k": saturation,
        "fetch_k": max(5 * k, 50),  # a boost looks further where every record is a hit of its own
        "filter": None if lowest is None else {"n": {"$gte": lowest}},
        "space": "other" if "other" in corpus.store.spaces() else None,
    }
    if alpha is not None:
        options["alpha"] = alpha
    short, long = search(corpus, query, **options), search(corpus, query, boosts=nothing, **options)
    assert [(hit.artifact_id, hit.surface_index) for hit in short] == [
        (hit.artifact_id, hit.surface_index) for hit in long
    ]
    assert [hit.score for hit in short] == [hit.score for hit in long], "to the last bit"
    assert list(short) == list(long), "and so are ranks, shares and everything else"


@example(cosine=0.3, bm25=2.0, alpha=1.0, saturation=35.0)  # words count nothing, and a tie needs nothing of them
@given(cosine=st.floats(-1, 1), bm25=st.floats(0, 1e3), alpha=st.floats(0, 1), saturation=st.floats(0.1, 100))
def test_the_blend_is_the_sum_of_its_shares(cosine: float, bm25: float, alpha: float, saturation: float) -> None:
    whole = blended(cosine, bm25, alpha, saturation)
    assert whole == blended(cosine, 0.0, alpha, saturation) + blended(0.0, bm25, alpha, saturation)
    assert blended(np.array([cosine]), 0.0, alpha, saturation)[0] == blended(cosine, 0.0, alpha, saturation)
    share = blended(0.0, bm25, alpha, saturation)
    assert bm25_for(share, alpha, saturation) <= bm25, "what reaches a bar exactly is never out of reach"


def test_selection_reads_magnitudes_off_the_same_formula() -> None:
    hit = ir.SearchHit("a", "document", 1.0, "", channels={"dense": {"score": 0.8}, "lexical": {"score": 35.0}})
    assert blend_of(hit) == blended(0.8, 35.0, 0.5, 35.0) == 0.65
