"""The guard catches what it is there for: a check that cannot fail proves nothing."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

import pytest
from tests.privacy.guard import Guard


@pytest.mark.parametrize(
    ("code", "seen"),
    [
        ("import socket; socket.getaddrinfo('example.invalid', 80)", ["lookup example.invalid"]),
        ("import socket; socket.gethostbyname('example.invalid')", ["lookup example.invalid"]),
        ("import socket; socket.create_connection(('192.0.2.1', 9), timeout=1)", ["lookup 192.0.2.1"]),
        ("import socket; socket.socket().connect(('192.0.2.1', 9))", ["connect 192.0.2.1:9"]),
        ("import socket; socket.socket(type=2).sendto(b'x', ('192.0.2.1', 53))", ["connect 192.0.2.1:53"]),
        ("import urllib.request as r; r.urlopen('http://example.invalid')", ["lookup example.invalid"]),
        ("import subprocess as s; s.run(['getent', 'ahosts', 'example.invalid'])", ["lookup example.invalid"]),
    ],
)
def test_a_host_that_is_looked_up_or_spoken_to_is_caught_and_not_reached(
    guard: Guard, code: str, seen: list[str]
) -> None:
    guard.python(f"try:\n    {code}\nexcept OSError: pass")
    assert seen[0] in guard.network()
    assert set(guard.network()) == set(seen)


@pytest.mark.parametrize(
    "code",
    [
        "open('FILE', 'w')",
        "open('FILE', 'a')",
        "import os; os.open('FILE', os.O_RDWR | os.O_CREAT)",
        "import pathlib; pathlib.Path('FILE').mkdir()",
        "import os; os.symlink('x', 'FILE')",
        "import os; f = open(os.environ['TMPDIR'] + '/x', 'w'); f.close(); os.replace(f.name, 'FILE')",
        "import os; f = open(os.environ['TMPDIR'] + '/x', 'w'); f.close(); os.link(f.name, 'FILE'); os.remove(f.name)",
        "import os; os.chdir(os.path.dirname('FILE')); open(os.path.basename('FILE'), 'w')",
        "import os; d = os.open(os.path.dirname('FILE'), 0); os.mkdir(os.path.basename('FILE'), dir_fd=d)",
        "import sqlite3; sqlite3.connect('FILE').execute('CREATE TABLE t (x)')",
        "import ctypes; ctypes.CDLL(None).fopen(b'FILE', b'w')",
        "import tantivy, os; os.mkdir('FILE'); tantivy.Index(tantivy.SchemaBuilder().build(), 'FILE')",
        "import faiss; faiss.write_index(faiss.IndexFlatL2(2), 'FILE')",
        "import subprocess as s; s.run(['touch', 'FILE'])",
    ],
)
def test_a_file_that_is_written_outside_our_folders_is_caught(guard: Guard, code: str) -> None:
    stray = guard.home / "stray"
    guard.python(code.replace("FILE", str(stray)))
    assert str(stray) in guard.strays()
    assert guard.strays(stray, stray.with_name("stray-journal")) == []
    assert guard.network() == []


def test_reading_and_writing_where_we_may_is_no_offence(guard: Guard) -> None:
    ours = guard.home / ".cache" / "ir" / "x"
    guard.python(f"import os; os.makedirs({str(ours)!r}); open({str(ours / 'y')!r}, 'w'); open({__file__!r}).read()")
    guard.python("import tempfile; tempfile.TemporaryFile().write(b'x')")
    assert (guard.strays(), guard.network(), guard.leftovers()) == ([], [], [])
    guard.python("import tempfile; tempfile.mkstemp(prefix='forgotten')")
    assert len(guard.leftovers()) == 1


def test_a_runtime_that_reports_to_its_makers_is_caught(guard: Guard) -> None:
    """Without our door, onnxruntime of 1.31 leaves an id of the machine in the home: so the guard sees native code."""
    try:
        there = version("onnxruntime")
    except PackageNotFoundError:
        pytest.skip("onnxruntime is not installed")
    guard.python("import onnxruntime")
    if not guard.strays():
        pytest.skip(f"onnxruntime {there} has no telemetry here")
    assert any("onnxruntime" in path for path in guard.strays())
