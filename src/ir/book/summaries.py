"""What a page says in a sentence or two, taken from the page itself."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence

__all__ = ["page_summaries", "summary_of"]

#: So much of a page is looked at, and so long is what is said of it.
_READ = 2400
_LONGEST = 220
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z\"“(])")
_WORD = re.compile(r"[^\W\d_]{4,}")


def page_summaries(text: str, pages: Sequence[int]) -> Mapping[int, str]:
    """A summary of each page, by its number from 1; ``pages`` are the offsets at which they begin."""
    ends = [*pages[1:], len(text)]
    found = {}
    for number, (start, end) in enumerate(zip(pages, ends, strict=True), 1):
        told = summary_of(text[start : min(end, start + _READ)])
        if told:
            found[number] = told
    return found


def summary_of(page: str) -> str:
    """The sentences that share most words with the rest of their page, in their order.

    >>> summary_of("# Fire\\nA fireball burns creatures. So it is. The burns of a fireball hurt creatures.")
    'A fireball burns creatures. The burns of a fireball hurt creatures.'
    """
    prose = " ".join(line for line in page.split("\n") if not line.startswith("#"))
    sentences = [" ".join(one.split()) for one in _SENTENCE.split(prose)]
    words = [_WORD.findall(one.lower()) for one in sentences]
    known = Counter(word for found in words for word in found)
    order = sorted(
        (at for at, found in enumerate(words) if len(found) >= 2 and len(sentences[at]) <= _LONGEST),
        key=lambda at: (-sum(known[word] for word in set(words[at])) / (len(words[at]) + 4), at),
    )
    kept: list[int] = []
    left = _LONGEST
    for at in order:
        if len(sentences[at]) <= left:
            kept.append(at)
            left -= len(sentences[at]) + 1
        if left < 40:
            break
    return " ".join(sentences[at] for at in sorted(kept))
