"""What somebody refers to in a corpus: an artifact by its id, its path or a citation, and which lines of it.

>>> Reference.read("docs/a.md:12-40")
Reference(name='docs/a.md', first=12, last=40, corpus=None)
>>> Reference.read("ir://notes/docs/a%20b.md#L3").name
'docs/a b.md'
>>> str(Reference("docs/a.md", 12, 40))
'docs/a.md:12-40'
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from ir.base import ledger_key
from ir.errors import InvalidInput, NotFound, OutsideCorpus, Remedy

if TYPE_CHECKING:
    from ir.app.context import Context
    from ir.protocols import Store

__all__ = ["Reference", "find_artifact"]

#: The scheme of an address of something in a corpus.
SCHEME = "ir"
_LINES = re.compile(r"(?P<name>.+?)(?::|#L?)(?P<first>\d+)(?:(?:-L?|:)(?P<last>\d*))?", re.DOTALL)
#: Among so many ids a similar one is looked for.
_GUESSED_AMONG = 20_000
#: From here on a name may be meant by another: all paths of a folder end alike.
_ALIKE = 0.8


@dataclass(frozen=True)
class Reference:
    """``first`` and ``last`` are lines, counted from one; ``None`` where nobody said. ``corpus`` is in an address."""

    name: str
    first: int | None = None
    last: int | None = None
    corpus: str | None = None

    @classmethod
    def read(cls, word: str) -> Reference:
        """What a word refers to: ``id``, ``id:12``, ``id:12-40``, ``id:12-``, ``id#L12-L40`` or ``ir://corpus/id#L12``."""
        corpus = None
        text = word.strip()
        if text.startswith(f"{SCHEME}://"):
            parts = urlsplit(text)
            corpus = unquote(parts.netloc)
            text = unquote(parts.path.removeprefix("/")) + (f"#{parts.fragment}" if parts.fragment else "")
            if not corpus or not text or "/" in corpus or "\\" in corpus:
                raise InvalidInput(f"{word!r} is not the address of anything.", remedy="Write ir://CORPUS/ID#L12-L40.")
        if not text or "\x00" in text:
            raise InvalidInput(f"{word!r} refers to nothing.", remedy="Give an id, a path or a citation.")
        found = _LINES.fullmatch(text)
        if found is None:
            return cls(text, corpus=corpus)
        first, last = int(found["first"]), int(found["last"]) if found["last"] else None
        if found["last"] is None:  # one line, not an open end
            last = first
        if first < 1 or (last is not None and last < first):
            raise InvalidInput(
                f"{word!r} names lines that no text has.", remedy="Lines count from 1: write PATH:12-40."
            )
        return cls(found["name"], first, last, corpus)

    def __str__(self) -> str:
        if self.first is None:
            return self.name
        if self.last is None:
            return f"{self.name}:{self.first}-"
        return f"{self.name}:{self.first}" + (f"-{self.last}" if self.last != self.first else "")


def find_artifact(word: str, corpus: str, store: Store, ctx: Context) -> tuple[Reference, Mapping[str, Any]]:
    """The artifact that a word refers to, and its entry in the ledger.

    Only what is indexed can be found: an id, or a path below the folder that the corpus was made from; for who is in a
    folder, also a path from there. What leads anywhere else is refused, and so is the address of something in another
    corpus.
    """
    whole = word.strip()
    entry = None if whole.startswith(f"{SCHEME}://") else store.get_ledger_entry(ledger_key(whole))
    if entry is not None:  # an id may itself look like a citation
        return Reference(whole), entry
    asked = Reference.read(word)
    if asked.corpus is not None and asked.corpus != corpus:
        raise OutsideCorpus(f"{word!r} is in the corpus {asked.corpus!r}, and {corpus!r} was asked.")
    for name in _names(asked.name, corpus, ctx):
        entry = store.get_ledger_entry(ledger_key(name))
        if entry is not None:
            return Reference(name, asked.first, asked.last, asked.corpus), entry
    raise _missing(_inside(asked.name, corpus), corpus, store)


def _names(name: str, corpus: str, ctx: Context) -> Iterator[str]:
    """The ids that a path may stand for: as it is said, or as it is seen from where the user is."""
    root = None if ctx.for_agent else _root(corpus)
    here = None if root is None else Path(os.path.normpath(Path.cwd() / name))
    if here is not None and root is not None and here.is_relative_to(root):
        yield here.relative_to(root).as_posix()
    yield _inside(name, corpus)


def _inside(name: str, corpus: str) -> str:
    """The id of what a path names, if that lies in the corpus's folder."""
    plain = name.replace("\\", "/")
    if ".." in plain.split("/"):
        raise OutsideCorpus(f"{name!r} leads out of the corpus {corpus!r}.")
    if plain.startswith("~") or not (PurePosixPath(plain).is_absolute() or Path(name).is_absolute()):
        return plain.removeprefix("./") if plain.startswith("./") else name
    root = _root(corpus)
    if root is None or not Path(name).is_relative_to(root):
        raise OutsideCorpus(
            f"{name!r} is not in the folder that the corpus {corpus!r} was made from.",
            remedy=Remedy("Give a path relative to that folder, or an id.", agent="Give an id that a search shows."),
        )
    return Path(name).relative_to(root).as_posix()


def _root(corpus: str) -> Path | None:
    """The folder that a corpus was made from."""
    from ir.registry import entered

    root = entered().get(corpus, {}).get("params", {}).get("root")
    return Path(root) if isinstance(root, str) else None


def _missing(name: str, corpus: str, store: Store) -> NotFound:
    known = [str(found) for (found,) in store.ledger_fields("artifact_id")]
    near = [one for one in known if one.endswith(f"/{name}")][:1]
    if not near and len(known) <= _GUESSED_AMONG:
        near = get_close_matches(name, known, n=1, cutoff=_ALIKE)
    hint = f"Did you mean {near[0]!r}?" if near else "A search shows the ids of artifacts."
    return NotFound(f"There is no {name!r} in the corpus {corpus!r}.", remedy=hint)
