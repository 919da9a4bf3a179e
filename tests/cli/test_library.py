"""What the command line built, in Python by the same words."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import ir as library
from ir.config import corpus_dir
from ir.errors import CorpusNotBuilt
from ir.registry import name_for_path

Ir = Callable[..., Any]


def test_a_folder_built_by_the_command_line_is_found_by_the_same_word(ir: Ir, notes: Path) -> None:
    with pytest.raises(CorpusNotBuilt, match=rf"The corpus of {notes} has not been built. .*: ir build {notes}"):
        library.search("notes", "green tea")
    assert ir("build", "notes").code == 0
    own = name_for_path(notes.resolve())
    for word in ("notes", "./notes", str(notes), own):
        (hit, *_) = library.search(word, "green tea", mode="hybrid")
        assert (hit.artifact_id, hit.source) == ("tea.md", own)
    assert library.open_corpus(notes).name == own
    assert library.discover("notes", "green tea").ids[0] == "tea.md"
    assert library.as_retriever("notes")("green tea")


def test_a_name_goes_before_a_folder_that_is_called_so(ir: Ir, notes: Path) -> None:
    ir("build", "notes")
    named = library.build(library.CorpusSource.from_mapping({"a": "green tea"}, name="notes"), embedder="light")
    assert library.open_corpus("notes").name == "notes"
    named.store.close()
    library.register("shed", "files", root=str(notes), embedder="light")
    (notes.parent / "shed").mkdir()
    with pytest.raises(CorpusNotBuilt, match=r"The corpus 'shed' has not been built. .*: ir build shed"):
        library.open_corpus("shed")
    assert ir("build", "shed").code == 0
    assert library.open_corpus("shed").name == "shed"


def test_the_remedy_for_what_was_built_half_is_the_folder(ir: Ir, notes: Path) -> None:
    from ir.store import LocalStore

    half = LocalStore(corpus_dir(name_for_path(notes.resolve())))
    half.set_ledger_entry("key", {"artifact_id": "a"})
    half.close()
    with pytest.raises(CorpusNotBuilt, match=rf"ir build {notes}"):
        library.open_corpus("notes")


def test_a_pattern_that_matches_nothing_is_told_by_the_command_line(ir: Ir, notes: Path) -> None:
    library.register("kit", "files", root=str(notes), pattern=r"\.rst$", embedder="light")
    built = ir("build", "kit")
    assert built.code == 0
    told = f"The corpus 'kit' is empty: the pattern '\\\\.rst$' leaves nothing of 3 files in {notes}."
    assert built.err == f"ir: {told}\n"
    assert ir("build", "kit", "--json").json["notes"] == [told]
    assert ir("build", "notes", "--json").json["notes"] == []
