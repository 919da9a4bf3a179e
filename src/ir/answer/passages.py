"""A passage that may be cited, under a number."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

__all__ = ["Passage"]


@dataclass(frozen=True)
class Passage:
    """``label`` is how a person finds it: file and line, or page and section. ``summary`` is that of its page."""

    number: int
    id: str
    text: str
    label: str = ""
    score: float = 0.0
    corpus: str = ""
    path: str | None = None
    page: str | None = None
    section: str = ""
    line: int | None = None
    end_line: int | None = None
    summary: str = ""

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        return asdict(self)
