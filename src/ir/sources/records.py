"""Records: mappings that each hold an id, from a function or a file of JSON lines."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from ir.errors import SourceError
from ir.sources.loaded import Loader, Placed
from ir.sources.skipped import Skip

__all__ = ["ID_KEYS", "Fetcher", "fetched", "json_lines", "load_jsonl", "load_records", "resolve_fetcher"]

Fetcher = Callable[[], Iterable[Mapping[str, Any]]]

#: Where an id is looked for if no key is named.
ID_KEYS = ("_id", "id")


def resolve_fetcher(fetcher: Fetcher | str) -> Fetcher:
    """A function, or the one that ``"module:function"`` names."""
    if not isinstance(fetcher, str):
        if callable(fetcher):
            return fetcher
        raise SourceError(f"A fetcher is a function or 'module:function', not {fetcher!r}.")
    module, _, attribute = fetcher.partition(":")
    try:
        found: Any = importlib.import_module(module)
        for part in attribute.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError, ValueError, TypeError) as error:
        raise SourceError(
            f"The fetcher {fetcher!r} cannot be loaded: {error}.", remedy="Write it as 'package.module:function'."
        ) from error
    if not callable(found):
        raise SourceError(f"The fetcher {fetcher!r} is not a function.")
    function: Fetcher = found
    return function


def load_records(fetcher: Fetcher | str, id_key: str | None = None) -> Loader:
    """A loader of what the fetcher returns."""
    fetch = resolve_fetcher(fetcher)

    def load(skip: Skip) -> Iterator[Placed]:
        for number, record in enumerate(fetched(fetch), 1):
            yield _placed(record, f"record {number}", id_key)

    return load


def fetched(fetch: Callable[[], Iterable[Any]]) -> list[Any]:
    """All that a fetcher returns."""
    try:
        return list(fetch())
    except SourceError:
        raise
    # A fetcher is foreign code and may raise anything; a build that went on would prune what it did not return.
    except Exception as error:
        raise SourceError(
            f"The fetcher failed with {type(error).__name__}: {error}", remedy="The index was not changed."
        ) from error


def load_jsonl(path: str | Path, id_key: str | None = None) -> Loader:
    """A loader of a file with one JSON object on each line; a broken line is an error that names it."""
    file = Path(path).expanduser()

    def load(skip: Skip) -> Iterator[Placed]:
        for number, record, problem in json_lines(file):
            place = f"{file.name}:{number}"
            if problem is not None:
                raise SourceError(f"{file}:{number} cannot be used: {problem}.", remedy="Mend or remove that line.")
            yield _placed(record, place, id_key)

    return load


def json_lines(file: Path) -> Iterator[tuple[int, Any, str | None]]:
    """The line number, the object and the problem of every line that is not blank; one of the latter is ``None``."""
    try:
        with open(file, "rb") as stream:
            for number, line in enumerate(stream, 1):
                if line.strip():
                    yield number, *_json_object(line)
    except OSError as error:
        raise SourceError(f"{str(file)!r} cannot be read: {error.strerror}.", remedy="Check the path.") from error


def _json_object(line: bytes) -> tuple[Any, str | None]:
    try:
        value = json.loads(line.removeprefix(b"\xef\xbb\xbf").decode("utf-8"))
    except UnicodeDecodeError:
        return None, "it is not UTF-8 text"
    except json.JSONDecodeError as error:
        return None, f"it is not JSON ({error.msg} at column {error.colno})"
    except (RecursionError, ValueError) as error:
        return None, f"its JSON is out of bounds ({error})"
    return value, None if isinstance(value, dict) else f"a JSON object is expected, not {type(value).__name__}"


def _placed(record: Any, place: str, id_key: str | None) -> Placed:
    if not isinstance(record, Mapping):
        raise SourceError(f"{place} is a {type(record).__name__}; a mapping is expected.")
    keys = ID_KEYS if id_key is None else (id_key,)
    found = next((record[key] for key in keys if record.get(key) not in (None, "")), None)
    if found is None or isinstance(found, (Mapping, list)):
        wanted = " or ".join(map(repr, keys))
        has = ", ".join(map(repr, list(record)[:8])) or "nothing"
        raise SourceError(f"{place} has no id under {wanted}; it has {has}.", remedy="Name the key with id_key=.")
    return Placed(str(found), _without(record, keys), place)


def _without(record: Mapping[str, Any], keys: Iterable[str]) -> dict[str, Any]:
    """The record without the keys of its id, which would only repeat it in every field list."""
    dropped = set(keys)
    return {str(key): value for key, value in record.items() if key not in dropped}
