"""What was measured of books: as values, as JSON, as Markdown, as a page with plots."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from ir.base import json_clean
from ir.errors import MissingExtra
from ir.eval.books.plots import plot_graph_gain, plot_hits, plot_routing
from ir.eval.files import write_lines
from ir.eval.page import Section, save_html_report
from ir.eval.tables import number, plain_table

__all__ = ["BookReport", "GraphRow", "QuestionRow", "RoutingRow", "book_markdown", "save_book_report"]

_MISSING_SHOWN = 20
#: So many books are named in a title, and in a table.
_NAMED, _LISTED = 5, 50


@dataclass(frozen=True)
class RoutingRow:
    """Searching so many chapters (``None``: all). ``evaluability`` is the share of questions whose gold is in them,
    ``metrics`` are over those questions, ``overall`` over all that can be evaluated; ``fallbacks`` is the share of
    searches that went through the whole book after all."""

    top_n: int | None
    evaluability: float | None
    fallbacks: float | None
    metrics: Mapping[str, float]
    overall: Mapping[str, float]


@dataclass(frozen=True)
class GraphRow:
    """Following links in one way; ``gain`` is over not following any, and ``p`` how likely such a gain in MRR, or such
    a loss, is by luck alone."""

    graph: str
    metrics: Mapping[str, float]
    gain: Mapping[str, float]
    p: float | None


@dataclass(frozen=True)
class QuestionRow:
    """One question: its gold and how that was found, the ``rank`` of the first of it, and what was found."""

    id: str
    query: str
    book: str | None
    type: str | None
    gold: tuple[str, ...]
    how: tuple[str, ...]
    rank: int | None
    quotes: bool
    found: tuple[tuple[str, float], ...]
    books: tuple[str, ...]


@dataclass(frozen=True)
class BookReport:
    """All that was measured. ``resolved`` counts how gold was found, ``missing`` lists what was not, by question.

    ``metrics`` has ``hit@k`` and ``mrr`` for passages that are gold, and ``section_hit@k`` and ``section_mrr`` where
    any passage of the right section counts, over the questions that were asked; ``all@k`` is over those of which
    several gold are in the corpus. ``intervals`` say where the first two lie with a probability of 95 %.
    ``contamination`` is empty where there is one book, ``similarity`` where nearness could not be measured.
    ``expanded``, ``routing`` and ``graph`` are there if they were asked for.
    """

    corpora: tuple[str, ...]
    books: Mapping[str, int]
    settings: Mapping[str, Any]
    embedders: Mapping[str, str]
    ks: tuple[int, ...]
    counts: Mapping[str, int]
    evaluability: float | None
    resolved: Mapping[str, int]
    missing: Mapping[str, Sequence[Mapping[str, Any]]]
    unknown_books: Mapping[str, int]
    metrics: Mapping[str, float]
    intervals: Mapping[str, tuple[float, float]]
    contamination: Mapping[str, float]
    similarity: Mapping[str, float]
    answers: Mapping[str, int]
    quotes: Mapping[str, Any]
    without_quotes: Mapping[str, float]
    by_type: Mapping[str, Mapping[str, float]]
    by_book: Mapping[str, Mapping[str, float]]
    questions: tuple[QuestionRow, ...]
    expanded: Mapping[str, Any] | None = None
    routing: tuple[RoutingRow, ...] | None = None
    graph: tuple[GraphRow, ...] | None = None
    notes: tuple[str, ...] = field(default=())

    @property
    def curves(self) -> dict[str, dict[str, float]]:
        """Hits by depth, ready to be drawn: ``{"hit": {"1": 0.4}}``."""
        parts = {"hit": self.metrics, "section_hit": self.metrics}
        if self.expanded is not None:
            parts["expanded_hit"] = {f"expanded_{name}": value for name, value in self.expanded["metrics"].items()}
        return {
            name: {str(k): values[f"{name}@{k}"] for k in self.ks if f"{name}@{k}" in values}
            for name, values in parts.items()
            if values
        }

    def to_dict(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = json_clean({**asdict(self), "curves": self.curves})
        return cleaned

    def table(self) -> str:
        return plain_table(["measure", *(f"@{k}" for k in self.ks)], self.measure_rows())

    def measure_rows(self) -> list[list[object]]:
        """Each measure by k; MRR has none and stands under the deepest."""
        rows: list[list[object]] = []
        named = [
            ("hit", self.metrics, "hit@{k}"),
            ("all gold of several", self.metrics, "all@{k}"),
            ("hit in the right section", self.metrics, "section_hit@{k}"),
            ("hit, expanded gold", (self.expanded or {}).get("metrics", {}), "hit@{k}"),
            ("from another book", self.contamination, "share@{k}"),
            ("questions with any of another book", self.contamination, "any@{k}"),
            ("answer similarity", self.similarity, "similarity@{k}"),
        ]
        for name, values, key in named:
            if any(key.format(k=k) in values for k in self.ks):
                rows.append([name, *(values.get(key.format(k=k)) for k in self.ks)])
        blank: list[object] = [""] * (len(self.ks) - 1)
        for name, values, key in (
            ("MRR", self.metrics, "mrr"),
            ("MRR in the right section", self.metrics, "section_mrr"),
            ("MRR, expanded gold", (self.expanded or {}).get("metrics", {}), "mrr"),
        ):
            if key in values:
                rows.append([name, *blank, values[key]])
        return rows

    def routing_rows(self) -> list[list[object]]:
        return [
            [
                "all" if row.top_n is None else str(row.top_n),
                row.evaluability,
                *(row.metrics.get(name) for name in ("mrr", "hit@1")),
                *(row.overall.get(name) for name in ("mrr", "hit@1")),
                row.fallbacks,
            ]
            for row in self.routing or ()
        ]

    def graph_rows(self) -> list[list[object]]:
        names = [*(f"hit@{k}" for k in self.ks), "mrr"]
        return [
            [row.graph, *(row.metrics.get(name) for name in names), row.gain.get("mrr"), row.p]
            for row in self.graph or ()
        ]


ROUTING_COLUMNS = ("chapters", "evaluability", "MRR", "hit@1", "MRR of all", "hit@1 of all", "fallbacks")


def graph_columns(report: BookReport) -> tuple[str, ...]:
    return ("links", *(f"hit@{k}" for k in report.ks), "MRR", "gain in MRR", "p")


def book_markdown(report: BookReport, *, pictures: Mapping[str, str] | None = None) -> str:
    """The whole report to be read; ``pictures`` are files by the part that they show."""
    drawn = pictures or {}
    counts, quotes = report.counts, report.quotes
    parts = [
        f"# {_title(report)}",
        f"{counts['questions']:,} questions, {counts['with_gold']:,} with gold, {counts['evaluable']:,} evaluable "
        f"(evaluability {number(report.evaluability, 3)}), {counts['asked']:,} asked.",
        _markdown(["setting", "value"], [[name, str(value)] for name, value in report.settings.items()]),
        "## Measures",
        "A hit is a passage that is gold; a passage of the right section is counted apart.",
        _markdown(["measure", *(f"@{k}" for k in report.ks)], report.measure_rows()),
    ]
    if report.intervals:
        told = ", ".join(f"{name} {low:.3f} to {high:.3f}" for name, (low, high) in report.intervals.items())
        parts.append(f"With a probability of 95 %: {told}.")
    if "hits" in drawn:
        parts.append(f"![Hits by depth]({drawn['hits']})")
    parts += ["## Gold", _markdown(["found by", "gold"], [[how, str(count)] for how, count in report.resolved.items()])]
    lost = [f"- {name}: {json.dumps(gold, ensure_ascii=False)}" for name, gold in report.missing.items()]
    if lost:
        rest = [f"- … and {len(lost) - _MISSING_SHOWN} more questions"] if len(lost) > _MISSING_SHOWN else []
        parts += ["Not in the corpus:", "\n".join([*lost[:_MISSING_SHOWN], *rest])]
    told = "left out" if quotes["left_out"] else "counted"
    parts.append(
        f"{quotes['questions']:,} questions quote their gold ({quotes['words']} words in a row, or all of it); "
        f"they are {told}."
    )
    if report.without_quotes and quotes["questions"]:
        rows = [[name, value] for name, value in report.without_quotes.items()]
        parts += ["Without them:", _markdown(["measure", "value"], rows)]
    if report.routing is not None:
        parts += ["## Routing by chapters", _markdown(ROUTING_COLUMNS, report.routing_rows())]
        parts += [f"![Routing by chapters]({drawn['routing']})"] if "routing" in drawn else []
    if report.graph is not None:
        parts += ["## Following links", _markdown(graph_columns(report), report.graph_rows())]
        parts += [f"![What links gain]({drawn['graph']})"] if "graph" in drawn else []
    for title, held in (("By type", report.by_type), ("By book", report.by_book)):
        if len(held) > 1:
            names = list(dict.fromkeys(name for values in held.values() for name in values))
            rows = [[part, *(values.get(name) for name in names)] for part, values in held.items()]
            parts += [f"## {title}", _markdown(["", *names], rows[:_LISTED])]
            parts += [f"… and {len(rows) - _LISTED:,} more, in report.json"] if len(rows) > _LISTED else []
    parts += [f"- {note}" for note in report.notes]
    return "\n\n".join(parts) + "\n"


def _title(report: BookReport) -> str:
    named = list(report.books)[:_NAMED]
    more = f" and {len(report.books) - _NAMED:,} more books" if len(report.books) > _NAMED else ""
    return f"Questions about {', '.join(named)}{more}"


def _markdown(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(_cell(cell) for cell in line)} |" for line in lines)


def _cell(cell: object) -> str:
    return number(cell, 3).replace("|", "\\|").replace("\n", " ")


def save_book_report(report: BookReport, folder: str | Path) -> tuple[list[str], str | None]:
    """Write ``report.json``, ``report.md``, ``report.html`` and plots into a folder; the names of what was written, and
    why there are no plots, if there are none."""
    place = Path(folder)
    images, why = _pictures(report)
    files = {name: f"{name}.png" for name in images}
    write_lines(place / "report.json", [json.dumps(report.to_dict(), ensure_ascii=False, indent=1)])
    write_lines(place / "report.md", [book_markdown(report, pictures=files).rstrip("\n")])
    for name, image in images.items():
        (place / files[name]).write_bytes(image)
    sections = [
        Section("Measures", report=report, images=[images["hits"]] if "hits" in images else ()),
        Section("Gold", report=plain_table(["found by", "gold"], [[how, n] for how, n in report.resolved.items()])),
    ]
    if report.routing is not None:
        table = plain_table(ROUTING_COLUMNS, report.routing_rows())
        sections.append(
            Section("Routing by chapters", report=table, images=[images["routing"]] if "routing" in images else ())
        )
    if report.graph is not None:
        table = plain_table(graph_columns(report), report.graph_rows())
        sections.append(Section("Following links", report=table, images=[images["graph"]] if "graph" in images else ()))
    save_html_report(place / "report.html", _title(report), sections)
    return ["report.json", "report.md", "report.html", *files.values()], why


def _pictures(report: BookReport) -> tuple[dict[str, bytes], str | None]:
    images: dict[str, bytes] = {}
    try:
        if report.metrics:
            images["hits"] = plot_hits(report.curves)
        if report.routing is not None and report.metrics:
            images["routing"] = plot_routing([(row.top_n, row.evaluability, row.overall) for row in report.routing])
        if report.graph is not None and report.metrics:
            images["graph"] = plot_graph_gain({row.graph: row.gain for row in report.graph if row.gain})
    except MissingExtra as error:
        return {}, str(error)
    return images, None
