"""From the settings to the engine that finds words. They are looked at in every call, so a change needs no restart."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from ir.config.paths import data_dir
from ir.errors import InvalidInput, MissingExtra
from ir.keyword.embedded import EmbeddedKeywords, Opening
from ir.keyword.mirror import KeywordIndex, KeywordMirror
from ir.keywords import KeywordProvider
from ir.options import KEYWORD_BACKENDS, choice
from ir.protocols import Snapshot, Store

__all__ = ["backend_of", "keyword_index", "keyword_mirror", "keyword_provider"]

#: The back ends on a server of ours, each with the setting that says where.
_URLS = {
    "postgres-tsvector": "retrieval.postgres_url",
    "postgres-bm25": "retrieval.postgres_url",
    "milvus": "retrieval.milvus_url",
}


def backend_of(settings: Mapping[str, Any], backend: str | None = None) -> str:
    """The name of the back end: the one that is asked for, else the one that is set."""
    return choice("keyword back end", backend or str(settings["retrieval.keyword_backend"]), KEYWORD_BACKENDS)


def keyword_provider(
    settings: Mapping[str, Any], collections: Mapping[str, Snapshot] | Opening, *, backend: str | None = None
) -> KeywordProvider:
    """The engine that ``retrieval.keyword_backend`` names, or ``backend``.

    ``collections`` is for the embedded one, see :class:`~ir.keyword.embedded.EmbeddedKeywords`; the others keep what
    :func:`keyword_mirror` sent them, and may answer with records that the corpus no longer has.
    """
    if backend_of(settings, backend) == "embedded":
        return EmbeddedKeywords(collections)
    found: Any = keyword_index(settings, backend=backend)
    return found  # type: ignore[no-any-return]


def keyword_index(settings: Mapping[str, Any], *, backend: str | None = None) -> KeywordIndex:
    """The same, as what a mirror writes to."""
    name = backend_of(settings, backend)
    if name == "embedded":
        raise InvalidInput(
            "The back end 'embedded' is the corpus itself: there is nothing to bring up to date.",
            remedy=f"Name another: {', '.join(KEYWORD_BACKENDS[1:])}.",
        )
    if name == "azure-ai-search":
        return _azure(_set(settings, "azure_search.base_url", name), _key(settings), str(settings["azure_search.auth"]))
    return _stored(name, _set(settings, _URLS[name], name))


def keyword_mirror(
    settings: Mapping[str, Any], store: Store, collection: str, *, backend: str | None = None
) -> KeywordMirror:
    """What keeps the words of a corpus on the back end in step."""
    from ir.base import storage_key
    from ir.config import safe_name
    from ir.config.workspace import current_workspace

    name = backend_of(settings, backend)
    index = keyword_index(settings, backend=backend)
    where = settings[_URLS.get(name, "azure_search.base_url")]
    notes = f"{safe_name(collection)}-{name}-{storage_key(current_workspace(), collection, str(where))[:12]}.db"
    return KeywordMirror(store, index, collection, data_dir() / "keywords" / notes)


def _set(settings: Mapping[str, Any], setting: str, backend: str) -> str:
    value = settings[setting]
    if not value:
        raise InvalidInput(
            f"The keyword back end {backend!r} needs {setting}, which is not set.",
            remedy=f"Set it with: ir config set {setting} URL",
        )
    return str(value)


def _key(settings: Mapping[str, Any]) -> str | None:
    import os

    return (os.environ.get(str(settings["azure_search.api_key_env"])) or "").strip() or None


@lru_cache(maxsize=8)
def _azure(base_url: str, api_key: str | None, auth: str) -> KeywordIndex:
    from ir.keyword.azure import AzureKeywords

    return AzureKeywords(base_url, api_key, bearer=auth == "bearer")


@lru_cache(maxsize=8)
def _stored(name: str, url: str) -> KeywordIndex:
    from ir.keyword.stored import StoredKeywords

    if name != "postgres-tsvector":
        return StoredKeywords(url, name=name)
    try:
        from ir.keyword.postgres import TsvectorKeywords
    except ImportError:
        raise MissingExtra("psycopg", "postgres", "The keyword back end 'postgres-tsvector'") from None
    return TsvectorKeywords(url)
