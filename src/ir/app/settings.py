"""Reading and changing settings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ir.app.context import Context
from ir.app.operation import Value, operation
from ir.errors import InvalidInput
from ir.options import choice

__all__ = ["ACTIONS", "ConfigRequest", "ConfigResponse", "Setting", "config"]

ACTIONS = ("list", "get", "set", "unset")


@dataclass(frozen=True)
class ConfigRequest(Value):
    """``list`` all settings, ``get`` one, ``set`` it in the user's file, or ``unset`` it there."""

    action: str = "list"
    key: str | None = None
    value: str | None = None

    def __post_init__(self) -> None:
        choice("action", self.action, ACTIONS)
        if self.action != "list" and not self.key:
            raise InvalidInput(f"`config {self.action}` needs a KEY.", remedy="`ir config` lists the keys.")
        if self.action == "set" and self.value is None:
            raise InvalidInput(f"`config set {self.key}` needs a VALUE.")
        if self.action != "set" and self.value is not None:
            raise InvalidInput(f"`config {self.action}` takes no VALUE.")


@dataclass(frozen=True)
class Setting(Value):
    """A setting, its value and where that comes from."""

    key: str
    value: Any
    origin: str
    doc: str


@dataclass(frozen=True)
class ConfigResponse(Value):
    """The settings asked for, as they stand afterwards; ``changed`` for a ``set`` or ``unset`` that did something."""

    settings: tuple[Setting, ...]
    changed: bool = False
    file: str | None = None


@operation("config", summary="Show or change settings, with where each comes from")
def config(request: ConfigRequest, ctx: Context) -> ConfigResponse:
    from ir.config import Settings, set_setting, unset_setting, user_file
    from ir.config.keys import KEYS, key_named

    wanted = [key_named(request.key, "config")] if request.key else list(KEYS)
    changed = False
    settings = ctx.settings
    if request.action == "set":
        set_setting(wanted[0].name, request.value)
        changed, settings = True, Settings.load()
    elif request.action == "unset":
        changed, settings = unset_setting(wanted[0].name), Settings.load()
    shown = tuple(Setting(key.name, _shown(settings[key.name]), settings.origin(key.name), key.doc) for key in wanted)
    return ConfigResponse(shown, changed, str(user_file()))


def _shown(value: Any) -> Any:
    """A setting's value without the key that someone may have written into an address."""
    from ir.config.secrets import masked

    return masked(value) if isinstance(value, str) else value
