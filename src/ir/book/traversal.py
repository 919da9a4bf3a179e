"""Finding passages by walking alone: the names in a question are where a walk begins, its intent says how far."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Self

from ir.book.names import Names
from ir.errors import InvalidInput
from ir.options import choice, count

__all__ = ["INTENTS", "Candidates", "Policy", "TraversalConfig", "TraversalIndex", "retrieve_candidates"]

#: What a question may want, in the order in which they are looked for; without a sign of any it is a definition.
INTENTS = ("comparison", "exception", "lookup", "procedure", "definition")
_DEFINITION = "definition"
#: Relations that are made from ``mentions``: the other way round, and from a passage to one that names the same.
MENTIONED_IN = "mentioned_in"
SAME_ENTITY = "mentions_same_entity"
#: What is mentioned by more passages than this joins nothing.
_HUB = 50


@dataclass(frozen=True)
class Policy:
    """How to walk for an intent: along which relations, how far, whether to the other parts of a section, how much."""

    edge_types: tuple[str, ...]
    depth: int = 1
    siblings: bool = False
    limit: int = 50

    def __post_init__(self) -> None:
        object.__setattr__(self, "edge_types", tuple(self.edge_types))
        count("depth", self.depth, least=0)
        count("limit", self.limit)

    @classmethod
    def of(cls, told: Any, where: str) -> Self:
        if not isinstance(told, Mapping):
            raise InvalidInput(f"{where} must be a table of fields, not {told!r}.")
        for name in told:
            choice(f"field of {where}", name, [item.name for item in fields(cls)])
        return cls(**{**told, "edge_types": tuple(told.get("edge_types", ()))})


_POLICIES: Mapping[str, Policy] = {
    "definition": Policy(("contains", "next", "describes", MENTIONED_IN, SAME_ENTITY), 2, True, 100),
    "procedure": Policy(("next", "contains"), 1, False, 30),
    "exception": Policy(("contains", "next", "refers_to", MENTIONED_IN), 2, False, 50),
    "comparison": Policy(("contains", "describes", MENTIONED_IN), 1, True, 50),
    "lookup": Policy(("contains", "next"), 1, False, 20),
}
_PATTERNS: Mapping[str, tuple[str, ...]] = {
    "comparison": (r"\bdifferen(ce|t)\b", r"\bcompared?\b", r"\bversus\b|\bvs\.?\b", r"\bbetter\b.*\bor\b"),
    "exception": (r"\bexcept(ion|ions)?\b", r"\bunless\b", r"\bcan i still\b", r"\bdoes not apply\b|\bignore[sd]?\b"),
    "lookup": (
        r"\bwhich (page|table|chapter)\b",
        r"\bwhere (is|are|can i find)\b",
        r"\bhow (much|many|far|long|high)\b",
    ),
    "procedure": (r"\bhow (do|does|can|to|would)\b", r"\bsteps?\b", r"\bwhat happens (when|if)\b"),
}


@dataclass(frozen=True)
class TraversalConfig:
    """The names and policies of one set of books. Walks begin at names; keywords choose among documents."""

    ruleset_id: str = ""
    version: str = "v1"
    condition_names: tuple[str, ...] = ()
    spell_names: tuple[str, ...] = ()
    feat_names: tuple[str, ...] = ()
    item_names: tuple[str, ...] = ()
    action_names: tuple[str, ...] = ()
    player_keywords: tuple[str, ...] = ()
    gm_keywords: tuple[str, ...] = ()
    intent_patterns: Mapping[str, Sequence[str]] = field(default_factory=lambda: dict(_PATTERNS))
    policies: Mapping[str, Policy] = field(default_factory=lambda: dict(_POLICIES))

    def __post_init__(self) -> None:
        for intent, patterns in self.intent_patterns.items():
            choice("intent", intent, INTENTS)
            for pattern in [patterns] if isinstance(patterns, str) else patterns:
                try:
                    re.compile(pattern)
                except re.error as error:
                    raise InvalidInput(f"The pattern {pattern!r} of {intent} cannot be read: {error}.") from error
        for intent in self.policies:
            choice("intent", intent, INTENTS)

    @classmethod
    def of(cls, told: Mapping[str, Any]) -> Self:
        """A configuration from plain values; what it leaves out is as by default, and other fields are passed over."""
        known = {item.name for item in fields(cls)}
        given = {name: value for name, value in told.items() if name in known and value is not None}
        for name, value in given.items():
            if name.endswith(("_names", "_keywords")):
                given[name] = tuple(str(one) for one in value)
        if "policies" in given:
            own = {intent: Policy.of(one, f"the policy {intent!r}") for intent, one in given["policies"].items()}
            given["policies"] = {**_POLICIES, **own}
        if "intent_patterns" in given:
            given["intent_patterns"] = {
                intent: (patterns,) if isinstance(patterns, str) else tuple(patterns)
                for intent, patterns in given["intent_patterns"].items()
            }
        return cls(**given)

    @classmethod
    def load_from_mongo(cls, ruleset_id: str, mongo_uri: str | None = None, *, version: str | None = None) -> Self:
        """The configuration of a set of books in MongoDB (see :mod:`ir.book.mongo`): of a version, else the latest."""
        from ir.store.mongo.collections import BookCollections

        with BookCollections(mongo_uri) as collections:
            return cls.of(collections.read_config(ruleset_id, version))

    @property
    def names(self) -> tuple[str, ...]:
        """All names, those of conditions first."""
        return (*self.condition_names, *self.spell_names, *self.feat_names, *self.item_names, *self.action_names)

    def intent_of(self, question: str) -> str:
        """
        >>> TraversalConfig().intent_of("How do I cast a spell?"), TraversalConfig().intent_of("grappled")
        ('procedure', 'definition')
        """
        asked = question.casefold()
        for intent in INTENTS:
            patterns = self.intent_patterns.get(intent, ())
            if any(re.search(pattern, asked) for pattern in ([patterns] if isinstance(patterns, str) else patterns)):
                return intent
        return _DEFINITION

    def policy_for(self, intent: str) -> Policy:
        return self.policies.get(intent, _POLICIES[intent])

    def documents_for(self, question: str, documents: Mapping[str, str]) -> frozenset[str]:
        """Those of the documents, by id and title, that the question's keywords choose; all where none does."""
        asked = question.casefold()
        chosen: set[str] = set()
        for words, sign in ((self.player_keywords, "player"), (self.gm_keywords, "gm")):
            if any(word.casefold() in asked for word in words):
                chosen |= {one for one, title in documents.items() if sign in f"{one} {title}".casefold()}
        return frozenset(chosen or documents)


@dataclass(frozen=True)
class Candidates:
    """``candidates`` are ids of passages, nearest first; the walk began at ``seeds``, which the ``names`` stand for.

    ``distances`` says of each candidate how many steps away it is; the other parts of a section are one step further.
    """

    candidates: tuple[str, ...]
    intent: str
    seeds: tuple[str, ...]
    names: tuple[str, ...]
    policy: Policy
    distances: tuple[int, ...] = ()


class TraversalIndex:
    """A graph with its passages, ready to be walked."""

    def __init__(
        self,
        passages: Mapping[str, str],
        near: Mapping[str, Mapping[str, Sequence[str]]],
        titles: Iterable[tuple[str, str]],
    ) -> None:
        #: The document of each passage.
        self.passages = passages
        self._near = near
        self._titles = list(titles)
        self._names = Names(self._titles)

    @classmethod
    def build(cls, graph: Mapping[str, Any], chunks: Iterable[Mapping[str, Any]]) -> Self:
        """From ``{nodes, edges}`` and enriched chunks, as the reference's files have them."""
        passages = {
            str(chunk.get("chunk_id") or chunk["id"]): str(chunk.get("book_id") or chunk.get("document") or "")
            for chunk in chunks
        }
        near: dict[str, dict[str, list[str]]] = {}
        mentioned: dict[str, list[str]] = {}
        for edge in graph.get("edges", ()):
            source, target = _ends(edge)
            relation = str(edge.get("relation", ""))
            near.setdefault(source, {}).setdefault(relation, []).append(target)
            if relation == "mentions":
                near.setdefault(target, {}).setdefault(MENTIONED_IN, []).append(source)
                mentioned.setdefault(target, []).append(source)
            else:
                near.setdefault(target, {}).setdefault(relation, []).append(source)
        for sources in mentioned.values():
            if 1 < len(sources) <= _HUB:
                for source in sources:
                    others = [other for other in sources if other != source]
                    near.setdefault(source, {}).setdefault(SAME_ENTITY, []).extend(others)
        titles = [(_name_of(node), str(node["id"])) for node in graph.get("nodes", ()) if _name_of(node)]
        return cls(passages, near, titles)

    def seeds_of(self, question: str, config: TraversalConfig) -> dict[str, str]:
        """The nodes that the question names, with the name; those of the configuration come first."""
        wanted = {name.casefold() for name in config.names}
        own = Names((title, node) for title, node in self._titles if title.casefold() in wanted)
        found: dict[str, str] = {}
        for names in (own, self._names):
            for mention in names.in_text(question):
                for node in mention.entries:
                    found.setdefault(node, mention.said)
        return found

    def near(self, node: str, types: Sequence[str]) -> list[str]:
        """What a node is linked to by these relations."""
        held = self._near.get(node, {})
        return list(dict.fromkeys(other for kind in types for other in held.get(kind, ())))


def retrieve_candidates(query: str, index: TraversalIndex, config: TraversalConfig | None = None) -> Candidates:
    """The passages that a walk from the names in a question reaches, within the bounds of its intent's policy."""
    config = config or TraversalConfig()
    intent = config.intent_of(query)
    policy = config.policy_for(intent)
    seeds = index.seeds_of(query, config)
    documents = {document: document for document in index.passages.values()}
    allowed = config.documents_for(query, documents)
    found: dict[str, int] = {}

    def take(nodes: Iterable[str], distance: int) -> None:
        for node in nodes:
            if len(found) < policy.limit and index.passages.get(node) in allowed:
                found.setdefault(node, distance)

    ring = list(seeds)
    seen = dict.fromkeys(ring)
    take(ring, 0)
    for step in range(policy.depth):
        reached = dict.fromkeys(
            other for node in ring for other in index.near(node, policy.edge_types) if other not in seen
        )
        seen.update(reached)
        ring = list(reached)
        take(ring, step + 1)
    if policy.siblings:
        above = dict.fromkeys(other for node in list(found) for other in index.near(node, ("contains",)))
        parts = (other for node in above if node not in index.passages for other in index.near(node, ("contains",)))
        take(parts, policy.depth + 1)
    names = tuple(dict.fromkeys(seeds.values()))
    return Candidates(tuple(found), intent, tuple(seeds), names, policy, tuple(found.values()))


def _ends(edge: Mapping[str, Any]) -> tuple[str, str]:
    source, target = edge.get("source", edge.get("source_id")), edge.get("target", edge.get("target_id"))
    if source is None or target is None:
        raise InvalidInput(f"An edge needs source and target: {dict(edge)!r}.")
    return str(source), str(target)


def _name_of(node: Mapping[str, Any]) -> str:
    about = node.get("properties") if isinstance(node.get("properties"), Mapping) else {}
    return str(node.get("name") or node.get("label") or node.get("title") or (about or {}).get("name") or "")
