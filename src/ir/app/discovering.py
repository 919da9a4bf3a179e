"""Discovery: the few things that answer a query, from one corpus or from several, or the statement that none does."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ir.app.context import Context
from ir.app.operation import Value, given, operation
from ir.app.searching import prepare
from ir.app.targets import Target, resolve
from ir.app.ways import search_options
from ir.errors import InvalidInput
from ir.options import choice

if TYPE_CHECKING:
    from ir.index import Corpus
    from ir.select import DiscoveryResult

__all__ = ["EXPANSIONS", "DiscoverRequest", "DiscoverResponse", "discover"]

EXPANSIONS = ("window", "parent")
#: ``min_score`` that means: no floor, even where one is calibrated.
NO_FLOOR = "none"

Floor = float | str | None


@dataclass(frozen=True)
class DiscoverRequest(Value):
    """``targets`` are corpus names or paths; several are searched each by itself and merged by rank.

    ``min_score`` is a number (for one corpus), ``"auto"`` (the calibrated floor of each, with a note where there is
    none), ``"none"``, or a mapping from targets to numbers; ``None`` takes the floors that are calibrated and says
    nothing of those that are not. Other options that are ``None`` are taken from the settings or the library.
    """

    query: str
    targets: tuple[str, ...] = (".",)
    k: int | None = None
    mode: str | None = None
    strategy: str = "conservative"
    max_k: int | None = None
    rel: float | None = None
    min_score: float | str | Mapping[str, float] | None = None
    disclose: str = "metadata"
    expand: str | None = None
    filter: Mapping[str, Any] | None = None
    surfaces: tuple[str, ...] = ()
    embedder: str | None = None
    refresh: bool | None = None


@dataclass(frozen=True)
class DiscoverResponse(Value):
    """What was committed to, why, and what a calibration says about the query; see :class:`ir.DiscoveryResult`."""

    corpora: tuple[str, ...]
    result: DiscoveryResult
    stale: bool | None = None
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        more = {"corpora": list(self.corpora), "stale": self.stale, "notes": list(self.notes)}
        return {**self.result.to_dict(), **more}


@operation("discover", summary="Commit to the few things that answer a query, or to none", read_only=True)
def discover(request: DiscoverRequest, ctx: Context) -> DiscoverResponse:
    from ir.select import discover as discover_in

    if not request.query.strip():
        raise InvalidInput("The query is empty.", remedy="Say what to look for.")
    if not request.targets:
        raise InvalidInput("Give at least one corpus or path to discover in.")
    targets = {word: resolve(word) for word in request.targets}
    _check_options(request, targets, ctx)
    stale, notes = _prepare_all(targets, request, ctx)
    corpora = [ctx.open(target.name, embedder=request.embedder) for target in targets.values()]
    mode = ctx.settings["mode"] if request.mode is None else request.mode
    if len(corpora) == 1:
        # A corpus that was tuned to one channel; discovery itself takes over what was chosen for a hybrid search.
        mode = search_options(corpora[0], ctx, mode=request.mode, fusion=None)["mode"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # what is warned about is also among the notes
        result = discover_in(
            corpora[0] if len(corpora) == 1 else corpora,
            request.query,
            mode=mode,
            strategy=request.strategy,
            min_score=_floors(request.min_score, targets, corpora, mode),
            disclose_level=request.disclose,
            expand=_expansion(request.expand),
            surfaces=request.surfaces or None,
            **given(k=request.k, max_k=request.max_k, rel=request.rel, filter=request.filter),
        )
    notes += result.signals.get("notes", ())  # what is degraded has its reason there
    names = tuple(target.name for target in targets.values())
    return DiscoverResponse(names, result, stale, tuple(dict.fromkeys(notes)))


def _check_options(request: DiscoverRequest, targets: Mapping[str, Target], ctx: Context) -> None:
    """Find a wrong option before a folder is indexed for the sake of it."""
    from ir.options import SearchOptions
    from ir.select.disclosure import DisclosureRule
    from ir.select.gating import floors_by_name
    from ir.select.selection import SelectionRule

    mode = ctx.settings["mode"] if request.mode is None else request.mode
    SearchOptions.of(mode=mode, filter=request.filter, surfaces=request.surfaces or None, **given(k=request.k))
    SelectionRule(request.strategy, **given(max_k=request.max_k, rel=request.rel))
    DisclosureRule(request.disclose, expand=_expansion(request.expand))
    if isinstance(request.min_score, Mapping):
        floors_by_name(_by_name(request.min_score, targets), [target.name for target in targets.values()])


def _prepare_all(
    targets: Mapping[str, Target], request: DiscoverRequest, ctx: Context
) -> tuple[bool | None, list[str]]:
    states: list[bool | None] = []
    notes: list[str] = []
    for target in targets.values():
        stale, said = prepare(target, ctx, embedder=request.embedder, refresh=request.refresh)
        states.append(stale)
        notes += said
    return (True if True in states else None if None in states else False), notes


def _floors(
    asked: Floor | Mapping[str, float], targets: Mapping[str, Target], corpora: list[Corpus], mode: str
) -> Floor | dict[str, Floor]:
    """The floors as discovery takes them; a mapping may name a corpus as the user wrote it."""
    if asked is None:
        from ir.select.gate import find_gate

        return {corpus.name: "auto" if find_gate(corpus, mode).floor is not None else None for corpus in corpora}
    if isinstance(asked, str) and asked == NO_FLOOR:
        return None
    if isinstance(asked, Mapping):
        return dict(_by_name(asked, targets))
    return asked


def _by_name(floors: Mapping[str, float], targets: Mapping[str, Target]) -> dict[str, float]:
    return {targets[word].name if word in targets else word: floor for word, floor in floors.items()}


def _expansion(name: str | None) -> Callable[..., Any] | None:
    if name is None:
        return None
    from ir.expand import parent_policy, sentence_window_policy

    made = {"window": sentence_window_policy, "parent": parent_policy}
    return made[choice("expansion", name, EXPANSIONS)]()
