"""A session keeps corpora open, sees what changed, and ends calls that nobody waits for."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

import ir
from ir.app import Caller
from ir.app.building import BuildRequest, build
from ir.app.registering import RemoveRequest, remove
from ir.app.session import Session
from ir.config import set_setting
from ir.config.workspace import in_workspace
from ir.errors import Cancelled, CorpusNotBuilt, DeadlineExceeded, InvalidInput, IrError


def ids(response: Any) -> list[str]:
    return [found.hit.artifact_id for found in response.found]


def test_a_corpus_is_opened_once(corpus: str, session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    real = ir.open_corpus
    monkeypatch.setattr("ir.index.open_corpus", lambda name, **more: opened.append(name) or real(name, **more))
    for query in ("green tea", "bread", "gardens"):
        session.call("search", {"query": query, "target": corpus})
    assert opened == [corpus]
    assert session.pool.names() == [("default", corpus)]


def test_what_is_written_is_seen_by_the_next_call(corpus: str, notes: Path, session: Session) -> None:
    assert "juice.md" not in ids(session.call("search", {"query": "orange juice", "target": corpus}))
    (notes / "juice.md").write_text("Fresh orange juice.", "utf-8")
    session.call("refresh", {"target": corpus})
    assert ids(session.call("search", {"query": "orange juice", "target": corpus}))[0] == "juice.md"


def test_a_corpus_that_is_removed_or_built_anew_is_not_answered_from_the_old_one(
    corpus: str, notes: Path, session: Session
) -> None:
    session.call("search", {"query": "tea", "target": corpus})
    remove(RemoveRequest(corpus))
    with pytest.raises(IrError):
        session.call("search", {"query": "tea", "target": corpus})
    (notes / "tea.md").unlink()
    build(BuildRequest(str(notes), embedder="light"))
    assert "tea.md" not in ids(session.call("search", {"query": "green tea", "target": corpus}))


def test_no_more_are_open_than_allowed_and_none_is_closed_in_use(tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        ir.build(ir.CorpusSource.from_mapping({"x": f"text of {name}"}, name=name), embedder="light")
    with Session(open_corpora=2) as session:
        ctx = session.context()
        kept = ctx.open("a")
        for name in ("b", "c"):
            session.call("search", {"query": "text", "target": name})
        assert ("default", "a") in session.pool.names()
        assert len(session.pool) == 2
        assert ir.search(kept, "text")[0].artifact_id == "x"
        ctx.release()
        session.call("search", {"query": "text", "target": "b"})
        assert len(session.pool) == 2


def test_what_is_idle_is_closed(corpus: str) -> None:
    with Session(idle_s=0.0) as session:
        session.call("search", {"query": "tea", "target": corpus})
        session.sweep()
        assert len(session.pool) == 0


def test_corpora_of_another_workspace_are_others(corpus: str, session: Session) -> None:
    session.call("search", {"query": "tea", "target": corpus})
    with pytest.raises(CorpusNotBuilt):
        session.call("search", {"query": "tea", "target": corpus}, door="mcp", caller=Caller("x", workspace="team"))
    with in_workspace("team"), pytest.raises(IrError):
        session.call("search", {"query": "tea", "target": corpus})


def test_a_caller_sees_only_its_corpora(corpus: str, session: Session) -> None:
    nobody = Caller("x", corpora=frozenset())
    assert session.call("status", {}, door="mcp", caller=nobody).corpora == ()
    with pytest.raises(CorpusNotBuilt):
        session.call("search", {"query": "tea", "target": corpus}, door="mcp", caller=nobody)
    with pytest.raises(CorpusNotBuilt):
        session.call("search", {"query": "tea", "target": [corpus]}, door="mcp", caller=nobody)


def test_a_dot_is_where_the_caller_works(corpus: str, notes: Path, session: Session) -> None:
    here = Caller("x", folder=str(notes))
    assert session.call("search", {"query": "tea"}, door="mcp", caller=here).corpus == corpus
    assert session.call("search", {"query": "tea"}, door="mcp").corpus == corpus  # there is only one
    ir.build(ir.CorpusSource.from_mapping({"x": "text"}, name="other"), embedder="light")
    with pytest.raises(InvalidInput, match="which corpus"):
        session.call("search", {"query": "tea"}, door="mcp")


def test_a_call_ends_when_nobody_waits_for_it(corpus: str, notes: Path, session: Session) -> None:
    asked = {"pattern": "tea", "target": corpus}
    with pytest.raises(Cancelled):
        session.call("grep", asked, cancelled=lambda: True)
    with pytest.raises(DeadlineExceeded):
        session.call("grep", asked, deadline_s=1e-9)
    assert session.call("grep", asked, deadline_s=60, cancelled=lambda: False).total
    (notes / "new.md").write_text("new", "utf-8")
    with pytest.raises(Cancelled):
        session.call("refresh", {"target": corpus}, cancelled=lambda: True)
    assert not ids(session.call("search", {"query": "new", "target": corpus, "mode": "lexical"}))


def test_work_can_be_done_aside(corpus: str, session: Session) -> None:
    later: list[Any] = []

    def defer(title: str, work: Any) -> str:
        later.append(work)
        return "job-1"

    answer = session.call("refresh", {"target": corpus, "wait": False}, defer=defer)
    assert (answer.job, answer.unchanged) == ("job-1", 0)
    assert later[0](session.context()).unchanged == 3


def test_settings_that_change_are_read_again(corpus: str, session: Session) -> None:
    asked = {"query": "tea water dough gardens", "target": corpus}
    assert len({one.hit.artifact_id for one in session.call("search", asked).found}) == 3
    set_setting("k", 1)
    assert len(session.call("search", asked).found) == 1


def test_threads_share_a_session(corpus: str, session: Session) -> None:
    failed: list[BaseException] = []

    def ask() -> None:
        try:
            for query in ("green tea", "bread", "gardens") * 5:
                assert session.call("search", {"query": query, "target": corpus}).found
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    assert all(held.leases == 0 for held in session.pool._held.values())
