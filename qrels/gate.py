"""Run the gate on our own source, with a real PostgreSQL server and Milvus for the words.

    python -m qrels.gate --embedder box --report qrels/gate-box.md --plot qrels/gate-box.png

The source is that of the commit in `commit.json` beside the plan, or of this copy where that commit is not there: the
report says so.
Everything is made in a temporary folder and removed. The exit code is that of `ir gate`.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ir.app.session import Session

HERE = Path(__file__).parent
ENGINES = ("postgres-tsvector", "postgres-bm25", "milvus")


def unpack_source(pin: Path, target: Path) -> str:
    """Put the trees that were judged into ``target``; of which commit they are."""
    pinned = json.loads(pin.read_text("utf-8"))
    for commit in (pinned["commit"], "HEAD"):
        done = subprocess.run(
            ["git", "archive", commit, *pinned["trees"]], cwd=HERE.parent, capture_output=True, check=False
        )
        if done.returncode == 0:
            with tarfile.open(fileobj=io.BytesIO(done.stdout)) as packed:
                packed.extractall(target, filter="data")
            named = subprocess.run(
                ["git", "rev-parse", commit], cwd=HERE.parent, capture_output=True, text=True, check=True
            )
            told = named.stdout.strip()[:12]
            return told if commit != "HEAD" else f"{told} (the judged commit is not in this copy)"
    raise SystemExit("qrels.gate: git has neither the judged commit nor HEAD.")


@contextmanager
def engines(folder: Path) -> Iterator[None]:
    """Let the settings name a PostgreSQL server and a Milvus file that are there for the block."""
    from ir.testing.postgres_server import running_server

    with running_server() as server:
        os.environ["IR_RETRIEVAL_POSTGRES_URL"] = server.url()
        os.environ["IR_RETRIEVAL_MILVUS_URL"] = f"milvus+lite:{folder / 'words.db'}"
        yield


def main(args: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m qrels.gate", description="The gate on our own source.")
    parser.add_argument("--plan", type=Path, default=HERE / "gate.toml")
    parser.add_argument("--embedder", default="box")
    parser.add_argument("--report", type=Path)
    parser.add_argument("--plot", type=Path)
    given = parser.parse_args(args)
    with tempfile.TemporaryDirectory(prefix="ir-gate-") as name:
        folder = Path(name)
        for kind in ("CONFIG", "DATA", "RUNTIME"):
            os.environ[f"IR_{kind}_DIR"] = str(folder / kind.lower())
        commit = unpack_source(given.plan.parent / "commit.json", folder / "source")
        with engines(folder):
            return run(folder / "source", commit, given)


def register(session: Session, source: Path) -> None:
    """As code, where there is such a kind."""
    from ir.errors import InvalidInput

    try:
        session.call("register", {"name": "ir-source", "path": str(source), "kind": "code"})
    except InvalidInput:
        session.call("register", {"name": "ir-source", "path": str(source)})


def run(source: Path, commit: str, given: argparse.Namespace) -> int:
    from ir.app.session import Session

    with Session() as session:
        register(session, source)
        session.call("build", {"target": "ir-source", "embedder": given.embedder})
        for engine in ENGINES:
            sent = session.call("keyword", {"action": "sync", "target": "ir-source", "backend": engine})
            print(f"{engine}: {sent.added} records sent", file=sys.stderr)
        arguments = {
            "file": str(given.plan),
            "target": "ir-source",
            "title": f"The gate on our own source: {given.embedder}",
            "about": f"Source at {commit}, vectors by `{given.embedder}`, plan `qrels/{given.plan.name}`.",
        }
        for name in ("report", "plot"):
            if getattr(given, name) is not None:
                arguments[name] = str(getattr(given, name))
        report = session.call("gate", arguments).report
    print(f"{report.verdict}: {report.why}")
    return int(report.exit_code)


if __name__ == "__main__":
    sys.exit(main())
