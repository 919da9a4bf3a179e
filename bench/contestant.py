"""A peer as the benchmark sees it: a process that answers requests."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from queue import Empty, Queue
from threading import Thread
from types import TracebackType
from typing import Any

from bench.data import DATA, DataSet
from bench.envs import HERE, clean_environment, python_of

SCRIPTS = {
    "ours": "ir_library",
    "reference": "ir_library",
    "raw": "raw_parts",
    "txtai": "txtai_hybrid",
    "lancedb": "lancedb_hybrid",
    "langchain": "langchain_ensemble",
    "llamaindex": "llamaindex_fusion",
    "haystack": "haystack_joiner",
}


class Failed(Exception):
    """A contestant could not do what was asked; the row of the table says so."""


class Contestant:
    """One peer on one set of data. Used as a context, its process ends with it; what it built stays in ``.data``."""

    def __init__(
        self, name: str, data: DataSet, *, embedder: str = "given", timeout: float = 900, streamed: bool = False
    ) -> None:
        self.name, self.data, self.embedder, self.timeout = name, data, embedder, timeout
        #: Whether texts and vectors are read from their files as they are asked for: else they count as its memory.
        self.streamed = streamed
        self.work = DATA / "work" / f"{data.folder.parent.name}-{data.folder.name}-{name}-{embedder}"
        self.process: subprocess.Popen[str] | None = None
        self.log = self.work.with_suffix(".log")

    def __enter__(self) -> Contestant:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, tb: TracebackType | None) -> None:
        self.stop()

    @property
    def python(self) -> Path:
        return Path(sys.executable) if self.name == "ours" else python_of(self.name)

    def environment(self) -> dict[str, str]:
        homes = {f"IR_{kind}_DIR": str(self.work / kind.lower()) for kind in ("DATA", "CACHE", "CONFIG")}
        if self.name == "ours":
            homes["PYTHONPATH"] = str(HERE.parent / "src")
        return clean_environment(**homes)

    def fresh(self) -> Contestant:
        """Forget what was built."""
        self.stop()
        shutil.rmtree(self.work, ignore_errors=True)
        return self

    def start(self) -> None:
        self.stop()
        self.work.mkdir(parents=True, exist_ok=True)
        vectors = self.data.folder / "query_vectors.npy"
        first = self.data.query_vectors[0].tolist() if vectors.exists() and self.embedder == "given" else None
        job = {
            "folder": str(self.data.folder),
            "work": str(self.work),
            "embedder": self.embedder,
            "streamed": self.streamed,
            "first": {"query": self.data.queries[0], "vector": first},
        }
        path = self.work / "job.json"
        path.write_text(json.dumps(job), encoding="utf-8")
        script = HERE / "peers" / f"{SCRIPTS[self.name]}.py"
        self.process = subprocess.Popen(
            [str(self.python), str(script), str(path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.log.open("w"),
            text=True,
            env=self.environment(),
        )
        self.answers: Queue[str] = Queue()
        Thread(target=self._read, args=(self.process, self.answers), daemon=True).start()

    @staticmethod
    def _read(process: subprocess.Popen[str], answers: Queue[str]) -> None:
        assert process.stdout is not None
        for line in process.stdout:
            answers.put(line)
        answers.put("")

    def stop(self) -> None:
        if self.process is None:
            return
        if self.process.stdin:
            self.process.stdin.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process = None

    def ask(self, op: str, **arguments: Any) -> dict[str, Any]:
        """Send a request; the answer, or ``Failed`` with the reason."""
        if self.process is None:
            self.start()
        assert self.process is not None
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(json.dumps({"op": op, **arguments}) + "\n")
            self.process.stdin.flush()
            line = self.answers.get(timeout=self.timeout)
        except Empty:
            self.process.kill()
            raise Failed(f"no answer within {self.timeout:.0f} s") from None
        except BrokenPipeError:
            line = ""
        if not line:
            raise Failed(f"ended; see {self.log}")
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise Failed(answer["error"])
        return answer

    def built(self) -> Path:
        return self.work / "built.json"

    def ensure_built(self) -> float:
        """Build unless that was done before; the seconds that it took then."""
        if not self.built().exists():
            self.fresh()
            seconds = self.ask("build")["seconds"]
            self.stop()
            self.built().write_text(json.dumps(seconds))
        return float(json.loads(self.built().read_text()))

    def reopen(self) -> dict[str, float]:
        """A new process, up to its first hybrid result: from its start, and without the interpreter and imports.

        ``again`` is the same once more in that process, with every library loaded.
        """
        self.stop()
        started = time.perf_counter()
        answer = self.ask("open")
        whole = time.perf_counter() - started
        if not answer["found"]:
            raise Failed("found nothing after reopening")
        again = self.ask("open")
        return {
            "whole": whole,
            "inside": answer["open"] + answer["first"],
            "again": again["open"] + again["first"],
        }

    def search(self, mode: str, numbers: Sequence[int], where: Mapping[str, Any] | None = None) -> dict[str, Any]:
        return self.ask("search", mode=mode, numbers=list(numbers), where=where)

    def disk_mb(self) -> float:
        """What the index takes; a file with several names counts once."""
        home = self.work / "data" if (self.work / "data").exists() else self.work
        files = [path.stat() for path in home.rglob("*") if path.is_file()]
        return sum({item.st_ino: item.st_blocks * 512 for item in files}.values()) / 2**20


def drop_work() -> None:
    """Remove every index that was built."""
    shutil.rmtree(DATA / "work", ignore_errors=True)
