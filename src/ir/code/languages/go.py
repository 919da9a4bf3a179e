"""Go: packages are folders, methods stand beside their types, interfaces are met without saying so."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from posixpath import dirname
from typing import TYPE_CHECKING, Any

from ir.code.facts import Definition, Expression, Facts, Import, Reference
from ir.code.languages.scopes import DEEP, Declaring, Scope

if TYPE_CHECKING:
    from tree_sitter import Node

__all__ = ["Go"]

_LITERALS = {
    "interpreted_string_literal": "string",
    "raw_string_literal": "string",
    "int_literal": "int",
    "float_literal": "float64",
    "rune_literal": "rune",
    "true": "bool",
    "false": "bool",
}


class Go(Declaring):
    """Reads one file of a package."""

    language = "go"

    def read(self, root: Node) -> Facts:
        self.facts.unit = dirname(self.facts.path) or "."
        return super().read(root)

    # -- declarations --------------------------------------------------------------------------------------------

    def take(self, node: Node, scope: Scope) -> None:
        kind = node.type
        if kind == "import_declaration":
            self.take_imports(node)
        elif kind == "function_declaration":
            self.take_function(node, scope)
        elif kind == "method_declaration":
            self.take_method(node, scope)
        elif kind == "type_declaration":
            for child in node.named_children:
                self.take_type(child, scope, node if node.named_child_count == 1 else child)
        elif kind in ("var_declaration", "const_declaration"):
            self.visit(node, scope)
        elif kind == "ERROR":
            for child in node.named_children:
                self.take(child, scope)

    def take_imports(self, node: Node) -> None:
        for item in node.named_children:
            if item.type == "import_spec_list":
                self.take_imports(item)
                continue
            if item.type != "import_spec":
                continue
            named, path = item.child_by_field_name("name"), item.child_by_field_name("path")
            if path is None:
                continue
            module, alias = self.text(path).strip('"`'), self.text(named) if named is not None else None
            self.facts.imports.append(Import(module, None, alias, item.start_point[0] + 1))
            if alias == ".":
                self.facts.names.setdefault("*", []).append(("m", module, 0))
            elif alias != "_":
                # The name of a package is by custom the last part of its path, without a version.
                parts = [part for part in module.split("/") if not (part[:1] == "v" and part[1:].isdigit())]
                last = parts[-1] if parts else module
                self.facts.names.setdefault(alias or last.removeprefix("go-"), []).append(("m", module, 0))

    def take_type(self, node: Node, scope: Scope, outer: Node) -> None:
        named, of = node.child_by_field_name("name"), node.child_by_field_name("type")
        if named is None or of is None:
            return
        name = self.text(named)
        if node.type == "type_alias":
            scope.values.setdefault(name, []).append(self.type_of(of, scope))
            return
        symbol = self.symbol(f"{scope.definition.symbol}{name}#")
        index, definition = self.add(symbol, "type", name, scope.index, outer, None, self.comment_before(outer))
        definition.signature = f"type {name} {of.type.removesuffix('_type')}"
        scope.values.setdefault(name, []).append(("d", symbol))
        inner = Scope(index, scope, definition, definition.members, ("self", symbol))
        self.take_bounds(node, inner)
        if of.type == "struct_type":
            self.take_fields(of, inner, definition)
        elif of.type == "interface_type":
            definition.marks = frozenset({"interface"})
            self.take_interface(of, inner, definition)
        # A type that is made of another by its name has nothing of its methods.
        self.refer(of, inner)

    def take_fields(self, of: Node, inner: Scope, definition: Definition) -> None:
        for listed in of.named_children:
            for item in listed.named_children:
                kind = item.child_by_field_name("type")
                if item.type != "field_declaration" or kind is None:
                    continue
                names = item.children_by_field_name("name")
                held = self.type_of(kind, inner)
                if not names:  # an embedded type gives its members
                    definition.bases.append(_plain(held))
                    label = self.text(kind).lstrip("*").split("[", 1)[0].rsplit(".", 1)[-1]
                    definition.members.setdefault(label, []).append(("t", held))
                for named in names:
                    definition.members.setdefault(self.text(named), []).append(("t", held))

    def take_interface(self, of: Node, inner: Scope, definition: Definition) -> None:
        for item in of.named_children:
            if item.type in ("method_elem", "method_spec"):
                named = item.child_by_field_name("name")
                if named is None:
                    continue
                symbol = self.symbol(f"{definition.symbol}{self.text(named)}().")
                _, method = self.add(
                    symbol, "method", self.text(named), inner.index, item, None, self.comment_before(item)
                )
                self.take_result(item, inner, method)
                definition.members.setdefault(self.text(named), []).append(("d", symbol))
            elif item.type in ("type_elem", "constraint_elem") and item.named_child_count == 1:
                definition.bases.append(_plain(self.type_of(item.named_children[0], inner)))

    def take_function(self, node: Node, scope: Scope) -> None:
        named = node.child_by_field_name("name")
        if named is None:
            return
        name = self.text(named)
        symbol = self.symbol(f"{scope.definition.symbol}{name}().")
        scope.values.setdefault(name, []).append(("d", symbol))
        self.take_body(node, symbol, "function", name, scope, None)

    def take_method(self, node: Node, scope: Scope) -> None:
        named, receiver = node.child_by_field_name("name"), node.child_by_field_name("receiver")
        if named is None or receiver is None or not receiver.named_children:
            return
        name, item = self.text(named), receiver.named_children[0]
        of = item.child_by_field_name("type")
        if of is None:
            return
        owner = self.text(of).lstrip("*").split("[", 1)[0]
        symbol = self.symbol(f"{owner}#{name}().")
        self.facts.extensions.setdefault(f"{owner}#", {}).setdefault(name, []).append(("d", symbol))
        self.take_body(node, symbol, "method", name, scope, item, ("self", f"{owner}#"))

    def take_body(
        self,
        node: Node,
        symbol: str,
        kind: str,
        name: str,
        scope: Scope,
        receiver: Node | None,
        this: Expression = None,
    ) -> None:
        body = node.child_by_field_name("body")
        index, definition = self.add(symbol, kind, name, scope.index, node, body, self.comment_before(node))
        inner = Scope(index, scope, definition, definition.variables, this)
        self.take_bounds(node, inner)
        named = receiver.child_by_field_name("name") if receiver is not None else None
        if named is not None:
            inner.bind(self.text(named)).append(this)
        self.take_parameters(node, inner, definition)
        self.take_result(node, inner, definition)
        if body is not None:
            self._later.append((body, inner))

    def take_parameters(self, node: Node, inner: Scope, definition: Definition | None) -> None:
        listed, position = node.child_by_field_name("parameters"), 0
        for item in listed.named_children if listed is not None else ():
            of, names = item.child_by_field_name("type"), item.children_by_field_name("name")
            given = ("t", self.type_of(of, inner)) if of is not None else None
            if item.type == "variadic_parameter_declaration" and given is not None:
                given = ("l", given)
            for named in names:
                held = inner.bind(self.text(named))
                if given is not None:
                    held.append(given)
                if definition is not None:
                    definition.parameters[inner.names[self.text(named)]] = position
                position += 1
            position += not names
            if of is not None:
                self.refer(of, inner)

    def take_result(self, node: Node, inner: Scope, definition: Definition) -> None:
        of = node.child_by_field_name("result")
        if of is None:
            return
        self.refer(of, inner)
        if of.type != "parameter_list":
            definition.returns.append(("t", self.type_of(of, inner)))
            return
        parts: list[Expression] = []
        for item in of.named_children:
            kind, names = item.child_by_field_name("type"), item.children_by_field_name("name")
            given = ("t", self.type_of(kind, inner)) if kind is not None else None
            for named in names:
                inner.bind(self.text(named)).append(given)
            parts += [given] * max(1, len(names))
        definition.returns.append(("tuple", *parts) if len(parts) > 1 else parts[0] if parts else None)

    # -- bodies --------------------------------------------------------------------------------------------------

    def visit(self, node: Node, scope: Scope) -> None:
        handle = self._handlers.get(node.type)
        if handle is not None:
            handle(self, node, scope)
        elif node.named_child_count:
            inner = scope.inner() if node.type in _BLOCKS and scope.index else scope
            for child in node.named_children:
                self.visit(child, inner)

    def visit_call(self, node: Node, scope: Scope) -> None:
        function, arguments = node.child_by_field_name("function"), node.child_by_field_name("arguments")
        if function is not None:
            callee = self.callee(function, scope)
            self.add_call(callee, node, scope, arguments)
            inner = function.child_by_field_name("operand")
            if inner is not None and inner.type != "identifier":
                self.visit(inner, scope)
            elif function.type not in ("identifier", "selector_expression"):
                self.visit(function, scope)
        if arguments is not None:
            self.visit_children(arguments, scope)

    def visit_conversion(self, node: Node, scope: Scope) -> None:
        """``list.New[T](x)`` reads like ``Type(x)``."""
        of, operand = node.child_by_field_name("type"), node.child_by_field_name("operand")
        if of is not None:
            self.add_call(self.type_of(of, scope), node, scope, None)
        if operand is not None:
            self.visit(operand, scope)

    def visit_short(self, node: Node, scope: Scope) -> None:
        """``a, b := f()``"""
        self.declare(_listed(node.child_by_field_name("left")), _listed(node.child_by_field_name("right")), scope)

    def declare(self, names: list[Node], values: list[Node], scope: Scope) -> None:
        for value in values:
            self.visit(value, scope)
        for position, named in enumerate(names):
            if named.type != "identifier" or self.text(named) == "_":
                continue
            if len(values) == len(names):
                given = self.expression(values[position], scope)
            elif len(names) == 2 and values and values[0].type in _CHECKED:  # v, ok := m[k]
                given = self.expression(values[0], scope) if position == 0 else None
            else:
                given = ("[]", self.expression(values[0], scope), position) if len(values) == 1 else None
            self.bind(self.text(named), given, scope)

    def bind(self, name: str, given: Expression, scope: Scope) -> None:
        found = scope.find(name)
        inside = found is not None and found[0].index == scope.index and scope.index
        held = found[0].values.setdefault(found[1], []) if found is not None and inside else None
        if held is None:
            held = scope.bind(name) if scope.index else scope.values.setdefault(name, [])
        if given is not None and given not in held:
            held.append(given)

    def visit_assignment(self, node: Node, scope: Scope) -> None:
        left, right = _listed(node.child_by_field_name("left")), _listed(node.child_by_field_name("right"))
        for part in left:
            if part.type != "identifier":
                self.visit(part, scope)
        names = [part for part in left if part.type == "identifier" and scope.find(self.text(part)) is not None]
        self.declare(names if len(names) == len(left) else [], right, scope)

    def visit_var(self, node: Node, scope: Scope) -> None:
        of, value = node.child_by_field_name("type"), node.child_by_field_name("value")
        if of is not None:
            self.refer(of, scope)
            for named in node.children_by_field_name("name"):
                self.bind(self.text(named), ("t", self.type_of(of, scope)), scope)
            if value is not None:
                self.visit(value, scope)
        elif value is not None:
            self.declare(list(node.children_by_field_name("name")), _listed(value), scope)

    def visit_range(self, node: Node, scope: Scope) -> None:
        left, right = _listed(node.child_by_field_name("left")), node.child_by_field_name("right")
        if right is not None:
            self.visit(right, scope)
            over = self.expression(right, scope)
            for position, named in enumerate(left):
                if named.type == "identifier":
                    is_value = position == 1
                    self.bind(self.text(named), ("[]", over) if is_value and over is not None else None, scope)

    def visit_function(self, node: Node, scope: Scope) -> None:
        """A function without a name: its calls count for the one around it."""
        inner = scope.inner() if scope.index else Scope(0, scope, scope.definition, {})
        self.take_parameters(node, inner, None)
        body = node.child_by_field_name("body")
        if body is not None:
            self.visit_children(body, inner)

    def visit_name(self, node: Node, scope: Scope) -> None:
        target = self.expression(node, scope)
        if target is not None and target[0] in ("n", "."):
            self.facts.references.append(Reference(scope.index, target, node.start_point[0] + 1))
        self.visit_inside(node.child_by_field_name("operand"), scope)

    def visit_literal(self, node: Node, scope: Scope) -> None:
        of, body = node.child_by_field_name("type"), node.child_by_field_name("body")
        if of is not None:
            self.refer(of, scope)
        for item in body.named_children if body is not None else ():
            value = item.child_by_field_name("value") if item.type == "keyed_element" else item
            if value is not None:
                self.visit(value, scope)

    def visit_switch(self, node: Node, scope: Scope) -> None:
        """``switch v := x.(type)``: in each case, ``v`` is of its type."""
        alias, value = node.child_by_field_name("alias"), node.child_by_field_name("value")
        if value is not None:
            self.visit(value, scope)
        for case in node.named_children:
            if case.type not in ("type_case", "default_case"):
                continue
            inner = scope.inner()
            kinds = case.children_by_field_name("type")
            for named in _listed(alias):
                held = inner.bind(self.text(named))
                held += [("t", self.type_of(kind, scope)) for kind in kinds]
            for child in case.named_children:
                if child not in kinds:
                    self.visit(child, inner)

    def visit_type(self, node: Node, scope: Scope) -> None:
        for child in node.named_children:
            self.take_type(child, scope, child)

    def refer(self, node: Node, scope: Scope) -> None:
        if node.type in ("type_identifier", "qualified_type"):
            target = self.type_of(node, scope)
            if target is not None:
                self.facts.references.append(Reference(scope.index, target, node.start_point[0] + 1))
            return
        for child in node.named_children:
            self.refer(child, scope)

    _handlers: Mapping[str, Callable[[Any, Any, Scope], None]] = {
        "call_expression": visit_call,
        "type_conversion_expression": visit_conversion,
        "short_var_declaration": visit_short,
        "assignment_statement": visit_assignment,
        "var_spec": visit_var,
        "const_spec": visit_var,
        "range_clause": visit_range,
        "func_literal": visit_function,
        "identifier": visit_name,
        "selector_expression": visit_name,
        "composite_literal": visit_literal,
        "type_switch_statement": visit_switch,
        "type_declaration": visit_type,
    }

    # -- expressions ---------------------------------------------------------------------------------------------

    def expression(self, node: Node, scope: Scope, depth: int = 0) -> Expression:
        if depth > DEEP:
            return None
        kind = node.type
        if kind == "identifier":
            found = scope.find(self.text(node))
            return ("v", found[0].index, found[1]) if found is not None and found[0].index else ("n", self.text(node))
        if kind in _LITERALS:
            return ("k", _LITERALS[kind])
        if kind == "selector_expression":
            inner, named = node.child_by_field_name("operand"), node.child_by_field_name("field")
            if inner is None or named is None:
                return None
            return (".", self.expression(inner, scope, depth + 1), self.text(named))
        if kind == "call_expression":
            return self.called(node, scope, depth)
        if kind == "composite_literal":
            of = node.child_by_field_name("type")
            return ("t", self.type_of(of, scope)) if of is not None else None
        if kind in ("unary_expression", "parenthesized_expression", "literal_element"):
            inner = node.child_by_field_name("operand") or (node.named_children[0] if node.named_children else None)
            return self.expression(inner, scope, depth + 1) if inner is not None else None
        if kind == "type_assertion_expression":
            of = node.child_by_field_name("type")
            return ("t", self.type_of(of, scope)) if of is not None else None
        if kind in ("index_expression", "slice_expression"):
            inner = node.child_by_field_name("operand")
            value = self.expression(inner, scope, depth + 1) if inner is not None else None
            if value is None or kind == "slice_expression":
                return value
            return ("[]", value)
        if kind == "type_conversion_expression":
            of = node.child_by_field_name("type")
            return ("()", self.type_of(of, scope)) if of is not None else None
        if kind == "type_instantiation_expression" and node.named_children:
            return self.expression(node.named_children[0], scope, depth + 1)
        return None

    def called(self, node: Node, scope: Scope, depth: int) -> Expression:
        function, arguments = node.child_by_field_name("function"), node.child_by_field_name("arguments")
        if function is None:
            return None
        given = arguments.named_children if arguments is not None else []
        if function.type == "identifier" and given:
            word = self.text(function)
            if word in ("new", "make"):
                return ("t", self.type_of(given[0], scope))
            if word == "append":
                return self.expression(given[0], scope, depth + 1)
        inner = self.callee(function, scope, depth + 1)
        return ("()", inner) if inner is not None else None

    def callee(self, function: Node, scope: Scope, depth: int = 0) -> Expression:
        """What is called; ``New[T]`` looks like an element of a list, and may be a function for a type."""
        found = self.expression(function, scope, depth)
        return ("|", found[1], found) if found is not None and function.type == "index_expression" else found

    def type_of(self, node: Node, scope: Scope, depth: int = 0) -> Expression:
        if depth > DEEP:
            return None
        kind = node.type
        if kind in ("type_identifier", "identifier"):
            bound = scope.bound(self.text(node))
            return bound[0] if bound is not None else ("n", self.text(node))
        if kind == "qualified_type":
            package, named = node.child_by_field_name("package"), node.child_by_field_name("name")
            return (
                (".", ("n", self.text(package)), self.text(named))
                if package is not None and named is not None
                else None
            )
        if kind in ("pointer_type", "parenthesized_type") and node.named_children:
            return self.type_of(node.named_children[0], scope, depth + 1)
        if kind in ("slice_type", "array_type", "channel_type", "map_type", "implicit_length_array_type"):
            of = self.field(node, "element", "value")
            return ("[]", ("n", "list"), self.type_of(of, scope, depth + 1)) if of is not None else None
        if kind == "generic_type":
            of = node.child_by_field_name("type")
            return self.type_of(of, scope, depth + 1) if of is not None else None
        if kind == "function_type":
            of = node.child_by_field_name("result")
            return (
                ("fn", self.type_of(of, scope, depth + 1)) if of is not None and of.type != "parameter_list" else None
            )
        return None


#: What tells in a second value whether there is a first.
_CHECKED = {"index_expression", "type_assertion_expression", "unary_expression"}
_BLOCKS = {"block", "if_statement", "for_statement", "expression_case", "communication_case", "default_case"}


def _listed(node: Node | None) -> list[Node]:
    if node is None:
        return []
    return list(node.named_children) if node.type == "expression_list" else [node]


def _plain(given: Expression) -> Expression:
    """A type without what it is made with."""
    return given[1] if given is not None and given[0] == "[]" else given
