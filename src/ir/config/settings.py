"""What the user has set, and where: flag, then environment, then project file, then user file, then the default."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from ir.config.files import file_lock, write_atomic
from ir.config.keys import KEYS, key_named
from ir.config.paths import config_dir
from ir.errors import InvalidInput

__all__ = [
    "Effective",
    "Settings",
    "project_file",
    "set_setting",
    "settings_for_now",
    "unset_setting",
    "user_file",
    "user_setting",
]


class Effective(NamedTuple):
    """A setting as it stands: ``origin`` is ``"flag"``, a variable, a file or ``"default"``."""

    key: str
    value: Any
    origin: str


class Settings(Mapping[str, Any]):
    """Every setting with its effective value; reading one never fails.

    >>> Settings.load(flags={"k": 5})["k"]
    5
    """

    def __init__(self, effective: Mapping[str, Effective]) -> None:
        self._effective = dict(effective)

    @classmethod
    def load(cls, flags: Mapping[str, Any] | None = None, *, cwd: Path | None = None) -> Settings:
        """The settings seen from folder ``cwd``; flags that are ``None`` were not given."""
        layers = [_from_flags(flags or {}), _for_now.get(), _from_environment(), *_from_files(cwd or Path.cwd())]
        effective: dict[str, Effective] = {}
        for key in KEYS:
            found = next((layer[key.name] for layer in layers if key.name in layer), None)
            effective[key.name] = found or Effective(key.name, key.default, "default")
        return cls(effective)

    @classmethod
    def defaults(cls) -> Settings:
        """The settings of somebody who has set nothing."""
        return cls({key.name: Effective(key.name, key.default, "default") for key in KEYS})

    def explain(self) -> list[Effective]:
        """``(key, value, origin)`` of every setting, in the order of the table."""
        return list(self._effective.values())

    def origin(self, name: str) -> str:
        return self._effective[key_named(name, "Settings").name].origin

    def llm_api_key(self) -> str | None:
        """The key for the language model, from the environment variable that ``llm.api_key_env`` names."""
        return self.api_key("llm")

    def api_key(self, service: str) -> str | None:
        """The key for a service, from the environment variable that ``<service>.api_key_env`` names."""
        return (os.environ.get(self[f"{service}.api_key_env"]) or "").strip() or None

    def __getitem__(self, name: str) -> Any:
        return self._effective[name].value

    def __iter__(self) -> Iterator[str]:
        return iter(self._effective)

    def __len__(self) -> int:
        return len(self._effective)


#: Settings that hold for a while in this context, whatever the user has set.
_for_now: ContextVar[Mapping[str, Effective]] = ContextVar("ir_settings_for_now", default=MappingProxyType({}))


@contextmanager
def settings_for_now(values: Mapping[str, Any], where: str) -> Iterator[Settings]:
    """Let these settings hold in the block; ``where`` says in an error who gave them."""
    given = {name: Effective(name, key_named(name, where).check(value, where), where) for name, value in values.items()}
    token = _for_now.set({**_for_now.get(), **given})
    try:
        yield Settings.load()
    finally:
        _for_now.reset(token)


#: The user's file as it was read last, with what tells whether it changed.
_read_last: tuple[Any, dict[str, Effective]] = (None, {})


def user_setting(name: str) -> Any:
    """The value of a setting that no project can set; cheap enough to be asked again and again in one call."""
    global _read_last
    key = key_named(name, "Settings")
    held = _for_now.get().get(name)
    if held is not None:
        return held.value
    text = os.environ.get(key.variable)
    if text:
        return key.parse(text, f"environment {key.variable}")
    path = user_file()
    try:
        found = path.stat()
    except OSError:
        return key.default
    state = (str(path), found.st_mtime_ns, found.st_size, found.st_ino)
    if _read_last[0] != state:
        _read_last = (state, _from_file(path, project=False))
    held = _read_last[1].get(name)
    return key.default if held is None else held.value


def user_file() -> Path:
    """The user's own settings file."""
    return config_dir() / "config.toml"


def project_file(cwd: Path) -> Path | None:
    """The nearest ``ir.toml``, or ``pyproject.toml`` with a ``[tool.ir]`` table, from ``cwd`` upward."""
    for folder in (cwd.absolute(), *cwd.absolute().parents):
        own, shared = folder / "ir.toml", folder / "pyproject.toml"
        if own.is_file():
            return own
        if shared.is_file() and "ir" in _read_toml(shared).get("tool", {}):
            return shared
    return None


def set_setting(name: str, value: Any) -> Effective:
    """Write one setting to the user's file, keeping its comments; a string is read as on a command line."""
    from ir.config.edit import with_value

    path = user_file()
    key = key_named(name, "Setting")
    where = f"Setting {name}"
    checked = key.parse(value, where) if isinstance(value, str) else key.check(value, where)
    with file_lock(path):
        _table_of(path)  # a broken file is reported, never overwritten
        text = path.read_text("utf-8") if path.exists() else ""
        write_atomic(path, with_value(text, name, checked, path))
    return Effective(name, checked, str(path))


def unset_setting(name: str) -> bool:
    """Remove one setting from the user's file; whether it was there."""
    from ir.config.edit import without_value

    path = user_file()
    key_named(name, "Setting")
    with file_lock(path):
        if name not in _flat(_table_of(path)):
            return False
        write_atomic(path, without_value(path.read_text("utf-8"), name, path))
    return True


def _from_flags(flags: Mapping[str, Any]) -> dict[str, Effective]:
    given = {name: value for name, value in flags.items() if value is not None}
    return {
        name: Effective(name, key_named(name, "Command line").check(value, "Command line"), "flag")
        for name, value in given.items()
    }


def _from_environment() -> dict[str, Effective]:
    layer = {}
    for key in KEYS:
        text = os.environ.get(key.variable)
        if text:
            origin = f"environment {key.variable}"
            layer[key.name] = Effective(key.name, key.parse(text, origin), origin)
    return layer


def _from_files(cwd: Path) -> Iterator[dict[str, Effective]]:
    project = project_file(cwd)
    if project is not None:
        yield _from_file(project, project=True)
    yield _from_file(user_file(), project=False)


def _from_file(path: Path, *, project: bool) -> dict[str, Effective]:
    layer = {}
    for name, value in _flat(_table_of(path)).items():
        key = key_named(name, str(path))
        if project and not key.safe_from_project(value):
            so = f" to {value!r}" if key.project else ""
            raise InvalidInput(
                f"{path}: {name} cannot be set{so} by a project, since it decides what of yours is sent or shown.",
                remedy=f"Set it for yourself: ir config set {name} VALUE, or {key.variable}=VALUE.",
            )
        layer[name] = Effective(name, key.check(value, str(path)), str(path))
    return layer


def _table_of(path: Path) -> dict[str, Any]:
    table = _read_toml(path)
    if path.name == "pyproject.toml":
        table = table.get("tool", {}).get("ir", {})
    if not isinstance(table, dict):
        raise InvalidInput(f"{path}: [tool.ir] must be a table.")
    return table


def _read_toml(path: Path) -> dict[str, Any]:
    import tomllib

    try:
        return tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{path} is not valid TOML: {error}.", remedy="Correct or remove the file.") from error
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror or error}.") from error


def _flat(table: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in table.items():
        if isinstance(value, dict):
            flat.update(_flat(value, f"{prefix}{name}."))
        else:
            flat[prefix + name] = value
    return flat
