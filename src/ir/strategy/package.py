"""A software package: what it says it is, and its README."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ir.base import IndexPlan, Surface
from ir.strategy.chunked import Chunks
from ir.strategy.skill import named_fields, named_text
from ir.strategy.text import text_of

__all__ = ["Package"]

_README_KEYS = ("readme", "text", "content", "body")


class Package:
    """A ``description`` surface (name and description), then ``readme_chunk`` surfaces.

    Filter fields: ``name``, ``owner`` (``"ours"`` or ``"third-party"``), ``deps``, ``version``. The description has
    plan position 0, so chunk *j* is at ``surface_index`` *j* + 1.

    >>> raw = {"name": "dol", "description": "Stores as mappings.", "readme": "# dol", "deps": ["numpy"]}
    >>> plan = Package().decompose("dol", raw)
    >>> [(surface.kind, surface.text) for surface in plan.surfaces]
    [('description', 'dol: Stores as mappings.'), ('readme_chunk', '# dol')]
    """

    def __init__(self, *, chunk_size: int = 1500, overlap: int = 200) -> None:
        self._chunks = Chunks(chunk_size, overlap, "readme_chunk")
        self.chunk_size = self._chunks.size
        self.overlap = self._chunks.overlap

    def decompose(self, artifact_id: str, raw: Any, metadata: Mapping[str, Any] | None = None) -> IndexPlan:
        mapping = raw if isinstance(raw, Mapping) else {"readme": text_of(raw)}
        readme_key = next((key for key in _README_KEYS if mapping.get(key)), None)
        named = {key: value for key, value in mapping.items() if key not in (*_README_KEYS, "summary")}
        fields = named_fields(artifact_id, named, metadata, ("name", "owner", "deps", "version"))
        description = text_of(mapping.get("description") or mapping.get("summary"))
        heading = named_text(str(fields["name"]), description)
        surfaces = [Surface(artifact_id, "description", heading)] if heading else []
        if readme_key is not None:
            # The README may come from a package's metadata: there is no file whose lines could be cited.
            layout = {"format": mapping.get("format") or "markdown", "_first_line": None}
            readme = text_of(mapping[readme_key])
            surfaces += self._chunks.surfaces(artifact_id, layout, readme, fields.get("title"))
        return IndexPlan(fields, surfaces)

    def with_budget(self, max_tokens: int, count_tokens: Callable[[str], int] | None = None) -> Package:
        """The same strategy, with README chunks of at most ``max_tokens``."""
        twin = Package(chunk_size=self.chunk_size, overlap=self.overlap)
        twin._chunks = Chunks(self.chunk_size, self.overlap, "readme_chunk", max_tokens, count_tokens)
        return twin
