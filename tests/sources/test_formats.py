from __future__ import annotations

import io
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.extras import reason_for

from ir.config import Settings
from ir.sources import CorpusSource, FileScope
from ir.sources.html import html_text

pypdf = pytest.importorskip("pypdf", reason="pypdf makes the PDF files of these tests")
pytest.importorskip("pypdfium2", reason=reason_for("pypdfium2"))
pytest.importorskip("bs4", reason=reason_for("bs4"))


def pdf(*pages: str, password: str | None = None) -> bytes:
    """A PDF with a line of text on each page."""
    from pypdf.generic import DecodedStreamObject, DictionaryObject, NameObject

    writer = pypdf.PdfWriter()
    for text in pages:
        page = writer.add_blank_page(300, 300)
        font = DictionaryObject(
            {
                NameObject("/Type"): NameObject("/Font"),
                NameObject("/Subtype"): NameObject("/Type1"),
                NameObject("/BaseFont"): NameObject("/Helvetica"),
            }
        )
        fonts = DictionaryObject({NameObject("/F1"): writer._add_object(font)})
        page[NameObject("/Resources")] = DictionaryObject({NameObject("/Font"): fonts})
        stream = DecodedStreamObject()
        stream.set_data(f"BT /F1 12 Tf 10 100 Td ({text}) Tj ET".encode())
        page[NameObject("/Contents")] = writer._add_object(stream)
    writer.add_metadata({"/Title": "The Paper"})
    if password:
        writer.encrypt(password, algorithm="RC4-128")
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


@pytest.mark.parametrize(("query", "page"), [("apples", 1), ("pears", 2), ("quinces", 4)])
def test_the_page_that_is_cited_is_the_one_with_the_match(tmp_path: Path, query: str, page: int) -> None:
    from ir.app import Context
    from ir.app.preparing import answer
    from ir.app.searching import SearchRequest, search

    (tmp_path / "a.pdf").write_bytes(pdf("All about apples", "All about pears", "", "All about quinces"))
    context = Context(Settings.load({"embedder": "light", "mode": "lexical"}))
    (found,) = answer(search, SearchRequest(query, str(tmp_path)), context).found
    assert found.hit.metadata["n_chunks"] == 1
    assert (found.citation.page, found.citation.line) == (page, None)


def test_chunks_of_a_pdf_know_their_page(tmp_path: Path) -> None:
    (tmp_path / "a.pdf").write_bytes(pdf("First page about apples", "Second page about pears", "Third page"))
    source = CorpusSource.from_files(tmp_path, pattern=None)
    strategy = source.indexing_strategy.with_budget(8)  # type: ignore[attr-defined]
    plan = strategy.decompose("a.pdf", source.scope["a.pdf"])
    pages = {surface.metadata["page"]: surface for surface in plan.surfaces}
    assert set(pages) == {1, 2, 3}
    assert any("pears" in s.text for s in plan.surfaces if s.metadata["page"] == 2)
    assert all("line_start" not in surface.metadata for surface in plan.surfaces)
    assert plan.filter_fields["title"] == "The Paper"


def test_pdfs_that_cannot_be_read_are_reported(tmp_path: Path) -> None:
    (tmp_path / "damaged.pdf").write_bytes(b"%PDF-1.4\n" + b"\xff\0junk" * 50)
    (tmp_path / "locked.pdf").write_bytes(pdf("secret", password="x"))
    (tmp_path / "scan.pdf").write_bytes(pdf(""))
    scope = FileScope(tmp_path, pattern=None)
    assert [scope.get(key) for key in scope] == [None, None, None]
    said = {item.id: item.reason for item in scope.skipped()}
    assert said["damaged.pdf"].startswith("PDF cannot be read: ")
    assert said["locked.pdf"] == "PDF is protected by a password"
    assert said["scan.pdf"] == "PDF holds no text"


def test_html_becomes_visible_text_with_headings(tmp_path: Path) -> None:
    page = """<html><head><title> The
    Page </title><style>p {}</style></head><body><nav>Home</nav><h1>Top</h1>
    <p>One <b>bold</b>&amp; two<br>next</p><!-- hidden --><ul><li>first<li>second</ul>
    <pre>def f():\n    return 1</pre><table><tr><td>a</td><td>b</td></tr></table><script>evil()</script></body>
    </html>"""
    (tmp_path / "a.html").write_text(page)
    source = CorpusSource.from_files(tmp_path, pattern=r"\.html$")
    raw = source.scope["a.html"]
    assert raw["title"] == "The Page"
    assert raw["text"] == (
        "Home\n\n# Top\n\nOne bold& two\nnext\n\n- first\n- second\n\n```\ndef f():\n    return 1\n```\n\na | b |"
    )
    plan = source.indexing_strategy.decompose("a.html", raw)
    assert plan.filter_fields["format"] == "html"
    assert "line_start" not in plan.surfaces[0].metadata


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("<h2><div>Title</div></h2><p>x</p>", "## Title\n\nx"),
        ("<h2>\n  <ul><li><b>Ti</b>tle</li></ul>\n</h2>x", "## Title\n\nx"),
        ("<h1><img></h1><p>x</p>", "x"),
        ("<h1>Title</h2><p>x</p><p>y</p>", "# Title\n\nx\n\ny"),
        ("<h2><pre>a</pre></h2>x", "```\na\n```\n\nx"),
    ],
)
def test_a_heading_is_marked_where_its_words_are(page: str, text: str) -> None:
    assert html_text(page)[0] == text


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("<pre>a\n```\n  b\n```\n</pre>  c", "````\na\n```\n  b\n```\n\n````\n\nc"),
        ("<pre>``<b>``</b></pre><pre>  a</pre>", "`````\n````\n`````\n\n```\n  a\n```"),
        ("<p>```</p> <p>x</p> <pre>  a</pre> <p>y</p>", "```\n\nx\n\n```\n  a\n```\n\ny"),
        ("<pre>a<pre>  b</pre></pre>c", "```\na  b\n```\n\nc"),
    ],
)
def test_what_code_holds_does_not_end_its_block(page: str, text: str) -> None:
    assert html_text(page)[0] == text


@pytest.mark.slow
@pytest.mark.parametrize(
    "page",
    ["<div>" * 5000 + "deep", "<p>x" * 50_000, "<" * 100_000, "&" * 100_000, "<![CDATA[ deep ]]>deep"],
    ids=["nested", "flat", "angles", "entities", "cdata"],
)
def test_hostile_html_ends(page: str) -> None:
    began = time.perf_counter()
    text, title = html_text(page)
    assert time.perf_counter() - began < 20
    assert title is None
    assert isinstance(text, str)


def test_without_the_extras_such_files_are_skipped_and_the_extra_named(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text("<p>x")
    (tmp_path / "b.pdf").write_bytes(b"%PDF")
    (tmp_path / "c.md").write_text("C")
    code = (
        "import sys\n"
        "sys.modules['bs4'] = sys.modules['pypdfium2'] = None\n"
        "import importlib.util as util\n"
        "real = util.find_spec\n"
        "util.find_spec = lambda name, package=None: None if name in ('bs4', 'pypdfium2') else real(name, package)\n"
        "from ir.sources import FileScope\n"
        "scope = FileScope(sys.argv[1], pattern=None)\n"
        "print(list(scope), [tuple(item) for item in scope.skipped()])\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("['c.md']")
    assert "pip install 'ir-substrate[html]'" in done.stdout
    assert "pip install 'ir-substrate[pdf]'" in done.stdout


def test_what_only_leads_about_the_pages_of_a_manual_is_no_text() -> None:
    page = (
        "<p>Next: <a>Arms</a>, Previous: <a>Legs</a>, Up: <a>Body</a> &nbsp; [<a>Contents</a>][<a>Index</a>]</p>"
        "<h2>9.5 Hands<a class=headerlink href='#h'>¶</a></h2><p>Next: wash them, then <a>dry</a> up.</p>"
    )
    assert html_text(page)[0] == "## 9.5 Hands\n\nNext: wash them, then dry up."
