"""Make a fixture: a user's folders as the present version of ``ir`` writes them, for all later versions to open.

    python -m tests.compat.make            # tests/compat/data/formats-1-1.tar.gz
    python -m tests.compat.make NAME       # for what changed without a new number, such as a derived file

Run it after each change of a format, and before the next one; keep the older files. A fixture is made once, by the code
that had the format, and never again: otherwise the test would only show that today's ``ir`` reads what it writes.
"""

from __future__ import annotations

import io
import json
import os
import shutil
import sys
import tarfile
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

from ir.cli.main import run
from ir.portable.manifest import FORMAT as PORTABLE
from ir.store.local.database import FORMAT as LOCAL

DATA = Path(__file__).with_name("data")
#: Where every fixture is made: records hold the paths of their files.
PLACE = Path("/tmp/ir-fixture")
MODES = ("hybrid", "dense", "lexical")
#: What is asked of the corpus, and what must come first.
QUERIES = {
    "how hot should water for green tea be": "tea.md",
    "kneading dough for bread": "bread.md",
    "replace a worn bicycle chain": "chain.md",
}
_TEXTS = {
    "tea.md": "# Tea\n\nGreen tea is steeped at 80 degrees.\n\nBoiling water makes green tea bitter: it is too hot.\n",
    "bread.md": "# Bread\n\nKnead the dough for ten minutes, by hand.\n\nLet the bread rise before baking.\n",
    "chain.md": "# Chain\n\nA worn bicycle chain is replaced when a gauge drops in.\n\nOil the new chain.\n",
    "kettle.md": "---\ndeps: [tea.md]\nparent: bread.md\n---\n# Kettle\n\nA kettle with a thermometer.\n",
    "gone.md": "# Gone\n\nThis note is deleted before the last build.\n",
}

_BOOKS = (
    {"id": "sails", "text": "A sail is reefed when the wind rises.", "year": 1971},
    {"id": "knots", "text": "A bowline holds and can always be untied.", "year": 1984},
)


class Outcome(NamedTuple):
    """What a command left behind."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


def ir(root: Path, *arguments: str, codes: tuple[int, ...] = (0,)) -> Outcome:
    """Run the command line as a user whose folders are below ``root``, in this process."""
    folders = {f"IR_{kind}_DIR": str(root / kind.lower()) for kind in ("CONFIG", "DATA", "CACHE")}
    out, err = io.StringIO(), io.StringIO()
    with patch.dict(os.environ, folders), chdir(root), redirect_stdout(out), redirect_stderr(err):
        done = Outcome(run(arguments), out.getvalue(), err.getvalue())
    assert done.code in codes, f"ir {arguments} left with {done}"
    return done


def ask(root: Path, corpus: str) -> dict[str, Any]:
    """What the fixture's queries find first, in every mode."""
    return {
        query: {mode: _first(ir(root, "search", corpus, query, "--mode", mode, "--json")) for mode in MODES}
        for query in QUERIES
    }


def _first(done: Outcome) -> str:
    return str(done.json["found"][0]["artifact_id"])


def make(root: Path) -> None:
    """Do below ``root`` what a user does in some weeks: settings, builds, changes, a floor, a choice, an export."""
    notes = root / "notes"
    notes.mkdir(parents=True)
    for name, text in _TEXTS.items():
        (notes / name).write_text(text, "utf-8")
    ir(root, "config", "set", "embedder", "light")
    ir(root, "config", "set", "k", "4")
    ir(root, "register", "notes", "notes")
    ir(root, "build", "notes", "--links")
    (notes / "gone.md").unlink()
    (notes / "bread.md").write_text(_TEXTS["bread.md"] + "\nSteam gives it a crust.\n", "utf-8")
    ir(root, "build", "notes", "--links")
    # Records of a file do not name their place, so that a moved corpus of them is unchanged.
    (root / "shelf.jsonl").write_text("".join(json.dumps(book) + "\n" for book in _BOOKS), "utf-8")
    ir(root, "register", "shelf", "shelf.jsonl", "--kind", "jsonl")
    ir(root, "build", "shelf")
    ir(root, "calibrate-min-score", "notes", "--probes", codes=(0, 1))
    ir(root, "export", "notes", "notes.ir")
    assert all(set(found.values()) == {QUERIES[query]} for query, found in ask(root, "notes").items())


def pack(root: Path, target: Path) -> None:
    """The folders as one file, with no trace of by whom they were made."""
    with tarfile.open(target, "w:gz", compresslevel=9) as archive:
        for path in sorted(root.rglob("*")):
            if path.name.endswith((".lock", "-shm")) or not path.is_file():  # a log that is not merged yet is data
                continue
            data = path.read_bytes()
            entry = tarfile.TarInfo(path.relative_to(root).as_posix())
            entry.size, entry.mtime = len(data), int(path.stat().st_mtime)
            archive.addfile(entry, io.BytesIO(data))


def unpack(fixture: Path, root: Path) -> None:
    """The user's folders below ``root``, as if they had always been there."""
    with tarfile.open(fixture) as archive:
        # The first releases of Python 3.11 know no filters; the fixtures are our own.
        archive.extractall(root, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))
    registry = root / "config" / "registry.json"
    registry.write_text(registry.read_text("utf-8").replace(str(PLACE), str(root)), "utf-8")


def main() -> None:
    name = sys.argv[1] if len(sys.argv) > 1 else f"formats-{LOCAL}-{PORTABLE}"
    target = DATA / f"{name}.tar.gz"
    if target.exists():
        raise SystemExit(f"{target} is there: a fixture is made once, by the code that first had the format.")
    shutil.rmtree(PLACE, ignore_errors=True)
    make(PLACE)
    pack(PLACE, target)
    shutil.rmtree(PLACE)
    print(f"{target}: {target.stat().st_size} bytes")


if __name__ == "__main__":
    main()
