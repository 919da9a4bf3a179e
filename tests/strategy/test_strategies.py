from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from ir.base import Artifact, IndexPlan, Surface
from ir.errors import InvalidInput
from ir.protocols import IndexingStrategy
from ir.strategy import (
    Chunked,
    Fitted,
    Package,
    Skill,
    TurnPair,
    WholeText,
    Wrapped,
    strategy_from_spec,
    strategy_id,
    strategy_to_spec,
)


class Shout(Wrapped):
    """Puts the id in capitals before the inner surfaces."""

    def __init__(self, inner: IndexingStrategy, mark: str = "!") -> None:
        super().__init__(inner)
        self.mark = mark

    def added(self, artifact: Artifact, plan: IndexPlan) -> Iterable[Surface]:
        yield Surface(artifact.id, "shout", artifact.id.upper() + self.mark)
        yield Surface(artifact.id, "shout", "  ")


ALL = [WholeText(), Chunked(), Fitted(), Skill(), Package(), TurnPair(), Shout(Chunked())]


@pytest.mark.parametrize("strategy", ALL, ids=strategy_id)
def test_every_strategy_meets_the_protocol_and_drops_blank_surfaces(strategy: IndexingStrategy) -> None:
    assert isinstance(strategy, IndexingStrategy)
    plan = strategy.decompose(" ", {"text": " \n ", "name": " "})
    assert all(surface.text.strip() for surface in plan.surfaces)
    assert all(surface.artifact_id == "x" for surface in strategy.decompose("x", {"text": "words"}).surfaces)


def test_whole_text_is_one_document() -> None:
    plan = WholeText(kind="note").decompose("a", "# T\n\nwords")
    assert plan.surfaces == [Surface("a", "note", "# T\n\nwords")]
    assert WholeText().decompose("a", "").surfaces == []


@pytest.mark.parametrize("strategy", [WholeText(), WholeText(text_key="text"), Chunked(), Chunked(max_tokens=8)])
@pytest.mark.parametrize("text", ["", "  \n", None])
def test_a_title_without_any_text_is_what_is_ranked(strategy: Any, text: str | None) -> None:
    (surface,) = strategy.decompose("a", {"title": " Giraffes at night ", "text": text}).surfaces
    assert surface.text == "Giraffes at night"
    assert strategy.decompose("a", {"title": " ", "text": text}).surfaces == []


def test_a_skill_is_its_name_and_description_and_points_to_its_body() -> None:
    raw = {"name": "deploy", "description": "Ship it.", "parent": "ops", "skill_path": "/s/SKILL.md", "level": 2}
    plan = Skill().decompose("deploy", raw)
    assert [(s.kind, s.text) for s in plan.surfaces] == [("capability", "deploy: Ship it.")]
    assert plan.filter_fields == {
        "name": "deploy",
        "parent": "ops",
        "skill_path": "/s/SKILL.md",
        "level": 2,
        "title": "deploy",
    }
    assert "level" not in Skill().decompose("deploy", raw, {}).filter_fields


def test_a_package_is_described_first_and_its_readme_follows() -> None:
    raw = {"name": "dol", "description": "Stores.", "readme": "# dol\n\n" + "words " * 600, "owner": "ours", "deps": []}
    plan = Package(chunk_size=500, overlap=50).decompose("dol", raw)
    kinds = [surface.kind for surface in plan.surfaces]
    assert kinds[0] == "description"
    assert set(kinds[1:]) == {"readme_chunk"}
    assert [s.metadata["chunk_index"] for s in plan.surfaces[1:]] == list(range(len(kinds) - 1))
    assert {s.metadata["n_chunks"] for s in plan.surfaces[1:]} == {len(kinds) - 1}
    assert plan.filter_fields == {"name": "dol", "owner": "ours", "deps": [], "title": "dol"}


def test_a_package_without_a_readme_has_its_description() -> None:
    plan = Package().decompose("p", {"name": "p", "summary": "Does p."})
    assert [(s.kind, s.text) for s in plan.surfaces] == [("description", "p: Does p.")]


def test_a_turn_pair_is_one_surface_unless_it_is_long() -> None:
    raw = {"user": "How?\nPlease.", "assistant": "So.", "session": "s", "turn": 1}
    plan = TurnPair().decompose("s#1", raw)
    assert [(s.kind, s.text) for s in plan.surfaces] == [("turn_pair", "How?\nPlease.\n\nSo.")]
    assert plan.filter_fields == {"session": "s", "turn": 1, "title": "How?"}
    long = TurnPair().decompose("s#1", {**raw, "assistant": "An answer. " * 2000})
    assert len(long.surfaces) > 3
    assert all("line_start" not in surface.metadata for surface in long.surfaces)


def test_a_wrapper_keeps_the_inner_surfaces_and_adds_before_them() -> None:
    plan = Shout(Chunked()).decompose("a", "words", {"lang": "en"})
    assert [(s.kind, s.text) for s in plan.surfaces] == [("shout", "A!"), ("chunk", "words")]
    assert plan.filter_fields == {"lang": "en"}


def test_a_wrapper_passes_a_budget_on() -> None:
    inner = Shout(Chunked()).with_budget(64).inner
    assert isinstance(inner, Chunked)
    assert inner.max_tokens == 64
    plain = Shout(WholeText())
    assert plain.with_budget(64) is plain


def test_what_fits_stays_whole_and_the_rest_becomes_chunks() -> None:
    raw = {"title": "On words", "text": "Some words stand here. " * 8, "lang": "en"}
    whole = Fitted().decompose("a", raw)
    assert whole == WholeText().decompose("a", raw)
    assert Fitted().with_budget(512).decompose("a", raw) == whole
    parts = Fitted().with_budget(30).decompose("a", raw)
    assert len(parts.surfaces) > 1
    assert {surface.kind for surface in parts.surfaces} == {"document"}
    assert parts.filter_fields == whole.filter_fields
    # Counted with its title, as it is embedded.
    assert len(Fitted(max_tokens=6).decompose("a", {"title": "A title of a few words", "text": "word"}).surfaces) == 1
    assert strategy_from_spec(strategy_to_spec(Fitted(text_key="q"))).text_key == "q"  # type: ignore[union-attr]
    assert strategy_id(Fitted().with_budget(30)) != strategy_id(Fitted())


@pytest.mark.parametrize("strategy", [Package(), TurnPair()], ids=strategy_id)
def test_strategies_that_chunk_take_a_budget(strategy: Package | TurnPair) -> None:
    raw = {"readme": "words " * 500} if isinstance(strategy, Package) else {"user": "q", "assistant": "words " * 500}
    few = len(strategy.decompose("a", raw).surfaces)
    assert len(strategy.with_budget(40).decompose("a", raw).surfaces) > few


def test_an_id_names_class_parameters_version_and_what_is_wrapped() -> None:
    assert strategy_id(Chunked()) == "Chunked(chunk_size=1200, kind='chunk', overlap=200, version=2)"
    assert strategy_id(Chunked(chunk_size=900)) != strategy_id(Chunked())
    assert strategy_id(Chunked(count_tokens=len)) == strategy_id(Chunked())
    assert strategy_id(Shout(WholeText())) == "Shout(inner=WholeText(kind='document'), mark='!')"

    class Versioned(WholeText):
        version = "2"

    assert strategy_id(Versioned()) == "Versioned(kind='document', version='2')"


def test_a_strategy_that_wraps_itself_is_refused() -> None:
    loop = Shout(WholeText())
    loop.inner = loop
    with pytest.raises(InvalidInput, match="does one wrap itself"):
        strategy_id(loop)


@pytest.mark.parametrize("strategy", [*ALL[:-1], Chunked(chunk_size=10, overlap=3, text_key="q")], ids=strategy_id)
def test_specs_make_the_same_strategy_again(strategy: IndexingStrategy) -> None:
    again = strategy_from_spec(strategy_to_spec(strategy))
    assert strategy_id(again) == strategy_id(strategy)


def test_a_spec_may_be_a_name_or_nothing() -> None:
    assert isinstance(strategy_from_spec("Skill"), Skill)
    assert strategy_from_spec(None) is None


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("Chunkd", "Unknown strategy 'Chunkd'.*Did you mean 'Chunked'"),
        ({"type": "Chunked", "size": 3}, "Unknown parameter of Chunked 'size'"),
        ("no.such:Thing", "cannot be loaded"),
        (".near:Thing", "cannot be loaded"),
        (":Thing", "cannot be loaded"),
        ("subprocess:Popen", "is not a strategy"),
        ({"chunk_size": 3}, "Unknown strategy None"),
    ],
)
def test_bad_specs_are_refused(spec: object, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        strategy_from_spec(spec)  # type: ignore[arg-type]


def test_a_strategy_with_a_function_cannot_be_saved() -> None:
    with pytest.raises(InvalidInput, match="'count_tokens' is a builtin_function_or_method"):
        strategy_to_spec(Chunked(count_tokens=len))
