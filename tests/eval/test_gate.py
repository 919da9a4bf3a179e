"""The gate: questions asked in several configurations, and a verdict that a release can rest on."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.extras import needs
from tests.models.serving import serving

import ir
from ir.app.session import Session
from ir.cli.main import run
from ir.errors import InvalidInput
from ir.eval.agreement import kappa
from ir.eval.gate import Answered, judge
from ir.eval.gate_plan import Configuration, Criteria, GatePlan, Question, Way, read_plan
from ir.eval.gate_report import gate_markdown

NOTES = {
    "tea.md": "# Tea\n\nGreen tea is steeped in hot water for two minutes.",
    "bread.md": "# Bread\n\nDough is kneaded and then baked in an oven.",
    "boat.md": "# Boat\n\nA boat floats because it displaces water.",
    "clock.md": "# Clock\n\nA pendulum swings to tell the time.",
}
QUESTIONS = [
    {"id": "q1", "query": "How is green tea steeped?"},
    {"id": "q2", "query": "What is done with dough in the oven?"},
    {"id": "q3", "query": "Why does a boat float?", "kind": "plain"},
    {"id": "r1", "query": "pendulum", "shape": "relationship"},
    {"id": "silent", "query": "nothing answers this"},
]
QRELS = "q1 0 tea.md 2\nq2 0 bread.md 2\nq2 0 tea.md 1\nq3 0 boat.md 2\nr1 0 clock.md 2\nr1 0 tea.md 1\n"
PLAN = """
[gate]
questions = "questions.jsonl"
qrels = "gold.qrels"
recall_grades = { relationship = 2 }
[criteria]
p95_ms = "off"
[configurations.baseline]
options = { mode = "dense" }
[configurations.proposed]
options = { mode = "lexical" }
[configurations.fallback]
operation = "keyword_search"
keyword_backend = "embedded"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    needs("ir_measures", "scipy")
    (tmp_path / "notes").mkdir()
    for name, text in NOTES.items():
        (tmp_path / "notes" / name).write_text(text, "utf-8")
    (tmp_path / "questions.jsonl").write_text("\n".join(map(json.dumps, QUESTIONS)), "utf-8")
    (tmp_path / "gold.qrels").write_text(QRELS, "utf-8")
    (tmp_path / "plan.toml").write_text(PLAN, "utf-8")
    with Session() as session:
        session.call("register", {"name": "notes", "path": str(tmp_path / "notes")})
        session.call("build", {"target": "notes", "embedder": "light"})
    return tmp_path


def gated(folder: Path, plan: str | None = None, **given: Any) -> Any:
    if plan is not None:
        (folder / "plan.toml").write_text(plan, "utf-8")
    with Session() as session:
        return session.call("gate", {"file": str(folder / "plan.toml"), "target": "notes", **given})


def test_configurations_are_asked_every_question_and_the_proposed_one_ships(folder: Path) -> None:
    response = gated(folder)
    report = response.report
    assert (report.verdict, report.exit_code) == ("ship", 0)
    assert [one.name for one in report.scores] == ["baseline", "proposed", "fallback"]
    proposed = report.scores[1]
    assert proposed.shapes["concept"].questions == 3
    assert proposed.shapes["concept"].ndcg > 0.9
    assert proposed.shapes["relationship"].recall == 1
    assert proposed.shapes["concept"].p50_ms > 0
    assert report.comparisons["fallback"]["concept"].measure == "ndcg@10"
    assert "silent" in response.notes[0]
    json.dumps(response.to_dict())


def test_the_report_is_written_with_its_picture(folder: Path) -> None:
    needs("matplotlib")
    gated(folder, report=str(folder / "out" / "gate.md"), plot=str(folder / "out" / "gate.png"), title="Our gate")
    page = (folder / "out" / "gate.md").read_text("utf-8")
    assert page.startswith("# Our gate\n\n**Verdict: ship** (exit code 0).")
    for told in ("(gate.png)", "| concept nDCG@10 | ≥ 0.8 |", "## Is it luck?", "p95 ms", "4 roll to the fallback"):
        assert told in page
    assert (folder / "out" / "gate.png").read_bytes().startswith(b"\x89PNG")


def test_the_command_ends_with_the_code_of_the_verdict(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["gate", str(folder / "plan.toml"), "notes"]) == 0
    assert "verdict: ship" in capsys.readouterr().out
    text = PLAN.replace('p95_ms = "off"', "p95_ms = 0.000001")
    (folder / "plan.toml").write_text(text, "utf-8")
    assert run(["gate", str(folder / "plan.toml"), "notes", "--json"]) == 5
    told = json.loads(capsys.readouterr().out)
    assert told["report"]["verdict"] == "block"
    (folder / "plan.toml").write_text(text.replace("p95_ms = 0.000001", 'p95_ms = "off"\nmargin = 0'), "utf-8")
    worse = (folder / "plan.toml").read_text("utf-8").replace('{ mode = "lexical" }', '{ mode = "lexical", k = 1 }')
    nothing = worse.replace("k = 1", 'words = "pendulum"')
    (folder / "plan.toml").write_text(nothing, "utf-8")
    assert run(["gate", str(folder / "plan.toml"), "notes"]) == 4
    assert "roll to the fallback" in capsys.readouterr().out
    assert run(["gate", str(folder / "plan.toml")]) == 2
    assert "names no corpus" in capsys.readouterr().err


def test_a_plan_may_be_yaml_and_name_its_corpus(folder: Path) -> None:
    plan = {
        "gate": {"questions": ["questions.jsonl"], "qrels": "gold.qrels", "corpus": "notes", "k": 5, "depth": 7},
        "configurations": {"mine": {"role": "proposed", "operation": "keyword-search"}},
    }
    (folder / "plan.yaml").write_text(json.dumps(plan), "utf-8")
    found = read_plan(folder / "plan.yaml")
    assert (found.corpus, found.k, found.depth) == ("notes", 5, 7)
    assert found.named("proposed") == Configuration("mine", "proposed", Way("keyword-search"))
    with Session() as session:
        report = session.call("gate", {"file": str(folder / "plan.yaml")}).report
    assert report.scores[0].shapes["concept"].ndcg > 0.9


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (("[gate]", "[gates]"), "'gates'"),
        (("[gate]", "[gate]\nquestion = 'x'"), "'question'"),
        (('questions = "questions.jsonl"', ""), "needs questions"),
        (('questions = "questions.jsonl"', 'questions = "none.jsonl"'), "none.jsonl cannot be read"),
        (("[configurations.proposed]", "[configurations.mine]"), "no proposed configuration"),
        (('p95_ms = "off"', 'p95 = "off"'), "p95_ms"),
        (('p95_ms = "off"', 'p95_ms = "low"'), "a number of at least 0 or 'off'"),
        (('operation = "keyword_search"', 'operation = "guess"'), "no operation 'guess'"),
        (('operation = "keyword_search"', 'operation = "ls"'), "takes no question"),
        (('mode = "dense"', 'moods = "dense"'), "no option 'moods'"),
        (('keyword_backend = "embedded"', 'keyword_backend = "lucene"'), "'embedded'"),
        (('keyword_backend = "embedded"', 'settings = { "k" = "ten" }'), "k must be"),
        (('keyword_backend = "embedded"', 'settings.rerank.base_url = "http://evil"'), "may not set rerank.base_url"),
        (('keyword_backend = "embedded"', 'settings = { "embedder" = "openai:x" }'), "may not set embedder"),
        (("relationship = 2", "relations = 2"), "'relationship'"),
        (("[configurations.baseline]", "[configurations.baseline]\nrole = 'proposed'"), "more than one"),
        (("[gate]", "[gate"), "not valid TOML"),
    ],
)
def test_what_is_wrong_with_a_plan_is_said_before_anything_is_asked(
    folder: Path, change: tuple[str, str], told: str
) -> None:
    with pytest.raises(InvalidInput) as caught:
        gated(folder, PLAN.replace(*change))
    assert told in str(caught.value)


def test_a_question_that_an_operation_cannot_answer_counts_as_not_found(folder: Path) -> None:
    report = gated(folder, PLAN.replace('keyword_backend = "embedded"', 'keyword_backend = "milvus"')).report
    fallback = report.scores[2]
    assert (fallback.shapes["concept"].failed, fallback.shapes["concept"].ndcg) == (3, 0.0)
    assert any("retrieval.milvus_url" in error for error in fallback.to_dict()["errors"])
    assert "## What failed" in gate_markdown(report)


def test_the_same_questions_go_to_another_engine_by_its_name_alone(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tests.words.azure_service import KEY, AzureService, running

    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.setenv("AZURE_SEARCH_API_KEY", KEY)
    with running(AzureService()) as url:
        monkeypatch.setenv("IR_AZURE_SEARCH_BASE_URL", url)
        with Session() as session:
            sent = session.call("keyword", {"action": "sync", "target": "notes", "backend": "azure-ai-search"})
            assert (sent.added, sent.mirrored_version) == (4, sent.content_version)
        plan = PLAN.replace('options = { mode = "lexical" }', 'operation = "keyword-search"')
        report = gated(folder, plan.replace('backend = "embedded"', 'backend = "azure-ai-search"')).report
    ours, theirs = report.scores[1], report.scores[2]
    assert theirs.shapes["concept"].failed == 0
    assert ours.shapes["concept"].ndcg > 0.9
    assert theirs.shapes["concept"].ndcg > 0.9


def test_what_reranking_costs_is_part_of_the_verdict(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.setenv("IR_RERANK_DEADLINE_MS", "60000")

    def answer(path: str, body: Any) -> Any:
        rows = [{"index": at, "relevance_score": 1 / (at + 1)} for at in range(len(body["documents"]))]
        return 200, {"results": rows}, {}

    with serving(answer) as server:
        monkeypatch.setenv("IR_RERANK_BASE_URL", server.url)
        priced = (
            'options = { mode = "lexical", rerank = "http:m" }\nsettings = { "rerank.usd_per_1000_searches" = 2.0 }'
        )
        plan = PLAN.replace('options = { mode = "lexical" }', priced)
        report = gated(folder, plan).report
        assert report.scores[1].shapes["concept"].usd == pytest.approx(3 * 0.002)
        assert report.scores[1].monthly_usd == pytest.approx(6.0)  # 3,000 searches
        assert report.verdict == "ship"
        report = gated(folder, plan.replace("[gate]", "[gate]\nmonthly_searches = 4000")).report
        assert report.scores[1].monthly_usd == pytest.approx(8.0)
        assert report.verdict == "fallback"  # everything else is as good there, and it costs nothing
    assert report.scores[0].monthly_usd == 0
    from ir.config import Settings

    assert Settings.load()["rerank.usd_per_1000_searches"] is None


# -- verdicts -------------------------------------------------------------------------------------------------------


def made(ndcg_hits: int, recall_hits: int, ms: float = 10.0, usd: float = 0.0) -> list[Answered]:
    """Ten concept questions of which so many are answered first, and ten about relationships."""
    concepts = [Answered(Question(f"c{at}", "q"), ("d",) if at < ndcg_hits else ("x",), ms, usd) for at in range(10)]
    related = [
        Answered(Question(f"r{at}", "q", "relationship"), ("d",) if at < recall_hits else (), ms, usd)
        for at in range(10)
    ]
    return concepts + related


def planned(names: tuple[str, ...] = ("proposed", "fallback"), **more: Any) -> GatePlan:
    questions = [one.question for one in made(0, 0)]
    qrels = {one.id: {"d": 1.0} for one in questions}
    return GatePlan(tuple(questions), qrels, tuple(Configuration(name, name, Way()) for name in names), **more)


GOOD = made(9, 9)


@pytest.mark.parametrize(
    ("proposed", "fallback", "verdict"),
    [
        (made(8, 9), made(8, 9), "ship"),  # exactly .80
        (made(9, 9), made(0, 0), "ship"),  # the fallback need not be any good
        (made(7, 9), made(8, 9), "fallback"),  # below .80
        (made(8, 9), made(9, 9), "fallback"),  # ten points behind
        (made(8, 9), made(9, 0, ms=900), "fallback"),  # it is measured as the proposed one next
        (made(7, 9), made(7, 9), "block"),  # neither finds the concepts
        (made(9, 8), made(9, 9), "fallback"),  # relationships
        (made(9, 8), made(9, 8), "block"),
        (made(9, 9, ms=400), made(9, 9), "fallback"),  # p95 must be below
        (made(9, 9, ms=400), made(9, 9, ms=500), "block"),
        (made(9, 9, usd=0.003), made(9, 9, usd=0.002), "fallback"),  # nine dollars
        (made(9, 9, usd=0.003), made(9, 9, usd=0.003), "block"),
        (made(9, 9, usd=7 / 3000), made(9, 9), "ship"),
    ],
)
def test_the_verdict_is_the_one_that_the_criteria_give(
    proposed: list[Answered], fallback: list[Answered], verdict: str
) -> None:
    needs("ir_measures", "scipy")
    report = judge(planned(), {"proposed": proposed, "fallback": fallback})
    assert report.verdict == verdict
    assert report.exit_code == {"ship": 0, "fallback": 4, "block": 5}[verdict]
    assert (report.why == "The proposed configuration meets every criterion.") == (verdict == "ship")


def test_without_a_fallback_or_agreement_or_a_measure_nothing_ships_that_misses(folder: Path) -> None:
    alone = planned(("proposed",))
    assert judge(alone, {"proposed": GOOD}).verdict == "ship"
    assert judge(alone, {"proposed": made(7, 9)}).verdict == "block"
    disputed = planned(agreement={"": 0.6, "concept": 0.5})
    report = judge(disputed, {"proposed": GOOD, "fallback": GOOD})
    assert report.verdict == "block"
    assert "κ of the judges is 0.6, needed ≥ 0.7" in report.why
    concepts = [one for one in GOOD if one.question.shape == "concept"]
    report = judge(planned(), {"proposed": concepts, "fallback": concepts})
    assert report.verdict == "block"
    assert "relationship Recall@10 was not measured" in report.why
    off = planned(criteria=Criteria(relationship_recall=None))
    assert judge(off, {"proposed": concepts, "fallback": concepts}).verdict == "ship"


def test_kappa_of_two_judges_comes_from_their_files(folder: Path) -> None:
    def write(name: str, grades: Mapping[str, int]) -> None:
        lines = [
            json.dumps({"id": key.split()[0], "path": key.split()[1], "grade": one}) for key, one in grades.items()
        ]
        (folder / name).write_text("\n".join(lines), "utf-8")

    write("one.jsonl", {"q1 tea.md": 2, "q1 bread.md": 0, "r1 clock.md": 2, "r1 tea.md": 0})
    write("two.jsonl", {"q1 tea.md": 2, "q1 bread.md": 2, "r1 clock.md": 2, "r1 tea.md": 0})
    text = PLAN.replace("[gate]", '[gate]\njudges = ["one.jsonl", "two.jsonl"]')
    (folder / "plan.toml").write_text(text, "utf-8")
    plan = read_plan(folder / "plan.toml")
    assert plan.agreement == {
        "": pytest.approx(kappa([(2, 2), (0, 2), (2, 2), (0, 0)])),
        "concept": pytest.approx(kappa([(2, 2), (0, 2)])),
        "relationship": 1.0,
    }
    (folder / "plan.toml").write_text(text.replace(', "two.jsonl"', ""), "utf-8")
    with pytest.raises(InvalidInput, match="judges are two files"):
        read_plan(folder / "plan.toml")


def test_results_are_known_by_the_names_that_were_judged() -> None:
    from ir.app.gate import _documents

    a = {"artifact_id": "src/a.py", "path": "/home/x/src/a.py", "metadata": {"symbolKey": "python src/a.py/A#run()."}}
    b = {"path": "src/b.py", "name": "B.go"}
    c = {"path": "src/c.py", "symbolKey": "python src/c.py/f().", "symbolKeys": ["python src/c.py/g()."]}
    judged = {"src/a.py::A.run": 1.0, "src/b.py::B.go": 1.0, "src/c.py::f": 1.0, "src/c.py::g": 1.0}
    assert _documents({"found": [a, a, b]}, judged) == ("src/a.py::A.run", "src/b.py::B.go")
    assert _documents({"results": [c]}, judged) == ("src/c.py::f", "src/c.py::g")
    assert _documents({"results": [a, c]}, {"src/a.py": 1.0, "src/c.py": 1.0}) == ("src/a.py", "src/c.py")
    assert _documents({"found": [], "tests": [b]}, {}) == ("src/b.py::B.go",)


def test_the_library_hands_the_pieces_on() -> None:
    assert ir.eval.kappa is kappa
    assert ir.eval.read_plan is read_plan
