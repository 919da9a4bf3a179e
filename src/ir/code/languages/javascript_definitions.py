"""JavaScript's definitions: functions, classes, objects of functions, imports and exports."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ir.code.facts import Definition, Expression, Import, Reference
from ir.code.languages.javascript_expressions import FUNCTIONS, MEMBERS, TYPES, ScriptExpressions
from ir.code.languages.scopes import Scope

if TYPE_CHECKING:
    from tree_sitter import Node

__all__ = ["ScriptDefinitions"]


class ScriptDefinitions(ScriptExpressions):
    """What a file defines, and what it takes from others and gives to them."""

    def __init__(self, source: bytes, path: str) -> None:
        super().__init__(source, path)
        self.later: list[tuple[Node, Scope]] = []

    def visit(self, node: Node, scope: Scope) -> None:
        raise NotImplementedError

    def hoist(self, node: Node, scope: Scope) -> None:
        """Find the names that a scope declares; functions and classes are known above where they stand."""
        for child in node.named_children:
            self.hoist_one(child, scope)

    def hoist_one(self, child: Node, scope: Scope) -> None:
        kind = child.type
        if kind in ("function_declaration", "generator_function_declaration") or kind in TYPES:
            named = child.child_by_field_name("name")
            if named is not None and kind != "class":
                self.define(child, self.text(named), scope)
            return
        if kind in ("internal_module", "module"):
            self.hoist_namespace(child, scope)
            return
        if kind == "variable_declarator":
            self.hoist_pattern(child.child_by_field_name("name"), scope)
        elif kind == "import_statement":
            self.take_import(child)
            return
        elif kind in ("for_in_statement", "catch_clause"):
            self.hoist_pattern(self.field(child, "left", "parameter"), scope)
        elif kind in FUNCTIONS or kind == "class_body":
            return
        if child.named_child_count:
            self.hoist(child, scope)

    def hoist_namespace(self, node: Node, scope: Scope) -> None:
        """``namespace A { export function f() {} }``: an object of functions, whose names are known inside of it."""
        named, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        if named is None or body is None:
            return
        name, pairs = self.text(named), []
        for statement in body.named_children:
            inner = statement.child_by_field_name("declaration") or statement
            label = self.name_of(inner) if inner.type in FUNCTIONS or inner.type in TYPES else None
            if label is None:
                self.hoist_one(statement, scope)
                continue
            symbol = self.define(inner, f"{name}.{label}", scope, bind=False)
            self.facts.definitions[self.defined[inner.id][0]].name = label
            scope.bind(label).append(("d", symbol))
            pairs.append((f"'{label}", ("d", symbol)))
        scope.bind(name).append(("{}", *pairs))

    def hoist_pattern(self, node: Node | None, scope: Scope) -> None:
        if node is None:
            return
        if node.type in ("identifier", "shorthand_property_identifier_pattern"):
            scope.bind(self.text(node))
        elif node.type == "pair_pattern":
            self.hoist_pattern(node.child_by_field_name("value"), scope)
        elif node.type in ("assignment_pattern", "object_assignment_pattern"):
            self.hoist_pattern(node.child_by_field_name("left"), scope)
        elif node.type in ("object_pattern", "array_pattern", "rest_pattern"):
            for child in node.named_children:
                self.hoist_pattern(child, scope)

    def define(self, node: Node, name: str, scope: Scope, owner: Definition | None = None, *, bind: bool = True) -> str:
        """Make a function or type a definition; its symbol. ``owner`` is what it is a member of."""
        if node.id in self.defined:
            return self.facts.definitions[self.defined[node.id][0]].symbol
        is_type = node.type in TYPES
        around = owner or scope.definition
        mark = "#" if is_type else "()."
        wanted = f"{around.symbol}{name}{mark}"
        symbol = self.symbol(wanted)
        body = node.child_by_field_name("body")
        outer = _statement_of(node)
        signature = self.source[outer.start_byte : body.start_byte if body is not None else node.end_byte]
        kind = "type" if is_type else ("method" if owner is not None and owner.symbol.endswith("#") else "function")
        definition = Definition(
            symbol,
            kind,
            name,
            self.facts.definitions.index(around) if owner is not None else scope.index,
            outer.start_byte,
            outer.end_byte,
            outer.start_point[0] + 1,
            outer.end_point[0] + 1,
            " ".join(signature.decode("utf-8", "replace").split()).rstrip("{=> "),
            self.comment_before(outer),
        )
        index = len(self.facts.definitions)
        self.facts.definitions.append(definition)
        if bind:
            scope.bind(name).append(("d", symbol))
        if is_type:
            self.define_type(node, body, scope, index, definition)
        else:
            this = scope.this if node.type == "arrow_function" else ("self", symbol)
            if owner is not None:
                on_type = any(child.type == "static" for child in node.children)
                this = ("d" if on_type else "self", owner.symbol)
            self.define_function(node, body, scope, index, definition, this)
        return symbol

    def define_type(self, node: Node, body: Node | None, scope: Scope, index: int, definition: Definition) -> None:
        for child in node.named_children:
            if child.type in ("class_heritage", "extends_type_clause"):
                for part in _heritage(child):
                    definition.bases.append(self.type_expression(part, scope))
                    self.visit(part, scope)
        inner = Scope(index, scope, definition, definition.members, ("self", definition.symbol))
        self.take_bounds(node, inner)
        inner.names = _Nothing()  # the members of a class are not names inside it
        self.defined[node.id] = (index, inner)
        for member in body.named_children if body is not None else ():
            self.take_member(member, inner, definition)

    def take_member(self, member: Node, scope: Scope, owner: Definition) -> None:
        named = self.field(member, "name", "property")
        if named is None:
            return
        name = self.text(named).strip("\"'#[]")
        if member.type == "method_signature" and self.is_overload(member, name):
            return
        if member.type in FUNCTIONS:
            symbol = self.define(member, name, scope, owner, bind=False)
            owner.members.setdefault(name, []).append(("d", symbol))
            if any(child.type == "get" for child in member.children):
                self.facts.definitions[self.defined[member.id][0]].marks = frozenset({"property"})
        elif member.type in ("field_definition", "public_field_definition", "property_signature"):
            held = owner.members.setdefault(name, [])
            annotation, value = member.child_by_field_name("type"), member.child_by_field_name("value")
            if annotation is not None:
                held.append(("t", self.type_expression(annotation, scope)))
                self.refer(annotation, scope)
            if value is not None and value.type in FUNCTIONS:
                held.append(("d", self.define(value, name, scope, owner, bind=False)))
            elif value is not None:
                self.visit(value, scope)
                if annotation is None:
                    held.append(self.expression(value, scope))

    def is_overload(self, member: Node, name: str) -> bool:
        """Whether a method is declared here and written out below, once for all of its declarations."""
        around = member.parent.named_children if member.parent is not None else []
        return any(other.type == "method_definition" and self.name_of(other) == name for other in around)

    def define_function(
        self, node: Node, body: Node | None, scope: Scope, index: int, definition: Definition, this: Expression
    ) -> None:
        inner = Scope(index, scope, definition, definition.variables, this)
        self.take_bounds(node, inner)
        self.defined[node.id] = (index, inner)
        self.take_parameters(node, scope, inner, definition)
        returned = node.child_by_field_name("return_type")
        if returned is not None:
            definition.returns.append(("t", self.type_expression(returned, inner)))
            self.refer(returned, scope)
        self.take_body(body, inner)

    def take_body(self, body: Node | None, inner: Scope) -> None:
        if body is None:
            return
        if body.type != "statement_block":
            value = self.without_variables(self.expression(body, inner))
            if value is not None:
                inner.definition.returns.append(value)
        self.later.append((body, inner))

    def take_parameters(self, node: Node, scope: Scope, inner: Scope, definition: Definition | None) -> None:
        single = node.child_by_field_name("parameter")
        listed = node.child_by_field_name("parameters")
        items = [single] if single is not None else (listed.named_children if listed is not None else [])
        for position, item in enumerate(items):
            named: Node | None = item
            annotation = default = None
            if item.type in ("required_parameter", "optional_parameter"):
                named = item.child_by_field_name("pattern")
                annotation, default = item.child_by_field_name("type"), item.child_by_field_name("value")
            elif item.type == "assignment_pattern":
                named, default = item.child_by_field_name("left"), item.child_by_field_name("right")
            if named is None:
                continue
            self.hoist_pattern(named, inner)
            if default is not None:
                self.visit(default, scope)
            if named.type != "identifier":
                continue
            name = self.text(named)
            held = inner.bind(name)
            if annotation is not None:
                held.append(("t", self.type_expression(annotation, inner)))
                self.refer(annotation, scope)
            if default is not None and default.type not in ("null", "undefined"):
                held.append(self.expression(default, scope))
            if definition is not None:
                definition.parameters[inner.names[name]] = position
            # constructor(private store: Store): a parameter that is a member too
            if annotation is not None and any(child.type == "accessibility_modifier" for child in item.children):
                owner = self.facts.definitions[definition.owner] if definition is not None else None
                if owner is not None and owner.kind == "type":
                    owner.members.setdefault(name, []).append(held[0])

    def take_import(self, node: Node) -> None:
        source = node.child_by_field_name("source")
        if source is None:
            return
        module, line, scope = self.unquoted(source), node.start_point[0] + 1, self.module
        self.facts.imports.append(Import(module, None, None, line))
        of = ("m", module, 0)
        for clause in node.named_children:
            if clause.type != "import_clause":
                continue
            for part in clause.named_children:
                if part.type == "identifier":
                    scope.bind(self.text(part)).append((".", of, "default"))
                elif part.type == "namespace_import":
                    scope.bind(self.text(part.named_children[0])).append(of)
                elif part.type == "named_imports":
                    for item in part.named_children:
                        named, alias = item.child_by_field_name("name"), item.child_by_field_name("alias")
                        if named is not None:
                            scope.bind(self.text(alias or named)).append((".", of, self.text(named)))

    def export(self, name: str, value: Expression) -> None:
        if value is not None:
            self.facts.names.setdefault(f"export {name}", []).append(value)

    def export_from(self, node: Node, module: str) -> None:
        of = ("m", module, 0)
        self.facts.imports.append(Import(module, None, None, node.start_point[0] + 1))
        listed = False
        for clause in node.named_children:
            if clause.type == "export_clause":
                listed = True
                for item in clause.named_children:
                    named, alias = item.child_by_field_name("name"), item.child_by_field_name("alias")
                    if named is not None:
                        self.export(self.text(alias or named), (".", of, self.text(named)))
            elif clause.type == "namespace_export":
                listed = True
                self.export(self.text(clause.named_children[0]), of)
        if not listed:
            self.facts.names.setdefault("*", []).append(of)

    def declared(self, node: Node) -> list[str]:
        if node.type in ("lexical_declaration", "variable_declaration"):
            names = [item.child_by_field_name("name") for item in node.named_children]
            return [self.text(name) for name in names if name is not None and name.type == "identifier"]
        if node.type == "ambient_declaration" and node.named_children:
            return self.declared(node.named_children[0])
        named = node.child_by_field_name("name")
        return [self.text(named)] if named is not None else []

    def refer(self, node: Node, scope: Scope) -> None:
        """Names in a type are references."""
        for child in node.named_children:
            if child.type in ("type_identifier", "identifier"):
                target = self.name(self.text(child), scope)
                self.facts.references.append(Reference(scope.index, target, child.start_point[0] + 1))
            elif child.named_child_count:
                self.refer(child, scope)

    def assign(self, target: Node, value: Expression, scope: Scope) -> None:
        kind = target.type
        if kind in ("identifier", "shorthand_property_identifier_pattern"):
            held = self.variable(self.text(target), scope)
            if held is not None and value is not None and value not in held:
                held.append(value)
        elif kind == "object_pattern":
            for part in target.named_children:
                if part.type == "shorthand_property_identifier_pattern":
                    self.assign(part, (".", value, self.text(part)) if value is not None else None, scope)
                elif part.type == "pair_pattern":
                    key, inner = part.child_by_field_name("key"), part.child_by_field_name("value")
                    if key is not None and inner is not None:
                        self.assign(inner, (".", value, self.text(key)) if value is not None else None, scope)
        elif kind == "array_pattern":
            for position, part in enumerate(target.named_children):
                self.assign(part, ("[]", value, position) if value is not None else None, scope)
        elif kind in ("assignment_pattern", "object_assignment_pattern"):
            left = target.child_by_field_name("left")
            if left is not None:
                self.assign(left, value, scope)

    def variable(self, name: str, scope: Scope) -> list[Expression] | None:
        at: Scope | None = scope
        while at is not None:
            kept = at.names.get(name)
            if kept is not None:
                return at.values.setdefault(kept, [])
            at = at.owner
        return None

    def object(self, node: Node, name: str, scope: Scope) -> Expression:
        """An object that is given a name: its functions are definitions."""
        if node.type != "object" or not _has_functions(node):
            return None
        pairs: list[tuple[str, Expression]] = []
        for part in node.named_children[:MEMBERS]:
            key, value = self.field(part, "key", "name"), part.child_by_field_name("value")
            label = self.text(key).strip("\"'") if key is not None else ""
            if part.type == "method_definition" and key is not None:
                pairs.append((f"'{label}", ("d", self.define_in(part, f"{name}.{label}", label, scope))))
            elif value is not None and value.type in FUNCTIONS:
                pairs.append((f"'{label}", ("d", self.define_in(value, f"{name}.{label}", label, scope))))
            elif value is not None:
                inner = self.object(value, f"{name}.{label}", scope)
                pairs.append((f"'{label}", inner or self.expression(value, scope)))
            elif part.type == "shorthand_property_identifier":
                pairs.append((f"'{self.text(part)}", self.name(self.text(part), scope)))
        return ("{}", *pairs)

    def define_in(self, node: Node, dotted: str, name: str, scope: Scope) -> str:
        symbol = self.define(node, dotted, scope, bind=False)
        index, inner = self.defined[node.id]
        self.facts.definitions[index].name = name
        if node.type != "arrow_function":
            inner.this = self.name(dotted.split(".", 1)[0], scope)
        return symbol

    def given_to(self, right: Node, name: str, scope: Scope, owner: Definition | None = None) -> Expression:
        """The value of an assignment; a function in it is defined under the name that it is given to."""
        if right.type in FUNCTIONS or right.type in TYPES:
            return ("d", self.define(right, self.name_of(right) or name, scope, owner, bind=False))
        value = self.object(right, name, scope) or self.expression(right, scope)
        self.visit(right, scope)
        return value

    def owner_of(self, symbol: str) -> Definition | None:
        return next((item for item in self.facts.definitions if item.symbol == symbol), None)

    def owner_named(self, name: str, scope: Scope) -> Definition | None:
        for value in self.variable(name, scope) or ():
            if value is not None and value[0] == "d":
                return self.owner_of(value[1])
        return None


def _has_functions(node: Node, depth: int = 3) -> bool:
    """Whether an object, or one inside it, has functions."""
    for part in node.named_children:
        value = part.child_by_field_name("value")
        if part.type == "method_definition" or (value is not None and value.type in FUNCTIONS):
            return True
        if depth and value is not None and value.type == "object" and _has_functions(value, depth - 1):
            return True
    return False


class _Nothing(dict[str, str]):
    """The names of a class body: none."""

    def get(self, key: str, default: Any = None) -> Any:
        return default


def _statement_of(node: Node) -> Node:
    """The statement that a definition is all of, with ``export`` and ``const`` before it."""
    outer, at = node, node.parent
    while at is not None and at.type in (
        *("variable_declarator", "lexical_declaration", "variable_declaration", "export_statement"),
        *("assignment_expression", "expression_statement", "pair", "public_field_definition", "field_definition"),
    ):
        if at.type in ("lexical_declaration", "variable_declaration") and at.named_child_count > 1:
            break
        outer, at = at, at.parent
    return outer


def _heritage(node: Node) -> Iterable[Node]:
    for child in node.named_children:
        if child.type in ("extends_clause", "implements_clause"):
            for part in child.named_children:
                if part.type != "type_arguments":
                    yield part
        else:
            yield child
