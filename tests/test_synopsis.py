from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ir
from ir.base import Artifact
from ir.errors import InvalidInput
from ir.store import CorpusStore
from ir.strategy import strategy_id
from ir.synopsis import SYNOPSIS_PROMPT, make_llm_synthesizer, with_synopsis


def embed(texts: Any, *, input_type: str = "document") -> Any:
    return np.array([[1.0, float(len(text))] for text in texts], dtype=np.float32)


def summary(artifact: Artifact) -> str:
    return f" about {artifact.id} "


def kinds(strategy: Any, raw: Any = "some text") -> list[tuple[str, str]]:
    return [(surface.kind, surface.text) for surface in strategy.decompose("a", raw).surfaces]


def test_the_synopsis_stands_before_the_inner_surfaces() -> None:
    strategy = with_synopsis(ir.WholeText(), synthesize=summary)
    assert isinstance(strategy, ir.IndexingStrategy)
    assert kinds(strategy) == [("synopsis", "about a"), ("document", "some text")]
    assert kinds(with_synopsis(ir.WholeText(), synthesize=summary, synopsis_kind="gist"))[0][0] == "gist"


@pytest.mark.parametrize("nothing", ["", "  \n", None])
def test_an_empty_synopsis_is_left_out(nothing: Any) -> None:
    assert kinds(with_synopsis(ir.WholeText(), synthesize=lambda artifact: nothing)) == [("document", "some text")]


def test_when_decides_which_artifacts_get_one() -> None:
    seen: list[str] = []

    def long_enough(artifact: Artifact) -> bool:
        seen.append(artifact.id)
        return len(artifact.raw) > 5

    strategy = with_synopsis(ir.WholeText(), synthesize=summary, when=long_enough)
    assert len(kinds(strategy, "long text")) == 2
    assert len(kinds(strategy, "tiny")) == 1
    assert seen == ["a", "a"]


def test_another_synthesizer_makes_the_index_stale() -> None:
    written: list[str] = []

    def build(synthesizer_id: str) -> ir.Corpus:
        def synthesize(artifact: Artifact) -> str:
            written.append(artifact.id)
            return f"{synthesizer_id} {artifact.id}"

        strategy = with_synopsis(ir.WholeText(), synthesize=synthesize, synthesizer_id=synthesizer_id)
        source = ir.CorpusSource.from_mapping({"x": "one", "y": "two"}, name="docs", strategy=strategy)
        return ir.build(source, store=store, embedder=embed)

    store = CorpusStore.memory()
    build("v1")
    assert sorted(written) == ["x", "y"]
    build("v1")
    assert sorted(written) == ["x", "y"]
    corpus = build("v2")
    assert sorted(written) == ["x", "x", "y", "y"]
    assert {hit.text for hit in corpus.search("q", surfaces=["synopsis"])} == {"v2 x", "v2 y"}


def test_the_id_holds_the_inner_strategy_and_the_condition() -> None:
    def other(artifact: Artifact) -> bool:
        return True

    variants = [
        with_synopsis(ir.WholeText(), synthesize=summary),
        with_synopsis(ir.WholeText(kind="x"), synthesize=summary),
        with_synopsis(ir.WholeText(), synthesize=summary, synthesizer_id="v2"),
        with_synopsis(ir.WholeText(), synthesize=summary, synopsis_kind="gist"),
        with_synopsis(ir.WholeText(), synthesize=summary, when=other),
        with_synopsis(ir.WholeText(), synthesize=make_llm_synthesizer(model="m")),
        with_synopsis(ir.WholeText(), synthesize=make_llm_synthesizer(model="m", prompt="Say: {text}")),
    ]
    assert len({strategy_id(strategy) for strategy in variants}) == len(variants)


def test_a_synthesizer_reads_the_text_and_carries_its_id() -> None:
    synthesize: Any = make_llm_synthesizer(summarize=lambda text: f" {text.upper()} ", model="tiny")
    assert synthesize(Artifact("a", "hello")) == "HELLO"
    assert synthesize(Artifact("a", {"body": "words"})) == "WORDS"
    assert synthesize(Artifact("a", "  ")) == ""
    assert synthesize.synthesizer_id.startswith("oa:tiny:")
    assert len(synthesize.synthesizer_id.split(":")[2]) == 12
    other: Any = make_llm_synthesizer(model="tiny", prompt=SYNOPSIS_PROMPT + "!")
    assert other.synthesizer_id != synthesize.synthesizer_id
    named: Any = make_llm_synthesizer(synthesizer_id="mine")
    assert named.synthesizer_id == "mine"


def test_the_synopsis_is_of_the_field_that_is_indexed() -> None:
    synthesize = make_llm_synthesizer(summarize=lambda text: f"of {text}")
    strategy = with_synopsis(ir.WholeText(text_key="q"), synthesize=synthesize)
    assert kinds(strategy, {"q": "question", "text": "other"})[0] == ("synopsis", "of question")
    own = make_llm_synthesizer(summarize=lambda text: f"of {text}", text_key="text")
    assert kinds(with_synopsis(ir.WholeText(text_key="q"), synthesize=own), {"q": "a", "text": "b"})[0][1] == "of b"


def test_a_failing_model_leaves_the_artifact_without_a_synopsis(caplog: pytest.LogCaptureFixture) -> None:
    def summarize(text: str) -> str:
        raise RuntimeError("model down")

    synthesize = make_llm_synthesizer(summarize=summarize)
    assert kinds(with_synopsis(ir.WholeText(), synthesize=synthesize)) == [("document", "some text")]
    assert "No synopsis of 'a' (RuntimeError: model down)" in caplog.text


def test_a_failing_synthesizer_of_ones_own_does_too(caplog: pytest.LogCaptureFixture) -> None:
    def synthesize(artifact: ir.Artifact) -> str:
        raise ConnectionError("no answer")

    assert kinds(with_synopsis(ir.WholeText(), synthesize=synthesize)) == [("document", "some text")]
    assert "No synopsis of 'a' (ConnectionError: no answer)" in caplog.text


def test_without_a_model_the_inner_surfaces_remain(caplog: pytest.LogCaptureFixture) -> None:
    assert kinds(with_synopsis(ir.WholeText())) == [("document", "some text")]
    assert "No language model is configured" in caplog.text


def test_bad_options_are_refused() -> None:
    bad: Any = "gpt"
    with pytest.raises(InvalidInput, match="synthesize must be callable"):
        with_synopsis(ir.WholeText(), synthesize=bad)
    with pytest.raises(InvalidInput, match="when must be 'always' or a function"):
        with_synopsis(ir.WholeText(), synthesize=summary, when=bad)
    with pytest.raises(InvalidInput, match="synopsis_kind"):
        with_synopsis(ir.WholeText(), synthesize=summary, synopsis_kind="")
    with pytest.raises(InvalidInput, match="summarize must be callable"):
        make_llm_synthesizer(summarize=bad)


def test_text_fields_are_all_that_the_model_is_shown() -> None:
    shown: list[str] = []

    def summarize(text: str) -> str:
        shown.append(text)
        return "gist"

    record = {"name": "tea", "description": "how to steep", "path": "/home/me/tea", "text": "long", "readme": " "}
    made = make_llm_synthesizer(summarize=summarize, text_fields=["name", "description", "readme", "missing"])
    assert made(Artifact("a", record)) == "gist"
    assert shown == ["tea\n\nhow to steep"]
    assert made(Artifact("a", {"path": "/home/me"})) == ""
    # A strategy's own field does not take their place.
    with_synopsis(ir.WholeText(text_key="text"), synthesize=made).decompose("a", record)
    assert shown[1:] == ["tea\n\nhow to steep"]
    assert made(Artifact("a", "plain text")) == "gist"
    assert shown[2:] == ["plain text"]


def test_other_text_fields_make_the_index_stale_and_wrong_ones_are_refused() -> None:
    ids = [make_llm_synthesizer(model="m", text_fields=fields).synthesizer_id for fields in (None, ["a"], ["a", "b"])]
    assert len(set(ids)) == 3
    for wrong in ("name", [], [1]):
        with pytest.raises(InvalidInput, match="text_fields"):
            make_llm_synthesizer(text_fields=wrong)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="not both"):
        make_llm_synthesizer(text_fields=["a"], text_key="b")


def test_when_always_is_a_synopsis_for_every_artifact() -> None:
    always = with_synopsis(ir.WholeText(), synthesize=summary, when="always")
    assert len(kinds(always)) == 2
    assert strategy_id(always) == strategy_id(with_synopsis(ir.WholeText(), synthesize=summary))
    with pytest.raises(InvalidInput, match="'always'"):
        with_synopsis(ir.WholeText(), synthesize=summary, when="never")
