"""Sentences to sums of token vectors. Runs in an environment with ``tokenizers``; without one it uses a made-up table.

``python embed_static.py FOLDER [WHEEL]`` reads ``FOLDER/sentences.json`` and writes ``FOLDER/sums.npy``: for each
sentence 256 numbers (the sum of its tokens' vectors) and 128 more (the same with tokens weighted by rarity, first half
of the table's columns). Sums of sentences add up, so a passage's vector comes from its sentences'.
"""

from __future__ import annotations

import json
import re
import sys
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

WIDE, NARROW = 256, 128
Array = Any


def read_table(wheel: Path) -> tuple[Array, Callable[[list[str]], list[list[int]]]]:
    """The static table of the wheel and its tokenizer."""
    from tokenizers import Tokenizer

    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        weights = archive.read(next(name for name in names if name.endswith(".safetensors")))
        tokens = archive.read(next(name for name in names if name.endswith(".json") and "token" in name))
    size = int.from_bytes(weights[:8], "little")
    header = json.loads(weights[8 : 8 + size])
    entry = next(value for key, value in header.items() if key != "__metadata__")
    kind = {"F16": np.float16, "F32": np.float32}[entry["dtype"]]
    start, end = entry["data_offsets"]
    table = np.frombuffer(weights[8 + size + start : 8 + size + end], kind).reshape(entry["shape"]).astype(np.float32)
    tokenizer = Tokenizer.from_str(tokens.decode("utf-8"))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return table, lambda texts: [item.ids for item in tokenizer.encode_batch(texts, add_special_tokens=False)]


def made_up_table() -> tuple[Array, Callable[[list[str]], list[list[int]]]]:
    """A seeded table whose spectrum falls as that of learned ones does; a word's row is a hash of it."""
    rng = np.random.default_rng(7)
    scales = 1 / np.sqrt(1 + np.arange(WIDE) / 8)
    turn, _ = np.linalg.qr(rng.standard_normal((WIDE, WIDE)))
    table = (rng.standard_normal((32_768, WIDE)) * scales @ turn + 0.3 * turn[0]).astype(np.float32)
    words = re.compile(r"\w+|[^\w\s]")
    return table, lambda texts: [[zlib.crc32(w.encode()) % 32_768 for w in words.findall(t.lower())] for t in texts]


def sums(texts: list[str], table: Array, tokenize: Callable[[list[str]], list[list[int]]], batch: int = 4096) -> Array:
    """One row of 256 + 128 for each text."""
    encoded: list[list[int]] = []
    for at in range(0, len(texts), batch):
        encoded += [ids or [0] for ids in tokenize(texts[at : at + batch])]
    seen = np.zeros(len(table))
    for ids in encoded:
        seen[list(set(ids))] += 1
    rarity = np.log(1 + len(texts) / (1 + seen)).astype(np.float32)
    wide = np.ascontiguousarray(table[:, :WIDE])
    narrow = np.ascontiguousarray(table[:, :NARROW] * rarity[:, None])
    out = np.empty((len(texts), WIDE + NARROW), np.float32)
    for at in range(0, len(texts), batch):
        part = encoded[at : at + batch]
        starts = np.cumsum([0, *map(len, part)])[:-1]
        flat = np.concatenate([np.asarray(ids) for ids in part])
        out[at : at + len(part), :WIDE] = np.add.reduceat(wide[flat], starts)
        out[at : at + len(part), WIDE:] = np.add.reduceat(narrow[flat], starts)
    return out


def combine(rows: Array) -> Array:
    """Summed rows as vectors of length one: the plain pooling and, at half its weight, the rarity-weighted one."""
    wide = rows[:, :WIDE] / np.maximum(np.linalg.norm(rows[:, :WIDE], axis=1, keepdims=True), 1e-9)
    narrow = rows[:, WIDE:] / np.maximum(np.linalg.norm(rows[:, WIDE:], axis=1, keepdims=True), 1e-9)
    return (np.hstack([wide, narrow * 0.5]) / np.sqrt(1.25)).astype(np.float32)


def main(folder: Path, wheel: Path | None) -> None:
    texts = json.loads((folder / "sentences.json").read_text(encoding="utf-8"))
    table, tokenize = read_table(wheel) if wheel else made_up_table()
    np.save(folder / "sums.npy", sums(texts, table, tokenize))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]) if len(sys.argv) > 2 else None)
