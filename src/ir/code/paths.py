"""What the path of a file says of it: whether it holds tests, examples or nothing of its own, and what it is named."""

from __future__ import annotations

import re
from functools import lru_cache

__all__ = [
    "is_code",
    "is_declaration",
    "is_example",
    "is_reexport",
    "is_shim",
    "is_test_path",
    "name_parts",
    "named_after",
]

_TESTS = re.compile(
    # folders
    r"(^|/)(tests?|__tests__|__mocks__|specs?|testing|testdata|test[-_]?(utils?|helpers?|support)|androidTest|e2e)/"
    r"|(^|/)([\w.-]*[._-])?((unit|integration)[._-])?tests?/|(^|/)(unit|integration)tests/"
    r"|(^|/)[\w.]*\.(Unit|Integration)?Tests?/"
    # files
    r"|(^|/)(test_[^/]*|conftest|tests)\.py$|(^|/)tests?\.rs$"
    r"|(_test|_tests)\.[a-z]+$|(Tests?|TestCase)\.(java|kt|cs|scala|groovy|swift|[cm]?[jt]sx?|php)$"
    r"|IT\.(java|kt)$|Spec\.(scala|groovy|kt|swift|[cm]?[jt]sx?)$"
    r"|[._](test|spec)(-d)?\.[a-z]+$"
)
#: What is built for users, whatever it is called.
_PRODUCT = re.compile(r"(^|/)src/main/")
_EXAMPLES = re.compile(
    r"(^|/)_?(examples?|demos?|samples?|tutorials?|bench(es|marks?)?|docs?_src|fixtures?|playgrounds?|stories)/"
    r"|(^|/)bench_[^/]*\.py$|\.(stories|bench)\.[a-z]+$",
    re.IGNORECASE,
)
_SHIMS = re.compile(
    r"(^|/)(_?compat[^/]*|legacy|deprecated|_?vendor(ed)?|third[-_]?party|generated)(/|\.[a-z]+$)"
    r"|(_pb2(_grpc)?\.pyi?|\.pb(\.gw)?\.go|[._]gen(erated)?\.[a-z]+|\.(g|designer)\.cs)$",
    re.IGNORECASE,
)
_REEXPORTS = re.compile(
    r"(^|/)(__init__\.pyi?|__main__\.py|(package|module)-info\.java|doc\.go|(mod|lib)\.rs|index\.[cm]?[jt]sx?"
    r"|AssemblyInfo\.cs|GlobalUsings\.cs)$"
)
_DECLARATIONS = re.compile(r"\.(d\.[cm]?ts|pyi)$")
_CODE = re.compile(
    r"\.(py|pyi|pyx|[cm]?[jt]sx?|go|java|kts?|scala|groovy|rs|cs|fs|vb|c|h|cc|hh|cpp|hpp|cxx|m|mm|swift|rb|php|pl|lua|r|jl"
    r"|ex|exs|erl|hs|ml|clj|dart|zig|nim|sh|bash|ps1|sql|vue|svelte|proto)$",
    re.IGNORECASE,
)
#: A file by such a name is called as its folder is.
_NAMELESS = frozenset(["__init__", "__main__", "index", "mod", "lib", "main"])
#: Parts of an identifier: capitals before a word, words, capitals, numbers; `v3` and `s3` are one part.
_PARTS = re.compile(r"(?<![A-Za-z])[A-Za-z]{1,2}\d+(?![A-Za-z])|[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")


@lru_cache(maxsize=4096)
def is_test_path(path: str) -> bool:
    """Whether a file holds tests, by where it is and how it is called.

    >>> is_test_path("tests/test_a.py"), is_test_path("src/contest.py"), is_test_path("pkg/a_test.go")
    (True, False, True)
    """
    return _TESTS.search(path) is not None and _PRODUCT.search(path) is None


def is_example(path: str) -> bool:
    """Whether a file shows how others are used."""
    return _EXAMPLES.search(path) is not None


def is_shim(path: str) -> bool:
    """Whether a file is there for old callers, was taken from elsewhere, or was written by a program."""
    return _SHIMS.search(path) is not None


def is_reexport(path: str) -> bool:
    """Whether a file, by its name, mostly hands on what others define."""
    return _REEXPORTS.search(path) is not None


def is_declaration(path: str) -> bool:
    """Whether a file says what there is, and not how it works."""
    return _DECLARATIONS.search(path) is not None


def is_code(path: str) -> bool:
    """Whether a file is source code, and no text or setting that comes with it."""
    return _CODE.search(path) is not None


def named_after(path: str) -> tuple[str, list[str]]:
    """What a file is called, and its folders, the nearest last. One that is called by its role has its folder's name.

    >>> named_after("src/models/bpe/model.rs"), named_after("src/models/wordpiece/mod.rs")
    (('model', ['src', 'models', 'bpe']), ('wordpiece', ['src', 'models']))
    """
    *folders, last = path.split("/")
    stem = last.split(".", 1)[0] or last
    if stem in _NAMELESS and folders:
        stem = folders.pop()
    return stem, folders


@lru_cache(maxsize=16384)
def name_parts(name: str) -> tuple[str, ...]:
    """The words of an identifier, in small letters.

    >>> name_parts("getHTTPHeader"), name_parts("file_transfer_s3")
    (('get', 'http', 'header'), ('file', 'transfer', 's3'))
    """
    return tuple(part.lower() for part in _PARTS.findall(name))
