"""``ir ingest book``: what it finds, what stays when it is run again, what it refuses."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.extras import needs

from ir.config.workspace import in_workspace
from ir.index import open_store
from ir.registry import entered

Ir = Callable[..., Any]

RULES = """# The Rules

## 1 Spells

### 1.1 Fireball
Casting Time: 1 action
Range: 150 feet

A bright streak flashes. Whoever is hit may be grappled, see Rule 2.1 and see Monster Manual.

## 2 Combat

### 2.1 Grappled
A grappled creature cannot move. See Fireball. Prerequisite: 5th level.
"""
MONSTERS = """# Monsters

## Monster Manual
All monsters are here. See Table 9-9.

## Otyugh
It grapples whoever comes near, and fire hurts it. See Grappled.
"""


@pytest.fixture
def rules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "rules.md"
    path.write_text(RULES)
    (tmp_path / "monsters.md").write_text(MONSTERS)
    return path


def version_of(name: str) -> tuple[str, str]:
    with open_store(name) as store:
        return store.version, store.content_version


# -- what is found ---------------------------------------------------------------------------------------------------


def test_it_says_what_it_found_and_a_second_time_changes_nothing(ir: Ir, rules: Path) -> None:
    told = ir("ingest", "book", "rules.md", "--json").json
    assert (told["corpus"], told["added"], told["documents"]) == ("rules", 1, ["rules.md"])
    assert told["nodes"]["section"] == 5
    assert {"contains", "next", "refers_to", "mentions", "describes", "requires_level"} <= set(told["links"])
    assert told["kinds"] == {"spell": 1, "rule": 1}
    assert (told["unresolved"], [one["said"] for one in told["references"]]) == (1, ["see Monster Manual"])
    before = version_of("rules")
    said = ir("ingest", "book", "rules.md")
    assert "nothing changed, 1 unchanged" in said.out
    assert "leads nowhere\trules.md\tsee Monster Manual" in said.out
    assert version_of("rules") == before
    found = ir("search", "rules", "bright streak", "--json").json["found"][0]
    assert found["metadata"]["section_path"] == ["The Rules", "1 Spells", "1.1 Fireball"]
    assert found["metadata"]["run_id"] == told["run_id"]


def test_what_did_not_change_keeps_its_run_and_its_vectors(ir: Ir, rules: Path) -> None:
    ir("ingest", "book", ".", "--book", "all", "--run-id", "first")
    rules.write_text(RULES.replace("cannot move", "cannot move at all"))
    told = ir("ingest", "book", ".", "--book", "all", "--run-id", "second", "--json").json
    assert (told["changed"], told["unchanged"], told["embedded"]) == (1, 1, 1)
    with open_store("all") as store:
        runs = {
            (record.metadata["book"], record.metadata["run_id"]) for page in store.iter_records() for record in page
        }
    assert runs == {("monsters", "first"), ("rules", "second")}


def test_a_dry_run_says_what_would_be_read_and_leaves_nothing(ir: Ir, rules: Path) -> None:
    told = ir("ingest", "book", ".", "--book", "all", "--dry-run", "--json").json
    assert (told["added"], told["documents"]) == (2, ["monsters.md", "rules.md"])
    assert entered() == {}
    assert "no corpus" in ir("search", "all", "fire").err


def test_a_book_is_built_again_like_any_corpus(ir: Ir, rules: Path) -> None:
    ir("ingest", "book", "rules.md")
    rules.write_text(RULES.replace("A bright streak", "A purple streak"))
    assert ir("build", "rules", "--json").json["changed"] == 1
    found = ir("search", "rules", "purple streak", "--json").json["found"][0]
    assert found["metadata"]["content_kind"] == "spell"


def test_the_flags_of_the_reference_are_understood(ir: Ir, rules: Path) -> None:
    words = ("--profile", "full", "--generate-embeddings", "--embedding-model", "light")
    told = ir("ingest", "book", "rules.md", "--ruleset", "StarFinder2e", "--book", "PlayerCore", *words, "--json").json
    assert (told["workspace"], told["corpus"], told["embedder"]) == ("starfinder2e", "PlayerCore", "light-512-v1")
    assert ir("--workspace", "starfinder2e", "search", "PlayerCore", "grappled").code == 0
    with in_workspace("starfinder2e"), open_store("PlayerCore") as store:
        assert (store.get_config()["ruleset"], store.get_config()["book"]) == ("StarFinder2e", "PlayerCore")
    assert entered() == {}


# -- other books of the workspace ------------------------------------------------------------------------------------


def test_references_are_looked_for_in_the_book_then_in_the_others_of_the_workspace(ir: Ir, rules: Path) -> None:
    first = ir("ingest", "book", "rules.md", "--ruleset", "game", "--json").json
    assert (first["unresolved"], first["elsewhere"]) == (1, 0)
    second = ir("ingest", "book", "monsters.md", "--ruleset", "game", "--json").json
    assert (second["unresolved"], second["elsewhere"]) == (1, 1)  # Table 9-9 is nowhere, Grappled in the rules
    with in_workspace("game"), open_store("rules") as store, store.snapshot() as snapshot:
        chunk = next(
            record.metadata["chunk"]
            for page in store.iter_records()
            for record in page
            if "bright streak" in record.text
        )
        led = [one for one in snapshot.neighbours([chunk], types=["refers_to"])[0] if one.place == "elsewhere"]
    assert [(one.corpus, one.id) for one in led] == [("monsters", "monsters.md#monsters/monster-manual")]
    again = ir("ingest", "book", "rules.md", "--ruleset", "game", "--json").json
    assert (again["unresolved"], again["elsewhere"]) == (0, 1)
    assert ir("ingest", "book", "rules.md", "--ruleset", "other", "--json").json["unresolved"] == 1


def test_a_reference_leads_nowhere_again_when_its_book_is_gone(ir: Ir, rules: Path) -> None:
    ir("ingest", "book", "monsters.md")
    assert ir("ingest", "book", "rules.md", "--json").json["unresolved"] == 0
    ir("rm", "monsters", "--yes")
    assert ir("ingest", "book", "rules.md", "--json").json["unresolved"] == 1


def test_a_tag_that_two_books_have_stays_when_one_goes(ir: Ir, rules: Path) -> None:
    (rules.parent / "kinds.toml").write_text("[[rule]]\ntags = ['fire']\nwhen = { text = 'fire|streak' }\n")
    ir("ingest", "book", "rules.md", "monsters.md", "--book", "all", "--rules", "kinds.toml")
    ir("ingest", "book", "rules.md", "--book", "all")
    with open_store("all") as store:
        assert "tag:fire" in store.get_nodes(["tag:fire"])
        assert "monsters.md" not in store.get_nodes(["monsters.md"])


# -- rules, walks, models --------------------------------------------------------------------------------------------


def test_rules_say_kinds_relations_and_aliases_and_stay_until_others_are_given(ir: Ir, rules: Path) -> None:
    (rules.parent / "kinds.toml").write_text(
        """
        [[rule]]
        kind = "narrative"
        tags = ["story"]
        when = { title = "Otyugh" }

        [[relation]]
        relation = "grants_ability"
        entity = "ability"
        pattern = 'fire (?P<target>hurts) it'

        [aliases]
        MM = "Monster Manual"
        """
    )
    (rules.parent / "monsters.md").write_text(MONSTERS.replace("See Grappled", "See MM"))
    told = ir("ingest", "book", "monsters.md", "--rules", "kinds.toml", "--json").json
    assert (told["kinds"], told["links"]["grants_ability"], told["links"]["has_tag"]) == ({"narrative": 1}, 1, 1)
    assert [one["said"] for one in told["references"]] == ["Table 9-9"]
    with open_store("monsters") as store:
        assert store.get_config()["aliases"] == {"MM": "Monster Manual"}
    assert ir("ingest", "book", "monsters.md", "--json").json["unchanged"] == 1
    plain = ir("ingest", "book", "monsters.md", "--rules", "default", "--json").json
    assert (plain["changed"], plain["embedded"], plain["links"].get("grants_ability")) == (1, 0, None)


def test_the_configuration_of_walks_is_kept_in_versions(ir: Ir, rules: Path) -> None:
    walks = rules.parent / "walks.toml"
    walks.write_text('version = "v1"\nspell_names = ["Fireball"]\n\n[policies.lookup]\nedge_types = ["next"]\n')
    assert ir("ingest", "book", "rules.md", "--traversal", "walks.toml", "--json").json["traversal"] == "v1"
    before = version_of("rules")
    ir("ingest", "book", "rules.md", "--traversal", "walks.toml")
    assert version_of("rules") == before
    walks.write_text('spell_names = ["Fireball", "Web"]\n')
    assert ir("ingest", "book", "rules.md", "--traversal", "walks.toml", "--json").json["traversal"] == "v2"
    assert ir("ingest", "book", "rules.md", "--json").json["traversal"] == "v2"
    with open_store("rules") as store:
        config = store.get_config()
    assert config["traversal"]["spell_names"] == ["Fireball", "Web"]
    assert [one["version"] for one in config["traversal_versions"]] == ["v1"]
    assert config["traversal_versions"][0]["policies"]["lookup"]["edge_types"] == ["next"]


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("walks.toml", "spell_names = 1", "spell_names in"),
        ("walks.toml", "colour = 'red'", "'colour'"),
        ("walks.json", "[]", "not a table of fields"),
        ("walks.json", "{", "cannot be read"),
        ("walks.toml", "[intent_patterns]\nlookup = ['(']", "cannot be read"),
    ],
)
def test_a_configuration_of_walks_that_is_wrong_is_refused(
    ir: Ir, rules: Path, name: str, text: str, said: str
) -> None:
    (rules.parent / name).write_text(text)
    refused = ir("ingest", "book", "rules.md", "--traversal", name)
    assert refused.code == 2
    assert said in refused.err
    assert entered() == {}


def test_a_second_model_is_a_space_beside_the_first_and_reads_only_what_changed(ir: Ir, rules: Path) -> None:
    ir("ingest", "book", "rules.md", "--embedding-model", "light")
    told = ir("ingest", "book", "rules.md", "--embedding-model", "box", "--json").json
    assert (told["changed"], told["embedded"], len(told["spaces"])) == (0, told["chunks"], 2)
    again = ir("ingest", "book", "rules.md", "--embedding-model", "box", "--json").json
    assert (again["embedded"], again["spaces"], again["embedder"]) == (0, told["spaces"], "light-512-v1")
    rules.write_text(RULES.replace("cannot move", "cannot move at all"))
    assert ir("ingest", "book", "rules.md", "--json").json["embedded"] == 2  # one passage, by two models
    with open_store("rules") as store:
        dims = store.spaces()
        assert len(set(dims.values())) == 2
        assert all(not store.unembedded(space=space) for space in dims)


def test_passages_that_are_near_are_linked_on_request_and_again_when_they_change(ir: Ir, rules: Path) -> None:
    words = "The red dragon sleeps in its deep cave, upon a heap of gold that nobody has counted.\n"
    twins = f"# Book\n\n## One\n{words}\n## Two\n{words}"
    rules.write_text(twins)
    assert "similar_to" not in ir("ingest", "book", "rules.md", "--json").json["links"]
    assert ir("ingest", "book", "rules.md", "--similar", "0.8", "--json").json["links"]["similar_to"] == 2
    before = version_of("rules")
    ir("ingest", "book", "rules.md")
    assert version_of("rules") == before
    rules.write_text(twins.replace(f"## Two\n{words}", "## Two\nNothing of the kind.\n"))
    ir("build", "rules")
    assert "similar_to" not in ir("ingest", "book", "rules.md", "--json").json["links"]
    rules.write_text(twins)
    assert ir("ingest", "book", "rules.md", "--json").json["links"]["similar_to"] == 2
    assert "similar_to" not in ir("ingest", "book", "rules.md", "--similar", "0", "--json").json["links"]


def test_what_was_made_is_written_as_files_that_make_the_same(ir: Ir, rules: Path) -> None:
    told = ir("ingest", "book", "rules.md", "--files", "out", "--run-id", "r1", "--json").json
    assert told["files"] == "out/outputs/runs/r1/enriched"
    again = ir("ingest", "book", "out", "--book", "again", "--json").json
    assert (again["nodes"], again["links"], again["kinds"], again["unresolved"]) == (
        told["nodes"],
        told["links"],
        told["kinds"],
        told["unresolved"],
    )


# -- pages -----------------------------------------------------------------------------------------------------------


def test_the_prompt_says_what_a_page_is_about_once_and_within_its_budget(
    ir: Ir, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ir.answer import Passage, prompt_for
    from ir.answer.prompt import fitted
    from ir.app import asking
    from ir.operations import ask_events

    monkeypatch.chdir(tmp_path)
    chunks = [
        {"id": "c1", "text": "A fireball burns whoever stands near.", "page": 7, "section_path": ["Fireball"]},
        {"id": "c2", "text": "A second fireball burns them again.", "page": 7, "section_path": ["Fireball"]},
    ]
    told = {"document": "core", "page_summaries": {"7": "Page seven is about fire."}, "chunks": chunks}
    Path("core.enriched.json").write_text(json.dumps(told))
    assert ir("ingest", "book", "core.enriched.json").code == 0
    given: list[Passage] = []
    monkeypatch.setattr("ir.answer.answer_events", lambda asked, passages, *_, **__: given.extend(passages) or ())
    list(ask_events(question="What does a fireball burn?", target="core", llm=False))
    assert asking.DFLT_K >= len(given) == 2
    prompt = prompt_for("What?", fitted(given, 300))[-1]["content"]
    assert prompt.count("Page seven is about fire.") == 1
    assert "page 7" in prompt
    assert "Page seven" not in prompt_for("What?", fitted(given, 50))[-1]["content"]


# -- what is wrong ---------------------------------------------------------------------------------------------------


def refused(ir: Ir, *words: str) -> str:
    """What is said where nothing can be read; no corpus is left behind."""
    before = entered()
    said = ir("ingest", "book", *words)
    assert said.code not in (0, 130)
    assert entered() == before
    assert "built" not in ir("ls", "--json").out or not ir("ls", "--json").json["corpora"]
    return str(said.err)


def test_a_folder_without_any_book_and_an_empty_one_are_refused(ir: Ir, tmp_path: Path) -> None:
    (tmp_path / "nothing").mkdir()
    assert "there is no Markdown" in refused(ir, str(tmp_path / "nothing"))
    (tmp_path / "empty.md").write_text("")
    assert "the book is empty" in refused(ir, str(tmp_path / "empty.md"))
    (tmp_path / "empty.enriched.json").write_text('{"document": "x", "chunks": []}')
    assert "the book is empty" in refused(ir, str(tmp_path / "empty.enriched.json"))
    assert "There is no file or folder" in refused(ir, str(tmp_path / "gone.md"))


def test_several_paths_need_a_name_and_one_that_is_taken_is_refused(ir: Ir, rules: Path) -> None:
    assert "needs a name" in refused(ir, "rules.md", "monsters.md")
    ir("build", ".")
    ir("register", "rules", ".")
    said = ir("ingest", "book", "rules.md")
    assert said.code == 2
    assert "it is no book" in said.err
    assert "takes no --records" in ir("ingest", "book", "rules.md", "--records", "x").err
    assert "takes no --ruleset" in ir("ingest", "code", ".", "--ruleset", "x").err


def test_pdf_files_that_cannot_be_read_say_why(ir: Ir, tmp_path: Path) -> None:
    from tests.sources.pdfs import column, made

    bad = {
        "scanned": (made([[], []], picture=True), "run OCR over it first"),
        "locked": (made([column(["secret words"])], password="x"), "protected by a password"),
        "damaged": (b"%PDF-1.4\nnothing of the kind", "cannot be read"),
        "blank": (made([[], []]), "holds no text"),
    }
    for name, (data, said) in bad.items():
        (tmp_path / f"{name}.pdf").write_bytes(data)
        assert said in refused(ir, str(tmp_path / f"{name}.pdf"))
    (tmp_path / "good.pdf").write_bytes(made([column(["A line of words that can be read."])]))
    told = ir("ingest", "book", str(tmp_path), "--book", "all", "--json").json
    assert (told["added"], {one["id"] for one in told["skipped"]}) == (1, {f"{name}.pdf" for name in bad})


def test_a_pdf_of_pictures_with_a_printed_cover_is_read_and_named_for_ocr(ir: Ir, tmp_path: Path) -> None:
    from tests.sources.pdfs import column, made

    (tmp_path / "cover.pdf").write_bytes(made([column(["The Long Book of Rules"]), [], [], []], picture=True))
    told = ir("ingest", "book", str(tmp_path / "cover.pdf"), "--json").json
    assert (told["added"], told["chunks"]) == (1, 1)
    assert any("3 of 4 pages hold no text" in note and "run OCR" in note for note in told["notes"])


def test_columns_in_the_wrong_order_are_read_one_after_the_other(ir: Ir, tmp_path: Path) -> None:
    from tests.sources.pdfs import column, made

    left = [f"left {number} tells of the knight and of his long way home" for number in range(12)]
    right = [f"right {number} tells of the dragon and of its deep dark cave" for number in range(12)]
    woven = [
        line
        for pair in zip(column(left, left=40, size=8), column(right, left=320, size=8), strict=True)
        for line in pair
    ]
    (tmp_path / "woven.pdf").write_bytes(made([woven]))
    assert ir("ingest", "book", str(tmp_path / "woven.pdf")).code == 0
    with open_store("woven") as store:
        text = "\n".join(record.text for page in store.iter_records() for record in page)
    assert text.index("left 11") < text.index("right 0")


def test_a_pdf_book_has_pages_as_they_are_printed_chapters_and_summaries(ir: Ir, tmp_path: Path) -> None:
    from tests.sources.pdfs import column, made

    pages = [
        column(["Combat", "A knight fights with a sword. A sword is sharp. See page 1."]),
        column(["Magic", "A wizard casts a fireball. The fireball burns."]),
    ]
    outline = [(1, "Combat", 0), (1, "Magic", 1)]
    (tmp_path / "core.pdf").write_bytes(made(pages, outline=outline, labels=[(0, 0, "/r"), (1, 1, "/D")]))
    told = ir("ingest", "book", str(tmp_path / "core.pdf"), "--json").json
    assert told["links"]["refers_to"] == 1
    found = ir("search", "core", "wizard fireball", "--json").json["found"][0]["metadata"]
    assert (found["page"], found["page_label"], found["chapter"], found["book"]) == (2, "1", "Magic", "core")
    with open_store("core") as store:
        node = store.get_nodes([found["chunk"]])[found["chunk"]]
        led = {
            edge.target for page in store.iter_edges() for _, out in page for edge in out if edge.type == "refers_to"
        }
    assert led == {found["chunk"]}  # what is printed as page 1 is the second of the file
    assert "fireball burns" in node.properties["page_summary"]


def test_an_interrupted_ingest_leaves_the_book_as_it_was(ir: Ir, rules: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from ir.book import Book

    ir("ingest", "book", "rules.md")
    before, entry = version_of("rules"), entered()["rules"]
    rules.write_text("# Other\n\nwords\n")

    def interrupted(*_: Any) -> Any:  # Ctrl-C, at the very end of the build
        raise KeyboardInterrupt

    with monkeypatch.context() as pressed:
        pressed.setattr(Book, "complete", interrupted)
        assert ir("ingest", "book", "rules.md", "--similar", "0.5").code == 130
    assert (version_of("rules"), entered()["rules"]) == (before, entry)


def test_mongodb_is_asked_for_before_anything_is_read(ir: Ir, rules: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    needs("pymongo")
    monkeypatch.delenv("MONGODB_URI", raising=False)
    assert "It is not said which MongoDB" in refused(ir, "rules.md", "--store-mongodb")
    monkeypatch.setenv("MONGODB_URI", "mongodb://127.0.0.1:9/library?timeout=1")
    outcome = ir("ingest", "book", "rules.md", "--store-mongodb")
    assert (outcome.code, "did not answer within 1 seconds" in outcome.err) == (3, True)
    assert entered() == {}


def test_a_file_of_json_lines_is_a_book_of_entries(ir: Ir, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    entries = [
        {"_id": "spells/fireball", "title": "Fireball", "text": "A bright streak flashes.", "links": ["rules/cover"]},
        {"_id": "rules/cover", "title": "Cover", "text": "Walls protect from a fireball.", "chapter": "Combat"},
    ]
    (tmp_path / "rules.jsonl").write_text("\n".join(map(json.dumps, entries)), "utf-8")
    told = json.loads(ir("ingest", "book", "rules.jsonl", "--json").out)
    assert (told["added"], told["links"]["refers_to"], told["links"]["mentions"]) == (2, 1, 1)
    found = json.loads(ir("search", "rules", "walls", "--json").out)["found"][0]
    assert (found["artifact_id"], found["metadata"]["book"], found["metadata"]["chapter"]) == (
        "rules/cover",
        "rules",
        "Combat",
    )
    assert json.loads(ir("ingest", "book", "rules.jsonl", "--json").out)["unchanged"] == 2
    (tmp_path / "rules.jsonl").write_text('{"_id": "a", "text": "b"}\n{"_id": ', "utf-8")
    assert "rules.jsonl:2 cannot be used: it is not JSON" in ir("ingest", "book", "rules.jsonl").err


def test_progress_is_told(ir: Ir, rules: Path) -> None:
    from ir.app.context import Context
    from ir.app.ingesting_books import IngestBookRequest, ingest_book

    steps: list[Any] = []
    ingest_book(IngestBookRequest(paths=("rules.md",), embedder="light"), Context(progress=steps.append))
    assert {"scan", "embed", "link", "write"} <= {step.stage for step in steps}


def test_pages_of_html_and_plain_texts_are_books_too(ir: Ir, tmp_path: Path) -> None:
    folder = tmp_path / "library"
    folder.mkdir()
    (folder / "page.html").write_text("<h1>Law</h1><h2>Article 5</h2><p>Nobody may park here, see Article 6.</p>")
    (folder / "plain.txt").write_text("A text without any heading is one passage.")
    (folder / "data.csv").write_text("no,book")
    told = ir("ingest", "book", str(folder), "--json").json
    assert (told["corpus"], told["documents"]) == ("library", ["page.html", "plain.txt"])
    found = ir("search", "library", "park here", "--json").json["found"][0]["metadata"]
    assert (found["book"], found["section_path"]) == ("page", ["Law", "Article 5"])


def test_a_passage_without_a_vector_is_an_error_that_names_it(ir: Ir, rules: Path) -> None:
    from ir.app.book_vectors import check_embedded
    from ir.errors import EmbedderError

    ir("ingest", "book", "rules.md")
    with open_store("rules") as store:
        store.add_space("bare")
        store.set_default_space("bare")
        with pytest.raises(EmbedderError, match=r"There is no vector of \w+ \(rules.md#"):
            check_embedded(store)


def test_the_rules_of_a_new_book_may_be_a_setting(ir: Ir, rules: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (rules.parent / "own.toml").write_text("[[rule]]\nkind = 'item'\nwhen = { text = '.' }\n")
    monkeypatch.setenv("IR_BOOK_RULES", str(rules.parent / "own.toml"))
    assert ir("ingest", "book", "rules.md", "--json").json["kinds"] == {"item": 5}
    assert "Rule 1 of" in ir("ingest", "book", "monsters.md", "--rules", str(_wrong(rules))).err


def _wrong(rules: Path) -> Path:
    path = rules.parent / "wrong.toml"
    path.write_text("[[rule]]\nkind = 'spel'\nwhen = { text = '.' }\n")
    return path


def test_a_search_reads_a_book_that_changed_again_and_knows_one_that_did_not(ir: Ir, rules: Path) -> None:
    many = "\n".join(f"## Section {number}\nwords of number {number}\n" for number in range(80))
    rules.write_text(f"# Rules\n\n{many}")
    os.utime(rules, (1, 1))
    ir("ingest", "book", "rules.md")
    before = version_of("rules")
    assert "stale" not in ir("search", "rules", "words of number 7").err
    assert version_of("rules") == before
    rules.write_text(f"# Rules\n\n{many}\n## Otyugh\nIt eats what falls down.\n")
    assert "eats what falls" in ir("search", "rules", "what does it eat").out
    Path("core.enriched.json").write_text(
        json.dumps({"chunks": [{"id": str(n), "text": f"words {n}"} for n in range(80)]})
    )
    ir("ingest", "book", "core.enriched.json")
    assert "stale" not in ir("search", "core", "words").err


def test_a_book_that_is_named_without_a_path_is_read_from_where_it_was_or_usually_is(ir: Ir, rules: Path) -> None:
    usual = rules.parent / "Rules" / "StarFinder2e" / "PlayerCore"
    usual.mkdir(parents=True)
    rules.rename(usual / "core.md")
    words = ("ingest", "book", "--ruleset", "StarFinder2e", "--book", "PlayerCore")
    assert ir(*words, "--json").json["added"] == 1
    assert ir(*words, "--json").json["unchanged"] == 1
    ir("ingest", "book", "monsters.md", "--book", "other")
    assert ir("ingest", "book", "--book", "other", "--json").json["documents"] == ["monsters.md"]
    assert "not said where the book is" in ir("ingest", "book", "--book", "nowhere").err
    assert "takes one folder" in ir("ingest", "code").err


def test_a_model_that_is_not_there_is_told_before_the_book_is_read(ir: Ir, rules: Path) -> None:
    told = ir("ingest", "book", "rules.md", "--embedder", "light", "--embedding-model", "nomodel")
    assert told.code == 3
    assert "nomodel" in told.err
    assert ir("search", "rules", "fireball").code == 3
