"""Reading and writing the line-based files of evaluation, with ``file:line`` in every complaint."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from ir.errors import InvalidInput, StoreUnwritable

__all__ = ["read_jsonl", "read_lines", "write_lines"]


def read_lines(path: str | Path) -> Iterator[tuple[str, str]]:
    """``(place, text)`` of each line that is not blank; the place reads ``file:line``."""
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{path} is not UTF-8 text (byte {error.start}).", remedy="Convert it to UTF-8.") from None
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror or error}.", remedy="Check the path.") from None
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            yield f"{path}:{number}", line.rstrip("\r")


def read_jsonl(path: str | Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """``(place, object)`` of each line."""
    for place, line in read_lines(path):
        try:
            data = json.loads(line)
        except json.JSONDecodeError as error:
            raise InvalidInput(
                f"{place}: not valid JSON: {error.msg} at column {error.colno}.", remedy="Correct or remove the line."
            ) from None
        except (ValueError, RecursionError) as error:  # a number that is too long, or brackets nested too deeply
            raise InvalidInput(
                f"{place}: this JSON cannot be read: {error}.", remedy="Correct or remove the line."
            ) from None
        if not isinstance(data, dict):
            raise InvalidInput(f"{place}: expected a JSON object, found {type(data).__name__}.")
        yield place, data


def write_lines(path: str | Path, lines: Iterable[str]) -> None:
    """Write a text file whole, making its folder; a failed write leaves an older file as it was.

    A link, a pipe or a device is written to, not replaced by a file.
    """
    target = Path(path)
    stays = target.is_symlink() or (target.exists() and not target.is_file())
    part = target if stays else target.with_name(target.name + ".part")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        part.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8", newline="\n")
        if not stays:
            part.replace(target)
    except OSError as error:
        if not stays:
            part.unlink(missing_ok=True)
        raise StoreUnwritable(
            f"{target} cannot be written: {error.strerror or error}.", remedy="Choose another place, or make room."
        ) from None
