"""Reading a folder of code as definitions and the links between them."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from ir.app.arguments import EMBEDDER, UPGRADE
from ir.app.building import build_target, upgraded
from ir.app.context import Context
from ir.app.embedders import embedder_for, fast_first
from ir.app.fields import Arg
from ir.app.operation import Value, operation
from ir.app.targets import Target, resolve
from ir.errors import InvalidInput

if TYPE_CHECKING:
    from ir.app.building import BuildResponse
    from ir.code.census import Census

__all__ = ["IngestRequest", "IngestResponse", "ingest"]

#: So many files are named for each reason.
_NAMED = 5


@dataclass(frozen=True)
class IngestRequest(Value):
    """``target`` is a folder of code, or a corpus that is made of one. ``records`` are files or folders of records
    that somebody wrote about it; they stay part of the corpus. ``branch`` is what its files are said to be of."""

    kind: Annotated[str, Arg("what is read", choices=("code",), metavar="code")]
    target: Annotated[str, Arg("a folder, or a corpus by name", blank=False, metavar="PATH|CORPUS")]
    records: Annotated[
        tuple[str, ...],
        Arg(
            "files or folders of records in YAML or JSON",
            metavar="PATH",
            help="A file or folder of records that somebody wrote, in YAML or JSON. Repeatable.",
        ),
    ] = ()
    branch: Annotated[
        str | None,
        Arg("the branch that the files are of, if not the one that is checked out", blank=False, metavar="NAME"),
    ] = None
    embedder: Annotated[str | None, EMBEDDER] = None
    upgrade: Annotated[bool | None, UPGRADE] = None


@dataclass(frozen=True)
class IngestResponse(Value):
    """What changed, counted in files, and what the corpus holds now.

    ``files`` are by language, ``definitions`` by type, ``links`` by type and by how they are known. ``calls`` is how
    many lead into the project, outside of it and nobody knows where, ``shares`` the same as shares. ``cut`` are files
    of code that were not parsed, by reason; ``partial`` those that were parsed in part, with the first line that could
    not be read; ``problems`` what is wrong with records, by file and line.
    """

    corpus: str
    branch: str
    added: int
    changed: int
    removed: int
    unchanged: int
    chunks: int
    embedded: int
    embedder: str | None
    seconds: float
    files: Mapping[str, int]
    definitions: Mapping[str, int]
    sections: int
    records: Mapping[str, int]
    links: Mapping[str, Mapping[str, int]]
    calls: Mapping[str, int]
    shares: Mapping[str, float]
    cut: tuple[dict[str, Any], ...] = ()
    partial: tuple[dict[str, Any], ...] = ()
    problems: tuple[dict[str, str], ...] = ()
    skipped: tuple[dict[str, str], ...] = ()
    failed: tuple[dict[str, str], ...] = ()
    notes: tuple[str, ...] = ()


@operation(
    "ingest", summary="Read a folder of code as definitions and the links between them", effect="writes", runs_long=True
)
def ingest(request: IngestRequest, ctx: Context) -> IngestResponse:
    from ir.code.census import census
    from ir.registry import source_from_entry

    began = time.perf_counter()
    target = _target(request.target)
    params = _params(target, request, ctx)
    source = source_from_entry(target.name, {"kind": "code", "params": params})
    first = fast_first(target, request.embedder, ctx)
    embedder = embedder_for(target, request.embedder, ctx) if first is None else None
    made = build_target(replace(target, params=params), source, embedder, ctx, first=first)
    if first is not None:
        made = upgraded(made, ctx, asked=request.upgrade)
    with ctx.store(target.name) as store:
        found = census(store)
    return _response(made, found, params["branch"], time.perf_counter() - began)


def _target(word: str) -> Target:
    """The folder that is meant; of a corpus that has a name, the one that it is made of."""
    from ir.registry import entered

    target = resolve(word)
    if target.path is not None:
        return replace(target, as_code=True)
    entry = entered().get(target.name, {})
    root = entry.get("params", {}).get("root")
    if entry.get("kind") not in ("files", "code") or not isinstance(root, str):
        raise InvalidInput(
            f"{target.name!r} is not made of a folder, so there is no code to read.",
            remedy="Name the folder: ir ingest code PATH",
        )
    return replace(target, path=Path(root), as_code=True)


def _params(target: Target, request: IngestRequest, ctx: Context) -> dict[str, Any]:
    """The parameters of the corpus; what was asked for once stays until something else is."""
    from ir.registry import existing_path

    params = target.recipe(ctx.settings)[1]
    if request.records:
        places = []
        for word in request.records:
            place = existing_path(word)
            if place is None:
                raise InvalidInput(f"There is no file or folder {word!r} of records.", remedy="Check the path.")
            places.append(str(place))
        params["records"] = places
    if request.branch is not None:
        params["branch"] = request.branch
    return params


def _response(made: BuildResponse, found: Census, branch: str, seconds: float) -> IngestResponse:
    names = ("project", "outside", "unresolved")
    return IngestResponse(
        corpus=made.corpus,
        branch=branch,
        added=made.added,
        changed=made.changed,
        removed=made.removed,
        unchanged=made.unchanged,
        chunks=made.records or 0,
        embedded=made.embedded or 0,
        embedder=made.embedder,
        seconds=round(seconds, 3),
        files=dict(found.files.most_common()),
        definitions=dict(found.definitions.most_common()),
        sections=found.sections,
        records=dict(found.records.most_common()),
        links={kind: dict(sorted(known.items())) for kind, known in sorted(found.links.items())},
        calls=dict(zip(names, found.calls, strict=True)),
        shares=found.shares(),
        cut=tuple(
            {"reason": why, "files": len(paths), "paths": sorted(paths)[:_NAMED]}
            for why, paths in sorted(found.cut.items(), key=lambda one: -len(one[1]))
        ),
        partial=tuple({"id": path, "line": line} for path, line in sorted(found.partial.items())),
        problems=tuple({"id": path, "reason": why} for path, why in found.problems),
        skipped=made.skipped,
        failed=made.failed,
        notes=made.notes,
    )
