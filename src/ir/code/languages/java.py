"""Java."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from ir.code.facts import Expression, Import, Reference
from ir.code.languages.scopes import DEEP, Scope, either
from ir.code.languages.typed import Typed, last_word, type_around

if TYPE_CHECKING:
    from tree_sitter import Node

__all__ = ["Java"]


class Java(Typed):
    """Java: one package for each folder, everything in types."""

    language = "java"
    types: ClassVar[Mapping[str, Any]] = {
        "class_declaration": "class",
        "interface_declaration": "interface",
        "enum_declaration": "enum",
        "record_declaration": "record",
        "annotation_type_declaration": "annotation",
    }
    functions = frozenset({"method_declaration", "constructor_declaration", "compact_constructor_declaration"})
    literals: ClassVar[Mapping[str, Any]] = {
        "string_literal": "String",
        "character_literal": "char",
        "decimal_integer_literal": "int",
        "hex_integer_literal": "int",
        "decimal_floating_point_literal": "double",
        "true": "boolean",
        "false": "boolean",
    }
    wrappers = frozenset({"parenthesized_expression"})
    lambdas = frozenset({"lambda_expression"})

    def take_other(self, node: Node, scope: Scope) -> None:
        kind = node.type
        if kind == "package_declaration":
            self.facts.unit = self.text(node.named_children[-1])
        elif kind == "import_declaration":
            self.take_import(node)
        elif kind == "field_declaration" or kind == "constant_declaration":
            self.take_field(node, scope)
        elif kind == "enum_constant":
            named = node.child_by_field_name("name")
            if named is not None:
                scope.definition.members.setdefault(self.text(named), []).append(("self", scope.definition.symbol))
            arguments = node.child_by_field_name("arguments")
            if arguments is not None:
                self.visit_children(arguments, scope)
        elif kind in ("enum_body_declarations", "static_initializer", "block"):
            for child in node.named_children:
                if kind == "enum_body_declarations":
                    self.take(child, scope)
                else:
                    self.visit(child, Scope(scope.index, scope, scope.definition, {}, scope.this))

    def take_head(self, node: Node, inner: Scope) -> None:
        """What a record is made of is read by methods of the same names."""
        super().take_head(node, inner)
        for held in inner.definition.members.values():
            held += [("t", ("fn", value[1])) for value in held if value is not None and value[0] == "t"]

    def take_import(self, node: Node) -> None:
        named = next(
            (child for child in node.named_children if child.type in ("scoped_identifier", "identifier")), None
        )
        if named is None:
            return
        dotted, line = self.text(named), node.start_point[0] + 1
        self.facts.imports.append(Import(dotted, None, None, line))
        if any(child.type == "asterisk" for child in node.named_children):
            self.facts.names.setdefault("*", []).append(("m", dotted, 0))
            return
        package, _, last = dotted.rpartition(".")
        self.facts.names.setdefault(last, []).append((".", ("m", package, 0), last))

    def bases(self, node: Node) -> list[Node]:
        found: list[Node] = []
        for child in node.named_children:
            if child.type in ("superclass", "super_interfaces", "extends_interfaces"):
                listed = child.named_children
                if listed and listed[0].type in ("type_list", "interface_type_list"):
                    listed = listed[0].named_children
                found += listed
        return found

    def visit_invocation(self, node: Node, scope: Scope) -> None:
        inner, named = node.child_by_field_name("object"), node.child_by_field_name("name")
        arguments = node.child_by_field_name("arguments")
        if named is not None:
            self.call(self.expression_of_call(inner, named, scope), self.text(named), node, scope, arguments)
        if inner is not None and inner.type != "identifier":
            self.visit(inner, scope)
        if arguments is not None:
            self.visit_children(arguments, scope)

    def expression_of_call(self, inner: Node | None, named: Node, scope: Scope, depth: int = 0) -> Expression:
        if inner is None:
            owner = type_around(scope)
            return ("own", owner, self.text(named)) if owner is not None else ("n", self.text(named))
        return (".", self.expression(inner, scope, depth + 1), self.text(named))

    def visit_creation(self, node: Node, scope: Scope) -> None:
        of, arguments = node.child_by_field_name("type"), node.child_by_field_name("arguments")
        if of is not None:
            made = self.type_of(of, scope)
            self.call(("new", made), last_word(self.text(of)), node, scope, arguments)
        if arguments is not None:
            self.visit_children(arguments, scope)
        for child in node.named_children:
            if child.type == "class_body":  # a class without a name: its methods count for the one around
                for member in child.named_children:
                    body = member.child_by_field_name("body")
                    if body is not None:
                        inner = scope.inner()
                        self.take_parameters(member, inner, None)
                        self.visit_children(body, inner)

    def visit_constructor(self, node: Node, scope: Scope) -> None:
        """``super(...)`` and ``this(...)`` as the first statement."""
        which, arguments = node.child_by_field_name("constructor"), node.child_by_field_name("arguments")
        owner = type_around(scope)
        if which is not None and owner is not None:
            callee = ("super", owner) if which.type == "super" else ("new", ("d", owner))
            self.call(callee, self.text(which), node, scope, arguments)
        if arguments is not None:
            self.visit_children(arguments, scope)

    def visit_reference(self, node: Node, scope: Scope) -> None:
        """``this::close`` names a method without calling it."""
        target = self.expression(node, scope)
        if target is not None:
            self.facts.references.append(Reference(scope.index, target, node.start_point[0] + 1))

    def visit_caught(self, node: Node, scope: Scope) -> None:
        named = node.child_by_field_name("name")
        of = next((child for child in node.named_children if child.type == "catch_type"), None)
        if named is not None:
            held = scope.bind(self.text(named))
            if of is not None:
                held.append(either(("t", self.type_of(part, scope)) for part in of.named_children))

    def visit_resource(self, node: Node, scope: Scope) -> None:
        named, of = node.child_by_field_name("name"), node.child_by_field_name("type")
        value = node.child_by_field_name("value")
        if value is not None:
            self.visit(value, scope)
        if named is not None:
            held = scope.bind(self.text(named))
            if of is not None and not self.is_inferred(of):
                held.append(("t", self.type_of(of, scope)))
            elif value is not None:
                held.append(self.expression(value, scope))

    _handlers: ClassVar[Mapping[str, Any]] = {
        "method_invocation": visit_invocation,
        "object_creation_expression": visit_creation,
        "explicit_constructor_invocation": visit_constructor,
        "method_reference": visit_reference,
        "local_variable_declaration": Typed.visit_local,
        "enhanced_for_statement": Typed.visit_each,
        "assignment_expression": Typed.visit_assignment,
        "catch_formal_parameter": visit_caught,
        "resource": visit_resource,
        "identifier": Typed.visit_name,
        "field_access": Typed.visit_name,
    }

    def further(self, node: Node, scope: Scope, depth: int) -> Expression:
        kind = node.type
        if kind == "method_invocation":
            named = node.child_by_field_name("name")
            if named is None:
                return None
            return ("()", self.expression_of_call(node.child_by_field_name("object"), named, scope, depth))
        if kind == "field_access":
            inner, named = node.child_by_field_name("object"), node.child_by_field_name("field")
            if inner is None or named is None:
                return None
            return (".", self.expression(inner, scope, depth + 1), self.text(named))
        if kind == "object_creation_expression":
            of = node.child_by_field_name("type")
            return ("()", ("new", self.type_of(of, scope))) if of is not None else None
        if kind == "method_reference" and len(node.named_children) == 2:
            inner, named = node.named_children
            return (".", self.expression(inner, scope, depth + 1), self.text(named))
        if kind in ("type_identifier", "scoped_type_identifier", "generic_type"):
            return self.type_of(node, scope)
        return None

    def type_of(self, node: Node, scope: Scope, depth: int = 0) -> Expression:
        if depth > DEEP:
            return None
        kind = node.type
        if kind in ("type_identifier", "identifier"):
            return self.type_named(self.text(node), scope)
        if kind in ("scoped_type_identifier", "scoped_identifier"):
            parts = node.named_children
            return (".", self.type_of(parts[0], scope, depth + 1), self.text(parts[-1])) if len(parts) > 1 else None
        if kind == "generic_type":
            parts = node.named_children
            arguments = [part for child in parts[1:] for part in child.named_children]
            base = self.type_of(parts[0], scope, depth + 1)
            return ("[]", base, *[self.type_of(part, scope, depth + 1) for part in arguments])
        if kind == "array_type":
            of = node.child_by_field_name("element")
            return ("[]", ("n", "List"), self.type_of(of, scope, depth + 1)) if of is not None else None
        if kind in ("integral_type", "floating_point_type", "boolean_type"):
            return ("n", self.text(node))
        if kind in ("wildcard", "annotated_type") and node.named_children:
            return self.type_of(node.named_children[-1], scope, depth + 1)
        return None
