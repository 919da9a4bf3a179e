"""Reading and writing ``.safetensors`` files: a JSON header, then the numbers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ir.errors import EmbedderError
from ir.models.origin import again

__all__ = ["as_float32", "read_tensors", "write_tensors"]

Tensors = dict[str, NDArray[Any]]

_KINDS = {
    "F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2", "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "<i1",
    "U8": "<u1", "BOOL": "<b1",
}  # fmt: skip
_LONGEST_HEADER = 100_000_000


def read_tensors(path: Path) -> Tensors:
    """The tensors of a file by name, mapped into memory: nothing is read before it is used.

    ``bfloat16``, which numpy lacks, comes as float32.
    """
    try:
        data = np.memmap(path, np.uint8, "c")  # copy on write: OpenVINO refuses read-only arrays; nobody writes
        header, start = _header(data)
        return {name: _tensor(data, start, entry) for name, entry in header.items() if name != "__metadata__"}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise EmbedderError(
            f"The weights in {path} cannot be read: {error}.",
            remedy=f"The file is incomplete or damaged. {again(path)}",
        ) from error


def write_tensors(path: Path, tensors: Mapping[str, NDArray[Any]]) -> None:
    """Write a file that :func:`read_tensors` reads."""
    names = {np.dtype(kind): name for name, kind in _KINDS.items() if name != "BF16"}
    header: dict[str, Any] = {}
    at = 0
    for name, tensor in tensors.items():
        header[name] = {
            "dtype": names[tensor.dtype.newbyteorder("<")],
            "shape": list(tensor.shape),
            "data_offsets": [at, at + tensor.nbytes],
        }
        at += tensor.nbytes
    encoded = json.dumps(header).encode()
    encoded += b" " * (-len(encoded) % 8)  # align what follows
    with path.open("wb") as file:
        file.write(len(encoded).to_bytes(8, "little") + encoded)
        for tensor in tensors.values():
            file.write(np.ascontiguousarray(tensor).tobytes())


def as_float32(tensor: NDArray[Any]) -> NDArray[np.float32]:
    """The tensor as float32, without a copy if it is that already."""
    return np.ascontiguousarray(tensor, dtype=np.float32)


def _header(data: NDArray[np.uint8]) -> tuple[dict[str, Any], int]:
    size = int.from_bytes(data[:8].tobytes(), "little")
    if len(data) < 8 or size > min(len(data) - 8, _LONGEST_HEADER):
        raise ValueError("its header is cut off")
    header = json.loads(data[8 : 8 + size].tobytes())
    return header, 8 + size


def _tensor(data: NDArray[np.uint8], start: int, entry: Mapping[str, Any]) -> NDArray[Any]:
    begin, end = entry["data_offsets"]
    if not 0 <= begin <= end <= len(data) - start:
        raise ValueError("it is shorter than its header says")
    kind = entry["dtype"]
    flat = data[start + begin : start + end]
    # A slice that is not aligned to its number type cannot be viewed, only copied.
    aligned = flat if (start + begin) % np.dtype(_KINDS[kind]).itemsize == 0 else flat.copy()
    values = aligned.view(_KINDS[kind]).reshape(entry["shape"])
    return (values.astype(np.uint32) << 16).view(np.float32) if kind == "BF16" else values
