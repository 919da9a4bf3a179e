"""Real folders of files, as a user has them: a checkout, the standard library, documentation, installed packages.

Made once in ``.data/folders``. Sources of packages come from the package index, pinned; documentation comes from the
collections that ``IR_DATA_SETS`` names, since it is not ours to ship.
"""

from __future__ import annotations

import json
import shutil
import sys
import sysconfig
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

from bench import texts
from bench.data import DATA
from bench.envs import Unavailable, download, download_source

HOME = DATA / "folders"
FLASK = "flask==3.1.3"
PACKAGES = ("celery==5.5.3", "paramiko==4.0.0", "rich==14.1.0", "urllib3==2.5.0")
_NOT_LIB = ("test", "tests", "idle_test", "site-packages", "__pycache__", "lib-dynload", "config-*", "_sysconfigdata*")


#: Documentation whose pages have their title in front matter, which the collection keeps apart.
_TITLES_APART = ("k8s_docs",)


def flask() -> Path:
    """Flask's source release: code, tests, documentation and examples."""
    return _once("flask", _unpack_flask)


def standard_library() -> Path:
    """``Lib`` of the running interpreter without its tests."""
    return _once(f"lib-{sys.version_info.major}.{sys.version_info.minor}", _copy_lib)


def packages() -> Path:
    """Packages as they lie in ``site-packages``."""
    return _once("packages", _unpack_packages)


def documentation(name: str) -> Path:
    """The pages of a documentation, ``k8s_docs`` or ``fastapi_docs``, as Markdown files."""
    return _once(name, lambda folder: _write_pages(name, folder))


def size_of(folder: Path) -> tuple[int, float]:
    """How many files there are, and their megabytes."""
    sizes = [path.stat().st_size for path in folder.rglob("*") if path.is_file()]
    return len(sizes), sum(sizes) / 1e6


def _once(name: str, fill: Callable[[Path], None]) -> Path:
    folder = HOME / name
    if not folder.exists():
        unfinished = HOME / f"{name}.new"
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir(parents=True)
        fill(unfinished)
        unfinished.rename(folder)
    return folder


def _unpack_flask(folder: Path) -> None:
    with tarfile.open(download_source(FLASK)) as archive:
        archive.extractall(folder, filter="data")


def _copy_lib(folder: Path) -> None:
    lib = sysconfig.get_paths()["stdlib"]
    shutil.copytree(lib, folder, ignore=shutil.ignore_patterns(*_NOT_LIB, "*.so", "*.a"), dirs_exist_ok=True)


def _unpack_packages(folder: Path) -> None:
    for requirement in PACKAGES:
        with zipfile.ZipFile(download("vectors", requirement)) as wheel:
            wheel.extractall(folder, [name for name in wheel.namelist() if ".dist-info/" not in name])


def _write_pages(name: str, folder: Path) -> None:
    collections = texts.collections_folder()
    if collections is None:
        raise Unavailable(f"{name}: the collections were not found (set IR_DATA_SETS to their folder)")
    pages = collections / "corpora" / name / "corpus.jsonl"
    with pages.open(encoding="utf-8") as lines:
        for page in map(json.loads, lines):
            path = folder / page["_id"]
            path.parent.mkdir(parents=True, exist_ok=True)
            text = page["text"]
            if name in _TITLES_APART:
                text = f"---\ntitle: {json.dumps(page['title'], ensure_ascii=False)}\n---\n\n{text}"
            path.write_text(text, encoding="utf-8")
