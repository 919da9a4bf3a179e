"""Safetensors files."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from ir.errors import EmbedderError
from ir.models.weights import read_tensors, write_tensors


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    tensors = {
        "a": np.arange(6, dtype=np.float32).reshape(2, 3),
        "b": np.array([1, -2], np.int8),
        "c": np.float16([0.5]),
    }
    write_tensors(tmp_path / "w", tensors)
    found = read_tensors(tmp_path / "w")
    assert list(found) == ["a", "b", "c"]
    for name, tensor in tensors.items():
        np.testing.assert_array_equal(found[name], tensor)
        assert found[name].dtype == tensor.dtype


def test_bfloat16_and_unaligned_tensors_are_read(tmp_path: Path) -> None:
    header = {
        "__metadata__": {"format": "pt"},
        "byte": {"dtype": "U8", "shape": [1], "data_offsets": [0, 1]},
        "half": {"dtype": "BF16", "shape": [2], "data_offsets": [1, 5]},
    }
    encoded = json.dumps(header).encode()
    values = (np.array([1.5, -2.0], np.float32).view(np.uint32) >> 16).astype("<u2").tobytes()
    (tmp_path / "w").write_bytes(len(encoded).to_bytes(8, "little") + encoded + b"\x07" + values)
    found = read_tensors(tmp_path / "w")
    assert found["half"].tolist() == [1.5, -2.0]
    assert set(found) == {"byte", "half"}


@pytest.mark.parametrize("kept", [0, 5, 60, 120])
def test_a_cut_file_is_an_error_that_names_it(tmp_path: Path, kept: int) -> None:
    write_tensors(tmp_path / "w", {"a": np.zeros((4, 4), np.float32)})
    (tmp_path / "w").write_bytes((tmp_path / "w").read_bytes()[:kept])
    with pytest.raises(EmbedderError, match=r"w cannot be read.*folder again"):
        read_tensors(tmp_path / "w")
