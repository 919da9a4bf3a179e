"""DocumentDB as a server on this machine, for tests: a real engine with MongoDB's interface, DocumentDB, not mongod.

It needs no rights: PostgreSQL with the extension runs in a user namespace, over a tree of files that was unpacked from
Debian's packages. Drivers reach it on a port of this machine alone, through :mod:`ir.testing.documentdb_wire`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

from ir.errors import IrError, MissingExtra
from ir.testing.documentdb_packages import Unavailable, documentdb_tree

if sys.platform == "win32":
    raise ImportError("The DocumentDB server for tests runs on Linux alone.")

from ir.testing.documentdb_wire import forwarding
from ir.testing.postgres_server import open_to_all, servant

__all__ = ["Unavailable", "running_documentdb"]

_START_SECONDS = 120.0
_SETTINGS = {
    "listen_addresses": "",
    "unix_socket_directories": "/data",
    "shared_preload_libraries": "pg_cron, pg_documentdb_core, pg_documentdb",
    "cron.database_name": "postgres",
    "cron.host": "/data",
    "documentdb.localhost_connection_string": "host=/data",
    "shared_buffers": "64MB",
    "max_connections": 200,
    "fsync": "off",
    "full_page_writes": "off",
    "jit": "off",
}
#: Inside the namespace: the tree with this machine's devices, the server's data and its user, and nothing else.
_ENTER = """
    mount --rbind /dev "$0/dev" && mount --bind "$1" "$0/data" && mount --bind "$1/passwd" "$0/etc/passwd" || exit
    tree="$0" data="$1" && shift
"""
_RUN = f'{_ENTER} exec chroot "$tree" "$@"'
#: The server ends, without waiting for its clients, as soon as nobody holds the other end of its input any more: a
#: namespace takes the word to end with its parent away from a process.
_SERVE = f"""{_ENTER}
    exec 3<&0
    chroot "$tree" "$@" </dev/null 3<&- &
    read -r _ <&3
    kill -INT $!
    wait $!
    rm -rf "$data"
"""


@contextmanager
def running_documentdb(packages: Path) -> Iterator[str]:
    """``host:port`` of a fresh server for the block; its programs are kept in ``packages``.

    :class:`Unavailable` says why there can be none on this machine.
    """
    for module in ("pymongo", "psycopg"):
        if find_spec(module) is None:
            raise MissingExtra(module, "dev", "A DocumentDB server for tests")
    tree = documentdb_tree(_reachable(packages))
    folder = Path(tempfile.mkdtemp(prefix="ir-documentdb-"))  # a socket's path must be short
    try:
        owner = servant()
        if owner is not None:
            os.chown(folder, owner, -1)
        (folder / "passwd").write_text(f"postgres:x:{owner or os.getuid()}:0::/:/bin/sh\n", "utf-8")
        _run(tree, folder, "initdb", "-D", "/data/pg", "-U", "postgres", "-E", "UTF8", "--locale=C", "-A", "trust")
        with _serving(tree, folder) as dsn, forwarding(dsn) as host:
            yield host
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _serving(tree: Path, folder: Path) -> Iterator[str]:
    import psycopg

    options = [part for name, value in _SETTINGS.items() for part in ("-c", f"{name}={value}")]
    log = folder / "log"
    with log.open("ab") as told:
        process = subprocess.Popen(
            _command(_SERVE, tree, folder, "postgres", "-D", "/data/pg", *options),
            stdin=subprocess.PIPE,
            stdout=told,
            stderr=told,
            user=servant(),
        )
    dsn = f"host={folder} user=postgres dbname=postgres"
    try:
        deadline = time.monotonic() + _START_SECONDS
        while True:
            try:
                with psycopg.connect(dsn, autocommit=True) as connection:
                    connection.execute("CREATE EXTENSION documentdb CASCADE")
                break
            except psycopg.OperationalError as error:
                if process.poll() is not None or time.monotonic() > deadline:
                    raise IrError(f"DocumentDB did not start:\n{log.read_text('utf-8', 'replace')[-1000:]}") from error
                time.sleep(0.05)
        yield dsn
    finally:
        assert process.stdin is not None
        process.stdin.close()
        process.wait(_START_SECONDS)


def _run(tree: Path, folder: Path, program: str, *arguments: str) -> None:
    command = _command(_RUN, tree, folder, program, *arguments)
    done = subprocess.run(command, capture_output=True, check=False, user=servant())
    if done.returncode:
        raise Unavailable(f"{program} failed: {done.stderr.decode('utf-8', 'replace')[-500:]}")


def _command(script: str, tree: Path, folder: Path, program: str, *arguments: str) -> list[str]:
    """A program of the tree, with a namespace of its own in which this user may mount and change the root."""
    programs = sorted(tree.glob("usr/lib/postgresql/*/bin"))
    if not programs:
        raise Unavailable("its packages hold no PostgreSQL")
    path = "/" + str((programs[-1] / program).relative_to(tree))
    enter = ["unshare", "--user", "--map-current-user", "--keep-caps", "--mount", "sh", "-c", script]
    search = f"PATH={os.environ.get('PATH', os.defpath)}{os.pathsep}/usr/sbin{os.pathsep}/sbin"
    return ["env", search, "LC_ALL=C", *enter, str(tree), str(folder), path, *arguments]


def _reachable(packages: Path) -> Path:
    """Where the programs are kept: elsewhere if a servant of root's could not read them there."""
    packages = packages.resolve()
    packages.mkdir(parents=True, exist_ok=True)
    if servant() is None or open_to_all(packages):
        return packages
    folder = Path(tempfile.gettempdir()) / "ir-documentdb-packages"
    folder.mkdir(mode=0o755, exist_ok=True)
    told = folder.lstat()
    if told.st_uid != os.geteuid() or told.st_mode & 0o022 or folder.is_symlink():
        raise Unavailable(f"{folder} belongs to somebody else")
    return folder
