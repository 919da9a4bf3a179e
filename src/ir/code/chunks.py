"""What a chunk of code is: the definition that it is of, and what leads to it."""

from __future__ import annotations

import hashlib
import re
from typing import Any

from ir.base import Surface
from ir.code.facts import Facts
from ir.code.linking import symbol_key
from ir.code.units import Units

__all__ = ["INGESTED", "LEVELS", "CodeChunks", "about_text"]

#: Where a chunk comes from: a file, or somebody who wrote it for the corpus.
INGESTED = "ingested"
#: The level of a chunk by the type of what it is of; a function has that of a method.
LEVELS = {"module": "file", "type": "type", "doc": "doc"}
#: How much of a signature leads a text.
_SIGNATURE = 200
#: How much of what a file says of itself does.
_PURPOSE = 160
_LEGAL = re.compile(r"copyright|licen[sc]e|all rights reserved|\(c\)|eslint|prettier|@ts-|-\*-", re.IGNORECASE)


def about_text(key: str, kind: str, text: str, *, branch: str, provenance: str = INGESTED) -> dict[str, Any]:
    """The fields that every chunk of a code corpus has beside its place."""
    return {
        "symbolKey": key,
        "objectType": kind,
        "chunkLevel": LEVELS.get(kind, "method"),
        "provenance": provenance,
        "branch": branch,
        "contentHash": hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=16).hexdigest(),
    }


def _first_line(doc: str | None) -> str:
    """The first line of what a file says of itself, if it is a sentence and no licence."""
    line = next((line.strip() for line in (doc or "").splitlines() if line.strip()), "")
    words = line.split()
    return line[:_PURPOSE] if len(words) >= 3 and not _LEGAL.search(line) else ""


class CodeChunks:
    """The chunks of one file that was read."""

    def __init__(self, facts: Facts, text: str, family: str, branch: str) -> None:
        self._facts = facts
        self._family = family
        self._branch = branch
        self.cut = Units(facts, text)
        self._purpose = _first_line(facts.definitions[0].doc)

    def lead(self, start: int, end: int) -> str:
        """Path, owner and signature, and what the file says it is for: what a small function has to be read with."""
        trail = self._trail(start, end)
        return f"{trail}\n{self._purpose}" if self._purpose else trail

    def _trail(self, start: int, end: int) -> str:
        index = self.cut.definition_of(start, end)
        definition = self._facts.definitions[index]
        if not index:
            return self._facts.path
        owners = []
        at = definition.owner
        while at > 0:
            owners.append(self._facts.definitions[at].name)
            at = self._facts.definitions[at].owner
        signature = " ".join((definition.signature or definition.name).split())[:_SIGNATURE]
        return " > ".join(filter(None, (self._facts.path, ".".join(reversed(owners)), signature)))

    def described(self, surface: Surface) -> Surface:
        """A chunk with what it is: the definition that it is of, its level, and the others that begin in it."""
        start, end = surface.metadata.get("start", 0), surface.metadata.get("end", 0)
        index = self.cut.definition_of(start, end)
        definition = self._facts.definitions[index]
        key = self._key(index)
        about = {
            **surface.metadata,
            **about_text(key, definition.kind, surface.text, branch=self._branch),
            "lead": self.lead(start, end),
        }
        others = [self._key(one) for one in self.cut.starting_in(start, end) if one != index]
        if others:
            about["symbolKeys"] = others
        return Surface(surface.artifact_id, surface.kind, surface.text, surface.granularity, about)

    def _key(self, index: int) -> str:
        return symbol_key(self._family, self._facts.path, self._facts.definitions[index].symbol)
