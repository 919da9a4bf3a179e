"""Python's statements: the calls, references and values of a piece of code."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

from ir.code.facts import Call, Expression, Reference
from ir.code.languages.python_expressions import (
    COMPREHENSIONS,
    WIDE,
    PythonExpressions,
    PythonScope,
    around,
    method_of,
)
from ir.code.languages.scopes import DEEP, either, worth_following

if TYPE_CHECKING:
    from tree_sitter import Node

__all__ = ["PythonBodies"]

#: How many values a function gives back before the others are left out.
_MANY = 8


#: Methods of collections that add what they are given.
_ADDING = frozenset(("append", "add", "appendleft", "insert"))
_LEAVING = ("return_statement", "raise_statement", "continue_statement", "break_statement")


class PythonBodies(PythonExpressions):
    """What code does, statement by statement."""

    def visit_children(self, node: Node, scope: PythonScope) -> None:
        for child in node.named_children:
            self.visit(child, scope)

    def visit(self, node: Node, scope: PythonScope) -> None:
        """Take the calls, references and values of a piece of code that runs in ``scope``."""
        handle = self._HANDLERS.get(node.type)
        if handle is not None:
            handle(self, node, scope)
        else:
            for child in node.named_children:
                self.visit(child, scope)

    def take(self, node: Node, scope: PythonScope, depth: int = 0) -> Expression:
        """Visit a piece of code; what it stands for."""
        kind = node.type
        if kind == "identifier":
            return self.visit_name(node, scope)
        if kind == "attribute":
            return self.visit_attribute(node, scope, depth)
        if kind == "call":
            return self.visit_call(node, scope, depth)
        self.visit(node, scope)
        return self.expression(node, scope, depth) if depth <= DEEP else None

    def skip(self, node: Node, scope: PythonScope) -> None:
        """What holds nothing to take; definitions were taken with the names of their scope."""

    # -- calls and names -----------------------------------------------------------------------------------------

    def visit_call(self, node: Node, scope: PythonScope, depth: int = 0) -> Expression:
        function, arguments = node.child_by_field_name("function"), node.child_by_field_name("arguments")
        callee: Expression = None
        if function is not None:
            kind = function.type
            if kind == "identifier":
                callee = self.name(self.text(function), scope)
            elif kind == "attribute":
                inner, named = function.child_by_field_name("object"), function.child_by_field_name("attribute")
                if inner is not None and named is not None:
                    callee = self.member(self.take(inner, scope, depth + 1), self.text(named))
            else:
                callee = self.take(function, scope, depth + 1)
        place = len(self.facts.calls)
        given = self.arguments(arguments, scope) if arguments is not None else ()
        if callee is None:
            return None
        name = callee[-1] if callee[0] in ("n", ".", "v") else ""
        if given and name in _ADDING and callee[0] == ".":
            self.add_element(callee[1], given, scope)
        line = (function if function is not None else node).end_point[0] + 1
        self.facts.calls.insert(place, Call(scope.index, callee, str(name), line, given))
        return self.called(node, callee, scope, depth) if depth <= DEEP else None

    def add_element(self, to: Expression, given: tuple[tuple[str | int, Expression], ...], scope: PythonScope) -> None:
        """``names.append(f)``: an element that a variable, or a member of an instance, has from then on."""
        value = given[-1][1]
        method = method_of(scope)
        if to is None or value is None:
            return
        if to[0] == "v" and to[1] == scope.index and "@" not in to[2]:
            held = around(to[2], scope).locals.get(to[2])
            if held is not None and len(held) < WIDE:
                held.append(("item", None, value))
        elif to[0] == "." and to[1] and to[1][0] == "self" and method is not None and method.type is not None:
            held = method.type.locals.get(to[2])
            plain = self.without_variables(value)
            if held is not None and plain is not None and ("l", plain) not in held and len(held) < WIDE:
                held.append(("l", plain))

    def arguments(self, listed: Node, scope: PythonScope) -> tuple[tuple[str | int, Expression], ...]:
        """What a call gives to which parameter, as far as it is something to follow."""
        if listed.type != "argument_list":
            self.visit(listed, scope)
            return ()
        found: list[tuple[str | int, Expression]] = []
        known = True  # until something is unpacked, whose length nobody knows
        position = -1
        for part in listed.named_children:
            kind = part.type
            if kind == "comment":
                continue
            position += 1
            if kind == "keyword_argument":
                named, value = part.child_by_field_name("name"), part.child_by_field_name("value")
                if named is not None and value is not None:
                    expression = self.take(value, scope)
                    if known and position < WIDE and worth_following(expression):
                        found.append((self.text(named), expression))
            elif kind in ("list_splat", "dictionary_splat"):
                known = False
                self.visit(part, scope)
            else:
                expression = self.take(part, scope)
                if known and position < WIDE and worth_following(expression):
                    found.append((position, expression))
        return tuple(found)

    def add_call(self, function: Node, scope: PythonScope, given: Expression = None) -> None:
        """Something is called without brackets, as a decorator or an exception is; ``given`` is what it gets."""
        callee = self.expression(function, scope)
        if callee is not None:
            name = callee[-1] if callee[0] in ("n", ".", "v") else ""
            passed: tuple[tuple[str | int, Expression], ...] = ((0, given),) if given is not None else ()
            self.facts.calls.append(Call(scope.index, callee, str(name), function.end_point[0] + 1, passed))

    def visit_raise(self, node: Node, scope: PythonScope) -> None:
        """``raise E`` makes an ``E``."""
        for child in node.named_children:
            if child.type in ("identifier", "attribute"):
                self.add_call(child, scope)
            else:
                self.visit(child, scope)

    def visit_name(self, node: Node, scope: PythonScope) -> Expression:
        target = self.name(self.text(node), scope)
        if target is not None and target[0] in ("n", "d", "."):
            self.facts.references.append(Reference(scope.index, target, node.start_point[0] + 1))
        return target

    def visit_attribute(self, node: Node, scope: PythonScope, depth: int = 0) -> Expression:
        inner, named = node.child_by_field_name("object"), node.child_by_field_name("attribute")
        if inner is None or named is None:
            return None
        if inner.type in ("identifier", "attribute"):
            target: Expression = (".", self.expression(inner, scope, depth + 1), self.text(named))
        else:
            target = (".", self.take(inner, scope, depth + 1), self.text(named))
        self.facts.references.append(Reference(scope.index, target, named.start_point[0] + 1))
        return target

    def refer(self, node: Node, scope: PythonScope) -> None:
        """Names in an annotation are references."""
        for child in [node, *node.named_children]:
            if child.type == "identifier":
                self.visit_name(child, scope)
            elif child.type == "attribute":
                self.visit_attribute(child, scope)
            elif child is not node:
                self.refer(child, scope)

    # -- values --------------------------------------------------------------------------------------------------

    def visit_assignment(self, node: Node, scope: PythonScope) -> None:
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        annotation = node.child_by_field_name("type")
        taken = self.take(right, scope) if right is not None else None
        value: Expression = taken if node.type == "assignment" else None
        if annotation is not None:
            if annotation.end_byte - annotation.start_byte < 18 and self.text(annotation).endswith("TypeAlias"):
                value = self.annotation(right, scope) if right is not None else None
            else:
                value = ("t", self.annotation(annotation, scope))
            self.refer(annotation, scope)
        if left is not None:
            self.assign(left, value, scope, right)

    def assign(self, target: Node, value: Expression, scope: PythonScope, right: Node | None = None) -> None:
        kind = target.type
        if kind == "identifier":
            self.assign_name(self.text(target), value, scope, right)
        elif kind == "attribute":
            self.assign_member(target, value, scope)
        elif kind in ("pattern_list", "tuple_pattern", "list_pattern", "tuple", "list"):
            listed = right is not None and right.type in ("expression_list", "tuple", "list")
            parts = right.named_children if right is not None and listed else []
            each = target.named_children
            for position, part in enumerate(each):
                if len(parts) == len(each):
                    self.assign(part, self.expression(parts[position], scope), scope, parts[position])
                else:
                    self.assign(part, ("[]", value, position) if value is not None else None, scope)
        elif kind == "subscript":
            self.visit(target, scope)
            inner, key = target.child_by_field_name("value"), self.key(target.child_by_field_name("subscript"))
            if inner is not None and inner.type == "identifier" and value is not None:
                name = self.text(inner)
                holder = around(name, scope)
                holder = holder if name in holder.locals else self.outermost
                if name in holder.locals:
                    holder.locals[name].append(("item", key, value))
        elif kind in ("list_splat_pattern", "parenthesized_expression"):
            for part in target.named_children:
                self.assign(part, value, scope, right)
        else:
            self.visit(target, scope)

    def assign_name(self, name: str, value: Expression, scope: PythonScope, right: Node | None) -> None:
        if name == "__all__" and scope.kind == "module" and right is not None:
            self.facts.exported = self.strings(right)
        holder = scope
        while holder.block and holder.owner is not None:
            if name in holder.locals:
                holder.locals[name].append(value)
                if not holder.narrows:  # a variable of its own
                    return
            holder = holder.owner
        if name in holder.free:
            holder = self.outermost
        held = holder.locals.setdefault(name, [])
        if value is not None and value not in held:
            held.append(value)

    def assign_member(self, target: Node, value: Expression, scope: PythonScope) -> None:
        inner, named = target.child_by_field_name("object"), target.child_by_field_name("attribute")
        if inner is None or named is None:
            return
        method = method_of(scope)
        if method is not None and inner.type == "identifier" and self.text(inner) == method.self_name:
            assert method.type is not None
            held = method.type.locals.setdefault(self.text(named), [])
            plain = self.without_variables(value)
            if plain is not None and plain not in held:
                held.append(plain)
        else:
            self.visit(inner, scope)

    def strings(self, node: Node) -> list[str]:
        if node.type == "string":
            return [self.content(node)]
        return [name for child in node.named_children for name in self.strings(child)]

    def visit_for(self, node: Node, scope: PythonScope) -> None:
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        over = self.take(right, scope) if right is not None else None
        if left is not None:
            self.assign(left, ("[]", over) if over is not None else None, scope)
        for child in node.named_children:
            if child != left and child != right:
                self.visit(child, scope)

    def visit_comprehension(self, node: Node, scope: PythonScope) -> None:
        """The variables of a comprehension are its own; what it goes over first is read outside of it."""
        inner = self.blocks[node.id] = scope.inner()
        outside = True
        rest: list[Node] = []
        for child in node.named_children:
            if child.type != "for_in_clause":
                rest.append(child)
                continue
            left, right = child.child_by_field_name("left"), child.child_by_field_name("right")
            over = self.take(right, scope if outside else inner) if right is not None else None
            outside = False
            if left is not None:
                self.declare(left, inner)
                self.assign(left, ("[]", over) if over is not None else None, inner)
        for child in rest:
            self.visit(child, inner)

    def declare(self, target: Node, block: PythonScope) -> None:
        if target.type == "identifier":
            block.declare(self.text(target))
        elif target.type not in ("attribute", "subscript"):
            for child in target.named_children:
                self.declare(child, block)

    def visit_lambda(self, node: Node, scope: PythonScope) -> None:
        body, parameters = node.child_by_field_name("body"), node.child_by_field_name("parameters")
        inner = scope.inner()
        for item in parameters.named_children if parameters is not None else ():
            named = item.child_by_field_name("name") if item.type == "default_parameter" else item
            value = item.child_by_field_name("value")
            if value is not None:
                self.visit(value, scope)
            if named is not None:
                self.declare(named, inner)
        if body is not None:
            self.visit(body, inner)

    def visit_as(self, node: Node, scope: PythonScope) -> None:
        """``with open(x) as f``, ``except E as e``, ``case C() as c``."""
        alias = node.child_by_field_name("alias")
        given = node.named_children[0] if node.named_children else None
        if given is None:
            return
        value = self.take(given, scope)
        if alias is None:
            return
        if node.parent is not None and node.parent.type == "except_clause":
            parts = given.named_children if given.type == "tuple" else [given]
            value = either([("t", self.expression(part, scope)) for part in parts])
        else:
            value = ("with", value) if value is not None else None
        for target in alias.named_children or [alias]:
            self.assign(target, value, scope)

    def visit_walrus(self, node: Node, scope: PythonScope) -> None:
        """A value that is named where it is used: the name is one of the function, also inside a comprehension."""
        name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
        if name is not None and value is not None:
            self.assign(name, self.take(value, scope), scope)

    # -- what a test tells of a variable -------------------------------------------------------------------------

    def visit_if(self, node: Node, scope: PythonScope) -> None:
        """``if isinstance(x, A)``: inside, ``x`` is an ``A``."""
        condition, body = node.child_by_field_name("condition"), node.child_by_field_name("consequence")
        if condition is None or body is None:
            return self.visit_children(node, scope)
        self.visit(condition, scope)
        self.visit_children(body, self.narrowed(condition, scope))
        if condition.type == "not_operator" and _leaves(body):  # what follows is reached by an A alone
            self.tell(condition.named_children[0], scope)
        for child in node.named_children:
            if child != condition and child != body:
                self.visit(child, scope)
        return None

    def visit_assert(self, node: Node, scope: PythonScope) -> None:
        self.visit_children(node, scope)
        if node.named_children:
            self.tell(node.named_children[0], scope)

    def visit_both(self, node: Node, scope: PythonScope) -> None:
        """``isinstance(x, A) and x.a()``."""
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        if left is None or right is None or node.children[1].type != "and":
            return self.visit_children(node, scope)
        self.visit(left, scope)
        return self.visit(right, self.narrowed(left, scope))

    def narrowed(self, condition: Node, scope: PythonScope) -> PythonScope:
        """The scope of a piece of code that is run if a condition holds."""
        known = self.told(condition, scope)
        if not known:
            return scope
        inner = scope.inner()
        inner.narrows = True
        for name, value in known:
            inner.declare(name)
            inner.locals[name].append(value)
        return inner

    def tell(self, condition: Node, scope: PythonScope) -> None:
        """Keep for the rest of a function what a condition tells of its variables."""
        for name, value in self.told(condition, scope):
            held = around(name, scope).locals.get(name)
            if held is not None and not any(part is not None for part in held):
                held.append(value)

    def told(self, condition: Node, scope: PythonScope) -> list[tuple[str, Expression]]:
        """The variables of a function that a condition tells the type of."""
        kind = condition.type
        if kind == "boolean_operator" and condition.children[1].type == "and":
            return [one for part in condition.named_children for one in self.told(part, scope)]
        if kind == "parenthesized_expression" and condition.named_child_count == 1:
            return self.told(condition.named_children[0], scope)
        function = condition.child_by_field_name("function") if kind == "call" else None
        if function is None or function.type != "identifier" or self.text(function) != "isinstance":
            return []
        arguments = condition.child_by_field_name("arguments")
        given = arguments.named_children if arguments is not None else []
        if len(given) != 2 or given[0].type != "identifier" or scope.definition.kind == "type":
            return []
        variable = self.name(self.text(given[0]), scope)
        if variable is None or variable[0] != "v" or variable[1] != scope.index:
            return []
        types = given[1].named_children if given[1].type == "tuple" else [given[1]]
        value = either([("t", self.expression(part, scope)) for part in types])
        return [(self.text(given[0]), value)] if value is not None else []

    def visit_return(self, node: Node, scope: PythonScope) -> None:
        if node.named_children:
            given = node.named_children[0]
            value = self.take(given, scope)
            if value is not None and value[0] == "l" and given.type in ("expression_list", "tuple"):
                value = ("tuple", *value[1:])
            function = scope.definition
            if given.type != "none" and len(function.returns) < _MANY:
                plain = self.without_variables(value)
                if plain is not None and plain not in function.returns:
                    function.returns.append(plain)

    def visit_yield(self, node: Node, scope: PythonScope) -> None:
        for given in node.named_children:
            value = self.without_variables(self.take(given, scope))
            if value is not None and len(scope.definition.returns) < _MANY:
                scope.definition.returns.append(("l", value))

    def visit_keyword(self, node: Node, scope: PythonScope) -> None:
        value = node.child_by_field_name("value")
        if value is not None:
            self.visit(value, scope)

    def visit_string(self, node: Node, scope: PythonScope) -> None:
        if self.source[node.start_byte] not in b"\"'":  # a letter before the quotes: it may hold code
            for child in node.named_children:
                if child.type == "interpolation":
                    self.visit_children(child, scope)

    _HANDLERS: ClassVar[dict[str, Callable[[Any, Node, PythonScope], Any]]] = {
        "call": visit_call,
        "identifier": visit_name,
        "attribute": visit_attribute,
        "assignment": visit_assignment,
        "augmented_assignment": visit_assignment,
        "for_statement": visit_for,
        "if_statement": visit_if,
        "elif_clause": visit_if,
        "assert_statement": visit_assert,
        "boolean_operator": visit_both,
        "as_pattern": visit_as,
        "named_expression": visit_walrus,
        "return_statement": visit_return,
        "yield": visit_yield,
        "raise_statement": visit_raise,
        "lambda": visit_lambda,
        "keyword_argument": visit_keyword,
        "string": visit_string,
        **dict.fromkeys(COMPREHENSIONS, visit_comprehension),
        **dict.fromkeys(("function_definition", "class_definition", "decorated_definition"), skip),
        **dict.fromkeys(("import_statement", "import_from_statement", "future_import_statement"), skip),
        **dict.fromkeys(("global_statement", "nonlocal_statement", "comment"), skip),
        **dict.fromkeys(("integer", "float", "none", "true", "false", "pass_statement", "ellipsis"), skip),
    }


def _leaves(body: Node) -> bool:
    """Whether nothing after a block is reached through it."""
    return body.named_child_count > 0 and body.named_children[-1].type in _LEAVING
