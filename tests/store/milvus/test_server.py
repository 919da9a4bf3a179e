"""A corpus on a Milvus server: several processes, a writer that dies, a gate with TLS and a token."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest
from tests.extras import reason_for

pytest.importorskip("milvus_lite", reason=reason_for("milvus_lite"))

from tests.store.milvus.guard import guarded

from ir.errors import CorpusBusy, CorpusError, InvalidInput
from ir.store.milvus import Address, MilvusStore
from ir.testing.made import found, made
from ir.testing.milvus_server import running_milvus
from ir.testing.transaction_contract import assert_filled, fill

TOKEN = "root:Milvus-s3cret"


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running_milvus(tmp_path_factory.mktemp("milvus")) as address:
        yield address


@pytest.fixture
def url(host: str) -> str:
    return f"milvus://{host}?corpus=c{uuid4().hex[:12]}"


_WRITER = """
    import sys
    from ir.store.milvus import MilvusStore
    from ir.testing.made import made
    store = MilvusStore(sys.argv[1])
    with store.transaction():
        store.put_records([made(f"n{at}") for at in range(50)])
        store.set_config({"name": "spoiled"})
        store._open().flush()
        print("written", flush=True)
        sys.stdin.readline()
"""


def writing(url: str) -> subprocess.Popen[bytes]:
    """Another process, in the middle of a transaction."""
    arguments = [sys.executable, "-c", textwrap.dedent(_WRITER), url]
    writer = subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert writer.stdout is not None
    assert writer.stdout.readline() == b"written\n"
    return writer


def test_a_second_process_is_told_who_writes_and_reads_meanwhile(url: str) -> None:
    with MilvusStore(f"{url}&lock_timeout=0.3") as store:
        fill(store)
        with writing(url) as writer:
            assert_filled(store)
            with pytest.raises(CorpusBusy, match=f"process {writer.pid} on "):
                store.put_record(made("late"))
            assert_filled(store)
            writer.communicate(b"\n", timeout=60)
        assert (len(store), store.get_config()) == (52, {"name": "spoiled"})
        store.put_record(made("late"))
        assert len(store) == 53


def test_a_writer_that_was_killed_is_followed_by_the_next(url: str) -> None:
    with MilvusStore(url) as store:
        fill(store)
        before = store.version
        with writing(url) as writer:
            os.kill(writer.pid, signal.SIGKILL)
        assert store.version == before
        assert_filled(store)
        store.put_record(made("d", "dates"))
        assert sorted(store.record_ids()) == ["a", "b", "d"]
        assert found(store, "dates") == ["d"]
        rows = store._connection.query(store._collections.records, "ref >= 0", ["id"])
        assert sorted(row["id"] for row in rows) == ["a", "b", "d"]


_ADDING = """
    import sys
    from ir.store.milvus import MilvusStore
    from ir.testing.made import made
    store = MilvusStore(sys.argv[1])
    for at in range(4):
        store.put_record(made(f"{sys.argv[2]}{at}"))
"""


def test_nothing_is_lost_between_writers(url: str) -> None:
    patient = f"{url}&lock_timeout=60"
    script = textwrap.dedent(_ADDING)
    several = [subprocess.Popen([sys.executable, "-c", script, patient, name]) for name in "xyz"]
    assert [one.wait(120) for one in several] == [0, 0, 0]
    with MilvusStore(url) as store:
        assert sorted(store.record_ids()) == sorted(f"{name}{at}" for name in "xyz" for at in range(4))
        assert len(store) == 12


def test_encrypted_and_with_a_token(host: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with guarded(host, tmp_path, TOKEN) as (port, signed):
        monkeypatch.setenv("MILVUS_TOKEN", TOKEN)
        with MilvusStore(f"milvus://localhost:{port}?corpus=g{uuid4().hex[:8]}&ca={signed}") as store:
            assert store.address.uri == f"https://localhost:{port}"
            fill(store)
            assert_filled(store)
            assert TOKEN not in repr(store) + repr(store.address) + store.address.label


@pytest.mark.parametrize("shown", ["", "root:wrong"])
def test_without_the_token(shown: str, host: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with guarded(host, tmp_path, TOKEN) as (port, signed):
        monkeypatch.setenv("MILVUS_TOKEN", shown)
        store = MilvusStore(f"milvus://localhost:{port}?corpus=g&ca={signed}&timeout=5")
        with pytest.raises(CorpusError, match="did not let us in") as told:
            len(store)
        assert "MILVUS_TOKEN" in str(told.value.remedy)
        assert "wrong" not in str(told.value)


def test_a_certificate_that_nobody_vouches_for(host: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with guarded(host, tmp_path, TOKEN) as (port, _):
        monkeypatch.setenv("MILVUS_TOKEN", TOKEN)
        with pytest.raises(CorpusError, match="did not answer within 2 seconds"):
            len(MilvusStore(f"milvus://localhost:{port}?corpus=g&tls=1&timeout=2"))


def test_a_certificate_that_is_not_there() -> None:
    assert Address.parse("milvus://h?ca=/no/ca.pem").uri == "https://h:19530"
    with pytest.raises(InvalidInput, match=r"no file /no/ca\.pem"):
        len(MilvusStore("milvus://127.0.0.1:9?ca=/no/ca.pem"))
