"""Options as values: checked once, when they are made, and then passed whole."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from inspect import Parameter, signature
from numbers import Integral
from typing import Any, TypedDict, TypeVar

from ir.errors import InvalidInput
from ir.filters import Filter, parse_filter

__all__ = [
    "AUTO_GRAPH",
    "AUTO_RANKING",
    "DFLT_ALPHA",
    "DFLT_FUSION",
    "DFLT_RERANK_MAX_CHARS",
    "DFLT_RRF_K",
    "FUSIONS",
    "GRAPHS",
    "KEYWORD_BACKENDS",
    "LANGUAGES",
    "MODES",
    "RANKINGS",
    "WHOLE_ALPHA",
    "WHOLE_FUSION",
    "CorpusDefault",
    "SearchKeywords",
    "SearchOptions",
    "choice",
    "count",
    "shows_keywords",
]

_Function = TypeVar("_Function", bound=Callable[..., Any])

MODES = ("dense", "lexical", "hybrid")
FUSIONS = ("rrf", "blend", "minmax", "dbsf", "minmax_corpus")
#: The fusion that scales over the whole corpus, and what meaning counts in it unless the caller says otherwise.
WHOLE_FUSION = "minmax_corpus"
WHOLE_ALPHA = 0.6
#: Which engine is asked for words alone; the first is the store that keeps the corpus.
KEYWORD_BACKENDS = ("embedded", "postgres-tsvector", "postgres-bm25", "milvus", "azure-ai-search")
#: What ranks beside meaning and words: what is known of source code or of books, or nothing.
RANKINGS = ("code", "book", "plain")
#: The word of settings and commands for the ranking that the corpus asks for.
AUTO_RANKING = "auto"
#: How the links of good candidates lift others: see :class:`ir.book.GraphBoost`. ``top`` is another name of frontier.
GRAPHS = ("additive", "frontier", "propagate", "expand", "none")
_GRAPH_ALIASES = {"top": "frontier"}
#: The word of settings and commands for what the corpus asks for.
AUTO_GRAPH = "auto"
#: What ``language`` may be; ``"none"`` neither stems nor drops stop words.
LANGUAGES = (
    *("arabic", "danish", "dutch", "english", "finnish", "french", "german", "greek", "hungarian", "italian"),
    *("norwegian", "portuguese", "romanian", "russian", "spanish", "swedish", "tamil", "turkish", "none"),
)
DFLT_RRF_K = 60
DFLT_FUSION = "blend"


class CorpusDefault(float):
    """A default that a corpus may replace by its own: the same number, and yet not one that a caller wrote."""


#: The weight of the dense channel, where neither the caller nor the corpus has another.
DFLT_ALPHA = CorpusDefault(0.5)
RERANK_TEXTS = ("surface", "artifact")
#: How much of an artifact a reranker is given: more than models of this kind read, and cheap to put together.
DFLT_RERANK_MAX_CHARS = 2000


def choice(what: str, value: object, allowed: Iterable[str]) -> str:
    """``value`` if it is one of ``allowed``, else an error that lists them."""
    names = tuple(allowed)
    if isinstance(value, str) and value in names:
        return value
    from difflib import get_close_matches  # for those who err

    near = get_close_matches(str(value), names, n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    raise InvalidInput(f"Unknown {what} {value!r}; use one of {', '.join(map(repr, names))}.{hint}")


def _number(what: str, value: Any, low: float, high: float = float("inf"), *, above: bool = False) -> float:
    ok = isinstance(value, (int, float, Integral)) and not isinstance(value, bool)
    if ok and abs(value) < float("inf") and (value > low if above else value >= low) and value <= high:
        return float(value)
    bound = f"above {low:g}" if above else f"at least {low:g}"
    bound += "" if high == float("inf") else f" and at most {high:g}"
    raise InvalidInput(f"{what} must be a number {bound}, not {value!r}.")


def count(what: str, value: object, least: int = 1) -> int:
    """``value`` as an ``int`` if it is a whole number, also one of numpy's, of at least ``least``, else an error."""
    if isinstance(value, bool) or not isinstance(value, (int, Integral)) or value < least:
        raise InvalidInput(f"{what} must be a whole number of at least {least}, not {value!r}.")
    return int(value)


class SearchKeywords(TypedDict, total=False):
    """The keywords of :func:`ir.search`, for editors and type checkers; :class:`SearchOptions` has the defaults."""

    k: int
    filter: Mapping[str, Any] | Filter | None
    surfaces: Iterable[str] | None
    per_artifact: bool | int
    mode: str
    fusion: str
    rrf_k: float
    alpha: float
    bm25_sat_k: float | None
    fetch_k: int | None
    rerank: Any
    bm25: Mapping[str, float] | None
    formulate: Callable[[str], Any] | None
    explain: bool
    surface_weights: Mapping[str, float] | None
    depth: int | None
    rerank_weight: float | None
    rerank_text: str
    graph_boost: Callable[[Any], float] | None
    feedback: float
    rerank_max_chars: int
    dep_boost: Callable[[Any], float] | None
    boosts: Callable[[Any], Any] | Sequence[Callable[[Any], Any]] | None
    exit_when: Callable[[Any], Any] | None
    expansion: Callable[[Any], Any] | None
    space: str | None
    words: str | None
    meaning: str | None
    ranking: str | Callable[[Any], Any] | None
    graph: str | Mapping[str, Any] | Callable[[Any], Any] | None
    chapters: int | None
    graph_first: bool
    aliases: bool | Mapping[str, Any] | None


@dataclass(frozen=True)
class SearchOptions:
    """How to search: the keywords of :func:`ir.search`, validated.

    >>> SearchOptions.of(k=0)
    Traceback (most recent call last):
    ...
    ir.errors.InvalidInput: k must be a whole number of at least 1, not 0.
    """

    k: int = 10
    filter: Filter | None = None
    surfaces: frozenset[str] | None = None
    per_artifact: bool | int = True
    mode: str = "dense"
    fusion: str = DFLT_FUSION
    rrf_k: float = DFLT_RRF_K
    alpha: float = DFLT_ALPHA
    bm25_sat_k: float | None = None
    fetch_k: int | None = None
    rerank: Any = None
    bm25: Mapping[str, float] | None = None
    formulate: Callable[..., Any] | None = None
    explain: bool = False
    surface_weights: Mapping[str, float] | None = None
    depth: int | None = None
    rerank_weight: float | None = None
    rerank_text: str = "surface"
    graph_boost: Any = None
    feedback: float = 0.0
    rerank_max_chars: int = DFLT_RERANK_MAX_CHARS
    dep_boost: Any = None
    boosts: tuple[Callable[..., Any], ...] = ()
    exit_when: Callable[..., Any] | None = None
    expansion: Callable[..., Any] | None = None
    space: str | None = None
    words: str | None = None
    meaning: str | None = None
    ranking: str | Callable[..., Any] | None = None
    graph: str | Mapping[str, Any] | Callable[..., Any] | None = None
    chapters: int | None = None
    graph_first: bool = False
    aliases: bool | Mapping[str, Any] | None = None

    @classmethod
    def of(cls, **keywords: Any) -> SearchOptions:
        """Options from a caller's keywords; an unknown one is an error that names the known ones."""
        if not _KNOWN.issuperset(keywords):
            for name in keywords:
                choice("search option", name, sorted(_KNOWN))
        given = dict(keywords)
        given["filter"] = parse_filter(given.get("filter"))
        if given.get("surfaces") is not None:
            given["surfaces"] = _surfaces(given["surfaces"])
        if "boosts" in given:
            given["boosts"] = _boosts(given["boosts"])
        return cls(**given)

    def __post_init__(self) -> None:
        for name in ("k", "fetch_k", "depth", "rerank_max_chars", "chapters"):
            value = getattr(self, name)
            if value is not None or name in ("k", "rerank_max_chars"):
                # Stores pass them on to libraries that take no other whole numbers than Python's.
                object.__setattr__(self, name, count(name, value))
        if not isinstance(self.per_artifact, bool):
            object.__setattr__(self, "per_artifact", count("per_artifact", self.per_artifact))
        choice("mode", self.mode, MODES)
        choice("fusion", self.fusion, FUSIONS)
        choice("rerank_text", self.rerank_text, RERANK_TEXTS)
        _number("rrf_k", self.rrf_k, 0, above=True)
        _number("alpha", self.alpha, 0, 1)
        _number("feedback", self.feedback, 0, 1)
        if self.bm25_sat_k is not None:
            _number("bm25_sat_k", self.bm25_sat_k, 0, above=True)
        if self.rerank_weight is not None:
            _number("rerank_weight", self.rerank_weight, 0, 1)
        if self.bm25 is not None:
            _check_bm25(self.bm25)
        if self.surface_weights is not None:
            _check_weights(self.surface_weights)
        for name in ("formulate", "graph_boost", "dep_boost", "exit_when", "expansion"):
            value = getattr(self, name)
            if value is not None and not callable(value):
                raise InvalidInput(f"{name} must be callable, not {value!r}.")
        if self.ranking is not None and not callable(self.ranking):
            choice("ranking", self.ranking, RANKINGS)
        self._check_graph()
        if self.space is not None and not isinstance(self.space, str):
            raise InvalidInput(f"space must be the name of a space of vectors, not {self.space!r}.")
        for name in ("words", "meaning"):
            text = getattr(self, name)
            if text is not None and (not isinstance(text, str) or not text.strip()):
                raise InvalidInput(f"{name} must be text that is not empty, not {text!r}.")

    def _check_graph(self) -> None:
        if isinstance(self.graph, str):
            object.__setattr__(self, "graph", choice("graph", _GRAPH_ALIASES.get(self.graph, self.graph), GRAPHS))
        elif self.graph is not None and not callable(self.graph) and not isinstance(self.graph, Mapping):
            raise InvalidInput(f"graph must be a name, a table of fields or a GraphBoost, not {self.graph!r}.")
        if not isinstance(self.graph_first, bool):
            raise InvalidInput(f"graph_first must be true or false, not {self.graph_first!r}.")
        if self.aliases is not None and not isinstance(self.aliases, (bool, Mapping)):
            raise InvalidInput(f"aliases must be true, false or a table of names, not {self.aliases!r}.")

    def with_alpha(self, alpha: float) -> SearchOptions:
        """The same with another weight of the dense channel; the rest has been checked, which takes its time."""
        other = object.__new__(SearchOptions)
        other.__dict__.update(self.__dict__, alpha=_number("alpha", alpha, 0, 1))
        return other

    def with_ranking(self, name: str) -> SearchOptions:
        """The same with the ranking that a corpus asks for."""
        other = object.__new__(SearchOptions)
        other.__dict__.update(self.__dict__, ranking=choice("ranking", name, RANKINGS))
        return other

    def with_graph(self, graph: str | Mapping[str, Any]) -> SearchOptions:
        """The same with the boost along links that a corpus asks for."""
        other = object.__new__(SearchOptions)
        other.__dict__.update(self.__dict__, graph=graph)
        other._check_graph()
        return other

    @property
    def each(self) -> int:
        """How many hits of one artifact there may be, if they are apart; 1 also where every record is one."""
        return max(1, int(self.per_artifact))

    @property
    def candidates(self) -> int:
        """How many records to consider before collapsing to artifacts."""
        if self.fetch_k is not None:
            return self.fetch_k
        # A boost that saw only what is returned anyway could bring in nothing.
        wide = self.per_artifact or self.dep_boost is not None or self.boosts or self.ranks or self.links
        return max(5 * self.k, 50) if wide else self.k

    @property
    def ranks(self) -> bool:
        """Whether there is a ranking beside that of the channels."""
        return self.ranking is not None and self.ranking != "plain"

    @property
    def links(self) -> bool:
        """Whether candidates gain by their links."""
        return self.graph is not None and self.graph != "none"

    @property
    def whole(self) -> bool:
        """Whether every record of the corpus is scored, so that scores can be scaled over all of them."""
        return self.mode == "hybrid" and self.fusion == WHOLE_FUSION

    @property
    def narrows(self) -> bool:
        """Whether only a part of the corpus is searched, which the question chooses."""
        return self.chapters is not None or self.graph_first

    @property
    def reorders(self) -> bool:
        """Whether something after the fusion may lift a record that is not among the best yet."""
        later = self.boosts or self.ranks or self.links
        return not (self.rerank is self.graph_boost is self.dep_boost is None and not later)

    @property
    def plain(self) -> bool:
        """Whether the fused order is the final one, so that no more than the best ``k`` have to be known."""
        return not (self.surface_weights or self.expansion is not None or self.reorders)


_KNOWN = frozenset(item.name for item in fields(SearchOptions))


def shows_keywords(function: _Function) -> _Function:
    """Let ``inspect.signature`` name the keywords of a search, with their defaults, where ``**keywords`` takes them."""
    shown = signature(function)
    kept = [one for one in shown.parameters.values() if one.kind is not Parameter.VAR_KEYWORD]
    types = {name: getattr(kind, "__forward_arg__", kind) for name, kind in SearchKeywords.__annotations__.items()}
    named = [
        Parameter(item.name, Parameter.KEYWORD_ONLY, default=item.default, annotation=types[item.name])
        for item in fields(SearchOptions)
    ]
    function.__signature__ = shown.replace(parameters=[*kept, *named])  # type: ignore[attr-defined]
    return function


def _boosts(value: Any) -> tuple[Callable[..., Any], ...]:
    listed = [] if value is None else [value] if callable(value) else value
    if not isinstance(listed, (list, tuple)) or not all(map(callable, listed)):
        raise InvalidInput(f"boosts must be a function of the pool, or a list of such functions, not {value!r}.")
    return tuple(listed)


def _surfaces(value: object) -> frozenset[str]:
    names = [value] if isinstance(value, str) else list(value) if isinstance(value, Iterable) else []
    if not names or not all(isinstance(name, str) for name in names):
        raise InvalidInput(f"surfaces must name at least one surface kind, not {value!r}.")
    return frozenset(names)


def _check_weights(value: object) -> None:
    if not isinstance(value, Mapping):
        raise InvalidInput(f"surface_weights must be a mapping such as {{'title': 2}}, not {value!r}.")
    for kind, weight in value.items():
        _number(f"The surface weight of {kind!r}", weight, 0)


def _check_bm25(value: object) -> None:
    if not isinstance(value, Mapping) or not set(value) <= {"k1", "b"}:
        raise InvalidInput(f"bm25 must be a mapping with 'k1' and/or 'b', not {value!r}.")
    _number("bm25 k1", value.get("k1", 1.2), 0)
    _number("bm25 b", value.get("b", 0.75), 0, 1)
