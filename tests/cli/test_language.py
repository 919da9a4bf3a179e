"""``ir build`` and the language of texts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Ir = Callable[..., Any]

LETTRE = (
    "Les anciens bâtiments de la ville ont été rénovés par des architectes qui aimaient la lumière. Ils ont voulu que "
    "les habitants puissent se promener dans les jardins et que les enfants jouent près de la fontaine. "
)


@pytest.fixture
def lettres(tmp_path: Path) -> Path:
    folder = tmp_path / "lettres"
    folder.mkdir()
    for number in range(3):
        (folder / f"lettre{number}.txt").write_text(LETTRE + f"Numéro {number}.", "utf-8")
    return folder


def test_french_is_told_and_stemmed_as_french(ir: Ir, lettres: Path) -> None:
    built = ir("build", str(lettres), "--json")
    assert built.code == 0
    assert ir("info", built.json["corpus"], "--json").json["language"] == "french"
    # "rénovation" and "rénovés" share their French stem; English stems would not bring them together.
    assert ir("search", str(lettres), "rénovation", "--mode", "lexical").code == 0


def test_a_language_that_was_told_wrong_can_be_put_right(ir: Ir, lettres: Path) -> None:
    name = ir("build", str(lettres), "--language", "none", "--json").json["corpus"]
    assert ir("search", name, "rénovation", "--mode", "lexical").code == 1
    assert ir("build", str(lettres)).code == 0
    assert ir("info", name, "--json").json["language"] == "none"
    assert ir("build", str(lettres), "--language", "french").code == 0
    assert ir("info", name, "--json").json["language"] == "french"
    assert ir("search", name, "rénovation", "--mode", "lexical").code == 0
    wrong = ir("build", str(lettres), "--language", "frensh")
    assert wrong.code == 2
    assert "'french'" in wrong.err


def test_the_setting_decides_before_the_texts_do(ir: Ir, lettres: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IR_LANGUAGE", "none")
    built = ir("build", str(lettres), "--json")
    assert ir("info", built.json["corpus"], "--json").json["language"] == "none"
    assert ir("search", str(lettres), "rénovation", "--mode", "lexical").code == 1


@pytest.mark.parametrize("language", ["klingon", "German", "de"])
def test_a_language_that_is_not_known_is_no_setting(ir: Ir, notes: Path, language: str) -> None:
    refused = ir("config", "set", "language", language)
    assert refused.code == 2
    assert "language must be one of 'auto', 'arabic'," in refused.err
    assert ir("config", "set", "language", "german").code == 0
    ir("build", "notes")
    assert ir("info", "notes", "--json").json["language"] == "german"
