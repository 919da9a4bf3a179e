"""Records: mappings that each hold an id, from a function or a file of JSON lines."""

from __future__ import annotations

import importlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from ir.base import storable
from ir.errors import SourceError
from ir.sources.loaded import Loader, Placed
from ir.sources.skipped import Skip

__all__ = [
    "ID_KEYS",
    "Fetcher",
    "fetched",
    "find_record",
    "json_lines",
    "lasting_fetcher",
    "load_jsonl",
    "load_records",
    "names_function",
    "resolve_fetcher",
]

Fetcher = Callable[[], Iterable[Mapping[str, Any]]]

#: Where an id is looked for if no key is named.
ID_KEYS = ("_id", "id")


def names_function(value: object) -> bool:
    """Whether a value is written as ``"module:function"``, and not as a path.

    >>> [names_function(value) for value in ("my.tools:repos", "~/code/*", "repos", 3)]
    [True, False, False, False]
    """
    return isinstance(value, str) and re.fullmatch(r"[\w.]+:[\w.]+", value) is not None


def resolve_fetcher(fetcher: Fetcher | str) -> Fetcher:
    """A function, or the one that ``"module:function"`` or ``"path/to/file.py:function"`` names."""
    if not isinstance(fetcher, str):
        if callable(fetcher):
            return fetcher
        raise SourceError(f"A fetcher is a function or 'module:function', not {fetcher!r}.")
    module, _, attribute = fetcher.rpartition(":")
    try:
        found: Any = _from_file(module) if module.endswith(".py") else importlib.import_module(module)
        for part in attribute.split("."):
            found = getattr(found, part)
    # A user's file may fail in any way while it is loaded.
    except Exception as error:
        raise SourceError(
            f"The fetcher {fetcher!r} cannot be loaded: {type(error).__name__}: {error}.",
            remedy="Write it as 'package.module:function' of an installed package, or as 'path/to/file.py:function'.",
        ) from error
    if not callable(found):
        raise SourceError(f"The fetcher {fetcher!r} is not a function.")
    function: Fetcher = found
    return function


def _from_file(path: str) -> Any:
    """The module that a file holds; it is not entered among the imported ones, where its name may be taken."""
    from importlib.util import module_from_spec, spec_from_file_location

    spec = spec_from_file_location(Path(path).stem, Path(path).expanduser())
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is no Python file")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def lasting_fetcher(fetcher: Any) -> Any:
    """A fetcher's name that is valid in every folder: the path of a file becomes an absolute one."""
    module, colon, function = fetcher.rpartition(":") if isinstance(fetcher, str) else ("", "", "")
    return f"{Path(module).expanduser().absolute()}{colon}{function}" if module.endswith(".py") else fetcher


def load_records(fetcher: Fetcher | str, id_key: str | None = None) -> Loader:
    """A loader of what the fetcher returns."""
    fetch = resolve_fetcher(fetcher)

    def load(skip: Skip) -> Iterator[Placed]:
        for number, record in enumerate(fetched(fetch), 1):
            yield _placed(record, f"record {number}", id_key)._replace(body=record)

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


def find_record(file: Path, artifact_id: str, id_key: str | None = None) -> dict[str, Any] | None:
    """The record of that id as the file has it now; ``None`` if it has none."""
    keys = _id_keys(id_key)
    # Other characters may be written in several ways; then every line has to be read.
    plain = artifact_id.isascii() and re.fullmatch(r"[\w.: -]+", artifact_id) is not None
    needle = artifact_id.encode("utf-8", "surrogatepass")
    with open(file, "rb") as stream:
        for line in stream:
            if plain and needle not in line:
                continue
            record, problem = _json_object(line)
            if problem is None and storable(_id_in(record, keys) or "") == artifact_id:
                return dict(record)
    return None


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
    keys = _id_keys(id_key)
    found = _id_in(record, keys)
    if found is None:
        wanted = " or ".join(map(repr, keys))
        has = ", ".join(map(repr, list(record)[:8])) or "nothing"
        raise SourceError(f"{place} has no id under {wanted}; it has {has}.", remedy="Name the key with id_key=.")
    return Placed(found, _without(record, keys), place)


def _id_keys(id_key: str | None) -> tuple[str, ...]:
    return ID_KEYS if id_key is None else (id_key,)


def _id_in(record: Mapping[str, Any], keys: Iterable[str]) -> str | None:
    found = next((record[key] for key in keys if record.get(key) not in (None, "")), None)
    return None if found is None or isinstance(found, (Mapping, list)) else str(found)


def _without(record: Mapping[str, Any], keys: Iterable[str]) -> dict[str, Any]:
    """The record without the keys of its id, which would only repeat it in every field list."""
    dropped = set(keys)
    return {str(key): value for key, value in record.items() if key not in dropped}
