"""Texts in the files of a package: paragraphs, docstrings, comments, definitions. Each kind has its reader."""

from __future__ import annotations

import ast
import gzip
import html
import json
import random
import re
import tarfile
import warnings
import zipfile
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from distil.plain import is_prose, plain, sentences, without_markup

#: Folders whose texts are not the authors' own, or not about anything.
_SKIPPED = re.compile(
    r"(^|/)(tests?|testing|_vendor|vendor(ed)?|node_modules|locale|licen[cs]es?|data/samples)(/|$)", re.I
)
_NOTICES = re.compile(r"(^|/)(licen[cs]e|copying|notice|authors|contributors|requirements|thanks|sources)[^/]*$", re.I)
_TOLD = frozenset(["description", "summary", "documentation", "definition", "doc", "title", "comment", "label"])
_COMMENT = re.compile(r"^[ \t]*#[ \t]?([^!\n].*)$", re.M)
_BLOCK = re.compile(r"/\*\*(.*?)\*/", re.S)
_QUOTED = re.compile(r'description:"((?:[^"\\]|\\.){12,300})"')
#: Longer JSON files are generated many times over; the first part is enough.
_MOST_BYTES = 12_000_000
#: The texts that one file may give where there are many files alike.
_MOST_TEXTS = 60

#: A paragraph is not longer; tables and data are.
_LONGEST = 4000

#: What a reader yields: a kind, and a text. ``code`` holds identifiers, all else is prose.
Texts = Iterator[tuple[str, str]]


def files(path: Path, wanted: Callable[[str], object]) -> Iterator[tuple[str, bytes]]:
    """The wanted members of an archive, in an order that is random but always the same.

    A reader need not see all of a package then to see a fair sample of it.
    """
    if path.suffix in (".whl", ".zip"):
        with zipfile.ZipFile(path) as archive:
            found = [(name, archive.read(name)) for name in archive.namelist() if wanted(name)]
    else:
        with tarfile.open(path) as archive:
            members = (member for member in archive if member.isfile() and wanted(member.name))
            found = [(member.name, archive.extractfile(member).read()) for member in members]  # type: ignore[union-attr]
    found.sort()
    random.Random(path.name).shuffle(found)
    yield from found


def ends(*endings: str) -> Callable[[str], bool]:
    """Whether a name has one of these endings."""
    return lambda name: name.endswith(endings)


def project(path: Path) -> Texts:
    """A source distribution: its documentation, docstrings and comments."""
    for name, raw in files(path, _is_told):
        if name.endswith(".py"):
            yield from python(_decoded(raw))
        elif name.endswith((".ts", ".js")):
            yield from comments(_decoded(raw))
        else:
            yield from (("prose", text) for text in paragraphs(_decoded(raw)))


def _is_told(name: str) -> bool:
    if _SKIPPED.search(name) or _NOTICES.search(name) or ".min." in name:
        return False
    return name.endswith((".rst", ".md", ".txt", ".inc", ".py", ".ts", ".js"))


def python(source: str) -> Texts:
    """Docstrings with the names they belong to, comments, and the first lines of functions."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return
    lines = source.splitlines()
    for node in ast.walk(tree):
        if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        told = paragraphs(ast.get_docstring(node) or "")
        first = next(told, "")
        if isinstance(node, ast.Module):
            if first:
                yield "prose", first
        elif first:
            yield "code", f"{node.name} {first}"
            yield "prose", first
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield "code", plain(" ".join(lines[node.lineno - 1 : node.lineno + 7]))
        for text in told:
            yield "prose", text
    for text in _COMMENT.findall(source):
        if is_prose(text):
            yield "code", plain(text)


def comments(source: str) -> Texts:
    """The comments that document JavaScript and TypeScript, each with the line after it."""
    for found in _BLOCK.finditer(source):
        said = re.sub(r"^\s*\* ?", "", found[1], flags=re.M).partition("\n@")[0]
        after = source[found.end() : found.end() + 200].strip().partition("\n")[0]
        first = next(paragraphs(said), "")
        if first:
            yield "code", plain(f"{after[:80]} {first}")
            yield "prose", first


def described(path: Path) -> Texts:
    """JSON and YAML-like data that describe something: the values of keys such as ``description``."""
    for name, raw in files(path, ends(".json", ".json.gz")):
        raw = gzip.decompress(raw) if name.endswith(".gz") else raw
        if "kubernetes" in name or name.endswith("package.json") or len(raw) > _MOST_BYTES:
            continue
        try:
            value = json.loads(raw)
        except ValueError:
            continue
        yield from (("prose", text) for text in islice(_values(value, ""), _MOST_TEXTS))


def _values(value: Any, key: str) -> Iterator[str]:
    if isinstance(value, dict):
        named = value.get("name") or value.get("operationId")
        for inner_key, inner in value.items():
            if isinstance(named, str) and inner_key in ("description", "summary") and isinstance(inner, str):
                yield from (f"{named}: {text}" for text in list(paragraphs(inner))[:1])
            yield from _values(inner, str(inner_key))
    elif isinstance(value, list):
        for inner in value:
            yield from _values(inner, key)
    elif isinstance(value, str) and key.lower() in _TOLD:
        yield from paragraphs(value)


def facts(path: Path) -> Texts:
    """JSON in which every longer text tells something."""
    for name, raw in files(path, ends(".json")):
        if "/data/" in name:
            yield from (("prose", text) for text in _long(json.loads(raw)))


def _long(value: Any) -> Iterator[str]:
    if isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _long(inner)
    elif isinstance(value, str) and len(value.split()) > 5:
        yield from paragraphs(value)


def options(path: Path) -> Texts:
    """Completions of command lines: what each command and option does."""
    for name, raw in files(path, ends(".js")):
        command = name.rpartition("/")[2][:-3]
        if "kube" in command:
            continue
        for number, text in enumerate(_QUOTED.findall(_decoded(raw))[:_MOST_TEXTS]):
            said = plain(text.replace("\\n", " ").replace('\\"', '"'))
            yield "prose", f"{command} {said}" if number % 3 == 0 else said


def books(path: Path) -> Texts:
    """Plain texts: speeches and novels."""
    for name, raw in files(path, ends(".txt")):
        if not name.endswith("-8.txt"):  # the same book in another encoding
            text = _decoded(raw)
            found = paragraphs(text) if "\n" in text.strip() else _grouped(plain(text))
            yield from (("prose", each) for each in found)


def wordnet(path: Path) -> Texts:
    """Definitions, with and without their words, and examples."""
    for _, raw in sorted(files(path, re.compile(r"dict/data\.\w+$").search)):
        for line in _decoded(raw).splitlines():
            if line.startswith("  ") or "|" not in line:
                continue
            data, _, gloss = line.partition("|")
            fields = data.split()
            words = [fields[4 + 2 * at].partition("(")[0].replace("_", " ") for at in range(int(fields[3], 16))]
            definition, *examples = gloss.strip().split('; "')
            yield "definition", f"{', '.join(words[:4])}: {definition}"
            for word in words:
                yield "term", word
            for example in examples:
                yield "example", example.strip('" ')


def icd(path: Path) -> Texts:
    """The classification of diseases: titles, and what each includes."""
    for _, raw in files(path, ends(".xml")):
        for text in re.findall(r"<(?:desc|note)>([^<]{8,})<", _decoded(raw)):
            yield "term", plain(html.unescape(text))


def ontologies(path: Path) -> Texts:
    """Ontologies of biology and medicine: labels, synonyms and definitions."""
    wanted = re.compile(r"/(MONDO|UBERON|CL|EFO|PATO)-ontology-[^/]*\.json\.gz$").search
    for _, raw in files(path, wanted):
        for entry in json.loads(gzip.decompress(raw)).values():
            if not isinstance(entry, dict) or entry.get("deprecated"):
                continue
            label, told = entry.get("label") or "", entry.get("description") or ""
            if label:
                yield "term", label
            if told:
                yield "definition", f"{label}: {next(sentences(without_markup(told)), '')}"
            for synonym in (entry.get("synonyms") or [])[:2]:
                yield "term", synonym


def paragraphs(text: str) -> Iterator[str]:
    """The paragraphs and headings of a text that read like prose, without markup, cut to about sixty words."""
    for block in re.split(r"\n\s*\n|\n(?=[ \t]*[-*] )", text):
        if len(block) > _LONGEST:
            continue
        said = without_markup(block)
        if not is_prose(said):
            continue
        if len(said.split()) <= 60:
            yield said
            continue
        yield from _grouped(said)


def _grouped(text: str) -> Iterator[str]:
    """Neighbouring sentences together, as many as make sixty words."""
    held: list[str] = []
    for sentence in sentences(text):
        words = sentence.split()[:60]
        if len(held) + len(words) > 60:
            yield " ".join(held)
            held = []
        held += words
    if held:
        yield " ".join(held)


def _decoded(raw: bytes) -> str:
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return raw.decode("latin-1")


READERS: dict[str, Callable[[Path], Texts]] = {
    reader.__name__: reader for reader in (project, described, facts, options, books, wordnet, icd, ontologies)
}
