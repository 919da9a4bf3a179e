"""Agent skills: folders that hold a SKILL.md."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, count
from pathlib import Path
from typing import Any

from ir.base import POINTER_KEYS
from ir.errors import InvalidInput, SourceError
from ir.filters import matches, parse_filter
from ir.sources.files import FileScope
from ir.sources.loaded import Loader, Placed
from ir.sources.records import Fetcher, fetched, resolve_fetcher
from ir.sources.skipped import Skip

__all__ = ["SKILL_ROOTS", "load_skills"]

#: Where skills are looked for by default.
SKILL_ROOTS = ("~/.claude/skills", ".claude/skills", "skills")
_SKILL_FILE = r"(?:^|/)SKILL\.md$"
_SUMMARY = 500
_BLANK_LINES = re.compile(r"\n[ \t\r]*\n")

Wanted = Callable[[Mapping[str, Any]], bool]


def load_skills(
    roots: Sequence[str | Path] | None = None, fetcher: Fetcher | str | None = None, filter: Any = None
) -> Loader:
    """A loader of skills from folders, or from ``fetcher``; ``filter`` is a function or a metadata filter."""
    fetch = None if fetcher is None else resolve_fetcher(fetcher)
    wanted = _wanted(filter)

    def load(skip: Skip) -> Iterator[Placed]:
        records = _fetched(fetch) if fetch is not None else _found(_roots(roots), skip)
        return (record for record in records if wanted(record.raw))

    return load


def _wanted(filter: Any) -> Wanted:
    if filter is None:
        return lambda record: True
    if isinstance(filter, Mapping):
        tree = parse_filter(filter)
        return lambda record: tree is None or matches(tree, record)
    if callable(filter):
        return lambda record: bool(filter(record))
    raise InvalidInput(f"filter must be a function or a mapping such as {{'parent': 'ops'}}, not {filter!r}.")


def _roots(given: Sequence[str | Path] | None) -> list[Path]:
    if given is not None:
        return [Path(root).expanduser() for root in ([given] if isinstance(given, (str, Path)) else given)]
    found = [Path(root).expanduser() for root in SKILL_ROOTS]
    there = [root for root in found if root.is_dir()]
    if not there:
        raise SourceError(
            f"There are no skills: none of {', '.join(SKILL_ROOTS)} exists.",
            remedy="Name a folder: ir register skills PATH --kind skills; from Python, roots=[…].",
        )
    return there


def _fetched(fetch: Fetcher) -> Iterator[Placed]:
    named: dict[str, list[Placed]] = {}
    for number, record in enumerate(fetched(fetch), 1):
        name = record.get("id") or record.get("name") if isinstance(record, Mapping) else None
        if not name:
            raise SourceError(f"Skill record {number} has no name.", remedy="Each record is a mapping with 'name'.")
        named.setdefault(str(name), []).append(Placed(str(name), dict(record), f"record {number}"))
    taken = set(named)
    for equals in named.values():
        yield from _told_apart(equals, taken)


def _told_apart(equals: list[Placed], taken: set[str]) -> Iterator[Placed]:
    """Skills of one name: the first keeps it, the others add their parent, else their path, else a number.

    They are put in order by what they are, so that each has the same id in every build, however they are fetched.
    """
    if len(equals) == 1:
        yield from equals
        return
    first, *others = sorted(equals, key=lambda skill: (*_places(skill.raw), repr(skill.raw)))
    yield first
    for skill in others:
        within = [f"{skill.id}@{place}" for place in _places(skill.raw) if place]
        numbered = (f"{skill.id}@{number}" for number in count(2))
        own = next(candidate for candidate in chain(within, numbered) if candidate not in taken)
        taken.add(own)
        yield skill._replace(id=own)


def _places(record: Mapping[str, Any]) -> tuple[str, str]:
    """Where a skill is at home: its parent, and its path."""
    path = next((record[key] for key in POINTER_KEYS if record.get(key)), "")
    return _text(record.get("parent")), str(path)


def _found(roots: Iterable[Path], skip: Skip) -> Iterator[Placed]:
    """The skills below the roots. A name that was taken is told apart by its folder; a file is taken once."""
    names: set[str] = set()
    paths: set[str] = set()
    for root in roots:
        scope = FileScope(root, pattern=_SKILL_FILE, hidden=True)
        for key in scope:
            raw = scope.get(key)
            if raw is None or (path := str(Path(raw["path"]).resolve())) in paths:
                continue
            paths.add(path)
            record = _record(key, raw, root)
            name = record["name"]
            skill_id = name if name not in names else f"{name}@{Path(raw['path']).parent}"
            names.add(name)
            yield Placed(skill_id, record, raw["path"])
        for problem in scope.skipped():
            # A skill's name is in its file, so we cannot know which skill was unreadable: all of them stay.
            skip(f"{root.name}/{problem.id}", problem.reason, None if problem.below is None else "")


def _record(key: str, raw: Mapping[str, Any], root: Path) -> dict[str, Any]:
    folders = key.split("/")[:-1]
    fields = {name: value for name, value in raw.items() if name not in ("text", "path", "format", "_first_line")}
    name = _text(fields.get("name")) or (folders[-1] if folders else root.resolve().name)
    parent = _text(fields.get("parent")) or (folders[-2] if len(folders) > 1 else None)
    description = _text(fields.get("description")) or _first_paragraph(raw["text"])
    fields.update(name=name, description=description, skill_path=raw["path"])
    return {**fields, "parent": parent} if parent else fields


def _text(value: Any) -> str:
    return str(value).strip() if isinstance(value, (str, int, float)) else ""


def _first_paragraph(text: str) -> str:
    paragraphs = (part.strip() for part in _BLANK_LINES.split(text[:20_000]))
    return next((part for part in paragraphs if part and not part.startswith("#")), "")[:_SUMMARY]
