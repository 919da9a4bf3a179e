"""The values that labels may have: short words, and of each label a bounded number in a process.

A series is kept for every combination of values, and callers choose some of them. No label has a query, a document, a
corpus, a caller or a key.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping
from typing import Any

__all__ = ["MOST", "OTHER", "Labels"]

#: What stands for a value that is no word, or for one too many.
OTHER = "other"
#: How many values of each label are told apart.
MOST: Mapping[str, int] = {
    "backend": 20,
    "door": 10,
    "mode": 10,
    "operation": 200,
    "outcome": 60,
    "route": 200,
    "shape": 20,
    "sink": 10,
    "stage": 20,
    "status": 40,
    "workspace": 1000,
}
#: The shapes of questions that the rules and the dashboard know have their place, whatever else callers say.
_ALWAYS = {"shape": ("unknown", "1", "2", "3", "4", "identifier", "concept", "relationship", "record")}
_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:-]{0,63}", re.ASCII)


class Labels:
    """Remembers which values there were; threads may share one.

    >>> labels = Labels()
    >>> labels.bounded({"shape": "concept", "hybrid": True}), labels.bounded({"shape": "who pays Jane Doe?"})
    ({'shape': 'concept', 'hybrid': True}, {'shape': 'other'})
    """

    def __init__(self) -> None:
        self._seen = {name: set(_ALWAYS.get(name, ())) for name in MOST}
        self._lock = threading.Lock()

    def bounded(self, labels: Mapping[str, Any]) -> dict[str, str | bool]:
        """The labels with values that may be kept."""
        return {name: value if isinstance(value, bool) else self.value(name, value) for name, value in labels.items()}

    def value(self, name: str, value: Any) -> str:
        """One value, or :data:`OTHER`."""
        word, seen = str(value), self._seen[name]
        if word in seen:
            return word
        if not _WORD.fullmatch(word):
            return OTHER
        with self._lock:
            if len(seen) < MOST[name]:
                seen.add(word)
                return word
        return OTHER
