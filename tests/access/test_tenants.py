"""Tenants never see each other, nor a caller the corpora it may not name: operations at random, on every store.

Each corpus has a secret in its texts, in its folder's path and in its fields, which no caller ever says. Whatever is
answered or refused, no secret of a corpus is in it that the caller may not see, and no name of one either, unless the
caller said it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.access.stores import STORES, address_of, new_workspace

import ir
from ir.app.building import BuildRequest, build
from ir.app.context import Caller
from ir.app.problems import describe
from ir.app.session import Session
from ir.app.vocabularies import VocabBuildRequest, vocab_build
from ir.config.workspace import in_workspace
from ir.errors import IrError

_NAMES = ("notes", "diary", "ledgerbook")
_TEXTS = {
    "tea.md": "# Tea\n\nGreen tea is steeped at eighty degrees. See [coffee](coffee.md). The word is {secret}.\n",
    "coffee.md": "# Coffee\n\nCoffee is ground shortly before it is brewed. {secret} {secret}.\n",
    "brew.py": 'def brew(leaves):\n    """Brew {secret}."""\n    return steep(leaves)\n\n\n'
    "def steep(leaves):\n    return leaves\n",
}


_numbers = count(1)


@dataclass(frozen=True)
class Tenants:
    """Two workspaces that have corpora of the same names, and one each that the other has not."""

    session: Session
    secrets: Mapping[tuple[str, str], str]
    workspaces: tuple[str, str]
    environment: Mapping[str, str]
    sources: Path

    def change(self, corpus: str) -> None:
        """Let the folders of the corpora of that name hold something new."""
        for (_, name), secret in self.secrets.items():
            if name == corpus:
                file = self.sources / secret / "news.md"
                file.write_text(f"News of {secret}, number {next(_numbers)}, about tea.", "utf-8")

    def callers(self) -> list[Caller]:
        bound = (None, frozenset({"notes"}), frozenset({"notes", "nothing"}), frozenset())
        return [Caller(workspace=name, corpora=corpora) for name in self.workspaces for corpora in bound]

    def hidden_from(self, caller: Caller) -> list[str]:
        return [
            secret
            for (workspace, corpus), secret in self.secrets.items()
            if workspace != caller.workspace or (caller.corpora is not None and corpus not in caller.corpora)
        ]

    def unnamed_to(self, caller: Caller) -> list[str]:
        there = {corpus for workspace, corpus in self.secrets if workspace == caller.workspace}
        seen = there if caller.corpora is None else there & caller.corpora
        return sorted({corpus for _, corpus in self.secrets} - seen)


@pytest.fixture(scope="module", params=STORES)
def tenants(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tenants]:
    home = tmp_path_factory.mktemp("tenants")
    with pytest.MonkeyPatch.context() as patch:
        environment = {f"IR_{kind}_DIR": str(home / kind.lower()) for kind in ("CONFIG", "DATA", "CACHE", "RUNTIME")}
        environment |= {"IR_STORE": address_of(request.param), "IR_EMBEDDER": "light"}
        for name, value in environment.items():
            patch.setenv(name, value)
        first, second = new_workspace(), new_workspace()
        secrets = {}
        for workspace, corpora in ((first, _NAMES[:2]), (second, (_NAMES[0], _NAMES[2]))):
            for corpus in corpora:
                secrets[workspace, corpus] = _made(home, workspace, corpus)
            _vocabulary(home, workspace, corpora[1], secrets[workspace, corpora[1]])
        with Session() as session:
            yield Tenants(session, secrets, (first, second), environment, home / "sources")


def _made(home: Path, workspace: str, corpus: str) -> str:
    """Make a corpus; its secret, which is a word of its own in every index."""
    secret = f"zq{workspace}{corpus}qz"
    folder = home / "sources" / secret
    folder.mkdir(parents=True)
    for name, text in _TEXTS.items():
        (folder / name).write_text(text.replace("{secret}", secret), "utf-8")
    with in_workspace(workspace):
        ir.register(corpus, "files", root=str(folder), all_text=True, embedder="light")
        build(BuildRequest(corpus))
    return secret


def _vocabulary(home: Path, workspace: str, name: str, secret: str) -> None:
    file = home / f"{secret}.csv"
    file.write_text(f"term\ntea {secret}\ncoffee\n", "utf-8")
    with in_workspace(workspace):
        vocab_build(VocabBuildRequest(name, (str(file),)))


@pytest.fixture(autouse=True)
def same_home(tenants: Tenants, ir_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every test gets a home of its own; these share the one that the tenants were made in."""
    for name, value in tenants.environment.items():
        monkeypatch.setenv(name, value)


_TARGETS = st.sampled_from(
    [
        *_NAMES * 4,
        ".",
        "note",
        "diarys",
        "ledgerbok",
        "nothing",
        "../notes",
        "/etc",
        "ir_notes",
        "postgresql://db/x/notes",
    ]
)
_QUERIES = st.sampled_from(["tea", "steeped coffee", "zq", "brew", "degrees ground", "the word is", ""])
_ITEMS = st.sampled_from(
    ["tea.md", "coffee.md:1-3", "te.md", "brew.py", "ir://diary/tea.md", "ir://ledgerbook/tea.md", "../tea.md", "brew"]
)
_MODES = st.sampled_from(["hybrid", "dense", "lexical"])


def _calls() -> st.SearchStrategy[tuple[str, dict[str, Any]]]:
    def call(name: str, /, **fields: st.SearchStrategy[Any]) -> st.SearchStrategy[tuple[str, dict[str, Any]]]:
        return st.tuples(st.just(name), st.fixed_dictionaries(fields))

    several = st.lists(_TARGETS, min_size=1, max_size=3)
    return st.one_of(
        call("ls"),
        call("status", target=st.none() | _TARGETS, check=st.booleans()),
        call("info", target=_TARGETS),
        call("search", query=_QUERIES, target=_TARGETS | several, mode=_MODES, explain=st.booleans()),
        call("discover", query=_QUERIES, targets=several, disclose=st.just("body")),
        call("get", items=st.lists(_ITEMS, min_size=1, max_size=2), target=_TARGETS),
        call("similar", item=_ITEMS, target=_TARGETS),
        call("similar", text=_QUERIES, target=_TARGETS),
        call("expand", item=_ITEMS, target=_TARGETS, how=st.sampled_from(["window", "parent"])),
        call("traverse", query=_QUERIES, target=_TARGETS),
        call("grep", pattern=st.sampled_from(["zq.*qz", "tea", "."]), target=_TARGETS, regex=st.booleans()),
        call("ask", question=_QUERIES, target=_TARGETS | several),
        call("ontology-query", semantic_query=_QUERIES, target=_TARGETS),
        call("symbol", symbol=st.sampled_from(["brew", "steep", "brwe"]), target=_TARGETS),
        call("callers", symbol=st.sampled_from(["steep", "brew"]), target=_TARGETS),
        call("impact", symbol=st.just("steep"), target=_TARGETS),
        call("ground", phrases=st.just(["tea"]), name=st.none() | _TARGETS),
        call("refresh", target=_TARGETS),
    )


def answered(tenants: Tenants, caller: Caller, name: str, arguments: dict[str, Any]) -> tuple[bool, str]:
    """Whether there was an answer, and all that was told: the answer, notes and progress, or the error."""
    told: list[Any] = []
    try:
        response = tenants.session.call(
            name, arguments, door="http", caller=caller, note=told.append, progress=lambda step: told.append(repr(step))
        )
        return True, json.dumps([response.to_dict(), *told])
    except IrError as error:
        problem = describe(error, "http").to_dict()
        return False, json.dumps([problem, error.to_dict(), *told])


def without_what_was_said(told: str, said: Any) -> str:
    """An answer without the words of the question."""
    words = [said] if isinstance(said, str) else [one for value in said.values() for one in _words(value)]
    for word in sorted(filter(None, words), key=len, reverse=True):
        told = told.replace(json.dumps(word)[1:-1], "").replace(word, "")
    return told


def _words(value: Any) -> list[str]:
    if isinstance(value, str):
        # An address names a corpus, and an error may repeat that part of it alone.
        return [value, *value.removeprefix("ir://").split("/")]
    return [word for one in value for word in _words(one)] if isinstance(value, list) else []


def test_what_is_looked_for_would_be_found(tenants: Tenants) -> None:
    for (workspace, corpus), secret in tenants.secrets.items():
        caller = Caller(workspace=workspace)
        for name, arguments in (
            ("search", {"query": "tea", "target": corpus}),
            ("get", {"items": ["tea.md"], "target": corpus}),
            ("grep", {"pattern": "zq.*qz", "regex": True, "target": corpus}),
            ("info", {"target": corpus}),
            ("ls", {}),
            ("status", {}),
            ("similar", {"item": "tea.md", "target": corpus}),
            ("traverse", {"query": "tea", "target": corpus}),
            ("discover", {"query": "green tea steeped", "targets": [corpus], "disclose": "body"}),
            ("ontology-query", {"semantic_query": "tea", "target": corpus}),
            ("ask", {"question": "green tea degrees", "target": corpus}),
            *((("ground", {"phrases": ["tea"], "name": corpus}),) if corpus != "notes" else ()),
        ):
            there, told = answered(tenants, caller, name, arguments)
            assert there, (name, told)
            assert secret in told, (name, told)


@pytest.mark.slow
@settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(data=st.data())
def test_no_call_tells_anything_of_what_the_caller_may_not_see(tenants: Tenants, data: st.DataObject) -> None:
    steps = st.lists(st.tuples(st.sampled_from(tenants.callers()), _calls()), min_size=1, max_size=8)
    for caller, (name, arguments) in data.draw(steps, label="steps"):
        if name == "refresh":
            tenants.change(arguments["target"])
        _, told = answered(tenants, caller, name, arguments)
        for secret in tenants.hidden_from(caller):
            assert secret not in told
        rest = without_what_was_said(told, arguments)
        for corpus in tenants.unnamed_to(caller):
            assert corpus not in rest
        for workspace in tenants.workspaces:
            if workspace != caller.workspace:
                assert f'"{workspace}"' not in rest


def test_a_refusal_is_the_same_for_a_hidden_corpus_and_for_none(tenants: Tenants) -> None:
    first, second = tenants.workspaces
    for caller, hidden in (
        (Caller(workspace=first, corpora=frozenset({"notes"})), "diary"),
        (Caller(workspace=first), "ledgerbook"),
        (Caller(workspace=second), "diary"),
    ):
        for name in ("search", "get", "info", "status", "grep", "refresh", "similar"):
            more = {"search": {"query": "tea"}, "get": {"items": ["tea.md"]}, "grep": {"pattern": "tea"}}.get(name, {})
            more = {"item": "tea.md"} if name == "similar" else more
            there, told = answered(tenants, caller, name, {"target": hidden, **more})
            gone, other = answered(tenants, caller, name, {"target": "x" + hidden[1:], **more})
            assert not there
            assert not gone
            assert told.replace(hidden, "") == other.replace("x" + hidden[1:], "")
