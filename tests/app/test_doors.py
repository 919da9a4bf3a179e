"""Every door refuses the same, each in its own words."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import pytest

import ir.errors
from ir import operations
from ir.app.fields import fields_of
from ir.app.operation import find_operation, names
from ir.app.problems import describe
from ir.app.session import Session
from ir.cli.main import run
from ir.errors import InvalidInput, IrError, Remedy

BAD = '{"a": {"$zz": 1}}'
#: An operation, wrong arguments, the same as a command, and what the refusal has to name.
WRONG: list[tuple[str, dict[str, Any], list[str], str]] = [
    ("search", {"query": "tea", "k": 0}, ["search", "CORPUS", "tea", "-k", "0"], "at least 1"),
    ("search", {"query": "tea", "k": -3}, ["search", "CORPUS", "tea", "--k=-3"], "at least 1"),
    ("search", {"query": "tea", "k": "ten"}, ["search", "CORPUS", "tea", "-k", "ten"], "'ten'"),
    ("search", {"query": "tea", "mode": "fuzzy"}, ["search", "CORPUS", "tea", "-m", "fuzzy"], "'lexical'"),
    ("search", {"query": "tea", "ranking": "prose"}, ["search", "CORPUS", "tea", "--ranking", "prose"], "'plain'"),
    ("search", {"query": " "}, ["search", "CORPUS", " "], "query is empty"),
    (
        "search",
        {"query": "tea", "filter": {"a": {"$zz": 1}}},
        ["search", "CORPUS", "tea", "--filter", '{"a":{"$zz":1}}'],
        "zz",
    ),
    ("discover", {"query": "tea", "rel": 2.0}, ["discover", "CORPUS", "tea", "--rel", "2"], "between 0 and 1"),
    ("discover", {"query": "tea", "strategy": "top"}, ["discover", "CORPUS", "tea", "-s", "top"], "'top_k'"),
    ("grep", {"pattern": "("}, ["grep", "CORPUS", "(", "-E"], "regular expression"),
    ("grep", {"pattern": "(a+)+$"}, ["grep", "CORPUS", "(a+)+$", "-E"], "for ever"),
    ("grep", {"pattern": "tea", "context": -1}, ["grep", "CORPUS", "tea", "--context=-1"], "at least 0"),
    ("get", {"items": ["../x"]}, ["get", "CORPUS", "../../../x"], "out of"),
    ("get", {"items": ["/etc/passwd"]}, ["get", "CORPUS", "/etc/passwd"], "/etc/passwd"),
    ("get", {"items": ["taa.md"]}, ["get", "CORPUS", "taa.md"], "tea.md"),
    ("get", {"items": ["tea.md:9000"]}, ["get", "CORPUS", "tea.md:9000"], "9000"),
    ("get", {"items": ["tea.md"], "max_tokens": 0}, ["get", "CORPUS", "tea.md", "--max-tokens", "0"], "at least 1"),
    ("similar", {}, ["similar", "CORPUS"], "text"),
    ("expand", {"item": "tea.md", "how": "all"}, ["expand", "CORPUS", "tea.md", "--how", "all"], "'window'"),
    (
        "ontology-query",
        {"semantic_query": "tea", "chunk_level": "page"},
        ["ontology-query", "CORPUS", "tea", "--chunk-level", "page"],
        "'method'",
    ),
    (
        "ontology-query",
        {"semantic_query": "tea", "link_depth": 2},
        ["ontology-query", "CORPUS", "tea", "--link-depth", "2"],
        "at most 1",
    ),
    (
        "ontology-query",
        {"semantic_query": "tea", "branch": "feature"},
        ["ontology-query", "CORPUS", "tea", "--branch", "feature"],
        "'main'",
    ),
    ("traverse", {"query": "tea", "max_depth": -1}, ["traverse", "CORPUS", "tea", "--depth=-1"], "at least 0"),
]


@pytest.mark.parametrize(("name", "arguments", "words", "named"), WRONG)
def test_what_is_wrong_is_wrong_at_every_door(
    name: str,
    arguments: dict[str, Any],
    words: list[str],
    named: str,
    corpus: str,
    session: Session,
    capsys: pytest.CaptureFixture[str],
) -> None:
    arguments = {**arguments, **({"regex": True} if name == "grep" and "context" not in arguments else {})}
    arguments["targets" if name == "discover" else "target"] = [corpus] if name == "discover" else corpus
    refusals = []
    for door in ("python", "mcp", "http"):
        with pytest.raises(InvalidInput) as refused:
            session.call(name, arguments, door=door)
        problem = describe(refused.value, door)
        refusals.append(problem.code)
        assert named in f"{problem.message} {problem.remedy}"
    with pytest.raises(InvalidInput):
        getattr(operations, name.replace("-", "_"))(**arguments)
    assert run([corpus if word == "CORPUS" else word for word in words]) == 2
    assert named in capsys.readouterr().err
    assert len(set(refusals)) == 1


def test_an_agent_that_asks_for_too_much_gets_the_most_and_a_note(corpus: str, session: Session) -> None:
    found = session.call("search", {"query": "tea", "target": corpus, "k": 5000}, door="mcp")
    assert "1000" in found.notes[0]
    with pytest.raises(InvalidInput, match="at most 1000"):
        session.call("search", {"query": "tea", "target": corpus, "k": 5000})
    got = session.call("get", {"items": ["tea.md"], "target": corpus, "max_tokens": 10**9}, door="mcp")
    assert "100000" in got.notes[0]


@pytest.mark.parametrize(
    "word", ["/", "..", "./notes", "~/x", "a/b", "a\\b", "postgresql://host/db", "nobody", "skills"]
)
def test_an_agent_reaches_only_what_the_user_has(word: str, corpus: str, notes: Path, session: Session) -> None:
    for name, arguments in (
        ("search", {"query": "tea", "target": word}),
        ("get", {"items": ["tea.md"], "target": word}),
        ("grep", {"pattern": "tea", "target": word}),
        ("refresh", {"target": word}),
        ("status", {"target": word}),
        ("info", {"target": word}),
        ("discover", {"query": "tea", "targets": [corpus, word]}),
    ):
        with pytest.raises(IrError) as refused:
            session.call(name, arguments, door="mcp", allow_indexing=True)
        assert refused.value.code in ("outside_corpus", "corpus_not_built")
    with pytest.raises(IrError):
        session.call("search", {"query": "tea", "target": str(notes)}, door="http")


def test_resources_of_other_corpora_and_what_is_not_indexed_are_refused(
    corpus: str, notes: Path, session: Session
) -> None:
    (notes / "secret.md").write_text("not indexed", "utf-8")
    (notes / "way-out.md").symlink_to("/etc/hostname")
    for item in ("ir://other/tea.md", "ir://a%2Fb/tea.md", "secret.md", "way-out.md", "sub/../../x", "..\\x", "a\x00b"):
        with pytest.raises(InvalidInput):
            session.call("get", {"items": [item], "target": corpus}, door="mcp")


def test_a_reading_operation_indexes_nothing(notes: Path, session: Session) -> None:
    with pytest.raises(ir.errors.CorpusNotBuilt):
        session.call("search", {"query": "tea", "target": str(notes)})
    assert session.call("ls", {}).corpora == ()
    built = session.call("search", {"query": "tea", "target": str(notes)}, allow_indexing=True)
    assert built.found
    assert built.stale is False


def _told() -> list[tuple[str, str, str]]:
    """Every message and remedy in the source, with something in place of what is filled in."""
    found = []
    for path in sorted(Path(ir.errors.__file__).parent.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                kind = getattr(ir.errors, node.func.id, None)
                if isinstance(kind, type) and issubclass(kind, IrError) and node.args:
                    remedy = next((one.value for one in node.keywords if one.arg == "remedy"), None)
                    found.append((node.func.id, _text(node.args[0]), _text(remedy)))
    return found


def _text(node: ast.AST | None) -> str:
    if isinstance(node, ast.JoinedStr):
        return "".join(str(one.value) if isinstance(one, ast.Constant) else "name" for one in node.values)
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def test_no_option_of_a_command_is_named_to_an_agent() -> None:
    told = _told()
    assert len(told) > 200
    for kind, message, remedy in told:
        if kind == "MissingExtra":
            continue
        problem = describe(getattr(ir.errors, kind)(message, remedy=remedy), "mcp")
        assert "--" not in problem.message.replace("-----", "") + problem.remedy, (message, remedy)


def test_a_remedy_may_be_worded_for_each_door() -> None:
    error = InvalidInput("No.", remedy=Remedy("ir build X", python="ir.build(X)", agent="Ask the user."))
    assert [describe(error, door).remedy for door in ("cli", "python", "mcp")] == [
        "ir build X",
        "ir.build(X)",
        "Ask the user.",
    ]
    assert str(error) == "No. ir build X"


def test_every_error_has_a_code_of_its_own() -> None:
    kinds = [one for one in vars(ir.errors).values() if isinstance(one, type) and issubclass(one, IrError)]
    codes = [kind.code for kind in kinds]
    assert len(set(codes)) == len(codes)
    assert ir.errors.CorpusNotBuilt.code == "corpus_not_built"


def test_errors_as_json_have_the_code(corpus: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["search", corpus, "tea", "-k", "0", "--json"]) == 2
    assert json.loads(capsys.readouterr().out)["error"]["code"] == "invalid_input"


@pytest.mark.parametrize("name", names())
def test_every_operation_says_what_it_is(name: str) -> None:
    found = find_operation(name)
    assert "cli" in found.doors
    assert found.effect in ("reads", "writes")
    assert found.scope in ("corpus", "workspace", "machine")
    assert all(field.arg.doc for field in fields_of(found.request).values())
    if "mcp" in found.doors:
        assert found.read_only or name == "refresh"


@pytest.mark.parametrize("name", names())
def test_every_operation_is_a_plain_function(name: str) -> None:
    called = getattr(operations, f"{name}_" if name == "import" else name.replace("-", "_"))
    with pytest.raises(InvalidInput, match="no_such_field"):
        called(no_such_field=1)
    assert find_operation(name).summary in called.__doc__
