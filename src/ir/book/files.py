"""The files of a pipeline that cut and described books before: enriched chunks, their graph, questions about them.

Read with care: what is wrong is said with the file and the place in it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ir.base import POINTER_KEYS
from ir.errors import SourceError

__all__ = [
    "ENRICHED",
    "GRAPH",
    "MERGED",
    "QUERIES",
    "Enriched",
    "GivenGraph",
    "read_enriched",
    "read_graph",
    "read_queries",
    "stem_of",
]

ENRICHED, GRAPH, QUERIES = ".enriched.json", ".graph.json", ".evaluation_queries.json"
#: How the files are called that hold all books of a run.
MERGED = "merged"
#: What an edge is called at its ends: in files, and in the document store.
_ENDS = (("source", "source_id"), ("target", "target_id"))
_KNOWN = frozenset(
    """
    id chunk_id text page page_label block_type section_hierarchy section_path content_kind is_rule_bearing tags traits
    metadata artifact_id kind run_id document document_id doc_id book_id ruleset_id _id embedding embeddings
    """.split()  # noqa: SIM905
)


@dataclass(frozen=True)
class Enriched:
    """The chunks of one book, checked: each has ``id``, ``text`` and ``section_path``."""

    document: str
    chunks: Sequence[Mapping[str, Any]]
    title: str | None = None
    book: str | None = None
    run_id: str | None = None
    summaries: Mapping[str, str] = field(default_factory=dict)
    file: str = ""
    #: Whether vectors stand in the file.
    vectors: bool = False


@dataclass(frozen=True)
class GivenGraph:
    """Nodes by their ids, and edges as ``(source, relation, target, corpus, properties)``.

    ``declares`` is false for a graph that lists no nodes: then nothing can be unknown to it.
    """

    nodes: Mapping[str, Mapping[str, Any]]
    edges: Sequence[tuple[str, str, str, str | None, Mapping[str, Any]]]
    unresolved: Sequence[tuple[str, str, str]] = ()
    declares: bool = True
    file: str = ""


def stem_of(path: Path, suffix: str) -> str:
    """The id of the document that a file is about, by its name."""
    return path.name[: -len(suffix)]


# -- chunks ----------------------------------------------------------------------------------------------------------


def read_enriched(path: Path) -> list[Enriched]:
    """The books of an ``*.enriched.json``; a merged file may hold several, told apart by the document of each chunk."""
    told = _object(path)
    if isinstance(told.get("documents"), list) and "chunks" not in told:
        parts = [
            (_mapping(one, path, f"documents[{at}]"), f"documents[{at}].") for at, one in enumerate(told["documents"])
        ]
    else:
        parts = [(told, "")]
    found: list[Enriched] = []
    for part, where in parts:
        found += _books(part, where, path)
    seen: dict[str, str] = {}
    for book in found:
        for chunk in book.chunks:
            if chunk["id"] in seen:
                raise _wrong(
                    path, chunk["at"], f"the chunk id {chunk['id']!r} comes twice, first at {seen[chunk['id']]}"
                )
            seen[chunk["id"]] = chunk["at"]
    return found


def _books(told: Mapping[str, Any], where: str, path: Path) -> Iterator[Enriched]:
    name, about = _document(told, path)
    chunks = told.get("chunks")
    if not isinstance(chunks, list):
        raise _wrong(path, f"{where}chunks", f"a list of chunks is needed, not {_kind(chunks)}")
    parts: dict[str, list[dict[str, Any]]] = {} if chunks else {name: []}
    length: int | None = None
    for number, one in enumerate(chunks):
        at = f"{where}chunks[{number}]"
        chunk = _chunk(_mapping(one, path, at), path, at)
        length = _vector_length(one, path, at, length)
        own = next((one[key] for key in ("document", "document_id", "doc_id", "book_id") if one.get(key)), name)
        parts.setdefault(str(own), []).append(chunk)
    titles = told.get("titles") if isinstance(told.get("titles"), Mapping) else {}
    for document, held in parts.items():
        alone = len(parts) == 1
        yield Enriched(
            document,
            _with_paths(held),
            title=_text(about.get("title") or told.get("title")) if alone else _text((titles or {}).get(document)),
            book=_text(about.get("book") or told.get("book")) if alone else None,
            run_id=_text(told.get("run_id") or about.get("run_id")),
            summaries=_summaries(told.get("page_summaries"), document, path, f"{where}page_summaries"),
            file=str(path),
            vectors=length is not None,
        )


def _vector_length(told: Mapping[str, Any], path: Path, at: str, before: int | None) -> int | None:
    """How many numbers the vectors of a file have; two that differ cannot be of one model."""
    vector = told.get("embedding")
    if vector is None:
        return before
    if not isinstance(vector, list) or not all(isinstance(one, (int, float)) for one in vector):
        raise _wrong(path, f"{at}.embedding", f"a list of numbers is needed, not {_kind(vector)}")
    if before not in (None, len(vector)):
        raise _wrong(path, f"{at}.embedding", f"it has {len(vector)} numbers, and those before have {before}")
    return len(vector)


def _document(told: Mapping[str, Any], path: Path) -> tuple[str, Mapping[str, Any]]:
    given = told.get("document")
    if isinstance(given, Mapping):
        name = given.get("id") or given.get("document_id") or given.get("name") or given.get("title")
        return str(name or stem_of(path, ENRICHED)), given
    return (given if isinstance(given, str) and given.strip() else stem_of(path, ENRICHED)), {}


def _chunk(told: Mapping[str, Any], path: Path, at: str) -> dict[str, Any]:
    chunk_id = told.get("id", told.get("chunk_id"))
    if not isinstance(chunk_id, (str, int)) or isinstance(chunk_id, bool) or not str(chunk_id).strip():
        raise _wrong(path, f"{at}.id", f"a chunk needs an id that is a text, not {_shown(chunk_id)}")
    text = told.get("text")
    if not isinstance(text, str):
        raise _wrong(path, f"{at}.text", f"the text of a chunk is needed, not {_kind(text)}")
    about = told.get("metadata")
    chunk: dict[str, Any] = dict(about) if isinstance(about, Mapping) else {}
    chunk |= {key: value for key, value in told.items() if key not in _KNOWN and _plain(value)}
    # What a file says about itself must not make a reader open another one.
    chunk = {key: value for key, value in chunk.items() if key not in POINTER_KEYS and not str(key).startswith("_")}
    chunk |= {"id": str(chunk_id), "text": text, "at": at, **_page(told, path, at)}
    for name in ("tags", "traits"):
        chunk[name] = _texts(told.get(name), path, f"{at}.{name}")
    for name in ("content_kind", "artifact_id", "kind", "run_id", "block_type"):
        if isinstance(told.get(name), str) and told[name].strip():
            chunk[name] = told[name]
    bearing = told.get("is_rule_bearing")
    if bearing is not None and not isinstance(bearing, bool):
        raise _wrong(path, f"{at}.is_rule_bearing", f"true or false is needed, not {_shown(bearing)}")
    if bearing is not None:
        chunk["is_rule_bearing"] = bearing
    chunk["section_path"] = _texts(told.get("section_path"), path, f"{at}.section_path")
    chunk["_hierarchy"] = _hierarchy(told.get("section_hierarchy"), path, f"{at}.section_hierarchy")
    return chunk


def _page(told: Mapping[str, Any], path: Path, at: str) -> dict[str, Any]:
    page, label = told.get("page"), told.get("page_label")
    if (isinstance(page, str) and page.strip().isdigit()) or (isinstance(page, float) and page.is_integer()):
        page = int(page)
    found: dict[str, Any] = {}
    if isinstance(page, int) and not isinstance(page, bool):
        found["page"] = page
    elif isinstance(page, str) and page.strip():
        label = label or page.strip()  # "iv"
    elif page is not None:
        raise _wrong(path, f"{at}.page", f"a page is a number, not {_shown(page)}")
    if label is not None:
        found["page_label"] = str(label)
    return found


def _hierarchy(told: Any, path: Path, at: str) -> list[str]:
    """The headings above a chunk, from the outside in: as a list, or by level."""
    if told in (None, "", [], {}):
        return []
    if isinstance(told, Mapping):
        order = sorted(told, key=lambda key: (not str(key).isdigit(), int(key) if str(key).isdigit() else 0, str(key)))
        return [str(told[key]) for key in order if told[key] not in (None, "")]
    if isinstance(told, list):
        return [str(one) for one in told if one not in (None, "")]
    if isinstance(told, str):
        return [told]
    raise _wrong(path, at, f"headings are a list, or a mapping from levels, not {_kind(told)}")


def _with_paths(chunks: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Chunks with their section paths: an empty one is that of the headings, else that of the chunk before it.

    A heading may be named by the id of its block, which is a chunk too.
    """
    said = {chunk["id"]: " ".join(chunk["text"].lstrip("# \t").split()) for chunk in chunks}
    before: list[str] = []
    for chunk in sorted(chunks, key=lambda one: one.get("page", -1)):  # stable: the file's order within a page
        headings = [said.get(one, one) for one in chunk.pop("_hierarchy")]
        before = chunk["section_path"] = chunk["section_path"] or headings or list(before)
    return list(chunks)


def _summaries(told: Any, document: str, path: Path, at: str) -> dict[str, str]:
    """The summaries of pages by their number or label; a merged file has them by document."""
    if told is None:
        return {}
    if isinstance(told, list):
        pairs = [(one.get("page"), one.get("summary")) for one in told if isinstance(one, Mapping)]
        return {str(page): str(summary) for page, summary in pairs if page is not None and summary}
    if not isinstance(told, Mapping):
        raise _wrong(path, at, f"summaries are a mapping from pages to texts, not {_kind(told)}")
    if isinstance(told.get(document), Mapping):
        told = told[document]
    return {str(page): text for page, text in told.items() if isinstance(text, str) and text.strip()}


# -- graph -----------------------------------------------------------------------------------------------------------


def read_graph(path: Path) -> GivenGraph:
    """A ``*.graph.json``; the ends of its edges are called ``source`` and ``target``, or with ``_id``."""
    told = _object(path)
    listed = told.get("nodes")
    if listed is not None and not isinstance(listed, (list, Mapping)):
        raise _wrong(path, "nodes", f"a list of nodes is needed, not {_kind(listed)}")
    nodes: dict[str, Mapping[str, Any]] = {}
    pairs: Iterable[tuple[str, Any]]
    if isinstance(listed, Mapping):
        pairs = [
            (f"nodes[{key!r}]", {"id": key, **value} if isinstance(value, Mapping) else value)
            for key, value in listed.items()
        ]
    else:
        pairs = ((f"nodes[{number}]", one) for number, one in enumerate(listed or ()))
    for at, one in pairs:
        node = {"id": one} if isinstance(one, str) else _mapping(one, path, at)
        node_id = node.get("id", node.get("node_id"))
        if not isinstance(node_id, (str, int)) or not str(node_id):
            raise _wrong(path, f"{at}.id", f"a node needs an id, not {_shown(node_id)}")
        nodes[str(node_id)] = node
    given = told.get("edges", told.get("links"))
    if not isinstance(given, list):
        raise _wrong(path, "edges", f"a list of edges is needed, not {_kind(given)}")
    edges = [_edge(_mapping(one, path, f"edges[{at}]"), path, f"edges[{at}]") for at, one in enumerate(given)]
    unresolved = [
        (str(one["source"]), str(one["target"]), str(one.get("said", "")))
        for one in told.get("unresolved", ())
        if isinstance(one, Mapping) and one.get("source") and one.get("target")
    ]
    return GivenGraph(nodes, edges, unresolved, declares=bool(listed), file=str(path))


def _edge(told: Mapping[str, Any], path: Path, at: str) -> tuple[str, str, str, str | None, Mapping[str, Any]]:
    ends = []
    for names in _ENDS:
        end = next((told[name] for name in names if told.get(name) is not None), None)
        if not isinstance(end, (str, int)) or not str(end):
            raise _wrong(path, f"{at}.{names[0]}", f"an edge needs the id of its {names[0]}, not {_shown(end)}")
        ends.append(str(end))
    relation = told.get("relation", told.get("type"))
    if not isinstance(relation, str) or not relation.strip():
        raise _wrong(path, f"{at}.relation", f"an edge needs a relation such as contains, not {_shown(relation)}")
    about = told.get("properties", told.get("metadata"))
    if not isinstance(about, Mapping):
        known = {"source", "source_id", "target", "target_id", "relation", "type", "corpus", "metadata", "properties"}
        about = {key: value for key, value in told.items() if key not in known and not key.startswith("_")}
    corpus = told.get("corpus")
    return ends[0], relation.strip(), ends[1], str(corpus) if corpus else None, about


# -- questions -------------------------------------------------------------------------------------------------------


def read_queries(path: Path) -> list[dict[str, Any]]:
    """The questions of an ``*.evaluation_queries.json``."""
    told = _object(path)
    given = told.get("queries")
    if not isinstance(given, list):
        raise _wrong(path, "queries", f"a list of questions is needed, not {_kind(given)}")
    found = []
    for number, one in enumerate(given):
        at = f"queries[{number}]"
        query = dict(_mapping(one, path, at))
        if not isinstance(query.get("query_text"), str) or not query["query_text"].strip():
            raise _wrong(
                path, f"{at}.query_text", f"the text of a question is needed, not {_shown(query.get('query_text'))}"
            )
        query["expected_chunk_ids"] = _texts(query.get("expected_chunk_ids"), path, f"{at}.expected_chunk_ids")
        found.append(query)
    return found


# -- JSON ------------------------------------------------------------------------------------------------------------


def _object(path: Path) -> Mapping[str, Any]:
    try:
        told = json.loads(path.read_bytes())
    except OSError as error:
        raise SourceError(f"{path} cannot be read: {error.strerror}.", remedy="Check the path.") from error
    except json.JSONDecodeError as error:
        raise SourceError(
            f"{path} is not JSON: {error.msg} in line {error.lineno}, column {error.colno}.",
            remedy="Write the file again; it may have been cut off.",
        ) from error
    except (UnicodeError, RecursionError) as error:
        raise SourceError(f"{path} is not JSON: {error}.", remedy="Write the file again.") from error
    return _mapping(told, path, "")


def _mapping(told: Any, path: Path, at: str) -> Mapping[str, Any]:
    if isinstance(told, Mapping):
        return told
    raise _wrong(path, at, f"an object is needed, not {_kind(told)}")


def _texts(told: Any, path: Path, at: str) -> list[str]:
    if told in (None, ""):
        return []
    if isinstance(told, str):
        return [told]
    if isinstance(told, list) and all(isinstance(one, (str, int)) for one in told):
        return [str(one) for one in told if str(one).strip()]
    raise _wrong(path, at, f"a list of texts is needed, not {_shown(told)}")


def _plain(value: Any) -> bool:
    if isinstance(value, list):
        return len(value) <= 100 and all(isinstance(one, (str, int, float, bool)) for one in value)
    return isinstance(value, (str, int, float, bool))


def _text(value: Any) -> str | None:
    return value.strip() if isinstance(value, str) and value.strip() else None


def _wrong(path: Path, at: str, why: str) -> SourceError:
    place = f" at {at}" if at else ""
    return SourceError(f"{path}{place}: {why}.", remedy="docs/books.md shows the form of these files.")


def _kind(value: Any) -> str:
    names = {"dict": "an object", "list": "a list", "str": "a text", "NoneType": "nothing", "bool": "true or false"}
    return names.get(type(value).__name__, "a number")


def _shown(value: Any) -> str:
    text = repr(value)
    return "nothing" if value is None else text if len(text) <= 60 else f"{text[:59]}…"
