"""Azure AI Search over its REST interface. Tested against a server that speaks it, not against the service itself."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ir.base import Record, json_clean, storage_key
from ir.config.workspace import DEFAULT_WORKSPACE, current_workspace
from ir.endpoint import Endpoint
from ir.errors import KeywordError
from ir.keyword.faults import TIMEOUT_S, told_as_fault, unknown_collection
from ir.keywords import KeywordRequest, KeywordResult, ranked

__all__ = ["AzureKeywords"]

API_VERSION = "2024-07-01"
#: The service takes no more results, documents or characters at a time.
_MOST_RESULTS = 1000
_MOST_DOCUMENTS = 1000
_MOST_CHARS = 4_000_000
#: The document that names the mirror; it has no words, so no search finds it.
_MARK = "ir-mirror"
_OPERATORS = re.compile(r"""([+|\-"()'*~\\])""")
_UNFIT = re.compile(r"[^a-z0-9]+")


class AzureKeywords:
    """An index of the service for each collection: key, id, content, and metadata as ``name=value`` tags."""

    def __init__(
        self, base_url: str, api_key: str | None, *, bearer: bool = False, name: str = "azure-ai-search"
    ) -> None:
        self.name = name
        self._endpoint = Endpoint(
            base_url,
            "Azure AI Search",
            KeywordError,
            "Check azure_search.base_url, and the key in the variable that azure_search.api_key_env names.",
            "azure_search.base_url",
            api_key,
            key_header=None if bearer else "api-key",
        )
        self._made: set[str] = set()
        self._lock = threading.Lock()

    def search(self, request: KeywordRequest, *, timeout_s: float | None = None) -> list[KeywordResult]:
        if not request.top_k:
            return []
        body: dict[str, Any] = {
            "search": _OPERATORS.sub(r"\\\1", request.query),
            "queryType": "simple",
            "searchMode": "any",
            "searchFields": "content",
            "select": "id",
            "orderby": "search.score() desc, id asc",
        }
        if request.filters:
            body["filter"] = " and ".join(f"tags/any(t: t eq {_quoted(tag)})" for tag in _pairs(request.filters))
        limit = TIMEOUT_S if timeout_s is None else timeout_s
        scores: list[tuple[str, float]] = []
        with told_as_fault(self.name):
            while len(scores) < request.top_k:
                wanted = min(request.top_k - len(scores), _MOST_RESULTS)
                found = self._post(request.collection, "search", {**body, "top": wanted, "skip": len(scores)}, limit)
                page = [(str(row["id"]), float(row["@search.score"])) for row in found["value"]]
                scores += page
                if len(page) < wanted:
                    break
        return ranked(scores, request.top_k)

    def close(self) -> None:
        """Nothing is held open."""

    # -- as the target of a mirror -----------------------------------------------------------------------------

    def mark(self, collection: str) -> str | None:
        with told_as_fault(self.name):
            try:
                body = {"search": "*", "filter": f"key eq {_quoted(_MARK)}", "select": "tags", "top": 1}
                found = self._post(collection, "search", body, TIMEOUT_S)["value"]
            except _NoIndex:
                return None
            return str(found[0]["tags"][0]) if found else None

    def ids(self, collection: str) -> Iterator[str]:
        last = ""
        while True:
            body = {
                "search": "*",
                "filter": f"key ne {_quoted(_MARK)} and id gt {_quoted(last)}",
                "select": "id",
                "orderby": "id asc",
                "top": _MOST_RESULTS,
            }
            with told_as_fault(self.name):
                try:
                    page = [str(row["id"]) for row in self._post(collection, "search", body, TIMEOUT_S)["value"]]
                except _NoIndex:
                    return
            yield from page
            if len(page) < _MOST_RESULTS:
                return
            last = page[-1]

    def apply(
        self,
        collection: str,
        records: Sequence[Record],
        gone: Sequence[str],
        *,
        mark: str,
        settings: Mapping[str, Any],
    ) -> None:
        """Upload and delete documents; either may be repeated. The mark goes first: what follows is known by it."""
        with told_as_fault(self.name):
            self._make_index(collection, settings)
            marking = {"@search.action": "upload", "key": _MARK, "id": "", "content": "", "tags": [mark]}
            deletions = ({"@search.action": "delete", "key": storage_key(one)} for one in gone)
            for actions in _batches([marking, *deletions, *map(_document, records)]):
                self._check(self._post(collection, "index", {"value": actions}, TIMEOUT_S))

    def _make_index(self, collection: str, settings: Mapping[str, Any]) -> None:
        name = index_name(collection)
        with self._lock:
            if name in self._made:
                return
        text = {"name": "content", "type": "Edm.String", "searchable": True, "retrievable": False}
        plain = {"searchable": False, "retrievable": True, "filterable": True}
        fields = [
            {"name": "key", "type": "Edm.String", "key": True, **plain},
            {"name": "id", "type": "Edm.String", "sortable": True, **plain},
            {**text, "analyzer": _ANALYZERS.get(str(settings.get("language")), "standard.lucene")},
            {"name": "tags", "type": "Collection(Edm.String)", **plain},
        ]
        path = f"/indexes/{name}?api-version={API_VERSION}"
        self._endpoint.post(path, {"name": name, "fields": fields}, TIMEOUT_S, method="PUT")
        with self._lock:
            self._made.add(name)

    def _post(self, collection: str, what: str, body: Mapping[str, Any], timeout_s: float) -> Any:
        path = f"/indexes/{index_name(collection)}/docs/{what}?api-version={API_VERSION}"
        try:
            return self._endpoint.post(path, body, timeout_s)
        except KeywordError as error:
            if "HTTP status 404" in error.message:
                raise _NoIndex(self.name, collection) from error
            raise

    def _check(self, answer: Any) -> None:
        refused = [row for row in answer["value"] if not row["status"]]
        if refused:
            first = refused[0]
            raise KeywordError(
                f"Azure AI Search did not take {len(refused)} documents; of {first.get('key')!r} it says: "
                f"{str(first.get('errorMessage'))[:200]}.",
                remedy="Run ir keyword sync again: it goes on with what is missing.",
            )


class _NoIndex(KeywordError):
    def __init__(self, name: str, collection: str) -> None:
        told = unknown_collection(name, collection, f"Send it there with: ir keyword sync {collection}")
        super().__init__(told.message, remedy=told.remedies)


#: The service's analyzers for our languages.
_ANALYZERS = {
    "arabic": "ar.lucene",
    "danish": "da.lucene",
    "dutch": "nl.lucene",
    "english": "en.lucene",
    "finnish": "fi.lucene",
    "french": "fr.lucene",
    "german": "de.lucene",
    "greek": "el.lucene",
    "hungarian": "hu.lucene",
    "italian": "it.lucene",
    "norwegian": "no.lucene",
    "portuguese": "pt-Pt.lucene",
    "romanian": "ro.lucene",
    "russian": "ru.lucene",
    "spanish": "es.lucene",
    "swedish": "sv.lucene",
    "turkish": "tr.lucene",
}


def index_name(collection: str) -> str:
    """The index of a collection: small letters, digits and dashes, and what tells it from one of a like name.

    >>> index_name("My Notes")
    'ir-my-notes-6224dfb6e9bc'
    """
    workspace = current_workspace()
    parts = (collection,) if workspace == DEFAULT_WORKSPACE else (workspace, collection)
    readable = _UNFIT.sub("-", collection.lower()).strip("-")[:80]
    return "-".join(part for part in ("ir", readable, storage_key(*parts)[:12]) if part)


def _document(record: Record) -> dict[str, Any]:
    return {
        "@search.action": "upload",
        "key": storage_key(record.id),
        "id": record.id,
        "content": record.text,
        "tags": sorted(set(_pairs(_flat(json_clean(record.metadata))))),
    }


def _flat(metadata: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Fields by their paths, as filters name them."""
    flat: dict[str, Any] = {}
    for name, value in metadata.items():
        flat |= _flat(value, f"{prefix}{name}.") if isinstance(value, Mapping) else {prefix + name: value}
    return flat


def _pairs(fields: Mapping[str, Any]) -> Iterator[str]:
    """``name=value`` of each text; of a list, of each of its members that is one."""
    for name, value in fields.items():
        members: Iterable[Any] = value if isinstance(value, list) else [value]
        yield from (f"{name}={one}" for one in members if isinstance(one, str))


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _batches(actions: Sequence[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    batch: list[dict[str, Any]] = []
    size = 0
    for action in actions:
        length = len(json.dumps(action))
        if batch and (len(batch) == _MOST_DOCUMENTS or size + length > _MOST_CHARS):
            yield batch
            batch, size = [], 0
        batch.append(action)
        size += length
    if batch:
        yield batch
