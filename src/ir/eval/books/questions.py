"""Questions about books: in the files of the reference pipeline, as JSON lines, or kept with the books.

What answers a question is known by the id of a chunk, by a place in the book (section or page, and a span that is
quoted from it), or by both. An id is lost when a book is cut anew; a place is not.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ir.base import json_clean
from ir.errors import InvalidInput
from ir.eval.cases import META
from ir.eval.files import read_jsonl, write_lines

if TYPE_CHECKING:
    from ir.protocols import Store

__all__ = ["QUERIES", "BookQuestion", "Gold", "find_questions", "kept_questions", "read_questions", "save_questions"]

#: How the reference calls its files of questions.
QUERIES = ".evaluation_queries.json"
_LINES = ".jsonl"
_TEXT = ("query", "query_text", "question")
_GOLD = ("gold", "expected_chunk_ids", "expected_chunk_id")
_ANSWER = ("answer", "reference_answer", "expected_answer")
_BOOK = ("book", "document")
_PLACE = ("id", "book", "section", "page", "quote")


@dataclass(frozen=True)
class Gold:
    """One thing that answers a question: a chunk by its ``id``, or a place where a ``quote`` stands."""

    id: str | None = None
    book: str | None = None
    section: tuple[str, ...] = ()
    page: str | None = None
    quote: str | None = None

    def to_dict(self) -> dict[str, Any]:
        told = {"id": self.id, "book": self.book, "section": list(self.section), "page": self.page, "quote": self.quote}
        return {name: value for name, value in told.items() if value}

    @classmethod
    def read(cls, told: Any, where: str) -> Gold:
        if isinstance(told, (str, int)) and not isinstance(told, bool) and str(told).strip():
            return cls(id=str(told))
        if not isinstance(told, Mapping):
            raise InvalidInput(f"{where}: gold is an id, or an object that names a place, not {told!r}.")
        strange = [str(name) for name in told if name not in _PLACE]
        if strange:
            raise InvalidInput(f"{where}: gold has no {strange[0]!r}; it has {', '.join(_PLACE)}.")
        section = told.get("section") or ()
        path = [part.strip() for part in section.split(">")] if isinstance(section, str) else section
        if not isinstance(path, (list, tuple)) or not all(isinstance(part, str) for part in path):
            raise InvalidInput(f"{where}: the section of gold is a text or a list of headings, not {section!r}.")
        plain = {name: _word(told.get(name), name, where) for name in ("id", "book", "page", "quote")}
        made = cls(section=tuple(part for part in path if part), **plain)
        if not (made.id or made.section or made.page or made.quote):
            raise InvalidInput(f"{where}: gold needs an id, a section, a page or a quote.")
        return made


@dataclass(frozen=True)
class BookQuestion:
    """A question, what answers it, and perhaps which ``book`` it is about, of which ``type`` it is, and an ``answer``
    in words. Without gold nothing is known of what answers it."""

    id: str
    text: str
    gold: tuple[Gold, ...] = ()
    book: str | None = None
    type: str | None = None
    answer: str | None = None

    def to_dict(self) -> dict[str, Any]:
        told = {"id": self.id, "query": self.text, "gold": [one.to_dict() for one in self.gold]}
        more = {"book": self.book, "type": self.type, "answer": self.answer}
        return told | {name: value for name, value in more.items() if value is not None}

    @classmethod
    def read(cls, data: Mapping[str, Any], where: str, *, number: int, book: str | None = None) -> BookQuestion:
        """A question as either kind of file has it."""
        text = _first(data, _TEXT)
        if not isinstance(text, str) or not text.strip():
            raise InvalidInput(f"{where}: a question needs its text, as 'query' or 'query_text'.")
        if not any(name in data for name in _GOLD):
            held = ", ".join(repr(str(name)) for name in sorted(data, key=str)) or "nothing"
            raise InvalidInput(f"{where}: a question needs 'gold' or 'expected_chunk_ids' (it has {held}).")
        gold = _first(data, _GOLD)
        given = [] if gold in (None, "") else gold if isinstance(gold, (list, tuple)) else [gold]
        about = {
            "book": _word(_first(data, _BOOK), "book", where) or book,
            "type": _word(data.get("query_type", data.get("type")), "type", where),
            "answer": _word(_first(data, _ANSWER), "answer", where),
        }
        known = _word(data.get("id", data.get("_id")), "id", where) or f"q{number:05d}"
        return cls(known, text.strip(), tuple(dict.fromkeys(Gold.read(one, where) for one in given)), **about)


def _first(data: Mapping[str, Any], names: Sequence[str]) -> Any:
    return next((data[name] for name in names if data.get(name) is not None), None)


def _word(value: Any, name: str, where: str) -> str | None:
    if value is None or value == "":
        return None
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        raise InvalidInput(f"{where}: {name} must be a text, not {value!r}.")
    return str(value).strip() or None


def find_questions(place: str | Path) -> list[Path]:
    """The files of questions at or below a folder; a file is one by itself."""
    path = Path(place).expanduser()
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise InvalidInput(f"There is no file or folder {str(path)!r}.", remedy="Check the path.")
    found = sorted(one for one in path.rglob("*") if one.name.endswith((QUERIES, _LINES)) and one.is_file())
    if not found:
        raise InvalidInput(
            f"There are no questions in {path}.", remedy=f"They are in files that end in {QUERIES} or {_LINES}."
        )
    return found


def read_questions(files: Iterable[Path]) -> tuple[list[BookQuestion], int]:
    """The questions of some files, and how many of them said what another had said already.

    Two that share an id and a book are told apart by a number.
    """
    return _told_apart(question for file in files for question in _read_file(file))


def _read_file(file: Path) -> Iterator[BookQuestion]:
    if file.name.endswith(_LINES):
        number = 0
        for where, data in read_jsonl(file):
            if META not in data:
                yield BookQuestion.read(data, where, number=number)
                number += 1
        return
    try:
        told = json.loads(file.read_bytes().decode("utf-8-sig"))
    except OSError as error:
        raise InvalidInput(f"{file} cannot be read: {error.strerror or error}.", remedy="Check the path.") from None
    except json.JSONDecodeError as error:
        raise InvalidInput(
            f"{file}:{error.lineno}: not valid JSON: {error.msg} at column {error.colno}.",
            remedy="Write the file again; it may have been cut off.",
        ) from None
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"{file} is not JSON in UTF-8: {error}.", remedy="Write the file again.") from None
    if not isinstance(told, Mapping) or not isinstance(told.get("queries"), list):
        raise InvalidInput(f"{file}: expected an object with a list of 'queries'.")
    yield from _listed(told["queries"], f"{file}: queries", _word(told.get("document"), "document", str(file)))


def _listed(queries: Sequence[Any], where: str, book: str | None) -> Iterator[BookQuestion]:
    for number, data in enumerate(queries):
        at = f"{where}[{number}]"
        if not isinstance(data, Mapping):
            raise InvalidInput(f"{at}: expected an object, found {type(data).__name__}.")
        yield BookQuestion.read(data, at, number=number, book=book)


def kept_questions(stores: Mapping[str, Store]) -> tuple[list[BookQuestion], int]:
    """The questions that came with the books of some corpora."""

    def held() -> Iterator[BookQuestion]:
        for name, store in stores.items():
            for nodes in store.iter_nodes():
                for node in nodes:
                    queries = node.properties.get("queries") if node.type == "document" else None
                    if isinstance(queries, (list, tuple)):
                        book = node.properties.get("book") or node.id
                        yield from _listed(queries, f"{name}: {node.id}: queries", str(book))

    return _told_apart(held())


def _told_apart(questions: Iterable[BookQuestion]) -> tuple[list[BookQuestion], int]:
    from dataclasses import replace

    found: dict[tuple[str | None, str], BookQuestion] = {}
    same = 0
    for question in questions:
        key, number = (question.book, question.id), 1
        while key in found and (found[key].text, found[key].gold) != (question.text, question.gold):
            number += 1
            key = (question.book, f"{question.id}-{number}")
        same += key in found
        found.setdefault(key, replace(question, id=key[1]))
    return list(found.values()), same


def save_questions(questions: Iterable[BookQuestion], path: str | Path) -> None:
    """Write questions as JSON lines."""
    write_lines(path, [json.dumps(json_clean(one.to_dict()), ensure_ascii=False) for one in questions])
