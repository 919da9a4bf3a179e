"""Machines that share one PostgreSQL database see the same corpora; here each is a process with folders of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.store.postgres.fixtures import new_database, shared_server

import ir
from ir.config.workspace import in_workspace
from ir.errors import InvalidInput

pytestmark = pytest.mark.slow


@pytest.fixture
def store() -> str:
    return shared_server().url(new_database(shared_server()))


class Machine:
    """A process of its own that answers calls through a session, as a server does, with folders of its own."""

    _PROGRAM = """
import json, sys
from ir.app.context import Caller
from ir.app.session import Session
from ir.errors import IrError
with Session() as session:
    for line in sys.stdin:
        name, arguments, workspace, door = json.loads(line)
        try:
            caller = Caller(workspace=workspace)
            print(json.dumps(session.call(name, arguments, door=door, caller=caller).to_dict()), flush=True)
        except IrError as error:
            print(json.dumps({"error": error.to_dict()}), flush=True)
"""

    def __init__(self, home: Path, store: str) -> None:
        self.environment = {
            **os.environ,
            **{f"IR_{kind}_DIR": str(home / kind.lower()) for kind in ("CONFIG", "DATA", "CACHE", "RUNTIME")},
            "IR_STORE": store,
            "IR_EMBEDDER": "light",
        }
        self._process = subprocess.Popen(
            [sys.executable, "-c", self._PROGRAM],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=self.environment,
        )

    def call(self, name: str, *, workspace: str = "default", door: str = "http", **arguments: Any) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps([name, arguments, workspace, door]) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def run(self, *words: str) -> str:
        """What the command line says on this machine."""
        done = subprocess.run(
            [sys.executable, "-m", "ir", *words], capture_output=True, text=True, env=self.environment, check=False
        )
        assert done.returncode in (0, 1), done.stderr
        return done.stdout

    def close(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait(30)


@pytest.fixture
def machines(store: str, tmp_path: Path) -> Iterator[tuple[Machine, Machine]]:
    pair = Machine(tmp_path / "a", store), Machine(tmp_path / "b", store)
    yield pair
    for machine in pair:
        machine.close()


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "tea.md").write_text("Green tea is steeped at eighty degrees.", "utf-8")
    return folder


def found(machine: Machine, query: str, **more: Any) -> list[str]:
    answer = machine.call("search", query=query, target="notes", **more)
    return [hit["artifact_id"] for hit in answer["found"]]


def test_what_one_machine_registers_and_builds_the_other_sees_at_its_next_call(
    machines: tuple[Machine, Machine], notes: Path
) -> None:
    one, other = machines
    assert other.call("ls")["corpora"] == []
    one.run("register", "notes", str(notes))
    assert [(corpus["name"], corpus["built"]) for corpus in other.call("ls")["corpora"]] == [("notes", False)]
    one.run("build", "notes")
    assert [(corpus["name"], corpus["built"]) for corpus in other.call("ls")["corpora"]] == [("notes", True)]
    assert found(other, "steeping tea") == found(one, "steeping tea") == ["tea.md"]
    (notes / "coffee.md").write_text("Coffee is ground shortly before it is brewed.", "utf-8")
    one.run("build", "notes")
    assert found(other, "ground coffee")[0] == "coffee.md"
    other.run("rm", "notes", "--yes")
    assert one.call("ls")["corpora"] == []
    assert one.call("search", query="tea", target="notes")["error"]["code"] == "corpus_not_built"


def test_a_folder_that_one_machine_builds_is_found_on_the_other(machines: tuple[Machine, Machine], notes: Path) -> None:
    one, other = machines
    name = json.loads(one.run("build", str(notes), "--json"))["corpus"]
    assert [corpus["name"] for corpus in other.call("ls")["corpora"]] == [name]
    answer = other.call("search", query="tea", target=name)
    assert [hit["artifact_id"] for hit in answer["found"]] == ["tea.md"]


def test_names_are_shared_within_a_workspace_alone(machines: tuple[Machine, Machine], notes: Path) -> None:
    one, other = machines
    one.run("--workspace", "team-a", "register", "notes", str(notes))
    one.run("--workspace", "team-a", "build", "notes")
    assert other.call("ls")["corpora"] == []
    assert [corpus["name"] for corpus in other.call("ls", workspace="team-a")["corpora"]] == ["notes"]
    assert found(other, "tea", workspace="team-a") == ["tea.md"]
    assert other.call("search", query="tea", target="notes", workspace="team-b")["error"]["code"] == "corpus_not_built"


def test_a_server_that_goes_away_and_comes_back_is_told_clearly_and_needs_no_restart(
    tmp_path: Path, notes: Path
) -> None:
    from ir.testing.postgres_server import running_server

    with running_server({"fsync": "off"}) as server:
        machine = Machine(tmp_path / "a", server.url())
        try:
            machine.run("register", "notes", str(notes))
            machine.run("build", "notes")
            assert found(machine, "tea") == ["tea.md"]
            server.stop()
            told = machine.call("search", query="tea", target="notes")["error"]
            assert told["code"] == "corpus_error"
            assert "takes no connections" in told["message"]
            server.start()
            assert found(machine, "tea") == ["tea.md"]
        finally:
            machine.close()


# -- in one process ----------------------------------------------------------------------------------------------


@pytest.fixture
def sharing(store: str, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("IR_STORE", store)
    return store


def test_what_another_machine_registered_is_neither_gone_nor_refreshed_here(
    sharing: str, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ir.app.building import BuildRequest, build
    from ir.app.corpora import ListRequest, list_corpora
    from ir.app.pruning import PruneRequest, prune
    from ir.index import refresh_if_cheap
    from ir.registry import elsewhere, register

    register("notes", "files", root=str(notes), embedder="light")
    build(BuildRequest("notes"))
    assert not elsewhere("notes")
    monkeypatch.setattr("socket.gethostname", lambda: "another")
    register("mine", "files", root=str(notes), embedder="light")  # the next look sees another version
    assert elsewhere("notes")
    (notes / "tea.md").unlink()
    notes.rmdir()
    listed = {one.name: one.state for one in list_corpora(ListRequest()).corpora}
    assert listed["notes"] == "ready"
    assert [one.corpus for one in prune(PruneRequest(dry_run=True)).removed] == ["mine"]
    assert "Another machine" in refresh_if_cheap("notes").reason


def test_a_folder_of_the_same_path_elsewhere_is_not_mistaken_for_this_one(
    sharing: str, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ir.app.building import BuildRequest, build
    from ir.registry import register

    build(BuildRequest(str(notes), embedder="light"))
    monkeypatch.setattr("socket.gethostname", lambda: "another")
    register("other", "files", root=str(notes))
    with pytest.raises(InvalidInput, match="Another machine has a corpus of a folder"):
        build(BuildRequest(str(notes), embedder="light"))


def test_a_corpus_can_be_kept_here_all_the_same(sharing: str, notes: Path) -> None:
    from ir.config import registry_path
    from ir.registry import entered, keep_at, register, store_of

    register("notes", "files", root=str(notes), store="local")
    assert store_of("notes") is None
    assert "notes" in json.loads(registry_path().read_text("utf-8"))["corpora"]
    keep_at("notes", sharing)
    assert store_of("notes") is not None
    assert "notes" not in json.loads(registry_path().read_text("utf-8"))["corpora"]
    keep_at("notes", None)
    assert store_of("notes") is None
    assert list(entered()) == ["notes"]


def test_what_was_kept_here_before_stays_here(notes: Path, store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from ir.app.building import BuildRequest, build
    from ir.registry import store_of

    name = build(BuildRequest(str(notes), embedder="light")).corpus
    monkeypatch.setenv("IR_STORE", store)
    (notes / "coffee.md").write_text("Coffee.", "utf-8")
    assert build(BuildRequest(str(notes), embedder="light")).added == 1
    assert store_of(name) is None
    assert len(ir.search(name, "tea", k=5)) > 0


def test_workspaces_share_no_names(sharing: str, notes: Path) -> None:
    from ir.registry import entered, register

    with in_workspace("team-a"):
        register("notes", "files", root=str(notes))
    assert entered() == {}
    with in_workspace("team-b"):
        assert entered() == {}
    with in_workspace("team-a"):
        assert list(entered()) == ["notes"]


@pytest.mark.parametrize("address", ["nowhere", "postgresql://me:secret@db/wiki", "mysql://db/x"])
def test_a_setting_that_names_no_server_is_refused(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from ir.registry import entered

    monkeypatch.setenv("IR_STORE", address)
    with pytest.raises(InvalidInput, match="setting store") as told:
        entered()
    assert "secret" not in str(told.value)
