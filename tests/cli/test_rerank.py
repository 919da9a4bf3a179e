"""``ir search --rerank``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.models import tiny

Ir = Callable[..., Any]


@pytest.fixture
def shed(tmp_path: Path, ir: Ir) -> Path:
    folder = tmp_path / "shed"
    folder.mkdir()
    for name, text in {"tea": "hot green tea", "bread": "hot bread dough"}.items():
        (folder / f"{name}.txt").write_text(text)
    assert ir("build", str(folder), "--embedder", "light").code == 0
    return folder


def test_the_best_are_read_again_and_the_report_is_in_the_json(ir: Ir, shed: Path, tmp_path: Path) -> None:
    model = tiny.write_bert(tmp_path / "m")
    done = ir("search", str(shed), "hot tea", "--rerank", f"maxsim:{model}", "--json")
    assert done.code == 0
    assert done.json["meta"]["reranked"] is True
    report = done.json["meta"]["rerank"]
    assert (report["reranker"], report["segments"]) == ("maxsim:m", 2)
    assert 0 < report["ms"] <= report["deadline_ms"]


def test_a_reranker_that_fails_leaves_the_first_stage_and_is_told(
    ir: Ir, shed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IR_RERANK_BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("no_proxy", "*")
    plain = ir("search", str(shed), "hot tea", "--json")
    done = ir("search", str(shed), "hot tea", "--rerank", "http:m", "--json")
    assert done.json["meta"]["degraded"] == ["reranker"]
    assert [row["artifact_id"] for row in done.json["found"]] == [row["artifact_id"] for row in plain.json["found"]]
    assert "127.0.0.1:9 did not answer" in done.json["meta"]["rerank"]["error"]
    told = ir("search", str(shed), "hot tea", "--rerank", "http:m").err
    assert "The order of the first stage stands. The rerank model 'm' at 127.0.0.1:9 did not answer" in told
    assert "ir: reranker\n" not in told


def test_a_reranker_that_is_not_there_is_an_error(ir: Ir, shed: Path) -> None:
    done = ir("search", str(shed), "tea", "--rerank", "maxsim")
    assert done.code == 3
    assert "ir models pull minilm" in done.err
    assert ir("search", str(shed), "tea", "--rerank", "cohere").code == 2
