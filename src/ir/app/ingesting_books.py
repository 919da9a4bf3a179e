"""Reading books as passages that lead to each other: rule books, manuals, regulations."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from ir.app.arguments import EMBEDDER, UPGRADE
from ir.app.book_vectors import add_spaces, check_embedded, draw_similar_again, tell_siblings
from ir.app.building import build_target, upgraded
from ir.app.context import Context
from ir.app.embedders import embedder_for, fast_first
from ir.app.fields import Arg
from ir.app.operation import Value, operation
from ir.app.targets import Target
from ir.errors import InvalidInput

if TYPE_CHECKING:
    from ir.app.building import BuildResponse
    from ir.book.census import BookCensus
    from ir.sources import CorpusSource
    from ir.store.base import BaseStore

__all__ = ["IngestBookRequest", "IngestBookResponse", "ingest_book"]

#: So many references that lead nowhere, and edges that were dropped, are named.
_NAMED = 200


@dataclass(frozen=True)
class IngestBookRequest(Value):
    """``paths`` are files or folders that make up one corpus, ``book``, in the workspace of the ``ruleset``. Without
    them it is read from where it was read before, else from the folder ``Rules/RULESET/BOOK``.

    What was said once of ``rules`` and ``similar`` stays until something else is. A model that the corpus
    does not have yet gets a space of vectors beside the others. ``files`` is a folder to write what was made to, in the
    form of the reference pipeline.
    """

    paths: Annotated[tuple[str, ...], Arg("files or folders of books", metavar="PATH...", max_items=1000)] = ()
    ruleset: Annotated[
        str | None,
        Arg("the set of books that it belongs to: a workspace", blank=False, metavar="NAME"),
    ] = None
    book: Annotated[
        str | None,
        Arg("what the corpus is called; by default as the file or folder is", blank=False, metavar="NAME"),
    ] = None
    rules: Annotated[
        str | None,
        Arg(
            "a TOML file that says what kinds of passages there are, or none or default",
            blank=False,
            metavar="FILE",
            complete=("default", "none"),
        ),
    ] = None
    traversal: Annotated[
        str | None,
        Arg("a TOML or JSON file with names, intents and policies of walks", blank=False, metavar="FILE"),
    ] = None
    similar: Annotated[
        float | None,
        Arg("link passages whose vectors are this near; 0 for none", min=0, max=1, metavar="COSINE"),
    ] = None
    embedder: Annotated[str | None, EMBEDDER] = None
    embedding_model: Annotated[
        tuple[str, ...],
        Arg(
            "a model that reads the book; one more is a space beside the first",
            metavar="NAME",
            help="A model that reads it; one more gets a space of its own. Repeatable.",
        ),
    ] = ()
    generate_embeddings: Annotated[bool, Arg("accepted for those who write it: what is read is always embedded")] = (
        False
    )
    profile: Annotated[
        str, Arg("how much is made of a book: full is all there is", choices=("full",), metavar="full")
    ] = "full"
    store: Annotated[
        str | None,
        Arg(
            "keep it at postgresql://host/db or milvus://host from now on; or local",
            blank=False,
            metavar="ADDRESS",
            complete=("local",),
        ),
    ] = None
    store_mongodb: Annotated[bool, Arg("write the collections of the reference to MongoDB too")] = False
    files: Annotated[
        str | None, Arg("write enriched chunks and graphs as JSON below this folder", blank=False, metavar="DIR")
    ] = None
    run_id: Annotated[str | None, Arg("the name of this run; by default the time", blank=False, metavar="ID")] = None
    dry_run: Annotated[bool, Arg("only list what would change", short="-n")] = False
    upgrade: Annotated[bool | None, UPGRADE] = None


@dataclass(frozen=True)
class IngestBookResponse(Value):
    """What changed, counted in documents, and what the corpus holds now.

    ``nodes`` are by type, ``links`` by relation, ``kinds`` are those of passages whose kind is known. ``unresolved`` is
    how many references lead nowhere, ``references`` names them; ``elsewhere`` lead to other books of the workspace.
    ``dropped`` are edges of a given graph with an end that nobody declared. ``queries`` counts questions that came
    along, ``unanswerable`` those whose expected chunks are not here.
    """

    corpus: str
    workspace: str
    run_id: str
    added: int
    changed: int
    removed: int
    unchanged: int
    documents: tuple[str, ...] = ()
    chunks: int = 0
    embedded: int = 0
    embedder: str | None = None
    spaces: tuple[str, ...] = ()
    seconds: float = 0.0
    nodes: Mapping[str, int] | None = None
    links: Mapping[str, int] | None = None
    kinds: Mapping[str, int] | None = None
    unresolved: int = 0
    references: tuple[dict[str, str], ...] = ()
    elsewhere: int = 0
    dropped: tuple[dict[str, str], ...] = ()
    queries: int = 0
    unanswerable: tuple[str, ...] = ()
    traversal: str | None = None
    files: str | None = None
    dry_run: bool = False
    skipped: tuple[dict[str, str], ...] = ()
    failed: tuple[dict[str, str], ...] = ()
    notes: tuple[str, ...] = ()


@operation("ingest-book", summary="Read books as passages that lead to each other", effect="writes", runs_long=True)
def ingest_book(request: IngestBookRequest, ctx: Context) -> IngestBookResponse:
    from ir.config.workspace import in_workspace

    with nullcontext() if request.ruleset is None else in_workspace(workspace_of(request.ruleset)):
        return _ingest(request, ctx)


def workspace_of(ruleset: str) -> str:
    """The workspace of a ruleset: its name in small letters, with dashes for what no workspace is called.

    >>> workspace_of("StarFinder 2e")
    'starfinder-2e'
    """
    from ir.config.workspace import workspace_name

    return workspace_name(re.sub(r"[^a-z0-9]+", "-", ruleset.casefold()).strip("-")[:32].strip("-"))


def _ingest(request: IngestBookRequest, ctx: Context) -> IngestBookResponse:
    from ir.book.source import new_run_id

    began = time.perf_counter()
    paths = [_existing(word) for word in request.paths or _usual_paths(request)]
    name = _name_of(request, paths)
    traversal = _traversal(request)
    _check_mongo(request)
    run_id = request.run_id or new_run_id()
    with _entered(name, paths, request, ctx) as params:
        source = _source(name, params, run_id)
        if request.dry_run:
            return _preview(name, source, run_id, request, ctx)
        made = _build(name, source, request, ctx)
    store = ctx.store(name)
    with store:
        told = _settle(store, request, source, run_id, traversal, changed=bool(made.changes))
        embedded = add_spaces(store, name, request.embedding_model, ctx)
        if params.get("similar"):
            draw_similar_again(store, float(params["similar"]))
        check_embedded(store)
        tell_siblings(name, ctx)
        files = _write_files(store, request, run_id)
        if request.store_mongodb:
            _write_mongo(store, request, run_id)
        return _response(made, store, source, run_id, embedded, told, files, time.perf_counter() - began)


# -- what is read, and where it goes ---------------------------------------------------------------------------------


def _existing(word: str) -> Path:
    from ir.registry import existing_path

    path = existing_path(word)
    if path is None:
        raise InvalidInput(f"There is no file or folder {word!r}.", remedy="Check the path.")
    return path


def _usual_paths(request: IngestBookRequest) -> list[str]:
    """Where a book is that was named without a path."""
    from ir.registry import entered

    known = entered().get(request.book or "", {})
    if known.get("kind") == "book":
        return list(known["params"]["paths"])
    usual = Path("Rules", request.ruleset or "", request.book or "")
    if request.ruleset and request.book and usual.is_dir():
        return [str(usual)]
    raise InvalidInput(
        "It is not said where the book is.",
        remedy="Write: ir ingest book PATH…; or keep it in Rules/RULESET/BOOK and name --ruleset and --book.",
    )


def _name_of(request: IngestBookRequest, paths: Sequence[Path]) -> str:
    from ir.book.source import name_of
    from ir.registry import check_name, entered

    if request.book is None and len(paths) > 1:
        raise InvalidInput(
            "Several files or folders are one corpus, which needs a name.",
            remedy="Add --book NAME; or ingest each by itself.",
        )
    name = check_name(request.book or name_of(paths[0]))
    kind = entered().get(name, {}).get("kind", "book")
    if kind != "book" or (name not in entered() and Target(name).built):
        raise InvalidInput(
            f"There is a corpus {name!r} already, and it is no book.", remedy="Choose another name by --book NAME."
        )
    return name


@contextmanager
def _entered(name: str, paths: Sequence[Path], request: IngestBookRequest, ctx: Context) -> Iterator[dict[str, Any]]:
    """The parameters of the book, registered while the block runs and from then on; as before if it fails."""
    from ir.registry import entered, register, restore

    before = entered().get(name)
    params = {**(before or {}).get("params", {}), "paths": [str(path) for path in paths]}
    rules = request.rules or (None if before else ctx.settings["book_rules"])
    if rules is not None:
        params["rules"] = rules if rules in ("none", "default") else str(_existing(rules))
    if params.get("rules") == "default":
        del params["rules"]
    if request.similar is not None:
        params["similar"] = request.similar or None
    params = {key: value for key, value in params.items() if value is not None}
    kept = {key: (before or {}).get(key) for key in ("store", "maintenance")}
    if request.store is not None:
        kept["store"] = None if request.store == "local" else request.store
    try:
        register(name, "book", embedder=str((before or {}).get("embedder") or "default"), **kept, **params)
        yield params
    except BaseException:
        restore(name, before)
        raise
    if request.dry_run:
        restore(name, before)


def _source(name: str, params: Mapping[str, Any], run_id: str) -> CorpusSource:
    from ir.registry import source_from_entry

    source = source_from_entry(name, {"kind": "book", "params": {**params, "run_id": run_id}})
    if not len(source.scope):
        scope: Any = source.scope
        raise scope.refusal()
    return source


def _traversal(request: IngestBookRequest) -> Any:
    if request.traversal is None:
        return None
    from ir.book.traversal_settings import read_traversal

    return read_traversal(request.traversal)


# -- building --------------------------------------------------------------------------------------------------------


def _build(name: str, source: CorpusSource, request: IngestBookRequest, ctx: Context) -> BuildResponse:
    target = Target(name)
    # A model beside the one that a corpus has is a space more, not another corpus.
    asked = request.embedder or (None if target.built else next(iter(request.embedding_model), None))
    first = fast_first(target, asked, ctx)
    embedder = embedder_for(target, asked, ctx) if first is None else None
    made = build_target(target, source, embedder, ctx, first=first, language=_language(target, source, ctx))
    return made if first is None else upgraded(made, ctx, asked=request.upgrade)


def _language(target: Target, source: CorpusSource, ctx: Context) -> str | None:
    """The language of a new corpus, told from a part of its books; taking all apart would take as long again."""
    from ir.analysis import AUTO, detect_language

    if target.built or str(ctx.settings["language"]) != AUTO:
        return None
    scope: Any = source.scope
    return detect_language(scope.samples())


def _settle(
    store: BaseStore, request: IngestBookRequest, source: CorpusSource, run_id: str, traversal: Any, *, changed: bool
) -> dict[str, Any]:
    """Keep with the corpus what is to be known of it beside its passages: its ruleset, aliases, how walks go."""
    from ir.book.traversal_settings import with_traversal

    strategy: Any = source.indexing_strategy
    with store.transaction():
        before = store.get_config()
        config = dict(before)
        config["book"] = source.name
        if request.ruleset is not None:
            config["ruleset"] = request.ruleset
        if changed or "run_id" not in config:
            config["run_id"] = run_id
        config["aliases"] = dict(strategy.enrichment.aliases)
        if traversal is not None:
            config |= with_traversal(config, traversal, ruleset=config.get("ruleset"))
        config.pop("similar", None)
        if strategy.similar is not None:
            config["similar"] = strategy.similar
        if config != before:
            store.set_config(config)
    return config


# -- what is written elsewhere ---------------------------------------------------------------------------------------


def _write_files(store: BaseStore, request: IngestBookRequest, run_id: str) -> str | None:
    if request.files is None:
        return None
    from ir.book.writing import write_files

    return str(write_files(store, Path(request.files).expanduser(), run_id))


def _check_mongo(request: IngestBookRequest) -> None:
    """An error before anything is read, if what is to be written in the end cannot be."""
    if request.store_mongodb:
        from ir.store.mongo.collections import BookCollections

        with BookCollections(_mongo_of(request)) as collections:
            collections.check()


def _write_mongo(store: BaseStore, request: IngestBookRequest, run_id: str) -> None:
    """Each book by its own name, and each space by that of its model."""
    from ir.book.mongo import store_to_mongo

    ruleset = str(store.get_config().get("ruleset") or "default")
    store_to_mongo(store, _mongo_of(request), ruleset_id=ruleset, run_id=run_id)


def _mongo_of(request: IngestBookRequest) -> str | None:
    """MONGODB_URI says where, unless --store does."""
    return request.store if request.store and request.store.startswith("mongodb") else None


# -- what is told ----------------------------------------------------------------------------------------------------


def _preview(
    name: str, source: CorpusSource, run_id: str, request: IngestBookRequest, ctx: Context
) -> IngestBookResponse:
    from ir.config.workspace import current_workspace
    from ir.index import open_store, plan_build

    target = Target(name)
    store = open_store(name) if target.built else None
    asked = request.embedder or (None if target.built else next(iter(request.embedding_model), "light"))
    with store or nullcontext():
        plan = plan_build(source, store=store, embedder=asked, progress=ctx.progress)
    return IngestBookResponse(
        corpus=name,
        workspace=current_workspace(),
        run_id=run_id,
        added=len(plan.added),
        changed=len(plan.changed),
        removed=len(plan.removed),
        unchanged=len(plan.unchanged),
        documents=tuple(source.scope),
        dropped=_dropped(source),
        dry_run=True,
        skipped=tuple({"id": one.id, "reason": one.reason} for one in plan.skipped),
        failed=tuple({"id": one.id, "reason": one.reason} for one in plan.failed),
    )


def _response(
    made: BuildResponse,
    store: BaseStore,
    source: CorpusSource,
    run_id: str,
    embedded: int,
    config: Mapping[str, Any],
    files: str | None,
    seconds: float,
) -> IngestBookResponse:
    from ir.book.census import book_census
    from ir.config.workspace import current_workspace

    found: BookCensus = book_census(store)
    return IngestBookResponse(
        corpus=made.corpus,
        workspace=current_workspace(),
        run_id=run_id,
        added=made.added,
        changed=made.changed,
        removed=made.removed,
        unchanged=made.unchanged,
        documents=tuple(found.documents),
        chunks=made.records or 0,
        embedded=(made.embedded or 0) + embedded,
        embedder=made.embedder,
        spaces=tuple(sorted(store.spaces())),
        seconds=round(seconds, 3),
        nodes=dict(found.nodes.most_common()),
        links=dict(found.links.most_common()),
        kinds=dict(found.kinds.most_common()),
        unresolved=len(found.unresolved),
        references=tuple(
            {"document": one.item, "chunk": one.chunk, "said": one.said, "to": one.name}
            for one in found.unresolved[:_NAMED]
        ),
        elsewhere=found.elsewhere,
        dropped=_dropped(source),
        queries=found.queries,
        unanswerable=tuple(found.unanswerable),
        traversal=(config.get("traversal") or {}).get("version"),
        files=files,
        skipped=made.skipped,
        failed=made.failed,
        notes=(*made.notes, *(f"{one['id']}: {one['reason']}" for one in made.remarks)),
    )


def _dropped(source: CorpusSource) -> tuple[dict[str, str], ...]:
    scope: Any = source.scope
    return tuple(
        {"file": one.file, "source": one.source, "relation": one.relation, "target": one.target, "unknown": one.unknown}
        for one in scope.dropped[:_NAMED]
    )
