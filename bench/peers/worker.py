"""What all peers share: a process that builds, opens and searches on request.

``python PEER.py JOB.json`` answers requests, one JSON object per line on standard input, with one line each on
standard output. The job holds ``folder`` (texts, vectors, queries), ``work`` (where the peer keeps its index) and
``first`` (the first query and its vector, so that opening needs no other file). Only standard library at the top:
what a peer imports is part of its own start-up time.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
import traceback
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

Filter = dict[str, Any] | None


_PAGES = ("VmRSS:", "VmHWM:", "RssAnon:")


class Peer(ABC):
    """One contestant. ``ids`` are the positions of texts in the file."""

    modes: tuple[str, ...] = ("hybrid", "dense")
    #: How long the build itself took, where a peer can tell it from the reading of the texts.
    seconds: float | None = None

    def __init__(self, job: dict[str, Any]) -> None:
        self.job = job
        self.folder = Path(job["folder"])
        self.work = Path(job["work"])
        self.vector_of: dict[str, Any] = {}

    @abstractmethod
    def build(self) -> None:
        """Index the texts and keep the index in ``work``."""

    @abstractmethod
    def open(self) -> None:
        """Get ready to search what was built, perhaps by another process."""

    @abstractmethod
    def search(self, mode: str, query: str, vector: Any, k: int, where: Filter) -> list[int]:
        """The positions of the best texts, best first."""

    def rows(self) -> Iterator[dict[str, Any]]:
        with (self.folder / "texts.jsonl").open(encoding="utf-8") as lines:
            yield from map(json.loads, lines)

    def vectors(self) -> Any:
        import numpy as np

        return np.load(self.folder / "vectors.npy", mmap_mode="r")


class Session:
    """The requests a peer answers."""

    def __init__(self, peer: Peer) -> None:
        self.peer = peer
        self.queries: list[str] = []
        self.vectors: Any = None

    def build(self) -> dict[str, Any]:
        started = time.perf_counter()
        self.peer.build()
        seconds = time.perf_counter() - started
        return {"seconds": seconds if self.peer.seconds is None else self.peer.seconds}

    def open(self) -> dict[str, Any]:
        """Open what was built and answer one query: the ``first`` of the job."""
        started = time.perf_counter()
        self.peer.open()
        opened = time.perf_counter()
        first = self.peer.job["first"]
        vector = None
        if first["vector"] is not None:
            import numpy as np

            vector = np.asarray(first["vector"], np.float32)
            self.peer.vector_of[first["query"]] = vector
        ids = self.peer.search("hybrid", first["query"], vector, 10, None)
        done = time.perf_counter()
        return {"open": opened - started, "first": done - opened, "found": len(ids)}

    def search(self, mode: str, numbers: list[int], k: int = 10, where: Filter = None) -> dict[str, Any]:
        self._load()
        milliseconds, answers = [], []
        for number in numbers:
            vector = None if self.vectors is None else self.vectors[number]
            started = time.perf_counter()
            ids = self.peer.search(mode, self.queries[number], vector, k, where)
            milliseconds.append((time.perf_counter() - started) * 1000)
            answers.append([int(item) for item in ids])
        return {"ms": milliseconds, "ids": answers}

    def tune(self, setting: Any) -> dict[str, Any]:
        """Peers that trade speed for recall change the setting."""
        self.peer.tune(setting)  # type: ignore[attr-defined]
        return {}

    def call(self, name: str, **arguments: Any) -> Any:
        """Anything else that one peer alone can do."""
        return getattr(self.peer, name)(**arguments)

    def memory(self) -> dict[str, Any]:
        status = Path("/proc/self/status")
        pages = {}
        if status.exists():
            lines = (line.split() for line in status.read_text().splitlines())
            pages = {line[0][:-1]: int(line[1]) / 1024 for line in lines if line[0] in _PAGES}
        # What a process used most, as the system tells it, is at least what the one that started it had then.
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        resident, peak = pages.get("VmRSS", most), pages.get("VmHWM", most)
        return {"rss_mb": resident, "anonymous_mb": pages.get("RssAnon"), "peak_mb": peak}

    def _load(self) -> None:
        if self.queries:
            return
        self.queries = json.loads((self.peer.folder / "queries.json").read_text(encoding="utf-8"))
        path = self.peer.folder / "query_vectors.npy"
        if path.exists():
            import numpy as np

            self.vectors = np.load(path)
            self.peer.vector_of.update(zip(self.queries, self.vectors, strict=True))


def serve(make: Callable[[dict[str, Any]], Peer]) -> None:
    """Answer requests until standard input ends."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print must not end up between the answers
    session = Session(make(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))))
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer = getattr(session, request.pop("op"))(**request)
        except Exception as problem:
            traceback.print_exc()
            answer = {"error": f"{type(problem).__name__}: {problem}"}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()
