"""The languages whose files are read as definitions and links, each with its grammar, its reader and its rules."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from ir.code.languages.scopes import lines_with_errors

if TYPE_CHECKING:
    from ir.code.facts import Facts
    from ir.code.values import Dialect

__all__ = ["LANGUAGES", "Language", "language_named", "language_of"]


@dataclass(frozen=True)
class Language:
    """A language: ``grammar`` is ``module:function`` of its parser, ``reader`` and ``dialect`` are places of ours.

    ``family`` is what the names of its files are kept under; languages that import each other share one.
    """

    name: str
    family: str
    grammar: str
    reader: str
    dialect: str
    suffixes: tuple[str, ...]

    @property
    def package(self) -> str:
        """The package that has its grammar."""
        return self.grammar.partition(":")[0].replace("_", "-")

    def installed(self) -> bool:
        """Whether its grammar seems to be installed; nothing is loaded for that."""
        return all(find_spec(name) is not None for name in ("tree_sitter", self.grammar.partition(":")[0]))

    def missing(self) -> str | None:
        """The package that is not installed, if one is not."""
        for package in ("tree_sitter", self.grammar.partition(":")[0]):
            try:
                import_module(package)
            except ImportError:
                return package.replace("_", "-")
        return None

    def read(self, text: str, path: str) -> Facts:
        """The facts of a file."""
        source = text.encode("utf-8", "replace")
        tree = _parser(self.grammar).parse(source)
        facts: Facts = _place(self.reader)(source, path).read(tree.root_node)
        if tree.root_node.has_error:
            facts.errors = sorted({*facts.errors, *lines_with_errors(tree.root_node)})
        return facts

    def rules(self) -> Dialect:
        """How its names are resolved."""
        found: Any = _place(self.dialect)
        dialect: Dialect = found() if isinstance(found, type) else found
        return dialect


_PYTHON = "ir.code.languages.python:Python", "ir.code.dialects:Python"
_SCRIPT = "ir.code.languages.javascript:JavaScript", "ir.code.dialects:JavaScript"
LANGUAGES = (
    Language("python", "python", "tree_sitter_python:language", *_PYTHON, ("py", "pyi")),
    Language("javascript", "javascript", "tree_sitter_javascript:language", *_SCRIPT, ("js", "jsx", "mjs", "cjs")),
    Language("typescript", "javascript", "tree_sitter_typescript:language_typescript", *_SCRIPT, ("ts", "mts", "cts")),
    Language("tsx", "javascript", "tree_sitter_typescript:language_tsx", *_SCRIPT, ("tsx",)),
    Language(
        "java", "java", "tree_sitter_java:language", "ir.code.languages.java:Java", "ir.code.dialects:JAVA", ("java",)
    ),
    Language(
        "csharp",
        "csharp",
        "tree_sitter_c_sharp:language",
        "ir.code.languages.csharp:CSharp",
        "ir.code.dialects:CSHARP",
        ("cs",),
    ),
    Language("go", "go", "tree_sitter_go:language", "ir.code.languages.go:Go", "ir.code.dialects:Go", ("go",)),
    Language(
        "rust", "rust", "tree_sitter_rust:language", "ir.code.languages.rust:Rust", "ir.code.dialects:Rust", ("rs",)
    ),
)
_BY_SUFFIX = {suffix: language for language in LANGUAGES for suffix in language.suffixes}
_BY_NAME = {language.name: language for language in LANGUAGES}
_held = threading.local()


def language_of(suffix: str) -> Language | None:
    """The language of files with that suffix."""
    return _BY_SUFFIX.get(suffix.lower())


def language_named(name: str) -> Language:
    return _BY_NAME[name]


def _parser(grammar: str) -> Any:
    """A parser of this thread: one must not be used by two at once."""
    parsers: dict[str, Any] = _held.__dict__.setdefault("parsers", {})
    found = parsers.get(grammar)
    if found is None:
        from tree_sitter import Language as Grammar
        from tree_sitter import Parser

        module, _, name = grammar.partition(":")
        found = parsers[grammar] = Parser(Grammar(getattr(import_module(module), name)()))
    return found


def _place(place: str) -> Callable[..., Any]:
    module, _, name = place.partition(":")
    found: Callable[..., Any] = getattr(import_module(module), name)
    return found
