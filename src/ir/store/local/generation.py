"""Making a generation: the derived files of one version of a corpus, from the truth and the generation before."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar

import numpy as np

from ir.analysis import Analyzer, document_numbers
from ir.analysis.words import line_of
from ir.store.local.crash_points import reach
from ir.store.local.faults import full_disk
from ir.store.local.files import Stamp, link, link_tree, stamps, sync_tree
from ir.store.local.forward import ForwardWriter
from ir.store.local.lexical import LexicalWriter
from ir.store.local.pin import unread
from ir.store.local.segment import SegmentInfo, write_segment
from ir.store.local.spaces import MADE_ANEW, SpaceTable, dimension
from ir.store.local.term_cache import Remembered
from ir.store.local.tokens import kind_term, metadata_terms
from ir.system import sync_folder

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

    from numpy.typing import NDArray

__all__ = ["FOLDER", "FORWARD", "LEXICAL", "Manifest", "make_generation", "remove_folder", "remove_old"]

FOLDER = "generations"
LEXICAL = "lexical"
FORWARD = "forward"
#: Changes whenever the derived files would be made differently.
_LAYOUT = 3
#: More dead rows than this share, or more added rows, and everything is made anew.
_MOST_DEAD = 0.25
#: The same for words: their statistics count the dead, and in a small corpus even one of them would show.
_MOST_DEAD_WORDS = 0.1
_SMALL_CORPUS = 2000
_MOST_ADDED = 0.2
_FEW = 8192
_MOST_SEGMENTS = 8
_KEPT_OLD = 1
_READ = 1024
_FEW_MARKS = 900


class RowsInfo(TypedDict):
    """What the manifest keeps of a run of rows: which records there are, of which artifact, of which kind."""

    name: str
    rows: int
    last: int


_Part = TypeVar("_Part", RowsInfo, SegmentInfo)


class SpaceInfo(TypedDict):
    """What it keeps of a space of vectors."""

    dim: int
    segments: list[SegmentInfo]


@dataclass
class Manifest:
    """What the database keeps of the current generation: enough to open it and to know that it is whole.

    ``spaces`` is by the number of the space, which JSON has as a text.
    """

    name: str
    seq: int
    last: int
    analyzer: str
    layout: int = _LAYOUT
    rows: list[RowsInfo] = field(default_factory=list)
    spaces: dict[str, SpaceInfo] = field(default_factory=dict)
    dead: list[int] = field(default_factory=list)
    lexical_dead: int = 0
    words: int = 0
    files: dict[str, Stamp] = field(default_factory=dict)

    @classmethod
    def parse(cls, text: str | None) -> Manifest | None:
        """``None`` for no generation, and for one that is made differently by now or whose description is damaged."""
        if not text:
            return None
        try:
            held = json.loads(text)
            return cls(**held) if held.get("layout") == _LAYOUT else None
        except (TypeError, ValueError, AttributeError):
            return None

    def dumps(self) -> str:
        return json.dumps(asdict(self), separators=(",", ":"))

    @property
    def count(self) -> int:
        """How many rows there are, dead ones too."""
        return sum(part["rows"] for part in self.rows)


@dataclass
class _SpacePlan:
    """What of a space's old segments is kept, and which vectors a new one must hold: ``early`` and all ``after``."""

    space: SpaceTable
    dim: int
    segments: list[SegmentInfo]
    early: list[int]
    after: int
    fresh: int


@dataclass
class _Plan:
    """What of the old generation is kept, and which records the new files must hold."""

    rows: list[RowsInfo]
    spaces: list[_SpacePlan]
    dead: list[int]
    keep_lexical: bool
    lexical_dead: list[int]
    base: Manifest | None

    @property
    def rows_after(self) -> int:
        return max((part["last"] for part in self.rows), default=0)

    @property
    def lexical_after(self) -> int:
        return self.base.last if self.keep_lexical and self.base is not None else 0

    @property
    def kept(self) -> set[str]:
        """The names that begin those of the files that are taken over."""
        return {part["name"] for part in self.rows} | {
            segment["name"] for planned in self.spaces for segment in planned.segments
        }


def make_generation(
    connection: sqlite3.Connection,
    home: Path,
    base: Manifest | None,
    base_folder: Path | None,
    *,
    seq: int,
    spaces: Sequence[SpaceTable],
    analyzer: Analyzer,
    durable: bool,
    remembered: Remembered,
) -> Manifest:
    """Write the generation of the database as ``connection`` sees it into a new folder below ``home``."""
    plan = _plan(connection, base, base_folder, spaces, analyzer)
    name = f"{seq:08d}-{os.urandom(4).hex()}"
    aside = home / f".{name}"
    aside.mkdir(parents=True)
    reach("generation:folder-made")
    try:
        known = _take_over(plan, base_folder, aside)
        reach("generation:files-linked")
        manifest = _write(connection, plan, aside, Manifest(name, seq, 0, analyzer.id), analyzer, remembered)
        if durable:
            sync_tree(aside, known)
            reach("generation:files-synced")
        manifest.files = stamps(aside, known)
        aside.rename(home / name)
        reach("generation:renamed")
        if durable:
            sync_folder(home)
            reach("generation:folder-synced")
    except BaseException as error:
        import shutil

        full = full_disk(error, home)
        shutil.rmtree(aside, ignore_errors=True)
        if full is not None:
            raise full from error
        raise
    return manifest


def remove_folder(folder: Path) -> None:
    """Delete a generation that nobody has seen."""
    import shutil

    shutil.rmtree(folder, ignore_errors=True)


def remove_old(home: Path, current: str) -> None:
    """Delete what no reader needs: half-made folders, and old generations that nobody has open.

    The latest stays: somebody may be about to open what was the current one a moment ago.
    """
    import shutil  # takes longer to import than to open a corpus with

    folders = sorted((path for path in home.iterdir() if path.name != current), key=lambda path: path.name)
    half_made = [path for path in folders if path.name.startswith(".")]
    old = [path for path in folders if not path.name.startswith(".")]
    for path in half_made + old[: max(0, len(old) - _KEPT_OLD)]:
        with unread(path) as free:
            if free:
                shutil.rmtree(path, ignore_errors=True)
    reach("generations:old-removed")


def _plan(
    connection: sqlite3.Connection,
    base: Manifest | None,
    folder: Path | None,
    spaces: Sequence[SpaceTable],
    analyzer: Analyzer,
) -> _Plan:
    if base is None or folder is None:
        anew = [_planned(connection, space, None, folder, ()) for space in spaces]
        return _Plan([], anew, [], False, [], None)
    gone = [
        number
        for (number,) in connection.execute(
            "SELECT number FROM tombstones WHERE seq > ? AND number <= ? ORDER BY number", (base.seq, base.last)
        )
    ]
    (added,) = connection.execute("SELECT count(*) FROM records WHERE number > ?", (base.last,)).fetchone()
    dead = sorted({*base.dead, *gone})
    lexical_dead = base.lexical_dead + len(gone)
    tolerated = 0 if base.count <= _SMALL_CORPUS else _MOST_DEAD_WORDS * base.count
    plan = _Plan(
        _kept(base.rows, len(dead), added),
        [_planned(connection, space, base, folder, dead) for space in spaces],
        dead,
        base.analyzer == analyzer.id and lexical_dead <= tolerated,
        gone,
        base,
    )
    if not plan.kept:
        plan.dead = []
    return plan


def _planned(
    connection: sqlite3.Connection, space: SpaceTable, base: Manifest | None, folder: Path | None, dead: Sequence[int]
) -> _SpacePlan:
    """What becomes of one space: its vectors may come long after their records, and all at once."""
    dim = dimension(connection, space) or 0
    known = base.spaces.get(str(space.number)) if base is not None else None
    late = [number for (number,) in connection.execute("SELECT number FROM late WHERE space = ?", (space.number,))]
    segments: list[SegmentInfo] = []
    early: list[int] = []
    after = 0
    if base is not None and folder is not None and known is not None and known["dim"] == dim and MADE_ANEW not in late:
        (tail,) = connection.execute(f"SELECT count(*) FROM {space.table} WHERE number > ?", (base.last,)).fetchone()
        segments = _kept(known["segments"], len(dead), tail + len(late))
        if segments:
            after, early = base.last, _early(known["segments"][len(segments) :], late, dead, base.last, folder)
    (fresh,) = connection.execute(f"SELECT count(*) FROM {space.table} WHERE number > ?", (after,)).fetchone()
    return _SpacePlan(space, dim, segments, early, after, fresh + len(early))


def _early(
    merged: Sequence[SegmentInfo], late: Sequence[int], dead: Sequence[int], last: int, folder: Path
) -> list[int]:
    """The records of an older generation whose vectors go into the new segment: of small ones, and late ones."""
    numbers = {number for number in late if number <= last}
    for segment in merged:
        numbers.update(np.load(folder / f"{segment['name']}.numbers.npy").tolist())
    return sorted(numbers.difference(dead))


def _kept(parts: list[_Part], dead: int, added: int) -> list[_Part]:
    """All parts, or only the first, big one, or none: small ones are merged before they become many."""
    total = sum(part["rows"] for part in parts)
    if not parts or dead > _MOST_DEAD * total:
        return []
    main = parts[0]["rows"]
    if total - main + added > max(_FEW, _MOST_ADDED * main):
        return []
    return parts[:1] if len(parts) >= _MOST_SEGMENTS else list(parts)


def _take_over(plan: _Plan, base_folder: Path | None, folder: Path) -> dict[str, Stamp]:
    """Link the files that are kept; their stamps are known."""
    if plan.base is None or base_folder is None:
        return {}
    kept = plan.kept
    known = {}
    for name, stamp in plan.base.files.items():
        if name.split(".", 1)[0] in kept:
            link(base_folder / name, folder / name)
            known[name] = stamp
    for part in (LEXICAL, FORWARD) if plan.keep_lexical else ():
        link_tree(base_folder / part, folder / part)
        known.update({name: stamp for name, stamp in plan.base.files.items() if name.startswith(f"{part}/")})
    return known


def _write(
    connection: sqlite3.Connection,
    plan: _Plan,
    folder: Path,
    manifest: Manifest,
    analyzer: Analyzer,
    remembered: Remembered,
) -> Manifest:
    from concurrent.futures import ThreadPoolExecutor  # takes longer to import than to open a corpus with

    manifest.rows = plan.rows + _write_rows(connection, folder, manifest.name, plan.rows_after)
    manifest.dead = plan.dead
    # Quantising is C++ and analysing is Python: on two cores they take the time of one.
    with ThreadPoolExecutor(1) as pool:
        pending = [(planned, _write_space(connection, folder, manifest.name, planned, pool)) for planned in plan.spaces]
        words = _write_words(connection, plan, folder, manifest.name, analyzer, remembered)
        for planned, finished in pending:
            fresh = [] if finished is None else [finished.result()]
            info: SpaceInfo = {"dim": planned.dim, "segments": planned.segments + fresh}
            manifest.spaces[str(planned.space.number)] = info
    manifest.words = words + (plan.base.words if plan.keep_lexical and plan.base else 0)
    manifest.lexical_dead = plan.base.lexical_dead + len(plan.lexical_dead) if plan.keep_lexical and plan.base else 0
    (manifest.last,) = connection.execute("SELECT coalesce(max(number), 0) FROM records").fetchone()
    return manifest


def _write_rows(connection: sqlite3.Connection, folder: Path, name: str, after: int) -> list[RowsInfo]:
    """Which records there are, side by side; nothing if there are no new ones."""
    (count,) = connection.execute("SELECT count(*) FROM records WHERE number > ?", (after,)).fetchone()
    rows = np.empty((count, 3), dtype=np.int64)
    cursor = connection.execute("SELECT number, artifact, kind FROM records WHERE number > ? ORDER BY number", (after,))
    filled = 0
    while part := cursor.fetchmany(_READ):
        rows[filled : filled + len(part)] = part
        filled += len(part)
    if not count:
        return []
    np.save(folder / f"{name}.rows.npy", rows.T.copy())
    reach("rows:written")
    return [{"name": name, "rows": count, "last": int(rows[-1, 0])}]


def _write_space(
    connection: sqlite3.Connection, folder: Path, name: str, planned: _SpacePlan, pool: ThreadPoolExecutor
) -> Future[SegmentInfo] | None:
    """Begin with the new segment of a space, if it has new vectors."""
    if not planned.fresh:
        return None
    finish = write_segment(
        folder, f"{name}-{planned.space.number}", planned.fresh, _vectors(connection, planned), planned.dim
    )
    return pool.submit(finish)


def _write_words(
    connection: sqlite3.Connection,
    plan: _Plan,
    folder: Path,
    name: str,
    analyzer: Analyzer,
    remembered: Remembered,
) -> int:
    """Index the words of new records both ways, and their metadata; how many words they have."""
    (folder / LEXICAL).mkdir(exist_ok=True)
    (expected,) = connection.execute("SELECT count(*) FROM records WHERE number > ?", (plan.lexical_after,)).fetchone()
    writer = LexicalWriter(folder / LEXICAL, expected=expected)
    if plan.keep_lexical:
        writer.delete(plan.lexical_dead)
    kinds = {number: kind_term(kind) for number, kind in connection.execute("SELECT number, name FROM kinds")}
    words = 0
    cursor = connection.execute(
        "SELECT number, kind, metadata, text FROM records WHERE number > ? ORDER BY number", (plan.lexical_after,)
    )
    with closing(ForwardWriter(folder / FORWARD, name)) as forward:
        while rows := cursor.fetchmany(_READ):
            held = [remembered.metadata(number, metadata) for number, _, metadata, _ in rows]
            names, numbered = _terms(rows, held, analyzer, remembered)
            words += forward.add([row[0] for row in rows], names, numbered)
            for (number, kind, _, _), known, terms in zip(rows, held, numbered, strict=True):
                writer.add(number, line_of(names, terms), [kinds[kind], *metadata_terms(known)])
        forward.finish()
    reach("forward:written")
    writer.finish()
    reach("lexical:committed")
    return words


def _terms(
    rows: Sequence[tuple[int, int, str, str]],
    fields: Sequence[Mapping[str, Any]],
    analyzer: Analyzer,
    remembered: Remembered,
) -> tuple[list[str], Sequence[NDArray[np.integer[Any]]]]:
    """The terms of records, as places in a list of names."""
    known = remembered.terms([row[0] for row in rows], analyzer)
    if known is not None:
        return known
    surfaces = [(row[3], metadata) for row, metadata in zip(rows, fields, strict=True)]
    vocabulary, numbered = document_numbers(analyzer, surfaces)
    return vocabulary.terms, numbered


def _vectors(
    connection: sqlite3.Connection, planned: _SpacePlan
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.float32]]]:
    """The numbers and vectors that a new segment holds, in the order of numbers, some at a time."""
    table = planned.space.table
    for start in range(0, len(planned.early), _FEW_MARKS):
        part = planned.early[start : start + _FEW_MARKS]
        marks = ",".join("?" * len(part))
        rows = connection.execute(f"SELECT number, vector FROM {table} WHERE number IN ({marks}) ORDER BY number", part)
        yield _stacked(rows.fetchall(), planned.dim)
    cursor = connection.execute(
        f"SELECT number, vector FROM {table} WHERE number > ? ORDER BY number", (planned.after,)
    )
    while found := cursor.fetchmany(_READ):
        yield _stacked(found, planned.dim)


def _stacked(rows: Sequence[tuple[int, bytes]], dim: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    numbers = np.array([number for number, _ in rows], dtype=np.int64)
    return numbers, np.frombuffer(b"".join([blob for _, blob in rows]), dtype=np.float32).reshape(len(rows), dim)
