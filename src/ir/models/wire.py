"""Writing an ONNX graph: as much of its format (protocol buffers) as a network without its weights needs."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray

__all__ = ["MICROSOFT", "Graph"]

#: The domain of the operators that onnxruntime adds to the standard ones.
MICROSOFT = "com.microsoft"

_FORMAT = 8
_OPERATORS = 17
_TYPES = {"float32": 1, "uint8": 2, "int8": 3, "int32": 6, "int64": 7}
#: Tensors up to this size are part of the graph; larger ones are handed over beside it.
_INLINE = 16


def _varint(number: int) -> bytes:
    number &= (1 << 64) - 1
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _bytes(field: int, value: bytes | str) -> bytes:
    encoded = value.encode() if isinstance(value, str) else value
    return _varint(field << 3 | 2) + _varint(len(encoded)) + encoded


def _attribute(name: str, value: float | int | Sequence[int]) -> bytes:
    if isinstance(value, float):
        body = _varint(2 << 3 | 5) + struct.pack("<f", value) + _number(20, 1)
    elif isinstance(value, int):
        body = _number(3, value) + _number(20, 2)
    else:
        body = b"".join(_number(8, item) for item in value) + _number(20, 7)
    return _bytes(5, _bytes(1, name) + body)


class Graph:
    """A graph that grows node by node. ``weights`` are its large constants, to be given to the session by name."""

    def __init__(self) -> None:
        self.weights: dict[str, NDArray[Any]] = {}
        self._nodes: list[bytes] = []
        self._constants: dict[str, bytes] = {}
        self._ends: list[bytes] = []

    def constant(self, name: str, value: NDArray[Any]) -> str:
        """Add a constant; its name, for use as an input."""
        head = b"".join(_number(1, size) for size in value.shape) + _number(2, _TYPES[value.dtype.name])
        head += _bytes(8, name)
        if value.size <= _INLINE:
            self._constants[name] = _bytes(5, head + _bytes(9, value.tobytes()))
        else:
            self.weights[name] = value
            elsewhere = _bytes(1, "location") + _bytes(2, "weights")
            self._constants[name] = _bytes(5, head + _bytes(13, elsewhere) + _number(14, 1))
        return name

    def node(self, operator: str, inputs: Sequence[str], output: str, *, domain: str = "", **attributes: Any) -> str:
        """Add an operation; the name of its output."""
        body = b"".join(_bytes(1, name) for name in inputs) + _bytes(2, output) + _bytes(3, output)
        body += _bytes(4, operator) + b"".join(_attribute(name, value) for name, value in attributes.items())
        self._nodes.append(_bytes(1, body + (_bytes(7, domain) if domain else b"")))
        return output

    def input(self, name: str, kind: str, shape: Sequence[str | int]) -> str:
        self._ends.append(_end(11, name, kind, shape))
        return name

    def output(self, name: str, kind: str, shape: Sequence[str | int]) -> str:
        self._ends.append(_end(12, name, kind, shape))
        return name

    def to_bytes(self) -> bytes:
        """The model file, without the weights."""
        graph = b"".join([*self._nodes, _bytes(2, "graph"), *self._constants.values(), *self._ends])
        standard = _bytes(8, _bytes(1, "") + _number(2, _OPERATORS))
        added = _bytes(8, _bytes(1, MICROSOFT) + _number(2, 1))
        return _number(1, _FORMAT) + _bytes(2, "ir") + _bytes(7, graph) + standard + added


def _end(field: int, name: str, kind: str, shape: Sequence[str | int]) -> bytes:
    sizes = b"".join(_bytes(1, _bytes(2, size) if isinstance(size, str) else _number(1, size)) for size in shape)
    return _bytes(field, _bytes(1, name) + _bytes(2, _bytes(1, _number(1, _TYPES[kind]) + _bytes(2, sizes))))
