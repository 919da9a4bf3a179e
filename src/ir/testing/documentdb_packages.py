"""DocumentDB's programs from Debian's packages, in a folder of their own: nothing is installed on the machine."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from ir.config.files import file_lock
from ir.errors import CorpusBusy, IrError

__all__ = ["Unavailable", "documentdb_tree"]

#: Debian's testing release is the one that has it.
_SUITE = "testing"
_PACKAGES = ("postgresql-18-documentdb", "postgresql-18-postgis-3-scripts", "dash", "coreutils")
_KEYS = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
_PROGRAMS = ("apt-get", "apt-config", "dpkg-deb", "tar", "unshare", "mount", "chroot")
#: How long everything may take, and for how long nobody tries again after a failure.
_TIMEOUT_S = 240.0
_PAUSE_S = 1800.0
#: What no server reads.
_LEFT_OUT = ("dev", "usr/share/doc", "usr/share/man", "usr/share/locale", "usr/share/i18n", "usr/share/fonts")


class Unavailable(IrError):
    """DocumentDB cannot be run on this machine; the message says why."""


def documentdb_tree(folder: Path) -> Path:
    """The root of a tree of files that holds DocumentDB, made below ``folder`` the first time (500 MB, a minute)."""
    _check_machine()
    tree = folder / "root"
    if (folder / "complete").exists():
        return tree
    folder.mkdir(parents=True, exist_ok=True)
    try:
        with file_lock(folder / "made", timeout_s=_TIMEOUT_S + 30):
            if not (folder / "complete").exists():
                _make_once(folder, tree)
    except CorpusBusy as error:
        raise Unavailable(f"another process is still getting its packages into {folder}") from error
    return tree


def _make_once(folder: Path, tree: Path) -> None:
    """Make it, unless somebody tried in vain a moment ago: the tests of a machine without a network go on."""
    failure = folder / "failed"
    if failure.exists() and time.time() - failure.stat().st_mtime < _PAUSE_S:
        raise Unavailable(failure.read_text("utf-8"))
    try:
        _make(folder, tree, time.monotonic() + _TIMEOUT_S)
    except Unavailable as error:
        failure.write_text(str(error), "utf-8")
        raise
    (folder / "complete").touch()


def _check_machine() -> None:
    if sys.platform != "linux":
        raise Unavailable("it runs on Linux alone")
    missing = [name for name in _PROGRAMS if shutil.which(name, path=_search_path()) is None]
    if missing:
        raise Unavailable(f"it needs the programs of Debian, and there is no {' and no '.join(missing)}")
    if not _KEYS.exists():
        raise Unavailable(f"there is no {_KEYS} to check Debian's packages by: apt install debian-archive-keyring")
    tried = subprocess.run(
        ["unshare", "--user", "--map-current-user", "--keep-caps", "--mount", "true"],
        capture_output=True,
        text=True,
        check=False,
    )
    if tried.returncode:
        raise Unavailable(f"user namespaces are off here ({tried.stderr.strip() or 'unshare failed'})")


def _make(folder: Path, tree: Path, deadline: float) -> None:
    """Everything that is made is made anew: what an interrupted attempt left is not looked at."""
    apt = folder / "apt"
    for left in (apt, tree):
        shutil.rmtree(left, ignore_errors=True)
    environment = {**os.environ, "APT_CONFIG": str(_configured(apt)), "LC_ALL": "C", "PATH": _search_path()}
    _run(["apt-get", "-q", "update"], environment, deadline)
    _run(["apt-get", "-q", "-y", "--download-only", "install", *_PACKAGES], environment, deadline)
    for name in ("usr/bin", "usr/sbin", "usr/lib", "usr/lib64", "dev", "data", "tmp", "etc"):
        (tree / name).mkdir(parents=True, exist_ok=True)
    for name in ("bin", "sbin", "lib", "lib64"):
        (tree / name).symlink_to(f"usr/{name}")
    for package in sorted((apt / "cache" / "archives").glob("*.deb")):
        _unpack(package, tree, environment, deadline)
    _settle(tree)
    shutil.rmtree(apt)


def _configured(apt: Path) -> Path:
    """A private world for apt: no list, no package and no hook of the machine's own is touched."""
    for name in ("state/lists/partial", "cache/archives/partial", "etc/apt.conf.d", "etc/preferences.d", "log"):
        (apt / name).mkdir(parents=True)
    (apt / "status").touch()
    (apt / "sources.list").write_text(f"deb [signed-by={_KEYS}] {_archive()} {_SUITE} main\n", "utf-8")
    places = {
        "Dir::State": apt / "state",
        "Dir::State::status": apt / "status",
        "Dir::Cache": apt / "cache",
        "Dir::Log": apt / "log",
        "Dir::Etc": apt / "etc",
        "Dir::Etc::sourcelist": apt / "sources.list",
        "Dir::Etc::sourceparts": "-",
    }
    lines = [f'{name} "{path}";' for name, path in places.items()]
    # How this machine reaches an archive, by which proxy, stays as it is set.
    told = subprocess.run(["apt-config", "dump", "Acquire"], capture_output=True, text=True, check=False)
    lines += [line for line in told.stdout.splitlines() if line.startswith(("Acquire::http::", "Acquire::https::"))]
    lines += ['APT::Install-Recommends "false";', 'APT::Sandbox::User "";', 'Acquire::Check-Valid-Until "false";']
    lines += ['Acquire::Languages "none";', 'Acquire::Retries "2";', 'Acquire::http::Timeout "30";']
    configuration = apt / "apt.conf"
    configuration.write_text("\n".join(lines) + "\n", "utf-8")
    return configuration


def _archive() -> str:
    """The Debian archive that this machine uses."""
    sources = Path("/etc/apt/sources.list"), *Path("/etc/apt/sources.list.d").glob("*")
    for source in sources:
        try:
            found = re.search(r"^[^#\n]*?(https?://\S+/debian)(?=[/\s])", source.read_text("utf-8"), re.MULTILINE)
        except OSError:
            continue
        if found:
            return found[1]
    raise Unavailable("no Debian archive is among the sources of apt")


def _unpack(package: Path, tree: Path, environment: dict[str, str], deadline: float) -> None:
    left_out = [f"--exclude=./{name}" for name in _LEFT_OUT]
    with subprocess.Popen(
        ["dpkg-deb", "--fsys-tarfile", package], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment
    ) as opened:
        _run(
            ["tar", "-x", "--keep-directory-symlink", "--no-same-owner", *left_out, "-C", str(tree), "-f", "-"],
            environment,
            deadline,
            opened.stdout,
        )


def _settle(tree: Path) -> None:
    """What the packages' own scripts would do, as far as a server needs it."""
    for library in ("blas", "lapack"):
        for found in tree.glob(f"usr/lib/*/{library}/lib{library}.so.3"):
            _link(found.parent.parent / found.name, f"{library}/{found.name}")
    for control in tree.glob("usr/share/postgresql/*/extension/postgis*-3.control"):
        _link(control.with_name(control.name.replace("-3.control", ".control")), control.name)
    _link(tree / "usr/bin/sh", "dash")
    for name in ("passwd", "hosts"):
        (tree / "etc" / name).write_text("127.0.0.1 localhost\n" if name == "hosts" else "", "utf-8")


def _link(link: Path, target: str) -> None:
    if not link.is_symlink() and not link.exists():
        link.symlink_to(target)


def _run(command: Sequence[str], environment: dict[str, str], deadline: float, given: IO[bytes] | None = None) -> None:
    try:
        done = subprocess.run(
            command,
            env=environment,
            capture_output=True,
            stdin=subprocess.DEVNULL if given is None else given,
            timeout=max(1.0, deadline - time.monotonic()),
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise Unavailable(f"getting its packages took more than {_TIMEOUT_S:.0f} seconds") from None
    if done.returncode:
        said = " ".join(done.stderr.decode("utf-8", "replace").split())[-300:]
        raise Unavailable(f"{command[0]} failed: {said}")


def _search_path() -> str:
    """Ordinary users often lack the folders that chroot is in."""
    return os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"])
