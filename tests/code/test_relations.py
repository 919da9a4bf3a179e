"""Who calls, implements, tests and is affected by a definition: tiers, names, reasons, in every store and at every door."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
from tests.code.conftest import Project

import ir
from ir import operations
from ir.app.documents import tokens_of
from ir.cli.main import run
from ir.code.definitions import Definition
from ir.code.relations import Relations, Walked
from ir.code.strategy import Code
from ir.errors import InvalidInput
from ir.serve.budget import cost
from ir.serve.service import Service
from ir.serve.tasks import Caller, Task
from ir.sources import CorpusSource

pytest.importorskip("tree_sitter_python")

PROGRAM = {
    "shapes.py": """
        class Shape:
            def area(self):
                return 0

            def twice(self):
                return 2 * self.area()


        class Square(Shape):
            def __init__(self, side):
                self.side = side

            def area(self):
                return self.side ** 2


        class Unit(Square):
            def __init__(self):
                super().__init__(1)


        def total(shapes):
            \"\"\"The area of all shapes.\"\"\"
            return sum(shape.area() for shape in shapes)


        def lonely():
            return 1
    """,
    "report.py": """
        from shapes import Square, total


        def report():
            return total([Square(1), Square(2)])


        def by_name(thing):
            return thing.twice()


        def later():
            return [report]
    """,
    "other.py": """
        class Page:
            def twice(self):
                return self


        def turn():
            return Page().twice()
    """,
    "tests/test_shapes.py": """
        from report import report
        from shapes import total


        def test_total():
            assert total([]) == 0


        def test_report():
            assert report() == 5
    """,
    "notes.txt": "Shapes have areas.\n",
}
Make = Callable[[Mapping[str, str]], Project]


def ask(project: Project, relation: str, word: str, depth: int = 1, guesses: int = 100) -> list[str]:
    """What is related, as ``name link resolution depth``; a star before tests."""
    with project.store.snapshot() as snapshot:
        relations = Relations(project.store, snapshot)
        chosen = relations.definitions.find(word, types_first=relation == "implementations").chosen
        assert chosen, word
        walked = relations.of(relation, chosen, depth, guesses)
        return [
            f"{'*' if one.is_test else ''}{one.definition.name} {one.type} {one.resolution} {one.depth}"
            for one in relations.shown(walked.links)
        ]


def test_callers_come_in_tiers_and_what_is_known_to_mean_another_is_none(project: Make) -> None:
    made = project(PROGRAM)
    assert ask(made, "callers", "total") == ["report calls exact 1", "*test_total calls exact 1"]
    # turn calls the method of another type, which is known; by_name may call either.
    assert ask(made, "callers", "Shape.twice") == ["by_name calls name-only 1"]
    known, guessed = ask(made, "callers", "Page.twice")
    assert known in ("turn calls exact 1", "turn calls inferred 1")
    assert guessed == "by_name calls name-only 1"
    assert ask(made, "callers", "report.py::report") == ["*test_report calls exact 1", "later references name-only 1"]


def test_a_type_is_called_where_one_is_made(project: Make) -> None:
    made = project(PROGRAM)
    assert ask(made, "callers", "Square")[:2] == ["report calls exact 1", "Unit.__init__ calls exact 1"]


def test_guesses_are_never_stored(project: Make) -> None:
    made = project(PROGRAM)
    before = made.store.content_version
    ask(made, "callers", "Shape.twice")
    assert made.store.content_version == before
    assert not [edge for edge in made.edges() if edge[3].get("resolution") == "name-only"]


def test_callees_cite_the_definition_and_guess_methods_alone(project: Make) -> None:
    made = project(PROGRAM)
    assert ask(made, "callees", "report.py::report")[0] == "total calls exact 1"
    assert ask(made, "callees", "by_name") == ["Page.twice calls name-only 1", "Shape.twice calls name-only 1"]
    with made.store.snapshot() as snapshot:
        relations = Relations(made.store, snapshot)
        walked = relations.callees(relations.definitions.find("report.py::report").chosen)
        total = relations.shown(walked.links)[0]
        assert (total.definition.path, total.line) == ("shapes.py", total.definition.line)


def test_what_inherits_is_found_however_far_below_and_methods_that_stand_in(project: Make) -> None:
    made = project(PROGRAM)
    assert ask(made, "implementations", "Shape", 10) == ["Square inherits exact 1", "Unit inherits exact 2"]
    assert ask(made, "implementations", "Shape", 1) == ["Square inherits exact 1"]
    assert ask(made, "implementations", "Shape.area", 10) == ["Square.area overrides exact 1"]


def test_a_type_with_all_the_methods_is_a_guess_at_an_implementation(project: Make) -> None:
    made = project(
        {
            "a.py": """
                class Store:
                    def load(self, key): ...
                    def save(self, key, value): ...
                class Half:
                    def load(self, key): ...
                class FileStore:
                    def load(self, key): ...
                    def save(self, key, value): ...
                class _Saving:
                    def save(self, key, value): ...
                class Split(_Saving):
                    def load(self, key): ...
            """
        }
    )
    assert ask(made, "implementations", "Store", 10) == [
        "FileStore inherits name-only 1",
        "Split inherits name-only 1",
    ]
    assert ask(made, "implementations", "Store", 10, guesses=0) == []


def test_tests_are_those_that_call_it_and_further_away_those_that_reach_it(project: Make) -> None:
    made = project(PROGRAM)
    assert ask(made, "tests", "total") == ["*test_total calls exact 1"]
    assert ask(made, "tests", "total", 2) == ["*test_total calls exact 1", "*test_report calls exact 2"]


def test_impact_goes_on_step_by_step_and_tells_overriding_methods(project: Make) -> None:
    made = project(PROGRAM)
    found = ask(made, "impact", "total", 2)
    assert found[:2] == ["report calls exact 1", "*test_total calls exact 1"]
    assert "*test_report calls exact 2" in found
    assert "Square.area overrides exact 1" in ask(made, "impact", "Shape.area")


def test_a_circle_is_walked_once(project: Make) -> None:
    made = project({"a.py": "def a():\n    b()\n\n\ndef b():\n    c()\n\n\ndef c():\n    a()\n    c()\n"})
    assert ask(made, "impact", "a", 10) == ["c calls exact 1", "b calls exact 2"]
    assert ask(made, "callers", "c", 10) == ["b calls exact 1", "c calls exact 1", "a calls exact 2"]
    cycle = project({"a.py": "class A(B): ...\n\n\nclass B(A): ...\n"})
    assert len(ask(cycle, "implementations", "A", 10)) <= 2


def test_walks_are_those_of_the_graph(project: Make) -> None:
    """Random programs; the layers of callers and callees against a plain walk."""
    draw = random.Random(5)
    for _ in range(3):
        names = [f"f{number}" for number in range(12)]
        calls = {name: sorted({draw.choice(names) for _ in range(draw.randrange(4))}) for name in names}
        text = "\n\n".join(
            f"def {name}():\n" + "".join(f"    {to}()\n" for to in calls[name]) + "    return" for name in names
        )
        made = project({"a.py": text})
        back = {name: [one for one in names if name in calls[one]] for name in names}
        for name in names:
            for depth in (1, 2, 5):
                assert layers(made, "callers", name, depth) == layered(back, name, depth)
                assert layers(made, "callees", name, depth) == layered(calls, name, depth)


def layers(made: Project, relation: str, name: str, depth: int) -> dict[str, int]:
    return {one.split()[0]: int(one.split()[-1]) for one in ask(made, relation, name, depth, guesses=0)}


def layered(edges: Mapping[str, list[str]], name: str, depth: int) -> dict[str, int]:
    found: dict[str, int] = {}
    layer = [name]
    for level in range(1, depth + 1):
        layer = sorted({to for one in layer for to in edges[one] if to not in found and (level == 1 or to != name)})
        found |= dict.fromkeys(layer, level)
    return found


@pytest.mark.parametrize(
    ("word", "name"),
    [
        ("total", "total"),
        ("total()", "total"),
        ("Square.area", "Square.area"),
        ("Square::area", "Square.area"),
        ("Square#area", "Square.area"),
        ("shapes.py::Square.area", "Square.area"),
        ("shapes.py::Square", "Square"),
        ("shapes.py:13", "Square.area"),
        ("shapes.py:13-14", "Square.area"),
        ("shapes.py", "shapes"),
        ("shapes", "shapes"),
        ("report", "report"),
        ("shapes.total", "total"),
        ("test_shapes.py::test_total", "test_total"),
        ("python shapes.py/Square#area().", "Square.area"),
    ],
)
def test_a_definition_has_many_names(project: Make, word: str, name: str) -> None:
    made = project(PROGRAM)
    with made.store.snapshot() as snapshot:
        found = Relations(made.store, snapshot).definitions.find(word).chosen
    assert [one.name for one in found] == [name]


@pytest.mark.parametrize(
    "word",
    [
        "\0",
        "../../etc/passwd:1",
        "/etc/passwd",
        "::",
        ":",
        "a" * 2000,
        "'; DROP TABLE symbols; --",
        "((((",
        "a\nb",
        "ä.ö",
        "💥",
        "-k",
    ],
)
def test_hostile_names_stand_for_nothing(project: Make, word: str) -> None:
    made = project(PROGRAM)
    with made.store.snapshot() as snapshot:
        assert Relations(made.store, snapshot).definitions.find(word).chosen == ()


LANGUAGES = {
    "a/shape.js": "export class Shape {\n  area() { return 0; }\n}\nexport function total(list) {\n  return list.map(one => one.area());\n}\n",
    "a/use.ts": "import { Shape, total } from './shape.js';\nclass Disc extends Shape {}\nexport function run() { return total([new Disc()]); }\n",
    "b/Tea.java": "package shop;\npublic interface Tea { int steep(); int steep(int minutes); }\n",
    "b/Green.java": "package shop;\npublic class Green implements Tea {\n  public int steep() { return steep(3); }\n"
    "  public int steep(int minutes) { return minutes; }\n}\n",
    "b/Shop.java": "package shop;\npublic class Shop {\n  int serve(Tea tea) { return tea.steep(); }\n}\n",
    "c/Cup.cs": "namespace Shop { interface ICup { int Fill(); } class Mug : ICup { public int Fill() { return Pour(); } int Pour() { return 1; } } }\n",
    "d/go.mod": "module example.com/d\n",
    "d/pot.go": "package d\n\ntype Pot struct{}\n\nfunc (p *Pot) Boil() int { return heat() }\n\nfunc heat() int { return 1 }\n\n"
    "type Boiler interface { Boil() int }\n",
    "d/pot_test.go": 'package d\n\nimport "testing"\n\nfunc TestBoil(t *testing.T) { p := &Pot{}; p.Boil() }\n',
    "e/lib.rs": "pub struct Jug;\npub trait Hold { fn hold(&self) -> i32; }\nimpl Hold for Jug { fn hold(&self) -> i32 { rim() } }\n"
    "fn rim() -> i32 { 1 }\nimpl Jug { pub fn new() -> Self { Jug } }\nfn go() { let jug = Jug::new(); jug.hold(); }\n",
}


def test_every_language_has_relations(project: Make) -> None:
    for package in ("javascript", "typescript", "java", "c_sharp", "go", "rust"):
        pytest.importorskip(f"tree_sitter_{package}")
    made = project(LANGUAGES)
    for relation, word, found in (
        ("callers", "total", "run"),
        ("callers", "Shape.area", "total"),
        ("implementations", "Shape", "Disc"),
        ("callers", "Tea.steep", "Shop.serve"),
        ("implementations", "Tea", "Green"),
        ("implementations", "ICup", "Mug"),
        ("callers", "Mug.Pour", "Mug.Fill"),
        ("callers", "heat", "Pot.Boil"),
        ("tests", "Pot.Boil", "*TestBoil"),
        ("implementations", "Boiler", "Pot"),
        ("callers", "Jug::new", "go"),
        ("callers", "Jug.hold", "go"),
        ("implementations", "Hold", "Jug"),
    ):
        assert ask(made, relation, word, 2)[0].split()[0] == found, (relation, word)


def test_a_deleted_definition_leaves_its_callers_by_name_alone(project: Make) -> None:
    made = project(PROGRAM)
    made.files["shapes.py"] = made.files["shapes.py"].replace("def total(", "def overall(")
    made.build()
    with made.store.snapshot() as snapshot:
        relations = Relations(made.store, snapshot)
        assert relations.definitions.find("total").chosen == ()
        assert relations.files_using("total") == ["report.py", "tests/test_shapes.py"]
        gone = Definition("python shapes.py/total().", "function", "total", "shapes.py", 1, 2)
        walked: Walked = relations.impact([gone])
        assert {(link.key.rpartition("/")[2], link.resolution) for link in walked.links} == {
            ("report().", "name-only"),
            ("test_total().", "name-only"),
        }
    assert ask(made, "callers", "overall") == []


# -- at every door -----------------------------------------------------------------------------------------------------


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """The program as the corpus `program`."""
    folder = tmp_path / "program"
    for path, text in PROGRAM.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(dedent(text).lstrip("\n"), "utf-8")
    built(folder)
    return folder


def built(folder: Path, name: str = "program") -> None:
    source = CorpusSource.from_files(folder, name=name, pattern=None, strategy=Code(), embedder="light")
    ir.build(source).store.close()


@pytest.fixture(autouse=True)
def nothing_stays_open(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("IR_EMBEDDER", "light")
    yield
    operations.close()


class Agent:
    def __init__(self) -> None:
        self.service = Service(watching=False)

    def call(self, **arguments: Any) -> tuple[str, dict[str, Any]]:
        params = {"name": "symbol", "arguments": {"corpus": "program", **arguments}}
        result = self.service.answer(Task("tools/call", params, Caller()))["result"]
        return result["content"][0]["text"], result["structuredContent"]


@pytest.fixture
def agent() -> Iterator[Agent]:
    made = Agent()
    yield made
    made.service.stop()


@pytest.mark.parametrize(
    ("command", "word"),
    [
        ("callers", "total"),
        ("callees", "report.py::report"),
        ("implementations", "Shape"),
        ("tests-of", "total"),
        ("impact", "total"),
    ],
)
def test_every_door_gives_the_same_answer(
    program: Path, agent: Agent, capsys: pytest.CaptureFixture[str], command: str, word: str
) -> None:
    told = getattr(operations, command.replace("-", "_"))(symbol=word, target="program").to_dict()
    assert run([command, "program", word, "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert {**printed, "stale": None, "notes": []} == {**json.loads(json.dumps(told)), "stale": None, "notes": []}
    assert run([command, "program", word]) == 0
    lines = capsys.readouterr().out.splitlines()
    places = [f"{one['path']}:{one['line']}" for one in (*told["found"], *told["tests"])]
    assert [line.partition(": ")[0] for line in lines] == places
    text, structured = agent.call(symbol=word, relation=command.removesuffix("-of"))
    assert [one["at"] for one in (*structured["results"], *structured.get("tests", ()))] == places
    assert all(place in text for place in places)


def test_symbol_tells_all_in_one_answer(program: Path, agent: Agent, capsys: pytest.CaptureFixture[str]) -> None:
    told = operations.symbol(symbol="total", target="program")
    assert told.definition.signature == "def total(shapes)"
    assert told.definition.doc == "The area of all shapes."
    assert "return sum(" in told.text
    assert told.callers == ("report.py:5 report (exact)",)
    assert told.tests == ("tests/test_shapes.py:6 test_total (exact)",)
    text, structured = agent.call(symbol="total")
    for part in ("shapes.py:22-24", "return sum(", "report.py:5 report (exact)", "test_total"):
        assert part in text
        assert part in json.dumps(structured)
    assert run(["symbol", "program", "total"]) == 0
    assert "report.py:5 report (exact)" in capsys.readouterr().out


def test_an_unknown_name_is_told_with_those_like_it(
    program: Path, agent: Agent, capsys: pytest.CaptureFixture[str]
) -> None:
    told = operations.callers(symbol="totl", target="program")
    assert (told.reason, told.near, told.found) == ("unknown_name", ("total",), ())
    assert operations.symbol(symbol="totl", target="program").reason == "unknown_name"
    assert operations.callers(symbol="shapes.py::Sqare", target="program").near[0] == "Square"
    text, structured = agent.call(symbol="totl", relation="callers")
    assert (structured["reason"], structured["near"], structured["results"]) == ("unknown_name", ["total"], [])
    assert "total" in text
    assert run(["callers", "program", "totl"]) == 1
    assert "Did you mean total?" in capsys.readouterr().err


def test_what_is_known_and_unused_says_so(program: Path) -> None:
    told = operations.callers(symbol="lonely", target="program")
    assert told.reason == "unused"
    assert "lonely is defined in shapes.py:27" in told.why
    assert operations.tests_of(symbol="lonely", target="program").reason == "unused"


def test_a_name_that_is_used_and_not_defined_says_where(program: Path) -> None:
    told = operations.callers(symbol="sum", target="program")
    assert told.reason == "unknown_name"
    assert "used in shapes.py" in told.why


def test_a_file_that_is_not_code_says_so(program: Path, tmp_path: Path) -> None:
    assert operations.callers(symbol="notes.txt:1", target="program").reason == "not_parsed"
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "a.md").write_text("# Tea\n")
    built(notes, "notes")
    assert operations.callers(symbol="total", target="notes").reason == "no_code"


def test_a_tier_that_is_too_sure_says_what_there_is(program: Path) -> None:
    assert not operations.callers(symbol="Page.twice", target="program", resolution="unique-name").reason
    (program / "dynamic.py").write_text("class Odd:\n    def get(self): ...\n\n\ndef use(one):\n    return one.get()\n")
    built(program)
    told = operations.callers(symbol="Odd.get", target="program")
    assert [(one.name, one.resolution) for one in told.found] == [("use", "name-only")]
    none = operations.callers(symbol="Odd.get", target="program", resolution="exact")
    assert (none.reason, none.found, dict(none.counts)) == ("filtered", (), {"name-only": 1})
    with pytest.raises(InvalidInput, match="unique-name"):
        operations.callers(symbol="total", target="program", resolution="sure")


def test_an_index_that_is_behind_its_files_says_so(program: Path) -> None:
    ir.register("program", "files", root=str(program), all_text=True, embedder="light")
    (program / "more.py").write_text("from shapes import lonely\n\n\ndef friend():\n    return lonely()\n")
    told = operations.callers(symbol="lonely", target="program")
    assert (told.reason, told.stale) == ("stale", True)
    assert "behind the files" in told.why
    assert operations.callers(symbol="friend", target="program").reason == "stale"


def test_of_several_definitions_one_is_answered_for_and_the_others_are_told(
    program: Path, agent: Agent, capsys: pytest.CaptureFixture[str]
) -> None:
    told = operations.callers(symbol="twice", target="program")
    assert [one.name for one in told.definitions] == ["Page.twice"]  # it has a caller
    other = told.others[0]
    assert (other.key, other.path, other.line, other.signature) == (
        "python shapes.py/Shape#twice().",
        "shapes.py",
        5,
        "def twice(self)",
    )
    text, structured = agent.call(symbol="twice", relation="callers")
    assert "shapes.py:5 method Shape.twice" in structured["others"][0]
    assert "shapes.py:5 method Shape.twice" in text
    run(["callers", "program", "twice"])
    assert "also shapes.py:5: method Shape.twice" in capsys.readouterr().err


def test_how_far_to_go_has_bounds(program: Path, agent: Agent) -> None:
    for depth in (0, 11, "2", True):
        with pytest.raises(InvalidInput, match="depth must be"):
            operations.impact(symbol="total", target="program", depth=depth)
    near = operations.impact(symbol="total", target="program", depth=1)
    assert {one.depth for one in (*near.found, *near.tests)} == {1}
    _, structured = agent.call(symbol="total", relation="impact", depth=99)
    assert "10" in structured["notes"][0]
    with pytest.raises(InvalidInput, match="not both"):
        operations.impact(symbol="total", diff="HEAD", target="program")
    with pytest.raises(InvalidInput, match="a symbol, or a git revision"):
        operations.impact(target="program")


@pytest.mark.slow
def test_five_thousand_callers_stay_within_the_budget(tmp_path: Path, agent: Agent) -> None:
    folder = tmp_path / "many"
    folder.mkdir()
    (folder / "core.py").write_text("def core():\n    return 1\n")
    for number in range(50):
        calls = "\n\n".join(f"def caller_{number}_{one}():\n    return core()" for one in range(100))
        (folder / f"user{number:02}.py").write_text(f"from core import core\n\n\n{calls}\n")
    built(folder)
    told = operations.callers(symbol="core", target="program")
    assert (told.total, told.counts, told.next_skip) == (5000, {"exact": 5000}, 20)
    assert operations.symbol(symbol="core", target="program").tokens <= 2000
    for tokens in (300, 1000, 2000):
        for arguments in ({"relation": "callers", "k": 100}, {"relation": "impact", "k": 100}, {}):
            text, structured = agent.call(symbol="core", max_tokens=tokens, **arguments)
            assert tokens_of(text) <= tokens
            assert cost(structured) <= tokens
    seen: list[str] = []
    cursor: dict[str, Any] = {}
    for _ in range(3):
        text, structured = agent.call(symbol="core", relation="callers", k=50, **cursor)
        seen += [one["at"] for one in structured["results"]]
        cursor = {"cursor": structured["next"]}
        assert structured["next"] in text
    assert len(seen) == len(set(seen)) >= 100
