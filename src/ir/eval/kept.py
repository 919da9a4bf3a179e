"""Evaluation runs that are kept in the workspace: what was measured, by which settings, and every ranking.

A run is two files. The rankings are written first and what was measured last, so that a run is there as a whole or not
at all; a list of runs reads the small files alone.
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ir.base import json_clean
from ir.config.files import write_atomic
from ir.config.paths import runs_dir
from ir.errors import NotFound, Remedy
from ir.eval.runs import Qrels, Run

__all__ = ["KeptQuery", "KeptRun", "forget_run", "keep_run", "kept_queries", "kept_run", "kept_runs", "new_run_id"]

_ID = re.compile(r"[0-9]{8}-[0-9]{6}-[0-9a-f]{8}")
_RANKINGS = ".rankings.json"


@dataclass(frozen=True)
class KeptRun:
    """What was measured. ``settings`` are those of the searches, ``content_version`` says which state of the corpus
    was asked, ``curves`` has each measure by depth, to be drawn. ``cases`` is the set, or the name of the file."""

    id: str
    at: str
    label: str | None
    corpus: str
    cases: str
    mode: str
    settings: Mapping[str, Any]
    embedder: str | None
    version: str
    content_version: str
    n_cases: int
    n_gold: int
    n_abstention: int
    metrics: Mapping[str, float]
    outcomes: Mapping[str, int]
    curves: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    floor: float | None = None
    abstention_accuracy: float | None = None
    drifted: int = 0
    degraded: bool = False

    def to_dict(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = json_clean(asdict(self))
        return cleaned


@dataclass(frozen=True)
class KeptQuery:
    """One case of a run: what was judged, what came out (``outcome``, and ``rank`` of the first answer if there is
    one), its figures, and what was found, best first, with scores."""

    id: str
    query: str
    judgements: Mapping[str, int]
    outcome: str
    rank: int | None
    figures: Mapping[str, float]
    ranking: Sequence[tuple[str, float]]

    def to_dict(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = json_clean(asdict(self))
        return cleaned


def new_run_id() -> str:
    """An id that sorts by time, to the millisecond, and that nobody else has."""
    now = datetime.now(UTC)
    return f"{now:%Y%m%d-%H%M%S}-{now.microsecond // 1000:03x}{secrets.randbits(20):05x}"


def keep_run(run: KeptRun, queries: Sequence[KeptQuery]) -> None:
    """Keep a run in the workspace."""
    path = _file(run.id)
    write_atomic(_rankings(path), json.dumps([one.to_dict() for one in queries], ensure_ascii=False))
    write_atomic(path, json.dumps(run.to_dict(), ensure_ascii=False, indent=1))


def kept_runs() -> list[KeptRun]:
    """The runs of the workspace, the newest first; what cannot be read is passed over."""
    folder = runs_dir()
    if not folder.is_dir():
        return []
    names = sorted((path.stem for path in folder.glob("*.json") if _ID.fullmatch(path.stem)), reverse=True)
    return [run for name in names if (run := _read(folder / f"{name}.json")) is not None]


def kept_run(run_id: str) -> KeptRun:
    """The run of that id."""
    found = _read(_file(run_id)) if _ID.fullmatch(run_id) else None
    if found is None:
        raise _missing(run_id)
    return found


def kept_queries(run_id: str) -> list[KeptQuery]:
    """The cases of a run."""
    kept_run(run_id)
    try:
        held = json.loads(_rankings(_file(run_id)).read_text("utf-8"))
        return [KeptQuery(**{**one, "ranking": [(str(item), score) for item, score in one["ranking"]]}) for one in held]
    except (OSError, ValueError, TypeError, KeyError):
        raise _missing(run_id) from None


def forget_run(run_id: str) -> int:
    """Remove a run; how many bytes it took."""
    path = _file(kept_run(run_id).id)
    freed = 0
    for file in (path, _rankings(path)):
        if file.is_file():
            freed += file.stat().st_size
            file.unlink(missing_ok=True)
    return freed


def run_bytes(run_id: str) -> int:
    """How many bytes a run takes."""
    path = _file(kept_run(run_id).id)
    return sum(file.stat().st_size for file in (path, _rankings(path)) if file.is_file())


def as_run(queries: Sequence[KeptQuery]) -> tuple[Run, Qrels, dict[str, str]]:
    """What two runs are compared by: rankings, judgements and the texts of the queries, each by query id."""
    run = {one.id: dict(one.ranking) for one in queries}
    qrels = {one.id: {item: float(grade) for item, grade in one.judgements.items()} for one in queries}
    return run, qrels, {one.id: one.query for one in queries}


def _file(run_id: str) -> Path:
    if not _ID.fullmatch(run_id):
        raise _missing(run_id)
    return runs_dir() / f"{run_id}.json"


def _rankings(path: Path) -> Path:
    return path.with_suffix(_RANKINGS)


def _missing(run_id: str) -> NotFound:
    told = Remedy("`ir runs` lists those that were kept.", agent="The operation `runs` lists those that were kept.")
    return NotFound(f"There is no run {run_id!r}.", remedy=told)


def _read(path: Path) -> KeptRun | None:
    try:
        held = json.loads(path.read_text("utf-8"))
        known = {item.name for item in fields(KeptRun)}
        return KeptRun(**{name: value for name, value in held.items() if name in known})
    except (OSError, ValueError, TypeError, AttributeError):
        return None
