"""``ir callers``, ``ir callees``, ``ir implementations``, ``ir tests-of``, ``ir impact`` and ``ir symbol``."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ir.cli.arguments import SEARCHING, Command, Json, Refresh, complete_corpus_or_path
from ir.cli.fields import derived
from ir.cli.location import link_to, place_of
from ir.cli.visible import visible

if TYPE_CHECKING:
    from ir.app.related import Candidate, RelatedPlace
    from ir.app.relations import RelationsResponse
    from ir.app.symbols import SymbolResponse
    from ir.cli.output import Output

__all__ = ["register"]

Asked = Annotated[
    list[str], typer.Argument(metavar="[CORPUS|PATH] SYMBOL", autocompletion=complete_corpus_or_path, hidden=True)
]
Changed = Annotated[
    list[str] | None,
    typer.Argument(metavar="[CORPUS|PATH] [SYMBOL]", autocompletion=complete_corpus_or_path, hidden=True),
]


class _WithDiff(Command):
    """A command whose ``--diff`` may stand without a revision: then it is the last commit that is compared with."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        words: list[str] = []
        for number, word in enumerate(args):
            words.append(word)
            following = args[number + 1 : number + 2]
            if word == "--diff" and (not following or following[0].startswith("-")):
                words.append("HEAD")
        return super().parse_args(ctx, words)


def register(app: typer.Typer) -> None:
    for name, command, request in (
        ("callers", callers, "relations:CallersRequest"),
        ("callees", callees, "relations:CalleesRequest"),
        ("implementations", implementations, "relations:ImplementationsRequest"),
        ("tests-of", checks, "relations:TestsOfRequest"),
        ("impact", impact, "relations:ImpactRequest"),
        ("symbol", symbol, "symbols:SymbolRequest"),
    ):
        made = derived(command, f"ir.app.{request}", without=("symbol", "target"))
        kind = _WithDiff if name == "impact" else Command
        app.command(name, cls=kind, rich_help_panel=SEARCHING)(made)


def callers(asked: Asked, *, refresh: Refresh = None, as_json: Json = False, **given: Any) -> int:
    """Show what calls a function, method or type.

    SYMBOL is a name, Class.method, path::name, path:line or a symbolKey. Answers come in tiers: exact, inferred and
    unique-name are links; name-only are places that use the name, where nobody can tell what it stands for.
    """
    return _asked("callers", asked, refresh, as_json, given)


def callees(asked: Asked, *, refresh: Refresh = None, as_json: Json = False, **given: Any) -> int:
    """Show what a function, method or type calls."""
    return _asked("callees", asked, refresh, as_json, given)


def implementations(asked: Asked, *, refresh: Refresh = None, as_json: Json = False, **given: Any) -> int:
    """Show what inherits from a type or implements it, or which methods override one.

    name-only are types that have all its methods and do not say so.
    """
    return _asked("implementations", asked, refresh, as_json, given)


def checks(asked: Asked, *, refresh: Refresh = None, as_json: Json = False, **given: Any) -> int:
    """Show which tests call a function, method or type.

    With --depth 2 and more, also the tests that reach it through others.
    """
    return _asked("tests_of", asked, refresh, as_json, given)


def impact(asked: Changed = None, *, refresh: Refresh = None, as_json: Json = False, **given: Any) -> int:
    """Show what may have to change with a symbol, step by step, and the tests affected.

    --diff is about all definitions that differ from a git revision instead: the last commit, if none is named.
    """
    from ir.app.policy import Policy
    from ir.app.relations import ImpactRequest
    from ir.app.relations import impact as operation
    from ir.cli.searching import target_and_query
    from ir.cli.session import perform
    from ir.errors import InvalidInput

    words = asked or []
    if given.get("diff") is not None:
        if len(words) > 1:
            raise InvalidInput("Say what changes: a symbol or --diff, and not both.")
        request = ImpactRequest(target=words[0] if words else ".", **given)
    elif words:
        target, word = target_and_query(words, "impact")
        request = ImpactRequest(symbol=word, target=target, **given)
    else:
        raise InvalidInput("Say what changes: a symbol, or --diff for what differs from the last commit.")
    response = perform(operation, request, show, as_json=as_json, policy=Policy(refresh))
    return 0 if response.found or response.tests else 1


def symbol(asked: Asked, *, refresh: Refresh = None, as_json: Json = False, **given: Any) -> int:
    """Show a definition with its text, its callers and its tests in one answer."""
    from ir.app.policy import Policy
    from ir.app.symbols import SymbolRequest
    from ir.app.symbols import symbol as operation
    from ir.cli.searching import target_and_query
    from ir.cli.session import perform

    target, word = target_and_query(asked, "symbol")
    request = SymbolRequest(symbol=word, target=target, **given)
    response = perform(operation, request, show_symbol, as_json=as_json, policy=Policy(refresh))
    return 0 if response.definition is not None else 1


def _asked(name: str, asked: list[str], refresh: bool | None, as_json: bool, given: dict[str, Any]) -> int:
    from ir.app import relations
    from ir.app.policy import Policy
    from ir.cli.searching import target_and_query
    from ir.cli.session import perform

    operation = getattr(relations, name)
    target, word = target_and_query(asked, name.replace("_", "-"))
    request = operation.request(symbol=word, target=target, **given)
    response: RelationsResponse = perform(operation, request, show, as_json=as_json, policy=Policy(refresh))
    return 0 if response.found else 1


def show(response: RelationsResponse, output: Output) -> None:
    """A table for a person, places in a pipe; what there is to say beside it goes to stderr."""
    pointer = _pointer(response.root)
    if output.pretty and response.definitions:
        for one in response.definitions[:5]:
            output.line(f"{_defined(one, pointer)}", style="bold")
    _show_places(response.found, pointer, output)
    if response.tests:
        if output.pretty:
            output.line("Affected tests" if response.relation == "impact" else "Tests", style="bold")
        _show_places(response.tests, pointer, output)
    _say(_beside(response, pointer))


def _show_places(places: Iterable[RelatedPlace], pointer: Callable[[str], str | None], output: Output) -> None:
    rows = list(places)
    deep = any(one.depth > 1 for one in rows)
    if output.pretty and rows:
        columns = ("where", "what", "link", "known", *(("depth",) if deep else ()))
        cells = [
            (_at(one, pointer), one.name, one.link, one.resolution, *((one.depth,) if deep else ())) for one in rows
        ]
        output.table(columns, cells, right=("depth",))
        return
    for one in rows:
        about = ", ".join([one.link, one.resolution, *([f"depth {one.depth}"] if one.depth > 1 else [])])
        output.line(f"{_at(one, pointer)}: {one.name} ({about})")


def show_symbol(response: SymbolResponse, output: Output) -> None:
    pointer = _pointer(response.root)
    one = response.definition
    if one is not None:
        if output.pretty:
            from rich.text import Text

            place = place_of(one.path, pointer(one.path), one.line)
            told = Text.assemble((place, f"cyan{link_to(pointer(one.path))}"), f" {one.kind} ", (one.name, "bold"))
            output.console.print(told, soft_wrap=True)
        else:
            output.line(_defined(one, pointer))
        for line in response.text.split("\n"):
            output.line(f"    {line}")
        for title in ("callers", "tests", "callees", "implementations"):
            places = getattr(response, title)
            if places:
                total = response.totals.get(title, len(places))
                output.line(f"{title} ({len(places)} of {total}):" if total > len(places) else f"{title}:")
                for place in places:
                    output.line(f"  {place}")
        if response.others:
            output.line("others of this name:")
            for other in response.others:
                output.line(f"  {other}")
    said = [f"{response.why} {_similar(response.near)}".strip()] if response.reason else []
    if response.more:
        said.append(f"the rest of its text: ir get {response.corpus} {response.more}")
    _say([*said, *response.notes])


def _beside(response: RelationsResponse, pointer: Callable[[str], str | None]) -> list[str]:
    said = [note.replace("skip=", "--skip ").replace("depth=1", "--depth 1") for note in response.notes]
    if response.reason:
        said.insert(0, f"{response.why} {_similar(response.near)}".strip())
    said += [f"  also {_defined(one, pointer)}" for one in response.others]
    if response.total_others > len(response.others):
        said.append(f"  and {response.total_others - len(response.others):,} more")
    return said


def _similar(near: tuple[str, ...]) -> str:
    return f"Did you mean {', '.join(near)}?" if near else ""


def _say(sentences: Iterable[str]) -> None:
    for sentence in sentences:
        print(visible(f"ir: {sentence}"), file=sys.stderr)


def _defined(one: Candidate, pointer: Callable[[str], str | None]) -> str:
    told = f"{place_of(one.path, pointer(one.path), one.line)}: {one.kind} {one.name}"
    return f"{told} [{one.change}]" if one.change else told


def _at(one: RelatedPlace, pointer: Callable[[str], str | None]) -> str:
    return place_of(one.path, pointer(one.path), one.line)


def _pointer(root: str | None) -> Callable[[str], str | None]:
    """What makes a place to open of a path of the corpus."""
    base = None if root is None else Path(root)
    if base is None:
        return lambda path: path
    if base.is_file():
        return lambda path: str(base)
    return lambda path: str(base / path)
