"""The server that these tests run on ends with them, and says why where there can be none: DocumentDB, not mongod."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest
from tests.extras import reason_for
from tests.store.mongo.fixtures import PACKAGES, shared_server

pytest.importorskip("pymongo", reason=reason_for("pymongo"))

import pymongo

from ir.testing import documentdb_packages
from ir.testing.documentdb_packages import Unavailable, documentdb_tree

_SERVING = """
    import sys, time
    from pathlib import Path
    from ir.testing.documentdb_server import running_documentdb
    with running_documentdb(Path(sys.argv[1])) as host:
        print(host, flush=True)
        time.sleep(600)
"""


def test_a_server_ends_with_its_user_even_if_that_is_killed() -> None:
    shared_server()  # leaves the test if there can be none
    with subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(_SERVING), str(PACKAGES)], stdout=subprocess.PIPE, text=True
    ) as user:
        assert user.stdout is not None
        host, _, port = user.stdout.readline().strip().partition(":")
        assert host == "127.0.0.1"
        with socket.create_connection((host, int(port))):
            pass
        servers = _below(user.pid)
        (data,) = {Path(word) for pid in servers for word in _command(pid) if Path(word).name.startswith("ir-document")}
        assert data.exists()
        os.kill(user.pid, signal.SIGKILL)
    deadline = time.monotonic() + 60
    while any(_runs(pid) for pid in servers):
        assert time.monotonic() < deadline, "the server outlived its user"
        time.sleep(0.05)
    assert not data.exists()


def _command(pid: int) -> list[str]:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text("utf-8").split("\0")
    except FileNotFoundError:
        return []


def _below(user: int) -> list[int]:
    listed = subprocess.run(["ps", "-e", "-o", "pid=,ppid="], capture_output=True, text=True, check=True).stdout
    above = {int(pid): int(parent) for pid, parent in (line.split() for line in listed.splitlines())}
    found = [user]
    for one in found:
        found += [pid for pid, parent in above.items() if parent == one]
    return found[1:]


def _runs(pid: int) -> bool:
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text("utf-8")
    except FileNotFoundError:
        return False


def test_a_driver_meets_what_it_knows_from_mongodb() -> None:
    client: pymongo.MongoClient[dict[str, object]] = pymongo.MongoClient(f"mongodb://{shared_server()}/")
    try:
        collection = client["driver"]["things"]
        collection.drop()
        collection.create_index("name", unique=True)
        collection.insert_many([{"name": number, "text": "x" * 2000} for number in range(500)])
        with pytest.raises(pymongo.errors.DuplicateKeyError):
            collection.insert_one({"name": 3})
        assert [row["name"] for row in collection.find({"name": {"$gte": 2}}).sort("name", -1).batch_size(40)] == list(
            range(499, 1, -1)
        )
        assert len(list(collection.find({}).batch_size(7))) == 500
        with pytest.raises(pymongo.errors.OperationFailure, match="no such command"):
            client["driver"].command("inventNothing")
    finally:
        client.close()


@pytest.mark.skipif(sys.platform != "linux", reason="it runs on Linux alone")
def test_a_machine_without_the_programs_of_debian_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documentdb_packages, "_search_path", lambda: str(tmp_path))
    with pytest.raises(Unavailable, match="there is no apt-get"):
        documentdb_tree(tmp_path / "packages")


def test_a_download_that_fails_is_not_tried_again_by_every_test(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With programs of the right names in the place of apt's: one counts how often it is asked, and fails."""
    shared_server()  # leaves the test where the machine would be refused before anything is downloaded
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "apt-get").write_text(f"#!/bin/sh\necho asked >> {tmp_path}/asked\necho no network >&2\nexit 100\n")
    (programs / "apt-get").chmod(0o755)
    path = f"{programs}{os.pathsep}{os.environ['PATH']}{os.pathsep}/usr/sbin"
    monkeypatch.setattr(documentdb_packages, "_search_path", lambda: path)
    for _ in range(3):
        with pytest.raises(Unavailable, match="apt-get failed: no network"):
            documentdb_tree(tmp_path / "packages")
    assert (tmp_path / "asked").read_text() == "asked\n"
