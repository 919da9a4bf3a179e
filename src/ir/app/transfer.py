"""Carrying a corpus to another machine: out to one file, and in from one."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from ir.app.arguments import REPLACE, TARGET
from ir.app.context import Context
from ir.app.fields import Arg
from ir.app.operation import Value, operation
from ir.app.targets import is_built, resolve
from ir.config.keys import names_server
from ir.errors import InvalidInput

__all__ = ["ExportRequest", "ExportResponse", "ImportRequest", "ImportResponse", "export", "import_corpus"]


@dataclass(frozen=True)
class ExportRequest(Value):
    """``replace`` allows a file that exists to be written over."""

    target: Annotated[str, TARGET]
    file: Annotated[str, Arg("the file to write", blank=False, metavar="FILE")]
    replace: Annotated[bool, REPLACE] = False


@dataclass(frozen=True)
class ExportResponse(Value):
    corpus: str
    file: str
    bytes: int
    records: int
    artifacts: int


@operation("export", summary="Write a corpus to one portable file", effect="writes", runs_long=True)
def export(request: ExportRequest, ctx: Context) -> ExportResponse:
    from ir.index import open_store
    from ir.portable import export_corpus

    target = resolve(request.target)
    file = Path(request.file).expanduser()
    if file.is_dir():
        raise InvalidInput(f"{file} is a folder.", remedy=f"Name a file, for instance: {file / target.name}.ir")
    if file.is_file() and not request.replace:
        raise InvalidInput(f"{file} exists already.", remedy="Choose another name, or replace it with --force.")
    target.require_built()
    with open_store(target.name) as store:
        done = export_corpus(store, file, progress=ctx.progress)
    return ExportResponse(target.name, str(file), file.stat().st_size, done.records, done.artifacts)


@dataclass(frozen=True)
class ImportRequest(Value):
    """``name`` is the new name of the corpus; ``None`` keeps the one in the file."""

    file: Annotated[str, Arg("a file that ir export wrote", blank=False, metavar="FILE")]
    name: Annotated[str | None, Arg("another name for the corpus", blank=False, metavar="NAME")] = None
    replace: Annotated[bool, Arg("replace a corpus that has this name", flag="--force", short="-f")] = False


@dataclass(frozen=True)
class ImportResponse(Value):
    """``embedder`` is what made the corpus's vectors and what will be asked for those of queries."""

    corpus: str
    file: str
    records: int
    artifacts: int
    embedder: str | None = None


@operation(
    "import", summary="Take in a corpus from a portable file", effect="writes", runs_long=True, scope="workspace"
)
def import_corpus(request: ImportRequest, ctx: Context) -> ImportResponse:
    from ir.portable import import_corpus as fill
    from ir.registry import check_name

    file = Path(request.file).expanduser()
    name = check_name(_name_in(file) if request.name is None else request.name)
    if is_built(name) and not request.replace:
        raise InvalidInput(
            f"There is a corpus named {name!r} already.",
            remedy="Give this one another name with --name, or replace that one with --force.",
        )
    with ctx.store(name) as store:
        done = fill(file, store, replace=request.replace, name=name, progress=ctx.progress)
        embedder = store.get_config().get("embedder")
    if embedder and names_server(embedder):
        ctx.note(
            f"Searches of {name!r} send the query to the server of the embedder {embedder!r}, as the file has it. "
            f"To keep queries here: ir search {name} QUERY --mode lexical"
        )
    return ImportResponse(name, str(file), done.records, done.artifacts, embedder)


def _name_in(file: Path) -> str:
    """The name of the corpus in a portable file."""
    from ir.portable import peek

    return peek(file).name
