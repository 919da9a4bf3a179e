"""What an expression stands for: followed through names, imports, inheritance and values, across files.

A *reference* is a tuple: ``("f", path, symbol)`` a function, ``("c", path, symbol)`` a type, ``("i", path, symbol)``
an instance of it, ``("m", path)`` a module, ``("p", name)`` a package, ``("x", name)`` something outside of the corpus,
``("xi", name)`` an instance of such a type, ``("l", ...)`` a collection of references. With each goes how it is known:
``EXACT`` by scopes, imports and inheritance alone, ``INFERRED`` where a value or an annotation was followed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

from ir.code.containers import GIVES, OF_ELEMENTS, OF_VALUES
from ir.code.exports import hashable, top_of, unpacked

__all__ = ["EXACT", "INFERRED", "Dialect", "Found", "Lookup", "Reference", "Values"]

EXACT, INFERRED = 0, 1
_NOTHING: Mapping[str, Any] = {}
#: How many things an expression may stand for before it stands for anything.
_MANY = 6
#: The same, where all of them are functions or types: a table of functions is gone through as a whole.
_MANY_TO_CALL = 48
#: How many calls of a function are looked at for what they give to its parameters.
_MANY_CALLS = 24
_DEEP = 40
#: How many expressions are followed for one question: functions that give each other things can go in circles.
_LONG = 400
#: Through how many functions a parameter is followed back to what was given.
_FAR = 3

Reference = tuple[Any, ...]
Found = dict[Reference, int]
Lookup = Callable[[str], Sequence[str]]


class Dialect(Protocol):
    """What one language does in a way of its own."""

    name: str
    #: What is run when a type is called or made with ``new``.
    constructors: Sequence[str]
    #: Whether functions of one name are told apart by their parameters.
    has_overloads: bool
    #: Whether a type may be declared in several files of a package.
    open_types: bool
    #: Whether ``a.b`` is also the element ``"b"`` of the dictionary ``a``.
    members_are_keys: bool

    #: Whether a type implements the interfaces whose methods it has, without saying so.
    implicit_interfaces: bool
    #: Whether an instance is called by a method of its type.
    calls_instances: bool
    #: Whether any file may give members to a type.
    scattered_types: bool
    #: Whether a package may be named in full wherever a name may stand.
    has_units: bool
    #: Whether the names of the packages around one's own are seen.
    sees_outer_units: bool
    #: Whether a function may be called as a method of what is its first parameter.
    has_extensions: bool

    def find_module(self, module: str, level: int, path: str, lookup: Lookup) -> Reference | None:
        """The file that an import means, or ``("x", name)`` for one outside of the corpus."""

    def find_unit(self, unit: str, name: str, lookup: Lookup) -> Reference | None:
        """A package inside another."""

    def find_inside(self, path: str, name: str, lookup: Lookup) -> Reference | None:
        """A module that is a member of another, as those of a package are."""

    def exported(self, name: str) -> Sequence[str]:
        """Under which names of its outermost scope a module offers ``name`` to others."""

    def find_builtin(self, name: str) -> Reference | None:
        """A name that the language brings."""


class Values:
    """The values of the expressions of one file, with other files asked through ``lookup``."""

    def __init__(self, facts: Mapping[str, Any], dialect: Dialect, lookup: Lookup) -> None:
        self.path: str = facts["path"]
        self._variables: Mapping[int, Mapping[str, Sequence[Any]]] = facts["variables"]
        self._dialect = dialect
        self._lookup = lookup
        self._parameters: Mapping[int, tuple[str, Mapping[str, int]]] = facts.get("parameters", {})
        #: The places of functions that have parameters.
        self._scopes = {symbol: scope for scope, (symbol, _) in self._parameters.items()}
        self._calls: Mapping[str, Sequence[Any]] = facts.get("calls", {})
        self._asking: set[Any] = set()
        self._cuts = 0
        self._steps = 0
        self._giving = 0
        self._runs: dict[Any, Found] = {}
        self._known: dict[Any, Found] = {}
        self._orders: dict[Reference, list[Reference]] = {}
        self._tops: dict[tuple[str, str], Any] = {}
        self._inside: dict[tuple[str, str], Mapping[str, Any]] = {}
        self._held: dict[tuple[int, str], Sequence[Any]] = {}

    # -- expressions ---------------------------------------------------------------------------------------------

    def of(self, expression: Any, path: str | None = None) -> Found:
        """What an expression of the file ``path`` (this one unless it is given) may stand for."""
        if expression is None:
            return {}
        at = self.path if path is None else path
        mark = (at, expression)
        known = self._known.get(mark)
        if known is not None:
            return known
        if not self._asking:
            self._steps = 0
        self._steps += 1
        if mark in self._asking or len(self._asking) > _DEEP or self._steps > _LONG:
            self._cuts += 1
            return {}
        self._asking.add(mark)
        before = self._cuts
        try:
            found = self._of(expression, at)
        finally:
            self._asking.discard(mark)
        if len(found) > _MANY and not (len(found) <= _MANY_TO_CALL and all(map(_can_be_called, found))):
            found = {}
        # What met itself on the way may be more when it is asked from elsewhere; a question of its own is answered.
        if self._cuts == before or not self._asking:
            self._known[mark] = found
        return found

    def _of(self, e: Any, path: str) -> Found:
        head = e[0]
        if head == "n":
            return self.name(path, e[1])
        if head == ".":
            if self._dialect.members_are_keys and (entries := self._entries(e[1], path)):
                under = _under(f"'{e[2]}", entries)
                if under:
                    return self._all_of(under)
            if e[1] is not None and e[1][0] == "require":  # module.exports may be a function, and have members
                target = self._dialect.find_module(e[1][1], 0, path, self._lookup)
                found = self.module_member(target[1], e[2]) if target is not None and target[0] == "m" else {}
                if found:
                    return found
            found = self.member(self.of(e[1], path), e[2])
            if any(reference[0] not in ("x", "xi") for reference in found):
                return found
            return self._in_unit(e, path) or found
        if head == "new":
            of = e[1][1] if e[1] is not None and e[1][0] == "[]" else e[1]
            if of is not e[1]:  # new List<Item>() makes a List, of which is known what it holds
                held = {("gives", one): INFERRED for one in self.instance(e[1], path) if one[0] in ("l", "tuple")}
                if held:
                    return held
            if of is not None and of[0] == "own":
                return self.own(path, of[1], of[2], types=True)
            return {_made(reference): known for reference, known in self.of(of, path).items()}
        if head == "require":
            return self.required(e[1], path)
        if head == "()":
            return self.called(self.of(e[1], path))
        if head == "v":
            if path != self.path:
                return {}
            if isinstance(e[1], str):
                return self.of(("v", self._scopes.get(e[1], -1), e[2]), path)
            given = self._variable(e[1], e[2])
            values = [value for value in given if value is not None and value[0] != "item"]
            found = self._all(values, path)
            if e[2] in self._parameters.get(e[1], ("", {}))[1] and all(map(_is_open, found)):
                found = self.given(e[1], e[2]) or found
            # A variable that is given a value is known by that; an import or a definition inside a function is not one.
            plain = all(
                value[0] in ("d", "m") or (value[0] == "." and value[1] and value[1][0] == "m") for value in values
            )
            return found if plain else dict.fromkeys(found, INFERRED)
        if head == "d":
            return {(_kind(e[1]), path, e[1]): EXACT}
        if head == "own":
            return self.own(path, e[1], e[2])
        if head == "self":
            if self._dialect.scattered_types:
                return {("i", *self._declared_as(path, e[1])[1:]): EXACT}
            return {("i", path, e[1]): EXACT}
        if head == "super":
            return {("s", path, e[1]): EXACT}
        if head == "m":
            found_module = self._dialect.find_module(e[1], e[2], path, self._lookup)
            return {found_module: EXACT} if found_module is not None else {}
        if head == "tuple":
            parts = [tuple(sorted(self.of(part, path), key=repr)) for part in e[1:]]
            return {("tuple", *parts): INFERRED}
        if head == "try":
            held = self.of(e[1], path)
            return _elements(held) or held
        if head == "variant":
            return {("gives", ("i", path, e[1])): EXACT, ("i", path, e[1]): EXACT}
        if head == "[]":
            return self.element(e[1], e[2] if len(e) > 2 else None, path)
        if head == "with":
            return self.entered(self.of(e[1], path))
        if head == "t":
            return self.instance(e[1], path)
        if head == "k":
            return {("xi", e[1]): EXACT}
        if head == "l":
            inner = self._all(e[1:], path)
            return {("l", *sorted(inner, key=repr)): INFERRED}
        if head == "{}":
            inner = self._all((part for _, part in e[1:]), path)
            return {("l", *sorted(inner, key=repr)): INFERRED}
        if head == "|":
            return self._all(e[1:], path)
        if head == "type":
            return {("c", *reference[1:]): INFERRED for reference in self.of(e[1], path) if reference[0] == "i"}
        return {}

    def _in_unit(self, e: Any, path: str) -> Found:
        """A member of a package that is named in full, as ``Shop.Core.Order`` is."""
        if not self._dialect.has_units:
            return {}
        words: list[str] = []
        at = e[1]
        while at is not None and at[0] == "." and at[2]:
            words.append(at[2])
            at = at[1]
        if at is None or at[0] not in ("n", "own"):
            return {}
        unit = ".".join([at[-1], *reversed(words)])
        target = self._dialect.find_module(unit, 0, path, self._lookup)
        return self._member(target, e[2]) if target is not None and target[0] in ("p", "c") else {}

    def _variable(self, scope: int, name: str) -> Sequence[Any]:
        """What a variable of a function was given; most are never asked for, so each is unpacked when it is."""
        held = self._held.get((scope, name))
        if held is None:
            held = self._held[scope, name] = hashable(self._variables.get(scope, {}).get(name, []))
        return held

    def _all(self, expressions: Iterable[Any], path: str) -> Found:
        found: Found = {}
        for expression in expressions:
            for reference, known in self.of(expression, path).items():
                found[reference] = min(known, found.get(reference, INFERRED))
        return found

    def element(self, of: Any, key: Any, path: str) -> Found:
        """An element of a collection: the one under ``key`` where that is written out, else any."""
        if isinstance(key, int):
            apart = [
                reference for reference in self.of(of, path) if reference[0] == "tuple" and key + 1 < len(reference)
            ]
            if apart:
                return {inner: INFERRED for reference in apart for inner in reference[key + 1]}
        entries = self._entries(of, path) if key is not None else None
        if entries is not None:
            return dict.fromkeys(self._all_of(_under(key, entries)), INFERRED)
        added = [(value[2], at) for value, at in self._raw(of, path) or () if value is not None and value[0] == "item"]
        return {**_elements(self.of(of, path)), **dict.fromkeys(self._all_of(added), INFERRED)}

    def _raw(self, e: Any, path: str) -> list[tuple[Any, str]] | None:
        """What a variable was given, as it is written, and in which file."""
        if e is None:
            return None
        if e[0] == "v":
            scope = self._scopes.get(e[1], -1) if isinstance(e[1], str) else e[1]
            return [(value, path) for value in self._variable(scope, e[2])] if path == self.path else None
        if e[0] == "n":
            top = self._top_of(path, e[1])
            return None if top is None else self._opened([(value, path) for value in top])
        if e[0] in ("[]", ".") and len(e) > 2:
            key = e[2] if e[0] == "[]" else f"'{e[2]}"
            if e[0] == "." and not self._dialect.members_are_keys:
                return None
            entries = self._entries(e[1], path)
            if entries is not None:
                return _under(key, entries)
            return self._opened([(e, path)]) if e[0] == "." else None
        if e[0] == "require":
            return self._opened([(e, path)])
        return [(e, path)] if e[0] in ("l", "{}") else None

    def _opened(self, given: list[tuple[Any, str]]) -> list[tuple[Any, str]]:
        """Values that are names of other modules, replaced by what those were given there."""
        if not self._dialect.members_are_keys:
            return given
        found: list[tuple[Any, str]] = []
        for value, path in given:
            names: list[tuple[str, str]] = []
            if value is not None and value[0] == "require":
                target = self._dialect.find_module(value[1], 0, path, self._lookup)
                names = [(target[1], "module.exports")] if target is not None and target[0] == "m" else []
            elif value is not None and value[0] == "." and value[1] is not None and value[1][0] == "m":
                target = self._dialect.find_module(value[1][1], value[1][2], path, self._lookup)
                names = [(target[1], value[2])] if target is not None and target[0] == "m" else []
            opened = False
            for at, name in names:
                for key in self._dialect.exported(name):
                    top = self._top_of(at, key)
                    mark = ("opened", at, key)
                    self._cuts += mark in self._asking
                    if top is not None and mark not in self._asking:
                        self._asking.add(mark)
                        for inner in top:
                            found += self._raw(inner, at) or [(inner, at)]
                        self._asking.discard(mark)
                        opened = True
            if not opened:
                found.append((value, path))
        return found

    def _entries(self, e: Any, path: str) -> list[tuple[Any, tuple[Any, str]]] | None:
        """The elements of a collection by key, if all of it is written out."""
        mark = ("entries", path, e)
        if mark in self._asking or len(self._asking) > _DEEP:
            self._cuts += 1
            return None
        self._asking.add(mark)
        try:
            found: list[tuple[Any, tuple[Any, str]]] = []
            for value, at in self._raw(e, path) or ((None, path),):
                if value is None:
                    return None
                if value[0] == "l":
                    found += [(place, (part, at)) for place, part in enumerate(value[1:])]
                elif value[0] == "{}":
                    found += [(key, (part, at)) for key, part in value[1:]]
                elif value[0] == "item":
                    found.append((value[1], (value[2], at)))
                elif value[0] == "()":
                    given = self._entries_given(value, at)
                    if given is None:
                        return None
                    found += given
                else:
                    return None
            return found
        finally:
            self._asking.discard(mark)

    def _entries_given(self, e: Any, path: str) -> list[tuple[Any, tuple[Any, str]]] | None:
        """The elements of the one dictionary that a function gives back."""
        functions = [reference for reference in self.of(e[1], path) if reference[0] == "f"]
        if len(functions) != 1:
            return None
        _, at, symbol = functions[0]
        returns = self.definition(at, symbol).get("r", ())
        if len(returns) != 1 or returns[0] is None or returns[0][0] != "{}":
            return None
        return [(key, (part, at)) for key, part in returns[0][1:]]

    def _all_of(self, values: Iterable[tuple[Any, str]]) -> Found:
        found: Found = {}
        for value, path in values:
            found.update(self.of(value, path))
        return found

    def required(self, module: str, path: str) -> Found:
        """What ``require`` gives: what the module put into ``module.exports``, else its names."""
        target = self._dialect.find_module(module, 0, path, self._lookup)
        if target is None or target[0] != "m":
            return {target: EXACT} if target is not None else {}
        for key in self._dialect.exported("module.exports"):
            found = self.outermost(target[1], key)
            if found and all(reference[0] != "l" for reference in found):
                return found
        return {target: EXACT}

    def given(self, scope: int, parameter: str) -> Found:
        """What the calls in this file give to a parameter."""
        symbol, positions = self._parameters[scope]
        found: Found = {}
        if self._giving >= _FAR:
            self._cuts += 1
            return found
        self._giving += 1
        function, place = ("f", self.path, symbol), positions[parameter]
        for name in _called_as(symbol):
            calls = self._calls.get(name, ())[:_MANY_CALLS]
            heirs = {callee[1][1] for callee, _ in calls if _is_on_base(callee)}
            for callee, arguments in calls:
                if len(heirs) > 1 and _is_on_base(callee):
                    continue  # each type that inherits gives something of its own, which the others do not have
                for to, value in arguments:
                    if to in (parameter, place) and function in self._run_by(callee):
                        for reference in self.of(value):
                            found[reference] = INFERRED
        self._giving -= 1
        return found

    def _run_by(self, callee: Any) -> Found:
        """The targets of a call of this file, found once."""
        known = self._runs.get(callee)
        if known is None:
            before = self._cuts
            known = self.targets(callee)
            if self._cuts == before:
                self._runs[callee] = known
        return known

    # -- names ---------------------------------------------------------------------------------------------------

    def name(self, path: str, name: str) -> Found:
        """A name of the outermost scope of a file."""
        found = self.outermost(path, name, stars=False)
        if found:
            return found
        module = self._module_of(path)
        around = module.get("unit", "") if module is not None else ""
        for unit in _units(around, outer=self._dialect.sees_outer_units):
            found = self.unit_member(unit, name)
            if found:
                return found
        found = self._by_star(path, name)
        if found and next(iter(found))[0] != "x":
            return found
        builtin = self._dialect.find_builtin(name)
        return {builtin: EXACT} if builtin is not None else found

    def own(self, path: str, symbol: str, name: str, *, types: bool = False) -> Found:
        """A name inside a type: its member, one of a type around it, or a name of the file.

        Where a type is meant, a method of the same name is passed over.
        """
        at = symbol
        outside: Found = {}
        while at.endswith("#"):
            found = self._member(("c" if types else "i", path, at), name)
            if types:
                found = {reference: how for reference, how in found.items() if reference[0] in ("c", "x")}
            if found and any(reference[0] != "x" for reference in found):
                return found
            outside = outside or found  # a type that inherits from outside of the corpus may have any member
            at = at[: at.rfind("#", 0, -1) + 1]
        return self.name(path, name) or outside

    def outermost(self, path: str, name: str, *, stars: bool = True) -> Found:
        top = self._top_of(path, name)
        if top is not None:
            values = top
            found = self._all(values, path)
            # Imports and definitions say what a name is; a value that is assigned is followed.
            if any(value and value[0] not in ("d", "m", ".") for value in values):
                found = {
                    reference: known if reference[0] in ("f", "c") and len(values) == 1 else INFERRED
                    for reference, known in found.items()
                }
            if found or values:
                return found
        return self._by_star(path, name) if stars else {}

    def _by_star(self, path: str, name: str) -> Found:
        module = self._module_of(path)
        if module is None or name.startswith("_"):
            return {}
        outside: Found = {}
        for star in module["stars"]:
            mark = ("*", path, name, star)
            if mark in self._asking:
                self._cuts += 1
                continue
            self._asking.add(mark)
            try:
                for target in self._of(star, path):
                    if target[0] == "m" and (found := self.module_member(target[1], name, starred=True)):
                        return found
                    if target[0] in ("p", "c") and (found := self._member(target, name)):
                        return found
                    if target[0] == "x":
                        outside = {("x", f"{target[1]}.{name}"): INFERRED}
            finally:
                self._asking.discard(mark)
        return outside

    def unit_member(self, unit: str, name: str) -> Found:
        """A name of a package, whichever of its files defines it; or a package inside it."""
        found: Found = {}
        for path in self._lookup(f"{self._dialect.name}-unit:{unit}:{name}"):
            found.update(self.outermost(path, name))
        if found:
            return found
        inner = self._dialect.find_unit(unit, name, self._lookup)
        return {inner: EXACT} if inner is not None and inner[0] == "p" else {}

    def module_member(self, path: str, name: str, *, starred: bool = False) -> Found:
        module = self._module_of(path)
        if module is None:
            return {}
        if starred and module["exported"] is not None and name not in module["exported"]:
            return {}
        for key in self._dialect.exported(name):
            found = self.outermost(path, key)
            if found:
                return found
        inner = self._dialect.find_inside(path, name, self._lookup)
        return {inner: EXACT} if inner is not None else {}

    def _module_of(self, path: str) -> Any:
        given = self._lookup(f"{self._dialect.name}:{path}")
        return unpacked(given[0]) if given else None

    def _top_of(self, path: str, name: str) -> Any:
        held = self._tops.get((path, name), False)
        if held is False:
            given = self._lookup(f"{self._dialect.name}:{path}:{name}")
            held = unpacked(given[0]) if given else None
            self._tops[path, name] = held
        return held

    def definition(self, path: str, symbol: str) -> Mapping[str, Any]:
        """What is told of a definition: its bases ``b``, members ``m``, returns ``r``, and ``p`` for a property."""
        top = top_of(symbol)
        held = self._inside.get((path, top))
        if held is None:
            given = self._lookup(f"{self._dialect.name}:{path}/{top}")
            held = self._inside[path, top] = unpacked(given[0]) if given else {}
        told: Mapping[str, Any] = held.get(symbol, _NOTHING)
        return told

    # -- types ---------------------------------------------------------------------------------------------------

    def order(self, type_: Reference) -> list[Reference]:
        """A type and what it inherits from, in the order in which members are looked for."""
        held = self._orders.get(type_)
        if held is not None:
            return held
        if ("order", type_) in self._asking:  # a type that inherits from itself
            self._cuts += 1
            return [type_]
        self._asking.add(("order", type_))
        before = self._cuts
        bases: list[Reference] = []
        for path, told in self.declared(type_):
            for expression in told.get("b", ()):
                expression = expression[1] if expression and expression[0] == "[]" else expression
                found_bases = self.of(expression, path)
                bases += [base for base in found_bases if base[0] in ("c", "x") and base != type_ and base not in bases]
        found = _merged(type_, [self.order(base) if base[0] == "c" else [base] for base in bases], bases)
        self._asking.discard(("order", type_))
        if self._cuts == before:
            self._orders[type_] = found
        return found

    def member(self, owners: Found, name: str) -> Found:
        """A member of any of the things that an expression may stand for."""
        found: Found = {}
        for owner, known in owners.items():
            for reference, how in self._member(owner, name).items():
                found[reference] = min(max(known, how), found.get(reference, INFERRED))
        return found

    def _member(self, owner: Reference, name: str) -> Found:
        kind = owner[0]
        if kind == "m":
            return self.module_member(owner[1], name)
        if kind == "p":
            return self.unit_member(owner[1], name)
        if kind == "x":
            return {("x", f"{owner[1]}.{name}"): EXACT}
        if kind == "xi":
            return {("x", f"{owner[1]}.{name}"): EXACT}
        if kind == "l":
            # A method of a collection: some give an element, some a collection again.
            return {(GIVES.get(name, "x"), *(owner[1:] if name in GIVES else (f"builtins.list.{name}",))): INFERRED}
        if kind in ("c", "i", "s"):
            order = self.order(("c", *owner[1:]))
            for type_ in order[1:] if kind == "s" else order:
                if type_[0] == "x":
                    return {("x", f"{type_[1]}.{name}"): INFERRED}
                found: Found = {}
                for path, told in self.declared(type_):
                    if name in told.get("m", ()):
                        found.update(self._read(path, told["m"][name], on_type=kind == "c"))
                        found = found or {("?",): INFERRED}  # it is there, and nobody knows what it is
                if found:
                    return {reference: how for reference, how in found.items() if reference[0] != "?"}
        return {}

    def _declared_as(self, path: str, symbol: str) -> Reference:
        """The type that a file gives members to, which may be declared in another."""
        here = ("c", path, symbol)
        if top_of(symbol) + "#" != symbol:
            return here
        return next((one for one in self.name(path, symbol[:-1]) if one[0] == "c"), here)

    def declared(self, type_: Reference) -> list[tuple[str, Mapping[str, Any]]]:
        """What is told of a type in each of the files that it is declared in."""
        path, symbol = type_[1], type_[2]
        told = [(path, self.definition(path, symbol))]
        module = self._module_of(path) if self._dialect.open_types else None
        if module is not None and module.get("unit"):
            for other in self._lookup(f"{self._dialect.name}-unit:{module['unit']}:{top_of(symbol)}"):
                if other != path:
                    told.append((other, self.definition(other, symbol)))
        if self._dialect.scattered_types:
            paths = {at for at, _ in told}
            name = symbol[:-1].rpartition("#")[2]
            for other in self._lookup(f"{self._dialect.name}-extends:{name}"):
                if other not in paths and self._declared_as(other, f"{name}#") == ("c", path, symbol):
                    told.append((other, self.definition(other, f"{name}#")))
        return told

    def _read(self, path: str, values: Sequence[Any], *, on_type: bool) -> Found:
        found: Found = {}
        for value in values:
            inner = self.of(value, path)
            if value and value[0] == "d":
                symbol = value[1]
                if not on_type and self.definition(path, symbol).get("p"):
                    inner = dict.fromkeys(self.called({("f", path, symbol): EXACT}), INFERRED)
                found.update(inner)
            else:
                for reference in inner:
                    found.setdefault(reference, INFERRED)
        return found

    def called(self, callees: Found) -> Found:
        """What calling something gives."""
        found: Found = {}
        for callee in callees:
            kind = callee[0]
            if kind in ("c", "nf"):
                found[("i", *callee[1:])] = INFERRED
            elif kind == "f":
                for value in self.definition(callee[1], callee[2]).get("r", ()):
                    for reference in self.of(value, callee[1]):
                        found[reference] = INFERRED
            elif kind == "i" and self._dialect.calls_instances:
                for reference in self.called(self._member(callee, "__call__")):
                    found[reference] = INFERRED
            elif kind == "x":
                found[("xi", callee[1])] = INFERRED
            elif kind == "gives":
                found.update(dict.fromkeys(callee[1:], INFERRED))
            elif kind == "gives-all":
                found[("l", *callee[1:])] = INFERRED
        return found

    def entered(self, given: Found) -> Found:
        """What ``with X as y`` gives ``y``."""
        found: Found = {}
        for reference in given:
            if reference[0] == "i":
                inner = self.called(self._member(reference, "__enter__")) or self.called(
                    self._member(reference, "__aenter__")
                )
                found.update(inner or {reference: INFERRED})
            elif reference[0] == "l":
                found.update(_elements({reference: INFERRED}))  # a generator that a decorator makes a context
            else:
                found[reference] = INFERRED
        return found

    def instance(self, annotation: Any, path: str) -> Found:
        """What something of an annotated type may be."""
        if annotation is None:
            return {}
        if annotation[0] == "|":
            merged: Found = {}
            for part in annotation[1:]:
                merged.update(self.instance(part, path))
            return merged
        if annotation[0] == "tuple":
            return {
                ("tuple", *[tuple(sorted(self.instance(part, path), key=repr)) for part in annotation[1:]]): INFERRED
            }
        if annotation[0] == "fn":
            return {("gives", *self.instance(annotation[1], path)): INFERRED}
        if annotation[0] == "[]":
            base, *parts = annotation[1:]
            name = base[-1] if base and base[0] in ("n", ".", "own") else ""
            if name in ("Optional", "Union", "Annotated", "Final", "ClassVar", "Required", "NotRequired"):
                merged = {}
                for part in parts[:1] if name in ("Annotated",) else parts:
                    merged.update(self.instance(part, path))
                return merged
            if name in ("type", "Type"):
                return {
                    ("c", *reference[1:]): INFERRED
                    for part in parts
                    for reference in self.instance(part, path)
                    if reference[0] == "i"
                }
            if name in ("tuple", "Tuple") and len(parts) > 1 and parts[-1] is not None:
                return self.instance(("tuple", *parts), path)
            if name in OF_VALUES and parts:
                inner = self.instance(parts[-1], path)
                return {("l", *sorted(inner, key=repr)): INFERRED}
            if name in OF_ELEMENTS and parts:
                inner = self.instance(parts[0], path)
                return {("l", *sorted(inner, key=repr)): INFERRED}
            if (
                name
                in (
                    "Awaitable",
                    "Coroutine",
                    "Task",
                    "ValueTask",
                    "Promise",
                    "CompletableFuture",
                    "Lazy",
                    "ContextManager",
                    "AbstractContextManager",
                    "AbstractAsyncContextManager",
                )
                and parts
            ):
                return self.instance(parts[-1 if name == "Coroutine" else 0], path)
            return self.instance(base, path)
        found: Found = {}
        named = self.own(path, *annotation[1:], types=True) if annotation[0] == "own" else self.of(annotation, path)
        for reference in named:
            if reference[0] == "c":
                found[("i", *reference[1:])] = INFERRED
            elif reference[0] == "x":
                found[("xi", reference[1])] = INFERRED
        return found

    # -- calls ---------------------------------------------------------------------------------------------------

    def targets(self, callee: Any, count: int | None = None) -> Found:
        """What a call runs: functions, or the constructor of a type, or the type itself where it has none.

        ``count`` arguments tell overloads apart, where it is given.
        """
        found: Found = {}
        for reference, known in self.of(callee).items():
            for target in self._run(reference):
                found[target] = min(known, found.get(target, INFERRED))
        if count is not None and len(found) > 1:
            fitting = {
                target: known
                for target, known in found.items()
                if target[0] != "f" or self.definition(target[1], target[2]).get("n", 0) == count
            }
            return fitting or found
        return found

    def _run(self, reference: Reference) -> Iterable[Reference]:
        kind = reference[0]
        if kind in ("f", "x"):
            return [reference]
        if kind == "nf":
            return [("f", *reference[1:])]
        if kind in ("c", "s"):
            order = self.order(("c", *reference[1:]))
            for type_ in order[1:] if kind == "s" else order:
                if type_[0] == "x":
                    break
                for path, told in self.declared(type_):
                    for constructor in self._dialect.constructors:
                        made = [value for value in told.get("m", {}).get(constructor, ()) if value and value[0] == "d"]
                        if made and self._dialect.has_overloads:
                            return [("f", path, value[1]) for value in made]
                        if made:
                            return [("f", path, made[-1][1])]
                if self._dialect.has_overloads:  # a constructor is not inherited
                    break
            return [reference] if kind == "c" else order[1:2]
        if kind == "i" and self._dialect.calls_instances:
            return [target for target in self._member(reference, "__call__") if target[0] == "f"]
        if kind in ("xi", "gives", "gives-all"):
            return [("x", str(reference[1:2]))]
        return []


def _is_on_base(callee: Any) -> bool:
    """Whether ``super().m`` is called."""
    return bool(callee[0] == "." and callee[1] and callee[1][0] == "super")


def _is_open(reference: Reference) -> bool:
    """Whether a declared type says nothing of what a thing is: anything, or any function."""
    return reference[0] == "xi" and reference[1].rpartition(".")[2] in ("Callable", "Any", "object", "any", "Function")


def _can_be_called(reference: Reference) -> bool:
    return reference[0] in ("f", "c", "nf") or (reference[0] in ("l", "gives") and len(reference) <= _MANY_TO_CALL)


def _units(unit: str, *, outer: bool) -> list[str]:
    """A package, and where names of those around it are seen too, those."""
    parts = unit.split(".")
    return [".".join(parts[:end]) for end in range(len(parts), 0, -1)] if unit and outer else [unit] if unit else []


def _made(reference: Reference) -> Reference:
    """What ``new`` makes of something: a function is then a constructor."""
    return ("nf", *reference[1:]) if reference[0] == "f" else reference


def _called_as(symbol: str) -> list[str]:
    """The words that a call of this function may end with: a constructor is called by the name of its type too."""
    parts = symbol.replace("().", "#").rstrip("#").split("#")
    return parts[-2:] if parts[-1] in ("__init__", "__new__") and len(parts) > 1 else parts[-1:]


def _under(key: Any, entries: Sequence[tuple[Any, tuple[Any, str]]]) -> list[tuple[Any, str]]:
    """The last element under a key, and those whose key is not known."""
    last = [value for at, value in entries if at == key][-1:]
    return last + [value for at, value in entries if at is None]


def _elements(given: Found) -> Found:
    found: Found = {}
    for reference in given:
        if reference[0] == "l":
            for inner in reference[1:]:
                found[inner] = INFERRED
        elif reference[0] == "tuple":
            found.update(dict.fromkeys((inner for part in reference[1:] for inner in part), INFERRED))
    return found


def _merged(type_: Reference, orders: list[list[Reference]], bases: list[Reference]) -> list[Reference]:
    """The C3 order; depth first where there is none."""
    rows = [list(order) for order in orders] + [list(bases)]
    found = [type_]
    while any(rows):
        rows = [row for row in rows if row]
        for row in rows:
            head = row[0]
            if not any(head in other[1:] for other in rows):
                break
        else:
            for order in orders:
                found += [each for each in order if each not in found]
            return found
        found.append(head)
        rows = [[each for each in row if each != head] for row in rows]
    return found


def _kind(symbol: str) -> str:
    return "c" if symbol.endswith("#") else "f"
