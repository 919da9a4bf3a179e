"""The files of the page: what they weigh, where they come from, and what they never do."""

from __future__ import annotations

import gzip
import hashlib
import json
import re
from pathlib import Path

import ir

PAGE = Path(ir.__file__).parent / "web" / "page"
VENDOR = PAGE / "vendor"
OWN = sorted(path for path in PAGE.rglob("*") if path.suffix in (".js", ".css", ".html") and VENDOR not in path.parents)
HEAVIEST = 150_000


def test_the_whole_page_weighs_at_most_150_kilobytes() -> None:
    sent = [path for path in PAGE.rglob("*") if path.suffix in (".js", ".css", ".html", ".svg")]
    assert sum(len(gzip.compress(path.read_bytes(), 9)) for path in sent) <= HEAVIEST


def test_what_others_wrote_is_as_they_wrote_it() -> None:
    listed = json.loads((VENDOR / "manifest.json").read_text("utf-8"))
    assert {one["file"] for one in listed} == {path.name for path in VENDOR.iterdir() if path.suffix in (".js", ".css")}
    for one in listed:
        assert hashlib.sha256((VENDOR / one["file"]).read_bytes()).hexdigest() == one["sha256"], one["file"]
        assert one["package"]
        assert re.fullmatch(r"\d+\.\d+\.\d+", one["version"])
        assert all((VENDOR / "licences" / text).read_text("utf-8").strip() for text in one["texts"])


def test_the_licences_come_with_the_wheel() -> None:
    project = (PAGE.parents[3] / "pyproject.toml").read_text("utf-8")
    assert '"src/ir/web/page/vendor/licences/*.txt"' in project


def test_texts_become_text_and_never_markup() -> None:
    made = re.compile(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|setHTML|DOMParser")
    for path in OWN:
        assert not made.search(path.read_text("utf-8")), path.name


def test_nothing_is_inline_and_nothing_comes_from_elsewhere() -> None:
    page = (PAGE / "index.html").read_text("utf-8")
    assert not re.search(r"<style|\sstyle=|\son\w+=|<script(?![^>]*\ssrc=)", page)
    for path in OWN:
        addresses = re.findall(r"https?://[\w.-]+", path.read_text("utf-8"))
        assert addresses == [], path.name


def test_every_part_that_is_imported_is_there() -> None:
    for path in OWN:
        for name in re.findall(r'from "(\.[^"]+)"', path.read_text("utf-8")):
            assert (path.parent / name).is_file(), f"{path.name}: {name}"
    for name in re.findall(r'(?:href|src)="/assets/([^"]+)"', (PAGE / "index.html").read_text("utf-8")):
        assert (PAGE / name).is_file(), name
