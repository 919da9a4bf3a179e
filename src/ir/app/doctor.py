"""Whether everything that ``ir`` needs is there and sound."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

from ir.app.context import Context
from ir.app.operation import Value, operation
from ir.errors import IrError

__all__ = ["Check", "DoctorRequest", "DoctorResponse", "doctor"]

REQUIRED = ("numpy", "faiss-cpu", "tantivy", "typer", "rich", "pydantic", "pyyaml")
#: Extra, the module it brings, what it is for.
EXTRAS = (
    ("onnx", "onnxruntime", "embedding models"),
    ("openvino", "openvino", "embedding models on OpenVINO"),
    ("html", "bs4", "reading HTML"),
    ("pdf", "pypdfium2", "reading PDF"),
    ("watch", "watchfiles", "ir watch"),
    ("dol", "dol", "corpora in dol stores"),
    ("eval", "ir_measures", "evaluation"),
    ("postgres", "psycopg", "corpora in PostgreSQL"),
    ("milvus", "pymilvus", "corpora in Milvus"),
    ("mongo", "pymongo", "corpora and books in MongoDB"),
    ("ray", "ray", "building on several machines"),
)


@dataclass(frozen=True)
class DoctorRequest(Value):
    """Look at everything."""


@dataclass(frozen=True)
class Check(Value):
    """``status`` is ``ok``, ``info`` (absent, and not needed), ``warning`` or ``broken``."""

    name: str
    status: str
    detail: str
    remedy: str = ""


@dataclass(frozen=True)
class DoctorResponse(Value):
    checks: tuple[Check, ...]
    healthy: bool


@operation("doctor", summary="Check the installation and every corpus", effect="reads", runs_long=True, scope="machine")
def doctor(request: DoctorRequest, ctx: Context) -> DoctorResponse:
    from ir.index.progress import Ticker

    ticker = Ticker(ctx.progress, "check", unit="things")
    checks: list[Check] = []
    for group in (_versions, _folders, _settings, _embedders, _extras, _registry, _corpora):
        for check in _safely(group):
            checks.append(check)
            ticker.tick()
    ticker.end()
    return DoctorResponse(tuple(checks), all(check.status != "broken" for check in checks))


def _safely(group: Callable[[], Iterator[Check]]) -> Iterator[Check]:
    """A check that fails itself is a finding, not the end of the examination."""
    try:
        yield from group()
    except Exception as error:
        from ir.secrets.addresses import masked

        message = error.message if isinstance(error, IrError) else f"{type(error).__name__}: {error}"
        yield Check(group.__name__.strip("_"), "broken", masked(message), getattr(error, "remedy", ""))


def _versions() -> Iterator[Check]:
    import ir

    yield Check("ir", "ok", f"{ir.__version__} on Python {platform.python_version()}, {platform.system()}")
    found, missing = [], []
    for package in REQUIRED:
        try:
            found.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            missing.append(package)
    if missing:
        yield Check(
            "packages", "broken", f"missing: {', '.join(missing)}", "pip install --force-reinstall ir-substrate"
        )
    yield Check("packages", "ok", ", ".join(found))


def _folders() -> Iterator[Check]:
    from ir.config import cache_dir, config_dir, data_dir

    for name, folder in (("config", config_dir()), ("data", data_dir()), ("cache", cache_dir())):
        if _writable(folder):
            yield Check(f"{name} folder", "ok", str(folder))
        else:
            remedy = f"Make it writable, or choose another with IR_{name.upper()}_DIR."
            yield Check(f"{name} folder", "broken", f"{folder} cannot be written", remedy)


def _settings() -> Iterator[Check]:
    """Nothing to say of those that can be used: ``ir config`` lists them."""
    from ir.config import Settings
    from ir.embed import is_installed
    from ir.embed.models import check_name, is_always_there
    from ir.models.folders import find_folder, how_to_get

    settings = Settings.load()
    name = str(settings["embedder"])
    if settings.origin("embedder") == "default":
        return
    where = f"set by {settings.origin('embedder')}"
    try:
        check_name(name)
    except IrError as error:
        yield Check("setting embedder", "broken", f"{error.message} It is {where}", error.remedy)
        return
    if ":" in name or is_always_there(name) or is_installed(name) or find_folder(name):
        return
    yield Check("setting embedder", "warning", f"{name!r} is not on this machine; it is {where}", how_to_get(name))


def _writable(folder: Path) -> bool:
    """Whether a file could be made there; a folder that does not exist yet is judged by its nearest ancestor."""
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    return folder.is_dir() and os.access(folder, os.W_OK | os.X_OK)


def _embedders() -> Iterator[Check]:
    from ir.embed import best_available
    from ir.embed.models import is_always_there
    from ir.models.install import installed, leftovers
    from ir.models.origin import again
    from ir.models.soundness import damage

    best = best_available()
    yield Check("embedder", "ok", f"{best!r} is the best on this machine")
    models = installed()
    for model in models:
        wrong = damage(model.path, thorough=True)
        detail = f"{model.bytes / 1e6:.1f} MB, {model.path}"
        if wrong:
            yield Check(f"model {model.name}", "broken", f"{wrong}; {detail}", again(model.path))
        else:
            yield Check(f"model {model.name}", "ok", detail)
    for folder in leftovers():
        detail = f"{folder} was left by a pull that did not finish"
        yield Check("unfinished pull", "info", detail, "The next ir models pull or rm deletes it.")
    if is_always_there(best):
        here = ", ".join(model.name for model in models)
        detail = f"{here} cannot be run without the extra onnx or openvino" if here else "none on this machine"
        yield Check(
            "embedding model",
            "info",
            f"{detail}; {best!r} knows words, a network reads sentences",
            "pip install 'ir-substrate[onnx]'" + ("" if here else ", then: ir models pull"),
        )


def _extras() -> Iterator[Check]:
    for extra, module, purpose in EXTRAS:
        if find_spec(module) is None:
            yield Check(f"extra {extra}", "info", f"not installed: {purpose}", f"pip install 'ir-substrate[{extra}]'")
        else:
            yield Check(f"extra {extra}", "ok", purpose)


def _registry() -> Iterator[Check]:
    from ir.registry import check_entry, registered

    for name, entry in registered().items():
        try:
            check_entry(name, entry)
        except IrError as error:
            yield Check(f"corpus {name}", "broken", f"wrongly registered: {error.message}", error.remedy)


def _corpora() -> Iterator[Check]:
    from ir.app.targets import built_corpora

    names = built_corpora()
    if not names:
        yield Check("corpora", "info", "none yet", "ir build PATH makes one")
    for name in names:
        try:
            yield _corpus(name)
        except IrError as error:
            yield Check(f"corpus {name}", "broken", error.message, error.remedy)


def _corpus(name: str) -> Check:
    """Opening a snapshot checks the derived files against the database, and makes anew what does not match."""
    from ir.embed import is_installed
    from ir.embed.models import is_always_there
    from ir.index import open_store
    from ir.models.folders import base_and_form, how_to_get
    from ir.store import LocalStore

    with open_store(name) as store, store.snapshot() as snapshot:
        if isinstance(store, LocalStore):
            store.check()
        embedder = str(store.get_config().get("embedder"))
        detail = f"{len(snapshot):,} records, version {snapshot.version}, embedder {embedder}"
    remote = embedder.startswith(("openai:", "ollama:"))
    folder = Path(base_and_form(embedder)[0])
    if remote or embedder == "custom" or is_always_there(embedder) or is_installed(embedder) or folder.is_dir():
        return Check(f"corpus {name}", "ok", detail)
    return Check(
        f"corpus {name}",
        "warning",
        f"{detail}, which is not on this machine",
        f"{how_to_get(embedder)} Or search it with --mode lexical.",
    )
