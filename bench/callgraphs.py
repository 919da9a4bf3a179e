"""``python -m bench.callgraphs FOLDER``: the calls that are drawn in three packages, against what two readers found.

``FOLDER`` holds the packages of ``tests/code/truth/packages`` unpacked, each in a folder of its name; ``pip download
--no-deps`` and ``unzip`` make it. Nothing is downloaded here. Precision and recall are given for each way in which a
link may be known, and for those before it.
"""

from __future__ import annotations

import json
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ir.code.strategy import Code

TRUTH = Path(__file__).parent.parent / "tests" / "code" / "truth" / "packages"
TIERS = ("exact", "inferred", "unique-name")
#: What must be reached over all packages, with the links of a tier and of those before it.
BARS = {"inferred": (0.95, 0.65), "unique-name": (0.93, 0.75)}
Pair = tuple[str, str]


def drawn(root: Path) -> dict[Pair, str]:
    """Each call in a folder of Python files, as ``path::name``, and how it is known."""
    strategy, names, symbols = Code(), defaultdict[str, list[str]](list), {}
    for path in sorted(root.rglob("*.py")):
        plan = strategy.decompose(path.relative_to(root).as_posix(), path.read_text("utf-8"))
        assert plan.symbols is not None
        symbols[path.as_posix()] = plan.symbols
        for name, nodes in plan.symbols.defines.items():
            names[name] += nodes
    found: dict[Pair, str] = {}
    for path, held in symbols.items():
        for edge in strategy.link(path, held, lambda name: names.get(name, ())):
            if edge.type == "calls":
                pair, how = (named(edge.source), named(edge.target)), edge.properties["resolution"]
                found[pair] = min(how, found.get(pair, how), key=TIERS.index)
    return found


def named(key: str) -> str:
    """``lib/a.py::A.b`` of ``python lib/a.py/A#b().``"""
    path, inside = re.split(r"(?<=\.py)/", key.partition(" ")[2], maxsplit=1)
    inside = re.sub(r"\((\+\d+)?\)|\+\d+", "", inside).replace("#", ".").strip(".")
    return f"{path}::{inside or '<module>'}"


def measured(told: dict[str, Any], root: Path) -> Iterator[tuple[str, set[Pair], set[Pair]]]:
    """For each tier: its name, the calls drawn with it and those before it, and those that there are."""
    truth = {(caller, callee) for caller, callees in told["calls"].items() for callee in callees}
    inside = {pair: how for pair, how in drawn(root).items() if pair[0].partition("::")[0] in told["files"]}
    for at, tier in enumerate(TIERS):
        yield tier, {pair for pair, how in inside.items() if how in TIERS[: at + 1]}, truth


def main(folder: Path) -> int:
    total: dict[str, list[int]] = {tier: [0, 0, 0] for tier in TIERS}
    print("| package | links | precision | recall | drawn | there are |\n|---|---|---|---|---|---|")
    for path in sorted(TRUTH.glob("*.json")):
        told = json.loads(path.read_text("utf-8"))
        root = folder / told["package"].partition("==")[0]
        if not root.is_dir():
            print(f"{root} is missing: unpack {told['package']} there", file=sys.stderr)
            return 2
        for tier, found, truth in measured(told, root):
            counts = (len(found & truth), len(found), len(truth))
            total[tier] = [a + b for a, b in zip(total[tier], counts, strict=True)]
            print(row(told["package"], tier, *counts))
    failed = False
    for tier, (right, found_in_all, there) in total.items():
        print(row("all", tier, right, found_in_all, there))
        precision, recall = BARS.get(tier, (0.0, 0.0))
        failed |= right < precision * found_in_all or right < recall * there
    return 1 if failed else 0


def row(package: str, tier: str, right: int, found: int, there: int) -> str:
    with_before = tier if tier == TIERS[0] else f"+ {tier}"
    shares = f"{right / max(1, found):.3f} | {right / max(1, there):.3f}"
    return f"| {package} | {with_before} | {shares} | {found} | {there} |"


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(main(Path(sys.argv[1])))
