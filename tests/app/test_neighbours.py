"""One step of the graph, and the counts of what a corpus consists of."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ir.app.operation import find_operation
from ir.cli.main import run
from ir.errors import InvalidInput


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Three packages: `shop` needs `web` and `store`, and `office` needs `shop`; `gone` is not there."""
    monkeypatch.setenv("IR_EMBEDDER", "light")
    rows = [
        {"id": "shop", "title": "The shop", "text": "Sells tea.", "deps": ["web", "store", "gone"]},
        {"id": "office", "title": "The office", "text": "Manages the shop.", "deps": ["shop"]},
        {"id": "web", "title": "The web", "text": "Serves pages.", "deps": []},
        {"id": "store", "title": "The store", "text": "Keeps tea.", "deps": []},
    ]
    file = tmp_path / "packages.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)))
    assert run(["register", "packages", str(file), "--kind", "jsonl"]) == 0
    assert run(["build", "packages", "--links"]) == 0
    return "packages"


def asked(name: str, **fields: Any) -> dict[str, Any]:
    operation = find_operation(name)
    told: dict[str, Any] = operation(operation.request.from_dict(fields)).to_dict()
    return told


def test_what_leads_out_and_what_leads_in_is_shown_with_its_name(packages: str) -> None:
    found = asked("neighbours", id="shop", target=packages)
    labels = {one["id"]: (one["label"], one["type"], one["artifact"]) for one in found["nodes"]}
    assert found["nodes"][0]["id"] == "shop"
    assert labels["web"] == ("The web", "artifact", "web")
    assert labels["gone"] == ("gone", "unknown", None)
    assert {(one["source"], one["target"]) for one in found["edges"]} == {
        ("shop", "web"),
        ("shop", "store"),
        ("shop", "gone"),
        ("office", "shop"),
    }
    assert (found["total"], found["types"]) == (4, {"REF": 4})


def test_what_is_left_out_is_said(packages: str) -> None:
    found = asked("neighbours", id="shop", target=packages, most=1)
    assert len(found["edges"]) == 2
    assert found["total"] == 4
    assert found["notes"] == ["2 more links are not shown."]


def test_what_is_not_there_is_an_error_with_a_name_like_it(packages: str) -> None:
    assert asked("neighbours", id="web", target=packages, edge_type="calls")["edges"] == []
    with pytest.raises(InvalidInput, match="'shop'"):
        asked("neighbours", id="shopp", target=packages)


def test_a_file_of_code_is_linked_to_what_it_defines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IR_EMBEDDER", "light")
    (tmp_path / "kettle.py").write_text(
        "def heat(water):\n    return water\n\n\ndef boil(water):\n    return heat(water)\n"
    )
    assert run(["register", "code", str(tmp_path), "--kind", "code"]) == 0
    assert run(["ingest", "code", "code"]) == 0
    found = asked("neighbours", id="kettle.py", target="code")
    assert {one["label"] for one in found["nodes"]} >= {"heat", "boil"}
    boil = next(one for one in found["nodes"] if one["label"] == "boil")
    assert (boil["type"], boil["artifact"], boil["line"]) == ("function", "kettle.py", 5)
    around = asked("neighbours", id=boil["id"], target="code", edge_type="calls")
    assert [one["label"] for one in around["nodes"]] == ["boil", "heat"]
    counted = asked("census", target="code")
    assert counted["types"]["function"] == 2
    assert counted["links"]["calls"] == {"exact": 1}


def test_the_passages_of_a_book_are_called_by_what_they_stand_under(monkeypatch: pytest.MonkeyPatch) -> None:
    import ir
    from ir.book import Book

    monkeypatch.setenv("IR_EMBEDDER", "light")
    text = "# Rules\n## 1 Fireball\nWhoever is hit may be grappled, see Rule 2.\n## 2 Grappled\nNobody moves.\n"
    ir.build(ir.CorpusSource.from_mapping({"rules.md": text}, name="rules", strategy=Book()), embedder="light")
    found = asked("neighbours", id="rules.md#rules/1-fireball", target="rules")
    told = [(one["label"], one["type"], one["artifact"]) for one in found["nodes"]]
    assert told[0] == ("1 Fireball", "section", "rules.md#rules/1-fireball")
    assert ("Rules > 1 Fireball", "chunk", "rules.md#rules/1-fireball") in told
    passage = next(one for one in found["nodes"] if one["type"] == "chunk")
    around = asked("neighbours", id=passage["id"], target="rules", edge_type="refers_to")
    assert [one["label"] for one in around["nodes"]] == ["Rules > 1 Fireball", "2 Grappled"]


def test_a_census_counts_artifacts_and_links(packages: str, capsys: pytest.CaptureFixture[str]) -> None:
    counted = asked("census", target=packages)
    assert counted["types"] == {"artifact": 4}
    assert counted["links"] == {"REF": {"exact": 4}}
    capsys.readouterr()
    assert run(["census", packages]) == 0
    assert "REF" in capsys.readouterr().out
