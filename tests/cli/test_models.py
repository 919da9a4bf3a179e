"""``ir models``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.models import tiny

Ir = Callable[..., Any]


def test_what_could_be_there_is_listed(ir: Ir) -> None:
    done = ir("models")
    assert done.code == 0
    assert done.out.splitlines()[0] == "model\tsize\twhere"
    shipped, *others = [line.split("\t")[:2] for line in done.out.splitlines()[1:]]
    assert shipped[0] == "box"
    assert others == [["minilm", "-"], ["static", "-"]]


def test_a_model_comes_is_listed_and_goes(ir: Ir, tmp_path: Path) -> None:
    folder = tiny.write_bert(tmp_path / "mine")
    pulled = ir("models", "pull", "mine/own", "--from", str(folder), "--json")
    assert pulled.code == 0
    (model,) = pulled.json["models"]
    assert model["name"] == "mine/own"
    assert Path(model["path"]).is_dir()
    assert "mine/own" in ir("models", "ls").out
    assert ir("models", "rm", "mine/own").out.startswith("removed mine/own")
    assert not Path(model["path"]).exists()


def test_the_doctor_finds_a_damaged_model_and_its_advice_helps(ir: Ir, tmp_path: Path) -> None:
    folder = tiny.write_bert(tmp_path / "mine")
    pull = ("models", "pull", "mine/own", "--from", str(folder))
    file = Path(ir(*pull, "--json").json["models"][0]["path"]) / "model.safetensors"
    assert ir("doctor").code == 0
    file.write_bytes(file.read_bytes()[:-1] + b"?")
    done = ir("doctor", "--json")
    (check,) = (check for check in done.json["checks"] if check["name"] == "model mine/own")
    assert (done.code, check["status"]) == (3, "broken")
    assert "another checksum" in check["detail"]
    assert check["remedy"].endswith(" ".join(("ir", *pull)))
    assert ir(*pull).code == 0
    assert ir("doctor").code == 0


def test_wrong_use_says_what_is_right(ir: Ir) -> None:
    for words, message in (
        (["models", "get"], "'pull'"),
        (["models", "rm"], "needs the NAME"),
        (["models", "rm", "minilm"], "There is: none"),
        (["models", "ls", "--force"], "takes neither"),
        (["models", "pull", "mimilm"], "Use minilm"),
        (["models", "pull", "minilm", "--from", "nowhere"], "no file or folder"),
    ):
        done = ir(*words)
        assert done.code == 2, words
        assert message in done.err, words


@pytest.mark.parametrize("suffix", ["", "-int8"])
def test_a_corpus_built_with_a_folder_is_searched_from_anywhere(
    ir: Ir, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str
) -> None:
    tiny.write_bert(tmp_path / "mine")
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "tea.txt").write_text("hot green tea")
    monkeypatch.chdir(tmp_path)
    assert ir("build", "notes", "--embedder", f"./mine{suffix}").code == 0
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    done = ir("search", str(tmp_path / "notes"), "tea", "--mode", "dense")
    assert (done.code, done.err) == (0, "")
    assert ir("build", str(tmp_path / "notes")).code == 0
    assert "WARNING" not in ir("doctor").out
