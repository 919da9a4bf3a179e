"""The packages whose texts teach: fetched by name and version, and refused unless they hash as recorded."""

from __future__ import annotations

import csv
import hashlib
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urldefrag, urljoin
from urllib.request import urlopen

TABLE = Path(__file__).with_name("sources.tsv")
#: Evaluation collections are made of these, or ask about them: nothing may be learnt from them.
FORBIDDEN = frozenset(
    {
        *("flask", "click", "starlette", "aiohttp", "express", "axios", "redux", "zod"),
        *("fastapi", "kubernetes", "tldr", "semble", "beir", "ir-datasets"),
    }
)


class Package(NamedTuple):
    """One line of the table: a file of a registry, its licence, and how its texts are read."""

    registry: str
    name: str
    version: str
    file: str
    sha256: str
    licence: str
    reader: str

    @property
    def label(self) -> str:
        return f"{self.registry}:{self.name}"


def packages() -> list[Package]:
    """The table, in its order."""
    with TABLE.open(encoding="utf-8", newline="") as lines:
        found = [Package(**row) for row in csv.DictReader(lines, delimiter="\t")]
    forbidden = sorted(package.name for package in found if package.name.lower() in FORBIDDEN)
    if forbidden:
        raise SystemExit(f"Evaluation collections hold texts of {', '.join(forbidden)}: take them out of {TABLE.name}.")
    return found


def fetch(folder: Path) -> list[tuple[Package, Path]]:
    """All packages as files in ``folder``; those that are there already are only checked."""
    folder.mkdir(parents=True, exist_ok=True)
    return [(package, _fetched(package, folder / package.file)) for package in packages()]


def _fetched(package: Package, path: Path) -> Path:
    if not path.exists():
        print(f"getting {package.registry} {package.name} {package.version}", flush=True)
        {"PyPI": _from_pypi, "npm": _from_npm}[package.registry](package, path)
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    if found != package.sha256:
        raise SystemExit(f"{path} is not what was recorded: its sha256 is {found}, not {package.sha256}. Remove it.")
    return path


def _from_pypi(package: Package, path: Path) -> None:
    """By the index that pip uses. pip itself would build a source distribution to download it."""
    page = f"{_index().rstrip('/')}/{re.sub(r'[-_.]+', '-', package.name).lower()}/"
    with urlopen(page, timeout=60) as answer:
        links = list(_links(answer.read().decode(), answer.url))
    url = next((link for link in links if unquote(link.rpartition("/")[2]) == package.file), None)
    if url is None:
        raise SystemExit(f"The index lists no {package.file} of {package.name}.")
    with urlopen(url, timeout=600) as answer:
        path.write_bytes(answer.read())


def _links(page: str, base: str) -> Iterator[str]:
    for href in re.findall(r"""href=["']([^"']+)""", page):
        yield urldefrag(urljoin(base, href)).url


def _index() -> str:
    if "PIP_INDEX_URL" in os.environ:
        return os.environ["PIP_INDEX_URL"]
    asked = subprocess.run(
        [sys.executable, "-m", "pip", "config", "get", "global.index-url"], capture_output=True, text=True
    )
    if asked.returncode == 0 and asked.stdout.strip():
        return asked.stdout.strip()
    from pip._internal.models.index import PyPI  # the one place that names it

    return PyPI.simple_url


def _from_npm(package: Package, path: Path) -> None:
    command = ["npm", "pack", "--silent", f"{package.name}@{package.version}"]
    subprocess.run(command, check=True, cwd=path.parent, stdout=subprocess.DEVNULL)
