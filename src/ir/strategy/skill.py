"""What a capability is called and what it is for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ir.base import IndexPlan, Surface
from ir.strategy.fields import own_fields
from ir.strategy.text import text_of

__all__ = ["Skill", "named_fields", "named_text"]


class Skill:
    """One ``capability`` surface: name and description. The body is read after selection, and not indexed.

    Filter fields: ``name``, ``parent``, ``skill_path`` (where the body is), ``title``.

    >>> plan = Skill().decompose("deploy", {"name": "deploy", "description": "Ship the app.", "parent": "ops"})
    >>> plan.surfaces[0].text, plan.filter_fields
    ('deploy: Ship the app.', {'name': 'deploy', 'parent': 'ops', 'title': 'deploy'})
    """

    def decompose(self, artifact_id: str, raw: Any, metadata: Mapping[str, Any] | None = None) -> IndexPlan:
        fields = named_fields(artifact_id, raw, metadata, ("name", "parent", "skill_path"))
        description = text_of(raw, "description") if isinstance(raw, Mapping) else text_of(raw)
        text = named_text(str(fields["name"]), description or text_of(raw))
        return IndexPlan(fields, [Surface(artifact_id, "capability", text)] if text else [])


def named_text(name: str, description: str) -> str:
    """``name: description``, or the one of them that there is."""
    return ": ".join(part for part in (name.strip(), description.strip()) if part)


def named_fields(
    artifact_id: str, raw: Any, metadata: Mapping[str, Any] | None, keys: tuple[str, ...]
) -> dict[str, Any]:
    """The filter fields of a thing with a name: those of ``keys`` always, its other scalars without ``metadata``."""
    mapping = raw if isinstance(raw, Mapping) else {}
    own = own_fields(mapping, "description")
    fields = own if metadata is None else {key: own[key] for key in (*keys, "path", "title") if key in own}
    fields.setdefault("name", artifact_id)
    fields.update(metadata or {})
    fields.setdefault("title", fields["name"])
    return fields
