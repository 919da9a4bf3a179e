"""Making, looking at, checking, asking and measuring vocabularies of terms."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from ir.app.context import Context
from ir.app.fields import Arg
from ir.app.operation import Value, operation
from ir.app.targets import may_see
from ir.config.paths import safe_name, vocabularies_dir
from ir.errors import InvalidInput, NotFound, OutsideCorpus, Remedy

if TYPE_CHECKING:
    from ir.ground import Grounding, Vocabulary
    from ir.ground.reading import Reading

__all__ = [
    "GroundRequest",
    "GroundResponse",
    "VocabBuildRequest",
    "VocabBuildResponse",
    "VocabEvalRequest",
    "VocabEvalResponse",
    "VocabInfoRequest",
    "VocabInfoResponse",
    "VocabLintRequest",
    "VocabLintResponse",
    "ground",
    "vocab_build",
    "vocab_eval",
    "vocab_info",
    "vocab_lint",
]

NAME = Arg("the name of a vocabulary, or its folder", blank=False, metavar="NAME")
CHANNELS = [
    "surfaces",
    "acronyms",
    "spelling",
    "words",
    "definition-spelling",
    "definition-words",
    "meaning",
    "definition-meaning",
]
CHANNEL = Arg(
    "ground, eval: ask this channel only",
    choices=(*CHANNELS, "subword", "context", "usage", "usage-map", "prior"),
    flag="--channel",
    metavar="CHANNEL",
)
#: What trains a subword model, and what takes one away.
TRAIN, NONE = "train", "none"
_MOST_PHRASES = 100_000
_SHOWN_PROBLEMS = 20


@dataclass(frozen=True)
class VocabBuildRequest(Value):
    """``files`` hold the terms. With ``add`` they come to those that are there, and nothing is trained anew.

    ``subwords`` is ``train``, ``none`` or the file of a ready model. ``corpus`` also makes a corpus of the terms.
    """

    name: Annotated[str, NAME]
    files: Annotated[
        tuple[str, ...], Arg("files with terms: CSV, JSONL, JSON or SKOS as JSON-LD", metavar="FILE", max_items=1000)
    ] = ()
    add: Annotated[bool, Arg("build: add to the vocabulary that is there")] = False
    policy: Annotated[str | None, Arg("build: CSV of terms and the probability of blocking them", metavar="FILE")] = (
        None
    )
    usage: Annotated[
        str | None, Arg("build: JSONL of terms that were used together, perhaps with a text", metavar="FILE")
    ] = None
    embedders: Annotated[
        tuple[str, ...],
        Arg(
            "the embedding model that compares meaning",
            flag="--embedder",
            metavar="MODEL",
            help="build: the embedding model that compares meaning (box); none for no model. Repeatable.",
        ),
    ] = ()
    subwords: Annotated[
        str | None, Arg("build: train, none, or the file of a fastText model", metavar="train|none|FILE")
    ] = None
    epochs: Annotated[
        int, Arg("build: how often training goes through the usage data", min=1, max=1000, metavar="N")
    ] = 5
    language: Annotated[str, Arg("build: the language of the terms", metavar="LANGUAGE")] = "english"
    strict: Annotated[bool, Arg("build: make nothing if a row is wrong")] = False
    corpus: Annotated[
        str | None, Arg("build: also make a corpus of this name of the terms", blank=False, metavar="CORPUS")
    ] = None


@dataclass(frozen=True)
class Wrong(Value):
    """A row that could not be taken, or not as it stands."""

    file: str
    line: int
    message: str
    left_out: bool


@dataclass(frozen=True)
class VocabBuildResponse(Value):
    """``left_out`` rows of ``rows`` were not taken; ``problems`` are the first of them, and others worth a look."""

    name: str
    folder: str
    terms: int
    aliases: int
    rows: int
    left_out: int
    problems: tuple[Wrong, ...]
    weights: Mapping[str, Any]
    floor: float | None
    subwords: Mapping[str, Any] | None = None
    corpus: str | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class VocabInfoRequest(Value):
    """Without ``name`` all vocabularies are listed."""

    name: Annotated[str | None, NAME] = None
    verify: Annotated[bool, Arg("info: compare every file with its checksum")] = False


@dataclass(frozen=True)
class VocabularyInfo(Value):
    """What is known of a vocabulary. ``damaged`` files are not what was written; ``None`` if nobody looked."""

    name: str
    folder: str
    terms: int
    aliases: int
    blocked: int
    embedders: tuple[str, ...]
    folding: Mapping[str, Any]
    weights: Mapping[str, Any]
    floor: float | None
    usage_documents: int
    subwords: Mapping[str, Any] | None
    context_terms: int
    format: int
    size: int
    damaged: tuple[str, ...] | None = None


@dataclass(frozen=True)
class VocabInfoResponse(Value):
    vocabularies: tuple[VocabularyInfo, ...]


@dataclass(frozen=True)
class VocabLintRequest(Value):
    """What looks wrong in a vocabulary."""

    name: Annotated[str, NAME]
    kinds: Annotated[
        tuple[str, ...], Arg("lint: only this kind", choices="ir.ground.lint:KINDS", flag="--kind", metavar="KIND")
    ] = ()
    shown: Annotated[int, Arg("lint: show at most so many of each kind", min=1, metavar="N")] = 20


@dataclass(frozen=True)
class Odd(Value):
    kind: str
    terms: tuple[str, ...]
    message: str


@dataclass(frozen=True)
class VocabLintResponse(Value):
    """``counts`` has how many there are of each kind, ``findings`` the first of each."""

    name: str
    counts: Mapping[str, int]
    findings: tuple[Odd, ...]


@dataclass(frozen=True)
class GroundRequest(Value):
    """``phrases`` are looked up one by one; with ``text`` each is a text that phrases are taken from."""

    phrases: Annotated[
        tuple[str, ...], Arg("what to look up", max_items=_MOST_PHRASES, max_chars=100_000, metavar="PHRASE")
    ]
    name: Annotated[str | None, Arg("the vocabulary; not needed if there is only one", blank=False, metavar="NAME")] = (
        None
    )
    k: Annotated[int, Arg("ground: terms per phrase", min=1, max=1000, clamp=True, short="-k", metavar="N")] = 10
    text: Annotated[bool, Arg("ground: each phrase is a text to take phrases from")] = False
    floor: Annotated[
        bool, Arg("ground: give nothing for a phrase whose best term scores like that of unrelated ones")
    ] = False
    min_count: Annotated[int, Arg("ground: only terms that are used so often", min=0, metavar="N")] = 0
    allow_blocked: Annotated[bool, Arg("ground: terms of the policy list, too")] = False
    channels: Annotated[tuple[str, ...], CHANNEL] = ()
    explain: Annotated[bool, Arg("ground: say what each channel gave", short="-e")] = False
    schema: Annotated[bool, Arg("ground: also a JSON Schema that allows these terms only")] = False


@dataclass(frozen=True)
class Why(Value):
    """A channel's score for a term, how much it counts, and what of the term it was."""

    channel: str
    score: float
    weight: float
    by: str


@dataclass(frozen=True)
class Meant(Value):
    """A term that a phrase may mean."""

    term: str
    score: float
    display: str
    category: str
    count: int
    why: tuple[Why, ...] = ()


@dataclass(frozen=True)
class Phrase(Value):
    """A phrase and its terms, best first."""

    phrase: str
    terms: tuple[Meant, ...]
    abstained: bool = False


@dataclass(frozen=True)
class GroundResponse(Value):
    vocabulary: str
    phrases: tuple[Phrase, ...]
    schema: Mapping[str, Any] | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class VocabEvalRequest(Value):
    """Without ``cases`` each alias is left out in turn, and has to be found by the rest."""

    name: Annotated[str, NAME]
    cases: Annotated[str | None, Arg("JSONL or CSV of phrases with their terms", metavar="FILE")] = None
    channels: Annotated[tuple[str, ...], CHANNEL] = ()
    compare: Annotated[bool, Arg("eval: each channel alone, too")] = False
    most: Annotated[int, Arg("eval: how many aliases to leave out in turn", min=1, metavar="N")] = 2000
    plot: Annotated[str | None, Arg("eval: draw precision and recall over the threshold", metavar="FILE.png")] = None


@dataclass(frozen=True)
class Measured(Value):
    channels: str
    cases: int
    recall: Mapping[str, float]
    mrr: float
    ndcg: float
    threshold: float
    precision: float
    recall_at_threshold: float
    f1: float
    categories: Mapping[str, tuple[float, int]]
    grid: tuple[tuple[float, float, float, float], ...] = ()


@dataclass(frozen=True)
class VocabEvalResponse(Value):
    name: str
    measured: tuple[Measured, ...]
    notes: tuple[str, ...] = ()


@operation("vocab-build", summary="Make a vocabulary of terms from files", runs_long=True, scope="workspace")
def vocab_build(request: VocabBuildRequest, ctx: Context) -> VocabBuildResponse:
    from ir.ground.reading import read_policy, read_terms, read_usage

    folder = folder_of(request.name, ctx)
    notes: list[str] = []
    reading = read_terms(request.files)
    policy, wrong = read_policy(request.policy) if request.policy is not None else (None, [])
    usage, unread = read_usage(request.usage) if request.usage is not None else ([], [])
    problems = [*reading.problems, *wrong, *unread]
    left_out = reading.left_out + len(wrong) + len(unread)
    if request.strict and problems:
        raise InvalidInput(f"{len(problems):,} rows are wrong, the first: {problems[0]}.", remedy="Mend the files.")
    ctx.check()
    if request.add:
        made = _added(opened(request.name, ctx)[1], reading)
    else:
        made = _built(request, reading, policy, usage, notes, ctx)
    if policy is not None and request.add:
        made = made.with_policy({**made.policy, **policy})
    made = _with_subwords(made, request, [document.terms for document in usage], ctx)
    made.save(folder)
    _forget(folder)
    corpus = _as_corpus(made, request.corpus, ctx) if request.corpus is not None else None
    told = tuple(Wrong(one.file, one.line, one.message, one.left_out) for one in problems[:_SHOWN_PROBLEMS])
    if len(problems) > len(told):
        notes.append(f"{len(problems) - len(told):,} more rows are wrong.")
    return VocabBuildResponse(
        request.name,
        str(folder),
        len(made),
        len(made.terms.aliases),
        reading.rows,
        left_out,
        told,
        made.weights.to_dict(),
        made.floor,
        made.subwords.about if made.subwords is not None else None,
        corpus,
        tuple(notes),
    )


def _built(
    request: VocabBuildRequest,
    reading: Reading,
    policy: dict[str, float] | None,
    usage: Sequence[Any],
    notes: list[str],
    ctx: Context,
) -> Vocabulary:
    from ir.ground import Vocabulary
    from ir.ground.vocabulary import DFLT_EMBEDDERS
    from ir.index.progress import Progress

    if not request.files:
        raise InvalidInput("A vocabulary is made of files.", remedy="Write: ir vocab build NAME FILE …")
    if not reading.terms:
        first = f" The first row: {reading.problems[0]}" if reading.problems else ""
        raise InvalidInput(f"There is no term in {', '.join(request.files)}.{first}")
    named = tuple(name for name in request.embedders if name != NONE)
    embedders = named if request.embedders else DFLT_EMBEDDERS
    with_text = [document for document in usage if document.text.strip()]
    if usage and not with_text:
        notes.append("The usage data has no texts: it serves the context and the subword model, and counts.")
    terms = reading.terms
    if usage and not any(term.count for term in terms):
        terms = _counted(terms, usage)
    stages = 0

    def step(name: str) -> None:
        nonlocal stages
        ctx.check()
        ctx.progress(Progress(name, stages, None))
        stages += 1

    made = Vocabulary.of(
        terms, policy=policy, embedders=embedders, language=request.language, usage=with_text or None, step=step
    )
    if usage:
        from ir.ground.context import ContextModel

        step("context")
        bags = [[term for term in document.terms if term in made] for document in usage]
        made = made.with_models(context=ContextModel.of(bag for bag in bags if bag))
    return made


def _counted(terms: Sequence[Any], usage: Sequence[Any]) -> list[Any]:
    """Terms without counts are counted in the usage data."""
    from collections import Counter

    counts = Counter(term for document in usage for term in document.terms)
    return [replace(term, count=counts[term.name]) for term in terms]


def _added(held: Vocabulary, reading: Reading) -> Vocabulary:
    terms = []
    for term in reading.terms:
        if term.name in held:
            before = held[term.name]
            term = replace(
                term,
                display=term.display or before.display,
                definition=term.definition or before.definition,
                category=term.category or before.category,
                count=term.count or before.count,
                aliases=(*before.aliases, *term.aliases),
            )
        terms.append(term)
    return held.extended(terms)


def _with_subwords(
    made: Vocabulary, request: VocabBuildRequest, bags: Sequence[Sequence[str]], ctx: Context
) -> Vocabulary:
    from ir.index.progress import Progress

    if request.subwords is None:
        return made
    if request.subwords == NONE:
        return made.without_subwords()
    if request.subwords != TRAIN:
        from ir.ground.subword import Subwords

        return made.with_models(subwords=Subwords.read(request.subwords, made.terms))
    from ir.ground.training import train_subwords

    ctx.progress(Progress("subwords", 0, None))
    return made.with_models(subwords=train_subwords(bags, made.terms, epochs=request.epochs))


def _as_corpus(made: Vocabulary, name: str, ctx: Context) -> str:
    from ir.index import build

    build(made.source(name), embedder=made.embedders[0] if made.embedders else None, progress=ctx.progress)
    return name


@operation(
    "vocab-info",
    summary="Show the vocabularies, or one of them",
    effect="reads",
    doors=("cli", "http"),
    scope="workspace",
)
def vocab_info(request: VocabInfoRequest, ctx: Context) -> VocabInfoResponse:
    names = [request.name] if request.name is not None else _names(ctx)
    return VocabInfoResponse(tuple(_info(name, folder_of(name, ctx), request.verify) for name in names))


def _info(name: str, folder: Path, verify: bool) -> VocabularyInfo:
    from ir.ground.saving import read_manifest
    from ir.ground.saving import verify as damaged
    from ir.ground.vocabulary import BLOCKED_FROM

    about = read_manifest(folder)
    return VocabularyInfo(
        name,
        str(folder),
        about["terms"],
        about["aliases"],
        sum(probability >= BLOCKED_FROM for probability in about["policy"].values()),
        tuple(about["embedders"]),
        about["folding"],
        about["weights"],
        about["floor"],
        about["usage"]["documents"] if about["usage"] else 0,
        about["subwords"]["about"] if about["subwords"] else None,
        about["context"]["terms"] if about["context"] else 0,
        about["format"],
        sum(size for size, _ in about["files"].values()),
        tuple(damaged(folder)) if verify else None,
    )


@operation("vocab-lint", summary="Say what looks wrong in a vocabulary", effect="reads", scope="workspace")
def vocab_lint(request: VocabLintRequest, ctx: Context) -> VocabLintResponse:
    from ir.ground.lint import KINDS, lint

    name, vocabulary = opened(request.name, ctx)
    wanted = request.kinds or KINDS
    found = [finding for finding in lint(vocabulary) if finding.kind in wanted]
    counts = {kind: sum(finding.kind == kind for finding in found) for kind in wanted}
    shown = [one for kind in wanted for one in [one for one in found if one.kind == kind][: request.shown]]
    return VocabLintResponse(name, counts, tuple(Odd(one.kind, one.terms, one.message) for one in shown))


@operation(
    "ground",
    summary="Find the terms of a vocabulary that phrases mean",
    effect="reads",
    doors=("cli", "mcp", "http"),
    scope="workspace",
)
def ground(request: GroundRequest, ctx: Context) -> GroundResponse:
    from ir.ground.choosing import term_schema
    from ir.ground.phrases import phrases_in

    name, vocabulary = opened(request.name, ctx)
    phrases: Sequence[str] = request.phrases
    notes: list[str] = []
    if request.text:
        phrases = list(dict.fromkeys(phrase for text in phrases for phrase in phrases_in(text, vocabulary)))
    if not any(phrase.strip() for phrase in phrases):
        notes.append("There is no phrase to look up.")
    if request.floor and vocabulary.floor is None:
        notes.append("The vocabulary has no floor; build it again.")
    found = vocabulary.ground(
        phrases,
        k=request.k,
        channels=request.channels or None,
        allow_blocked=request.allow_blocked and not ctx.for_agent,
        min_count=request.min_count,
        floor=vocabulary.floor if request.floor else None,
        explain=request.explain,
    )
    schema = term_schema(found) if request.schema else None
    return GroundResponse(name, tuple(_phrase(one, vocabulary) for one in found), schema, tuple(notes))


def _phrase(found: Grounding, vocabulary: Vocabulary) -> Phrase:
    return Phrase(found.phrase, tuple(_meant(vocabulary, one) for one in found.terms), found.abstained)


def _meant(vocabulary: Vocabulary, one: Any) -> Meant:
    at = vocabulary.terms.find(one.term)
    display = vocabulary.terms.displays[at] if at is not None else ""
    why = tuple(Why(reason.channel, reason.score, reason.weight, reason.by) for reason in one.reasons)
    return Meant(one.term, one.score, display, one.category, one.count, why)


@operation(
    "vocab-eval", summary="Measure how well phrases are grounded", effect="reads", runs_long=True, scope="workspace"
)
def vocab_eval(request: VocabEvalRequest, ctx: Context) -> VocabEvalResponse:
    from ir.ground.evaluation import evaluate, held_back_aliases, read_cases

    name, vocabulary = opened(request.name, ctx)
    cases = read_cases(request.cases) if request.cases is not None else held_back_aliases(vocabulary, request.most)
    asked: list[tuple[str, tuple[str, ...] | None]] = [
        ("all" if not request.channels else "+".join(request.channels), request.channels or None)
    ]
    if request.compare:
        asked += [(channel.name, (channel.name,)) for channel in vocabulary.channels]
    notes: list[str] = []
    measured = []
    for told, channels in asked:
        ctx.check()
        one = evaluate(vocabulary, cases, channels=channels)
        if one.unknown_terms and not notes:
            notes.append(f"{one.unknown_terms:,} right terms are not in the vocabulary, and count as not found.")
        recall = {str(k): value for k, value in one.recall.items()}
        figures = (one.mrr, one.ndcg, one.threshold, one.precision, one.recall_at, one.f1)
        measured.append(Measured(told, one.cases, recall, *figures, one.categories, one.grid))
    if request.plot is not None:
        from ir.eval.plots import plot_thresholds

        plot_thresholds(measured[0].grid, chosen=measured[0].threshold, path=request.plot)
    return VocabEvalResponse(name, tuple(measured), tuple(notes))


# -- which vocabulary --------------------------------------------------------------------------------------------------


def _names(ctx: Context) -> list[str]:
    root = vocabularies_dir()
    there = [path.name for path in root.iterdir() if (path / "vocabulary.json").is_file()] if root.is_dir() else []
    return sorted(name for name in there if may_see(name, ctx))


def folder_of(name: str, ctx: Context) -> Path:
    """The folder of a vocabulary: by name, or for the user also by path."""
    if "/" in name or "\\" in name or name.startswith((".", "~")):
        if ctx.for_agent:
            raise OutsideCorpus(f"{name!r} is no name of a vocabulary.")
        return Path(name).expanduser()
    return vocabularies_dir() / safe_name(name)


_open: dict[Path, tuple[Any, Vocabulary]] = {}
_lock = threading.Lock()
_MOST_OPEN = 4


def opened(name: str | None, ctx: Context) -> tuple[str, Vocabulary]:
    """A vocabulary and its name; the only one if none is named. One that was opened before is at hand."""
    from ir.ground import Vocabulary

    if name is None:
        names = _names(ctx)
        if len(names) != 1:
            told = f"There are {len(names)}: {', '.join(names[:10])}" if names else "There is none"
            raise NotFound(
                f"Which vocabulary? {told}.",
                remedy=Remedy("Name one, or make one: ir vocab build NAME FILE", agent="Name one of them."),
            )
        name = names[0]
    folder = folder_of(name, ctx)
    try:
        if not may_see(name, ctx):
            raise FileNotFoundError
        stamp = (folder / "vocabulary.json").stat()
    except OSError:
        names = _names(ctx)
        known = f" There are: {', '.join(names[:10])}." if names else ""
        raise NotFound(
            f"There is no vocabulary {name!r}.{known}",
            remedy=Remedy(f"Make it: ir vocab build {name} FILE", agent="Ask the user to make it."),
        ) from None
    version = stamp.st_mtime_ns, stamp.st_size, stamp.st_ino
    with _lock:
        held = _open.get(folder)
        if held is None or held[0] != version:
            while len(_open) >= _MOST_OPEN:
                _open.pop(next(iter(_open)))
            held = _open[folder] = version, Vocabulary.load(folder)
        return name, held[1]


def _forget(folder: Path) -> None:
    with _lock:
        _open.pop(folder, None)
