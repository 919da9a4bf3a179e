"""One page with tables and pictures, complete in itself: it can be mailed, and loads nothing."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from ir.eval.files import write_lines

__all__ = ["Section", "html_report", "save_html_report"]

_STYLE = """
:root { color-scheme: light dark; --ink: #1d2329; --paper: #fff; --rule: #d5dae0; --soft: #f4f6f8; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e4e8ec; --paper: #15191d; --rule: #39414a; --soft: #1e242a; }
}
body { margin: 2rem auto; max-width: 60rem; padding: 0 1rem; font: 16px/1.5 system-ui, sans-serif;
       color: var(--ink); background: var(--paper); }
h1 { font-size: 1.6rem; } h2 { font-size: 1.2rem; margin-top: 2.2rem; border-bottom: 1px solid var(--rule); }
pre { background: var(--soft); padding: .8rem; overflow-x: auto; font-size: .85rem; }
img { max-width: 100%; height: auto; background: #fff; border: 1px solid var(--rule); }
"""


@dataclass(frozen=True)
class Section:
    """A part of the page: a heading, some text, a report (anything with ``table()``, or text), pictures as PNG."""

    title: str
    text: str = ""
    report: Any = None
    images: Sequence[bytes] = ()

    def to_html(self) -> str:
        parts = [f"<section>\n<h2>{escape(self.title)}</h2>"]
        if self.text:
            parts.append(f"<p>{escape(self.text)}</p>")
        if self.report is not None:
            table = self.report.table() if hasattr(self.report, "table") else str(self.report)
            parts.append(f"<pre>{escape(table)}</pre>")
        for number, image in enumerate(self.images, start=1):
            data = base64.b64encode(image).decode("ascii")
            alt = escape(f"{self.title}, picture {number}", quote=True)
            parts.append(f'<img alt="{alt}" src="data:image/png;base64,{data}">')
        return "\n".join([*parts, "</section>"])


def html_report(title: str, sections: Sequence[Section], *, note: str = "") -> str:
    """The page as text. Everything given is escaped; pictures are inline.

    >>> "<script>" in html_report("<script>", [Section("a < b")])
    False
    """
    name = escape(title)
    body = "\n".join(section.to_html() for section in sections)
    intro = f"<p>{escape(note)}</p>\n" if note else ""
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{name}</title>\n<style>{_STYLE}</style>\n</head>\n"
        f"<body>\n<h1>{name}</h1>\n{intro}{body}\n</body>\n</html>\n"
    )


def save_html_report(path: str | Path, title: str, sections: Sequence[Section], *, note: str = "") -> Path:
    """Write the page; returns where it is."""
    write_lines(path, [html_report(title, sections, note=note).rstrip("\n")])
    return Path(path)
