"""Who calls a definition, what it calls, what implements it, tests it, or may have to change with it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from ir.app.arguments import MAX_TOKENS, TARGET
from ir.app.context import Context
from ir.app.documents import document_of, tokens_of
from ir.app.fields import Arg
from ir.app.operation import Value, operation
from ir.app.places import View, view
from ir.base import POINTER_KEYS, Record, json_clean, ledger_key
from ir.errors import InvalidInput

if TYPE_CHECKING:
    from ir.code.changes import Changes
    from ir.code.definitions import Definition, Meant
    from ir.code.relations import Related, Relations
    from ir.index import Corpus
    from ir.protocols import Store

__all__ = [
    "CalleesRequest",
    "CallersRequest",
    "Candidate",
    "ImpactRequest",
    "ImplementationsRequest",
    "RelatedPlace",
    "RelationsResponse",
    "SymbolRequest",
    "SymbolResponse",
    "TestsOfRequest",
    "callees",
    "callers",
    "impact",
    "implementations",
    "symbol",
    "tests_of",
]

#: So many definitions of the same name are named; the rest is counted.
_NAMED = 20
_SHOWN_CHANGES = 50
#: What an answer about one symbol may take.
SYMBOL_TOKENS = 2_000
_CALLERS, _TESTS, _CALLEES, _KINDS = 12, 8, 10, 6
_LINE = 200

SYMBOL = Arg("a name, Class.method, path::name, path:line or symbolKey", blank=False, max_chars=2000, metavar="SYMBOL")
DEPTH = Arg("how many steps to go", min=1, max=10, clamp=True, metavar="N")
COUNT = Arg("how many to show", min=1, max=1000, clamp=True, short="-k", metavar="N")
SKIP = Arg("leave out so many, to go on after them", min=0, max=1_000_000, metavar="N")
RESOLUTION = Arg(
    "the least sure links to show: exact, inferred, unique-name or name-only",
    choices="ir.code.relations:RESOLUTIONS",
    metavar="HOW",
    help="The least sure tier to show: exact, inferred, unique-name or name-only (all).",
)


@dataclass(frozen=True)
class CallersRequest(Value):
    """``symbol`` is a bare name, ``Class.method``, ``path::qualified.name``, ``path:line`` or a ``symbolKey``."""

    symbol: Annotated[str, SYMBOL]
    target: Annotated[str, TARGET] = "."
    depth: Annotated[int, DEPTH] = 1
    k: Annotated[int, COUNT] = 20
    skip: Annotated[int, SKIP] = 0
    resolution: Annotated[str | None, RESOLUTION] = None


@dataclass(frozen=True)
class CalleesRequest(CallersRequest):
    """As for callers."""


@dataclass(frozen=True)
class TestsOfRequest(CallersRequest):
    """As for callers; with a ``depth`` above one, also tests that reach the symbol through other functions."""

    __test__ = False


@dataclass(frozen=True)
class ImplementationsRequest(CallersRequest):
    """As for callers. All that inherit are found, however far below, unless ``depth`` says less."""

    depth: Annotated[int, DEPTH] = 10


@dataclass(frozen=True)
class ImpactRequest(Value):
    """Of ``symbol``, or of what differs from the git revision ``diff`` in the folder of the corpus."""

    symbol: Annotated[str | None, SYMBOL] = None
    target: Annotated[str, TARGET] = "."
    diff: Annotated[
        str | None,
        Arg("all that changed since a git revision, instead of a symbol", blank=False, max_chars=400, metavar="[REV]"),
    ] = None
    depth: Annotated[int, DEPTH] = 2
    k: Annotated[int, COUNT] = 20
    skip: Annotated[int, SKIP] = 0
    resolution: Annotated[str | None, RESOLUTION] = None

    def __post_init__(self) -> None:
        if (self.symbol is None) == (self.diff is None):
            raise InvalidInput("Say what changes: a symbol, or a git revision as `diff`, and not both.")


@dataclass(frozen=True)
class SymbolRequest(Value):
    symbol: Annotated[str, SYMBOL]
    target: Annotated[str, TARGET] = "."
    max_tokens: Annotated[int | None, MAX_TOKENS] = None


@dataclass(frozen=True)
class Candidate(Value):
    """A definition: ``name`` is what it is called inside its file. ``change`` says what a diff did to it."""

    key: str
    kind: str
    name: str
    path: str
    line: int
    end_line: int
    signature: str = ""
    doc: str = ""
    change: str | None = None


@dataclass(frozen=True)
class RelatedPlace(Value):
    """The definition ``name``, and ``line`` of its file, where it shows: the call, or the definition itself.

    ``link`` is how it is related to ``of`` (calls, inherits, overrides, references, imports), ``resolution`` how that
    is known, ``depth`` how many steps away it is from what was asked for.
    """

    key: str
    kind: str
    name: str
    path: str
    line: int
    link: str
    resolution: str
    depth: int
    of: str
    test: bool = False


@dataclass(frozen=True)
class RelationsResponse(Value):
    """``definitions`` are those that are answered for, ``others`` have the same name and are not.

    ``found`` comes in tiers, the surest first, and ``counts`` says how many there are in each. Of an impact, ``tests``
    are those that are affected. Where nothing is found ``reason`` and ``why`` say why, and ``near`` similar names.
    ``next_skip`` is the ``skip`` that shows what follows. ``root`` is the folder that paths are below.
    """

    corpus: str
    relation: str
    symbol: str
    definitions: tuple[Candidate, ...]
    found: tuple[RelatedPlace, ...] = ()
    tests: tuple[RelatedPlace, ...] = ()
    counts: Mapping[str, int] = field(default_factory=dict)
    total: int = 0
    total_tests: int = 0
    next_skip: int | None = None
    others: tuple[Candidate, ...] = ()
    total_others: int = 0
    reason: str | None = None
    why: str = ""
    near: tuple[str, ...] = ()
    root: str | None = None
    stale: bool | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class SymbolResponse(Value):
    """One definition with its text, and the surest of what is related to it; ``totals`` counts what there is.

    ``more`` is what to ask ``get`` for to read the rest of the text. The rest as in :class:`RelationsResponse`.
    """

    corpus: str
    symbol: str
    definition: Candidate | None = None
    text: str = ""
    more: str | None = None
    callers: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()
    callees: tuple[str, ...] = ()
    implementations: tuple[str, ...] = ()
    totals: Mapping[str, int] = field(default_factory=dict)
    others: tuple[str, ...] = ()
    reason: str | None = None
    why: str = ""
    near: tuple[str, ...] = ()
    root: str | None = None
    tokens: int = 0
    stale: bool | None = None
    notes: tuple[str, ...] = ()


@operation("callers", summary="Show what calls a definition", effect="reads", doors=("cli", "mcp", "http"))
def callers(request: CallersRequest, ctx: Context) -> RelationsResponse:
    return _answer("callers", request, ctx)


@operation("callees", summary="Show what a definition calls", effect="reads", doors=("cli", "mcp", "http"))
def callees(request: CalleesRequest, ctx: Context) -> RelationsResponse:
    return _answer("callees", request, ctx)


@operation(
    "implementations",
    summary="Show what implements, inherits from or overrides a definition",
    effect="reads",
    doors=("cli", "mcp", "http"),
)
def implementations(request: ImplementationsRequest, ctx: Context) -> RelationsResponse:
    return _answer("implementations", request, ctx)


@operation("tests-of", summary="Show which tests exercise a definition", effect="reads", doors=("cli", "mcp", "http"))
def tests_of(request: TestsOfRequest, ctx: Context) -> RelationsResponse:
    return _answer("tests", request, ctx)


@operation(
    "impact",
    summary="Show what may have to change with a definition, or with a git diff, and the tests affected",
    effect="reads",
    doors=("cli", "mcp", "http"),
)
def impact(request: ImpactRequest, ctx: Context) -> RelationsResponse:
    return _answer("impact", request, ctx)


@operation(
    "symbol",
    summary="Show a definition with its text, callers and tests in one answer",
    effect="reads",
    doors=("cli", "mcp", "http"),
)
def symbol(request: SymbolRequest, ctx: Context) -> SymbolResponse:
    asked = _Asked(request.symbol, request.target, ctx)
    with asked.store.snapshot() as snapshot:
        relations = asked.relations(snapshot)
        meant = asked.meant(relations)
        if not meant.chosen:
            reason, why, near, stale = asked.unknown(meant, relations)
            return SymbolResponse(
                asked.name, request.symbol, reason=reason, why=why, near=near, root=asked.root, stale=stale
            )
        parts = _around(relations, meant.chosen)
        budget = request.max_tokens or SYMBOL_TOKENS
        return _fitted(asked, meant, parts, budget)


# -- one of the relations --------------------------------------------------------------------------------------------


def _answer(relation: str, request: Any, ctx: Context) -> RelationsResponse:
    asked = _Asked(request.symbol or "", request.target, ctx)
    with asked.store.snapshot() as snapshot:
        relations = asked.relations(snapshot)
        changed = getattr(request, "diff", None)
        if changed is not None:
            return _of_diff(asked, relations, request)
        meant = asked.meant(relations)
        if not meant.chosen:
            reason, why, near, stale = asked.unknown(meant, relations)
            return RelationsResponse(
                asked.name, relation, asked.word, (), reason=reason, why=why, near=near, root=asked.root, stale=stale
            )
        return _related(asked, relations, relation, request, meant.chosen, meant.others)


def _related(
    asked: _Asked,
    relations: Relations,
    relation: str,
    request: Any,
    chosen: Sequence[Definition],
    others: Sequence[Definition],
    *,
    about: Mapping[str, str] | None = None,
    notes: Iterable[str] = (),
) -> RelationsResponse:
    """The page of an answer that was asked for."""
    from ir.code.relations import NAME_ONLY, RESOLUTIONS

    least = RESOLUTIONS.index(request.resolution or NAME_ONLY)
    enough = request.skip + request.k + 1
    guesses = enough if RESOLUTIONS[least] == NAME_ONLY else 0
    walked = relations.of(relation, chosen, request.depth, guesses)
    asked.ctx.check()
    counts = walked.counts()
    links = [link for link in walked.links if RESOLUTIONS.index(link.resolution) <= least]
    tests = [link for link in links if relation == "impact" and relations.is_test(link)]
    aside = set(tests)
    links = [link for link in links if link not in aside]
    reached = request.skip + request.k
    page = relations.shown(links[request.skip : reached])
    affected = relations.shown(tests[: request.k])
    following = reached if len(links) > reached else None
    told = [*asked.notes, *notes, *_remarks(walked, request, following, others)]
    reason, why, stale = None, "", None
    if not links and not tests:
        reason, why, stale = asked.nothing(relation, chosen, counts, request)
    return RelationsResponse(
        asked.name,
        relation,
        asked.word or f"diff {request.diff}",
        tuple(_candidate(one, (about or {}).get(one.key)) for one in chosen[:_SHOWN_CHANGES]),
        tuple(map(_place, page)),
        tuple(map(_place, affected)),
        counts,
        len(links),
        len(tests),
        following,
        tuple(_candidate(one) for one in others[:_NAMED]),
        len(others),
        reason,
        why,
        (),
        asked.root,
        stale,
        tuple(told),
    )


def _remarks(walked: Any, request: Any, following: int | None, others: Sequence[Definition]) -> Iterable[str]:
    """What is to be known of an answer beside what was found."""
    if following is not None:
        yield f"There are more; to go on: skip={following}."
    if others:
        count = len(others)
        told = "Another definition has" if count == 1 else f"{count:,} other definitions have"
        yield f"{told} this name; say which one is meant by path::name."
    if walked.unread and following is None:
        yield f"{_files(walked.unread)} more use the name and were not read."
    if walked.cut:
        yield f"The walk did not go on from {walked.cut:,} definitions: they are too many. Ask with depth=1."
    if walked.unresolved:
        shown = ", ".join(walked.unresolved[:12])
        yield f"Called, and not found here: {shown}{', …' if len(walked.unresolved) > 12 else ''}."


def _files(count: int) -> str:
    return "1 file" if count == 1 else f"{count:,} files"


# -- what a diff changes ---------------------------------------------------------------------------------------------


def _of_diff(asked: _Asked, relations: Relations, request: ImpactRequest) -> RelationsResponse:
    from ir.code.changes import changes_since

    root = asked.folder()
    if root is None:
        raise InvalidInput(
            f"The corpus {asked.name!r} was not made from a folder on this machine, so there is no diff.",
            remedy="Name a symbol instead.",
        )
    changes = changes_since(root, str(request.diff))
    held = {one.key: one for one in relations.definitions.by_keys([one.key for one in changes.kept])}
    gone = [one for one in changes.gone if one.kind != "module"]
    chosen = [*gone, *(held.get(one.key, one) for one in changes.kept)]
    about = {one.key: "changed" if one.key in held else "new" for one in changes.kept}
    about |= {one.key: "gone" for one in gone if one.key not in held}
    notes = list(_of_changes(changes))
    if not chosen:
        why = f"No definition differs from {request.diff}: {_files(changes.files)} changed."
        return RelationsResponse(
            asked.name,
            "impact",
            f"diff {request.diff}",
            (),
            reason="no_changes",
            why=why,
            root=asked.root,
            notes=(*asked.notes, *notes),
        )
    if len(chosen) > _SHOWN_CHANGES:
        notes.append(f"{len(chosen):,} definitions changed; the first {_SHOWN_CHANGES} are listed.")
    return _related(asked, relations, "impact", request, chosen, (), about=about, notes=notes)


def _of_changes(changes: Changes) -> Iterable[str]:
    if changes.loose:
        yield f"Changed outside of definitions, which is not followed: {_some(changes.loose)}."
    if changes.unread:
        yield f"Changed, and not read as definitions: {_some(changes.unread)}."


def _some(names: Sequence[str]) -> str:
    more = len(names) - 5
    return f"{', '.join(names[:5])} and {more} more" if more > 0 else ", ".join(names)


# -- everything about one --------------------------------------------------------------------------------------------


def _around(relations: Relations, chosen: Sequence[Definition]) -> dict[str, tuple[int, list[Related]]]:
    """What is related to a definition in each way: how many, and the first of them."""
    wanted = {"callers": _CALLERS, "tests": _TESTS, "callees": _CALLEES, "implementations": _KINDS}
    found: dict[str, tuple[int, list[Related]]] = {}
    for relation, most in wanted.items():
        # Guesses are only worth the room where nothing is known.
        links = relations.of(relation, chosen, 1, 0).links or relations.of(relation, chosen, 1, most).links
        if relation == "callers":
            links = [link for link in links if not relations.is_test(link)]
        found[relation] = len(links), relations.shown(links[:most])
    return found


def _fitted(asked: _Asked, meant: Meant, parts: Mapping[str, tuple[int, list[Related]]], budget: int) -> SymbolResponse:
    """All of it within a budget: the text of the definition takes what the rest leaves, and at least a few lines."""
    one = meant.chosen[0]
    lines = asked.lines(one)
    shown = {relation: [_cited(related) for related in found] for relation, (_, found) in parts.items()}
    totals = {relation: count for relation, (count, _) in parts.items() if count}
    others = [f"{other.path}::{other.name}" for other in (*meant.chosen[1:], *meant.others)]

    def made(kept: int, share: float) -> SymbolResponse:
        some = {relation: tuple(all_[: max(1, int(len(all_) * share))]) for relation, all_ in shown.items()}
        text = "\n".join(lines[:kept])
        more = f"{one.path}:{one.line + kept}-{one.end_line}" if kept < len(lines) else None
        return SymbolResponse(
            asked.name,
            asked.word,
            _candidate(one),
            text,
            more,
            some["callers"],
            some["tests"],
            some["callees"],
            some["implementations"],
            totals,
            tuple(others[: max(1, int(_KINDS * share))]),
            root=asked.root,
            notes=tuple(asked.notes),
        )

    def cost(response: SymbolResponse) -> int:
        import json

        return tokens_of(json.dumps(json_clean(response.to_dict()), ensure_ascii=False))

    share, kept = 1.0, len(lines)
    for share in (1.0, 0.6, 0.3, 0.1):
        bare = cost(made(0, share))
        if bare <= budget * 2 // 3 or share == 0.1:
            break
    kept = 0
    room = budget - cost(made(0, share))
    for line in lines:
        room -= tokens_of(line) + 2
        if room < 0:
            break
        kept += 1
    response = made(kept, share)
    while kept and cost(response) > budget:
        kept = kept * 9 // 10
        response = made(kept, share)
    from dataclasses import replace

    return replace(response, tokens=cost(response))


def _cited(related: Related) -> str:
    """One line for something related: place, name, how it is known."""
    one = related.definition
    return f"{one.path}:{related.line} {one.name} ({related.resolution})"


# -- what was asked --------------------------------------------------------------------------------------------------


class _Asked:
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

    def meant(self, relations: Relations) -> Meant:
        """What the word stands for; in a part of a corpus, what is there comes first."""
        from ir.code.definitions import Meant

        meant = relations.definitions.find(self._spelled())
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
        return [line if len(line) <= _LINE else f"{line[:_LINE]}…" for line in found]

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
        said = f" It is used in {_some(used)}.{said}" if used else said
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


def _candidate(one: Definition, change: str | None = None) -> Candidate:
    signature = one.signature if len(one.signature) <= _LINE else f"{one.signature[:_LINE]}…"
    return Candidate(one.key, one.kind, one.name, one.path, one.line, one.end_line, signature, one.doc, change)


def _place(related: Related) -> RelatedPlace:
    one = related.definition
    return RelatedPlace(
        one.key,
        one.kind,
        one.name,
        one.path,
        related.line,
        related.type,
        related.resolution,
        related.depth,
        related.of,
        related.is_test,
    )
