"""The spaces of vectors of a corpus: which there are, and adding, choosing and dropping one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from ir.app.arguments import EMBEDDER, TARGET
from ir.app.context import Context
from ir.app.fields import Arg
from ir.app.operation import Value, operation
from ir.app.targets import resolve
from ir.errors import InvalidInput
from ir.options import choice

__all__ = ["ACTIONS", "Space", "SpaceRequest", "SpaceResponse", "space"]

ACTIONS = ("ls", "add", "use", "drop")


@dataclass(frozen=True)
class SpaceRequest(Value):
    """What to do with the spaces of ``target``; ``add`` embeds it by ``embedder`` into the space ``name``."""

    action: Annotated[str, Arg("what to do", choices=ACTIONS, metavar="ACTION", help="ls, add, use or drop.")]
    target: Annotated[str, TARGET]
    name: Annotated[str | None, Arg("the name of the space", blank=False, metavar="SPACE")] = None
    embedder: Annotated[str | None, EMBEDDER] = None

    def __post_init__(self) -> None:
        choice("action", self.action, ACTIONS)
        if (self.name is None) != (self.action == "ls"):
            needs = "takes no name" if self.name is not None else "needs the name of a space"
            raise InvalidInput(f"`space {self.action}` {needs}.", remedy="`ir space ls CORPUS` lists the spaces.")
        if (self.embedder is None) == (self.action == "add"):
            raise InvalidInput(
                "`space add` needs an embedder, and the other actions take none.",
                remedy="Write: ir space add CORPUS SPACE --embedder MODEL",
            )


@dataclass(frozen=True)
class Space(Value):
    """``missing`` records have no vector in the space."""

    name: str
    default: bool
    embedder: str | None
    dim: int | None
    records: int
    missing: int


@dataclass(frozen=True)
class SpaceResponse(Value):
    """The spaces after what was done; ``embedded`` counts the texts that were embedded for it."""

    corpus: str
    spaces: tuple[Space, ...]
    embedded: int = 0


@operation("space", summary="Show or change the spaces of vectors of a corpus", effect="writes", runs_long=True)
def space(request: SpaceRequest, ctx: Context) -> SpaceResponse:
    from ir.index import open_corpus
    from ir.index.spaces import add_space, drop_space, use_space

    target = resolve(request.target)
    target.require_built()
    corpus = open_corpus(target.name)
    with corpus.store:
        embedded = 0
        if request.action == "add" and request.name is not None:
            embedded = add_space(corpus, request.name, embedder=request.embedder, progress=ctx.progress)
        elif request.action == "use" and request.name is not None:
            use_space(corpus, request.name)
        elif request.action == "drop" and request.name is not None:
            drop_space(corpus, request.name)
        config = corpus.store.get_config()
        with corpus.store.snapshot() as snapshot:
            default = snapshot.default_space
            described = {**config.get("spaces", {}), default: config}
            spaces = tuple(
                Space(
                    name,
                    name == default,
                    described.get(name, {}).get("embedder_id"),
                    dim,
                    len(snapshot),
                    snapshot.unembedded(name),
                )
                for name, dim in sorted(snapshot.spaces().items())
            )
    return SpaceResponse(target.name, spaces, embedded)
