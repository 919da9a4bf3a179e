"""Discovery: the few things that answer a query, from one corpus or from several, or the statement that none does."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from ir.app.arguments import EMBEDDER, FILTER, MODE, QUERY, RANKING, REL, STRATEGY, SURFACES
from ir.app.context import Context
from ir.app.fields import Arg
from ir.app.operation import Value, given, operation
from ir.app.search_defaults import ranking_option, search_options
from ir.app.targets import Target
from ir.errors import InvalidInput
from ir.options import choice

if TYPE_CHECKING:
    from ir.select import DiscoveryResult

__all__ = ["EXPANSIONS", "DiscoverRequest", "DiscoverResponse", "discover"]

EXPANSIONS = ("window", "parent")
#: ``min_score`` that means: the floor of each corpus; and no floor, even where there is one.
AUTO = "auto"
NO_FLOOR = "none"

Floor = float | str | None


@dataclass(frozen=True)
class DiscoverRequest(Value):
    """``targets`` are corpus names or paths; several are searched each by itself and merged by rank.

    ``min_score`` is a number (for one corpus), ``"auto"`` (the floor of each: calibrated, or made with the corpus),
    ``"none"``, or a mapping from targets to numbers; ``None`` means ``"auto"``. Which floor was applied, or why there
    was none, is part of the response. ``wait`` and ``upgrade`` are those of a search. Other options that are ``None``
    are taken from the settings or the library.
    """

    query: Annotated[str, QUERY]
    targets: Annotated[tuple[str, ...], Arg("corpora by name", blank=False, max_items=50, option=False)] = (".",)
    k: Annotated[
        int | None,
        Arg(
            "how many candidates of each corpus",
            min=1,
            max=1000,
            clamp=True,
            short="-k",
            metavar="N",
            help="How many candidates of each corpus (10).",
        ),
    ] = None
    mode: Annotated[str | None, MODE] = None
    strategy: Annotated[str, STRATEGY] = "conservative"
    max_k: Annotated[
        int | None,
        Arg(
            "commit to at most this many",
            min=1,
            max=1000,
            clamp=True,
            metavar="N",
            help="Commit to at most this many (3).",
        ),
    ] = None
    rel: Annotated[float | None, REL] = None
    min_score: Annotated[
        float | str | Mapping[str, float] | None,
        Arg(
            "the floor: auto, none, a number, or one for each corpus",
            metavar="FLOOR",
            help="auto, none, a number, or CORPUS=NUMBER (repeatable). By default auto.",
            complete=("auto", "none"),
        ),
    ] = None
    disclose: Annotated[
        str,
        Arg(
            "how much to reveal of each result",
            choices="ir.select.disclosure:DISCLOSURE_LEVELS",
            short="-d",
            metavar="LEVEL",
            help="metadata, body or bundled: how much to reveal.",
        ),
    ] = "metadata"
    expand: Annotated[
        str | None,
        Arg(
            "what stands around each match: a window of text, or the whole parent",
            choices=EXPANSIONS,
            metavar="HOW",
            help="window or parent: show what stands around each match.",
        ),
    ] = None
    filter: Annotated[Mapping[str, Any] | None, FILTER] = None
    surfaces: Annotated[tuple[str, ...], SURFACES] = ()
    embedder: Annotated[str | None, EMBEDDER] = None
    ranking: Annotated[str | None, RANKING] = None


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

    @classmethod
    def json_schema(cls) -> dict[str, Any]:
        from ir.app.schema import discovery_properties, object_of, schema_of

        more = (("corpora", tuple[str, ...]), ("stale", bool | None), ("notes", tuple[str, ...]))
        return object_of({**discovery_properties(), **{name: schema_of(kind) for name, kind in more}})


def check_options(request: DiscoverRequest, ctx: Context) -> None:
    """Find a wrong option before anything is done for it."""
    _check_options(request, _targets(request, ctx), ctx)


def _targets(request: DiscoverRequest, ctx: Context) -> dict[str, Target]:
    if not request.targets:
        raise InvalidInput("Give at least one corpus or path to discover in.")
    return {word: ctx.target(word) for word in request.targets}


@operation(
    "discover",
    summary="Commit to the few things that answer a query, or to none",
    effect="reads",
    doors=("cli", "mcp", "http"),
    precheck=check_options,
)
def discover(request: DiscoverRequest, ctx: Context) -> DiscoverResponse:
    from ir.select import discover as discover_in

    targets = _targets(request, ctx)
    _check_options(request, targets, ctx)
    corpora = [ctx.open(target, embedder=request.embedder) for target in targets.values()]
    ctx.check()
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
            min_score=_floors(request.min_score, targets),
            disclose_level=request.disclose,
            expand=_expansion(request.expand),
            surfaces=request.surfaces or None,
            ranking=ranking_option(ctx, request.ranking),
            **given(k=request.k, max_k=request.max_k, rel=request.rel, filter=request.filter),
        )
    notes = result.signals.get("notes", ())  # what is degraded has its reason there
    names = tuple(target.name for target in targets.values())
    return DiscoverResponse(names, result, None, tuple(dict.fromkeys(notes)))


def _check_options(request: DiscoverRequest, targets: Mapping[str, Target], ctx: Context) -> None:
    """Find a wrong option before a folder is indexed for the sake of it."""
    from ir.options import SearchOptions
    from ir.select.disclosure import DisclosureRule
    from ir.select.gated_source import floors_by_name
    from ir.select.selection import SelectionRule

    mode = ctx.settings["mode"] if request.mode is None else request.mode
    SearchOptions.of(mode=mode, filter=request.filter, surfaces=request.surfaces or None, **given(k=request.k))
    SelectionRule(request.strategy, **given(max_k=request.max_k, rel=request.rel))
    DisclosureRule(request.disclose, expand=_expansion(request.expand))
    if isinstance(request.min_score, Mapping):
        floors_by_name(_by_name(request.min_score, targets), [target.name for target in targets.values()])


def _floors(asked: Floor | Mapping[str, float], targets: Mapping[str, Target]) -> Floor | dict[str, Floor]:
    """The floors as discovery takes them; a mapping may name a corpus as the user wrote it."""
    if asked is None:
        return AUTO
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
