"""Work that takes long: begun, followed, stopped, and seen by those alone whom it concerns."""

from __future__ import annotations

import asyncio
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.web.conftest import make_notes, make_notes_in
from tests.web.served import LIMITS, Served, serving, wait_until

from ir.errors import Cancelled, TooManyJobs
from ir.serve.jobs import Job, Jobs
from ir.web.events import Stream


def test_a_build_is_a_job_with_a_result(served: Served, notes: Path) -> None:
    (notes / "new.md").write_text("# New\n\nSomething new.\n")
    answer = served.call("build", target="notes")
    assert answer.status == 202
    job = answer.json["job"]
    assert answer.headers["location"] == f"/v1/jobs/{job}"
    told = served.finished(job)
    assert (told["state"], told["kind"], told["corpus"]) == ("done", "build", "notes")
    assert told["result"]["added"] == 1
    assert [one["job"] for one in served.get("/v1/jobs").json["jobs"]] == [job]


def test_a_dry_run_says_what_a_build_would_change(served: Served, notes: Path) -> None:
    (notes / "new.md").write_text("# New\n\nSomething new.\n")
    told = served.finished(served.call("build", target="notes", dry_run=True).json["job"])
    assert told["result"]["ids"]["added"] == ["new.md"]
    assert not served.call("search", query="new", target="notes").json["found"]


def test_what_can_never_work_is_no_job(served: Served) -> None:
    assert served.call("build", target="nobody").status == 404
    assert served.call("build").status == 422
    assert served.call("refresh", target="notes", wait=True).status == 422
    assert served.get("/v1/jobs").json == {"jobs": []}


def test_a_job_that_fails_says_why(served: Served, notes: Path, tmp_path: Path) -> None:
    gone = make_notes(tmp_path / "gone", "gone")
    for path in gone.iterdir():
        path.unlink()
    gone.rmdir()
    told = served.finished(served.call("build", target="gone").json["job"])
    assert told["state"] == "failed"
    assert told["error"]["code"] == "source_error"
    assert told["error"]["remedy"]


def test_a_job_is_followed_to_its_end(served: Served, notes: Path) -> None:
    for number in range(200):
        (notes / f"{number}.md").write_text(f"# Number {number}\n\n{'word ' * 50}\n")
    job = served.call("build", target="notes").json["job"]
    events = list(served.events("GET", f"/v1/jobs/{job}/events"))
    assert events[-1][0] == "done"
    assert events[-1][1]["result"]["added"] == 200
    assert all(told["job"] == job for _, told in events)


def test_a_job_is_stopped_and_leaves_the_corpus_as_it_was(served: Served, notes: Path) -> None:
    version = served.call("status", target="notes").json["corpora"][0]["content_version"]
    for number in range(3000):
        (notes / f"{number}.md").write_text(f"# Number {number}\n\n{'word ' * 40}\n")
    job = served.call("build", target="notes").json["job"]
    wait_until(lambda: served.get(f"/v1/jobs/{job}").json["done"] > 0)
    assert served.ask("DELETE", f"/v1/jobs/{job}").status == 200
    assert served.finished(job)["state"] == "cancelled"
    assert served.call("status", target="notes").json["corpora"][0]["content_version"] == version


def test_the_same_build_is_one_job_and_others_wait_for_their_turn() -> None:
    jobs, held = Jobs(most=1), threading.Event()

    def work(job: Job) -> Any:
        held.wait(10)

    first = jobs.start("build", "w", "a", work, same=b"{}")
    assert jobs.start("build", "w", "a", work, same=b"{}") is first
    second, third = jobs.start("build", "w", "b", work), jobs.start("eval", "w", "a", work)
    assert [job.state for job in (first, second, third)] == ["running", "waiting", "waiting"]
    jobs.cancel(third)
    assert third.state == "cancelled"
    assert third.over.is_set()
    held.set()
    wait_until(lambda: second.state == "done")
    assert third.state == "cancelled"


def test_a_workspace_has_so_many_jobs_and_others_get_their_turn() -> None:
    jobs, held = Jobs(most=1, each=3), threading.Event()
    order: list[str] = []

    def work(job: Job) -> Any:
        held.wait(10)
        order.append(f"{job.workspace} {job.corpus}")

    first = [jobs.start("build", "a", str(number), work) for number in range(3)]
    with pytest.raises(TooManyJobs, match="3 jobs of this workspace"):
        jobs.start("build", "a", "3", work)
    assert jobs.start("build", "a", "0", work) is first[0]
    others = [jobs.start("build", "b", "0", work), jobs.start("build", "c", "0", work)]
    held.set()
    wait_until(lambda: all(job.state == "done" for job in (*first, *others)))
    assert order == ["a 0", "b 0", "c 0", "a 1", "a 2"]
    assert jobs.start("build", "a", "3", work)


def test_who_has_too_many_jobs_is_told_when_to_come_again(
    notes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_notes_in("team-b", tmp_path / "b", "plans")
    with serving(replace(LIMITS, workspace_jobs=2)) as served:
        monkeypatch.setattr(served.application.session, "call", waits)
        for upgrade in (True, False):
            assert served.call("build", target="notes", upgrade=upgrade).status == 202
        answer = served.call("build", target="notes")
        assert (answer.status, answer.code) == (429, "too_many_jobs")
        assert int(answer.headers["retry-after"]) > 0
        assert served.call("build", target="notes", upgrade=True).status == 202  # the same as the first
        other = served.with_token(served.token_for(workspace="team-b", scopes=["write"]))
        assert other.call("build", target="plans").status == 202


def test_what_a_job_was_asked_with_is_not_kept_beside_it(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(served.application.session, "call", waits)
    job = served.call("build", target="notes").json["job"]
    found = served.application.jobs.find(job)
    assert found is not None
    assert len(found.same) == 32  # type: ignore[arg-type]


def test_jobs_that_ended_are_remembered_for_each_workspace() -> None:
    jobs = Jobs()
    kept = jobs.start("build", "quiet", "a", lambda job: None)
    for number in range(120):
        jobs.start("build", "busy", str(number), lambda job: None).over.wait(10)
    assert jobs.find(kept.handle) is kept
    assert 50 <= len(jobs.all("busy")) <= 51


def test_followers_that_leave_are_forgotten_at_once(served: Served) -> None:
    held = threading.Event()
    job = served.application.jobs.start("build", "default", "notes", lambda job: held.wait(30))
    try:
        for _ in range(20):
            for _ in served.events("GET", f"/v1/jobs/{job.handle}/events"):
                break
        wait_until(lambda: job.listeners == [], 5)
    finally:
        held.set()


def test_a_slow_follower_is_told_the_latest_alone() -> None:
    async def follow() -> list[bytes]:
        async def still() -> bool:
            return True

        stream = Stream(still, latest=True)
        for number in range(10_000):
            stream.tell("running", {"done": number})
        stream.end()
        response = await stream.response(asyncio.Event())
        await asyncio.sleep(0)
        assert len(stream._items) <= 2
        return [bytes(part) async for part in response.body_iterator]  # type: ignore[arg-type]

    assert asyncio.run(follow()) == [b'event: running\ndata: {"done":9999}\n\n']


def test_a_stream_ends_soon_after_its_token_was_revoked(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(served.application.session, "call", waits)
    client = served.with_token(served.token_for(scopes=["write"]))
    job = client.call("build", target="notes").json["job"]
    seen: list[Any] = []
    follower = threading.Thread(target=lambda: seen.extend(client.events("GET", f"/v1/jobs/{job}/events")))
    follower.start()
    wait_until(lambda: bool(served.application.jobs.find(job).listeners))  # type: ignore[union-attr]
    served.access.revoke(served.access.tokens()[0].id)
    began = time.monotonic()
    follower.join(10)
    assert not follower.is_alive()
    assert time.monotonic() - began < 6
    assert [kind for kind, _ in seen] == ["running"]


def waits(name: str, arguments: Any, *, cancelled: Any, **more: Any) -> Any:
    """In place of a session's ``call``: works until it is told to stop."""
    while not cancelled():
        time.sleep(0.01)
    raise Cancelled("The call was cancelled.")


def test_those_who_follow_a_job_are_sent_home_when_the_server_ends(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = threading.Event()

    def waits(name: str, arguments: Any, *, cancelled: Any, **more: Any) -> Any:
        while not cancelled():
            held.wait(0.01)
        raise Cancelled("The call was cancelled.")

    monkeypatch.setattr(served.application.session, "call", waits)
    job = served.call("build", target="notes").json["job"]
    seen: list[Any] = []
    listener = threading.Thread(target=lambda: seen.extend(served.events("GET", f"/v1/jobs/{job}/events")))
    listener.start()
    wait_until(lambda: bool(served.application.jobs.find(job).listeners))  # type: ignore[union-attr]
    began = time.monotonic()
    served.server.stop()
    listener.join(10)
    assert not listener.is_alive()
    assert time.monotonic() - began < 4
    wait_until(lambda: served.application.jobs.find(job).state == "cancelled")  # type: ignore[union-attr]


def test_a_job_is_shown_followed_and_stopped_by_another_server_with_the_same_tokens(
    served: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = threading.Event()

    def waits(name: str, arguments: Any, *, cancelled: Any, **more: Any) -> Any:
        while not cancelled():
            held.wait(0.01)
        raise Cancelled("The call was cancelled.")

    monkeypatch.setattr(served.application.session, "call", waits)
    make_notes_in("team-b", tmp_path / "b", "plans")
    with serving() as other:
        job = served.call("build", target="notes").json["job"]
        assert other.get(f"/v1/jobs/{job}").json["state"] == "running"
        assert [one["job"] for one in other.get("/v1/jobs").json["jobs"]] == [job]
        seen: list[Any] = []
        follower = threading.Thread(target=lambda: seen.extend(other.events("GET", f"/v1/jobs/{job}/events")))
        follower.start()
        stranger = other.with_token(other.token_for(workspace="team-b", scopes=["write"]))
        assert stranger.get(f"/v1/jobs/{job}").code == "no_job"
        assert stranger.ask("DELETE", f"/v1/jobs/{job}").code == "no_job"
        owner = other.with_token(other.token_for(scopes=["write"]))
        assert owner.ask("DELETE", f"/v1/jobs/{job}").status == 200
        wait_until(lambda: owner.get(f"/v1/jobs/{job}").json["state"] == "cancelled")
        follower.join(10)
        assert (seen[0][0], seen[-1][0]) == ("running", "cancelled")


def test_a_job_whose_process_was_killed_is_shown_as_failed(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    told = {"job": "build-1", "kind": "build", "corpus": "notes", "state": "running", "stage": "", "done": 0}
    served.access.post("build-1", "default", told | {"total": None, "seconds": 1, "seconds_left": None, "began": 1.0})
    assert served.get("/v1/jobs/build-1").json["state"] == "running"
    monkeypatch.setattr("ir.web.board._SILENT_S", 0.0)
    found = served.get("/v1/jobs/build-1").json
    assert (found["state"], found["error"]["code"]) == ("failed", "job_lost")
