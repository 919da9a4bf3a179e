"""Asking judged questions in several configurations, and whether the proposed one is good enough to ship."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

from ir.app.context import Context
from ir.app.fields import Arg, fields_of
from ir.app.judged import new_file
from ir.app.operation import Value, find_operation, names, operation
from ir.errors import InvalidInput, IrError, MissingExtra

if TYPE_CHECKING:
    from ir.app.session import Session
    from ir.eval.gate import Answered, GateReport
    from ir.eval.gate_plan import Configuration, GatePlan, Question, Way

__all__ = ["GateRequest", "GateResponse", "gate"]

#: Settings that only choose among what the user has set up; of the others, a plan may say what a project's file may.
_CHOOSING = frozenset({"retrieval.keyword_backend", "retrieval.reranker"})
#: How requests call what was asked, and how many results they take.
_QUERY_FIELDS = ("query", "semantic_query")
_COUNT_FIELDS = ("k", "top_k")
#: Asked first in every configuration, so that no question waits for a model to be loaded.
_WARMING = "a first question that is not counted"
_WORD = re.compile(r"[\w$]+")


@dataclass(frozen=True)
class GateRequest(Value):
    """``file`` is the plan, in TOML or YAML. ``report`` is written as Markdown, ``plot`` as a PNG."""

    file: Annotated[str, Arg("questions, judgements and configurations, as TOML or YAML", blank=False, metavar="PLAN")]
    target: Annotated[
        str | None, Arg("the corpus to ask, if other than the plan says", blank=False, metavar="[CORPUS|PATH]")
    ] = None
    report: Annotated[str | None, Arg("write the report here, as Markdown", blank=False, metavar="FILE")] = None
    plot: Annotated[str | None, Arg("draw the figures here, as PNG", blank=False, metavar="FILE")] = None
    title: Annotated[str, Arg("the title of the report", blank=False, metavar="TEXT")] = "Gate"
    about: Annotated[str, Arg("what the report should say at its beginning", metavar="TEXT")] = ""


@dataclass(frozen=True)
class GateResponse(Value):
    """``report`` says what was measured and what that means: ``ship``, ``fallback`` or ``block``."""

    corpus: str
    report: GateReport
    written: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @classmethod
    def json_schema(cls) -> dict[str, Any]:
        from ir.app.schema import OPEN, object_of, schema_of

        texts, many = schema_of(tuple[str, ...]), {"type": "array", "items": dict(OPEN)}
        report = object_of(
            {
                "verdict": {"enum": ["ship", "fallback", "block"]},
                "exit_code": schema_of(int),
                "why": schema_of(str),
                "criteria": many,
                "fallback": many,
                "scores": many,
                "comparisons": dict(OPEN),
                "agreement": {"type": "object", "additionalProperties": {"type": "number"}},
                "k": schema_of(int),
                "monthly_searches": schema_of(int),
            }
        )
        return object_of({"corpus": schema_of(str), "report": report, "written": texts, "notes": texts})


@operation(
    "gate",
    summary="Measure configurations on judged questions, and say whether the proposed one may ship",
    effect="writes",
    runs_long=True,
)
def gate(request: GateRequest, ctx: Context) -> GateResponse:
    from ir.eval.gate import judge
    from ir.eval.gate_plan import read_plan
    from ir.index import Progress

    plan = read_plan(request.file)
    page, picture = (None if path is None else new_file(path) for path in (request.report, request.plot))
    target = request.target or plan.corpus
    if target is None:
        raise InvalidInput(
            f"{request.file} names no corpus.", remedy="Name one after the plan, or as corpus in its [gate]."
        )
    corpus = ctx.target(target)
    corpus.require_built()
    notes = tuple(_unasked(plan))
    for configuration in plan.configurations:
        _check(configuration, request.file)
    answered: dict[str, list[Answered]] = {}
    for number, configuration in enumerate(plan.configurations):
        ctx.progress(Progress("gate", number, len(plan.configurations)))
        answered[configuration.name] = list(_run(configuration, plan, corpus.name, request.file, ctx))
    ctx.progress(Progress("gate", len(plan.configurations), len(plan.configurations)))
    report = judge(plan, answered)
    return GateResponse(corpus.name, report, tuple(_write(report, page, picture, request)), notes)


def _unasked(plan: GatePlan) -> Iterator[str]:
    silent = [one.id for one in plan.questions if not any(plan.qrels.get(one.id, {}).values())]
    if len(silent) == len(plan.questions):
        raise InvalidInput(
            "No question has a relevant document in the judgements.", remedy="Check that both use the same ids."
        )
    if silent:
        yield f"{len(silent)} questions have no relevant document and are not asked: {', '.join(silent[:10])}"


def _check(configuration: Configuration, file: str) -> None:
    """Find a wrong operation, option or setting before anything is measured."""
    from ir.config.keys import key_named
    from ir.eval.gate_plan import OWN

    where = f"{file}: {configuration.name}"
    for name, value in configuration.settings.items():
        key = key_named(name, where)
        if name not in _CHOOSING and not key.safe_from_project(value):
            raise InvalidInput(
                f"{where}: a plan may not set {name}, which decides where texts and keys are sent.",
                remedy=f"Set it for yourself with: ir config set {name} VALUE",
            )
        key.check(value, where)
    for way in (configuration.way, *configuration.ways.values()):
        if way.operation == OWN:
            continue
        if way.operation not in names():
            raise InvalidInput(
                f"{where}: there is no operation {way.operation!r}.", remedy=f"There are: {', '.join(names())}, {OWN}."
            )
        known = fields_of(find_operation(way.operation).request)
        if not any(name in known for name in (*_QUERY_FIELDS, "symbol")):
            raise InvalidInput(f"{where}: the operation {way.operation!r} takes no question.")
        unknown = set(way.options) - known.keys()
        if unknown:
            raise InvalidInput(
                f"{where}: {way.operation!r} has no option {min(unknown)!r}.", remedy=f"It has: {', '.join(known)}."
            )


def _run(configuration: Configuration, plan: GatePlan, corpus: str, file: str, ctx: Context) -> Iterator[Answered]:
    from ir.app.session import Session
    from ir.config.settings import settings_for_now
    from ir.eval.gate_plan import Question

    where = f"{file}: {configuration.name}"
    with settings_for_now(configuration.settings, where) as settings, Session(settings) as own:
        _answer(own, configuration, Question("", _WARMING), plan, corpus)
        for question in plan.questions:
            ctx.check()
            if any(plan.qrels.get(question.id, {}).values()):
                yield _answer(own, configuration, question, plan, corpus)


def _answer(
    session: Session, configuration: Configuration, question: Question, plan: GatePlan, corpus: str
) -> Answered:
    from ir.eval.gate import Answered
    from ir.rerank.costs import SPENT

    way = configuration.way_for(question)
    spent, began = SPENT.usd, perf_counter()
    try:
        response = session.call(way.operation, _arguments(way, question, plan.depth, corpus))
    except IrError as error:
        took = (perf_counter() - began) * 1e3
        return Answered(question, (), took, SPENT.usd - spent, (), f"{way.operation}: {error}")
    took = (perf_counter() - began) * 1e3
    told = response.to_dict()
    meta = told.get("_meta") or told.get("meta") or {}
    documents = _documents(told, plan.qrels.get(question.id, {}))
    return Answered(question, documents[: plan.k], took, SPENT.usd - spent, tuple(meta.get("degraded") or ()))


def _arguments(way: Way, question: Question, depth: int, corpus: str) -> dict[str, Any]:
    known = fields_of(find_operation(way.operation).request)
    given: dict[str, Any] = {"target": corpus}
    given |= {name: question.query for name in _QUERY_FIELDS if name in known}
    given |= {name: depth for name in _COUNT_FIELDS if name in known}
    if "symbol" in known and question.symbols:
        given["symbol"] = question.symbols[0]
    return {**given, **way.options}


def _documents(told: Mapping[str, Any], judged: Mapping[str, float]) -> tuple[str, ...]:
    """The documents of a response, best first and each once, by the names that the judgements know.

    A chunk that holds several judged definitions stands for all of them.
    """
    rows: Sequence[Mapping[str, Any]] = [*(told.get("results") or told.get("found") or ()), *(told.get("tests") or ())]
    documents: dict[str, None] = {}
    for row in rows:
        called = list(_names(row))
        documents |= dict.fromkeys([name for name in called if name in judged] or called[:1])
    return tuple(documents)


def _names(row: Mapping[str, Any]) -> Iterator[str]:
    """What a result may be called: the definitions in it, the artifact, the file."""
    places = [str(row[key]) for key in ("artifact_id", "path") if row.get(key)]
    metadata = row.get("metadata") or {}
    if row.get("name"):
        yield from (f"{place}::{row['name']}" for place in places)
    for about in (row, metadata):
        keys = [about.get("symbolKey"), *(about.get("symbolKeys") or ())]
        yield from (name for key in keys if key for name in _defined(str(key), places))
    yield from places
    yield str(row.get("chunkId") or row.get("key") or "")


def _defined(key: str, places: Sequence[str]) -> Iterator[str]:
    """``path::name`` of a key such as ``python src/app.py/App#run().``"""
    where = key.partition(" ")[2]
    for place in places:
        if where.startswith(f"{place}/"):
            yield f"{place}::{'.'.join(_WORD.findall(where[len(place) + 1 :]))}"


def _write(report: GateReport, page: Path | None, picture: Path | None, request: GateRequest) -> Iterator[str]:
    from ir.eval.gate_report import gate_markdown, plot_gate

    if picture is not None:
        try:
            plot_gate(report, picture)
        except ImportError:
            raise MissingExtra("matplotlib", "eval", "Drawing plots") from None
        yield str(picture)
    if page is not None:
        from ir.eval.files import write_lines

        shown = None if picture is None else _relative(picture, page)
        write_lines(page, gate_markdown(report, title=request.title, about=request.about, picture=shown).splitlines())
        yield str(page)


def _relative(picture: Path, page: Path) -> str:
    try:
        return picture.resolve().relative_to(page.parent.resolve()).as_posix()
    except ValueError:
        return picture.resolve().as_uri()
