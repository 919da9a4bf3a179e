"""Saying how often a corpus is looked after, and how the machine does it by itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from ir.app.arguments import TARGET
from ir.app.context import Context
from ir.app.fields import Arg
from ir.app.operation import Value, given, operation
from ir.app.targets import resolve
from ir.base import json_clean

if TYPE_CHECKING:
    from ir.schedule import Schedule

__all__ = [
    "PolicyRequest",
    "PolicyResponse",
    "ScheduleRequest",
    "ScheduleResponse",
    "look_after",
    "show_schedule",
]


@dataclass(frozen=True)
class PolicyRequest(Value):
    """What is ``None`` stays as it is; ``default`` sets all of it back first. ``hours="any"`` lifts that limit."""

    corpus: Annotated[str, TARGET]
    refresh: Annotated[
        str | None,
        Arg(
            "changed (at every run), a span such as 6h, or never",
            metavar="WHEN",
            blank=False,
            help="changed (at every run), a span such as 6h, or never.",
        ),
    ] = None
    calibrate: Annotated[
        str | None,
        Arg(
            "outdated (for another embedder), a span, or never",
            metavar="WHEN",
            blank=False,
            help="outdated (for another embedder), a span, or never.",
        ),
    ] = None
    hours: Annotated[
        str | None, Arg("only between these hours, such as 22-6; or any", metavar="FROM-TO", blank=False)
    ] = None
    default: Annotated[bool, Arg("set everything else back")] = False


@dataclass(frozen=True)
class PolicyResponse(Value):
    """The policy that holds now, and when what it speaks of was last done by ``ir maintain``, where that counts."""

    corpus: str
    refresh: str
    calibrate: str
    hours: str | None
    changed: bool
    done: Mapping[str, str]


@operation("policy", summary="Show or change how often a corpus is looked after", effect="writes")
def look_after(request: PolicyRequest, ctx: Context) -> PolicyResponse:
    from dataclasses import replace

    from ir.policy import Done, Policy
    from ir.registry import look_after as keep
    from ir.registry import policy_of

    name = resolve(request.corpus).name
    before = policy_of(name)
    asked = given(refresh=request.refresh, calibrate=request.calibrate, hours=request.hours)
    if asked.get("hours") == "any":
        asked["hours"] = None
    policy = replace(Policy() if request.default else before, **asked)
    if asked or request.default:
        keep(name, policy)
    done = {task: when for task, when in Done().about(name).items() if task in ("refreshed", "calibrated")}
    return PolicyResponse(name, policy.refresh, policy.calibrate, policy.hours, policy != before, done)


@dataclass(frozen=True)
class ScheduleRequest(Value):
    """Without ``format``, that of this kind of machine; without ``corpora``, all that are registered."""

    corpora: Annotated[tuple[str, ...], Arg("only these corpora", blank=False, metavar="[CORPUS...]")] = ()
    every: Annotated[str, Arg("how often: 30m, 1h, 6h, daily, weekly", blank=False, metavar="SPAN")] = "1h"
    format: Annotated[
        str | None,
        Arg(
            "the scheduler to write for",
            blank=False,
            metavar="FORMAT",
            help="cron, systemd or launchd; what suits this machine.",
        ),
    ] = None


@dataclass(frozen=True)
class ScheduleResponse(Value):
    """What to write where. Nothing was written."""

    schedule: Schedule

    def to_dict(self) -> dict[str, Any]:
        from dataclasses import asdict

        shown: dict[str, Any] = json_clean(asdict(self.schedule))
        return shown

    @classmethod
    def json_schema(cls) -> dict[str, Any]:
        from ir.app.schema import schema_of
        from ir.schedule import Schedule

        return schema_of(Schedule)


@operation("schedule", summary="Print what a scheduler needs to run ir maintain", effect="reads", scope="machine")
def show_schedule(request: ScheduleRequest, ctx: Context) -> ScheduleResponse:
    from ir.schedule import schedule

    names = [resolve(word).name for word in request.corpora]
    return ScheduleResponse(schedule(request.every, request.format, corpora=names))
