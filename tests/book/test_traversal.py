"""Finding passages by walking: intents, policies and their bounds."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ir.book.traversal import INTENTS, Policy, TraversalConfig, TraversalIndex, retrieve_candidates
from ir.errors import InvalidInput

CHUNKS = [{"id": f"c{number}", "text": "x", "book_id": "player core"} for number in range(5)]
GRAPH: dict[str, Any] = {
    "nodes": [{"id": "s", "name": "Conditions"}, {"id": "e", "name": "Grabbed"}, {"id": "c0", "name": ""}],
    "edges": [
        {"source": "s", "target": "c0", "relation": "contains"},
        {"source_id": "s", "target_id": "c1", "relation": "contains"},
        {"source": "c0", "target": "c1", "relation": "next"},
        {"source": "c0", "target": "e", "relation": "describes"},
        {"source": "c3", "target": "e", "relation": "mentions"},
        {"source": "c4", "target": "e", "relation": "mentions"},
    ],
}


def index() -> TraversalIndex:
    return TraversalIndex.build(GRAPH, CHUNKS)


def test_a_definition_reaches_what_describes_and_what_mentions_the_name() -> None:
    result = retrieve_candidates("What is grabbed?", index())
    assert (result.intent, result.names) == ("definition", ("grabbed",))
    assert set(result.candidates) == {"c0", "c1", "c3", "c4"}
    assert result.candidates[0] == "c0"


@pytest.mark.parametrize(
    ("question", "intent"),
    [
        ("What is the difference between grabbed and restrained?", "comparison"),
        ("Can I still cast while grabbed?", "exception"),
        ("Which page has the table of weapons?", "lookup"),
        ("What happens when I'm grabbed?", "procedure"),
        ("Grabbed", "definition"),
    ],
)
def test_the_intent_is_told_by_the_words_of_the_question(question: str, intent: str) -> None:
    assert TraversalConfig().intent_of(question) == intent


def test_a_question_that_names_nothing_reaches_nothing() -> None:
    assert retrieve_candidates("What is love?", index()).candidates == ()


def test_a_configuration_brings_policies_patterns_and_names_of_its_own() -> None:
    config = TraversalConfig.of(
        {
            "ruleset_id": "StarFinder2e",
            "condition_names": ["Grabbed"],
            "intent_patterns": {"lookup": "^grab"},
            "policies": {"lookup": {"edge_types": ["describes"], "depth": 1, "limit": 1}},
            "created_at": "2026",
        }
    )
    result = retrieve_candidates("grabbed!", index(), config)
    assert (result.intent, result.candidates) == ("lookup", ("c0",))
    assert config.policy_for("definition").limit == 100


@pytest.mark.parametrize(
    "told",
    [
        {"intent_patterns": {"wish": "x"}},
        {"intent_patterns": {"lookup": "("}},
        {"policies": {"lookup": {"edge_types": [], "deep": 3}}},
        {"policies": {"lookup": {"edge_types": [], "limit": 0}}},
        {"policies": {"lookup": 3}},
    ],
)
def test_a_configuration_that_makes_no_sense_is_refused(told: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        TraversalConfig.of(told)


def test_keywords_choose_among_documents() -> None:
    chunks = [{"id": "p", "book_id": "player core"}, {"id": "g", "book_id": "gm core"}]
    graph = {
        "nodes": [{"id": "e", "name": "Traps"}],
        "edges": [{"source": one, "target": "e", "relation": "describes"} for one in ("p", "g")],
    }
    config = TraversalConfig(gm_keywords=("disarm",), player_keywords=("my character",))
    both = TraversalIndex.build(graph, chunks)
    assert retrieve_candidates("disarm traps", both, config).candidates == ("g",)
    assert set(retrieve_candidates("traps", both, config).candidates) == {"p", "g"}


nodes = st.sampled_from(["c0", "c1", "c2", "c3", "c4", "s", "e"])
edges = st.lists(
    st.fixed_dictionaries(
        {"source": nodes, "target": nodes, "relation": st.sampled_from(["contains", "next", "mentions", "describes"])}
    ),
    max_size=25,
)


@given(edges, st.sampled_from(INTENTS), st.integers(0, 3), st.integers(1, 4), st.booleans())
def test_whatever_the_graph_only_passages_come_back_and_no_more_than_the_limit(
    found: list[dict[str, str]], intent: str, depth: int, limit: int, siblings: bool
) -> None:
    graph = {"nodes": GRAPH["nodes"], "edges": found}
    policy = Policy(("contains", "next", "mentioned_in"), depth, siblings, limit)
    config = TraversalConfig(intent_patterns={intent: (".",)}, policies={intent: policy})
    result = retrieve_candidates("grabbed conditions", TraversalIndex.build(graph, CHUNKS), config)
    assert len(result.candidates) <= limit
    assert set(result.candidates) <= {chunk["id"] for chunk in CHUNKS}
    assert len(set(result.candidates)) == len(result.candidates)
