"""Where rows lie: an array of ``ctid``, encoded once and sent with many queries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from psycopg.adapt import Dumper
from psycopg.pq import Format

__all__ = ["Places", "PlacesDumper", "places"]

_TID_OID = 27
_TIDS_OID = 1010
_HEADER = np.dtype([("dimensions", ">i4"), ("nulls", ">i4"), ("oid", ">u4"), ("size", ">i4"), ("first", ">i4")])
_ROW = np.dtype([("width", ">i4"), ("block", ">u4"), ("line", ">u2")])


class Places(bytes):
    """A ``tid[]`` as the server reads it."""


class PlacesDumper(Dumper):
    """Sends :class:`Places` as they are."""

    format = Format.BINARY
    oid = _TIDS_OID

    def dump(self, obj: Any) -> bytes:
        return bytes(obj)


def places(written: Sequence[str]) -> Places:
    """Of places as the server writes them.

    >>> places(["(0,1)", "(7,2)"]).hex(" ", 4)
    '00000001 00000000 0000001b 00000002 00000001 00000006 00000000 00010000 00060000 00070002'
    """
    parsed = np.array([place[1:-1].split(",") for place in written], dtype=np.int64).reshape(-1, 2)
    rows = np.empty(len(parsed), dtype=_ROW)
    rows["width"] = 6
    rows["block"], rows["line"] = parsed[:, 0], parsed[:, 1]
    header = np.array((1, 0, _TID_OID, len(parsed), 1), dtype=_HEADER)
    return Places(header.tobytes() + rows.tobytes())
