"""Links by name in a search: the worked examples through its door, and bounds for any graph."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ir
from ir.book import GraphBoost, retrieve
from ir.errors import InvalidInput
from ir.links import Node
from ir.store import CorpusStore

from .conftest import Made, linked_corpus

CHUNKS = [f"c{number}" for number in range(6)]
BASE = dict(zip(CHUNKS, (0.9, 0.8, 0.7, 0.6, 0.5, 0.4), strict=True))
#: A chain of chunks, and an entity between its ends.
CHAIN = [(f"c{number}", f"c{number + 1}") for number in range(5)] + [("c0", "e"), ("e", "c5")]
ENTITY = Node("e", "entity", {"name": "fire"})


def gained(corpus: ir.Corpus, graph: Any) -> list[float]:
    hits = ir.search(corpus, "text", mode="dense", k=6, graph=graph, explain=True)
    found = {hit.artifact_id: sum((hit.explanation or {})["boosts"].values()) for hit in hits}
    return [round(found[chunk], 10) for chunk in CHUNKS]


@pytest.mark.parametrize(
    ("graph", "gains"),
    [
        (GraphBoost("additive", seeds=1, depth=1), [0, 0.05, 0, 0, 0, 0]),
        (GraphBoost("additive", seeds=2, depth=1), [0.05, 0.05, 0.05, 0, 0, 0]),
        (GraphBoost("additive", seeds=1, depth=2, decay=0.5), [0, 0.05, 0.025, 0, 0, 0.025]),
        ("frontier", [0.05, 0.05, 0.05, 0.02, 0.008, 0.008]),
        ("top", [0.05, 0.05, 0.05, 0.02, 0.008, 0.008]),
        ({"variant": "frontier", "top_k": 4}, [0.05, 0.05, 0.05, 0.02, 0, 0]),
        ("none", [0, 0, 0, 0, 0, 0]),
    ],
)
def test_the_worked_examples_of_both_boosts(made: Made, graph: Any, gains: list[float]) -> None:
    assert gained(made(BASE, CHAIN, nodes=[ENTITY]), graph) == gains


def test_the_source_named_top_is_the_frontier(made: Made) -> None:
    found = retrieve(made(BASE, CHAIN, nodes=[ENTITY]), "text", 6, mode="dense", graph_boost_source="top")
    assert {one.chunk.artifact_id: round(one.graph_boost, 10) for one in found} == dict(
        zip(CHUNKS, (0.05, 0.05, 0.05, 0.02, 0.008, 0.008), strict=True)
    )


def test_a_document_as_a_whole_leads_nowhere(made: Made) -> None:
    book = Node("book", "document", {"title": "Rules"})
    corpus = made(BASE, [("c0", "book"), ("book", "c5")], nodes=[book])
    assert gained(corpus, GraphBoost("additive", seeds=1, depth=2)) == [0, 0, 0, 0, 0, 0]


def test_what_has_too_many_links_is_passed_over(made: Made) -> None:
    corpus = made(BASE, [("c0", chunk) for chunk in CHUNKS[1:]])
    assert gained(corpus, GraphBoost("additive", seeds=1, hub=4)) == [0, 0, 0, 0, 0, 0]
    assert gained(corpus, GraphBoost("additive", seeds=1, hub=5)) == [0, *[0.05] * 5]


def test_other_relations_count_where_they_are_named(made: Made) -> None:
    corpus = made(BASE, [("c0", "c5")], relation="next")
    assert gained(corpus, GraphBoost("additive", seeds=1)) == [0, 0, 0, 0, 0, 0]
    assert gained(corpus, GraphBoost("additive", seeds=1, relations=("next",)))[5] == 0.05
    assert gained(corpus, GraphBoost("additive", seeds=1, relations=None))[5] == 0.05


def far(made: Made) -> ir.Corpus:
    """A record that is among nobody's candidates, and that the best is linked to."""
    cosines = {f"c{number}": 0.9 - number / 200 for number in range(120)}
    about = {"c119": {"kind": "far"}}
    return made(cosines, [("c0", "c119")], metadata=about)


@pytest.mark.parametrize("variant", ["expand", "propagate"])
def test_what_no_channel_returned_is_brought_in(made: Made, variant: str) -> None:
    hits = ir.search(
        far(made), "text", mode="dense", k=5, graph=GraphBoost(variant, boost=1.0 if variant == "propagate" else None)
    )
    assert "c119" in [hit.artifact_id for hit in hits]
    (stage,) = [stage for stage in hits.meta["stages"] if stage["name"] == "graph"]
    assert stage["why"] == "1 added by their links"
    closed = ir.search(far(made), "text", mode="dense", k=5, graph=GraphBoost(variant, adds=False))
    assert "c119" not in [hit.artifact_id for hit in closed]


def test_a_filter_holds_for_what_is_brought_in(made: Made) -> None:
    hits = ir.search(far(made), "text", mode="dense", k=5, graph="expand", filter={"kind": {"$ne": "far"}})
    assert "c119" not in [hit.artifact_id for hit in hits]


def test_who_is_not_moved_keeps_its_score_also_among_equals(made: Made) -> None:
    corpus = made({**BASE, "d": 0.0, "e1": 0.0, "f": 0.0}, [("c0", "c5")])
    hits = ir.search(corpus, "text", mode="dense", k=9, graph="expand", explain=True)
    assert [hit.artifact_id for hit in hits][:3] == ["c0", "c5", "c1"]
    moved = [hit.artifact_id for hit in hits if (hit.explanation or {})["boosts"]]
    assert moved == ["c5"]


@pytest.mark.parametrize(
    ("graph", "said"),
    [
        ("expanded", "Did you mean 'expand'"),
        (3, "must be a name"),
        ({"variant": "expand", "deep": 1}, "'deep'"),
        ({"variant": "expand", "depth": 1}, "'expand' has no 'depth'"),
        ({"variant": "additive", "boost": -1}, "at least 0"),
        ({"variant": "additive", "seeds": 0}, "seeds"),
        ({"variant": "additive", "relations": "next"}, "list of names"),
    ],
)
def test_what_makes_no_sense_is_refused(made: Made, graph: Any, said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        ir.search(made(BASE), "text", graph=graph)


nodes = st.sampled_from([*CHUNKS, "e", "f"])
edges = st.lists(st.tuples(nodes, nodes).filter(lambda pair: pair[0] != pair[1]), max_size=20)
variants = st.sampled_from(
    [
        *(GraphBoost("expand", seeds=seeds, each=each, least=0.0) for seeds in (1, 2, 3) for each in (0, 1, 2)),
        GraphBoost("expand"),
        *(GraphBoost("additive", seeds=seeds, depth=depth) for seeds in (1, 4) for depth in (0, 1, 3)),
        *(GraphBoost("frontier", depth=depth, top_k=3) for depth in (0, 2)),
        *(GraphBoost("propagate", boost=boost) for boost in (0.0, 0.6)),
    ]
)
cosines = st.dictionaries(st.sampled_from(CHUNKS), st.floats(0.05, 0.95), min_size=1)


@settings(deadline=None, max_examples=60)
@given(cosines, edges, variants, st.integers(1, 6))
def test_for_any_graph_only_records_come_back_and_gains_keep_their_bounds(
    base: dict[str, float], links: list[tuple[str, str]], graph: GraphBoost, k: int
) -> None:
    corpus = linked_corpus(CorpusStore.memory(), base, links, nodes=[ENTITY, Node("f", "document", {})])
    plain = ir.search(corpus, "text", mode="dense", k=6)
    hits = ir.search(corpus, "text", mode="dense", k=k, graph=graph, explain=True)
    found = [hit.artifact_id for hit in hits]
    assert len(found) == len(set(found)) == min(k, len(base))
    assert set(found) <= set(base)
    gains = [sum((hit.explanation or {})["boosts"].values()) for hit in hits]
    assert all(gain >= 0 for gain in gains)
    if graph.variant == "expand":
        assert found[0] == plain[0].artifact_id
    elif graph.variant == "additive":
        assert all(gain <= 0.05 * graph.settings["seeds"] + 1e-9 for gain in gains)
    elif graph.variant == "frontier":
        assert all(gain <= 0.05 + 1e-9 for gain in gains)
        assert sum(gain > 0 for gain in gains) <= 3
    else:
        assert all(gain <= graph.settings["boost"] * plain[0].score + 1e-9 for gain in gains)
