"""What holds for every test: directories of its own, and a word instead of a failure where an extra is missing."""

from __future__ import annotations

from collections.abc import Generator
from itertools import count
from pathlib import Path

import pytest
from tests.extras import without

#: Folders and files in which every test is slow: they start servers or processes, run real models, or try out much at
#: random. Any other test that takes more than a second is marked where it stands.
SLOW = (
    "cli/test_output.py",
    "cli/test_unfinished.py",
    "contract/test_milvus_store.py",
    "contract/test_mongo_store.py",
    "contract/test_postgres_store.py",
    "crash",
    "embed/test_minilm.py",
    "embed/test_static.py",
    "models/test_openvino.py",
    "property",
    "serve/test_clients.py",
    "serve/test_daemon.py",
    "serve/test_front.py",
    "store/milvus",
    "store/mongo",
    "store/postgres",
    "store/test_local_words.py",
    "test_examples.py",
    "test_imports.py",
    "test_tune.py",
    "web",
)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    folders = [Path(__file__).parent / name for name in SLOW]
    for item in items:
        if any(item.path == folder or folder in item.path.parents for folder in folders):
            item.add_marker(pytest.mark.slow)


_homes = count(1)


@pytest.fixture(autouse=True)
def ir_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A fresh home, so that no test sees a user's corpora or another test's: configuration, data, cache and the place
    where processes meet below it."""
    # Not by mktemp, which looks through the folders of all tests before to find the next number.
    home = tmp_path_factory.getbasetemp() / "homes" / str(next(_homes))
    home.mkdir(parents=True)
    for kind in ("CONFIG", "DATA", "CACHE", "RUNTIME"):
        monkeypatch.setenv(f"IR_{kind}_DIR", str(home / kind.lower()))
    return home


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None]:
    yield from _skipped_without_its_extra()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None]:
    yield from _skipped_without_its_extra()


def _skipped_without_its_extra() -> Generator[None]:
    try:
        yield
    except ImportError as error:
        reason = without(error)
        if reason is None:
            raise
        pytest.skip(reason)
