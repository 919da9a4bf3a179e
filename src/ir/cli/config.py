"""``ir config``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from ir.cli.arguments import SYSTEM, Command, Json, one_of
from ir.cli.fields import derived

if TYPE_CHECKING:
    from ir.app.settings import ConfigResponse
    from ir.cli.output import Output

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    made = derived(config, "ir.app.settings:ConfigRequest", arguments=("action", "key"), without=("value",))
    app.command("config", cls=Command, rich_help_panel=SYSTEM)(made)


def _complete_value(ctx: typer.Context, incomplete: str) -> list[str]:
    """What the setting that is named on the command line may be."""
    key = str(ctx.params.get("key") or "")
    if key == "embedder":
        return one_of(among="ir.embed.models:known_names")(incomplete)
    try:
        from ir.config.keys import key_named

        named = key_named(key, "completion")
    except Exception:  # completion must never fail
        return []
    words = named.choices or (("true", "false") if named.type is bool else ())
    return one_of(*words)(incomplete)


#: Which words a shell offers depends on the key before it, so this one is not made from its field.
Value = Annotated[str | None, typer.Argument(metavar="VALUE", help="Its new value.", autocompletion=_complete_value)]


def config(*, value: Value = None, as_json: Json = False, **given: Any) -> None:
    """Show or change settings, with where each comes from.

    Flags win over the environment (IR_K=5), that over a project's ir.toml, that over your own settings file.
    """
    from ir.app.settings import ConfigRequest
    from ir.app.settings import config as operation
    from ir.cli.session import perform

    perform(operation, ConfigRequest(value=value, **given), show_settings, as_json=as_json)


def show_settings(response: ConfigResponse, output: Output) -> None:
    rows = [(item.key, "-" if item.value is None else item.value, item.origin) for item in response.settings]
    output.table(("setting", "value", "from"), rows)
