"""C#."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from ir.code.facts import Expression, Import
from ir.code.languages.scopes import DEEP, Scope, either
from ir.code.languages.typed import Typed, generic_name, last_word, type_around

if TYPE_CHECKING:
    from tree_sitter import Node

__all__ = ["CSharp"]


class CSharp(Typed):
    """C#: namespaces, partial types, properties and extension methods."""

    _namespace = ""

    language = "csharp"
    types: ClassVar[Mapping[str, Any]] = {
        "class_declaration": "class",
        "interface_declaration": "interface",
        "struct_declaration": "struct",
        "record_declaration": "record",
        "record_struct_declaration": "record",
        "enum_declaration": "enum",
    }
    functions = frozenset(
        {"method_declaration", "constructor_declaration", "local_function_statement", "destructor_declaration"}
    )
    literals: ClassVar[Mapping[str, Any]] = {
        "string_literal": "String",
        "verbatim_string_literal": "String",
        "interpolated_string_expression": "String",
        "integer_literal": "Int32",
        "real_literal": "Double",
        "boolean_literal": "Boolean",
        "character_literal": "Char",
    }
    wrappers = frozenset({"parenthesized_expression", "await_expression", "postfix_unary_expression", "ref_expression"})
    lambdas = frozenset({"lambda_expression", "anonymous_method_expression"})

    def take_other(self, node: Node, scope: Scope) -> None:
        kind = node.type
        if kind == "file_scoped_namespace_declaration":
            named = node.child_by_field_name("name")
            self.facts.unit = self.text(named) if named is not None else ""
            for child in node.named_children[1:]:
                self.take(child, scope)
        elif kind == "namespace_declaration":
            self.take_namespace(node, scope)
        elif kind == "using_directive":
            self.take_using(node)
        elif kind in ("field_declaration", "event_field_declaration"):
            for child in node.named_children:
                if child.type == "variable_declaration":
                    self.take_field(child, scope)
        elif kind == "property_declaration":
            self.take_property(node, scope)
        elif kind == "enum_member_declaration":
            named = node.child_by_field_name("name")
            if named is not None:
                scope.definition.members.setdefault(self.text(named), []).append(("self", scope.definition.symbol))
        elif kind.startswith("preproc") or kind == "declaration_list":
            for child in node.named_children:
                self.take(child, scope)
        elif kind in (
            "indexer_declaration",
            "operator_declaration",
            "conversion_operator_declaration",
            "event_declaration",
        ):
            inner = Scope(scope.index, scope, scope.definition, {}, scope.this)
            self.take_parameters(node, inner, None)
            for child in node.named_children:
                self.visit(child, inner)
        elif kind == "global_statement":
            self.visit_children(node, Scope(0, scope, scope.definition, {}, None))

    def take_namespace(self, node: Node, scope: Scope) -> None:
        named, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        said = self.text(named) if named is not None else ""
        outer = self._namespace
        self._namespace = f"{outer}.{said}" if outer else said
        inside = body.named_children if body is not None else []
        types = [child.child_by_field_name("name") for child in inside if child.type in self.types]
        if body is None or (types and not self.facts.unit):
            self.facts.unit = self._namespace
        elif self._namespace != self.facts.unit:
            self.facts.elsewhere.update({self.text(one): self._namespace for one in types if one is not None})
        for child in inside:
            self.take(child, scope)
        if body is not None:  # one without a body holds the rest of the file
            self._namespace = outer

    def take_using(self, node: Node) -> None:
        named = [child for child in node.named_children if child.type in ("identifier", "qualified_name")]
        if not named:
            return
        dotted, line = self.text(named[-1]), node.start_point[0] + 1
        self.facts.imports.append(Import(dotted, None, None, line))
        alias = node.child_by_field_name("name")
        if alias is not None:
            package, _, last = dotted.rpartition(".")
            self.facts.names.setdefault(self.text(alias), []).append((".", ("m", package, 0), last))
        else:
            self.facts.names.setdefault("*", []).append(("m", dotted, 0))

    def take_property(self, node: Node, scope: Scope) -> None:
        named, of = node.child_by_field_name("name"), node.child_by_field_name("type")
        if named is None:
            return
        held = scope.definition.members.setdefault(self.text(named), [])
        if of is not None:
            held.append(("t", self.type_of(of, scope)))
            self.refer(of, scope)
        inner = Scope(scope.index, scope, scope.definition, {}, scope.this)
        accessors, value = node.child_by_field_name("accessors"), node.child_by_field_name("value")
        if accessors is not None:
            self._later.append((accessors, inner))
        if value is not None and value.type == "arrow_expression_clause":
            self._later.append((value, inner))
        elif value is not None:
            self.visit(value, inner)

    def bases(self, node: Node) -> list[Node]:
        listed = next((child for child in node.named_children if child.type == "base_list"), None)
        return [part for part in listed.named_children if part.type != "argument_list"] if listed is not None else []

    def parameters(self, node: Node) -> Node | None:
        found = node.child_by_field_name("parameters")
        return found or next((child for child in node.named_children if child.type == "parameter_list"), None)

    def value_after(self, item: Node, named: Node | None) -> Node | None:
        rest = [child for child in item.named_children if named is None or child.id != named.id]
        rest = [child for child in rest if child.type != "bracketed_argument_list"]
        return rest[-1] if rest else None

    def is_inferred(self, of: Node) -> bool:
        return of.type == "implicit_type"

    def take_function(self, node: Node, scope: Scope) -> None:
        super().take_function(node, scope)
        definition = self.facts.definitions[-1]
        listed = self.parameters(node)
        first = listed.named_children[0] if listed is not None and listed.named_children else None
        if first is not None and any(self.text(child) == "this" for child in first.children):
            definition.marks = frozenset({"extension"})
            for at in definition.parameters:
                definition.parameters[at] -= 1
        for child in node.named_children:
            if child.type == "constructor_initializer" and (owner := type_around(scope)) is not None:
                inner = Scope(len(self.facts.definitions) - 1, scope, definition, definition.variables, scope.this)
                on_base = any(part.type == "base" for part in child.children)
                arguments = next((part for part in child.named_children if part.type == "argument_list"), None)
                self.call(
                    ("super", owner) if on_base else ("new", ("d", owner)),
                    "base" if on_base else "this",
                    child,
                    inner,
                    arguments,
                )
                if arguments is not None:
                    self.visit_children(arguments, inner)

    def visit_invocation(self, node: Node, scope: Scope) -> None:
        function, arguments = node.child_by_field_name("function"), node.child_by_field_name("arguments")
        if function is not None:
            callee = self.expression(function, scope)
            name = str(callee[-1]) if callee is not None and callee[0] in (".", "n", "own") else ""
            self.call(callee, name.split("@", 1)[0], node, scope, arguments)
            inner = self.field(function, "expression", "condition")
            if inner is not None and inner.type not in ("identifier", "this"):
                self.visit(inner, scope)
        if arguments is not None:
            self.visit_children(arguments, scope)

    def visit_creation(self, node: Node, scope: Scope) -> None:
        of, arguments = node.child_by_field_name("type"), node.child_by_field_name("arguments")
        if of is not None:
            self.call(("new", self.type_of(of, scope)), last_word(self.text(of)), node, scope, arguments)
        for child in node.named_children:
            if of is None or child.id != of.id:
                self.visit(child, scope)

    def visit_statement(self, node: Node, scope: Scope) -> None:
        """A function inside a function."""
        self.take_function(node, scope)

    def visit_pattern(self, node: Node, scope: Scope) -> None:
        """``x is Item item``"""
        of, named = node.child_by_field_name("type"), node.child_by_field_name("name")
        if named is not None and of is not None and named.type == "identifier":
            scope.bind(self.text(named)).append(None if self.is_inferred(of) else ("t", self.type_of(of, scope)))

    _handlers: ClassVar[Mapping[str, Any]] = {
        "invocation_expression": visit_invocation,
        "object_creation_expression": visit_creation,
        "variable_declaration": Typed.visit_local,
        "foreach_statement": Typed.visit_each,
        "assignment_expression": Typed.visit_assignment,
        "local_function_statement": visit_statement,
        "declaration_pattern": visit_pattern,
        "catch_declaration": visit_pattern,
        "declaration_expression": visit_pattern,
        "identifier": Typed.visit_name,
        "member_access_expression": Typed.visit_name,
    }

    def further(self, node: Node, scope: Scope, depth: int) -> Expression:
        kind = node.type
        if kind in ("member_access_expression", "conditional_access_expression"):
            inner, named = self.field(node, "expression", "condition"), node.child_by_field_name("name")
            if named is None:
                binding = next((part for part in node.named_children if part.type == "member_binding_expression"), None)
                named = binding.child_by_field_name("name") if binding is not None else None
            if named is None:
                return None
            if inner is None:  # the grammar has no node for the word ``this`` before a dot
                first = node.children[0].type if node.children else ""
                base = self.expression(node.children[0], scope, depth + 1) if first in ("this", "base") else None
                return (".", base, generic_name(self.text(named)))
            return (".", self.expression(inner, scope, depth + 1), generic_name(self.text(named)))
        if kind == "invocation_expression":
            function = node.child_by_field_name("function")
            inner_called = self.expression(function, scope, depth + 1) if function is not None else None
            return ("()", inner_called) if inner_called is not None else None
        if kind == "object_creation_expression":
            of = node.child_by_field_name("type")
            return ("()", ("new", self.type_of(of, scope))) if of is not None else None
        if kind == "as_expression":
            of = node.child_by_field_name("right")
            return ("t", self.type_of(of, scope)) if of is not None else None
        if kind == "binary_expression":
            parts = (node.child_by_field_name("left"), node.child_by_field_name("right"))
            return (
                either(self.expression(part, scope, depth + 1) for part in parts if part is not None)
                if "??" in [child.type for child in node.children]
                else None
            )
        if kind == "generic_name":
            return self.name(self.text(node.named_children[0]), scope)
        if kind == "qualified_name":
            return self.type_of(node, scope)
        return None

    def type_of(self, node: Node, scope: Scope, depth: int = 0) -> Expression:
        if depth > DEEP:
            return None
        kind = node.type
        if kind == "identifier":
            return self.type_named(self.text(node), scope)
        if kind == "qualified_name":
            parts = node.named_children
            return (
                (".", self.type_of(parts[0], scope, depth + 1), generic_name(self.text(parts[-1])))
                if len(parts) > 1
                else None
            )
        if kind == "generic_name":
            parts = node.named_children
            arguments = [part for child in parts[1:] for part in child.named_children]
            base = self.type_of(parts[0], scope, depth + 1)
            return ("[]", base, *[self.type_of(part, scope, depth + 1) for part in arguments])
        if kind in ("array_type", "nullable_type"):
            of = self.field(node, "type") or node.named_children[0]
            inner = self.type_of(of, scope, depth + 1)
            return ("[]", ("n", "List"), inner) if kind == "array_type" else inner
        if kind == "alias_qualified_name" and node.named_children:  # global::Shop
            return self.type_of(node.named_children[-1], scope, depth + 1)
        if kind == "predefined_type":
            return ("n", self.text(node))
        if kind in ("primary_constructor_base_type", "simple_base_type") and node.named_children:
            return self.type_of(node.named_children[0], scope, depth + 1)
        return None
