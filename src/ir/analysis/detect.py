"""Which language is a text in? Told by its most frequent words and its letters, as far as indexing needs to know."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from ir.analysis.languages import WITH_STOP_WORDS, stemmer_for

__all__ = ["AUTO", "detect_language"]

#: The language of a corpus that is to be detected.
AUTO = "auto"
UNKNOWN = "none"
#: What is assumed where there is too little text to tell.
DEFAULT = "english"
#: With fewer words than this nothing is told from stop words.
FEWEST_WORDS = 20
#: A share of distinctive stop words below this says that the language is another one. Prose reaches .12 to .4, source
#: code with comments in English about .12, and languages that are not known mostly stay below .04.
LEAST_SHARE = 0.06
#: Only so many different words are looked at: stop words are among the most frequent ones.
MOST_WORDS = 1000

#: Languages that have a stemmer here but no list of stop words: by their letters, or by a few words of theirs.
_SCRIPTS = {
    "arabic": re.compile("[\u0620-\u064a]"),
    "greek": re.compile("[\u0370-\u03ff\u1f00-\u1fff]"),
    "tamil": re.compile("[\u0b80-\u0bff]"),
}
_FEW_WORDS = {
    "romanian": {"și", "în", "este", "sunt", "pentru", "că", "nu", "mai", "din", "care", "pe", "cu", "sau", "fost"},
    "turkish": {"ve", "bir", "bu", "için", "ile", "olarak", "daha", "çok", "gibi", "olan", "değil", "kadar", "ama"},
}
_WORD = re.compile(r"[^\W\d_]+")


def detect_language(texts: Iterable[str]) -> str:
    """The language of ``texts`` taken together, one of :data:`ir.analysis.LANGUAGES`.

    ``"none"`` for a language that is not among them, ``"english"`` where there is too little text to tell.

    >>> detect_language(["Le chat est sur la table et il ne veut pas en descendre, car il y fait chaud pour lui."])
    'french'
    """
    counts: Counter[str] = Counter()
    for text in texts:
        counts.update(_WORD.findall(text.lower()))
    total = counts.total()
    script = _by_script(counts)
    if script:
        return script
    if total < FEWEST_WORDS:
        return DEFAULT
    scores = _scores(counts)
    best = max(scores, key=lambda name: (scores[name], name == DEFAULT))
    return best if scores[best] / total >= LEAST_SHARE else UNKNOWN


def _by_script(counts: Counter[str]) -> str | None:
    """The language whose letters most words begin with; ``"none"`` for writing that has no stemmer here."""
    total = counts.total()
    for name, letters in _SCRIPTS.items():
        if sum(count for word, count in counts.items() if letters.match(word)) * 2 > total:
            return name
    known = sum(count for word, count in counts.items() if _is_latin_or_cyrillic(word[0]))
    return UNKNOWN if total and known * 2 < total else None


def _is_latin_or_cyrillic(letter: str) -> bool:
    return letter < "\u0250" or "\u1e00" <= letter < "\u1f00" or "\u0400" <= letter < "\u0530"


def _scores(counts: Counter[str]) -> dict[str, float]:
    """How often words come that are stop words of a language; one that several languages share counts for each less."""
    stemmers = {name: stemmer_for(name, stop_words=True) for name in WITH_STOP_WORDS}
    scores = dict.fromkeys((*WITH_STOP_WORDS, *_FEW_WORDS), 0.0)
    for word, count in counts.most_common(MOST_WORDS):
        where = [name for name, stem in stemmers.items() if not stem(word)]
        where += [name for name, words in _FEW_WORDS.items() if word in words]
        for name in where:
            scores[name] += count / len(where) ** 2
    return scores
