"""The page for people: files that ship with the package, and no others."""

from __future__ import annotations

import hashlib
import mimetypes
from pathlib import Path
from typing import NamedTuple

from fastapi import Request, Response

from ir.web.guard import CSP
from ir.web.refusals import Refusal

__all__ = ["FOLDER", "Pages"]

FOLDER = Path(__file__).with_name("page")
_TYPES = {".js": "text/javascript; charset=utf-8", ".mjs": "text/javascript; charset=utf-8", ".map": "application/json"}


class _File(NamedTuple):
    body: bytes
    kind: str
    etag: str


class Pages:
    """The files of the page, read once. What is asked for is looked up by name, so no path leads anywhere else."""

    def __init__(self, folder: Path = FOLDER) -> None:
        self._folder = folder
        self._held: dict[str, _File] | None = None

    def response(self, name: str, request: Request) -> Response:
        if self._held is None:
            self._held = {path.relative_to(self._folder).as_posix(): _read(path) for path in _files(self._folder)}
        found = self._held.get(name)
        if found is None:
            raise Refusal(404, "not_found", "There is nothing of that name.", remedy="The page is at /.")
        headers = {"etag": found.etag, "cache-control": "no-cache", "content-security-policy": CSP}
        if request.headers.get("if-none-match") == found.etag:
            return Response(status_code=304, headers=headers)
        return Response(found.body, headers=headers, media_type=found.kind)


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file()) if folder.is_dir() else []


def _read(path: Path) -> _File:
    body = path.read_bytes()
    kind = _TYPES.get(path.suffix) or mimetypes.guess_type(path.name)[0] or "application/octet-stream"
    if kind in ("text/html", "text/css"):
        kind += "; charset=utf-8"
    return _File(body, kind, f'"{hashlib.sha256(body).hexdigest()[:32]}"')
