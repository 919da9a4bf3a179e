"""Making a generation: the derived files of one version of a corpus, from the truth and the generation before."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ir.analysis import Analyzer, document_numbers
from ir.analysis.words import line_of
from ir.store.local.faults import full_disk
from ir.store.local.files import Stamp, link, link_tree, stamps, sync_folder, sync_tree
from ir.store.local.forward import ForwardWriter
from ir.store.local.lexical import LexicalWriter
from ir.store.local.points import reach
from ir.store.local.remembered import Remembered
from ir.store.local.segment import SegmentInfo, write_segment
from ir.store.local.tokens import kind_term, metadata_terms

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["FOLDER", "FORWARD", "LEXICAL", "Manifest", "make_generation", "remove_old"]

FOLDER = "generations"
LEXICAL = "lexical"
FORWARD = "forward"
#: Changes whenever the derived files would be made differently.
_LAYOUT = 2
#: More dead rows than this share, or more added rows, and everything is made anew.
_MOST_DEAD = 0.25
#: The same for words: their statistics count the dead, and in a small corpus even one of them would show.
_MOST_DEAD_WORDS = 0.1
_SMALL_CORPUS = 2000
_MOST_ADDED = 0.2
_FEW = 8192
_MOST_SEGMENTS = 8
_KEPT_OLD = 2
_READ = 1024


@dataclass
class Manifest:
    """What the database keeps of the current generation: enough to open it and to know that it is whole."""

    name: str
    seq: int
    last: int
    analyzer: str
    dim: int
    layout: int = _LAYOUT
    segments: list[SegmentInfo] = field(default_factory=list)
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
    def rows(self) -> int:
        return sum(segment["rows"] for segment in self.segments)


@dataclass
class _Plan:
    """What of the old generation is kept, and which records the new files must hold."""

    segments: list[SegmentInfo]
    dead: list[int]
    keep_lexical: bool
    lexical_dead: list[int]
    base: Manifest | None

    @property
    def dense_after(self) -> int:
        return max((segment["last"] for segment in self.segments), default=0)

    @property
    def lexical_after(self) -> int:
        return self.base.last if self.keep_lexical and self.base is not None else 0


def make_generation(
    connection: sqlite3.Connection,
    home: Path,
    base: Manifest | None,
    base_folder: Path | None,
    *,
    seq: int,
    analyzer: Analyzer,
    durable: bool,
    remembered: Remembered,
) -> Manifest:
    """Write the generation of the database as ``connection`` sees it into a new folder below ``home``."""
    plan = _plan(connection, base if base_folder is not None else None, analyzer)
    name = f"{seq:08d}-{os.urandom(4).hex()}"
    aside = home / f".{name}"
    aside.mkdir(parents=True)
    reach("generation:folder-made")
    try:
        known = _take_over(plan, base_folder, aside)
        reach("generation:files-linked")
        manifest = _write(connection, plan, aside, Manifest(name, seq, 0, analyzer.id, 0), analyzer, remembered)
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


def remove_old(home: Path, current: str) -> None:
    """Delete what no reader needs: half-made folders and all but the latest old generations."""
    import shutil  # takes longer to import than to open a corpus with

    folders = sorted((path for path in home.iterdir() if path.name != current), key=lambda path: path.name)
    half_made = [path for path in folders if path.name.startswith(".")]
    old = [path for path in folders if not path.name.startswith(".")]
    for path in half_made + old[: max(0, len(old) - _KEPT_OLD)]:
        shutil.rmtree(path, ignore_errors=True)
    reach("generations:old-removed")


def _plan(connection: sqlite3.Connection, base: Manifest | None, analyzer: Analyzer) -> _Plan:
    dim = _dimension(connection)
    if base is None or base.dim != dim:
        return _Plan([], [], False, [], None)
    gone = [
        number
        for (number,) in connection.execute(
            "SELECT number FROM tombstones WHERE seq > ? AND number <= ? ORDER BY number", (base.seq, base.last)
        )
    ]
    (added,) = connection.execute("SELECT count(*) FROM records WHERE number > ?", (base.last,)).fetchone()
    dead = sorted({*base.dead, *gone})
    segments = _kept_segments(base, len(dead), added)
    last = max((segment["last"] for segment in segments), default=0)
    lexical_dead = base.lexical_dead + len(gone)
    tolerated = 0 if base.rows <= _SMALL_CORPUS else _MOST_DEAD_WORDS * base.rows
    keep_lexical = base.analyzer == analyzer.id and lexical_dead <= tolerated
    return _Plan(segments, [number for number in dead if number <= last], keep_lexical, gone, base)


def _kept_segments(base: Manifest, dead: int, added: int) -> list[SegmentInfo]:
    """All segments, or only the first, big one, or none: small ones are merged before they become many."""
    if not base.segments or dead > _MOST_DEAD * base.rows:
        return []
    main = base.segments[0]
    small = base.rows - main["rows"] + added
    if small > max(_FEW, _MOST_ADDED * main["rows"]):
        return []
    return base.segments[:1] if len(base.segments) >= _MOST_SEGMENTS else list(base.segments)


def _take_over(plan: _Plan, base_folder: Path | None, folder: Path) -> dict[str, Stamp]:
    """Link the files that are kept; their stamps are known."""
    if plan.base is None or base_folder is None:
        return {}
    kept = {segment["name"] for segment in plan.segments}
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

    rows = _row_map(connection, plan.dense_after)
    manifest.dim = _dimension(connection) or 0
    manifest.segments = list(plan.segments)
    manifest.dead = plan.dead
    # Quantising is C++ and analysing is Python: on two cores they take the time of one.
    with ThreadPoolExecutor(1) as pool:
        pending = None
        if rows.shape[1]:
            vectors = _vectors(connection, plan.dense_after, manifest.dim)
            finish = write_segment(folder, manifest.name, rows, vectors, manifest.dim)
            pending = pool.submit(finish)
        words = _write_words(connection, plan, folder, manifest.name, analyzer, remembered)
        if pending is not None:
            manifest.segments.append(pending.result())
    manifest.words = words + (plan.base.words if plan.keep_lexical and plan.base else 0)
    manifest.lexical_dead = plan.base.lexical_dead + len(plan.lexical_dead) if plan.keep_lexical and plan.base else 0
    (manifest.last,) = connection.execute("SELECT coalesce(max(number), 0) FROM records").fetchone()
    return manifest


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


def _row_map(connection: sqlite3.Connection, after: int) -> NDArray[np.int64]:
    rows: Sequence[tuple[int, int, int]] = connection.execute(
        "SELECT number, artifact, kind FROM records WHERE number > ? ORDER BY number", (after,)
    ).fetchall()
    return np.array(rows, dtype=np.int64).reshape(-1, 3).T.copy()


def _vectors(connection: sqlite3.Connection, after: int, dim: int) -> Iterator[NDArray[np.float32]]:
    cursor = connection.execute("SELECT vector FROM vectors WHERE number > ? ORDER BY number", (after,))
    while blobs := cursor.fetchmany(_READ):
        yield np.frombuffer(b"".join([blob for (blob,) in blobs]), dtype=np.float32).reshape(len(blobs), dim)


def _dimension(connection: sqlite3.Connection) -> int | None:
    row = connection.execute("SELECT length(vector) / 4 FROM vectors LIMIT 1").fetchone()
    return None if row is None else int(row[0])
