"""JavaScript and TypeScript: the calls, references and values of a file."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

from ir.code.facts import Call, Expression, Facts, Reference
from ir.code.languages.javascript_definitions import ScriptDefinitions
from ir.code.languages.javascript_expressions import FUNCTIONS, TYPES, WIDE
from ir.code.languages.scopes import Scope, either, stem

if TYPE_CHECKING:
    from tree_sitter import Node

__all__ = ["JavaScript"]


class JavaScript(ScriptDefinitions):
    """Reads one file."""

    def read(self, root: Node) -> Facts:
        for child in root.named_children:
            self.bounded(self.hoist_one, child, self.module)
        for child in root.named_children:
            self.bounded(self.visit, child, self.module)
        while self.later:
            bodies, self.later = self.later, []
            for body, scope in bodies:
                self.bounded(self.hoist, body, scope)
            for body, scope in bodies:
                if body.type == "statement_block" or body.type == "class_body":
                    self.bounded(self.visit_children, body, scope)
                else:  # the expression of an arrow function
                    self.bounded(self.visit, body, scope)
        return self.facts

    def visit_export(self, node: Node, scope: Scope) -> None:
        source, declaration = node.child_by_field_name("source"), node.child_by_field_name("declaration")
        value = node.child_by_field_name("value")
        is_default = any(child.type == "default" for child in node.children)
        if source is not None:
            self.export_from(node, self.unquoted(source))
            return
        for clause in node.named_children:
            if clause.type == "export_clause":
                for item in clause.named_children:
                    named, alias = item.child_by_field_name("name"), item.child_by_field_name("alias")
                    if named is not None:
                        self.export(self.text(alias or named), self.name(self.text(named), scope))
        if declaration is not None:
            self.visit(declaration, scope)
            for name in self.declared(declaration):
                self.export("default" if is_default else name, self.name(name, scope))
        if value is not None:
            if value.type in FUNCTIONS or value.type in TYPES:
                self.export("default", ("d", self.define(value, self.name_of(value) or "default", scope, bind=False)))
            else:
                self.visit(value, scope)
                self.export("default", self.expression(value, scope))

    def visit_children(self, node: Node, scope: Scope) -> None:
        for child in node.named_children:
            self.visit(child, scope)

    def visit(self, node: Node, scope: Scope) -> None:
        handle = self._HANDLERS.get(node.type)
        if handle is not None:
            handle(self, node, scope)
        elif node.named_child_count:
            for child in node.named_children:
                self.visit(child, scope)

    def skip(self, node: Node, scope: Scope) -> None:
        pass

    def visit_call(self, node: Node, scope: Scope) -> None:
        function = self.field(node, "function", "constructor")
        arguments = node.child_by_field_name("arguments")
        if function is not None:
            callee = self.expression(function, scope)
            if node.type == "new_expression" and callee is not None:
                callee = ("new", callee)
            if function.type == "import":
                callee = None
            if callee is not None and callee[0] == "." and callee[2] in ("call", "apply"):
                callee = either([callee, callee[1]])  # f.call(this) runs f
            self.add_element(function, arguments, scope)
            if callee is not None:
                inner = callee[1] if callee[0] == "new" else callee
                name = str(inner[-1]).split("@", 1)[0] if inner and inner[0] in ("n", ".", "v") else ""
                self.goes_over(inner, arguments)
                given = self.arguments(arguments, scope)
                self.facts.calls.append(Call(scope.index, callee, name, self.line_of(node, arguments), given))
            if function.type == "member_expression":
                self.visit(function.child_by_field_name("object") or function, scope)
            elif function.type not in ("identifier", "super", "import"):
                self.visit(function, scope)
        if arguments is not None:
            self.visit_children(arguments, scope)

    def add_element(self, function: Node, arguments: Node | None, scope: Scope) -> None:
        """``list.push(f)``: an element that a variable has from then on."""
        inner, named = function.child_by_field_name("object"), function.child_by_field_name("property")
        if inner is None or named is None or arguments is None or inner.type != "identifier":
            return
        held = self.variable(self.text(inner), scope) if self.text(named) in ("push", "add", "unshift") else None
        if held is not None:
            held += [("item", None, value) for _, value in self.arguments(arguments, scope)]

    def visit_if(self, node: Node, scope: Scope) -> None:
        """``if (x instanceof A)``: inside, ``x`` is an ``A``."""
        condition, body = node.child_by_field_name("condition"), node.child_by_field_name("consequence")
        test = condition.named_child(0) if condition is not None else None
        left = test.child_by_field_name("left") if test is not None and test.type == "binary_expression" else None
        operator = test.child_by_field_name("operator") if test is not None and left is not None else None
        right = test.child_by_field_name("right") if test is not None and left is not None else None
        if (
            body is None
            or left is None
            or left.type != "identifier"
            or operator is None
            or operator.type != "instanceof"
            or right is None
        ):
            return self.visit_children(node, scope)
        inner = scope.inner()
        inner.bind(self.text(left)).append(("t", self.expression(right, scope)))
        for child in node.named_children:
            self.visit(child, inner if child.id == body.id else scope)
        return None

    def arguments(self, node: Node | None, scope: Scope) -> tuple[tuple[str | int, Expression], ...]:
        found: list[tuple[str | int, Expression]] = []
        for position, part in enumerate(node.named_children[:WIDE] if node is not None else ()):
            if part.type == "spread_element":
                break
            value = self.expression(part, scope)
            if value is not None and value[0] not in ("k", "l", "{}", "t"):
                found.append((position, value))
        return tuple(found)

    def visit_name(self, node: Node, scope: Scope) -> None:
        target = self.expression(node, scope)
        if target is not None and target[0] in ("n", "d", "."):
            self.facts.references.append(Reference(scope.index, target, node.start_point[0] + 1))

    def visit_member(self, node: Node, scope: Scope) -> None:
        target = self.expression(node, scope)
        if target is not None:
            self.facts.references.append(Reference(scope.index, target, node.start_point[0] + 1))
        inner = node.child_by_field_name("object")
        if inner is not None and inner.type not in ("identifier", "member_expression", "this", "super"):
            self.visit(inner, scope)

    def visit_declarator(self, node: Node, scope: Scope) -> None:
        named, value = node.child_by_field_name("name"), node.child_by_field_name("value")
        annotation = node.child_by_field_name("type")
        if named is None:
            return
        if annotation is not None:
            self.refer(annotation, scope)
        if named.type == "identifier" and value is not None and (value.type in FUNCTIONS or value.type in TYPES):
            self.define(value, self.text(named), scope)
            return
        given: Expression = None
        if annotation is not None:
            given = ("t", self.type_expression(annotation, scope))
        elif value is not None:
            given = self.object(value, self.text(named), scope) if named.type == "identifier" else None
            given = given or self.expression(value, scope)
        self.assign(named, given, scope)
        if value is not None:
            self.visit(value, scope)

    def visit_assignment(self, node: Node, scope: Scope) -> None:
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        if left is None or right is None:
            return
        if left.type == "member_expression" and self.assign_member(left, right, scope):
            return
        if left.type == "identifier" and (right.type in FUNCTIONS or right.type in TYPES):
            held = self.variable(self.text(left), scope)
            symbol = self.define(right, self.text(left), scope, bind=False)
            if held is not None:
                held.append(("d", symbol))
            return
        value = self.expression(right, scope)
        if left.type in ("identifier", "object_pattern", "array_pattern"):
            self.assign(left, value, scope)
        else:
            self.visit(left, scope)
        self.visit(right, scope)

    def assign_member(self, left: Node, right: Node, scope: Scope) -> bool:
        """``exports.a =``, ``module.exports =``, ``A.prototype.b =``, ``this.c =``, ``a.b =``; whether all is done."""
        inner, named = left.child_by_field_name("object"), left.child_by_field_name("property")
        if inner is None or named is None:
            return False
        name, of = self.text(named), self.text(inner)
        if of in ("exports", "module.exports") or (of == "module" and name == "exports"):
            label = "module.exports" if of == "module" else name
            self.export(
                label,
                self.given_to(right, name if of != "module" else self.name_of(right) or stem(self.facts.path), scope),
            )
            return True
        if inner.type == "this" and scope.this is not None and scope.this[0] == "self":
            owner = self.owner_of(scope.this[1])
            if owner is not None:
                value = self.without_variables(self.given_to(right, name, scope, owner))
                if value is not None and value not in owner.members.setdefault(name, []):
                    owner.members[name].append(value)
                return True
        if inner.type == "member_expression" and of.endswith(".prototype"):
            owner = self.owner_named(of[: -len(".prototype")], scope)
            if owner is not None:
                value = self.given_to(right, name, scope, owner)
                owner.members.setdefault(name, []).append(value)
                return True
        if inner.type == "identifier" and right.type in FUNCTIONS:
            held = self.variable(of, scope)
            symbol = self.define_in(right, f"{of}.{name}", name, scope)
            if held is not None:
                held.append(("item", f"'{name}", ("d", symbol)))
            owner = self.owner_named(of, scope)
            if owner is not None:
                owner.members.setdefault(name, []).append(("d", symbol))
            return True
        return False

    def visit_function(self, node: Node, scope: Scope) -> None:
        """A function without a name: its calls count for the named function around it."""
        if node.id in self.defined:
            return
        if node.type in ("function_declaration", "generator_function_declaration"):
            named = self.name_of(node)
            if named is not None:
                self.define(node, named, scope)
            return
        if node.type == "function_expression" and (named := self.name_of(node)) is not None:
            self.define(node, named, scope, bind=False)  # the name is known inside of it alone
            return
        this = scope.this if node.type in ("arrow_function", "function_expression") else None
        inner = Scope(scope.index, scope, scope.definition, scope.definition.variables, this)
        if scope.index == 0 or scope.definition.kind == "type":
            inner.values = self.module.values if scope.index == 0 else scope.definition.variables
        self.take_parameters(node, scope, inner, None)
        first = next(iter(inner.names.values()), None)
        if first is not None and node.id in self.elements and not inner.values[first]:
            inner.values[first].append(self.elements[node.id])
        body = node.child_by_field_name("body")
        if body is not None:
            self.hoist(body, inner)
            if body.type == "statement_block":
                for child in body.named_children:
                    self.visit_inner(child, inner)
            else:
                self.visit(body, inner)

    def visit_inner(self, node: Node, scope: Scope) -> None:
        """In a function without a name, ``return`` is not that of the function around it."""
        if node.type == "return_statement":
            self.visit_children(node, scope)
        else:
            self.visit(node, scope)

    def visit_type(self, node: Node, scope: Scope) -> None:
        if node.id not in self.defined:
            named = self.name_of(node)
            self.define(node, named or "class", scope, bind=named is not None)

    def visit_return(self, node: Node, scope: Scope) -> None:
        for given in node.named_children:
            self.visit(given, scope)
            returns = scope.definition.returns
            value = self.without_variables(self.expression(given, scope))
            if value is not None and scope.index and value not in returns and len(returns) < 8:
                returns.append(value)

    def visit_for(self, node: Node, scope: Scope) -> None:
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        if left is not None and right is not None:
            over = self.expression(right, scope)
            self.assign(left, ("[]", over) if over is not None else None, scope)
        for child in node.named_children:
            if left is None or child.id != left.id:
                self.visit(child, scope)

    def visit_element(self, node: Node, scope: Scope) -> None:
        """``<Panel/>`` calls ``Panel``."""
        named = node.child_by_field_name("name")
        if named is not None and self.text(named)[:1].isupper():
            callee = self.expression(named, scope)
            if callee is not None:
                self.facts.calls.append(Call(scope.index, callee, self.text(named), node.start_point[0] + 1))
        for child in node.named_children:
            if named is None or child.id != named.id:
                self.visit(child, scope)

    def visit_pair(self, node: Node, scope: Scope) -> None:
        value = node.child_by_field_name("value")
        if value is not None:
            self.visit(value, scope)

    _HANDLERS: ClassVar[dict[str, Callable[[Any, Node, Scope], None]]] = {
        "call_expression": visit_call,
        "new_expression": visit_call,
        "identifier": visit_name,
        "shorthand_property_identifier": visit_name,
        "member_expression": visit_member,
        "variable_declarator": visit_declarator,
        "assignment_expression": visit_assignment,
        "export_statement": visit_export,
        "return_statement": visit_return,
        "if_statement": visit_if,
        "for_in_statement": visit_for,
        "jsx_opening_element": visit_element,
        "jsx_self_closing_element": visit_element,
        "pair": visit_pair,
        "import_statement": skip,
        "comment": skip,
        "string": skip,
        "number": skip,
        "regex": skip,
        "type_annotation": ScriptDefinitions.refer,
        "type_alias_declaration": ScriptDefinitions.refer,
        "jsx_closing_element": skip,
        **dict.fromkeys(sorted(FUNCTIONS), visit_function),
        **dict.fromkeys(sorted(TYPES), visit_type),
    }
