"""JavaScript's expressions and types: what a piece of code stands for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ir.code.facts import Expression, Import
from ir.code.languages.scopes import DEEP, Reader, Scope, either

if TYPE_CHECKING:
    from tree_sitter import Node

__all__ = ["FUNCTIONS", "MEMBERS", "TYPES", "WIDE", "WRAPPERS", "ScriptExpressions"]

WIDE = 24
#: How many members of an object are looked at.
MEMBERS = 400
FUNCTIONS = {
    "arrow_function",
    "function_declaration",
    "function_expression",
    "function_signature",
    "generator_function",
    "generator_function_declaration",
    "method_definition",
    "method_signature",
    "abstract_method_signature",
}
TYPES = {"class_declaration", "class", "abstract_class_declaration", "interface_declaration", "enum_declaration"}
_LITERALS = {
    "string": "String",
    "template_string": "String",
    "number": "Number",
    "regex": "RegExp",
    "true": "Boolean",
    "false": "Boolean",
}
WRAPPERS = {
    *("parenthesized_expression", "await_expression", "as_expression", "satisfies_expression", "non_null_expression"),
    *("type_assertion", "type_annotation"),
}


class ScriptExpressions(Reader):
    """What names, calls, objects and annotations stand for."""

    language = "javascript"

    def __init__(self, source: bytes, path: str) -> None:
        super().__init__(source, path)
        #: The definitions that were made of nodes.
        self.defined: dict[int, tuple[int, Scope]] = {}

    def expression(self, node: Node, scope: Scope, depth: int = 0) -> Expression:
        if depth > DEEP:
            return None
        kind = node.type
        if kind in ("identifier", "shorthand_property_identifier", "type_identifier", "jsx_identifier"):
            return self.name(self.text(node), scope)
        if kind in ("member_expression", "nested_identifier", "nested_type_identifier"):
            inner, named = self.field(node, "object", "module"), self.field(node, "property", "name")
            if inner is None or named is None:
                return None
            if inner.type == "member_expression" and self.text(inner).endswith(".prototype"):
                inner = inner.child_by_field_name("object") or inner
            return (".", self.expression(inner, scope, depth + 1), self.text(named).lstrip("#"))
        if kind == "this":
            return scope.this
        if kind == "super":
            return ("super", scope.this[1]) if scope.this is not None and scope.this[0] == "self" else None
        if kind == "call_expression":
            return self.called(node, scope, depth)
        if kind == "new_expression":
            made = node.child_by_field_name("constructor")
            inner_made = self.expression(made, scope, depth + 1) if made is not None else None
            return ("()", ("new", inner_made)) if inner_made is not None else None
        if kind in _LITERALS:
            return ("k", _LITERALS[kind])
        if kind in WRAPPERS and node.named_children:
            return self.expression(node.named_children[0], scope, depth + 1)
        if kind == "subscript_expression":
            return self.subscript(node, scope, depth)
        if kind == "ternary_expression":
            parts = (node.child_by_field_name("consequence"), node.child_by_field_name("alternative"))
            return either(self.expression(part, scope, depth + 1) for part in parts if part is not None)
        if kind == "binary_expression":
            operator = node.child_by_field_name("operator")
            if operator is not None and operator.type in ("||", "??", "&&"):
                return either(self.expression(part, scope, depth + 1) for part in node.named_children)
            return None
        if kind == "assignment_expression":
            right = node.child_by_field_name("right")
            return self.expression(right, scope, depth + 1) if right is not None else None
        if kind == "array":
            return ("l", *[self.expression(part, scope, depth + 1) for part in node.named_children[:WIDE]])
        if kind == "object":
            return self.pairs(node, scope, depth)
        if node.id in self.defined and (kind in FUNCTIONS or kind in TYPES):
            return ("d", self.facts.definitions[self.defined[node.id][0]].symbol)
        return None

    def pairs(self, node: Node, scope: Scope, depth: int) -> Expression:
        found = []
        for part in node.named_children[:MEMBERS]:
            if part.type == "pair":
                key, value = part.child_by_field_name("key"), part.child_by_field_name("value")
                label = "'" + self.text(key).strip("\"'") if key is not None else None
                found.append((label, self.expression(value, scope, depth + 1) if value is not None else None))
            elif part.type == "shorthand_property_identifier":
                found.append((f"'{self.text(part)}", self.name(self.text(part), scope)))
        return ("{}", *found)

    def subscript(self, node: Node, scope: Scope, depth: int) -> Expression:
        inner, index = node.child_by_field_name("object"), node.child_by_field_name("index")
        of = self.expression(inner, scope, depth + 1) if inner is not None else None
        if of is None or index is None:
            return None
        if index.type == "string":
            return (".", of, self.unquoted(index))
        if index.type == "number" and self.text(index).isdigit():
            return ("[]", of, int(self.text(index)))
        return ("[]", of)

    def called(self, node: Node, scope: Scope, depth: int) -> Expression:
        function = node.child_by_field_name("function")
        if function is None:
            return None
        if function.type in ("identifier", "import") and self.text(function) in ("require", "import"):
            arguments = node.child_by_field_name("arguments")
            first = arguments.named_children[0] if arguments is not None and arguments.named_children else None
            if first is not None and first.type == "string":
                module = self.unquoted(first)
                line = node.start_point[0] + 1
                if not any(item.module == module and item.line == line for item in self.facts.imports):
                    self.facts.imports.append(Import(module, None, None, line))
                return ("require", module)
        if function.type == "member_expression":
            bound, named = function.child_by_field_name("object"), function.child_by_field_name("property")
            if bound is not None and named is not None and self.text(named) == "bind":
                return self.expression(bound, scope, depth + 1)
        inner = self.expression(function, scope, depth + 1)
        return ("()", inner) if inner is not None else None

    def name(self, name: str, scope: Scope) -> Expression:
        at: Scope | None = scope
        while at is not None and at.owner is not None:
            kept = at.names.get(name)
            if kept is not None:
                return ("v", at.index, kept) if at.index else ("n", kept)
            at = at.owner
        kept = self.module.names.get(name)
        return ("n", kept if kept is not None else name)

    def type_expression(self, node: Node, scope: Scope, depth: int = 0) -> Expression:
        """The type that an annotation names."""
        if depth > DEEP:
            return None
        kind = node.type
        if kind in ("type_identifier", "identifier"):
            bound = scope.bound(self.text(node))
            return bound[0] if bound is not None else self.name(self.text(node), scope)
        if kind in ("nested_type_identifier", "member_expression"):
            return self.expression(node, scope)
        if kind == "generic_type":
            named = node.child_by_field_name("name") or node.named_children[0]
            arguments = node.child_by_field_name("type_arguments")
            parts = arguments.named_children if arguments is not None else []
            base = self.type_expression(named, scope, depth + 1)
            return ("[]", base, *[self.type_expression(part, scope, depth + 1) for part in parts])
        if kind == "array_type":
            return ("[]", ("n", "Array"), self.type_expression(node.named_children[0], scope, depth + 1))
        if kind == "union_type":
            return either(self.type_expression(part, scope, depth + 1) for part in node.named_children)
        if kind in ("call_expression", "parenthesized_expression"):  # class A extends mixin(B)
            return self.expression(node, scope)
        if kind in ("type_annotation", "parenthesized_type", "readonly_type") and node.named_children:
            return self.type_expression(node.named_children[-1], scope, depth + 1)
        return None

    def take_bounds(self, node: Node, scope: Scope) -> None:
        """``<T extends Shape>``: what a parameter that stands for a type must be at least."""
        listed = node.child_by_field_name("type_parameters")
        for item in listed.named_children if listed is not None else ():
            named, least = item.child_by_field_name("name"), item.child_by_field_name("constraint")
            if named is not None:
                parts = least.named_children if least is not None else []
                scope.bounds[self.text(named)] = either(self.type_expression(part, scope) for part in parts)

    def unquoted(self, node: Node) -> str:
        return self.text(node).strip("\"'`")

    def name_of(self, node: Node) -> str | None:
        named = node.child_by_field_name("name")
        return self.text(named) if named is not None else None
