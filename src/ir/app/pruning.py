"""Corpora whose folder is gone: which they are, and removing them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from ir.app.arguments import DRY_RUN
from ir.app.context import Context
from ir.app.operation import Value, operation
from ir.app.registering import RemoveRequest, RemoveResponse, remove
from ir.app.targets import folder_gone

__all__ = ["PruneRequest", "PruneResponse", "prune"]


@dataclass(frozen=True)
class PruneRequest(Value):
    """``dry_run`` only says what would go."""

    dry_run: Annotated[bool, DRY_RUN] = False


@dataclass(frozen=True)
class PruneResponse(Value):
    """What went, or would go."""

    dry_run: bool
    removed: tuple[RemoveResponse, ...]

    def to_dict(self) -> dict[str, Any]:
        return {"dry_run": self.dry_run, "removed": [one.to_dict() for one in self.removed]}


@operation("prune", summary="Remove all corpora whose folder is gone", scope="workspace")
def prune(request: PruneRequest, ctx: Context) -> PruneResponse:
    from ir.registry import entered

    names = [name for name, entry in entered().items() if folder_gone(name, entry)]
    done = tuple(remove(RemoveRequest(name, request.dry_run), ctx) for name in names)
    return PruneResponse(request.dry_run, done)
