"""What a query is narrowed to beside plain fields: the types behind an interface, and a part of the corpus."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches

from ir.code.languages import LANGUAGES
from ir.errors import InvalidInput
from ir.filters import And, Filter, Leaf, Or, parse_filter
from ir.index.linking import definers
from ir.protocols import Snapshot, Store
from ir.query.parameters import OntologyQuery

__all__ = ["OBJECT_TYPES", "both", "check_names", "implementers", "narrowed"]

#: The types of what is read from source code and documents.
OBJECT_TYPES = ("module", "type", "function", "method", "doc")
#: The links that say that one type is an instance of another.
_INHERITS = frozenset({"inherits", "implements"})
_TYPE = "type"
#: So many names an error shows.
_SHOWN = 20


def narrowed(asked: OntologyQuery, store: Store, snapshot: Snapshot, root: str | None = None) -> Filter | None:
    """What must hold of a record beside the fields of :attr:`OntologyQuery.exact`; ``root`` is the corpus's folder."""
    found = asked.filter
    if asked.domain is not None:
        found = both(found, _inside(asked.domain, root))
    if asked.interface_name is not None:
        types = implementers(asked.interface_name, store, snapshot)
        found = both(found, _about({*types, *_members(types, snapshot)}))
    return found


def both(one: Filter | None, other: Filter | None) -> Filter | None:
    """What holds where both filters hold."""
    return And((one, other)) if one is not None and other is not None else one or other


def implementers(name: str, store: Store, snapshot: Snapshot) -> list[str]:
    """The types that implement or inherit the named one, over any number of steps; itself is none of them."""
    begun = _types_named(name, store, snapshot)
    seen = dict.fromkeys(begun)
    ring = begun
    while ring:
        found = snapshot.neighbours(ring, types=_INHERITS, direction="in")
        ring = list(dict.fromkeys(one.id for near in found for one in near if one.id not in seen))
        seen |= dict.fromkeys(ring)
    return [node for node in seen if node not in set(begun)]


def _types_named(name: str, store: Store, snapshot: Snapshot) -> list[str]:
    """The types of that name, or the one with that key."""
    defined = [node for nodes in definers(store, f"symbol:{name}").values() for node in nodes]
    nodes = snapshot.nodes([*defined, name])
    types = [node.id for node in nodes.values() if node.type == _TYPE]
    if types:
        return types
    known = {str(node.properties.get("name")) for batch in store.iter_nodes() for node in batch if node.type == _TYPE}
    near = get_close_matches(name, known, n=5) or sorted(known)[:_SHOWN]
    told = f"use one of {', '.join(map(repr, near))}" if near else "it has no types"
    raise InvalidInput(f"Unknown interfaceName {name!r}: no type of this corpus has that name; {told}.")


def _members(types: Sequence[str], snapshot: Snapshot) -> list[str]:
    """What is defined inside of types."""
    seen: dict[str, None] = {}
    ring: Sequence[str] = types
    while ring:
        found = snapshot.neighbours(ring, types={"contains"})
        ring = [one.id for near in found for one in near if one.id not in seen]
        seen |= dict.fromkeys(ring)
    return list(seen)


def _about(symbols: Iterable[str]) -> Filter:
    """Records that show one of the symbols."""
    wanted = sorted(symbols)
    return Or((Leaf("symbolKey", "$in", wanted), Leaf("symbolKeys", "$in", wanted)))


def _inside(domain: str, root: str | None) -> Filter | None:
    """Records of one folder, or of a domain that somebody wrote down."""
    folder = domain.strip("/")
    families = sorted({one.family for one in LANGUAGES} | {"doc", "record"})
    leads = [("symbolKey", f"{family} {folder}") for family in families]
    leads += [("path", f"{root.rstrip('/')}/{folder}" if root else folder)]
    # What begins with a text and a slash comes between that and the sign that follows the slash.
    below = [{field: {"$gte": f"{lead}/", "$lt": f"{lead}0"}} for field, lead in leads]
    return parse_filter({"$or": [{"domain": domain}, *below]})


def check_names(asked: OntologyQuery, store: Store) -> None:
    """An error for a type of objects or of links that the corpus does not have; asked where nothing was found."""
    if asked.object_type is not None and asked.object_type not in OBJECT_TYPES:
        known = {node.type for batch in store.iter_nodes() for node in batch}
        _known("objectType", asked.object_type, {*OBJECT_TYPES, *known})
    if asked.traverse_link is not None:
        from ir.code.linking import LINKS

        if asked.traverse_link not in LINKS:
            drawn = {edge.type for batch in store.iter_edges() for _, out in batch for edge in out}
            _known("traverseLink", asked.traverse_link, {*LINKS, *drawn})


def _known(what: str, value: str, known: set[str]) -> None:
    if value not in known:
        told = ", ".join(map(repr, sorted(known)[:_SHOWN]))
        raise InvalidInput(f"Unknown {what} {value!r}; this corpus has {told}.")
