"""What an operation is: a typed function of a request, known by name to every door."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, Self, TypeVar, get_type_hints

from ir import telemetry
from ir.app.fields import check, from_data
from ir.base import json_clean
from ir.options import choice

if TYPE_CHECKING:
    from ir.app.context import Context

__all__ = ["DOORS", "Operation", "Value", "find_operation", "given", "names", "operation", "operations"]

#: Through what an operation can be called from outside; Python always can.
DOORS = ("cli", "mcp", "http")
Effect = Literal["reads", "writes"]
Scope = Literal["corpus", "workspace", "machine"]


class Value:
    """A request or a response: a frozen dataclass that is plain JSON to the outside."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    def to_dict(self) -> dict[str, Any]:
        """The fields in JSON's types only."""
        return {item.name: json_clean(getattr(self, item.name)) for item in fields(self)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """A value from JSON; a field that is unknown, missing or not what it should be is an error that names it."""
        return from_data(cls, data)


def given(**options: Any) -> dict[str, Any]:
    """The options that were given: those that are not ``None``, so that the library's defaults hold for the others.

    >>> given(k=5, mode=None)
    {'k': 5}
    """
    return {name: value for name, value in options.items() if value is not None}


Request = TypeVar("Request", bound=Value)
Response = TypeVar("Response", bound=Value)


@dataclass(frozen=True)
class Operation(Generic[Request, Response]):
    """One thing a user can do. Calling it checks the request, wherever that was made, and runs it.

    ``effect`` says whether it changes anything that a user made, ``runs_long`` that it may take minutes. ``doors`` are
    those that offer it. ``scope`` is what it is about: one corpus or several that are named, all of a workspace, or
    this machine. ``precheck`` finds what is wrong with a request before anything is done for it.
    """

    name: str
    summary: str
    request: type[Request]
    response: type[Response]
    run: Callable[[Request, Context], Response]
    effect: Effect = "writes"
    runs_long: bool = False
    doors: frozenset[str] = frozenset({"cli"})
    scope: Scope = "corpus"
    precheck: Callable[[Request, Context], None] | None = None

    @property
    def read_only(self) -> bool:
        return self.effect == "reads"

    def __call__(self, request: Request, ctx: Context | None = None) -> Response:
        if ctx is None:
            from ir.app.context import Context

            ctx = Context()
        if not telemetry.is_on():
            return self._answer(request, ctx)
        with telemetry.request(self.name, door=ctx.door, query=_query_of(request)):
            return self._answer(request, ctx)

    def check(self, request: Request, ctx: Context) -> Request:
        """The request, once its fields are found right, and what it would send texts to is the user's choice."""
        checked = check(request)
        if ctx.for_agent:
            from ir.app.servers import check_servers

            check_servers(checked, ctx)
        return checked

    def _answer(self, request: Request, ctx: Context) -> Response:
        return self.run(self.check(request, ctx), ctx)


def _query_of(request: Value) -> str | None:
    """What was asked, by whatever name a request has it."""
    asked = (getattr(request, name, None) for name in ("query", "semantic_query", "question", "phrase"))
    return next((text for text in asked if isinstance(text, str)), None)


#: The module of this package that defines each operation, so that whoever wants one loads one.
_HOMES = {
    "ask": "asking",
    "build": "building",
    "calibrate-min-score": "calibrating",
    "calibrate-saturation": "ontology",
    "callees": "relations",
    "callers": "relations",
    "census": "census",
    "compare": "comparing",
    "config": "settings",
    "copy": "storing",
    "coverage": "maintaining",
    "discover": "discovering",
    "doctor": "doctor",
    "eval": "evaluating",
    "eval-book": "book_evaluating",
    "eval-gen": "casewriting",
    "eval-select": "selecting",
    "expand": "expanding",
    "export": "transfer",
    "forget-run": "runs",
    "gc": "cleaning",
    "get": "getting",
    "gate": "gate",
    "graph": "graphing",
    "grep": "grepping",
    "impact": "relations",
    "implementations": "relations",
    "ground": "vocabularies",
    "import": "transfer",
    "info": "corpora",
    "ingest": "ingesting",
    "ingest-book": "ingesting_books",
    "install": "installing",
    "judge": "judging",
    "judged-sets": "judging",
    "keyword": "keywords",
    "keyword-search": "keywords",
    "ls": "corpora",
    "maintain": "maintaining",
    "migrate": "storing",
    "models": "models",
    "neighbours": "neighbours",
    "ontology-query": "ontology",
    "policy": "scheduling",
    "prune": "pruning",
    "refresh": "refreshing",
    "register": "registering",
    "rm": "registering",
    "runs": "runs",
    "schedule": "scheduling",
    "search": "searching",
    "similar": "similarity",
    "space": "spaces",
    "status": "status",
    "sweep-select": "selecting",
    "symbol": "symbols",
    "tests-of": "relations",
    "token-create": "tokens",
    "token-revoke": "tokens",
    "tokens": "tokens",
    "traverse": "traversing",
    "tune": "tuning",
    "upgrade": "upgrading",
    "vocab-build": "vocabularies",
    "vocab-eval": "vocabularies",
    "vocab-info": "vocabularies",
    "vocab-lint": "vocabularies",
    "watch": "watching",
    "workspace-create": "workspaces",
    "workspace-quota": "workspaces",
    "workspace-rm": "workspaces",
    "workspaces": "workspaces",
}
_KNOWN: dict[str, Operation[Any, Any]] = {}


def operation(
    name: str,
    *,
    summary: str,
    effect: Effect = "writes",
    runs_long: bool = False,
    doors: Iterable[str] = ("cli",),
    scope: Scope = "corpus",
    precheck: Callable[[Any, Context], None] | None = None,
) -> Callable[[Callable[[Request, Context], Response]], Operation[Request, Response]]:
    """Make a function the operation ``name``; its request and response types are read from its annotations."""

    def enrol(function: Callable[[Request, Context], Response]) -> Operation[Request, Response]:
        from ir.app.context import Context

        hints = get_type_hints(function, localns={"Context": Context})
        offered = frozenset(choice("door", door, DOORS) for door in doors)
        shapes = hints["request"], hints["return"]
        made = Operation(name, summary, *shapes, function, effect, runs_long, offered, scope, precheck)
        _KNOWN[name] = made
        return made

    return enrol


def names() -> tuple[str, ...]:
    """The names of all operations; none is loaded for it."""
    return tuple(_HOMES)


def operations() -> dict[str, Operation[Any, Any]]:
    """Every operation by name."""
    return {name: find_operation(name) for name in _HOMES}


def find_operation(name: str) -> Operation[Any, Any]:
    """The operation of that name; an unknown one is an error that lists them."""
    found = _KNOWN.get(name)
    if found is None:
        import_module(f"ir.app.{_HOMES[choice('operation', name, _HOMES)]}")
        found = _KNOWN[name]
    return found
