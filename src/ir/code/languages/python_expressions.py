"""Python's expressions and annotations: what a piece of code stands for, by the rules of its scopes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ir.code.facts import Definition, Expression
from ir.code.languages.scopes import DEEP, Reader, either

if TYPE_CHECKING:
    from tree_sitter import Node

__all__ = ["COMPREHENSIONS", "WIDE", "PythonExpressions", "PythonScope", "around", "method_of"]

#: How many elements of a collection are looked at.
WIDE = 12
#: The same where they are names: tables of functions and types are longer than those of anything else.
_WIDE_OF_NAMES = 64
COMPREHENSIONS = ("list_comprehension", "set_comprehension", "generator_expression", "dictionary_comprehension")
_LITERALS = {
    "string": "str",
    "concatenated_string": "str",
    "integer": "int",
    "float": "float",
    "true": "bool",
    "false": "bool",
    "comparison_operator": "bool",
    "not_operator": "bool",
}
#: Methods of dictionaries whose second argument is what they give if there is nothing else.
_WITH_DEFAULTS = ("get", "pop", "setdefault")
_COLLECTORS = frozenset(("list", "tuple", "set", "sorted", "reversed", "iter", "frozenset"))


class PythonScope:
    """Where names are looked up: the module, a class, a function; or a lambda or comprehension, which is a *block*.

    The variables of a block are kept with the definition around it, each under a name that no other variable there has.
    """

    __slots__ = (
        "block",
        "definition",
        "free",
        "index",
        "kept",
        "kind",
        "locals",
        "narrows",
        "on_type",
        "owner",
        "self_name",
        "static",
        "type",
    )

    def __init__(self, index: int, kind: str, owner: PythonScope | None, definition: Definition) -> None:
        self.index = index
        self.kind = kind
        self.owner = owner
        self.definition = definition
        self.locals: dict[str, list[Expression]] = {}
        self.free: set[str] = set()
        self.self_name: str | None = None
        self.static = False
        #: Whether the first parameter of a method is the class.
        self.on_type = False
        self.block = False
        #: Whether the variables of a block are those of the function, of which more is known there.
        self.narrows = False
        self.kept: dict[str, str] = {}
        #: The class that a method belongs to.
        self.type = owner if kind == "function" and owner is not None and owner.kind == "type" else None

    def inner(self) -> PythonScope:
        """A block in this scope."""
        found = PythonScope(self.index, "function", self, self.definition)
        found.block, found.type = True, None
        return found

    def declare(self, name: str) -> None:
        """Give a block a variable."""
        if name in self.locals:
            return
        variables, number = self.definition.variables, 1
        while (kept := f"{name}@{number}") in variables:
            number += 1
        self.kept[name] = kept
        self.locals[name] = []
        if self.definition.kind != "type":  # the variables of a class are its members, and these are none
            variables[kept] = self.locals[name]


class PythonExpressions(Reader):
    """What names, calls, literals and annotations stand for."""

    language = "python"

    def __init__(self, source: bytes, path: str) -> None:
        super().__init__(source, path)
        self.outermost = PythonScope(0, "module", None, self.facts.definitions[0])
        #: The scopes of the comprehensions that were met.
        self.blocks: dict[int, PythonScope] = {}

    def name(self, name: str, scope: PythonScope) -> Expression:
        """A name by the rules of scopes: its function, the functions around it, the module, the language."""
        at: PythonScope | None = scope
        first = True
        while at is not None and at.kind != "module":
            if at.kind == "function" or first:
                if name == at.self_name and at.type is not None:
                    return ("d" if at.on_type else "self", at.type.definition.symbol)
                if name in at.locals and name not in at.free:
                    if not at.block:
                        return ("v", at.index, name)
                    return ("v", at.index, at.kept[name]) if at.definition.kind != "type" else None
                if name in at.free and not any(name in outer.locals for outer in _functions_around(at)):
                    break
            at, first = at.owner, False
        return ("n", name)

    def expression(self, node: Node, scope: PythonScope, depth: int = 0) -> Expression:
        """What a piece of code stands for."""
        if depth > DEEP:
            return None
        kind = node.type
        if kind == "identifier":
            return self.name(self.text(node), scope)
        if kind == "attribute":
            inner, named = node.child_by_field_name("object"), node.child_by_field_name("attribute")
            if inner is None or named is None:
                return None
            return self.member(self.expression(inner, scope, depth + 1), self.text(named))
        if kind == "call":
            function = node.child_by_field_name("function")
            callee = self.expression(function, scope, depth + 1) if function is not None else None
            return self.called(node, callee, scope, depth)
        if kind in _LITERALS:
            return ("k", _LITERALS[kind])
        if kind == "subscript":
            value = node.child_by_field_name("value")
            inner_value = self.expression(value, scope, depth + 1) if value is not None else None
            if inner_value is None:
                return None
            key = self.key(node.child_by_field_name("subscript"))
            return ("[]", inner_value) if key is None else ("[]", inner_value, key)
        if kind in ("parenthesized_expression", "await", "expression_list") and node.named_child_count == 1:
            return self.expression(node.named_children[0], scope, depth + 1)
        if kind == "conditional_expression":
            first, _, last = (*node.named_children, None, None, None)[:3]
            return either(self.expression(part, scope, depth + 1) for part in (first, last) if part is not None)
        if kind == "boolean_operator":
            return either(self.expression(part, scope, depth + 1) for part in node.named_children)
        if kind == "named_expression":
            value = node.child_by_field_name("value")
            return self.expression(value, scope, depth + 1) if value is not None else None
        if kind in ("list", "tuple", "set", "expression_list"):
            return ("l", *[self.expression(part, scope, depth + 1) for part in _some(node.named_children)])
        if kind == "dictionary":
            return ("{}", *self.pairs(node, scope, depth))
        if kind in COMPREHENSIONS:
            return self.collected(node, scope, depth)
        return None

    def pairs(self, node: Node, scope: PythonScope, depth: int) -> list[tuple[str | int | None, Expression]]:
        found: list[tuple[str | int | None, Expression]] = []
        for part in _some(node.named_children):
            of = part.child_by_field_name("value")
            if part.type == "pair" and of is not None:
                found.append((self.key(part.child_by_field_name("key")), self.expression(of, scope, depth + 1)))
        return found

    def collected(self, node: Node, scope: PythonScope, depth: int) -> Expression:
        """What a comprehension makes; its variables are known once it was visited."""
        body = node.child_by_field_name("body")
        if body is not None and body.type == "pair":
            body = body.child_by_field_name("value")
        inner = self.blocks.get(node.id, scope)
        return ("l", self.expression(body, inner, depth + 1)) if body is not None else ("l",)

    def key(self, node: Node | None) -> str | int | None:
        """A key or an index that is written out."""
        if node is None:
            return None
        if node.type == "string":
            return "'" + self.content(node)
        if node.type == "integer":
            text = self.text(node)
            return int(text) if text.isdigit() and len(text) < 10 else None
        return None

    def content(self, node: Node) -> str:
        """What stands between the quotes."""
        return "".join([self.text(part) for part in node.named_children if part.type == "string_content"])

    def called(self, node: Node, callee: Expression, scope: PythonScope, depth: int = 0) -> Expression:
        """What a call gives; ``callee`` is what is called."""
        if callee is not None and callee[0] == "n":
            name = callee[1]
            if name == "super":
                method = method_of(scope)
                if method is not None and method.type is not None:
                    return ("super", method.type.definition.symbol)
            elif name == "getattr":
                return self.got(node, scope, depth)
            elif name == "cast" or name == "type" or name == "next" or name in _COLLECTORS:
                arguments = node.child_by_field_name("arguments")
                given = arguments.named_children if arguments is not None else []
                if name == "cast":
                    return ("t", self.annotation(given[0], scope)) if len(given) == 2 else None
                if name == "type" and len(given) != 1:
                    return ("()", callee)
                inner = self.expression(given[0], scope, depth + 1) if given else None
                if inner is None:
                    return ("()", callee) if not given else None
                return {"type": ("type", inner), "next": ("[]", inner)}.get(name, ("l", ("[]", inner)))
        elif callee is not None and callee[0] == "." and callee[2] in _WITH_DEFAULTS:
            arguments = node.child_by_field_name("arguments")
            if arguments is not None and arguments.named_child_count == 2:
                return either([("()", callee), self.expression(arguments.named_children[1], scope, depth + 1)])
        return ("()", callee) if callee is not None else None

    def got(self, node: Node, scope: PythonScope, depth: int) -> Expression:
        """What ``getattr`` gives: a member by its name, if that is written out; else what it falls back on."""
        arguments = node.child_by_field_name("arguments")
        given = arguments.named_children if arguments is not None else []
        found: list[Expression] = []
        key = self.key(given[1]) if len(given) > 1 else None
        if isinstance(key, str):
            found.append(self.member(self.expression(given[0], scope, depth + 1), key[1:]))
        if len(given) > 2:
            found.append(self.expression(given[2], scope, depth + 1))
        return either(found)

    def member(self, inner: Expression, name: str) -> Expression:
        return ("type", inner) if name == "__class__" and inner is not None else (".", inner, name)

    # -- annotations ---------------------------------------------------------------------------------------------

    def annotation(self, node: Node, scope: PythonScope, depth: int = 0) -> Expression:
        """The type that an annotation names: ``("n", "X")``, ``("[]", base, part, ...)`` or one of several."""
        if depth > DEEP:
            return None
        kind = node.type
        if kind in ("type", "parenthesized_expression", "member_type") and node.named_child_count == 1:
            return self.annotation(node.named_children[0], scope, depth + 1)
        if kind == "identifier":
            return self.name(self.text(node), scope)
        if kind == "attribute":
            return self.expression(node, scope)
        if kind in ("subscript", "generic_type"):
            parts = node.named_children
            if not parts:
                return None
            inner: list[Node] = []
            for part in parts[1:]:
                inner += part.named_children if part.type == "type_parameter" else [part]
            base = self.annotation(parts[0], scope, depth + 1)
            return ("[]", base, *[self.annotation(part, scope, depth + 1) for part in inner])
        if kind in ("binary_operator", "union_type"):
            return either(self.annotation(part, scope, depth + 1) for part in node.named_children)
        if kind == "string":
            return self.quoted(self.content(node).strip(), scope)
        return None

    def quoted(self, words: str, scope: PythonScope) -> Expression:
        """A type that is written as a text, because it is defined below."""
        if words.endswith("]"):
            base, _, inner = words[:-1].partition("[")
            return ("[]", self.quoted(base, scope), *[self.quoted(part, scope) for part in _split(inner, ",")])
        parts = _split(words, "|")
        if len(parts) > 1:
            return either(self.quoted(part, scope) for part in parts)
        if not words.replace(".", "").replace("_", "").isalnum():
            return None
        first, *rest = words.split(".")
        found = self.name(first, scope)
        for part in rest:
            found = (".", found, part)
        return found


def _some(parts: list[Node]) -> list[Node]:
    """As many elements of a collection as are worth looking at."""
    if len(parts) <= WIDE:
        return parts
    after = parts[WIDE]
    after = (after.child_by_field_name("value") if after.type == "pair" else None) or after
    return parts[: _WIDE_OF_NAMES if after.type in ("identifier", "attribute") else WIDE]


def around(name: str, scope: PythonScope) -> PythonScope:
    """The scope that a variable is assigned in: blocks have those that they declare."""
    while scope.block and scope.owner is not None and (scope.narrows or name not in scope.locals):
        scope = scope.owner
    return scope


def method_of(scope: PythonScope | None) -> PythonScope | None:
    """The method that a piece of code is in, also through functions inside it."""
    while scope is not None and scope.kind == "function":
        if scope.type is not None:
            return scope
        scope = scope.owner
    return None


def _functions_around(scope: PythonScope) -> list[PythonScope]:
    found = []
    at = scope.owner
    while at is not None:
        if at.kind == "function":
            found.append(at)
        at = at.owner
    return found


def _split(words: str, mark: str) -> list[str]:
    """Parts between marks that stand in no brackets."""
    found, depth, at = [], 0, 0
    for place, letter in enumerate(words):
        depth += (letter == "[") - (letter == "]")
        if letter == mark and not depth:
            found.append(words[at:place].strip())
            at = place + 1
    return [*found, words[at:].strip()]
