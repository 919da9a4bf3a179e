"""Python: the definitions and imports of a file, and the names of its scopes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

from ir.code.facts import Definition, Expression, Facts, Import
from ir.code.languages.python_bodies import PythonBodies
from ir.code.languages.python_expressions import PythonScope

if TYPE_CHECKING:
    from tree_sitter import Node

__all__ = ["Python"]

#: Decorators after which a function is read like a variable.
_PROPERTIES = {"property", "cached_property", "functools.cached_property", "abc.abstractproperty"}
_OVERLOADS = {"overload", "typing.overload", "t.overload", "typing_extensions.overload"}
_ENUMS = {"Enum", "IntEnum", "StrEnum", "Flag", "IntFlag"}
#: Methods whose first parameter is the class without saying so.
_OF_TYPES = {"__new__", "__init_subclass__", "__class_getitem__"}


class Python(PythonBodies):
    """Reads one file."""

    def __init__(self, source: bytes, path: str) -> None:
        super().__init__(source, path)
        self.later: list[tuple[Node, PythonScope]] = []
        self.overloads: set[Expression] = set()
        self.names_values = b":=" in source

    def read(self, root: Node) -> Facts:
        self.facts.definitions[0].doc = self.docstring(root)
        for child in root.named_children:
            self.bounded(self.gather_one, child, self.outermost)
        # Bodies come after the names of the scopes around them: a function may use what is defined below it.
        while self.later:
            bodies, self.later = self.later, []
            for body, scope in bodies:
                self.bounded(self.visit_children, body, scope)
        for child in root.named_children:
            self.bounded(self.visit, child, self.outermost)
        self.facts.names = self.outermost.locals
        return self.facts

    # -- names of a scope ----------------------------------------------------------------------------------------

    def gather(self, node: Node, scope: PythonScope) -> None:
        """Find the names that a scope binds, so that a use can be told to be local or not."""
        for child in node.named_children:
            self.gather_one(child, scope)

    def gather_one(self, node: Node, scope: PythonScope) -> None:
        bind = self._BINDERS.get(node.type)
        if bind is not None:
            bind(self, node, scope)
        elif self.names_values:
            self.gather(node, scope)

    def bind_definition(self, node: Node, scope: PythonScope) -> None:
        self.define(node, scope, [])

    def bind_decorated(self, node: Node, scope: PythonScope) -> None:
        inner = node.child_by_field_name("definition")
        decorators = [item.named_children[0] for item in node.named_children if item.type == "decorator"]
        if inner is not None:
            self.define(inner, scope, decorators)

    def bind_free(self, node: Node, scope: PythonScope) -> None:
        scope.free.update(self.text(name) for name in node.named_children)

    def bind_statement(self, node: Node, scope: PythonScope) -> None:
        """An expression on its own: most bind nothing, an assignment does."""
        at = node.named_child(0)
        while at is not None and at.type in ("assignment", "augmented_assignment"):
            self.bind_names(at.child_by_field_name("left"), scope)
            at = at.child_by_field_name("right")
        if self.names_values:
            self.gather(node, scope)

    def bind_left(self, node: Node, scope: PythonScope) -> None:
        self.bind_names(node.child_by_field_name("left"), scope)
        self.gather(node, scope)

    def bind_named(self, node: Node, scope: PythonScope) -> None:
        self.bind_names(node.child_by_field_name("name"), scope)
        self.gather(node, scope)

    def bind_alias(self, node: Node, scope: PythonScope) -> None:
        self.bind_names(node.child_by_field_name("alias"), scope)
        self.gather(node, scope)

    def bind_names(self, target: Node | None, scope: PythonScope) -> None:
        if target is None:
            return
        if target.type == "identifier":
            scope.locals.setdefault(self.text(target), [])
        elif target.type not in ("attribute", "subscript"):
            for child in target.named_children:
                self.bind_names(child, scope)

    # -- definitions ---------------------------------------------------------------------------------------------

    def define(self, node: Node, scope: PythonScope, decorators: list[Node]) -> None:
        named = node.child_by_field_name("name")
        body = node.child_by_field_name("body")
        if named is None or body is None:
            return
        name = self.text(named)
        is_type = node.type == "class_definition"
        kind = "type" if is_type else ("method" if scope.kind == "type" else "function")
        symbol = self.symbol(scope.definition.symbol + (f"{name}#" if is_type else f"{name}()."))
        outer = node.parent if decorators and node.parent is not None else node
        definition = Definition(
            symbol,
            kind,
            name,
            scope.index,
            outer.start_byte,
            node.end_byte,
            outer.start_point[0] + 1,
            node.end_point[0] + 1,
            " ".join(self.between(node.start_byte, body.start_byte).split()).rstrip(": "),
            self.docstring(body),
        )
        index = len(self.facts.definitions)
        self.facts.definitions.append(definition)
        inner = PythonScope(index, "type" if is_type else "function", scope, definition)
        marks = {self.text(item) for item in decorators}
        held = scope.locals.setdefault(name, [])
        held[:] = [value for value in held if value not in self.overloads]
        held.append(("d", symbol))
        if marks & _OVERLOADS:  # what is declared so is run by the function that follows
            self.overloads.add(("d", symbol))
        if marks & _PROPERTIES or any(mark.endswith((".setter", ".getter", ".deleter")) for mark in marks):
            definition.marks = frozenset({"property"})
        inner.static = "staticmethod" in marks
        inner.on_type = "classmethod" in marks or name in _OF_TYPES
        for item in decorators:
            self.visit(item, scope)
            if item.type != "call":
                self.add_call(item, scope, ("d", symbol))
        if is_type:
            self.define_type(node, body, scope, inner)
        else:
            self.define_function(node, body, scope, inner)

    def define_type(self, node: Node, body: Node, scope: PythonScope, inner: PythonScope) -> None:
        bases = node.child_by_field_name("superclasses")
        if bases is not None:
            for base in bases.named_children:
                if base.type not in ("keyword_argument", "comment"):
                    inner.definition.bases.append(self.expression(_unsubscripted(base), scope))
                self.visit(base, scope)
        self.gather(body, inner)
        inner.definition.members = inner.locals
        if bases is not None and any(self.text(base).rsplit(".", 1)[-1] in _ENUMS for base in bases.named_children):
            for name in self.assigned(body):
                inner.locals[name].append(("self", inner.definition.symbol))
        self.later.append((body, inner))

    def assigned(self, body: Node) -> list[str]:
        """The names that are given a value right in a class, as the members of an enumeration are."""
        parts = [part for child in body.named_children for part in child.named_children if part.type == "assignment"]
        names = [part.child_by_field_name("left") for part in parts if part.child_by_field_name("right") is not None]
        return [self.text(name) for name in names if name is not None and name.type == "identifier"]

    def define_function(self, node: Node, body: Node, scope: PythonScope, inner: PythonScope) -> None:
        inner.definition.variables = inner.locals
        parameters = node.child_by_field_name("parameters")
        first = True
        for item in parameters.named_children if parameters is not None else ():
            if item.type != "comment":
                self.take_parameter(item, scope, inner, first=first)
                first = False
        returned = node.child_by_field_name("return_type")
        if returned is not None:
            inner.definition.returns.append(("t", self.annotation(returned, scope)))
            self.refer(returned, scope)
        self.gather(body, inner)
        for name in inner.free:
            inner.locals.pop(name, None)
        self.later.append((body, inner))

    def take_parameter(self, item: Node, scope: PythonScope, inner: PythonScope, *, first: bool) -> None:
        kind = item.type
        named: Node | None = item
        annotation = default = None
        if kind in ("typed_parameter", "typed_default_parameter", "default_parameter"):
            named = item.child_by_field_name("name") or item.named_children[0]
            annotation = item.child_by_field_name("type")
            default = item.child_by_field_name("value")
        if named is None:
            return
        stars = named.type in ("list_splat_pattern", "dictionary_splat_pattern")
        if stars and named.named_children:
            named = named.named_children[0]
        if named.type != "identifier":
            return
        name = self.text(named)
        values: list[Expression] = []
        if annotation is not None:
            of = ("t", self.annotation(annotation, scope))
            values.append(("l", of) if stars else of)
            self.refer(annotation, scope)
        if default is not None:
            given = self.take(default, scope)
            if default.type not in ("none", "ellipsis"):
                values.append(given)
        if first and inner.type is not None and not inner.static and not stars:
            inner.self_name = name
        else:
            inner.definition.parameters[name] = len(inner.definition.parameters)
        inner.locals[name] = values

    # -- imports and comments ------------------------------------------------------------------------------------

    def take_import(self, node: Node, scope: PythonScope) -> None:
        line = node.start_point[0] + 1
        if node.type == "import_statement":
            for item in node.named_children:
                module, alias = self.imported(item)
                self.facts.imports.append(Import(module, None, alias, line))
                bound = alias or module.split(".", 1)[0]
                target = module if alias else bound
                scope.locals.setdefault(bound, []).append(("m", target, 0))
            return
        named = node.child_by_field_name("module_name")
        if named is None:
            return
        level, module = 0, self.text(named)
        if named.type == "relative_import":
            level = len(module) - len(module.lstrip("."))
            module = module.lstrip(".").strip()
        if any(child.type == "wildcard_import" for child in node.named_children):
            self.facts.imports.append(Import(module, "*", None, line, level))
            scope.locals.setdefault("*", []).append(("m", module, level))
            return
        for item in node.children_by_field_name("name"):
            name, alias = self.imported(item)
            self.facts.imports.append(Import(module, name, alias, line, level))
            scope.locals.setdefault(alias or name, []).append((".", ("m", module, level), name))

    def imported(self, item: Node) -> tuple[str, str | None]:
        if item.type == "aliased_import":
            name, alias = item.child_by_field_name("name"), item.child_by_field_name("alias")
            if name is not None and alias is not None:
                return self.text(name), self.text(alias)
        return self.text(item), None

    def docstring(self, body: Node) -> str:
        for child in body.named_children:
            if child.type == "comment":
                continue
            if child.type == "expression_statement" and child.named_child_count == 1:
                child = child.named_children[0]
            return self.content(child).strip() if child.type == "string" else ""
        return ""

    _BINDERS: ClassVar[dict[str, Callable[[Any, Node, PythonScope], Any]]] = {
        "function_definition": bind_definition,
        "class_definition": bind_definition,
        "decorated_definition": bind_decorated,
        "import_statement": take_import,
        "import_from_statement": take_import,
        "global_statement": bind_free,
        "nonlocal_statement": bind_free,
        "expression_statement": bind_statement,
        "assignment": bind_left,
        "augmented_assignment": bind_left,
        "for_statement": bind_left,
        "named_expression": bind_named,
        "as_pattern": bind_alias,
        "case_pattern": bind_names,
        **dict.fromkeys(("module", "block", "if_statement", "elif_clause", "else_clause", "while_statement"), gather),
        **dict.fromkeys(("try_statement", "except_clause", "except_group_clause", "finally_clause"), gather),
        **dict.fromkeys(("with_statement", "with_clause", "with_item", "match_statement", "case_clause"), gather),
        **dict.fromkeys(("ERROR",), gather),
        **dict.fromkeys(("lambda", "comment", "string", "integer", "identifier"), PythonBodies.skip),
    }


def _unsubscripted(node: Node) -> Node:
    """``Base`` of ``Base[T]``."""
    if node.type == "subscript":
        return node.child_by_field_name("value") or node
    return node
