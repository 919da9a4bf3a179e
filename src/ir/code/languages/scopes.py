"""What the readers of all languages share: scopes, symbols, and expressions that can be read outside of a function."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from ir.code.containers import EACH
from ir.code.facts import Call, Definition, Expression, Facts

if TYPE_CHECKING:
    from tree_sitter import Node

__all__ = ["DEEP", "Declaring", "Reader", "Scope", "either", "lines_with_errors", "stem", "worth_following"]

#: How deep an expression is followed.
DEEP = 12


class Scope:
    """Where names are looked up.

    A block, or a function without a name, has variables of its own, which are kept with the definition around it: each
    under a name that no other variable there has.
    """

    __slots__ = ("bounds", "definition", "index", "names", "owner", "this", "values")

    def __init__(
        self,
        index: int,
        owner: Scope | None,
        definition: Definition,
        values: dict[str, list[Expression]],
        this: Expression = None,
    ) -> None:
        self.index = index
        self.owner = owner
        self.definition = definition
        self.names: dict[str, str] = {}
        self.values = values
        #: What ``this`` or ``self`` is here.
        self.this = this
        #: The parameters that stand for types, with what they must be at least.
        self.bounds: dict[str, Expression] = {}

    def bind(self, name: str) -> list[Expression]:
        """The values of a variable of this scope; it is declared if it was not."""
        kept = self.names.get(name)
        if kept is None:
            kept, number = name, 1
            while kept in self.values:
                number += 1
                kept = f"{name}@{number}"
            self.names[name] = kept
        return self.values.setdefault(kept, [])

    def inner(self, this: Expression = None) -> Scope:
        """A block in this scope."""
        return Scope(self.index, self, self.definition, self.values, this if this is not None else self.this)

    def bound(self, name: str) -> tuple[Expression] | None:
        """What a name that stands for any type must be at least; ``None`` for a name that is none."""
        at: Scope | None = self
        while at is not None:
            if name in at.bounds:
                return (at.bounds[name],)
            at = at.owner
        return None

    def find(self, name: str) -> tuple[Scope, str] | None:
        """The scope that declares a variable, and the name under which it is kept."""
        at: Scope | None = self
        while at is not None:
            kept = at.names.get(name)
            if kept is not None:
                return at, kept
            at = at.owner
        return None


class Reader:
    """What reading a file needs in any language."""

    language = ""

    def __init__(self, source: bytes, path: str) -> None:
        module = Definition("", "module", stem(path), -1, 0, len(source), 1, source.count(b"\n") + 1)
        self.facts = Facts(self.language, path, [module])
        self.source = source
        #: One character for each byte, because nodes are placed by bytes.
        self._flat = source.decode("latin-1")
        self._is_plain = source.isascii()
        self.module = Scope(0, None, module, self.facts.names)
        self._taken: set[str] = set()
        #: What functions without a name are given first, by their nodes: elements of what they go over.
        self.elements: dict[int, Expression] = {}

    def text(self, node: Node) -> str:
        said = self._flat[node.start_byte : node.end_byte]
        return said if self._is_plain or said.isascii() else said.encode("latin-1").decode("utf-8", "replace")

    def line_of(self, node: Node, arguments: Node | None) -> int:
        """Where a call stands: a chain of calls has many lines, and the name is right before the arguments."""
        return (arguments if arguments is not None else node).start_point[0] + 1

    def between(self, start: int, end: int) -> str:
        """The text between two places, in bytes."""
        return self.source[start:end].decode("utf-8", "replace")

    def field(self, node: Node, *names: str) -> Node | None:
        """The first of these fields that a node has."""
        for name in names:
            found = node.child_by_field_name(name)
            if found is not None:
                return found
        return None

    def symbol(self, wanted: str) -> str:
        """A symbol that is not taken yet: the second function of a name gets a number, as an overload does."""
        found, number = wanted, 1
        while found in self._taken:
            found = f"{wanted[:-3]}(+{number})." if wanted.endswith("().") else f"{wanted[:-1]}+{number}#"
            number += 1
        self._taken.add(found)
        return found

    def add(
        self, symbol: str, kind: str, name: str, owner: int, outer: Node, body: Node | None, doc: str
    ) -> tuple[int, Definition]:
        """Put a definition down; its index and itself."""
        head = self.source[outer.start_byte : body.start_byte if body is not None else outer.end_byte]
        definition = Definition(
            symbol,
            kind,
            name,
            owner,
            outer.start_byte,
            outer.end_byte,
            outer.start_point[0] + 1,
            outer.end_point[0] + 1,
            " ".join(head.decode("utf-8", "replace").split()).rstrip("{=>:; ")[:400],
            doc,
        )
        self.facts.definitions.append(definition)
        return len(self.facts.definitions) - 1, definition

    def comment_before(self, node: Node) -> str:
        """The comment right above a definition, without its marks."""
        lines: list[str] = []
        at, below = node.prev_sibling, node.start_point[0]
        while at is not None and "comment" in at.type and below - at.end_point[0] <= 1:
            below = at.start_point[0]
            said = [line.strip().lstrip("/*!#").rstrip("*/").strip() for line in self.text(at).splitlines()]
            lines = [line for line in said if line] + lines
            at = at.prev_sibling
        return "\n".join(lines)

    def bounded(self, step: Callable[[Any, Any], None], node: Node, scope: Any) -> None:
        """Take a step, and leave out a piece of code that is nested too deeply, as only generated code is."""
        try:
            step(node, scope)
        except RecursionError:
            self.facts.errors.append(node.start_point[0] + 1)

    def goes_over(self, callee: Expression, arguments: Node | None) -> None:
        """``items.map(f)`` gives ``f`` the elements of ``items``."""
        if callee is not None and callee[0] == "." and callee[2] in EACH and callee[1] is not None:
            for part in arguments.named_children if arguments is not None else ():
                inner = part.named_children[-1] if part.type == "argument" and part.named_children else part
                self.elements[inner.id] = ("[]", callee[1])

    def without_variables(self, given: Expression, depth: int = 0) -> Expression:
        """An expression that can be read outside of its function: variables are replaced by what they were given."""
        if given is None or depth > 6:
            return None
        head = given[0]
        if head == "v":
            if isinstance(given[1], str):
                return given
            owner = self.facts.definitions[given[1]]
            held = owner.variables if owner.kind != "type" else owner.members
            values = [value for value in held.get(given[2], ()) if value is None or value[0] != "item"]
            found = [self.without_variables(value, depth + 1) for value in values[:4] if value != given]
            # What a parameter is given is known in its own file at most; what it is declared as, everywhere. The
            # function is told by its symbol: its place among the definitions moves with every other that is added.
            return either([*found, ("v", owner.symbol, given[2])] if given[2] in owner.parameters else found)
        if head == ".":
            inner = self.without_variables(given[1], depth + 1)
            return (".", inner, given[2]) if inner is not None else None
        if head in ("()", "[]", "t", "new", "with", "type"):
            inner = self.without_variables(given[1], depth + 1)
            return (head, inner, *given[2:]) if inner is not None else None
        if head == "|":
            return either(self.without_variables(part, depth + 1) for part in given[1:])
        if head in ("l", "tuple"):
            return (head, *[self.without_variables(part, depth + 1) for part in given[1:]])
        if head == "{}":
            return ("{}", *[(key, self.without_variables(part, depth + 1)) for key, part in given[1:]])
        return given


class Declaring(Reader):
    """A language whose files are declarations: bodies are read when all names around them are known."""

    def __init__(self, source: bytes, path: str) -> None:
        super().__init__(source, path)
        #: Bodies that wait, with the scope that they run in.
        self._later: list[tuple[Node, Scope]] = []

    def read(self, root: Node) -> Facts:
        for child in root.named_children:
            self.bounded(self.take, child, self.module)
        while self._later:
            bodies, self._later = self._later, []
            for body, scope in bodies:
                self.bounded(self.visit_children, body, scope)
        return self.facts

    def take(self, node: Node, scope: Scope) -> None:
        """Take a declaration."""
        raise NotImplementedError

    def visit(self, node: Node, scope: Scope) -> None:
        """Take the calls, references and values of a piece of code."""
        raise NotImplementedError

    def visit_children(self, node: Node, scope: Scope) -> None:
        for child in node.named_children:
            self.visit(child, scope)

    def expression(self, node: Node, scope: Scope, depth: int = 0) -> Expression:
        """What a piece of code stands for."""
        raise NotImplementedError

    def type_of(self, node: Node, scope: Scope, depth: int = 0) -> Expression:
        """The type that a piece of code names."""
        raise NotImplementedError

    def take_bounds(self, node: Node, scope: Scope) -> None:
        """``<T extends Shape>``: what a parameter that stands for a type must be at least."""
        for listed in node.named_children:
            if listed.type in ("type_parameters", "type_parameter_list"):
                for item in listed.named_children:
                    named = item.child_by_field_name("name") or item.named_child(0)
                    if named is not None and "parameter" in item.type:
                        parts = [part for part in item.named_children if part.id != named.id]
                        self.set_bound(
                            named, [inner for part in parts for inner in part.named_children or [part]], scope
                        )
            elif listed.type in ("where_clause", "type_parameter_constraints_clause"):
                for item in listed.named_children if listed.type == "where_clause" else [listed]:
                    parts = [inner for part in item.named_children[1:] for inner in part.named_children]
                    if item.named_children:
                        self.set_bound(item.named_children[0], parts, scope)

    def set_bound(self, named: Node, parts: list[Node], scope: Scope) -> None:
        scope.bounds[self.text(named)] = either(self.type_of(part, scope) for part in parts)

    def visit_inside(self, inner: Node | None, scope: Scope) -> None:
        """What ``a.b`` is a member of, unless that is a plain name."""
        if inner is not None and inner.named_child_count and inner.type not in ("scoped_identifier", "qualified_name"):
            self.visit(inner, scope)

    def add_call(self, callee: Expression, node: Node, scope: Scope, arguments: Node | None) -> None:
        """Put down a call, with what it gives to parameters."""
        if callee is None:
            return
        name = str(callee[-1]).split("@", 1)[0] if callee[0] in ("n", ".", "v") else ""
        self.goes_over(callee, arguments)
        given: list[tuple[str | int, Expression]] = []
        for position, part in enumerate(arguments.named_children if arguments is not None else ()):
            value = self.expression(part, scope)
            if worth_following(value):
                given.append((position, value))
        self.facts.calls.append(Call(scope.index, callee, name, self.line_of(node, arguments), tuple(given)))


def either(given: Iterable[Expression]) -> Expression:
    """One of several expressions."""
    parts = list(dict.fromkeys(part for part in given if part is not None))
    if len(parts) < 2:
        return parts[0] if parts else None
    return ("|", *parts)


def lines_with_errors(root: Node) -> list[int]:
    """The lines that could not be parsed."""
    found: set[int] = set()
    cursor = root.walk()
    while True:
        node = cursor.node
        if node is not None and (node.type == "ERROR" or node.is_missing):
            found.add(node.start_point[0] + 1)
        if node is not None and node.has_error and cursor.goto_first_child():
            continue
        while not cursor.goto_next_sibling():
            if not cursor.goto_parent():
                return sorted(found)


def worth_following(given: Expression) -> bool:
    """Whether an argument may be a function, or something with methods of the corpus."""
    return given is not None and given[0] not in ("k", "l", "{}", "t")


def stem(path: str) -> str:
    """``view`` of ``lib/view.js``."""
    name = path.rsplit("/", 1)[-1]
    return name.split(".", 1)[0] if "." in name else name
