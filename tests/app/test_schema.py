"""Schemas come from the fields, and real responses are what they say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.extras import needs

import ir
from ir.app.operation import find_operation, names
from ir.app.schema import request_schema, response_schema
from ir.app.session import Session
from ir.code.strategy import Code
from ir.sources import CorpusSource

CASES = '{"query": "green tea", "gold": ["tea.md"]}\n{"query": "rest dough", "gold": ["sub/bread.md"]}\n'
PLAN = """
[gate]
questions = "questions.jsonl"
qrels = "gold.qrels"
[configurations.proposed]
[configurations.fallback]
operation = "keyword-search"
"""


@pytest.mark.parametrize("name", names())
def test_both_schemas_are_valid(name: str) -> None:
    needs("jsonschema")
    from jsonschema import Draft202012Validator

    found = find_operation(name)
    for schema in (request_schema(found), response_schema(found)):
        Draft202012Validator.check_schema(schema)
        json.dumps(schema)
    asked = request_schema(found)
    assert asked["additionalProperties"] is False
    assert all(one.get("description") for one in asked["properties"].values())


def test_a_request_schema_says_what_the_check_says() -> None:
    needs("jsonschema")
    from jsonschema import Draft202012Validator

    check = Draft202012Validator(request_schema(find_operation("search")))
    assert check.is_valid({"query": "tea", "k": 5, "target": ["a", "b"], "mode": None})
    for wrong in ({}, {"query": "tea", "k": 0}, {"query": "tea", "k": "x"}, {"query": " "}, {"query": "t", "zz": 1}):
        assert not check.is_valid(wrong)


def _calls(corpus: str, folder: Path) -> list[tuple[str, dict[str, Any]]]:
    return [
        ("search", {"query": "green tea", "target": corpus, "explain": True}),
        ("search", {"query": "green tea", "target": [corpus, "second"]}),
        ("discover", {"query": "green tea", "targets": [corpus]}),
        ("discover", {"query": "zebra stripes", "targets": [corpus]}),
        ("get", {"items": ["tea.md", "long.md"], "target": corpus, "max_tokens": 200}),
        ("grep", {"pattern": "tea", "target": corpus, "context": 1}),
        ("similar", {"item": "tea.md", "target": corpus}),
        ("expand", {"item": "tea.md:3", "target": corpus}),
        ("traverse", {"query": "tea", "target": corpus}),
        ("ontology-query", {"semantic_query": "green tea", "target": corpus, "follow_links": True}),
        ("calibrate-saturation", {"corpus": corpus, "forget": True}),
        ("status", {"check": True}),
        ("refresh", {"target": corpus}),
        ("ls", {}),
        ("info", {"target": corpus}),
        ("build", {"target": corpus}),
        ("build", {"target": corpus, "dry_run": True}),
        ("coverage", {"target": corpus}),
        ("graph", {"corpus": corpus}),
        ("ask", {"question": "How hot is green tea?", "target": corpus}),
        ("doctor", {}),
        ("config", {}),
        ("models", {}),
        ("policy", {"corpus": corpus}),
        ("schedule", {}),
        ("space", {"action": "ls", "target": corpus}),
        ("keyword-search", {"query": "green tea", "target": corpus}),
        ("keyword", {"action": "status", "target": corpus}),
        ("gate", {"file": str(folder / "plan.toml"), "target": corpus}),
        ("maintain", {"dry_run": True}),
        ("gc", {"dry_run": True}),
        ("judge", {"set": "tea", "query": "green tea", "items": ["tea.md"], "grade": 2, "corpus": corpus}),
        ("judge", {"set": "tea", "query": "trains", "nothing": True, "note": "not here"}),
        ("judge", {"set": "tea", "query": "black tea", "items": ["sub/bread.md"], "grade": 0}),
        ("judged-sets", {}),
        ("judged-sets", {"name": "tea"}),
        ("eval", {"corpus": corpus, "cases": str(folder / "cases.jsonl")}),
        ("eval", {"corpus": corpus, "cases": "tea", "save": True, "label": "first"}),
        ("eval-book", {"corpora": [corpus], "cases": "tea", "expand_gold": True, "graph_report": True}),
        ("runs", {}),
        ("eval-select", {"corpus": corpus, "cases": str(folder / "cases.jsonl")}),
        ("sweep-select", {"corpus": corpus, "cases": str(folder / "cases.jsonl")}),
        ("eval-gen", {"target": corpus, "file": str(folder / "more.jsonl"), "llm": False}),
        ("calibrate-min-score", {"corpus": corpus, "probes": True, "dry_run": True}),
        ("calibrate-min-score", {"corpus": corpus, "forget": True}),
        ("tune", {"corpus": corpus, "forget": True}),
        ("export", {"target": corpus, "file": str(folder / "out.zip")}),
        ("import", {"file": str(folder / "out.zip"), "name": "third"}),
        ("copy", {"source": corpus, "target": "fourth"}),
        ("vocab-build", {"name": "words", "files": [str(folder / "terms.csv")], "embedders": ["none"]}),
        ("vocab-info", {"verify": True}),
        ("vocab-lint", {"name": "words"}),
        ("workspace-create", {"name": "team-a", "records": 10, "disk": "1GB", "requests": 5}),
        ("workspace-quota", {"name": "team-a", "records": 20}),
        ("token-create", {"name": "ci", "workspace": "team-a", "corpora": ["notes"], "expires": "1d"}),
        ("tokens", {}),
        ("token-revoke", {"token": "ci"}),
        ("workspaces", {}),
        ("workspace-rm", {"name": "team-a", "dry_run": True}),
        ("ground", {"phrases": ["teas"], "explain": True, "schema": True}),
        ("vocab-eval", {"name": "words", "compare": True}),
        ("register", {"name": "named", "path": str(folder)}),
        ("ingest", {"kind": "code", "target": "named", "embedder": "light"}),
        ("ingest-book", {"paths": [str(folder / "book.md")], "embedder": "light"}),
        ("rm", {"corpus": "third"}),
        ("prune", {"dry_run": True}),
        ("install", {"dry_run": True}),
        ("neighbours", {"id": "tea.py", "target": "program"}),
        ("census", {"target": "program"}),
        *((name, {"symbol": "steep", "target": "program"}) for name in RELATIONS),
        ("callers", {"symbol": "stepe", "target": "program"}),
        ("symbol", {"symbol": "stepe", "target": corpus}),
    ]


RELATIONS = ("symbol", "callers", "callees", "implementations", "tests-of", "impact")
PROGRAM = {
    "tea.py": "def steep():\n    return pour()\n\n\ndef pour():\n    return steep()\n",
    "tests/test_tea.py": "from tea import steep\n\n\ndef test_steep():\n    steep()\n",
}


#: Those that need a server, a run or two, or somebody to end them.
NOT_CALLED = {"migrate", "compare", "forget-run", "watch", "upgrade"}


def test_real_responses_are_what_their_schemas_say(corpus: str, notes: Path, tmp_path: Path, session: Session) -> None:
    needs("jsonschema")
    from jsonschema import Draft202012Validator

    (tmp_path / "cases.jsonl").write_text(CASES, "utf-8")
    (tmp_path / "terms.csv").write_text('tea,drink,5,"sencha,cha"\nbread,food,3,"loaf"\n', "utf-8")
    (tmp_path / "plan.toml").write_text(PLAN, "utf-8")
    (tmp_path / "book.md").write_text("# Tea\n\n## Green\nSteep it, see Black.\n", "utf-8")
    (tmp_path / "questions.jsonl").write_text('{"id": "q", "query": "green tea"}', "utf-8")
    (tmp_path / "gold.qrels").write_text("q 0 tea.md 1", "utf-8")
    session.call("register", {"name": "second", "path": str(notes / "sub")})
    session.call("build", {"target": "second", "embedder": "light"})
    program = CorpusSource.from_mapping(PROGRAM, name="program", strategy=Code(), embedder="light")
    ir.build(program).store.close()
    calls = _calls(corpus, tmp_path)
    assert {name for name, _ in calls} | NOT_CALLED == set(names())
    for name, arguments in calls:
        response = session.call(name, arguments).to_dict()
        check = Draft202012Validator(response_schema(find_operation(name)))
        problems = [
            f"{name} {'/'.join(map(str, one.path))}: {one.message[:200]}" for one in check.iter_errors(response)
        ]
        assert not problems
