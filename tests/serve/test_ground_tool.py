"""The tool ``ground``: terms of a vocabulary for an agent."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.serve.test_tools import Agent

from ir import operations
from ir.app.documents import tokens_of
from ir.serve.budget import cost


@pytest.fixture
def agent(tmp_path: object) -> Iterator[Agent]:
    made = Agent()
    yield made
    made.service.stop()


def test_an_agent_grounds_phrases_within_the_length_of_an_answer(agent: Agent, tmp_path: object) -> None:
    from pathlib import Path

    terms = Path(str(tmp_path)) / "terms.csv"
    terms.write_text('machine_learning,topic,9,"ml"\ngreen_tea,drink,3,"sencha"\nrude_word,topic,1\n', "utf-8")
    policy = terms.with_name("policy.csv")
    policy.write_text("rude_word,0.99\n", "utf-8")
    operations.vocab_build(name="tags", files=[str(terms)], policy=str(policy), embedders=["none"])
    text, structured = agent.ok("ground", phrases=["ML", "Sencha", "rude word"], k=2)
    assert [one["terms"][0]["term"] for one in structured["phrases"][:2]] == ["machine_learning", "green_tea"]
    assert "rude_word" not in text
    assert "machine_learning" in text
    text, structured = agent.ok("ground", phrases=[f"phrase {number}" for number in range(100)], k=100)
    assert max(tokens_of(text), cost(structured)) <= 2000
    _, structured = agent.ok("ground", phrases=["I like sencha and ml"], text=True, vocabulary="tags", k=1)
    assert [one["terms"][0]["term"] for one in structured["phrases"][-2:]] == ["green_tea", "machine_learning"]
