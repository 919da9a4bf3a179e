"""How a change is noticed."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Mapping
from typing import Any

__all__ = ["content_hash_signal"]

_blake2b = hashlib.blake2b


def content_hash_signal(artifact_id: str, raw: Any) -> str:
    """The default change signal: a hash of the raw item. The order of a mapping's keys does not matter.

    >>> content_hash_signal("a", {"x": 1, "y": 2}) == content_hash_signal("a", {"y": 2, "x": 1})
    True
    >>> content_hash_signal("a", "1") == content_hash_signal("a", 1)
    False
    """
    if isinstance(raw, str):
        # The strict codec is the faster one, and halves of surrogate pairs are rare.
        try:
            data = raw.encode()
        except UnicodeEncodeError:
            data = raw.encode("utf-8", "surrogatepass")
        return _blake2b(data, digest_size=16).hexdigest()
    if isinstance(raw, (bytes, bytearray, memoryview)):
        return _blake2b(bytes(raw), digest_size=16, person=b"bytes").hexdigest()
    form = json.dumps(_canonical(raw), separators=(",", ":"), ensure_ascii=True)
    return _blake2b(form.encode("ascii"), digest_size=16, person=b"json").hexdigest()


def _canonical(value: Any) -> Any:
    """``value`` as JSON with ordered keys; types that JSON does not know are named."""
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    if isinstance(value, Mapping):
        return {"map": sorted(([_canonical(key), _canonical(item)] for key, item in value.items()), key=_order)}
    if isinstance(value, (list, tuple)):
        return [_canonical(item) for item in value]
    if isinstance(value, (set, frozenset)):
        return {"set": sorted(map(_canonical, value), key=_order)}
    if isinstance(value, (bytes, bytearray, memoryview)):
        return {"bytes": bytes(value).hex()}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {type(value).__name__: _canonical({f.name: getattr(value, f.name) for f in dataclasses.fields(value)})}
    if hasattr(value, "tolist"):
        return _canonical(value.tolist())
    # The default repr holds an address, which differs in every process; the attributes do not.
    if "__dict__" in dir(value) and repr(value) == object.__repr__(value):
        return {type(value).__name__: _canonical(vars(value))}
    return {type(value).__name__: repr(value)}


def _order(item: Any) -> str:
    return json.dumps(item[0] if isinstance(item, list) and item else item, ensure_ascii=True)
