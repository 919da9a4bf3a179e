"""Which definitions differ between a revision and the work tree of a git repository.

Both versions of each changed file are parsed and compared definition by definition, so it does not matter where in the
file they are, nor how old the index is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ir.code.definitions import Definition, qualified
from ir.code.facts import Facts
from ir.code.languages import Language, language_of
from ir.code.linking import symbol_key
from ir.errors import InvalidInput
from ir.sources.git import Repository

__all__ = ["Changes", "changes_since"]

#: A diff of more files is read in part.
_FILES = 500
_LARGEST = 1_000_000


@dataclass
class Changes:
    """``kept`` are there in both versions or new, ``gone`` are no more where they were; each as the files say it now.

    ``loose`` are files that changed outside of any definition, ``unread`` those of which nobody can tell the parts.
    """

    kept: list[Definition] = field(default_factory=list)
    gone: list[Definition] = field(default_factory=list)
    loose: list[str] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)
    files: int = 0


def changes_since(root: Path, revision: str) -> Changes:
    """What differs from a revision, below a folder; files that git does not know yet are new."""
    folder = root if root.is_dir() else root.parent
    repository = Repository.of(folder)
    if repository is None:
        raise InvalidInput(
            f"{folder} is not in the work tree of a git repository, so there is no diff.",
            remedy="Name a symbol instead.",
        )
    commit = repository.commit_named(revision)
    found = Changes()
    pairs = repository.changed_since(commit, folder)
    found.files = len(pairs)
    found.unread += [str(new or old) for old, new in pairs[_FILES:]]
    olds = [old for old, _ in pairs[:_FILES] if old is not None]
    before = repository.contents(commit, folder, olds, largest=_LARGEST)
    for old, new in pairs[:_FILES]:
        now = None if new is None else _text(folder / new)
        _compare(old, _decoded(before.get(old or "")), new, now, found)
    return found


def _compare(old: str | None, before: str | None, new: str | None, now: str | None, found: Changes) -> None:
    path = str(new or old)
    language = language_of(path.rpartition(".")[2])
    if language is None or language.missing() is not None or (before is None and now is None):
        found.unread.append(path)
        return
    earlier = _parts(language, before, str(old)) if before is not None else {}
    later = _parts(language, now, str(new)) if now is not None else {}
    moved = old is not None and new is not None and old != new
    for symbol, (definition, text) in later.items():
        if symbol in earlier and earlier[symbol][1] == text:
            continue
        if definition.kind != "module":
            found.kept.append(definition)
        elif before is not None and text.strip() != earlier.get(symbol, (definition, ""))[1].strip():
            found.loose.append(path)
    for symbol, (definition, _) in earlier.items():
        if symbol not in later or moved:
            found.gone.append(definition)


def _parts(language: Language, text: str, path: str) -> dict[str, tuple[Definition, str]]:
    """Each definition of a file with its own text, which is not that of the definitions inside it."""
    facts = language.read(text, path)
    source = text.encode("utf-8", "replace")
    inner: dict[int, list[tuple[int, int]]] = {}
    for one in facts.definitions[1:]:
        inner.setdefault(one.owner, []).append((one.start, one.end))
    return {
        one.symbol: (_definition(facts, number, language), _without(source, one.start, one.end, inner.get(number, ())))
        for number, one in enumerate(facts.definitions)
    }


def _definition(facts: Facts, number: int, language: Language) -> Definition:
    one = facts.definitions[number]
    key = symbol_key(language.family, facts.path, one.symbol)
    name = qualified(one.symbol) or one.name
    return Definition(
        key, one.kind, name, facts.path, one.line_start, one.line_end, one.signature, one.doc, language.name
    )


def _without(source: bytes, start: int, end: int, inner: Sequence[tuple[int, int]]) -> str:
    kept, at = [], start
    for low, high in sorted(inner):
        if low >= at:
            kept.append(source[at:low])
            at = high
    kept.append(source[at:end])
    return b"".join(kept).decode("utf-8", "replace")


def _decoded(content: bytes | None) -> str | None:
    return None if content is None else content.decode("utf-8", "replace")


def _text(path: Path) -> str | None:
    try:
        if path.is_symlink() or not path.is_file() or path.stat().st_size > _LARGEST:
            return None
        return path.read_text("utf-8", "replace")
    except OSError:
        return None
