"""Seeing to it that a folder has an index before it is asked, and that the index is as fresh as is cheap.

No operation does this by itself: whether a question may write is for whoever passes it on to say. The command line
does it for the user who typed the question.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ir.app.building import BuildResponse, build_target
from ir.app.context import Context
from ir.app.embedders import embedder_for, fast_first, hint_at_another
from ir.app.hints import first_time
from ir.app.operation import Operation, Response
from ir.app.places import view
from ir.app.policy import AS_SET, Policy
from ir.app.targets import Target, cut_as_text
from ir.app.upgrading import allowed, see_to
from ir.errors import InvalidInput
from ir.secrets.files import REASON as SECRET

if TYPE_CHECKING:
    from ir.sources.subfolder import Subfolder

__all__ = ["answer", "prepare", "targets_of"]


def answer(operation: Operation[Any, Response], request: Any, ctx: Context, *, policy: Policy = AS_SET) -> Response:
    """Run an operation after its corpora were seen to, if its answer says how fresh it is."""
    if not any(item.name == "stale" for item in fields(operation.response)):
        return operation(request, ctx)
    if operation.precheck is not None:
        operation.precheck(request, ctx)  # before a folder is indexed for the sake of a wrong option
    embedder, mode = getattr(request, "embedder", None), getattr(request, "mode", None)
    states: list[bool | None] = []
    notes: list[str] = []
    for word in targets_of(request):
        part = view(word, ctx, moving=True)
        target = part.target
        within = part.narrowed(ctx.settings)
        stale, said = prepare(target, ctx, embedder=embedder, policy=policy, mode=mode, within=within)
        states.append(stale)
        notes += said
        if embedder is None:
            hint_at_another(target.name, str(ctx.open(target).store.get_config().get("embedder")), ctx)
    response: Any = operation(request, ctx)
    fresh = True if True in states else None if None in states else False
    found: Response = replace(response, stale=fresh, notes=tuple(dict.fromkeys((*notes, *response.notes))))
    return found


def targets_of(request: Any) -> Sequence[str]:
    """The corpora and paths that a request is about."""
    named: Any = getattr(request, "target", None) or getattr(request, "targets", ())
    return (named,) if isinstance(named, str) else named


def prepare(
    target: Target,
    ctx: Context,
    *,
    embedder: str | None,
    policy: Policy = AS_SET,
    mode: str | None = None,
    within: Subfolder | None = None,
) -> tuple[bool | None, list[str]]:
    """See to it that there is an index, as fresh as is cheap; whether it is stale, and what to tell about that.

    A new one is made by the fast model; a better one reads it in the background, or now if the answer can wait.
    ``within`` is the part of it that was asked for, if it is not all.
    """
    if not target.built:
        stale, notes = _first_build(target, ctx, embedder)
    elif ctx.settings["refresh"] if policy.refresh is None else policy.refresh:
        stale, notes = _refresh(target, ctx, within, apart=policy.wait or allowed(ctx, policy.upgrade))
    else:
        stale, notes = None, []
    _hint_at_code(target, ctx)
    if embedder is None:
        see_to(target, ctx, asked=policy.upgrade, wait=policy.wait, mode=mode)
    return stale, notes


def _first_build(target: Target, ctx: Context, embedder: str | None) -> tuple[bool | None, list[str]]:
    from ir.index import not_built

    if target.path is None:
        raise not_built(target.name)
    _refuse_whole_home(target.path)
    ctx.note(f"indexing {target.path} as {target.name!r}")
    first = fast_first(target, embedder, ctx, answer=True)
    model = embedder_for(target, embedder, ctx) if first is None else None
    built = build_target(target, target.source(ctx.settings), model, ctx, first=first)
    return False, [*_left_out(built), *(built.notes if built.records else ())]


def _hint_at_code(target: Target, ctx: Context) -> None:
    """Say once of a folder of code that was cut as text what it could be."""
    from ir.registry import entered

    plain = entered().get(target.name, {}).get("kind") == "files"
    if plain and first_time("code", target.name) and cut_as_text(target) is not None:
        ctx.note(f"{target.name!r} was cut as text; ir build {target.name} reads its code as definitions and links")


def _left_out(built: BuildResponse) -> list[str]:
    """A word about the files that a first build did not take."""
    if not built.skipped:
        return []
    count, secret = len(built.skipped), sum(problem["reason"] == SECRET for problem in built.skipped)
    if count == 1:
        told = f"1 file was left out{', because it may hold secrets' if secret else ''}"
    else:
        told = f"{count:,} files were left out{f', {secret:,} of them because they may hold secrets' if secret else ''}"
    return [f"{told}; `ir build {built.corpus} --dry-run` lists {'it' if count == 1 else 'them'}."]


def _refresh(target: Target, ctx: Context, within: Subfolder | None, *, apart: bool) -> tuple[bool | None, list[str]]:
    """``apart`` if somebody lets the better model read what changed; else it does so here, before the search."""
    from ir.index import refresh_if_cheap
    from ir.index.upgrade import FEW

    outcome = refresh_if_cheap(
        target.name if target.path is None else target.source(ctx.settings),
        scan_ms=ctx.settings["refresh_scan_ms"],
        max_changed=ctx.settings["refresh_max_changed"],
        within=within,
        few=FEW if apart else None,
    )
    if outcome.refreshed:
        ctx.note(f"took in {outcome.changed} changed {'file' if outcome.changed == 1 else 'files'} before searching")
    return outcome.stale, [f"The index may be stale. {outcome.reason}"] if outcome.stale else []


def _refuse_whole_home(path: Path) -> None:
    """Searching `.` in a home folder would index a whole life; that has to be asked for by `ir build`."""
    if path in (Path.home().resolve(), Path(path.anchor)):
        raise InvalidInput(
            f"{path} is too large to index on the way to a search.",
            remedy=f"Name a folder in it, or index it all on purpose with: ir build {path}",
        )
