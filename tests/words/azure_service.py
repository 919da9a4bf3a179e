"""A small server that speaks the requests and answers of Azure AI Search, as far as ``ir`` uses them.

It is strict where the service is: versions, keys, names of indexes and fields, actions, limits, filters.
"""

from __future__ import annotations

import json
import math
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

KEY = "azure-secret-1"
_WORD = re.compile(r"\w+")
_STOP = frozenset(("a", "and", "for", "in", "is", "it", "of", "or", "the", "that", "to", "was", "with"))
_TEST = re.compile(r"(?:(?P<list>\w+)/any\(t: t eq |(?P<field>\w+) (?P<op>eq|ne|gt) )'(?P<value>(?:[^']|'')*)'\)?")

Answer = tuple[int, Any]


class Refused(Exception):
    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class AzureService:
    """``indexes`` holds the documents by index and key; ``actions`` counts what was done to them."""

    def __init__(self, *, key: str = KEY, bearer: bool = False) -> None:
        self.indexes: dict[str, dict[str, dict[str, Any]]] = {}
        self.fields: dict[str, dict[str, dict[str, Any]]] = {}
        self.actions: Counter[str] = Counter()
        self.requests: list[tuple[str, str, Any]] = []
        self.headers: list[dict[str, str]] = []
        #: Asked before anything else; what it returns is the answer.
        self.instead: Callable[[str, Any], Answer | None] = lambda path, body: None
        self._sent = ("Authorization", f"Bearer {key}") if bearer else ("api-key", key)
        self._lock = threading.Lock()

    def answer(self, method: str, path: str, headers: dict[str, str], body: Any) -> Answer:
        with self._lock:
            self.requests.append((method, path, body))
            self.headers.append(headers)
        other = self.instead(path, body)
        if other is not None:
            return other
        parts = urlsplit(path)
        try:
            sent = {name.lower(): value for name, value in headers.items()}.get(self._sent[0].lower())
            if sent != self._sent[1]:
                raise Refused(403, f"the key {sent} is not allowed")
            if parse_qs(parts.query).get("api-version") != ["2024-07-01"]:
                raise Refused(400, "the api-version is missing")
            with self._lock:
                return self._done(method, parts.path.strip("/").split("/"), body)
        except Refused as error:
            return error.status, {"error": {"code": "", "message": str(error)}}

    def _done(self, method: str, steps: list[str], body: Any) -> Answer:
        if method == "PUT" and len(steps) == 2 and steps[0] == "indexes":
            return self._create(steps[1], body)
        if method != "POST" or len(steps) != 4 or steps[0] != "indexes" or steps[2] != "docs":
            raise Refused(404, "no such resource")
        if steps[1] not in self.indexes:
            raise Refused(404, f"The index '{steps[1]}' was not found.")
        if steps[3] == "index":
            return self._index(steps[1], body)
        if steps[3] == "search":
            return self._search(steps[1], body)
        raise Refused(404, "no such resource")

    def _create(self, name: str, body: Any) -> Answer:
        if not re.fullmatch(r"[a-z0-9][a-z0-9-]{0,126}[a-z0-9]", name) or "--" in name or body["name"] != name:
            raise Refused(400, "the name of the index is not valid")
        if sum(bool(field.get("key")) for field in body["fields"]) != 1:
            raise Refused(400, "one field has to be the key")
        new = name not in self.indexes
        self.indexes.setdefault(name, {})
        self.fields[name] = {field["name"]: field for field in body["fields"]}
        return (201, body) if new else (204, b"")

    def _index(self, name: str, body: Any) -> Answer:
        if not 0 < len(body["value"]) <= 1000:
            raise Refused(400, "a batch has 1 to 1000 documents")
        told = []
        for document in body["value"]:
            action = document.pop("@search.action", "upload")
            key = document["key"]
            if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_=-]*", key):
                raise Refused(400, f"the key '{key}' is not valid")
            unknown = set(document) - set(self.fields[name])
            if unknown or action not in ("upload", "merge", "mergeOrUpload", "delete"):
                raise Refused(400, f"unknown: {unknown or action}")
            self.actions[action] += 1
            if action == "delete":
                self.indexes[name].pop(key, None)
            else:
                self.indexes[name][key] = document
            told.append({"key": key, "status": True, "errorMessage": None, "statusCode": 200})
        return 200, {"value": told}

    def _search(self, name: str, body: Any) -> Answer:
        if body.get("top", 50) > 1000 or body.get("skip", 0) > 100_000:
            raise Refused(400, "too many")
        documents = [one for one in self.indexes[name].values() if self._passes(name, one, body.get("filter"))]
        scored = [(score, one) for score, one in self._scores(name, documents, body) if score > 0]
        by_id = "id" in body.get("orderby", "") and "score" not in body.get("orderby", "")
        scored.sort(key=(lambda pair: pair[1]["id"]) if by_id else (lambda pair: (-pair[0], pair[1]["id"])))
        skip = body.get("skip", 0)
        page = scored[skip : skip + body.get("top", 50)]
        chosen = body["select"].split(",")
        rows = [{"@search.score": score, **{field: one[field] for field in chosen}} for score, one in page]
        return 200, {"@odata.context": "…", "value": rows}

    def _passes(self, name: str, document: dict[str, Any], text: str | None) -> bool:
        if not text:
            return True
        at, held = 0, True
        while True:
            test = _TEST.match(text, at)
            if test is None:
                raise Refused(400, f"Invalid expression at position {at} of the filter: {text}")
            field, value = test["list"] or test["field"], test["value"].replace("''", "'")
            if not self.fields[name][field].get("filterable"):
                raise Refused(400, f"'{field}' cannot be filtered by")
            found = document[field]
            if test["list"]:
                held &= value in found
            else:
                held &= {"eq": found == value, "ne": found != value, "gt": found > value}[test["op"]]
            at = test.end()
            if at == len(text):
                return held
            if not text.startswith(" and ", at):
                raise Refused(400, f"Invalid expression at position {at} of the filter: {text}")
            at += len(" and ")

    def _scores(self, name: str, documents: list[dict[str, Any]], body: Any) -> Iterator[tuple[float, dict[str, Any]]]:
        if body["search"] == "*":
            yield from ((1.0, one) for one in documents)
            return
        if body["searchMode"] != "any" or body["queryType"] != "simple" or body["searchFields"] != "content":
            raise Refused(400, "this test server knows any simple search of the content alone")
        asked = _words(re.sub(r"\\(.)", r"\1", body["search"]))
        everything = [_words(one["content"]) for one in self.indexes[name].values()]
        for one in documents:
            words = Counter(_words(one["content"]))
            score = 0.0
            for word in set(asked):
                frequency = sum(word in other for other in everything)
                rarity = math.log(1 + (len(everything) - frequency + 0.5) / (frequency + 0.5))
                score += rarity * words[word] / (words[word] + 1.2)
            yield score, one


def _words(text: str) -> list[str]:
    return [word for word in _WORD.findall(text.lower()) if word not in _STOP]


@contextmanager
def running(service: AzureService) -> Iterator[str]:
    """The address of the service, for the block."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))))
            status, answer = service.answer(self.command, self.path, dict(self.headers), body)
            data = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
            try:
                self.send_response(status)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)
            except OSError:
                return

        def do_PUT(self) -> None:
            self.do_POST()

        def log_message(self, *args: Any) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
