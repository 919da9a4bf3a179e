"""Vocabularies, policy lists and usage data from files. A row that cannot be taken is told with its file and line."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ir.errors import InvalidInput, SourceError
from ir.ground.skos import is_linked_data, skos_terms
from ir.ground.terms import Term
from ir.ground.usage import UsageDocument

__all__ = ["Problem", "Reading", "read_policy", "read_terms", "read_usage"]

#: The columns of a file without a header, and other words for them in one with.
_COLUMNS = ("name", "category", "count", "aliases")
_HEADERS = {
    "name": "name",
    "term": "name",
    "tag": "name",
    "topic": "name",
    "category": "category",
    "type": "category",
    "count": "count",
    "post_count": "count",
    "aliases": "aliases",
    "alias": "aliases",
    "display": "display",
    "title": "display",
    "label": "display",
    "definition": "definition",
    "description": "definition",
    "text": "definition",
}
_FIELDS = tuple(Term.__dataclass_fields__)
#: Problems beyond so many are counted, and not told one by one.
_TOLD = 1000
#: A cell may hold all aliases of a term.
_LONGEST_CELL = 1 << 24


@dataclass(frozen=True)
class Problem:
    """What is wrong with a line of a file, and whether that line was left out."""

    file: str
    line: int
    message: str
    left_out: bool = True

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.message}"


@dataclass
class Reading:
    """What was read: terms of distinct names, and what was wrong. ``left_out`` counts rows, told or not."""

    terms: list[Term] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    left_out: int = 0
    rows: int = 0

    def tell(self, file: Path, line: int, message: str, *, left_out: bool = True) -> None:
        self.left_out += left_out
        if len(self.problems) < _TOLD:
            self.problems.append(Problem(file.name, line, message, left_out))


def read_terms(paths: Sequence[str | Path], *, language: str = "en") -> Reading:
    """The terms in CSV (``name,category,count,"alias,alias"``, header optional), JSONL, JSON, or SKOS as JSON-LD.

    ``language`` is that of the labels that are taken from linked data. A name that comes twice is one term with the
    aliases of both, and reported.
    """
    reading = Reading()
    held: dict[str, Term] = {}
    for path in map(Path, paths):
        for line, given in _rows(path, reading, language):
            reading.rows += 1
            try:
                term = _term(given)
            except InvalidInput as error:
                reading.tell(path, line, error.message)
                continue
            if term.name in held:
                reading.tell(
                    path, line, f"The term {term.name!r} is there twice; both are taken as one.", left_out=False
                )
                term = _both(held[term.name], term)
            held[term.name] = term
    reading.terms = list(held.values())
    return reading


def read_policy(path: str | Path) -> tuple[dict[str, float], list[Problem]]:
    """A policy list, ``term,probability`` in CSV; a header is passed over."""
    reading, policy = Reading(), dict[str, float]()
    for line, cells in _csv(Path(path), reading):
        try:
            name, probability = cells[0].strip(), float(cells[1])
            if not name or len(cells) != 2 or not 0 <= probability <= 1:
                raise ValueError(cells)
        except (ValueError, IndexError):
            if line > 1:
                reading.tell(Path(path), line, "A row is `term,probability`, with a number between 0 and 1.")
            continue
        policy[name] = max(probability, policy.get(name, 0.0))
    return policy, reading.problems


def read_usage(path: str | Path) -> tuple[list[UsageDocument], list[Problem]]:
    """Usage data in JSONL: ``["a", "b"]``, or ``{"text": …, "terms": […]}``; ``id`` may be there, too."""
    path, reading, documents = Path(path), Reading(), []
    for line, value in _json_lines(path, reading):
        terms = value if isinstance(value, list) else None
        text = name = ""
        if isinstance(value, dict):
            terms = value.get("terms", value.get("tags"))
            text, name = str(value.get("text") or ""), str(value.get("id", value.get("_id")) or "")
        if not isinstance(terms, list) or not all(isinstance(term, str) for term in terms):
            reading.tell(path, line, 'A line is ["term", …] or {"text": …, "terms": […]}.')
            continue
        documents.append(UsageDocument(text, tuple(term for term in terms if term.strip()), name))
    return documents, reading.problems


def _rows(path: Path, reading: Reading, language: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    readers: dict[str, Callable[[], Iterable[tuple[int, Mapping[str, Any]]]]] = {
        ".csv": lambda: _csv_terms(path, reading),
        ".tsv": lambda: _csv_terms(path, reading),
        ".txt": lambda: ((line, {"name": cells[0]}) for line, cells in _csv(path, reading)),
        ".jsonl": lambda: _json_terms(_json_lines(path, reading), path, reading),
        ".ndjson": lambda: _json_terms(_json_lines(path, reading), path, reading),
        ".json": lambda: _whole_json(path, reading, language),
        ".jsonld": lambda: _whole_json(path, reading, language),
    }
    reader = readers.get(path.suffix.lower())
    if reader is None:
        raise InvalidInput(
            f"{path.name} is in no format that a vocabulary is read from.",
            remedy=f"These are: {', '.join(readers)} (SKOS as JSON-LD).",
        )
    yield from reader()


def _lines(path: Path) -> Iterator[str]:
    try:
        with path.open(encoding="utf-8-sig", newline="", errors="strict") as file:
            yield from file
    except FileNotFoundError:
        raise SourceError(f"There is no file {path}.", remedy="Check the path.") from None
    except UnicodeDecodeError as error:
        raise SourceError(f"{path.name} is not text in UTF-8.", remedy="Save it as UTF-8.") from error
    except OSError as error:
        raise SourceError(f"{path} cannot be read: {error.strerror or error}.") from error


def _csv(path: Path, reading: Reading) -> Iterator[tuple[int, list[str]]]:
    before = csv.field_size_limit(_LONGEST_CELL)
    try:
        rows = csv.reader(_lines(path), delimiter="\t" if path.suffix.lower() == ".tsv" else ",")
        while True:
            try:
                cells = next(rows, None)
            except csv.Error as error:
                reading.tell(path, rows.line_num, f"This is no CSV: {error}.")
                continue
            if cells is None:
                return
            if any(cell.strip() for cell in cells):
                yield rows.line_num, cells
    finally:
        csv.field_size_limit(before)


def _csv_terms(path: Path, reading: Reading) -> Iterator[tuple[int, Mapping[str, Any]]]:
    columns: Sequence[str | None] = _COLUMNS
    for number, (line, cells) in enumerate(_csv(path, reading)):
        if number == 0:
            known = [_HEADERS.get(cell.strip().lower()) for cell in cells]
            if known[0] == "name" and (len(known) == 1 or None not in known[1:2]) and not _is_count(cells[-1]):
                columns = known
                continue
        if len(cells) > len(columns):
            told = f"A row has {len(cells)} fields; {len(columns)} are known here ({', '.join(filter(None, columns))})."
            reading.tell(path, line, told)
            reading.rows += 1
            continue
        given = {column: cell.strip() for column, cell in zip(columns, cells, strict=False) if column}
        yield line, given


def _is_count(cell: str) -> bool:
    return cell.strip().lstrip("+-").isdigit()


def _json_lines(path: Path, reading: Reading) -> Iterator[tuple[int, Any]]:
    for number, line in enumerate(_lines(path), start=1):
        if line.strip():
            try:
                yield number, json.loads(line)
            except (ValueError, RecursionError):
                reading.tell(path, number, "This line is no JSON.")


def _json_terms(
    values: Iterable[tuple[int, Any]], path: Path, reading: Reading
) -> Iterator[tuple[int, Mapping[str, Any]]]:
    for line, value in values:
        if isinstance(value, str):
            yield line, {"name": value}
        elif isinstance(value, dict):
            known = {_HEADERS.get(key, key): held for key, held in value.items()}
            yield line, {key: held for key, held in known.items() if key in _FIELDS}
        else:
            reading.rows += 1
            reading.tell(path, line, "A term is a text or an object with 'name'.")


def _whole_json(path: Path, reading: Reading, language: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    try:
        value = json.loads("".join(_lines(path)))
    except (ValueError, RecursionError) as error:
        raise SourceError(f"{path.name} is no JSON: {error}.") from error
    if is_linked_data(value):
        yield from ((0, term) for term in skos_terms(value, language))
        return
    if isinstance(value, dict):
        value = [{"name": name, **(held if isinstance(held, dict) else {})} for name, held in value.items()]
    if not isinstance(value, list):
        raise SourceError(f"{path.name} holds neither a list of terms nor linked data.")
    yield from _json_terms(enumerate(value, start=1), path, reading)


def _term(given: Mapping[str, Any]) -> Term:
    fields = {name: value for name, value in given.items() if value is not None}
    count = fields.get("count", 0)
    if isinstance(count, str):
        if count and not _is_count(count):
            raise InvalidInput(f"The count of {fields.get('name')!r} must be a whole number, not {count!r}.")
        count = int(count or 0)
    elif isinstance(count, float) and count.is_integer():
        count = int(count)
    aliases = fields.get("aliases", ())
    if isinstance(aliases, str):
        aliases = tuple(part.strip() for part in next(csv.reader([aliases]), []) if part.strip()) if aliases else ()
    name = fields.get("name", "")
    if isinstance(name, str) and any(mark in name for mark in "\r\n\0"):
        raise InvalidInput(f"The name {name!r} holds a line break.")
    texts = {key: str(fields.get(key, "")) for key in ("display", "definition", "category")}
    return Term(name.strip() if isinstance(name, str) else name, count=count, aliases=aliases, **texts)


def _both(first: Term, second: Term) -> Term:
    return Term(
        first.name,
        first.display or second.display,
        first.definition or second.definition,
        first.category or second.category,
        max(first.count, second.count),
        (*first.aliases, *second.aliases),
    )
