"""Which embedder a command uses when the user did not say, and which corpora keep another one."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from shlex import quote
from typing import TYPE_CHECKING, Any, NamedTuple

from ir.app.hints import first_time
from ir.errors import CorpusNotBuilt, EmbedderError, IrError

if TYPE_CHECKING:
    from ir.app.context import Context
    from ir.app.targets import Target

__all__ = [
    "FastFirst",
    "chosen_for",
    "embedder_for",
    "fast_first",
    "hint_at_another",
    "is_one_model",
    "keepers_note",
    "wanted_embedder",
]

#: So many corpora are named in a note.
_NAMED = 5


class FastFirst(NamedTuple):
    """What a corpus is made with at once, and what takes over, if anything does."""

    fast: str
    to: str | None
    window: int | None


def fast_first(target: Target, asked: str | None, ctx: Context, *, answer: bool = False) -> FastFirst | None:
    """Whether a corpus is embedded by the fast model first: where nobody chose another, and a better one is here.

    Where an ``answer`` is waited for, a better one that is damaged is no reason to have none.
    """
    if asked:
        return None
    from ir.embed.models import FAST

    if target.built:
        from ir.index import open_store
        from ir.index.upgrade import upgrade_of

        with open_store(target.name) as store:
            upgrade = upgrade_of(store)
            return None if upgrade is None else FastFirst(FAST, upgrade.to, upgrade.window)
    from ir.registry import get

    registered = str((get(target.name) or {}).get("embedder") or "default")
    if ctx.settings["embedder"] != "default" or registered != "default":
        return None
    from ir.embed import better_embedder
    from ir.embed.resolve import window_of

    better = better_embedder()
    try:
        return None if better is None else FastFirst(FAST, better, window_of(better))
    except EmbedderError as error:
        if not answer:
            raise
        ctx.note(f"embedding with {FAST!r} alone: {error}")
        return FastFirst(FAST, None, None)


def embedder_for(target: Target, asked: str | None, ctx: Context) -> Any:
    """The embedder to build with: the one asked for, the corpus's own, the one set, or the best on this machine."""
    if asked:
        first_time("embedder", target.name, wanted_embedder(ctx.settings))  # who chose it needs no hint at another
        return asked
    own = _own(target, ctx)
    if own:
        hint_at_another(target.name, own, ctx)
        return own
    chosen = ctx.settings["embedder"]
    if chosen != "default":
        return chosen
    from ir.embed import best_available

    best = best_available()
    ctx.note(f"embedding with {best!r}, the best embedder on this machine")
    return best


def wanted_embedder(settings: Mapping[str, Any]) -> str:
    """The embedder of a new corpus: the one set, else the best on this machine."""
    from ir.embed import best_available
    from ir.embed.models import canonical_name

    chosen = str(settings["embedder"])
    return best_available() if chosen == "default" else canonical_name(chosen)


def hint_at_another(name: str, held: str, ctx: Context) -> None:
    """Say, once for each corpus and model, that the corpus has another model than new ones get."""
    from ir.index.embedder import CUSTOM

    wanted = wanted_embedder(ctx.settings)
    if held == CUSTOM or is_one_model(held, wanted) or _gets_better(name):
        return
    if ctx.settings["embedder"] == "default" and not _is_step_up(held, wanted):
        return
    if _movable(name) and first_time("embedder", name, wanted):
        ctx.note(f"{name!r} keeps the embedder {held!r}; new corpora get {wanted!r}. {_move(name, wanted)}")


def _gets_better(name: str) -> bool:
    """Whether a corpus has a better model that takes over by itself."""
    from ir.index import open_store
    from ir.index.upgrade import upgrade_of

    try:
        with open_store(name) as store:
            return upgrade_of(store) is not None
    except CorpusNotBuilt:
        return False  # it was registered with its model, and this is its first build


def _is_step_up(held: str, best: str) -> bool:
    """Whether the best on this machine is better than what a corpus has; of models by other names nobody knows."""
    from ir.embed.models import BOX, DEFAULT_MODEL, LIGHT, STATIC, canonical_name
    from ir.models.folders import base_and_form

    rising = (LIGHT, BOX, STATIC, DEFAULT_MODEL)
    name = canonical_name(held)
    return name in rising and rising.index(name) < rising.index(base_and_form(best)[0])


def keepers_note(wanted: str) -> str | None:
    """Which corpora on this machine keep another embedder than ``wanted``, and the command that moves one."""
    from ir.app.targets import built_corpora
    from ir.index.embedder import CUSTOM

    keeping = {}
    for name in filter(_movable, built_corpora()):
        with suppress(IrError):  # of one that cannot be read, other commands tell
            spec = _held(name)
            if spec not in (None, CUSTOM) and not is_one_model(str(spec), wanted) and not _gets_better(name):
                keeping[name] = spec
    if not keeping:
        return None
    told = [f"{name} ({spec})" for name, spec in keeping.items()]
    more = f" and {len(told) - _NAMED} more" if len(told) > _NAMED else ""
    verb = "keeps its" if len(told) == 1 else "keep their"
    return f"{', '.join(told[:_NAMED])}{more} {verb} embedder. {_move(next(iter(keeping)), wanted)}"


def _move(name: str, embedder: str) -> str:
    return f"To move it: ir build {quote(name)} --embedder {quote(embedder)}"


def _movable(name: str) -> bool:
    """Whether a command can build it: not what was built from data in memory."""
    from ir.registry import PRESETS, registered

    return name in PRESETS or name in registered()


def is_one_model(one: str, other: str) -> bool:
    """Whether two names are of one model, in whatever form it is computed."""
    from ir.embed.models import canonical_name
    from ir.models.folders import base_and_form

    return base_and_form(canonical_name(one))[0] == base_and_form(canonical_name(other))[0]


def _own(target: Target, ctx: Context) -> str | None:
    """The embedder that the corpus was registered with on purpose, else the one that built it."""
    from ir.index.embedder import CUSTOM
    from ir.registry import get

    registered = str((get(target.name) or {}).get("embedder") or "default")
    held = _held(target.name) if target.built else None
    if registered not in ("default", CUSTOM):
        if held not in (None, registered):
            ctx.note(f"embedding with {registered!r}, as registered; it was built with {held!r}")
        return registered
    if held == CUSTOM:
        raise EmbedderError(
            f"The corpus {target.name!r} was built with an embedder of your own, which no command can call.",
            remedy="Build it from Python with that one, or with another one by --embedder NAME.",
        )
    return held


def chosen_for(name: str) -> set[str]:
    """The embedders that the user chose for a corpus: the one it is registered with, and the one that built it."""
    from ir.registry import get

    chosen = {str((get(name) or {}).get("embedder") or "")}
    with suppress(IrError):  # one that was never built, or cannot be read, has no other
        chosen.add(_held(name) or "")
    return chosen - {""}


def _held(name: str) -> str | None:
    """The embedder that a corpus was built with."""
    from ir.index import open_store

    with open_store(name) as store:
        spec = store.get_config().get("embedder")
    return str(spec) if spec else None
