"""Giving a corpus a name, and removing one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from ir.app.arguments import CORPUS, EMBEDDER
from ir.app.context import Context
from ir.app.corpora import disk_bytes
from ir.app.fields import Arg
from ir.app.operation import Value, operation
from ir.app.targets import PATH_PARAMETERS, resolve
from ir.config import corpus_dir
from ir.errors import CorpusNotBuilt, InvalidInput
from ir.options import choice

__all__ = ["RegisterRequest", "RegisterResponse", "RemoveRequest", "RemoveResponse", "register", "remove"]

#: The kind that is made by a function.
FETCHED = "records"


@dataclass(frozen=True)
class RegisterRequest(Value):
    """``path`` is the folder of kinds that are made from one; ``params`` are the kind's other parameters; ``store``
    is the address of a server to keep the corpus at."""

    name: Annotated[str, Arg("the name to give", blank=False, metavar="NAME")]
    kind: Annotated[
        str,
        Arg(
            "what it is made from",
            choices="ir.registry:KINDS",
            metavar="KIND",
            help="files, code, book, skills, reports, packages, sessions, jsonl, mcp or records.",
        ),
    ] = "files"
    path: Annotated[
        str | None,
        Arg("the folder or file it is made from; for records FILE.py:FUNCTION", blank=False, metavar="PATH"),
    ] = None
    params: Annotated[
        Mapping[str, Any],
        Arg(
            "parameters of the kind",
            flag="--param",
            short="-p",
            metavar="KEY=VALUE",
            help="A parameter of the kind. Repeatable.",
        ),
    ] = field(default_factory=dict)
    embedder: Annotated[str | None, EMBEDDER] = None
    store: Annotated[
        str | None,
        Arg("a server that keeps it, such as postgresql://host/db", blank=False, metavar="ADDRESS"),
    ] = None


@dataclass(frozen=True)
class RegisterResponse(Value):
    name: str
    entry: Mapping[str, Any]
    replaced: bool


@operation("register", summary="Give a corpus a name", effect="writes", scope="workspace")
def register(request: RegisterRequest, ctx: Context) -> RegisterResponse:
    from ir.registry import entered, existing_path
    from ir.registry import register as enter

    if request.embedder is not None:
        from ir.embed.models import check_name as check_embedder

        check_embedder(request.embedder)
    params = dict(request.params)
    if request.path is not None and request.kind == FETCHED:
        params["fetcher"] = _fetcher(request.path)
    elif request.path is not None:
        folder = existing_path(request.path)
        if folder is None:
            raise InvalidInput(f"There is no file or folder {request.path!r}.", remedy="Check the path.")
        parameter = PATH_PARAMETERS[choice("kind made from a path", request.kind, PATH_PARAMETERS)]
        params[parameter] = [str(folder)] if parameter == "roots" else str(folder)
    _check_required(request, params)
    if request.kind == "files" and "pattern" not in params:
        params.setdefault("all_text", True)  # what `ir search PATH` takes
    replaced = request.name in entered()
    entry = enter(request.name, request.kind, embedder=request.embedder or "default", store=request.store, **params)
    return RegisterResponse(request.name, entry, replaced)


def _fetcher(word: str) -> str:
    """The function that makes records, as ``FILE.py:FUNCTION`` or ``MODULE:FUNCTION``."""
    from ir.registry import existing_path

    module, colon, function = word.rpartition(":")
    if not colon or not module or not function:
        raise InvalidInput(
            f"Records are made by a function, and {word!r} names none.",
            remedy="Write file.py:function or package.module:function; a file of JSON lines is of --kind jsonl.",
        )
    if module.endswith(".py") and existing_path(module) is None:
        raise InvalidInput(f"There is no file {module!r}.", remedy="Check the path.")
    return word


def _check_required(request: RegisterRequest, params: Mapping[str, Any]) -> None:
    """What the kind cannot do without, asked for as a command takes it."""
    from ir.registry import KINDS

    required = KINDS[choice("kind of corpus", request.kind, KINDS)].required
    if not required or required in params:
        return
    what, word = ("a function", "FILE.py:FUNCTION") if request.kind == FETCHED else ("a path", "PATH")
    kind = "" if request.kind == "files" else f" --kind {request.kind}"
    raise InvalidInput(
        f"A corpus of kind {request.kind!r} needs {what}.", remedy=f"Write: ir register {request.name} {word}{kind}"
    )


@dataclass(frozen=True)
class RemoveRequest(Value):
    """``dry_run`` only says what would go. What a server keeps stays there unless it is to go ``everywhere``."""

    corpus: Annotated[str, CORPUS]
    dry_run: Annotated[bool, Arg("only say what would be removed", short="-n")] = False
    everywhere: Annotated[
        bool, Arg("also remove what a server keeps of it", help="Also remove what a server keeps of it, for all.")
    ] = False


@dataclass(frozen=True)
class RemoveResponse(Value):
    """What went, or would go; ``address`` is of the server that keeps it, and ``bytes`` counts what is removed there
    too. The files that the corpus was made from are never touched."""

    corpus: str
    dry_run: bool
    path: str | None
    bytes: int
    registered: bool
    address: str | None = None


@operation("rm", summary="Remove a corpus: its index and its registration", effect="writes")
def remove(request: RemoveRequest, ctx: Context) -> RemoveResponse:
    from ir.index import on_disk
    from ir.index.allowance import forget_usage
    from ir.registry import PRESETS, store_of, unregister
    from ir.store import LocalStore

    name = _name_to_remove(request.corpus)
    built, known = on_disk(name), _is_known(name)
    folder, address = corpus_dir(name), store_of(name)
    size = disk_bytes(folder) if built else 0
    if request.everywhere and address is not None:
        size += _dropped(name, ctx, dry_run=request.dry_run)
    if not request.dry_run:
        if built:
            LocalStore(folder, lock_timeout=ctx.settings["lock_timeout_s"]).remove()
        if known:
            unregister(name)
            if address is not None and not request.everywhere:
                ctx.note(f"what is kept at {address} stays there, for all others who use it")
            if name in PRESETS:
                ctx.note(f"{name} is not offered any more; ir build {name} brings it back")
        if address is None or request.everywhere:
            forget_usage(name)
    return RemoveResponse(name, request.dry_run, str(folder) if built else None, size, known, address)


def _dropped(name: str, ctx: Context, *, dry_run: bool) -> int:
    """Remove what a server keeps of a corpus; how many bytes that were."""
    from ir.protocols import WithDrop

    with ctx.store(name) as store:
        size = store.taken_up()
        if not isinstance(store, WithDrop):
            raise InvalidInput(f"The server of {name!r} cannot remove corpora.", remedy="Leave out --everywhere.")
        if not dry_run:
            store.drop()
    return size


def _name_to_remove(word: str) -> str:
    """The corpus of that name, else that of the folder of that name, else the preset that `ir ls` offers."""
    from ir.index import on_disk
    from ir.registry import entered

    if word in entered() or on_disk(word):
        return word
    found = resolve(word).name
    name = next((name for name in (found, word) if _is_known(name) or on_disk(name)), None)
    if name is None:
        raise CorpusNotBuilt(f"There is no corpus named {found!r}.", remedy="`ir ls` lists the corpora.")
    return name


def _is_known(name: str) -> bool:
    from ir.registry import registered

    return name in registered()
