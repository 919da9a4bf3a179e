"""What languages with declared types and classes have in common, as Java and C# do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from ir.code.facts import Call, Definition, Expression, Reference
from ir.code.languages.scopes import DEEP, Declaring, Scope, either, worth_following

if TYPE_CHECKING:
    from tree_sitter import Node


__all__ = ["Typed", "generic_name", "last_word", "type_around"]


class Typed(Declaring):
    """A reader that takes classes, members with types, and the calls in their bodies."""

    types: ClassVar[Mapping[str, Any]] = {}
    functions: frozenset[str] = frozenset()
    literals: ClassVar[Mapping[str, Any]] = {}
    wrappers: frozenset[str] = frozenset()
    lambdas: frozenset[str] = frozenset()
    #: What a constructor is called as a member of its type.
    constructor = "<init>"

    # -- definitions ---------------------------------------------------------------------------------------------

    def take(self, node: Node, scope: Scope) -> None:
        """Take a declaration of a file, a namespace or a type."""
        kind = node.type
        if kind in self.types:
            self.take_type(node, scope)
        elif kind in self.functions:
            self.take_function(node, scope)
        elif kind == "ERROR":
            for child in node.named_children:
                self.take(child, scope)
        else:
            self.take_other(node, scope)

    def take_other(self, node: Node, scope: Scope) -> None:
        raise NotImplementedError

    def take_type(self, node: Node, scope: Scope) -> None:
        named, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        if named is None:
            return
        name = self.text(named)
        symbol = self.symbol(f"{scope.definition.symbol}{name}#")
        index, definition = self.add(symbol, "type", name, scope.index, node, body, self.comment_before(node))
        scope.values.setdefault(name, []).append(("d", symbol))
        inner = Scope(index, scope, definition, definition.members, ("self", symbol))
        self.take_bounds(node, inner)
        for base in self.bases(node):
            definition.bases.append(self.type_of(base, inner))
            self.refer(base, inner)
        self.take_head(node, inner)
        for child in body.named_children if body is not None else ():
            self.bounded(self.take, child, inner)

    def take_head(self, node: Node, inner: Scope) -> None:
        """The parameters of a record are its members too."""
        listed = self.parameters(node)
        if listed is None:
            return
        for item in listed.named_children:
            named, of = item.child_by_field_name("name"), item.child_by_field_name("type")
            if named is not None and of is not None:
                inner.definition.members.setdefault(self.text(named), []).append(("t", self.type_of(of, inner)))

    def parameters(self, node: Node) -> Node | None:
        return node.child_by_field_name("parameters")

    def bases(self, node: Node) -> list[Node]:
        raise NotImplementedError

    def take_function(self, node: Node, scope: Scope) -> None:
        named, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        makes = node.type in ("constructor_declaration", "compact_constructor_declaration")
        if named is None:
            return
        name = self.text(named)
        symbol = self.symbol(f"{scope.definition.symbol}{name}().")
        in_type = scope.definition.kind == "type"
        kind = "method" if in_type else "function"
        index, definition = self.add(symbol, kind, name, scope.index, node, body, self.comment_before(node))
        if in_type:
            scope.definition.members.setdefault(self.constructor if makes else name, []).append(("d", symbol))
        else:
            scope.bind(name).append(("d", symbol))
        inner = Scope(index, scope, definition, definition.variables, scope.this)
        self.take_bounds(node, inner)
        self.take_parameters(node, inner, definition)
        of = self.field(node, "type", "returns", "return_type")
        if of is not None:
            definition.returns.append(("t", self.type_of(of, inner)))
            self.refer(of, inner)
        self.take_annotations(node, scope)
        if body is not None:
            self._later.append((body, inner))

    def take_annotations(self, node: Node, scope: Scope) -> None:
        """What stands before a declaration, as ``@Test`` does."""

    def take_parameters(self, node: Node, inner: Scope, definition: Definition | None) -> None:
        listed = self.parameters(node)
        for position, item in enumerate(listed.named_children if listed is not None else ()):
            if item.type == "identifier":  # of a lambda
                inner.bind(self.text(item))
                continue
            named, of = item.child_by_field_name("name"), item.child_by_field_name("type")
            if named is None:
                named = next((part for part in item.named_children if part.type == "variable_declarator"), None)
                named = named.child_by_field_name("name") if named is not None else None
            if named is None:
                continue
            held = inner.bind(self.text(named))
            if of is not None:
                held.append(("t", self.type_of(of, inner)))
                self.refer(of, inner)
            if definition is not None:
                definition.parameters[inner.names[self.text(named)]] = position

    def take_field(self, node: Node, scope: Scope) -> None:
        """``Store store = new Store(), other;`` as members."""
        for named, value, declared in self.declarators(node, scope):
            held = scope.definition.members.setdefault(self.text(named), [])
            if declared is not None:
                held.append(declared)
            if value is not None:
                inner = Scope(scope.index, scope, scope.definition, {}, scope.this)
                self.visit(value, inner)
                if declared is None:
                    held.append(self.expression(value, inner))

    def declarators(self, node: Node, scope: Scope) -> Iterator[tuple[Node, Node | None, Expression]]:
        """Each name that a declaration declares, its first value, and an instance of the type that is written."""
        of = node.child_by_field_name("type")
        declared: Expression = None
        if of is not None and not self.is_inferred(of):
            declared = ("t", self.type_of(of, scope))
            self.refer(of, scope)
        for item in node.named_children:
            named = item.child_by_field_name("name") if item.type == "variable_declarator" else None
            if named is not None:
                yield named, item.child_by_field_name("value") or self.value_after(item, named), declared

    def is_inferred(self, of: Node) -> bool:
        return self.text(of) == "var"

    def value_after(self, item: Node, named: Node | None) -> Node | None:
        return None

    # -- bodies --------------------------------------------------------------------------------------------------

    def visit(self, node: Node, scope: Scope) -> None:
        handle = self._handlers.get(node.type)
        if handle is not None:
            handle(self, node, scope)
        elif node.type in self.types:
            self.take_type(node, scope)
        elif node.type in self.lambdas:
            self.visit_lambda(node, scope)
        elif node.named_child_count:
            inner = scope.inner() if node.type == "block" else scope
            for child in node.named_children:
                self.visit(child, inner)

    _handlers: ClassVar[Mapping[str, Any]] = {}

    def visit_lambda(self, node: Node, scope: Scope) -> None:
        inner = scope.inner()
        parameters = node.child_by_field_name("parameters")
        given = self.elements.get(node.id)
        if parameters is not None and parameters.type in ("identifier", "implicit_parameter"):
            inner.bind(self.text(parameters)).append(given)
        else:
            self.take_parameters(node, inner, None)
            first = next(iter(inner.names.values()), None)
            if given is not None and first is not None and not inner.values[first]:
                inner.values[first].append(given)
        body = node.child_by_field_name("body")
        if body is not None:
            self.visit(body, inner)

    def visit_local(self, node: Node, scope: Scope) -> None:
        for named, value, declared in self.declarators(node, scope):
            given = declared if declared is not None or value is None else self.expression(value, scope)
            if value is not None:
                self.visit(value, scope)
            held = scope.bind(self.text(named))
            if given is not None:
                held.append(given)

    def visit_assignment(self, node: Node, scope: Scope) -> None:
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        if left is not None and left.type != "identifier":
            self.visit(left, scope)
        if right is not None:
            self.visit(right, scope)

    def call(self, callee: Expression, name: str, node: Node, scope: Scope, arguments: Node | None) -> None:
        if callee is None:
            return
        self.goes_over(callee, arguments)
        given = []
        count = 0
        for position, part in enumerate(arguments.named_children if arguments is not None else ()):
            if "comment" in part.type:
                continue
            count += 1
            value = part.named_children[-1] if part.type == "argument" and part.named_children else part
            expression = self.expression(value, scope)
            if worth_following(expression):
                given.append((position, expression))
        self.facts.calls.append(Call(scope.index, callee, name, self.line_of(node, arguments), tuple(given), count))

    def visit_name(self, node: Node, scope: Scope) -> None:
        target = self.expression(node, scope)
        if target is not None and target[0] in ("n", "d", ".", "own"):
            self.facts.references.append(Reference(scope.index, target, node.start_point[0] + 1))
        self.visit_inside(self.field(node, "object", "expression"), scope)

    def visit_return(self, node: Node, scope: Scope) -> None:
        self.visit_children(node, scope)

    def visit_each(self, node: Node, scope: Scope) -> None:
        """``for (Item i : items)``"""
        inner = scope.inner()
        of = node.child_by_field_name("type")
        named, over = self.field(node, "name", "left"), self.field(node, "value", "right")
        if over is not None:
            self.visit(over, scope)
        if named is not None and named.type == "identifier":
            held = inner.bind(self.text(named))
            if of is not None and not self.is_inferred(of):
                held.append(("t", self.type_of(of, scope)))
            elif over is not None:
                held.append(("[]", self.expression(over, scope)))
        body = node.child_by_field_name("body")
        if body is not None:
            self.visit(body, inner)

    def refer(self, node: Node, scope: Scope) -> None:
        """Names in a type are references."""
        if node.type in ("type_identifier", "identifier", "scoped_type_identifier", "qualified_name"):
            target = self.type_of(node, scope)
            if target is not None:
                self.facts.references.append(Reference(scope.index, target, node.start_point[0] + 1))
            return
        for child in node.named_children:
            self.refer(child, scope)

    # -- expressions ---------------------------------------------------------------------------------------------

    def expression(self, node: Node, scope: Scope, depth: int = 0) -> Expression:
        if depth > DEEP:
            return None
        kind = node.type
        if kind == "identifier":
            return self.name(self.text(node), scope)
        if kind in self.literals:
            return ("k", self.literals[kind])
        if kind in ("this", "this_expression"):
            return scope.this
        if kind in ("super", "base", "base_expression"):
            return ("super", scope.this[1]) if scope.this is not None and scope.this[0] == "self" else None
        if kind in self.wrappers and node.named_children:
            return self.expression(node.named_children[-1], scope, depth + 1)
        if kind in ("ternary_expression", "conditional_expression"):
            parts = (node.child_by_field_name("consequence"), node.child_by_field_name("alternative"))
            return either(self.expression(part, scope, depth + 1) for part in parts if part is not None)
        if kind == "cast_expression":
            of = node.child_by_field_name("type")
            return ("t", self.type_of(of, scope)) if of is not None else None
        if kind in ("array_access", "element_access_expression"):
            inner = self.field(node, "array", "expression")
            value = self.expression(inner, scope, depth + 1) if inner is not None else None
            return ("[]", value) if value is not None else None
        return self.further(node, scope, depth)

    def further(self, node: Node, scope: Scope, depth: int) -> Expression:
        raise NotImplementedError

    def name(self, name: str, scope: Scope) -> Expression:
        """A variable, a member of the types around, or a name of the file or its package."""
        found = scope.find(name)
        if found is not None and found[0].index and found[0].definition.kind != "type":
            return ("v", found[0].index, found[1])
        owner = type_around(scope)
        return ("own", owner, name) if owner is not None else ("n", name)

    def type_named(self, name: str, scope: Scope) -> Expression:
        """A type by its plain name."""
        bound = scope.bound(name)
        if bound is not None:
            return bound[0]
        owner = type_around(scope)
        return ("own", owner, name) if owner is not None else ("n", name)


def type_around(scope: Scope) -> str | None:
    at: Scope | None = scope
    while at is not None:
        if at.definition.kind == "type":
            return at.definition.symbol
        at = at.owner
    return None


def generic_name(name: str) -> str:
    return name.split("<", 1)[0]


def last_word(name: str) -> str:
    return generic_name(name).rsplit(".", 1)[-1]
