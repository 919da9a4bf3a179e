"""Weights that a vocabulary chooses for itself, and measuring what comes of them."""

from __future__ import annotations

import random

import numpy as np
import pytest

from ir.errors import InvalidInput
from ir.ground import Case, Term, UsageDocument, Vocabulary, evaluate, ground, held_back_aliases
from ir.ground.families import families
from ir.ground.usage import held_back
from ir.ground.weights import DEFAULTS, Probe, choose

CHANNELS = ["spelling", "words"]


def probes(right_channel: int | None, count: int = 200) -> list[Probe]:
    """Lookups in which one channel knows the right one of ten terms, or none does."""
    chance = np.random.default_rng(5)
    made = []
    for _ in range(count):
        scores = chance.random((10, 2)).astype(np.float32)
        right = np.zeros(10, bool)
        right[chance.integers(10)] = True
        if right_channel is not None:
            scores[right, right_channel] = 0.95
        made.append(Probe(scores, right))
    return made


def test_weights_go_to_the_channel_that_knows() -> None:
    chosen = choose(probes(1), CHANNELS, "held-back aliases")
    assert chosen.source == "held-back aliases"
    assert chosen.values["words"] > 3 * chosen.values["spelling"]
    assert chosen.figures["ndcg_held_back"] > chosen.figures["ndcg_defaults"]


def test_noise_changes_nothing() -> None:
    chosen = choose(probes(None), CHANNELS, "held-back aliases")
    assert (chosen.source, chosen.values) == ("defaults", DEFAULTS)
    assert "chance" in chosen.figures["note"]
    assert choose(probes(1, 20), CHANNELS, "x").figures["note"] == "fewer than 60 probes"


def shops() -> tuple[list[Term], list[UsageDocument]]:
    """Terms whose names say nothing, and texts that say what they stand for."""
    chance = random.Random(4)
    kinds = {"t1": "tea leaf cup", "t2": "bread oven flour", "t3": "bike wheel chain", "t4": "ship sea sail"}
    documents = []
    for number in range(160):
        name = chance.choice(list(kinds))
        words = [*chance.sample(kinds[name].split(), 2), f"w{chance.randrange(50)}"]
        documents.append(UsageDocument(" ".join(words), (name,), f"shop{number}x"))
    return [Term(name) for name in kinds], documents


def test_usage_teaches_what_names_do_not_say() -> None:
    terms, documents = shops()
    vocabulary = Vocabulary.of(terms, usage=documents, embedders=())
    assert [found.terms[0].term for found in ground(["sail the sea", "an oven"], vocabulary)] == ["t4", "t2"]
    assert vocabulary.weights.values["usage"] > 0
    assert vocabulary.extended(["t5"]).ground("wheel")[0].terms[0].term == "t3"


def test_no_family_is_on_both_sides_of_a_split() -> None:
    texts = ["A game (data)", "A game (sounds)", "A game", "Other thing", "Yet another", "Foo one", "Foo two"]
    names = ["a", "b", "c", "d", "e", "libfoo2", "foo-dev"]
    found = families(texts, names)
    assert found[0] == found[1] == found[2] != found[3]
    assert found[5] == found[6]
    documents = [UsageDocument(text, ("t",), name) for text, name in zip(texts, names, strict=True)] * 3
    train, tried = held_back(documents, Vocabulary.of(["t"], embedders=()).folding, 0.4)
    assert len(train) + len(tried) == len(documents)
    assert not {document.text for document in train} & {document.text for document in tried}


def test_an_evaluation_says_how_good_the_grounding_is() -> None:
    terms = [Term(f"term{number}", category="even" if number % 2 == 0 else "odd") for number in range(20)]
    vocabulary = Vocabulary.of(terms, embedders=())
    cases = [Case(f"term {number}", frozenset({f"term{number}"})) for number in range(20)]
    found = evaluate(vocabulary, cases)
    assert found.cases + found.validated_on == 20
    assert (found.recall[1], found.mrr, found.ndcg) == (1.0, 1.0, 1.0)
    assert found.f1 == found.precision == 1.0
    assert set(found.categories) == {"even", "odd"}
    assert found.grid[0][2] == 1.0
    missing = evaluate(vocabulary, [Case("term 1", frozenset({"nothing"}))], validation=[])
    assert (missing.recall[10], missing.unknown_terms) == (0.0, 1)
    with pytest.raises(InvalidInput, match="no cases"):
        evaluate(vocabulary, [])


def test_each_alias_is_left_out_in_turn(plain: Vocabulary) -> None:
    cases = held_back_aliases(plain)
    assert {case.phrase for case in cases} == {
        "statistical learning",
        "kube",
        "sencha",
        "gruner tee",
        "espresso",
        "java",
    }
    assert 0 < evaluate(plain, cases, validation=[]).recall[50] < 1
    with pytest.raises(InvalidInput, match="no aliases"):
        held_back_aliases(Vocabulary.of(["tea"], embedders=()))
