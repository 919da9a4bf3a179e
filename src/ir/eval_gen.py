"""Cases written by machine: queries that an artifact should answer, and queries that nothing should.

The name of an artifact is hidden from whoever writes its queries, and a query that uses it anyway is thrown away:
otherwise the evaluation would measure whether retrieval can find a name. Any callable can do the writing; without one,
the configured language model does. Where that fails, queries are taken from the texts themselves and say so in
``metadata["generator"]``: they are easier to answer than a person's, so read their figures with that in mind.
"""

from __future__ import annotations

import hashlib
import math
import random
import re
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ir.errors import InvalidInput, LlmError
from ir.eval.cases import DiscoveryCase
from ir.index.progress import Listener, Ticker
from ir.options import count
from ir.protocols import CorpusOrName, Source, WithScope
from ir.secrets.texts import for_show
from ir.strategy.markdown import first_title
from ir.strategy.prose import prose_of
from ir.strategy.text import layout_of

__all__ = [
    "NAME_PLACEHOLDER",
    "Queries",
    "build_eval_set",
    "corpus_signature",
    "extract_queries",
    "generate_abstention_cases",
    "generate_cases",
    "leaks_name",
    "make_llm_abstention_generator",
    "make_llm_query_generator",
    "mask_name",
]

DFLT_QUERIES_PER_ARTIFACT = 5
DFLT_ABSTENTION_FRAC = 0.15
DFLT_MIN_DESCRIPTION_CHARS = 20
DFLT_ABSTENTION_THEME = "software developer tools"
NAME_PLACEHOLDER = "this capability"
_OTHER_PLACEHOLDER = "the item"
_MAX_DESCRIPTION_CHARS = 4000
_GIVE_UP_AFTER = 3
_LONGEST_SUFFIX = 8
#: Files of these names say nothing of what they hold; their folder does.
_EVERYWHERE = frozenset({"readme", "index", "skill", "main", "__init__"})

#: ``(description, *, n) -> queries``
QueryGenerator = Callable[..., Sequence[str]]
#: ``(*, n, theme) -> queries``
AbstentionGenerator = Callable[..., Sequence[str]]

QUERY_PROMPT = """\
Somebody needs what is described between the lines below, but does not know that it exists or what it is called.

---
{description}
---

Write {n} different requests that such a person might type. Vary length and wording: a question, a command, a few
keywords. Use the words of the person, not those of the description, and never name the thing. Write one request on
each line and nothing else.
"""

ABSTENTION_PROMPT = """\
A catalogue covers one field: {theme}.

Write {n} different requests that people could make in good faith, to which nothing in that catalogue is an answer.
Take them from many other fields. Write one request on each line and nothing else.
"""


class Queries(list[str]):
    """Queries that know what wrote them."""

    def __init__(self, queries: Iterable[str] = (), generator: str = "custom") -> None:
        super().__init__(queries)
        self.generator = generator


def _name_parts(name: str) -> list[str]:
    """The words of a name, however they are joined: ``pdfReader_v2`` has pdf, reader and v2."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name)
    parts = [part.lower() for part in re.split(r"[\W_]+", spaced) if part]
    return parts if sum(map(len, parts)) > 1 else []


def _name_pattern(name: str) -> re.Pattern[str] | None:
    parts = _name_parts(name)
    if not parts:
        return None
    joined = r"[\s_./-]*".join(re.escape(part) for part in parts)
    return re.compile(rf"(?<![^\W_]){joined}(?![^\W_])", re.IGNORECASE)


def mask_name(text: str, name: str, *, placeholder: str = NAME_PLACEHOLDER) -> str:
    """``text`` with every mention of ``name`` replaced, however its words are cased or joined; whole words only.

    >>> mask_name("Use ci-advisor; CI Advisor is specific.", "ci_advisor")
    'Use this capability; this capability is specific.'
    """
    pattern = _name_pattern(name)
    if pattern is None:
        return text
    instead = _OTHER_PLACEHOLDER if pattern.search(placeholder) else placeholder
    return pattern.sub(lambda _: instead, text)


def leaks_name(text: str, name: str) -> bool:
    """Whether ``text`` gives the name away: as a phrase, or by holding all its words (of at least two) in any order.

    >>> leaks_name("an advisor for my ci runs", "ci-advisor"), leaks_name("an advisor for builds", "ci-advisor")
    (True, False)
    """
    pattern = _name_pattern(name)
    if pattern is None:
        return False
    if pattern.search(text):
        return True
    parts = set(_name_parts(name))
    return len(parts) > 1 and parts <= set(re.findall(r"[^\W_]+", text.lower()))


def _lines(answer: str) -> list[str]:
    """The requests of an answer: bullets, numbers and quotes around a line are dropped, doubles too."""
    bare = [
        re.sub(r"^\s*(?:[-*•–]|\d+[.)])\s+", "", line).strip().strip("\"'“”`").strip() for line in answer.splitlines()
    ]
    return list(dict.fromkeys(line for line in bare if len(line) > 2 and not line.startswith(("```", "---"))))


def extract_queries(description: str, *, n: int) -> Queries:
    """The first ``n`` sentences of a description: what there is without a language model.

    Code, tables and headings of Markdown are nobody's questions, and are left out. Where other sentences are left, so
    are those that a name was hidden in.

    >>> extract_queries("# Tables\\n\\nReads PDF files. Finds tables in them!", n=1)
    ['Reads PDF files']
    """
    sentences = [piece for block in prose_of(description) for piece in re.split(r"(?<=[.!?])\s+", block)]
    bare = [sentence.strip(" \t.!?:#*-") for sentence in sentences]
    spoken = [sentence[:200] for sentence in bare if sum(map(str.isalpha, sentence)) > 8]
    unmasked = [sentence for sentence in spoken if not _hides_name(sentence)]
    return Queries((unmasked or spoken)[:n], "extracted")


def _hides_name(sentence: str) -> bool:
    return NAME_PLACEHOLDER in sentence or _OTHER_PLACEHOLDER in sentence


class _Asker:
    """Asks a language model for lines; after a few failures in a row it stops asking and says so once."""

    def __init__(self, complete: Callable[[str], str] | None, settings: Mapping[str, Any]) -> None:
        if complete is None:
            from ir.llm import first_use

            complete = first_use(**settings)
        self._complete = complete
        self._failures = 0

    def ask(self, prompt: str, n: int) -> list[str]:
        if self._failures >= _GIVE_UP_AFTER:
            return []
        try:
            lines = _lines(str(self._complete(prompt)))[:n]
        except LlmError as error:
            self._failed(str(error))
            return []
        if not lines:
            self._failed("it answered with nothing that can be used.")
            return []
        self._failures = 0
        return lines

    def _failed(self, why: str) -> None:
        self._failures += 1
        if self._failures == _GIVE_UP_AFTER:
            warnings.warn(
                f"The language model failed {_GIVE_UP_AFTER} times in a row and is not asked again: {why} "
                "Queries are taken from the texts instead.",
                stacklevel=4,
            )


def make_llm_query_generator(*, complete: Callable[[str], str] | None = None, **settings: Any) -> QueryGenerator:
    """Queries written by a language model, or taken from the description where it fails."""
    asker = _Asker(complete, settings)

    def generate(description: str, *, n: int) -> Queries:
        written = asker.ask(QUERY_PROMPT.format(description=description[:_MAX_DESCRIPTION_CHARS], n=n), n)
        return Queries(written, "llm") if written else extract_queries(description, n=n)

    return generate


def make_llm_abstention_generator(
    *, complete: Callable[[str], str] | None = None, seed: int = 0, **settings: Any
) -> AbstentionGenerator:
    """Off-topic queries written by a language model; where it fails, some of the probes that ship with the package."""
    asker = _Asker(complete, settings)

    def generate(*, n: int, theme: str) -> Queries:
        written = asker.ask(ABSTENTION_PROMPT.format(theme=theme, n=n), n)
        if written:
            return Queries(written, "llm")
        from ir.select.probes import probe_queries

        probes = list(probe_queries())
        return Queries(random.Random(seed).sample(probes, min(n, len(probes))), "probes")

    return generate


def _describe(raw: Any) -> str:
    if isinstance(raw, Mapping):
        for key in ("description", "text", "content", "body"):
            value = raw.get(key)
            if isinstance(value, str) and value.strip():
                return value
        texts = (value for key, value in raw.items() if not str(key).startswith("_"))
        return "\n".join(value for value in texts if isinstance(value, str))
    return str(raw)


def _names(artifact_id: str, raw: Any, description: str) -> list[str]:
    """What an artifact is called, longest first: by its name or id, its file, its title and its first heading."""
    told = raw if isinstance(raw, Mapping) else {}
    name = told.get("name")
    found = [name if isinstance(name, str) and name.strip() else artifact_id, _file_name(artifact_id)]
    found += [told.get("title"), first_title(description) if layout_of(artifact_id, raw) == "markdown" else None]
    names = [name.strip() for name in found if isinstance(name, str) and name.strip()]
    return sorted(dict.fromkeys(names), key=len, reverse=True)


def _file_name(artifact_id: str) -> str | None:
    """The name of a file without its suffix, or of the folder of one that is called as in every folder."""
    *folders, last = artifact_id.split("/")
    stem, dot, suffix = last.rpartition(".")
    if not folders and not (dot and stem and suffix.isalnum() and len(suffix) <= _LONGEST_SUFFIX):
        return None
    own = stem or last
    return own if own.lower() not in _EVERYWHERE else folders[-1] if folders else None


def generate_cases(
    source: Source | Mapping[str, Any],
    *,
    k: int = DFLT_QUERIES_PER_ARTIFACT,
    mask_names: bool = True,
    query_generator: QueryGenerator | None = None,
    describe: Callable[[Any], str] | None = None,
    min_chars: int = DFLT_MIN_DESCRIPTION_CHARS,
    max_artifacts: int | None = None,
    corpus_name: str | None = None,
    on_skip: Callable[[str, str], None] | None = None,
    progress: Listener | None = None,
) -> list[DiscoveryCase]:
    """Up to ``k`` cases for each artifact of ``source`` (or of a mapping from ids to items), with the artifact as gold.

    An artifact that cannot be read, says less than ``min_chars``, or for which the generator fails is passed over:
    ``on_skip(artifact_id, reason)`` is told of each, and one warning counts them. With ``max_artifacts``, the first
    ones by id are taken.
    """
    k = count("k", k)
    if max_artifacts is not None and max_artifacts < 1:
        raise InvalidInput(f"max_artifacts must be at least 1, not {max_artifacts!r}.")
    generate = query_generator or make_llm_query_generator()
    scope = source if isinstance(source, Mapping) else source.scope
    ids = list(scope) if max_artifacts is None else sorted(scope)[:max_artifacts]
    cases: list[DiscoveryCase] = []
    skipped: dict[str, str] = {}
    ticker = Ticker(progress, "write cases", len(ids), unit="items")
    for artifact_id in ids:
        ticker.tick()
        try:
            raw = scope[artifact_id]
            description = (describe or _describe)(raw).strip()
            names = _names(artifact_id, raw, description) if mask_names else []
            if len(description) < min_chars:
                raise InvalidInput(f"Its description has fewer than {min_chars} characters.")
            queries = generate(for_show(_masked(description, names)), n=k)
            found = _cases(artifact_id, names if mask_names else None, queries, k, corpus_name)
            if not found:
                raise InvalidInput("No usable query was written for it.")
            cases.extend(found)
        except Exception as error:  # whatever one artifact's generator does, the others still get their cases
            skipped[artifact_id] = str(error)
    ticker.end()
    for artifact_id, reason in skipped.items():
        if on_skip is not None:
            on_skip(artifact_id, reason)
    if skipped:
        first = next(iter(skipped))
        warnings.warn(
            f"No cases for {len(skipped)} of {len(ids)} artifacts, among them {first!r}: {skipped[first]}", stacklevel=2
        )
    return cases


def _cases(
    artifact_id: str, hidden: Sequence[str] | None, queries: Sequence[str], k: int, corpus_name: str | None
) -> list[DiscoveryCase]:
    metadata = {"generator": getattr(queries, "generator", "custom"), "masked": hidden is not None}
    usable = [text for text in _distinct(queries) if not any(leaks_name(text, name) for name in hidden or ())]
    return [DiscoveryCase(text, (artifact_id,), corpus_name, artifact_id, metadata) for text in usable[:k]]


def _masked(description: str, names: Sequence[str]) -> str:
    for name in names:
        description = mask_name(description, name)
    return description


def _distinct(queries: Sequence[str]) -> list[str]:
    """What a generator wrote, without blanks and doubles; one text stands for its lines."""
    given = _lines(queries) if isinstance(queries, str) else [str(query or "").strip() for query in queries]
    return [text for text in dict.fromkeys(given) if text]


def generate_abstention_cases(
    n: int,
    *,
    generator: AbstentionGenerator | None = None,
    theme: str = DFLT_ABSTENTION_THEME,
    corpus_name: str | None = None,
) -> list[DiscoveryCase]:
    """At most ``n`` cases without gold: requests outside of ``theme``."""
    if n <= 0:
        return []
    queries = (generator or make_llm_abstention_generator())(n=n, theme=theme)
    metadata = {"generator": getattr(queries, "generator", "custom"), "theme": theme}
    return [DiscoveryCase(text, (), corpus_name, None, metadata) for text in _distinct(queries)][:n]


def build_eval_set(
    source: Source | Mapping[str, Any],
    *,
    k: int = DFLT_QUERIES_PER_ARTIFACT,
    abstention_frac: float = DFLT_ABSTENTION_FRAC,
    query_generator: QueryGenerator | None = None,
    abstention_generator: AbstentionGenerator | None = None,
    theme: str = DFLT_ABSTENTION_THEME,
    corpus_name: str | None = None,
    **gen_kwargs: Any,
) -> list[DiscoveryCase]:
    """Cases with gold, then as many abstention cases as make up ``abstention_frac`` of the whole."""
    if not 0 <= abstention_frac < 1:
        raise InvalidInput(
            f"abstention_frac must be a share from 0 up to but not including 1, not {abstention_frac!r}."
        )
    gold = generate_cases(source, k=k, query_generator=query_generator, corpus_name=corpus_name, **gen_kwargs)
    # Rounded first: 3 * 0.25 / 0.75 should ask for one case, not two.
    wanted = math.ceil(round(abstention_frac * len(gold) / (1 - abstention_frac), 9))
    off_topic = generate_abstention_cases(wanted, generator=abstention_generator, theme=theme, corpus_name=corpus_name)
    return gold + off_topic


def corpus_signature(source_or_corpus: Source | Mapping[str, Any] | CorpusOrName) -> str:
    """A short hash of the artifact ids, whatever their order: keep it in a case file's ``__meta__``.

    >>> corpus_signature({"a": 1, "b": 2}) == corpus_signature({"b": 0, "a": 0})
    True
    """
    if isinstance(source_or_corpus, Mapping):
        ids: Iterable[str] = source_or_corpus
    elif isinstance(source_or_corpus, WithScope):
        ids = source_or_corpus.scope
    else:
        from ir.eval.retrieval import corpus_artifact_ids

        ids = corpus_artifact_ids(source_or_corpus)
    digest = hashlib.sha256()
    for artifact in sorted(map(str, ids)):
        digest.update(artifact.encode("utf-8", "surrogatepass") + b"\n")
    return digest.hexdigest()[:16]
