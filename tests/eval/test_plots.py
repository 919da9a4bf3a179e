"""Pictures and the page that holds them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from ir.errors import InvalidInput, MissingExtra
from ir.eval import (
    DiscoveryCase,
    Section,
    html_report,
    plot_by_k,
    plot_distractors,
    plot_frontier,
    plot_scores,
    run_by_k,
    save_html_report,
    sweep_selector,
)
from ir.index import Corpus

PNG = b"\x89PNG\r\n\x1a\n"


@pytest.mark.slow
def test_every_plot_is_a_png_and_the_same_each_time(corpus: Corpus, tmp_path: Path) -> None:
    cases = [DiscoveryCase("green tea leaves", "tea"), DiscoveryCase("tea with bread dough", ("tea", "bread"))]
    sweep = sweep_selector(corpus, cases, max_k_grid=(1, 2, 5), rel_grid=(0.01, 0.9))
    pictures = [
        plot_by_k({"one": {1: 0.2, 10: 0.5}, "two": {1: 0.3, 10: 0.4}}),
        plot_frontier(sweep),
        plot_scores({"own": [0.5, 0.6, float("-inf")], "foreign": [0.1, 0.2]}, floor=0.3, signal="cosine"),
        plot_distractors({1: 1.0, 4: 0.8}),
        plot_distractors({"light": {1: 1.0, 4: 0.8}, "other": {1: 1.0, 4: 0.9}}),
    ]
    assert all(picture.startswith(PNG) and len(picture) > 2000 for picture in pictures)
    assert len(set(pictures)) == len(pictures)
    path = tmp_path / "deep" / "curve.png"
    assert plot_distractors({1: 1.0, 4: 0.8}, path=path) == path.read_bytes() == pictures[3]


def test_a_measure_by_k_rises_to_the_rank_of_the_answer() -> None:
    run = {"q": {"a": 3.0, "b": 2.0, "c": 1.0}}
    assert run_by_k(run, {"q": {"c": 1}}, "recall", [1, 2, 3]) == {1: 0.0, 2: 0.0, 3: 1.0}


def test_nothing_to_draw_is_refused() -> None:
    for attempt in (lambda: plot_by_k({}), lambda: plot_scores({"a": []}), lambda: plot_distractors({})):
        with pytest.raises(InvalidInput, match="nothing to draw"):
            attempt()


def test_without_matplotlib_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingExtra, match=r"ir-substrate\[eval\]"):
        plot_distractors({1: 1.0})


def test_the_page_escapes_text_and_loads_nothing(tmp_path: Path) -> None:
    evil = "<script>alert('x')</script>"
    picture = plot_distractors({1: 1.0, 2: 0.5})
    sections = [Section(evil, text=evil, report=evil, images=[picture]), Section("plain")]
    path = save_html_report(tmp_path / "out" / "report.html", evil, sections, note=evil)
    page = path.read_text(encoding="utf-8")
    assert page.strip() == html_report(evil, sections, note=evil).strip()
    assert "<script" not in page
    assert page.count("data:image/png;base64,") == 1
    for outside in ("http:", "https:", "<link", "@import", "url("):
        assert outside not in page
    assert page.startswith("<!doctype html>")
