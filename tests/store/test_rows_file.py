"""The file of a large segment is what faiss itself would have written."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import faiss
import numpy as np
import pytest

from ir.store.local.quantiser import load_codes, write_codes
from ir.store.local.rows_file import RowsFile, empty_index, write_rows
from ir.store.local.segment import Segment, write_segment


def vectors(count: int, dim: int) -> np.ndarray:
    """Random rows that lie near each other in groups, with numbers that half precision hardly has."""
    chance = np.random.default_rng(count + dim)
    middles = chance.standard_normal((max(1, count // 50), dim))
    rows = middles[chance.integers(0, len(middles), count)] + 0.6 * chance.standard_normal((count, dim))
    rows[:1] = 1e-8
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows.astype(np.float32)


def batches(rows: np.ndarray, size: int = 700) -> Iterator[np.ndarray]:
    return (rows[at : at + size] for at in range(0, len(rows), size))


def written(path: Path, rows: np.ndarray) -> RowsFile:
    return write_rows(path, batches(rows), rows.shape[1], len(rows))


@pytest.mark.parametrize(("count", "dim"), [(1, 8), (3000, 17), (9000, 64)])
def test_the_file_is_byte_for_byte_the_one_of_faiss(tmp_path: Path, count: int, dim: int) -> None:
    rows = vectors(count, dim)
    whole = empty_index(dim)
    whole.add(rows)
    faiss.write_index(whole, str(tmp_path / "faiss"))
    written(tmp_path / "ours", rows)
    assert (tmp_path / "ours").read_bytes() == (tmp_path / "faiss").read_bytes()


def test_rows_are_read_as_faiss_reads_them(tmp_path: Path) -> None:
    rows = vectors(9000, 64)
    file = written(tmp_path / "rows", rows)
    index = faiss.read_index(str(tmp_path / "rows"))
    everything = index.reconstruct_n(0, index.ntotal)
    np.testing.assert_array_equal(np.concatenate(list(file.blocks())), everything)
    some = np.array([8999, 0, 17, 17, 4000])
    np.testing.assert_array_equal(file.rows(some), everything[some])


def test_rows_that_are_missing_are_noticed(tmp_path: Path) -> None:
    rows = vectors(100, 8)
    with pytest.raises(ValueError, match="should have 101 rows"):
        write_rows(tmp_path / "rows", batches(rows), 8, 101)


def test_codes_hold_every_row_and_find_the_best(tmp_path: Path) -> None:
    rows = vectors(20_000, 64)
    depth = write_codes(tmp_path / "codes", written(tmp_path / "rows", rows))
    codes = load_codes(tmp_path / "codes")
    assert codes.ntotal == len(rows)
    assert depth is not None
    queries = rows[::500]
    truth = np.argsort(-(queries @ rows.T), axis=1)[:, :10]
    candidates = codes.search(queries, depth)[1]
    found = np.mean([len(set(best) & set(near)) / 10 for best, near in zip(truth, candidates, strict=True)])
    assert found > 0.95


def test_a_large_segment_opens_and_finds_its_rows(tmp_path: Path) -> None:
    rows = vectors(30_000, 64)
    numbers = np.arange(1, len(rows) + 1)
    parts = ((numbers[at : at + 1000], rows[at : at + 1000]) for at in range(0, len(rows), 1000))
    info = write_segment(tmp_path, "one", len(rows), parts, 64)()
    segment = Segment(tmp_path, info)
    for place in (0, 1, 12_345, 29_999):
        found, scores = segment.nearest(rows[place], 1, None)
        assert found[0] == place
        assert scores[0] == pytest.approx(1.0, abs=1e-3)
