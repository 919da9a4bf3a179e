"""One daemon for all clients: it starts once, serves only its user, survives nothing it should not, and leaves."""

from __future__ import annotations

import json
import os
import signal
import socket
import stat
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from tests.serve.world import Client, daemons, kill, processes_of_home, text_of, wait_until

from ir.serve.frames import encode, received
from ir.serve.link import Call, Link, greeting
from ir.serve.runtime import runtime_of_home


def ask(client: Client) -> str:
    return text_of(client.call("search", query="how hot is tea"))


def test_twenty_clients_at_once_start_one_daemon(notes: Path) -> None:
    clients = [Client() for _ in range(20)]
    try:
        with ThreadPoolExecutor(20) as pool:
            told = list(pool.map(ask, clients))
        assert all("80 degrees" in text for text in told)
        assert len(processes_of_home()) == 1
        log = runtime_of_home().log.read_text()
        assert log.count("started, version") == 1
    finally:
        for client in clients:
            client.close()


def test_a_daemon_killed_under_load_loses_nothing(notes: Path) -> None:
    stop = threading.Event()
    told: list[str] = []
    failures: list[BaseException] = []

    def work(client: Client) -> None:
        try:
            while not stop.is_set():
                told.append(ask(client))
        except BaseException as error:
            failures.append(error)

    clients = [Client() for _ in range(4)]
    threads = [threading.Thread(target=work, args=(client,)) for client in clients]
    try:
        for thread in threads:
            thread.start()
        killed = set()
        for _ in range(3):
            pid = wait_until(lambda: set(daemons()) - killed).pop()
            before = len(told)
            wait_until(lambda before=before: len(told) > before + 10)
            kill(pid)
            killed.add(pid)
        before = len(told)
        wait_until(lambda: len(told) > before + 10)
    finally:
        stop.set()
        for thread in threads:
            thread.join(60)
        for client in clients:
            client.close()
    assert not failures
    assert all("80 degrees" in text for text in told)
    assert len(set(daemons()) - killed) == 1


def is_stopped(pid: int) -> bool:
    """Whether every thread of a process has stopped: a signal takes a moment to reach them."""
    threads = list(Path(f"/proc/{pid}/task").glob("*/stat"))
    return all(one.read_text().rpartition(")")[2].split()[0] == "T" for one in threads)


def test_what_must_not_be_repeated_is_told_to_have_been_interrupted(notes: Path) -> None:
    link = Link()
    assert "result" in link.ask("status", {})
    answers: list[dict[str, Any]] = []
    over = threading.Event()
    os.kill(link.daemon["pid"], signal.SIGSTOP)  # it takes the call, and never answers
    wait_until(lambda: is_stopped(link.daemon["pid"]))
    link.submit(Call("status", {}, lambda answer: (answers.append(answer), over.set())[0], repeatable=False))
    kill(link.daemon["pid"])
    assert over.wait(30)
    assert answers[0]["error"]["code"] == "interrupted"
    assert "result" in link.ask("status", {})
    link.close()


def test_the_folder_and_the_socket_are_private(notes: Path) -> None:
    with Client() as client:
        ask(client)
        runtime = runtime_of_home()
        assert stat.S_IMODE(runtime.address.parent.stat().st_mode) == 0o700
        assert stat.S_IMODE(runtime.address.stat().st_mode) == 0o600
        assert stat.S_IMODE(runtime.log.stat().st_mode) == 0o600


def test_a_folder_that_is_open_to_others_is_closed_and_a_link_is_refused(tmp_path: Path, monkeypatch: Any) -> None:
    folder = tmp_path / "open"
    folder.mkdir(mode=0o777)
    folder.chmod(0o777)
    monkeypatch.setenv("IR_RUNTIME_DIR", str(folder))
    runtime_of_home()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    other = tmp_path / "link"
    other.symlink_to(folder)
    monkeypatch.setenv("IR_RUNTIME_DIR", str(other))
    with pytest.raises(OSError, match="no folder of yours"):
        runtime_of_home()


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="needs root, to be somebody else")
def test_another_user_is_refused_even_where_files_would_let_him_in(notes: Path) -> None:
    link = Link()
    assert "result" in link.ask("status", {})
    runtime = runtime_of_home()
    for folder in runtime.address.parents:
        if folder != Path("/") and not stat.S_IMODE(folder.stat().st_mode) & 0o005:
            folder.chmod(stat.S_IMODE(folder.stat().st_mode) | 0o055)
    runtime.address.chmod(0o666)
    code = (
        "import os, socket, sys; os.setuid(65534); s = socket.socket(socket.AF_UNIX); s.settimeout(5)\n"
        "s.connect(sys.argv[1]); s.sendall(sys.argv[2].encode() + b'\\n'); print(s.recv(1000))"
    )
    hello = json.dumps({"hello": {**greeting(), "home": runtime.home}})
    # -I, so that the stranger does not look into folders that are closed to him.
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code, str(runtime.address), hello],
        capture_output=True,
        text=True,
        check=False,
    )
    assert "hello" not in done.stdout
    assert done.stdout.strip() in ("b''", ""), done.stderr
    assert "another user" in runtime.log.read_text()
    link.close()


def test_what_a_killed_daemon_left_does_not_matter(notes: Path) -> None:
    with Client() as client:
        ask(client)
        kill(daemons()[0])
        wait_until(lambda: not daemons())
    runtime = runtime_of_home()
    assert runtime.address.exists()
    assert runtime.lock.exists()
    with Client() as client:
        assert "80 degrees" in ask(client)


def test_a_socket_that_nobody_of_ours_listens_at_is_replaced(notes: Path) -> None:
    runtime = runtime_of_home()
    runtime.address.write_text("not even a socket")
    with Client() as client:
        assert "80 degrees" in ask(client)
        assert len(daemons()) == 1


def test_the_daemon_leaves_when_idle_and_the_next_call_starts_another(notes: Path) -> None:
    with Client(IR_DAEMON_IDLE_S="1") as client:
        ask(client)
        first = daemons()
        wait_until(lambda: not daemons())
        assert not runtime_of_home().address.exists()
        assert "80 degrees" in ask(client)
        assert daemons() != first


def test_told_to_end_it_finishes_what_runs(notes: Path) -> None:
    with Client() as client:
        ask(client)
        numbers = [client.begin("tools/call", name="search", arguments={"query": "how hot is tea"}) for _ in range(20)]
        os.kill(daemons()[0], signal.SIGTERM)
        for number in numbers:
            assert "80 degrees" in text_of(client.answer(number)["result"])


def test_an_older_daemon_makes_room_and_a_newer_one_is_used(notes: Path) -> None:
    hello = greeting()
    old = Link(hello=hello | {"version": "0.0.1"})
    assert "result" in old.ask("status", {})
    first = old.daemon["pid"]

    newer = Link(hello=hello | {"version": "999.0"})
    # A daemon of this code can never be as new as that, so the newest wish is given up in the end; the old one is gone.
    stop = threading.Thread(target=lambda: newer.ask("status", {}), daemon=True)
    stop.start()
    wait_until(lambda: first not in daemons())
    newer.close()
    assert "result" in old.ask("status", {})
    assert old.daemon["pid"] != first
    old.close()


def test_a_daemon_of_a_later_protocol_is_left_alone(notes: Path) -> None:
    runtime = runtime_of_home()
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(runtime.address))
    listener.listen()

    def answer() -> None:
        connection, _ = listener.accept()
        with connection:
            next(received(connection))
            connection.sendall(encode({"hello": {"protocol": 99, "version": "99", "home": runtime.home, "pid": 1}}))
            connection.recv(1)

    thread = threading.Thread(target=answer, daemon=True)
    thread.start()
    with Client() as client:
        assert "80 degrees" in ask(client)  # by itself
    assert processes_of_home() == []
    thread.join(10)
    listener.close()


def test_the_daemon_has_nothing_of_who_started_it(notes: Path) -> None:
    with Client() as client:
        ask(client)
        folder = Path(f"/proc/{daemons()[0]}")
        assert (folder / "cwd").readlink() == Path("/")
        assert os.getsid(daemons()[0]) == daemons()[0]
        assert (folder / "fd" / "0").readlink() == Path("/dev/null")
    assert daemons()  # it stays when the client leaves


def test_a_folder_named_like_the_package_is_not_imported(notes: Path, tmp_path: Path) -> None:
    trap = tmp_path / "trap"
    (trap / "ir" / "serve").mkdir(parents=True)
    (trap / "ir" / "__init__.py").write_text("raise SystemExit('trapped')")
    (trap / "ir" / "serve" / "__init__.py").write_text("")
    (trap / "ir" / "serve" / "daemon.py").write_text("raise SystemExit('trapped')")
    script = f"import os, sys; os.chdir({str(trap)!r}); from ir.serve.front import main; sys.exit(main())"
    with Client(command=(sys.executable, "-P", "-c", script)) as client:
        assert "80 degrees" in ask(client)
        assert len(daemons()) == 1


def test_the_log_tells_what_happened_and_not_what_was_asked(notes: Path) -> None:
    with Client() as client:
        client.call("search", query="a very private question")
        client.call("grep", pattern="80 degrees")
    log = runtime_of_home().log.read_text()
    assert "started" in log
    assert "private" not in log
    assert "degrees" not in log


def test_changes_in_a_watched_folder_are_taken_in(notes: Path) -> None:
    with Client() as client:
        ask(client)
        (notes / "coffee.md").write_text("# Coffee\n\nGrind the beans shortly before brewing.\n")
        found = wait_until(lambda: "coffee.md" in text_of(client.call("grep", pattern="Grind the beans")))
        assert found
        told = client.call("search", query="coffee beans")["_meta"]["ir"]["freshness"]
        assert told["state"] in ("fresh", "stale")
        (notes / "coffee.md").unlink()
        wait_until(lambda: "coffee.md" not in text_of(client.call("grep", pattern="Grind the beans")))


def test_workspaces_share_the_daemon_and_nothing_else(notes: Path) -> None:
    with Client() as one, Client(IR_WORKSPACE="other") as two:
        assert "80 degrees" in ask(one)
        result = two.call("search", query="how hot is tea", corpus="notes")
        assert result["isError"]
        assert len(daemons()) == 1


def test_the_command_line_shows_and_stops_it(notes: Path) -> None:
    def run(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([sys.executable, "-m", "ir", *words], capture_output=True, text=True, check=False)

    assert run("daemon").returncode == 1
    with Client() as client:
        ask(client)
        told = run("daemon", "--json")
        assert json.loads(told.stdout)["process"] == daemons()[0]
        assert json.loads(told.stdout)["open"] == ["default/notes"]
        assert run("daemon", "stop").returncode == 0
        wait_until(lambda: not daemons())
        assert "80 degrees" in ask(client)


def test_the_command_line_uses_a_daemon_that_runs_and_says_the_same(notes: Path) -> None:
    def run(*words: str, **environ: str) -> tuple[int, str, str]:
        done = subprocess.run(
            [sys.executable, "-m", "ir", *words],
            capture_output=True,
            text=True,
            check=False,
            cwd=notes,
            env={**os.environ, **environ},
        )
        return done.returncode, done.stdout, done.stderr

    asked = [
        ("search", "notes", "how hot is tea"),
        ("search", ".", "how hot is tea"),
        ("search", "how hot is tea"),
        ("grep", "degrees", "notes"),
        ("get", "notes", "tea.md:1-3"),
        ("similar", "notes", "tea.md"),
        ("discover", "notes", "how hot is green tea"),
        ("get", "notes", "teh.md"),
        ("search", "nots", "tea"),
    ]
    assert run("search", ".", "tea")[0] == 0  # indexes the folder under a name of its own
    alone = [run(*words, IR_DAEMON="off") for words in asked]
    assert alone == [run(*words) for words in asked]
    assert processes_of_home() == []  # it never starts one
    link = Link()
    assert link.ask("status", {})["result"]["open"] == []
    assert alone == [run(*words) for words in asked]
    assert "default/notes" in link.ask("status", {})["result"]["open"]
    (notes / "new.md").write_text("# New\n\nA brand new sentence about kettles.\n")
    assert "new.md" in run("search", "notes", "kettles")[1]
    assert run("search", "notes", "tea", IR_K="1")[1].count("\n") < alone[0][1].count("\n")
    link.close()
