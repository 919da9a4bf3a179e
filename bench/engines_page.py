"""``python -m bench.engines_page``: measure every engine and write the figures into the pages.

Times go to ``docs/benchmarks.md``, the comparison of answers to ``docs/quality.md``, sizes on paper to
``docs/engines.md``. It runs ``bench.postgres``, which measures the embedded engine too, ``bench.milvus`` and
``bench.engines``, one after the other, each in a process of its own. ``--written`` only writes what the last runs
found.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from pathlib import Path
from textwrap import fill

from bench.report import RESULTS, Report, Table, load
from bench.sizing import PAPER, on_paper

DOCS = Path(__file__).parent.parent / "docs"
PARTS = ("postgres", "milvus", "engines")
EVERY_ENGINE = "The same answers from every engine"
MILVUS = "Milvus core in process, not a cluster"
SEARCHES = ("hybrid", "hybrid, 5 % filter", "hybrid, 50 % filter", "dense", "lexical")
#: Up to this load average before it began, a run had the machine for itself: the one before it still shows there.
QUIET = 1.5
LOADING = ("records per second, words analysed and all indexed", "bytes on disk per record")


def column(table: Table, row: str, place: int = 1) -> str:
    """One cell, or a dash."""
    found = next((cells for cells in table.rows if cells[0] == row), None)
    return found[place] if found and len(found) > place and found[place] else "–"


def both(table: Table, row: str) -> str:
    return f"{column(table, row)} / {column(table, row, 2)} ms"


def recall_of(report: Report, start: str) -> str:
    value = next((check.measured for check in report.checks if check.requirement.startswith(start)), None)
    return "–" if value is None else f"{value:.3f}".lstrip("0")


def note_of(report: Report, start: str) -> str:
    return next((note.removeprefix(start).strip(" .") for note in report.notes if note.startswith(start)), "–")


def figures(postgres: Report, milvus: Report) -> str:
    """The table of 100,000 passages."""
    searches, loading, embedded = postgres.tables
    there, milvus_loading = milvus.tables[:2]
    rows = [
        ["measured by", "`python -m bench.postgres`", "`python -m bench.postgres`", "`python -m bench.milvus`"],
        *([f"{name}, p50 / p95", both(embedded, name), both(searches, name), both(there, name)] for name in SEARCHES),
        [
            "dense recall@10",
            note_of(postgres, "Dense recall@10 of the embedded engine:").lstrip("0"),
            recall_of(postgres, "dense recall"),
            recall_of(milvus, "dense recall") + " (`FLAT`)",
        ],
        *([name, column(loading, name, 2), column(loading, name), column(milvus_loading, name)] for name in LOADING),
        [
            "load average when it began",
            *(note_of(each, "Load average when it began:") for each in (postgres, postgres, milvus)),
        ],
    ]
    header = ["", "embedded", "PostgreSQL", MILVUS]
    return _grid(header, rows)


def _grid(header: list[str], rows: list[list[str]]) -> str:
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)])


def checks(report: Report) -> str:
    return _grid(["requirement", "limit", "measured", ""], [check.row(True) for check in report.checks])


def _excuses(*reports: Report) -> list[str]:
    """A word about figures that were taken while others used the cores."""
    loads = [float(note_of(report, "Load average when it began:").split()[0]) for report in reports]
    if max(loads) <= QUIET:
        return []
    return [
        "Other work kept both cores busy while this was measured (see the last row), so the times are several times "
        "what they would be on a quiet machine; compare them within a column."
    ]


def times(postgres: Report, milvus: Report) -> str:
    blocks = [
        "The three engines that can keep a corpus, compared in [choosing an engine](engines.md): 100,000 passages of "
        "54 words with 384-d vectors, ten hits, on one machine with 2 cores. A search analyses its words, ranks by "
        "both channels, fuses, and reads the ten best; vectors come ready. `python -m bench.engines_page` measures "
        "all of it and writes this section.",
        figures(postgres, milvus),
        *_excuses(postgres, milvus),
        "PostgreSQL against what it has to show:",
        checks(postgres),
    ]
    return "\n\n".join(blocks)


def answers(engines: Report) -> str:
    quality, nearness = engines.tables
    blocks = [
        f"A corpus gives the same answers wherever it is kept. {quality.title}; corpora are copied with their "
        "vectors, so that nothing but the engine differs. `python -m bench.engines_page` measures this and writes "
        "this section.",
        _grid(quality.header, quality.rows),
        f"**{nearness.title}.** PostgreSQL's index is forced on these small collections, which it would otherwise "
        "compare one by one. The Milvus core finds every neighbour even with few lists probed: it seems to compare "
        "all of them whatever it is told, so its recall says nothing about a cluster's.",
        _grid(nearness.header, nearness.rows),
        checks(engines),
        "\n".join(f"- {note}" for note in engines.notes),
    ]
    return "\n\n".join(blocks)


def write(name: str, heading: str, text: str) -> None:
    """Put the text in the place of what stands under the heading."""
    page = DOCS / name
    before = page.read_text(encoding="utf-8").rstrip() + "\n"
    body = rf"(?<=\n## {heading}\n\n).*?(?=\n\n## |\n\Z)"
    wrapped = "\n\n".join(map(_wrapped, text.split("\n\n")))
    page.write_text(re.sub(body, lambda _: wrapped, before, count=1, flags=re.DOTALL), encoding="utf-8")


def _wrapped(block: str) -> str:
    """A paragraph in lines of the page's width; tables and lists as they are."""
    if block.startswith(("|", "-")):
        return block
    return fill(block, 120, break_long_words=False, break_on_hyphens=False)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.engines_page", description=__doc__)
    parser.add_argument("--written", action="store_true", help="run nothing, write what was found before")
    if not parser.parse_args().written:
        for part in PARTS:
            subprocess.run([sys.executable, "-m", f"bench.{part}"], check=True)
    postgres, milvus, engines = (load(RESULTS / f"{part}.json") for part in PARTS)
    write("benchmarks.md", "engines", times(postgres, milvus))
    write("quality.md", EVERY_ENGINE, answers(engines))
    write("engines.md", PAPER, on_paper(postgres, milvus))
    print("benchmarks.md, quality.md, engines.md written")


if __name__ == "__main__":
    main()
