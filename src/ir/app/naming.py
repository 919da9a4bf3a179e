"""What a word about code stands for in a corpus, and why it stands for nothing."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ir.app.context import Context
from ir.app.documents import document_of
from ir.app.places import View, view
from ir.app.related import LONGEST_LINE
from ir.base import POINTER_KEYS, Record, ledger_key

if TYPE_CHECKING:
    from ir.code.definitions import Definition, Meant
    from ir.code.relations import Relations
    from ir.index import Corpus
    from ir.protocols import Store

__all__ = ["Asked", "some"]


class Asked:
    """A word and the corpus that it is about."""

    def __init__(self, word: str, target: str, ctx: Context) -> None:
        self.ctx = ctx
        self.word = word
        self._part: View = view(target, ctx)
        self.name = self._part.target.name
        self._corpus: Corpus = ctx.open(self._part.target)
        self.store: Store = self._corpus.store
        self.notes: tuple[str, ...] = tuple(self._part.notes)
        self.root = None if ctx.for_agent or self._part.root is None else str(self._part.root)

    def relations(self, snapshot: Any) -> Relations:
        from ir.code.relations import Relations

        return Relations(self.store, snapshot)

    def meant(self, relations: Relations, *, types_first: bool = False) -> Meant:
        """What the word stands for; in a part of a corpus, what is there comes first."""
        from ir.code.definitions import Meant

        meant = relations.definitions.find(self._spelled(), types_first=types_first)
        inside = self._part.inside
        if inside and meant.others:
            within = [one for one in meant.others if f"{one.path}/".startswith(f"{inside}/")]
            if within and not f"{meant.chosen[0].path}/".startswith(f"{inside}/"):
                rest = [one for one in (*meant.chosen, *meant.others) if one is not within[0]]
                return Meant((within[0],), tuple(rest), path=meant.path)
        return meant

    def _spelled(self) -> str:
        """The word with its path as the corpus has it: who is in a folder says it as seen from there."""
        root = self._part.root
        if root is None or self.ctx.for_agent:
            return self.word
        for mark in ("::", ":", ""):
            path, found, rest = self.word.partition(mark) if mark == "::" else _cut(self.word, mark)
            if not path or (mark and not found):
                continue
            here = Path(os.path.normpath(Path.cwd() / path))
            base = root if root.is_dir() else root.parent
            if here.is_relative_to(base) and here != base:
                inside = here.relative_to(base).as_posix()
                if self.store.get_ledger_entry(ledger_key(inside)) is not None:
                    return f"{inside}{found}{rest}"
        return self.word

    def folder(self) -> Path | None:
        """The folder that the corpus was made from, as it is registered or as its files say."""
        if self._part.root is not None:
            return self._part.root if self._part.root.exists() else None
        for _, entry in self.store.ledger_items():
            records = self.store.get_records([str(one) for one in entry.get("record_ids", ())[:1]])
            for record in records:
                path = next((str(record.metadata[key]) for key in POINTER_KEYS if record.metadata.get(key)), "")
                end = f"/{entry.get('artifact_id')}"
                if path.endswith(end) and Path(path[: -len(end)]).is_dir():
                    return Path(path[: -len(end)])
            if records:
                return None
        return None

    def lines(self, one: Definition) -> list[str]:
        """The text of a definition, as it is indexed."""
        entry = self.store.get_ledger_entry(ledger_key(one.path))
        if entry is None:
            return []
        held = self.store.get_records([str(record_id) for record_id in entry.get("record_ids", ())])
        inside = [record.id for record in held if _overlaps(record, one)]
        found = document_of({**entry, "record_ids": inside}, self.store).between(one.line, one.end_line)
        return [line if len(line) <= LONGEST_LINE else f"{line[:LONGEST_LINE]}…" for line in found]

    # -- why there is nothing ------------------------------------------------------------------------------------

    def unknown(self, meant: Meant, relations: Relations) -> tuple[str, str, tuple[str, ...], bool | None]:
        """Why a word stands for nothing: the reason, a sentence, similar names, and whether the index is behind."""
        from ir.code.definitions import near

        shown = self.word[:80]
        if meant.path is not None and not relations.definitions.in_file(meant.path):
            return "not_parsed", _unparsed(meant.path), (), None
        names = self.ctx.known(self._corpus, "names of definitions", relations.definitions.names)
        if not names:
            told = f"{self.name!r} has no definitions: its files were not read as code."
            return "no_code", told, (), None
        if meant.path is not None:
            return "unknown_name", f"There is no {shown!r} in {meant.path}.{self._behind()[1]}", meant.near, None
        stale, said = self._behind()
        reason = "stale" if stale else "unknown_name"
        used = relations.files_using(self.word)
        said = f" It is used in {some(used)}.{said}" if used else said
        return reason, f"Nothing here defines {shown!r}.{said}", near(self.word, names), stale

    def nothing(
        self, relation: str, chosen: Sequence[Definition], counts: Mapping[str, int], request: Any
    ) -> tuple[str, str, bool | None]:
        """Why a definition has no such relations."""
        one = chosen[0]
        where = f"{one.name} is defined in {one.path}:{one.line}"
        if counts:
            told = ", ".join(f"{count:,} {how}" for how, count in counts.items())
            return "filtered", f"{where}; there is nothing as sure as {request.resolution}, but {told}.", None
        stale, said = self._behind()
        none = {
            "callers": "nothing calls it by its name",
            "callees": "it calls nothing that is defined here",
            "implementations": "nothing inherits from it or overrides it",
            "tests": "no test calls it directly; a greater depth finds those that reach it through others",
            "impact": "nothing uses it",
        }
        return "stale" if stale else "unused", f"{where}, and {none[relation]}.{said}", stale

    def _behind(self) -> tuple[bool | None, str]:
        """Whether the files have what the index has not, and a sentence about it."""
        from ir.index.refresh import changes_in

        found = changes_in(
            self.name,
            scan_ms=self.ctx.settings["refresh_scan_ms"],
            max_changed=self.ctx.settings["refresh_max_changed"],
        )
        return (True, f" The index is behind the files: {found.reason}") if found.stale else (None, "")


def _overlaps(record: Record, one: Definition) -> bool:
    first, last = record.metadata.get("line_start"), record.metadata.get("line_end")
    return isinstance(first, int) and first <= one.end_line and one.line <= (last if isinstance(last, int) else first)


def _cut(word: str, mark: str) -> tuple[str, str, str]:
    """A path and what follows its last colon."""
    if not mark:
        return word, "", ""
    path, found, rest = word.rpartition(mark)
    return (path, found, rest) if rest.replace("-", "").isdigit() else ("", "", "")


def _unparsed(path: str) -> str:
    from ir.code.languages import language_of

    language = language_of(path.rpartition(".")[2])
    if language is None:
        return f"{path} is not in a language that is read as definitions; search and grep find its lines."
    missing = language.missing()
    if missing is not None:
        return f"{path} was cut as text: {missing} is not installed, so nothing of it has links."
    return f"{path} has no definitions: it is empty, too long to be parsed, or was not read as code."


def some(names: Sequence[str]) -> str:
    """The first few of some names."""
    more = len(names) - 5
    return f"{', '.join(names[:5])} and {more} more" if more > 0 else ", ".join(names)
