"""The links of one file: what it kept of its names, resolved against those of all others."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from ir.code.builtins import METHODS
from ir.code.exports import hashable
from ir.code.facts import Facts
from ir.code.languages import language_named
from ir.code.paths import is_test_path
from ir.code.values import EXACT, Dialect, Lookup, Reference, Values
from ir.garbage import uncollected
from ir.links import Edge

__all__ = ["INFERRED", "LINKS", "UNIQUE", "is_test_path", "kept", "links_of", "symbol_key"]

#: The links between code, as the store knows them.
LINKS = ("contains", "imports", "calls", "inherits", "references", "tests", "documents")
_HOW = {EXACT: "exact"}
INFERRED = "inferred"
UNIQUE = "unique-name"


def symbol_key(language: str, path: str, symbol: str) -> str:
    """The name of a definition that stays the same when lines move, in the manner of SCIP.

    >>> symbol_key("python", "src/app.py", "App#run().")
    'python src/app.py/App#run().'
    """
    return f"{language} {path}/{symbol}"


def kept(facts: Facts, family: str) -> str:
    """What has to be remembered of a file to draw its links again, packed.

    Each expression is written once, however often it occurs: calls and references name it by its number.
    """
    numbers: dict[Any, int] = {}

    def number(expression: Any) -> int:
        return numbers.setdefault(expression, len(numbers))

    definitions = facts.definitions
    calls = [
        [call.scope, number(call.callee), call.name, call.line, [[to, number(e)] for to, e in call.given], call.arity]
        for call in facts.calls
    ]
    references = {(one.scope, number(one.target)): one.line for one in reversed(facts.references)}
    return json.dumps(
        {
            "path": facts.path,
            "language": facts.language,
            "family": family,
            "symbols": [definition.symbol for definition in definitions],
            "types": [one.symbol for one in definitions if one.kind == "type" and "interface" not in one.marks],
            "variables": {
                index: values
                for index, definition in enumerate(definitions)
                if (values := definition.variables if definition.kind != "type" else definition.members)
            },
            "parameters": {
                index: [definition.symbol, definition.parameters]
                for index, definition in enumerate(definitions)
                if definition.parameters
            },
            "bases": {
                one.symbol: [one.line_start, [*one.bases, *facts.extended_bases.get(one.symbol, ())]]
                for one in definitions
                if one.bases or one.symbol in facts.extended_bases
            },
            "imports": [[item.module, item.name, item.line, item.level] for item in facts.imports],
            "calls": calls,
            "references": [[scope, target, line] for (scope, target), line in reversed(references.items())],
            "expressions": list(numbers),
        },
        separators=(",", ":"),
        ensure_ascii=False,
    )


@uncollected
def links_of(payload: str, lookup: Lookup) -> Iterable[Edge]:
    """The links out of the definitions of one file. Each says how it is known, and on which line it stands.

    ``told`` of what is returned has how many calls lead into the corpus, out of it, and nobody knows where.
    """
    return _Links(json.loads(payload), lookup).drawn()


@lru_cache(maxsize=16)
def _rules(name: str) -> Dialect:
    return language_named(name).rules()


class _Links:
    def __init__(self, payload: Mapping[str, Any], lookup: Lookup) -> None:
        self._path: str = payload["path"]
        self._family: str = payload["family"]
        self._keys = [symbol_key(self._family, self._path, symbol) for symbol in payload["symbols"]]
        self._payload = payload
        self._lookup = lookup
        self._dialect = _rules(payload["language"])
        self._expressions: Sequence[Any] = [hashable(expression) for expression in payload["expressions"]]
        calls: dict[str, list[Any]] = {}
        for _, callee, name, _, given, _ in payload["calls"]:
            if given:
                told = tuple([(to, self._expressions[value]) for to, value in given])
                calls.setdefault(name, []).append((self._expressions[callee], told))
        facts = {
            "path": self._path,
            "variables": {int(index): values for index, values in payload["variables"].items()},
            "parameters": {int(index): tuple(told) for index, told in payload["parameters"].items()},
            "calls": calls,
        }
        self._values = Values(facts, self._dialect, lookup)
        self._found: dict[tuple[str, str, str], dict[str, Any]] = {}
        self.told: dict[str, Any] = {"calls": [0, 0, 0]}

    def __iter__(self) -> Iterator[Edge]:
        for (source, kind, target), properties in self._found.items():
            yield Edge(source, kind, target, None, properties)

    def drawn(self) -> _Links:
        self._take_imports()
        self._take_bases()
        self._take_interfaces()
        self._take_calls()
        self._take_references()
        return self

    def _take_imports(self) -> None:
        module = self._key("")
        for said, name, line, level in self._payload["imports"]:
            target = self._dialect.find_module(said, level, self._path, self._lookup)
            if target is None or target[0] not in ("m", "c"):
                continue
            key = self._key_of(target if target[0] == "c" else ("m", target[1]))
            if name and name != "*" and target[0] == "m":
                inner = self._dialect.find_inside(target[1], name, self._lookup)
                key = self._key_of(inner) if inner is not None else key
            self._add(module, "imports", key, "exact", line)

    def _take_bases(self) -> None:
        """What the types of this file inherit from, also where another file of their package says so."""
        for symbol, (line, bases) in self._payload["bases"].items():
            for base in bases:
                self._add_base(symbol, hashable(base), self._path, line)
        if self._dialect.open_types:
            for symbol in self._payload["types"]:
                for path, told in self._values.declared(("c", self._path, symbol))[1:]:
                    for base in told.get("b", ()):
                        self._add_base(symbol, base, path, None)

    def _add_base(self, symbol: str, base: Any, path: str, line: int | None) -> None:
        expression = base[1] if base is not None and base[0] == "[]" else base
        for reference, known in self._values.of(expression, path).items():
            if reference[0] == "c" and reference != ("c", self._path, symbol):
                self._add(self._key(symbol), "inherits", self._key_of(reference), _HOW.get(known, INFERRED), line)

    def _take_interfaces(self) -> None:
        """Types that have all the methods of an interface implement it, where the language has it so."""
        if not self._dialect.implicit_interfaces:
            return
        for symbol in self._payload["types"]:
            type_ = ("c", self._path, symbol)
            methods = self._methods(type_) or set()
            # An interface is known by its first method; one that is made of others alone has none.
            names = ["", *sorted(methods)] if methods else []
            for said in (one for name in names for one in self._lookup(f"{self._family}-interface:{name}")):
                path, _, other = said.partition("\n")
                wanted = self._methods(("c", path, other), whole=True)
                if wanted and wanted <= methods:
                    self._add(self._key(symbol), "inherits", self._key_of(("c", path, other)), INFERRED)

    def _methods(self, type_: Reference, *, whole: bool = False) -> set[str] | None:
        """The names of a type's methods; where the ``whole`` is asked for, nothing if a part of it is not known."""
        found: set[str] = set()
        for part in self._values.order(type_):
            if part[0] != "c":
                if whole:
                    return None
                continue
            for _, told in self._values.declared(part):
                found |= {
                    name
                    for name, given in told.get("m", {}).items()
                    if any(value and value[0] == "d" for value in given)
                }
        return found

    def _take_calls(self) -> None:
        tests = is_test_path(self._path)
        known: dict[tuple[int, int | None], list[tuple[str, str, bool]]] = {}
        leads: dict[tuple[int, int | None], int] = {}
        for scope, callee, name, line, _, count in self._payload["calls"]:
            found = known.get((callee, count))
            if found is None:
                found = known[callee, count] = self._called(self._expressions[callee], name, count)
                leads[callee, count] = 0 if found else self._leads_out(self._expressions[callee], count)
            self.told["calls"][leads[callee, count]] += 1
            if found:
                source = self._keys[scope]
                for target, how, is_tested in found:
                    self._add(source, "calls", target, how, line)
                    if tests and is_tested:
                        self._add(source, "tests", target, how, line)

    def _leads_out(self, callee: Any, count: int | None) -> int:
        """1 if a call that runs nothing here is known to run something else, 2 if nobody knows what it runs."""
        return 1 if any(reference[0] in ("x", "xi") for reference in self._values.targets(callee, count)) else 2

    def _called(self, callee: Any, name: str, count: int | None) -> list[tuple[str, str, bool]]:
        """What a call runs: the node, how that is known, and whether a test that calls it tests it."""
        found = self._values.targets(callee, count)
        inside = [
            (self._key_of(reference), _HOW.get(known, INFERRED), not is_test_path(reference[1]))
            for reference, known in found.items()
            if reference[0] in ("f", "c")
        ]
        if inside or callee is None or callee[0] != "." or name in METHODS[self._family]:
            return inside
        if self._dialect.has_extensions:
            only = self._lookup(f"{self._family}-extension:{name}")
            if len(only) == 1:
                return [(only[0], INFERRED, False)]
        only = self._lookup(f"{self._family}-method:{name}") if not found else ()
        return [(only[0], UNIQUE, False)] if len(only) == 1 else []

    def _take_references(self) -> None:
        for scope, target, line in self._payload["references"]:
            source = self._keys[scope]
            for reference, known in self._values.of(self._expressions[target]).items():
                if reference[0] in ("f", "c", "m") and (reference[0] != "m" or reference[1] != self._path):
                    key = self._key_of(reference)
                    if key != source:
                        self._add(source, "references", key, _HOW.get(known, INFERRED), line)

    def _add(self, source: str, kind: str, target: str, how: str, line: int | None = None) -> None:
        held = self._found.get((source, kind, target))
        if held is None or how == "exact" != held["resolution"]:
            self._found[source, kind, target] = (
                {"resolution": how} if line is None else {"resolution": how, "line": line}
            )

    def _key(self, symbol: str) -> str:
        return symbol_key(self._family, self._path, symbol)

    def _key_of(self, reference: Reference) -> str:
        return symbol_key(self._family, reference[1], reference[2] if len(reference) > 2 else "")
