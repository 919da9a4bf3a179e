"""The seam to the operating system, and that nobody else has one of their own.

The ways of macOS and Windows are run here as far as that needs neither: with stand-ins for what only they have.
"""

from __future__ import annotations

import ast
import errno
import importlib
import mmap
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

import ir
from ir import system

PACKAGE = Path(ir.__file__).parent
#: Where the ways of one system may be named: the seam, and servers for tests that run on Unix alone.
ALLOWED = ("system/", "testing/postgres_server.py", "testing/documentdb_")
ONLY_SOMEWHERE = {
    *("fcntl", "msvcrt", "resource", "pwd", "grp", "termios", "winreg", "ctypes"),
    *("os.fsync", "os.kill", "os.killpg", "os.fork", "os.pwrite", "os.pread", "os.geteuid", "os.getuid", "os.chown"),
    *("os.sched_getaffinity", "os.O_NOFOLLOW", "os.O_NONBLOCK", "os.O_CLOEXEC", "os.O_TMPFILE", "os.name"),
    *("sys.platform", "select.poll", "select.epoll", "signal.SIGKILL", "signal.SIGALRM", "socket.AF_UNIX"),
    "mmap.MADV_DONTNEED",
}


def names_in(file: Path) -> set[str]:
    """Every module that is imported and every ``module.name`` that is used."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            found.add(f"{node.value.id}.{node.attr}")
    return found


def test_only_the_seam_asks_which_system_it_is() -> None:
    strays = {}
    for file in PACKAGE.rglob("*.py"):
        name = file.relative_to(PACKAGE).as_posix()
        if not name.startswith(ALLOWED):
            strays[name] = sorted(names_in(file) & ONLY_SOMEWHERE)
    assert {name: found for name, found in strays.items() if found} == {}


def test_the_ways_offer_the_same_names() -> None:
    offered = {}
    for name in ("posix", "macos", "windows"):
        tree = ast.parse((PACKAGE / "system" / f"{name}.py").read_text("utf-8"))
        made = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
        made |= {target.id for node in tree.body if isinstance(node, ast.Assign) for target in _names(node)}
        offered[name] = {item for item in made if not item.startswith("_")} - {"__all__"}
    assert offered["posix"] == offered["windows"] == set(system.__all__)
    assert offered["macos"] < offered["posix"]


def _names(node: ast.Assign) -> list[ast.Name]:
    return [target for target in node.targets if isinstance(target, ast.Name)]


@pytest.fixture(params=["here", "windows"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The way of this system; and that of Windows, on the stand-ins below."""
    return system if request.param == "here" else windows(monkeypatch)


class FakeLocks:
    """Byte locks as ``msvcrt`` has them: binding to the descriptor that took them, refused to every other."""

    LK_NBLCK = 2

    def __init__(self) -> None:
        self.held: dict[tuple[int, int, int], int] = {}

    def locking(self, descriptor: int, mode: int, size: int) -> None:
        assert (mode, size) == (self.LK_NBLCK, 1)
        found = os.fstat(descriptor)
        place = (found.st_dev, found.st_ino, os.lseek(descriptor, 0, os.SEEK_CUR))
        holder = self.held.get(place)
        if holder is not None and _is_open(holder):
            raise OSError(errno.EACCES, "Permission denied")
        self.held[place] = descriptor


def _is_open(descriptor: int) -> bool:
    try:
        os.fstat(descriptor)
    except OSError:
        return False
    return True


def windows(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setitem(sys.modules, "msvcrt", FakeLocks())  # type: ignore[arg-type]
    monkeypatch.setattr(os, "O_BINARY", 0, raising=False)
    monkeypatch.delitem(sys.modules, "ir.system.windows", raising=False)
    try:
        return importlib.import_module("ir.system.windows")
    finally:
        sys.modules.pop("ir.system.windows", None)


def test_a_lock_is_held_by_one_and_free_when_its_file_is_closed(way: Any, tmp_path: Path) -> None:
    path = tmp_path / "lock"
    first, second, third = (os.open(path, os.O_RDWR | os.O_CREAT) for _ in range(3))
    assert way.try_lock(first)
    assert not way.try_lock(second)
    assert not way.try_lock(third, shared=True)
    way.write_at_start(first, b"process 12345")
    way.write_at_start(first, b"process 7")
    assert path.read_bytes() == b"process 7", "who holds the lock can be read, and nothing of the holder before"
    os.close(first)
    assert way.try_lock(second)
    os.close(second)
    assert way.try_lock(third, shared=True)
    os.close(third)


def test_looking_does_not_disturb_another_look(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    first, second = (os.open(path, os.O_RDWR | os.O_CREAT) for _ in range(2))
    assert system.try_lock(first, shared=True)
    assert system.try_lock(second, shared=True)
    os.close(first)
    os.close(second)


def test_a_lock_goes_with_the_process_that_was_killed(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    code = (
        "import os, sys, time; from ir import system\n"
        f"assert system.try_lock(os.open({str(path)!r}, os.O_RDWR | os.O_CREAT))\n"
        "print('held', flush=True); time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"held\n"
        mine = os.open(path, os.O_RDWR)
        assert not system.try_lock(mine)
        child.kill()
        child.wait()
        assert system.try_lock(mine)
        os.close(mine)


def test_what_is_synced_and_replaced_is_there(way: Any, tmp_path: Path) -> None:
    new, target = tmp_path / "new", tmp_path / "target"
    target.write_text("old")
    new.write_text("new")
    way.sync_file(new)
    way.replace(new, target)
    way.sync_folder(tmp_path)
    assert (target.read_text(), new.exists()) == ("new", False)


def test_a_disk_that_fails_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(descriptor: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "fsync", failing)
    with pytest.raises(OSError, match="Input/output"):
        system.sync_folder(tmp_path)


def test_windows_waits_for_a_reader_before_it_replaces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    way = windows(monkeypatch)
    new, target = tmp_path / "new", tmp_path / "target"
    new.write_text("new")
    refused = iter([True, True])
    real = Path.replace

    def busy(self: Path, to: Path) -> Path:
        if next(refused, False):
            raise PermissionError(errno.EACCES, "in use")
        return real(self, to)

    monkeypatch.setattr(Path, "replace", busy)
    way.replace(new, target)
    assert target.read_text() == "new"
    refused = iter([True] * 10_000)
    monkeypatch.setattr(way, "_REPLACE_SECONDS", 0.05)
    with pytest.raises(PermissionError):
        way.replace(target, new)


def test_a_link_is_opened_only_if_links_are_followed(way: Any, tmp_path: Path) -> None:
    (tmp_path / "real").write_text("text")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    for path, links in ((tmp_path / "real", False), (tmp_path / "link", True)):
        with open(way.open_to_read(path, links=links), "rb") as file:
            assert file.read() == b"text"
    with pytest.raises(OSError, match=os.strerror(errno.ELOOP)):
        way.open_to_read(str(tmp_path / "link"), links=False)


def test_a_pipe_that_nobody_writes_to_does_not_block(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    opened: list[int] = []
    thread = threading.Thread(target=lambda: opened.append(system.open_to_read(tmp_path / "pipe")), daemon=True)
    thread.start()
    thread.join(10)
    assert opened
    os.close(opened[0])


def test_a_process_is_running_until_it_ends() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        assert system.is_running(child.pid)
        child.kill()
        child.wait()
        assert not system.is_running(child.pid)
    assert system.is_running(1), "another user's process is one too"


@pytest.mark.parametrize(
    ("handle", "error", "code", "alive"), [(7, 0, 259, True), (7, 0, 0, False), (0, 5, 0, True), (0, 87, 0, False)]
)
def test_windows_asks_for_the_exit_code(
    monkeypatch: pytest.MonkeyPatch, handle: int, error: int, code: int, alive: bool
) -> None:
    way = windows(monkeypatch)
    closed: list[int] = []

    def exit_code(asked: int, into: Any) -> int:
        into._obj.value = code
        return 1

    kernel = SimpleNamespace(
        OpenProcess=lambda access, inherit, process: handle,
        GetLastError=lambda: error,
        GetExitCodeProcess=exit_code,
        CloseHandle=closed.append,
    )
    monkeypatch.setattr(way.ctypes, "windll", SimpleNamespace(kernel32=kernel), raising=False)
    assert way.is_running(4) is alive
    assert closed == ([handle] if handle else [])


def test_there_is_news_on_a_socket_that_was_written_to_or_closed(way: Any) -> None:
    import socket

    mine, other = socket.socketpair()
    assert not way.has_news(mine.fileno())
    other.send(b"x")
    assert way.has_news(mine.fileno())
    mine.recv(1)
    assert not way.has_news(mine.fileno())
    other.close()
    assert way.has_news(mine.fileno())
    mine.close()


def test_programs_keep_their_settings_where_the_system_wants_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.setenv("APPDATA", str(tmp_path / "Roaming"))
    unix = importlib.import_module("ir.system.posix")
    assert unix.settings_folder() == unix.settings_folder(native=False) == tmp_path / ".config"
    with monkeypatch.context() as mac:
        mac.setattr(sys, "platform", "darwin")
        mac.delitem(sys.modules, "ir.system.macos", raising=False)
        found = importlib.import_module("ir.system.macos")
        sys.modules.pop("ir.system.macos")
    assert found.settings_folder() == tmp_path / "Library" / "Application Support"
    assert found.settings_folder(native=False) == tmp_path / ".config"
    assert windows(monkeypatch).settings_folder(native=False) == tmp_path / "Roaming"


def test_there_is_at_least_one_processor(way: Any) -> None:
    assert 1 <= way.physical_cores() <= (os.cpu_count() or 1)


def test_a_mapped_file_is_read_again_after_it_was_let_go(way: Any, tmp_path: Path) -> None:
    (tmp_path / "data").write_bytes(b"x" * 10_000)
    with (tmp_path / "data").open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as held:
        way.let_go(held)
        assert held[9_999] == ord("x")


def test_macos_waits_for_the_drive_and_does_without_where_it_cannot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import fcntl

    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setattr(fcntl, "F_FULLFSYNC", 51, raising=False)
    asked: list[int] = []
    monkeypatch.setattr(fcntl, "fcntl", lambda descriptor, what: asked.append(what))
    monkeypatch.delitem(sys.modules, "ir.system.macos", raising=False)
    way = importlib.import_module("ir.system.macos")
    sys.modules.pop("ir.system.macos", None)
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", synced.append)
    way.sync_file(tmp_path)
    assert (asked, synced) == ([51], [])

    def unable(descriptor: int, what: int) -> None:
        raise OSError(errno.ENOTTY, "no")

    monkeypatch.setattr(fcntl, "fcntl", unable)
    way.sync_folder(tmp_path)
    assert len(synced) == 1


def test_a_process_that_is_started_apart_goes_on_by_itself(tmp_path: Path) -> None:
    log, made = tmp_path / "log", tmp_path / "made"
    code = (
        "import os, sys, pathlib; print('said', end='', file=sys.stderr, flush=True); "
        f"pathlib.Path({str(made)!r}).write_text(str(os.getsid(0)))"
    )
    number = system.start_apart([sys.executable, "-c", code], os.environ, log)
    deadline = time.monotonic() + 60
    while not (made.exists() and made.read_text()):
        assert time.monotonic() < deadline, "it did not run"
        time.sleep(0.02)
    assert made.read_text() == str(number)  # a session of its own: what ends the terminal does not end it
    assert log.read_text() == "said"
