"""From files on disk to a page of figures, through a stored corpus."""

from __future__ import annotations

from pathlib import Path

import pytest

import ir
from ir.eval import (
    DiscoveryCase,
    Section,
    abstention_report,
    calibrate_from_probes,
    compare_runs,
    coverage,
    evaluate_discovery,
    load_calibration,
    make_run,
    plot_scores,
    save_html_report,
    to_qrels,
    validate_cases,
)

NOTES = {
    "tea.md": "# Tea\n\nSteep green tea at eighty degrees for two minutes, black tea at boiling for four.",
    "bread.md": "# Bread\n\nKnead the dough for ten minutes, let it rest for an hour, bake it hot.",
    "bike.md": "# Bike\n\nTake the wheel off, pull the tube out, find the hole and put a patch on it.",
    "rose.md": "# Roses\n\nPrune rose bushes in late winter, just above a bud that points outwards.",
}
CASES = [
    DiscoveryCase("how hot should water for green tea be", ("tea.md",)),
    DiscoveryCase("how long to knead dough", ("bread.md",)),
    DiscoveryCase("patch a hole in the tube of a wheel", ("bike.md",)),
    DiscoveryCase("when to prune rose bushes", ("rose.md",)),
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "notes"
    root.mkdir()
    for name, text in NOTES.items():
        (root / name).write_text(text, encoding="utf-8")
    return root


@pytest.mark.slow
def test_a_folder_is_built_covered_calibrated_and_reported(folder: Path, tmp_path: Path) -> None:
    source = ir.CorpusSource.from_files(folder, name="notes")
    corpus = ir.build(source, embedder="light")
    assert validate_cases(corpus, CASES) == {}
    assert coverage(source, corpus).complete

    made = calibrate_from_probes(corpus, persist=True)
    reopened = ir.open_corpus("notes", embedder="light")
    assert load_calibration(reopened, "hybrid") == made
    assert load_calibration("notes", "hybrid") == made
    assert not ir.discover(reopened, CASES[0].query, min_score="auto").abstained

    found = evaluate_discovery("notes", CASES)
    assert found.failure_classes == {"hit_rank_1": 4}
    queries, qrels = to_qrels(CASES)
    runs = [make_run("notes", queries, mode=mode) for mode in ("dense", "lexical")]
    assert compare_runs(runs[0], runs[1], qrels).n_queries == 4

    refusal = abstention_report("notes", [case.query for case in CASES], ["parliament", "quantum spin", "bank loan"])
    picture = plot_scores({"own": refusal.own_scores, "foreign": refusal.foreign_scores}, floor=refusal.floor)
    page = save_html_report(
        tmp_path / "report.html", "Notes", [Section("Ranking", report=found), Section("Floor", images=[picture])]
    )
    assert "hit_rank_1" in page.read_text(encoding="utf-8")


def test_coverage_follows_the_disk(folder: Path) -> None:
    source = ir.CorpusSource.from_files(folder, name="notes")
    corpus = ir.build(source, embedder="light")
    (folder / "tea.md").write_text("# Tea\n\nAnother text altogether, and longer.", encoding="utf-8")
    (folder / "bike.md").unlink()
    (folder / "new.md").write_text("# New\n\nSomething new.", encoding="utf-8")
    report = coverage(ir.CorpusSource.from_files(folder, name="notes"), corpus)
    assert (report.stale, report.orphaned, report.missing) == (("tea.md",), ("bike.md",), ("new.md",))
    assert report.indexed == ("bread.md", "rose.md")
