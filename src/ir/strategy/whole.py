"""One surface: the whole text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ir.base import IndexPlan, Surface
from ir.strategy.fields import artifact_fields, title_of
from ir.strategy.text import text_of

__all__ = ["WholeText"]


class WholeText:
    """One surface, the entire text: right for items as short as a paragraph. Without any text it is the title.

    >>> plan = WholeText().decompose("a", {"text": "hello", "lang": "en"})
    >>> plan.filter_fields, plan.surfaces[0].kind, plan.surfaces[0].text
    ({'lang': 'en'}, 'document', 'hello')
    """

    def __init__(self, *, text_key: str | None = None, kind: str = "document") -> None:
        self.text_key = text_key
        self.kind = kind

    def decompose(self, artifact_id: str, raw: Any, metadata: Mapping[str, Any] | None = None) -> IndexPlan:
        text = text_of(raw, self.text_key)
        fields = artifact_fields(artifact_id, raw, metadata, text=text, text_key=self.text_key)
        ranked = text if text.strip() else title_of(fields)
        return IndexPlan(fields, [Surface(artifact_id, self.kind, ranked)] if ranked else [])
