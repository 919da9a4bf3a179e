"""Reading and changing settings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from ir.app.context import Context
from ir.app.fields import Arg
from ir.app.operation import Value, operation
from ir.config import Settings
from ir.errors import InvalidInput
from ir.options import choice

__all__ = ["ACTIONS", "ConfigRequest", "ConfigResponse", "Setting", "config"]

ACTIONS = ("list", "get", "set", "unset")


@dataclass(frozen=True)
class ConfigRequest(Value):
    """``list`` all settings, ``get`` one, ``set`` it in the user's file, or ``unset`` it there."""

    action: Annotated[str, Arg("what to do", choices=ACTIONS, metavar="ACTION", help="list, get, set or unset.")] = (
        "list"
    )
    key: Annotated[str | None, Arg("the name of a setting", metavar="KEY", complete="ir.config.keys:names")] = None
    value: Annotated[str | None, Arg("its new value", metavar="VALUE")] = None

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


@operation("config", summary="Show or change settings, with where each comes from", effect="writes", scope="machine")
def config(request: ConfigRequest, ctx: Context) -> ConfigResponse:
    from ir.config import set_setting, unset_setting, user_file
    from ir.config.keys import KEYS, key_named

    wanted = [key_named(request.key, "config")] if request.key else list(KEYS)
    changed = False
    settings = ctx.settings
    if request.action == "set":
        if request.key == "embedder":
            _check_embedder(str(request.value))
        set_setting(wanted[0].name, request.value)
        changed, settings = True, Settings.load()
    elif request.action == "unset":
        changed, settings = unset_setting(wanted[0].name), Settings.load()
    if changed and request.key == "embedder":
        _tell_keepers(settings, ctx)
    shown = tuple(Setting(key.name, _shown(settings[key.name]), settings.origin(key.name), key.doc) for key in wanted)
    return ConfigResponse(shown, changed, str(user_file()))


def _check_embedder(name: str) -> None:
    """A name that nothing answers to would fail every first build, far from where it was written."""
    from ir.embed.models import check_name

    if name.strip():
        check_name(name)


def _tell_keepers(settings: Settings, ctx: Context) -> None:
    from ir.app.embedders import keepers_note, wanted_embedder

    note = keepers_note(wanted_embedder(settings))
    if note:
        ctx.note(note)


def _shown(value: Any) -> Any:
    """A setting's value without the key that someone may have written into an address."""
    from ir.secrets.addresses import masked

    return masked(value) if isinstance(value, str) else value
