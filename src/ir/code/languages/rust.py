"""Rust: modules are files, methods stand in ``impl`` blocks, traits lend theirs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from posixpath import dirname
from typing import TYPE_CHECKING, Any

from ir.code.facts import Definition, Expression, Facts, Import, Reference
from ir.code.languages.scopes import DEEP, Declaring, Scope, either, stem

if TYPE_CHECKING:
    from tree_sitter import Node

__all__ = ["Rust", "unit_of"]

_TYPES = {"struct_item", "enum_item", "trait_item", "union_item"}
_LITERALS = {
    "string_literal": "str",
    "raw_string_literal": "str",
    "integer_literal": "i32",
    "float_literal": "f64",
    "char_literal": "char",
    "boolean_literal": "bool",
}
#: Types that are used as if they were what they hold.
_SEEN_THROUGH = {"Box", "Rc", "Arc", "Ref", "RefMut", "Cow", "Pin", "MutexGuard", "RwLockReadGuard", "RwLockWriteGuard"}
#: Types that hold one thing or more, which is taken out.
_HOLDING = {"Vec", "Option", "Result", "VecDeque", "HashSet", "BTreeSet", "Mutex", "RwLock", "RefCell", "Cell", "Iter"}
_KEYED = {"HashMap", "BTreeMap", "IndexMap"}


def unit_of(path: str) -> str:
    """The module that a file is: ``src/a`` for ``src/a.rs`` and for ``src/a/mod.rs``, ``src`` for ``src/lib.rs``."""
    folder, name = dirname(path), stem(path)
    if name in ("lib", "main", "mod"):
        return folder or "."
    return f"{folder}/{name}" if folder else name


class Rust(Declaring):
    """Reads one file of a crate."""

    language = "rust"

    def read(self, root: Node) -> Facts:
        self.facts.unit = unit_of(self.facts.path)
        return super().read(root)

    # -- items ---------------------------------------------------------------------------------------------------

    def take(self, node: Node, scope: Scope) -> None:
        kind = node.type
        if kind == "use_declaration":
            argument = node.child_by_field_name("argument")
            if argument is not None:
                self.take_use(argument, None, scope, node)
        elif kind in _TYPES:
            self.take_type(node, scope)
        elif kind == "impl_item":
            self.take_impl(node, scope)
        elif kind in ("function_item", "function_signature_item"):
            self.take_function(node, scope, None)
        elif kind == "mod_item":
            self.take_module(node, scope)
        elif kind in ("static_item", "const_item"):
            self.take_constant(node, scope)
        elif kind == "type_item":
            named, of = node.child_by_field_name("name"), node.child_by_field_name("type")
            if named is not None and of is not None:
                scope.values.setdefault(self.text(named), []).append(self.type_of(of, scope))
        elif kind == "ERROR":
            for child in node.named_children:
                self.take(child, scope)

    def take_use(self, node: Node, before: Expression, scope: Scope, at: Node) -> None:
        kind = node.type
        if kind == "scoped_use_list":
            path, listed = node.child_by_field_name("path"), node.child_by_field_name("list")
            base = self.path(path, before, scope) if path is not None else before
            for item in listed.named_children if listed is not None else ():
                self.take_use(item, base, scope, at)
        elif kind == "use_list":
            for item in node.named_children:
                self.take_use(item, before, scope, at)
        elif kind == "use_wildcard":
            inner = node.named_children[0] if node.named_children else None
            base = self.path(inner, before, scope) if inner is not None else before
            self.imported(node, at)
            scope.values.setdefault("*", []).append(base)
        elif kind == "use_as_clause":
            path, alias = node.child_by_field_name("path"), node.child_by_field_name("alias")
            if path is not None and alias is not None:
                self.imported(node, at)
                scope.values.setdefault(self.text(alias), []).append(self.path(path, before, scope))
        elif kind == "self":
            if before is not None:
                scope.values.setdefault(str(before[-1]), []).append(before)
        else:
            self.imported(node, at)
            name = self.text(node).rsplit("::", 1)[-1]
            scope.values.setdefault(name, []).append(self.path(node, before, scope))

    def imported(self, node: Node, at: Node) -> None:
        self.facts.imports.append(Import(self.text(node), None, None, at.start_point[0] + 1))

    def path(self, node: Node, before: Expression, scope: Scope) -> Expression:
        """``a::b`` as the member ``b`` of ``a``; its first part is a module."""
        if node.type == "scoped_identifier":
            inner, named = node.child_by_field_name("path"), node.child_by_field_name("name")
            base = self.path(inner, before, scope) if inner is not None else before
            return (".", base, self.text(named)) if named is not None and base is not None else None
        word = self.text(node)
        if before is not None:
            return (".", before, word)
        return self.start(word, scope) if word in ("self", "super") else ("m", word, 0)

    def take_module(self, node: Node, scope: Scope) -> None:
        named, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        if named is None:
            return
        name = self.text(named)
        if body is None:
            scope.values.setdefault(name, []).append((".", ("m", "self", 0), name))
            return
        symbol = self.symbol(f"{scope.definition.symbol}{name}#")
        index, definition = self.add(symbol, "module", name, scope.index, node, body, self.comment_before(node))
        scope.values.setdefault(name, []).append(("d", symbol))
        inner = Scope(index, scope, definition, definition.members)
        for child in body.named_children:
            self.take(child, inner)

    def take_type(self, node: Node, scope: Scope) -> None:
        named, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        if named is None:
            return
        name = self.text(named)
        symbol = self.symbol(f"{scope.definition.symbol}{name}#")
        index, definition = self.add(symbol, "type", name, scope.index, node, body, self.doc_before(node))
        scope.values.setdefault(name, []).append(("d", symbol))
        inner = Scope(index, scope, definition, definition.members, ("self", symbol))
        self.take_bounds(node, inner)
        bounds = node.child_by_field_name("bounds")
        for bound in bounds.named_children if bounds is not None else ():
            definition.bases.append(self.type_of(bound, inner))
        for item in body.named_children if body is not None else ():
            if item.type == "field_declaration":
                field, of = item.child_by_field_name("name"), item.child_by_field_name("type")
                if field is not None and of is not None:
                    definition.members.setdefault(self.text(field), []).append(("t", self.type_of(of, inner)))
                    self.refer(of, inner)
            elif item.type == "enum_variant":
                variant = item.child_by_field_name("name")
                if variant is not None:
                    definition.members.setdefault(self.text(variant), []).append(("variant", symbol))
            elif item.type in ("function_item", "function_signature_item"):
                self.take_function(item, inner, symbol)

    def take_impl(self, node: Node, scope: Scope) -> None:
        of, trait, body = (node.child_by_field_name(name) for name in ("type", "trait", "body"))
        if of is None:
            return
        word = _bare(self.text(of))
        owner = f"{scope.definition.symbol}{word}#"
        inner = Scope(scope.index, scope, scope.definition, scope.values, ("self", owner))
        self.take_bounds(node, inner)
        self.facts.extensions.setdefault(owner, {})
        if trait is not None:
            base = self.type_of(trait, scope)
            self.facts.extended_bases.setdefault(owner, []).append(base[1] if base and base[0] == "[]" else base)
            self.refer(trait, scope)
        for item in body.named_children if body is not None else ():
            if item.type == "function_item":
                self.take_function(item, inner, owner)

    def take_function(self, node: Node, scope: Scope, owner: str | None) -> None:
        named, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        if named is None:
            return
        name = self.text(named)
        symbol = self.symbol(f"{owner or scope.definition.symbol}{name}().")
        kind = "method" if owner is not None else "function"
        index, definition = self.add(symbol, kind, name, scope.index, node, body, self.doc_before(node))
        if owner is None:
            scope.values.setdefault(name, []).append(("d", symbol))
        elif scope.definition.symbol == owner:
            scope.definition.members.setdefault(name, []).append(("d", symbol))
        else:
            self.facts.extensions[owner].setdefault(name, []).append(("d", symbol))
        inner = Scope(index, scope, definition, definition.variables, scope.this if owner is not None else None)
        self.take_bounds(node, inner)
        self.take_parameters(node, inner, definition)
        of = node.child_by_field_name("return_type")
        if of is not None:
            definition.returns.append(("t", self.type_of(of, inner)))
            self.refer(of, inner)
        if body is not None:
            self._later.append((body, inner))

    def take_parameters(self, node: Node, inner: Scope, definition: Definition | None) -> None:
        listed, position = node.child_by_field_name("parameters"), 0
        for item in listed.named_children if listed is not None else ():
            if item.type == "self_parameter":
                continue
            if item.type == "identifier":  # of a closure
                inner.bind(self.text(item))
                continue
            pattern, of = item.child_by_field_name("pattern"), item.child_by_field_name("type")
            given = ("t", self.type_of(of, inner)) if of is not None else None
            if of is not None:
                self.refer(of, inner)
            if pattern is not None:
                self.bind(pattern, given, inner)
                if definition is not None and pattern.type == "identifier":
                    definition.parameters[inner.names[self.text(pattern)]] = position
            position += 1

    def take_constant(self, node: Node, scope: Scope) -> None:
        named, of, value = (node.child_by_field_name(name) for name in ("name", "type", "value"))
        if named is not None and of is not None:
            scope.values.setdefault(self.text(named), []).append(("t", self.type_of(of, scope)))
        if value is not None:
            self._later.append((value.parent or value, Scope(scope.index, scope, scope.definition, {}, scope.this)))

    def doc_before(self, node: Node) -> str:
        """Attributes stand between a doc comment and what it is about."""
        at: Node = node
        while at.prev_sibling is not None and at.prev_sibling.type == "attribute_item":
            at = at.prev_sibling
        return self.comment_before(at)

    # -- bodies --------------------------------------------------------------------------------------------------

    def visit(self, node: Node, scope: Scope) -> None:
        handle = self._handlers.get(node.type)
        if handle is not None:
            handle(self, node, scope)
        elif node.type in _TYPES or node.type in ("function_item", "impl_item", "use_declaration", "const_item"):
            self.take(node, scope)
        elif node.named_child_count:
            inner = scope.inner() if node.type in ("block", "match_arm", "if_expression") else scope
            for child in node.named_children:
                self.visit(child, inner)

    def visit_call(self, node: Node, scope: Scope) -> None:
        function, arguments = node.child_by_field_name("function"), node.child_by_field_name("arguments")
        if function is not None:
            callee = self.expression(function, scope)
            self.add_call(callee, node, scope, arguments)
            inner = function.child_by_field_name("value")
            if inner is not None and inner.type not in ("identifier", "self"):
                self.visit(inner, scope)
        if arguments is not None:
            self.visit_children(arguments, scope)

    def visit_let(self, node: Node, scope: Scope) -> None:
        pattern, of, value = (node.child_by_field_name(name) for name in ("pattern", "type", "value"))
        if value is not None:
            self.visit(value, scope)
        given = ("t", self.type_of(of, scope)) if of is not None else None
        if given is None and value is not None:
            given = self.expression(value, scope)
        if pattern is not None:
            self.bind(pattern, given, scope)
        other = node.child_by_field_name("alternative")
        if other is not None:
            self.visit(other, scope)

    def bind(self, pattern: Node, given: Expression, scope: Scope) -> None:
        kind = pattern.type
        if kind == "identifier":
            held = scope.bind(self.text(pattern))
            if given is not None and given not in held:
                held.append(given)
        elif kind in ("mut_pattern", "ref_pattern", "reference_pattern", "captured_pattern"):
            for part in pattern.named_children:
                if part.type != "mutable_specifier":
                    self.bind(part, given, scope)
        elif kind == "tuple_pattern":
            for position, part in enumerate(pattern.named_children):
                self.bind(part, ("[]", given, position) if given is not None else None, scope)
        elif kind == "tuple_struct_pattern":  # Some(v), Ok(v)
            for part in pattern.named_children[1:]:
                self.bind(part, ("[]", given) if given is not None else None, scope)
        elif pattern.named_child_count and kind not in ("scoped_identifier", "token_tree"):
            for part in pattern.named_children:
                if part.type not in ("type_identifier", "scoped_type_identifier"):
                    self.bind(part, None, scope)

    def visit_for(self, node: Node, scope: Scope) -> None:
        pattern, value, body = (node.child_by_field_name(name) for name in ("pattern", "value", "body"))
        inner = scope.inner()
        if value is not None:
            self.visit(value, scope)
            over = self.expression(value, scope)
            if pattern is not None:
                self.bind(pattern, ("[]", over) if over is not None else None, inner)
        if body is not None:
            self.visit(body, inner)

    def visit_closure(self, node: Node, scope: Scope) -> None:
        inner = scope.inner()
        self.take_parameters(node, inner, None)
        first = next(iter(inner.names.values()), None)
        if first is not None and node.id in self.elements and not inner.values[first]:
            inner.values[first].append(self.elements[node.id])
        body = node.child_by_field_name("body")
        if body is not None:
            self.visit(body, inner)

    def visit_name(self, node: Node, scope: Scope) -> None:
        target = self.expression(node, scope)
        if target is not None and target[0] in ("n", "."):
            self.facts.references.append(Reference(scope.index, target, node.start_point[0] + 1))
        self.visit_inside(node.child_by_field_name("value"), scope)

    def visit_match(self, node: Node, scope: Scope) -> None:
        value, body = node.child_by_field_name("value"), node.child_by_field_name("body")
        if value is not None:
            self.visit(value, scope)
        given = self.expression(value, scope) if value is not None else None
        for arm in body.named_children if body is not None else ():
            inner = scope.inner()
            pattern = arm.child_by_field_name("pattern")
            if pattern is not None and pattern.named_children:
                self.bind(pattern.named_children[0], given, inner)
            result = arm.child_by_field_name("value")
            if result is not None:
                self.visit(result, inner)

    def visit_made(self, node: Node, scope: Scope) -> None:
        """``Point { x, y }``"""
        named, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        if named is not None:
            self.refer(named, scope)
        if body is not None:
            for item in body.named_children:
                value = item.child_by_field_name("value") or (item.named_children[-1] if item.named_children else None)
                if value is not None:
                    self.visit(value, scope)

    def refer(self, node: Node, scope: Scope) -> None:
        if node.type in ("type_identifier", "scoped_type_identifier"):
            target = self.type_of(node, scope)
            if target is not None and target[0] != "self":
                self.facts.references.append(Reference(scope.index, target, node.start_point[0] + 1))
            return
        for child in node.named_children:
            self.refer(child, scope)

    _handlers: Mapping[str, Callable[[Any, Any, Scope], None]] = {
        "call_expression": visit_call,
        "let_declaration": visit_let,
        "let_condition": visit_let,
        "for_expression": visit_for,
        "closure_expression": visit_closure,
        "match_expression": visit_match,
        "struct_expression": visit_made,
        "identifier": visit_name,
        "scoped_identifier": visit_name,
        "field_expression": visit_name,
    }

    # -- expressions ---------------------------------------------------------------------------------------------

    def expression(self, node: Node, scope: Scope, depth: int = 0) -> Expression:
        if depth > DEEP:
            return None
        kind = node.type
        if kind == "identifier":
            found = scope.find(self.text(node))
            if found is not None and found[0].index:
                return ("v", found[0].index, found[1])
            return self.plain(self.text(node), scope)
        if kind == "self":
            return scope.this
        if kind in _LITERALS:
            return ("k", _LITERALS[kind])
        if kind == "field_expression":
            inner, named = node.child_by_field_name("value"), node.child_by_field_name("field")
            if inner is None or named is None:
                return None
            return (".", self.expression(inner, scope, depth + 1), self.text(named))
        if kind == "scoped_identifier":
            return self.scoped(node, scope, depth)
        if kind == "generic_function":
            inner = node.child_by_field_name("function")
            return self.expression(inner, scope, depth + 1) if inner is not None else None
        if kind == "call_expression":
            function = node.child_by_field_name("function")
            inner_called = self.expression(function, scope, depth + 1) if function is not None else None
            return ("()", inner_called) if inner_called is not None else None
        if kind == "struct_expression":
            named = node.child_by_field_name("name")
            return ("t", self.type_of(named, scope)) if named is not None else None
        if kind == "try_expression":
            inner_tried = self.expression(node.named_children[0], scope, depth + 1) if node.named_children else None
            return ("try", inner_tried) if inner_tried is not None else None
        if kind in ("reference_expression", "unary_expression", "parenthesized_expression", "await_expression"):
            return self.expression(node.named_children[-1], scope, depth + 1) if node.named_children else None
        if kind == "index_expression" and node.named_children:
            value = self.expression(node.named_children[0], scope, depth + 1)
            return ("[]", value) if value is not None else None
        if kind == "type_cast_expression":
            of = node.child_by_field_name("type")
            return ("t", self.type_of(of, scope)) if of is not None else None
        if kind == "if_expression":
            parts = (node.child_by_field_name("consequence"), node.child_by_field_name("alternative"))
            return either(self.last(part, scope, depth + 1) for part in parts if part is not None)
        if kind == "tuple_expression":
            return ("tuple", *[self.expression(part, scope, depth + 1) for part in node.named_children])
        return None

    def plain(self, name: str, scope: Scope) -> Expression:
        """A name of the module inside this file that a piece of code is in, or of the file."""
        module = _module_around(scope)
        if module is not None and name in module.values:
            return (".", ("d", module.definition.symbol), name)
        return ("n", name)

    def start(self, word: str, scope: Scope) -> Expression:
        """What ``self`` or ``super`` means at the beginning of a path."""
        module = _module_around(scope)
        if module is None or word == "crate":
            return ("m", word, 0)
        if word == "super":
            module = _module_around(module.owner) if module.owner is not None else None
        return ("d", module.definition.symbol) if module is not None else ("m", "self", 0)

    def last(self, node: Node, scope: Scope, depth: int) -> Expression:
        """The value of a block: its last expression."""
        if node.type in ("block", "else_clause") and node.named_children:
            return self.last(node.named_children[-1], scope, depth)
        return self.expression(node, scope, depth)

    def scoped(self, node: Node, scope: Scope, depth: int) -> Expression:
        inner, named = node.child_by_field_name("path"), node.child_by_field_name("name")
        if named is None:
            return None
        if inner is None:
            return ("n", self.text(named))
        if inner.type in ("crate", "super", "self"):
            return (".", self.start(inner.type, scope), self.text(named))
        if inner.type == "scoped_identifier":
            base = self.scoped(inner, scope, depth + 1)
        else:
            base = self.type_of(inner, scope)
            base = base[1] if base is not None and base[0] == "[]" else base
        return (".", base, self.text(named)) if base is not None else None

    def type_of(self, node: Node, scope: Scope, depth: int = 0) -> Expression:
        if depth > DEEP:
            return None
        kind = node.type
        if kind in ("type_identifier", "identifier"):
            word = self.text(node)
            if word == "Self" and scope.this is not None:
                return ("d", scope.this[1])
            bound = scope.bound(word)
            return bound[0] if bound is not None else self.plain(word, scope)
        if kind == "primitive_type":
            return ("n", self.text(node))
        if kind in ("scoped_type_identifier", "scoped_identifier"):
            inner, named = node.child_by_field_name("path"), node.child_by_field_name("name")
            if inner is None or named is None:
                return None
            if inner.type in ("crate", "super", "self"):
                return (".", self.start(inner.type, scope), self.text(named))
            return (".", self.type_of(inner, scope, depth + 1), self.text(named))
        if kind == "generic_type":
            return self.generic(node, scope, depth)
        if kind in ("reference_type", "pointer_type"):
            of = node.child_by_field_name("type")
            return self.type_of(of, scope, depth + 1) if of is not None else None
        if kind in ("array_type", "slice_type"):
            of = node.child_by_field_name("element") or (node.named_children[0] if node.named_children else None)
            return ("[]", ("n", "list"), self.type_of(of, scope, depth + 1)) if of is not None else None
        if (
            kind in ("dynamic_type", "abstract_type", "bounded_type", "higher_ranked_trait_bound")
            and node.named_children
        ):
            return self.type_of(node.named_children[-1], scope, depth + 1)
        if kind == "tuple_type":
            return ("tuple", *[self.type_of(part, scope, depth + 1) for part in node.named_children])
        return None

    def generic(self, node: Node, scope: Scope, depth: int) -> Expression:
        of, listed = node.child_by_field_name("type"), node.child_by_field_name("type_arguments")
        if of is None:
            return None
        word = _bare(self.text(of)).rsplit("::", 1)[-1]
        parts = [part for part in (listed.named_children if listed is not None else []) if part.type != "lifetime"]
        inner = [self.type_of(part, scope, depth + 1) for part in parts]
        if word in _SEEN_THROUGH and inner:
            return inner[-1]
        if word in _HOLDING and inner:
            return ("[]", ("n", "list"), inner[0])
        if word in _KEYED and inner:
            return ("[]", ("n", "dict"), inner[-1])
        return ("[]", self.type_of(of, scope, depth + 1), *inner)


def _module_around(scope: Scope | None) -> Scope | None:
    """The module inside a file that a scope is in, if there is one."""
    while scope is not None and (scope.definition.kind != "module" or scope.values is not scope.definition.members):
        scope = scope.owner
    return scope if scope is not None and scope.index else None


def _bare(name: str) -> str:
    """A type's name without its arguments, references and path."""
    return name.split("<", 1)[0].strip().lstrip("&*").replace("mut ", "").rsplit("::", 1)[-1].strip()
