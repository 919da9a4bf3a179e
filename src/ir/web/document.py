"""The OpenAPI document: what can be asked, in which form, and what may come back. The schemas of requests and responses
are those of the operations (:mod:`ir.app.schema`); nothing is said twice."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ir.app.operation import Operation
from ir.app.schema import outside_schema, response_schema
from ir.web.refusals import PROBLEM, TITLES, problem
from ir.web.work import JOB_SCHEMA

__all__ = [
    "ERRORS",
    "events_schema",
    "finished",
    "job_responses",
    "operation_body",
    "operation_responses",
    "plain_responses",
]

Doc = dict[str, Any]
Responses = dict[int | str, Doc]
#: What may come back from anywhere that asks who is there.
ERRORS = (401, 403, 404, 408, 413, 421, 429, 500, 503)
_WITH_BODY = (400, 405, 409, 422, 504)
_HEADERS: dict[int, Doc] = {
    401: {"WWW-Authenticate": {"schema": {"type": "string"}, "description": "How to be let in.", "required": True}},
    429: {"Retry-After": {"schema": {"type": "string"}, "description": "In how many seconds.", "required": True}},
    503: {"Retry-After": {"schema": {"type": "string"}, "description": "In how many seconds."}},
}
_PROBLEM: Doc = {
    "type": "object",
    "properties": {
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string", "description": "What happened, and to what."},
        "code": {"type": "string", "description": "What a program looks at."},
        "remedy": {"type": "string", "description": "What to do next."},
    },
    "required": ["title", "status", "detail", "code", "remedy"],
    "additionalProperties": False,
}
#: What a first question may look like; an operation that is not here shows what it needs.
_EXAMPLES: dict[str, Doc] = {
    "search": {"query": "how hot should the water be", "target": "notes", "k": 5},
    "discover": {"query": "how hot should the water be", "targets": ["notes"]},
    "get": {"items": ["tea.md"], "target": "notes"},
    "similar": {"item": "tea.md", "target": "notes"},
    "expand": {"item": "tea.md", "target": "notes"},
    "traverse": {"query": "brewing", "target": "notes", "max_depth": 2},
    "ask": {"question": "How hot should the water be?", "target": "notes"},
    "ontology-query": {"semantic_query": "what brews tea", "target": "notes"},
    "ground": {"phrases": ["green tea"]},
    "status": {"target": "notes"},
    "build": {"target": "notes"},
    "refresh": {"target": "notes"},
    "eval": {"corpus": "notes", "cases": "kitchen"},
    "eval-book": {"corpora": ["notes"], "cases": "kitchen"},
    "grep": {"pattern": "degrees", "target": "notes"},
    "info": {"target": "notes"},
    "ls": {},
    "neighbours": {"id": "tea.md", "target": "notes"},
    "census": {"target": "code"},
    "judge": {"set": "kitchen", "query": "how hot should the water be", "items": ["tea.md"]},
    "judged-sets": {"name": "kitchen"},
    "runs": {"corpus": "notes"},
    "compare": {"run_a": "20260101-a1", "run_b": "20260102-b2"},
    "symbol": {"symbol": "Kettle.boil", "target": "code"},
    "impact": {"symbol": "Kettle.boil", "target": "code"},
}
#: What comes while an answer is written.
_ANSWERING = ("search", "context", "generation", "token", "complete", "error")
_JOB: Doc = {
    "job": "build-1f0c",
    "kind": "build",
    "corpus": "notes",
    "state": "running",
    "stage": "embed",
    "done": 120,
    "total": 400,
    "seconds": 3.2,
    "seconds_left": 7.5,
    "began": 1780000000.0,
}


def operation_body(operation: Operation[Any, Any]) -> Doc:
    """The ``requestBody`` of an operation."""
    schema = _inner(outside_schema(operation))
    example = _EXAMPLES.get(operation.name) or _needed(schema)
    required = bool(schema.get("required"))
    return {"required": required, "content": {"application/json": {"schema": schema, "example": example}}}


def operation_responses(operation: Operation[Any, Any]) -> Responses:
    """What an operation that is answered at once may send."""
    content: Doc = {"application/json": {"schema": _inner(response_schema(operation))}}
    if operation.name == "ask":
        content["text/event-stream"] = {"schema": events_schema(_ANSWERING)}
    answer = {"description": operation.response.__name__, "content": content}
    return {200: answer, **refusals((*ERRORS, *_WITH_BODY))}


def job_responses(status: int) -> Responses:
    """What comes back where a job is begun, shown or stopped."""
    answer: Doc = {
        "description": "The job.",
        "content": {"application/json": {"schema": JOB_SCHEMA, "example": _JOB}},
    }
    if status == 202:
        answer["headers"] = {"Location": {"schema": {"type": "string"}, "description": "Where to ask for the job."}}
    more = (*ERRORS, *_WITH_BODY) if status == 202 else (*ERRORS, 400, 405)
    return {status: answer, **refusals(more)}


def events_schema(kinds: Iterable[str]) -> Doc:
    """One of the events that come: its kind, and JSON."""
    return {
        "type": "object",
        "properties": {
            "event": {"type": "string", "enum": list(kinds)},
            "data": {"type": "string", "contentMediaType": "application/json"},
        },
    }


def plain_responses(schema: Doc, kind: str = "application/json", *, guarded: bool = True) -> Responses:
    """What comes back from a route that is no operation."""
    answer = {"description": "What was asked for.", "content": {kind: {"schema": schema}}}
    return {200: answer, **refusals((*ERRORS, 400, 405) if guarded else (400, 403, 405, 408, 413, 421, 500, 503))}


def refusals(statuses: Iterable[int]) -> Responses:
    found: Responses = {}
    for status in sorted(statuses):
        example = problem(status, "the_code", "What happened.", "What to do next.")
        found[status] = {
            "description": f"{TITLES[status]}.",
            "content": {PROBLEM: {"schema": {"$ref": "#/components/schemas/Problem"}, "example": example}},
        }
        if status in _HEADERS:
            found[status]["headers"] = _HEADERS[status]
    return found


def finished(document: Doc, *, needs_token: bool) -> Doc:
    """The document with what all parts of it share."""
    components = document.setdefault("components", {})
    components.setdefault("schemas", {})["Problem"] = _PROBLEM
    if needs_token:
        components["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        for path, methods in document["paths"].items():
            if path.startswith(("/v1/", "/metrics")):
                for told in methods.values():
                    told["security"] = [{"token": []}]
    return document


def _inner(schema: Doc) -> Doc:
    return {name: value for name, value in schema.items() if name != "$schema"}


def _needed(schema: Doc) -> Doc:
    return {name: _sample(schema["properties"][name]) for name in schema.get("required", ())}


def _sample(schema: Doc) -> Any:
    if "enum" in schema:
        return schema["enum"][0]
    kind = schema.get("type")
    kind = kind[0] if isinstance(kind, list) else kind
    if kind is None and "anyOf" in schema:
        return _sample(schema["anyOf"][0])
    samples: Doc = {"array": [], "object": {}, "integer": schema.get("minimum", 1), "boolean": False}
    return samples.get(str(kind), "kettle")
