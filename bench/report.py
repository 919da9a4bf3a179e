"""What a run found: tables of figures, and each requirement with what was measured."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"
DOCS = Path(__file__).parent.parent / "docs" / "benchmarks.md"


@dataclass
class Table:
    title: str
    header: list[str]
    rows: list[list[str]] = field(default_factory=list)

    def markdown(self) -> str:
        return f"**{self.title}**\n\n{_grid(self.header, self.rows)}"


@dataclass
class Check:
    """One requirement. ``measured`` is compared with ``limit``; ``at_least`` says which way."""

    requirement: str
    measured: float | None
    limit: float
    unit: str = "×"
    at_least: bool = True

    @property
    def passed(self) -> bool | None:
        if self.measured is None:
            return None
        return self.measured >= self.limit if self.at_least else self.measured <= self.limit

    def row(self, judged: bool) -> list[str]:
        verdict = {True: "pass", False: "FAIL", None: "not measured"}[self.passed] if judged else "–"
        sign = "≥" if self.at_least else "≤"
        measured = "–" if self.measured is None else f"{number(self.measured)} {self.unit}"
        return [self.requirement, f"{sign} {number(self.limit)} {self.unit}", measured, verdict]


@dataclass
class Report:
    part: str
    quick: bool
    tables: list[Table] = field(default_factory=list)
    checks: list[Check] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def table(self, title: str, *header: str) -> Table:
        self.tables.append(Table(title, list(header)))
        return self.tables[-1]

    def check(self, requirement: str, measured: float | None, limit: float, unit: str = "×", **more: Any) -> None:
        self.checks.append(Check(requirement, measured, limit, unit, **more))

    def note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)

    def markdown(self) -> str:
        blocks = [f"## {self.part}" + (" (quick: small sizes, limits are not meant for them)" if self.quick else "")]
        if self.checks:
            rows = [check.row(not self.quick) for check in self.checks]
            blocks.append(_grid(["requirement", "limit", "measured", ""], rows))
        blocks += [table.markdown() for table in self.tables]
        blocks += [f"- {note}" for note in self.notes]
        return "\n\n".join(blocks)

    def save(self) -> Path:
        RESULTS.mkdir(exist_ok=True)
        path = RESULTS / f"{self.part}{'-quick' if self.quick else ''}.json"
        path.write_text(json.dumps(asdict(self), indent=1, ensure_ascii=False), encoding="utf-8")
        return path


def load(path: Path) -> Report:
    raw = json.loads(path.read_text(encoding="utf-8"))
    raw["tables"] = [Table(**item) for item in raw["tables"]]
    raw["checks"] = [Check(**item) for item in raw["checks"]]
    return Report(**raw)


def write_docs(parts: Sequence[str], introduction: str) -> list[str]:
    """Put the figures of the last full run of each part in ``docs/benchmarks.md``; the parts that have none.

    A part that was not run here keeps what stands there, and so does a section that another program writes.
    """
    sections = _sections()
    for part in parts:
        path = RESULTS / f"{part}.json"
        if path.exists():
            sections[part] = load(path).markdown()
    missing = [part for part in parts if part not in sections]
    rest = [f"Not measured yet: {', '.join(missing)}."] if missing else []
    DOCS.parent.mkdir(exist_ok=True)
    others = [name for name in sections if name not in parts]
    written = [sections[name] for name in (*parts, *others) if name in sections]
    DOCS.write_text("\n\n".join([introduction, *written, *rest]) + "\n", encoding="utf-8")
    return missing


def _sections() -> dict[str, str]:
    """What the page says of each part."""
    page = DOCS.read_text(encoding="utf-8") if DOCS.exists() else ""
    found = [section.strip() for section in f"\n{page}".split("\n## ")[1:]]
    return {section.partition("\n")[0]: f"## {section}" for section in found}


def number(value: float) -> str:
    """Three digits that mean something.

    >>> [number(v) for v in (0.01234, 1.234, 98.76, 12345.6)]
    ['0.0123', '1.23', '98.8', '12,346']
    """
    if value == 0:
        return "0"
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def _grid(header: list[str], rows: list[list[str]]) -> str:
    lines = [header, *rows]
    widths = [max(len(line[at]) for line in lines) for at in range(len(header))]
    padded = [[cell.ljust(width) for cell, width in zip(line, widths, strict=True)] for line in lines]
    padded.insert(1, ["-" * width for width in widths])
    return "\n".join("| " + " | ".join(line) + " |" for line in padded)
