"""A question and its answer, from a chat."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ir.base import IndexPlan
from ir.strategy.chunked import Chunks
from ir.strategy.fields import artifact_fields
from ir.strategy.text import text_of

__all__ = ["TurnPair"]

_TITLE_LIMIT = 100


class TurnPair:
    """``turn_pair`` surfaces of a mapping with ``user`` and ``assistant``, or ``text``: one, unless that is long.

    The first line of the question is the title, so every piece of a long answer is still found by what was asked.

    >>> plan = TurnPair().decompose("s#1", {"user": "How?", "assistant": "So.", "session": "s"})
    >>> plan.surfaces[0].text, plan.filter_fields
    ('How?\\n\\nSo.', {'session': 's', 'title': 'How?'})
    """

    def __init__(self, *, chunk_size: int = 4000, overlap: int = 200) -> None:
        self._chunks = Chunks(chunk_size, overlap, "turn_pair")
        self.chunk_size = self._chunks.size
        self.overlap = self._chunks.overlap

    def decompose(self, artifact_id: str, raw: Any, metadata: Mapping[str, Any] | None = None) -> IndexPlan:
        mapping = dict(raw) if isinstance(raw, Mapping) else {"text": text_of(raw)}
        user = text_of(mapping.pop("user", None)).strip()
        assistant = text_of(mapping.pop("assistant", None)).strip()
        text = "\n\n".join(part for part in (user, assistant) if part) or text_of(mapping)
        fields = artifact_fields(artifact_id, mapping, metadata, text=text)
        if user and not (isinstance(raw, Mapping) and raw.get("title")) and not (metadata or {}).get("title"):
            fields["title"] = user.partition("\n")[0].strip()[:_TITLE_LIMIT]
        # Offsets and lines would refer to the pair, which no file contains in this form.
        layout = {"format": "markdown", "_first_line": None}
        return IndexPlan(fields, self._chunks.surfaces(artifact_id, layout, text, fields.get("title")))

    def with_budget(self, max_tokens: int, count_tokens: Callable[[str], int] | None = None) -> TurnPair:
        """The same strategy, with pieces of at most ``max_tokens``."""
        twin = TurnPair(chunk_size=self.chunk_size, overlap=self.overlap)
        twin._chunks = Chunks(self.chunk_size, self.overlap, "turn_pair", max_tokens, count_tokens)
        return twin
