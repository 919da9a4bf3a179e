"""Operations for the user's own command line: requests and responses travel whole, between processes of one version
and one user that have proved to be so."""

from __future__ import annotations

import base64
import pickle
from collections.abc import Mapping
from typing import Any

from ir.app.context import Caller
from ir.app.session import Session
from ir.errors import IrError
from ir.serve.protocol import INVALID_PARAMS, ProtocolError

__all__ = ["packed", "run_operation", "unpacked"]


def packed(value: Any) -> str:
    return base64.b64encode(pickle.dumps(value)).decode()


def unpacked(text: str) -> Any:
    return pickle.loads(base64.b64decode(text))


def run_operation(session: Session, params: Mapping[str, Any], caller: Caller, cancelled: Any) -> dict[str, Any]:
    """What the command line would have got in its own process: a response or an error, and what was said meanwhile."""
    from ir.app.places import view
    from ir.app.policy import Policy
    from ir.app.preparing import answer, targets_of

    if params.get("settings") != dict(session.settings):
        raise ProtocolError(INVALID_PARAMS, "The settings of this process are others.")
    notes: list[str] = []
    ctx = session.context(door="cli", caller=caller, cancelled=cancelled, note=notes.append)
    ctx.background = bool(params.get("attended"))
    outcome: Any
    try:
        found = session.operation(str(params["operation"]), "cli")
        request = unpacked(str(params["request"]))
        if not all(view(word, ctx).target.built for word in targets_of(request)):
            raise ProtocolError(INVALID_PARAMS, "A first build is for who can show how far it is.")
        outcome = answer(found, request, ctx, policy=Policy(params.get("refresh")))
    except IrError as error:
        outcome = error
    finally:
        ctx.release()
    return {"outcome": packed(outcome), "notes": notes}
