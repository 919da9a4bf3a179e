"""What reading a manual of 2,400 pages through `ir ingest book` costs before anything is embedded, and in all.

    python -m bench.books.reading [PAGES]

CPU seconds and peak memory of a process of its own, which imports everything too; once with an outline, once with
headings that only the size of letters tells.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from bench.books.manual import write_manual


def measured(path: Path, home: Path) -> dict[str, Any]:
    """The figures of one manual, from a fresh process."""
    places = {f"IR_{name.upper()}_DIR": str(home / name) for name in ("data", "config", "cache")}
    done = subprocess.run(
        [sys.executable, "-m", "bench.books.reading", "--read", str(path)],
        env={**os.environ, **places},
        capture_output=True,
        text=True,
        check=True,
    )
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def read(path: str) -> dict[str, Any]:
    """Ingest a book and tell what had been used when the first text was to be embedded."""
    import resource
    import time

    from ir.app.context import Context
    from ir.app.ingesting_books import IngestBookRequest, ingest_book

    def used() -> dict[str, float]:
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return {
            "cpu_s": round(time.process_time(), 1),
            "peak_mb": round(peak / (1024 if sys.platform != "darwin" else 1024**2)),
        }

    before: dict[str, float] = {}

    def listen(step: Any) -> None:
        if step.stage == "embed" and not before:
            before.update(used())

    told = ingest_book(IngestBookRequest(paths=(path,), embedder="light"), Context(progress=listen))
    return {"before": before, "all": used(), "passages": told.chunks, "links": sum((told.links or {}).values())}


def main() -> None:
    pages = int(sys.argv[1]) if len(sys.argv) > 1 else 2400
    with tempfile.TemporaryDirectory() as folder:
        for name, outline in (("outline", True), ("sizes", False)):
            path = Path(folder, f"{name}.pdf")
            write_manual(path, pages, outline=outline)
            found = measured(path, Path(folder, name))
            print(f"{name}: {json.dumps(found)}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--read"]:
        print(json.dumps(read(sys.argv[2])))
    else:
        main()
