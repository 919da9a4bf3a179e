"""Which language is a text in? Told by its most frequent words and its letters, as far as indexing needs to know.

A corpus keeps the language that is found here, so anything but English needs clear evidence: code, commands and
bare titles have few stop words of any language, English included.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator

from ir.analysis.languages import WITH_STOP_WORDS, stemmer_for

__all__ = ["AUTO", "detect_language"]

#: The language of a corpus that is to be detected.
AUTO = "auto"
UNKNOWN = "none"
#: What is assumed where there is too little text to tell.
DEFAULT = "english"
#: With fewer words than this, stop words prove nothing.
FEWEST_WORDS = 15
#: A share of distinctive stop words below this is too little to tell a language by. Prose reaches .12 to .4.
LEAST_SHARE = 0.06
#: How many different stop words of a language must occur, and how many times the weight of English they must have.
LEAST_DIFFERENT = 4
MARGIN = 1.25
#: A line is prose if at least this share of it is plain words; code, tables and commands have fewer.
PROSE = 0.7
#: If a text is unclear and more of its words than this are not ASCII, it is in a language that we do not know.
MOST_FOREIGN = 0.15
#: Only this many different words are looked at: stop words are among the most frequent ones.
MOST_WORDS = 1000

#: Languages that have a stemmer here but no list of stop words: by their letters, or by a few words of theirs.
_SCRIPTS = {
    "arabic": re.compile("[\u0620-\u064a]"),
    "greek": re.compile("[\u0370-\u03ff\u1f00-\u1fff]"),
    "tamil": re.compile("[\u0b80-\u0bff]"),
}
_FEW_WORDS = {
    "romanian": "și în este sunt pentru că nu mai din care pe cu sau fost",
    "turkish": "ve bir bu için ile olarak daha çok gibi olan değil kadar ama",
}
#: Languages without a stemmer here, listed so that they are not mistaken for one that has a stemmer.
_STRANGERS = {
    "bulgarian": "на да се от за че са със към като един което който през след",
    "catalan": "els amb és per una del són aquest aquesta però també més seva dels les",
    "croatian": "je koji koja nije kao što bio samo iz ili su nego kada još ali",
    "czech": "je že na se které který jako jsou pro není také než ale když jeho",
    "indonesian": "yang dan di ini itu dengan untuk dari dalam tidak pada adalah akan ke karena oleh saya bisa",
    "polish": "się nie jest że na który która które przez oraz dla jak do od tak są ale jego",
    "swahili": "ya na wa kwa ni katika za la kuwa hii cha hiyo watu",
    "tagalog": "ang ng sa mga na ay ito hindi ko isang kung para niya",
    "ukrainian": "та що не на це як від але його ще або для який яка були",
    "vietnamese": "của và là có không được cho một những trong với các này người",
}
_WORD = re.compile(r"[^\W\d_]+")
#: What stands between spaces in prose: words, joined by hyphens or apostrophes, with punctuation around them.
_PLAIN = re.compile(r"[\"'(\[«»“”„‘’¿¡*]*([^\W\d_]+(?:[-'’][^\W\d_]+)*)[\"')\]»«“”’.,;:!?…*]*")
#: Endings that lines of code have and sentences do not.
_CODE_END = re.compile(r"[;{}()\[=<>\\|&+]$")
_JOINED = re.compile(r"[-'’]")


def detect_language(texts: Iterable[str]) -> str:
    """The language of ``texts`` taken together, one of :data:`ir.analysis.LANGUAGES`.

    ``"none"`` for a language that is not among them, ``"english"`` where there is too little prose to tell.

    >>> detect_language(["Le chat est sur la table et il ne veut pas en descendre, car il y fait chaud pour lui."])
    'french'
    >>> detect_language(["git commit -m done && docker run -d -l app nginx"] * 20)
    'english'
    """
    every: Counter[str] = Counter()
    prose: Counter[str] = Counter()
    for text in texts:
        every.update(_WORD.findall(text.lower()))
        prose.update(_prose_words(text.lower()))
    return _by_script(every) or _by_stop_words(prose)


def _prose_words(text: str) -> Iterator[str]:
    """The words of two letters or more in lines that are prose. Single letters are variables, options and units."""
    for line in text.splitlines():
        tokens = line.split()
        plain = [match.group(1) for token in tokens if (match := _PLAIN.fullmatch(token))]
        if plain and len(plain) >= PROSE * len(tokens) and not _CODE_END.search(tokens[-1]):
            yield from (word for joined in plain for word in _JOINED.split(joined) if len(word) > 1)


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


def _by_stop_words(counts: Counter[str]) -> str:
    total = counts.total()
    if total < FEWEST_WORDS:
        return DEFAULT
    found = _stop_words(counts)
    weights = {name: sum(words.values()) for name, words in found.items()}
    best = max(weights, key=lambda name: (weights[name], name == DEFAULT))
    clear = weights[best] >= LEAST_SHARE * total and len(found[best]) >= LEAST_DIFFERENT
    if clear and (best == DEFAULT or weights[best] > MARGIN * weights[DEFAULT]):
        return UNKNOWN if best in _STRANGERS else best
    foreign = sum(count for word, count in counts.items() if not word.isascii())
    unsure = weights[DEFAULT] < LEAST_SHARE * total
    return UNKNOWN if unsure and foreign > MOST_FOREIGN * total else DEFAULT


def _stop_words(counts: Counter[str]) -> dict[str, dict[str, float]]:
    """For each language its stop words and how often they come; one that several share counts for each less."""
    stemmers = {name: stemmer_for(name, stop_words=True) for name in WITH_STOP_WORDS}
    few = {name: set(words.split()) for name, words in (_FEW_WORDS | _STRANGERS).items()}
    found: dict[str, dict[str, float]] = {name: {} for name in (*WITH_STOP_WORDS, *few)}
    for word, count in counts.most_common(MOST_WORDS):
        where = [name for name, stem in stemmers.items() if not stem(word)]
        where += [name for name, words in few.items() if word in words]
        for name in where:
            found[name][word] = count / len(where) ** 2
    return found
