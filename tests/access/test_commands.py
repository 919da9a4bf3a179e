"""``ir token`` and ``ir workspace``, as a user types them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.access.stores import STORES, address_of, new_workspace

import ir
from ir.access import open_access
from ir.app.building import BuildRequest, build
from ir.cli.main import run
from ir.config import corpora_dir, registry_path
from ir.config.workspace import in_workspace
from ir.index import store_for


@pytest.fixture
def said(capsys: pytest.CaptureFixture[str]) -> Any:
    """What a command prints; with ``--json`` it is read. The exit code has to be 0, or the one that is given."""

    def ask(*words: str, code: int = 0) -> Any:
        found = run(list(words))
        told = capsys.readouterr()
        assert found == code, told.err
        return told.err if code else json.loads(told.out) if "--json" in words else told.out

    return ask


def test_a_token_is_made_shown_once_listed_and_revoked(said: Any) -> None:
    said("workspace", "create", "team-a")
    made = said(
        *("token", "create", "--name", "ci", "--workspace", "team-a", "--corpus", "notes", "--corpus", "mail"),
        *("--scope", "read", "--scope", "write", "--expires", "30d", "--requests", "60", "--json"),
    )
    secret = made["secret"]
    with open_access() as access:
        token = access.find(secret)
        assert token is not None
    assert (token.workspace, token.corpora, token.scopes) == ("team-a", {"notes", "mail"}, {"read", "write"})
    assert token.requests_per_minute == 60
    listed = said("token", "ls", "--json")
    assert [one["id"] for one in listed["tokens"]] == [token.id]
    assert secret not in json.dumps(listed)
    assert secret not in said("token", "ls")
    assert "revoked" in said("token", "revoke", token.id)
    with open_access() as access:
        assert access.find(secret) is None
    assert "was revoked before" in said("token", "revoke", token.id)


def test_a_token_is_of_the_current_workspace_and_may_read(said: Any) -> None:
    said("workspace", "create", "team-a")
    made = said("--workspace", "team-a", "token", "create", "ci", "--json")["token"]
    assert (made["workspace"], made["scopes"], made["corpora"], made["expires"]) == ("team-a", ["read"], None, None)


def test_a_name_revokes_only_if_one_token_has_it(said: Any) -> None:
    said("token", "create", "--name", "ci")
    said("token", "create", "--name", "ci")
    assert "2 tokens are called 'ci'" in said("token", "revoke", "ci", code=2)
    first = said("token", "ls", "--json")["tokens"][0]["id"]
    said("token", "revoke", first)
    said("token", "revoke", "ci")
    assert {one["state"] for one in said("token", "ls", "--json")["tokens"]} == {"revoked"}


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("token", "create"), "needs a name"),
        (("token", "create", "--name", "x", "--workspace", "nobody"), "no workspace 'nobody'"),
        (("token", "create", "--name", "x", "--scope", "root"), "scope"),
        (("token", "create", "--name", "x", "--expires", "soon"), "no span of time"),
        (("token", "revoke"), "which token"),
        (("token", "revoke", "nobody"), "no token 'nobody'"),
        (("token", "ls", "--name", "x"), "takes no --name"),
        (("token", "burn"), "created, listed or revoked"),
        (("workspace", "create"), "created, listed, limited or removed"),
        (("workspace", "create", "../up"), "cannot be called"),
        (("workspace", "create", "a", "--disk", "much"), "no size"),
        (("workspace", "create", "a", "--requests", "0"), "requests"),
        (("workspace", "quota", "nobody", "--records", "5"), "no workspace 'nobody'"),
        (("workspace", "rm", "nobody", "--yes"), "no workspace 'nobody'"),
        (("workspace", "rm", "default", "--yes"), "default workspace cannot be removed"),
        (("workspace", "ls", "--records", "5"), "takes no --records"),
    ],
)
def test_what_cannot_be_is_said(said: Any, words: tuple[str, ...], told: str) -> None:
    assert told in said(*words, code=2)
    with open_access() as access:
        assert not access.exists() or (access.tokens() == [] and access.workspaces() == [])


def test_quotas_are_shown_and_changed(said: Any) -> None:
    said("workspace", "create", "team-a", "--records", "10", "--disk", "1GB", "--requests", "60")
    assert "at most 20 records, 1.0 GB" in said("workspace", "quota", "team-a", "--records", "20")
    assert said("workspace", "ls", "--json")["workspaces"][1] == {
        "name": "team-a",
        "made": True,
        "corpora": 0,
        "records": 0,
        "bytes": 0,
        "tokens": 0,
        "most_records": 20,
        "most_bytes": 10**9,
        "requests_per_minute": 60,
        "problems": [],
    }
    assert "at most 5 requests a minute" in said("workspace", "quota", "team-a", "--unlimited", "--requests", "5")
    assert "already" in said("workspace", "create", "team-a", code=2)


@pytest.mark.parametrize("kind", STORES)
def test_a_workspace_goes_with_its_corpora_wherever_they_are_kept(
    said: Any, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IR_STORE", address_of(kind))
    name, other = new_workspace(), new_workspace()
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "tea.md").write_text("about tea", "utf-8")
    for workspace in (name, other):
        said("workspace", "create", workspace)
        with in_workspace(workspace):
            ir.register("notes", "files", root=str(tmp_path / "notes"), embedder="light")
            build(BuildRequest("notes"))
            if kind != "local":  # what lost its name goes too
                ir.register("lost", "files", root=str(tmp_path / "notes"), embedder="light")
                build(BuildRequest("lost"))
                said("rm", "lost", "--yes")
    secret = said("token", "create", "--name", "ci", "--workspace", name, "--json")["secret"]

    preview = said("workspace", "rm", name, "--dry-run", "--json")
    assert [(one["name"], one["records"]) for one in preview["corpora"]] == [("notes", 1)]
    assert preview["bytes"] > 0
    assert len(preview["tokens"]) == 1
    assert all("lost" in part for part in preview["parts"])
    assert bool(preview["parts"]) == (kind != "local")
    assert "needs --yes" in said("workspace", "rm", name, code=2)
    with in_workspace(name), store_for("notes") as store:
        assert len(store) == 1  # nothing went so far

    assert said("workspace", "rm", name, "--yes", "--json")["corpora"] == preview["corpora"]
    with open_access() as access:
        assert access.find(secret) is None
        assert access.workspace(name) is None
    with in_workspace(name):
        assert not corpora_dir().exists()
        assert not registry_path().exists()
        for corpus in ("notes", "lost"):
            with store_for(corpus) as store:
                assert not store.exists()
    with in_workspace(other):
        for corpus in ("notes", "lost") if kind != "local" else ("notes",):
            with store_for(corpus) as store:
                assert len(store) == 1
    assert (tmp_path / "notes" / "tea.md").read_text("utf-8") == "about tea"


def test_a_workspace_whose_server_is_away_is_left_whole(
    said: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said("workspace", "create", "team-a")
    with in_workspace("team-a"):
        ir.register("far", "files", root=str(tmp_path), store="postgresql://127.0.0.1:1/nowhere")
    secret = said("token", "create", "--name", "ci", "--workspace", "team-a", "--json")["secret"]
    assert "takes no connections" in said("workspace", "rm", "team-a", "--dry-run")
    assert "Nothing was removed" in said("workspace", "rm", "team-a", "--yes", code=2)
    with open_access() as access:
        assert access.find(secret) is not None
    assert said("workspace", "ls", "--json")["workspaces"][1]["problems"]


@pytest.mark.slow
def test_rm_everywhere_also_removes_what_a_server_keeps(
    said: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IR_STORE", address_of("postgresql"))
    (tmp_path / "tea.md").write_text("about tea", "utf-8")
    for more, left in (((), 1), (("--everywhere",), 0)):
        ir.register("notes", "files", root=str(tmp_path), embedder="light")
        build(BuildRequest("notes"))
        said("rm", "notes", "--yes", *more)
        with store_for("notes") as store:
            assert len(store) == left
