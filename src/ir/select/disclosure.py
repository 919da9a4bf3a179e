"""Revealing what was selected: first what is known about it, then its text, then what lies beside it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from typing import Any

from ir.base import Record, SearchHit, json_clean
from ir.errors import InvalidInput, SeedNotFound
from ir.index.opening import as_corpus, as_store
from ir.options import choice
from ir.protocols import Corpus, StoreOrName
from ir.secrets.texts import for_show
from ir.select.checks import count
from ir.select.kept import Home, kept_body
from ir.select.payload import Payload, bundle_of, cut, read_pointer
from ir.select.selection import Selection

__all__ = ["DFLT_MAX_BODY_CHARS", "DISCLOSURE_LEVELS", "BodyLoader", "Disclosure", "ResourceStore", "disclose"]

DISCLOSURE_LEVELS = ("metadata", "body", "bundled")
DFLT_MAX_BODY_CHARS = 20_000

BodyLoader = Callable[[Mapping[str, Any]], "str | None"]
ResourceStore = Mapping[str, Any]


@dataclass(frozen=True)
class Disclosure:
    """What is revealed of one selected artifact.

    ``summary`` is the surface that matched, ``passage`` its neighbourhood in the index, ``body`` the full text behind
    ``pointer``. ``metadata`` is the hit's own, with a ``disclosure`` note where the body is missing or cut, an
    ``expansion`` note where no passage could be made, and the ``bundle`` of files beside a skill. Keys of known
    formats inside all of these are stars, unless the setting ``mask_secrets`` is off.
    """

    artifact_id: str
    level: str
    name: str
    score: float
    summary: str
    body: str | None = None
    pointer: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    source: str | None = None
    passage: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """The disclosure in JSON's types only."""
        return {
            "artifact_id": self.artifact_id,
            "level": self.level,
            "name": self.name,
            "score": float(self.score),
            "summary": self.summary,
            "body": self.body,
            "pointer": self.pointer,
            "metadata": json_clean(self.metadata),
            "source": self.source,
            "passage": self.passage,
        }


@dataclass(frozen=True)
class DisclosureRule:
    """How to disclose: the keywords of :func:`disclose`, checked."""

    level: str = "body"
    loader: BodyLoader | None = None
    store: ResourceStore | None = None
    expand: Callable[[SearchHit, Sequence[Record]], Sequence[Record]] | None = None
    max_chars: int = DFLT_MAX_BODY_CHARS

    def __post_init__(self) -> None:
        choice("disclosure level", self.level, DISCLOSURE_LEVELS)
        count("max_chars", self.max_chars)
        if self.loader is not None and self.store is not None:
            raise InvalidInput("Give either a loader or a resource store, not both: each says where bodies come from.")
        for what, given in (("loader", self.loader), ("expand", self.expand)):
            if given is not None and not callable(given):
                raise InvalidInput(f"{what} must be callable, not {given!r}.")


def disclose(
    selection: Selection,
    *,
    level: str = "body",
    loader: Callable[[Mapping[str, Any]], str | None] | None = None,
    store: Mapping[str, Any] | None = None,
    expand: Callable[[SearchHit, Sequence[Record]], Sequence[Record]] | None = None,
    corpus: Home | None = None,
    max_chars: int = DFLT_MAX_BODY_CHARS,
) -> list[Disclosure]:
    """What the selected hits stand for, at ``level``; the selection itself is never changed.

    ``"metadata"`` reads nothing, ``"body"`` reads the text behind each pointer (with ``loader(metadata)``, from the
    mapping ``store``, or from disk), ``"bundled"`` also lists the files beside a SKILL.md. Records and tools have no
    file of their own: their whole definition comes from ``corpus``. What cannot be read gives ``body=None`` and a
    note; of a folder, its README is read. ``expand`` adds passages from the stored records of ``corpus``: a corpus, a
    store, a name, or a mapping from source names to them. A hit of another corpus has no passage there, and a note
    says so.

    >>> hit = SearchHit("a", "document", 0.9, "how to deploy", {"path": "a.md"})
    >>> chosen = Selection([hit], [hit], False, "top_k")
    >>> disclose(chosen, store={"a.md": "# Deploy"})[0].body
    '# Deploy'
    """
    rule = DisclosureRule(level, loader, store, expand, max_chars)
    if expand is not None and corpus is None:
        raise InvalidInput("expand needs corpus=, the corpus (or a mapping from source names to corpora) to read from.")
    return disclose_hits(selection.selected, rule, corpus)


def disclose_hits(hits: Sequence[SearchHit], rule: DisclosureRule, corpus: Home | None = None) -> list[Disclosure]:
    """:func:`disclose` for a rule that is already a value."""
    if rule.expand is not None and hits and isinstance(corpus, str | PathLike):
        corpus = as_corpus(corpus)
    return [_disclosed(hit, rule, corpus) for hit in hits]


def _disclosed(hit: SearchHit, rule: DisclosureRule, corpus: Home | None) -> Disclosure:
    metadata = dict(hit.metadata)
    payload = Payload(None)
    if rule.level != "metadata":
        payload = cut(_payload(hit, rule, corpus), rule.max_chars)
        if payload.note:
            metadata["disclosure"] = payload.note
    if rule.level == "bundled" and rule.loader is None and rule.store is None and hit.pointer:
        bundle = bundle_of(hit.pointer)
        if bundle:
            metadata["bundle"] = bundle
    passage = None
    if rule.expand is not None:
        passage, note = _passage(hit, rule, corpus)
        if note:
            metadata["expansion"] = note
    name = hit.metadata.get("name")
    return Disclosure(
        artifact_id=hit.artifact_id,
        level=rule.level,
        name=str(name) if name else hit.artifact_id,
        score=float(hit.score),
        summary=for_show(hit.text),
        body=for_show(payload.text),
        pointer=hit.pointer,
        metadata=for_show(metadata),
        source=hit.source,
        passage=for_show(passage),
    )


def _payload(hit: SearchHit, rule: DisclosureRule, corpus: Home | None) -> Payload:
    try:
        if rule.loader is not None:
            text = rule.loader(hit.metadata)
            if text is None:
                return Payload(None, "the loader found no body")
            return Payload.of(text, "the loader's answer")
        if hit.pointer is None:
            return kept_body(hit, corpus)
        if rule.store is not None:
            return Payload.of(rule.store[hit.pointer], f"{hit.pointer!r} in the resource store")
    except KeyError:
        return Payload(None, f"unreadable: {hit.pointer!r} is not in the resource store")
    except Exception as error:
        # Somebody else's loader or store may fail in any way; one unreadable body must not lose the others.
        return Payload(None, f"unreadable: {type(error).__name__}: {error}")
    return read_pointer(hit.pointer, rule.max_chars)


def _passage(hit: SearchHit, rule: DisclosureRule, corpus: Home | None) -> tuple[str | None, str | None]:
    from ir.expand import expand

    home = corpus.get(hit.source or "") if isinstance(corpus, Mapping) else corpus
    if home is None:
        return None, f"not possible: no corpus was given for the source {hit.source!r}"
    name = hit.source if isinstance(corpus, Mapping) else _name(home)
    if hit.source is not None and name not in (None, hit.source):
        return None, f"not possible: the hit is from {hit.source!r}, and the corpus given is {name!r}"
    try:
        return expand(hit, home, policy=rule.expand).text, None
    except (KeyError, SeedNotFound) as error:
        text = str(error) if not isinstance(error, KeyError) or hasattr(error, "remedy") else str(error.args[0])
        return None, f"not possible: {text}"


def _name(home: StoreOrName) -> str | None:
    """What a corpus is called, also one of which only the store was given; ``None`` if that does not know."""
    name = home.name if isinstance(home, Corpus) else as_store(home).get_config().get("name")
    return None if name is None else str(name)
