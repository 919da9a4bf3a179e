"""What a gate is about: questions and judgements, the configurations that are compared, and what they must reach."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal

from ir.errors import InvalidInput
from ir.eval.agreement import both, kappa, read_judgements, read_pool
from ir.eval.files import read_jsonl
from ir.eval.runs import load_qrels
from ir.options import choice

__all__ = ["OWN", "ROLES", "SHAPES", "Configuration", "Criteria", "GatePlan", "Question", "Way", "read_plan"]

#: What a question asks for: an idea in other words, what is linked to what, or a name.
SHAPES = ("concept", "relationship", "identifier")
ROLES = ("baseline", "proposed", "fallback", "other")
#: The operation that a question itself names.
OWN = "own"
DFLT_K = 10
DFLT_MONTHLY = 3000
_OFF = "off"


@dataclass(frozen=True)
class Question:
    """``operation`` and ``symbols`` are those that a question about relationships names; ``kind`` is its author's."""

    id: str
    query: str
    shape: str = "concept"
    operation: str | None = None
    symbols: tuple[str, ...] = ()
    kind: str = ""


@dataclass(frozen=True)
class Way:
    """How questions are asked: an operation, and options of its request."""

    operation: str = "search"
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Configuration:
    """A way to ask, perhaps another one for some shapes, under settings that hold while it is measured."""

    name: str
    role: str
    way: Way
    ways: Mapping[str, Way] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)

    def way_for(self, question: Question) -> Way:
        """How a question is asked; one that should be asked in its own way and names none is asked as the others."""
        way = self.ways.get(question.shape, self.way)
        if way.operation != OWN:
            return way
        if question.operation is None:
            return self.way if self.way.operation != OWN else Way()
        return Way(question.operation.replace("_", "-"), way.options)


@dataclass(frozen=True)
class Criteria:
    """What the proposed configuration must reach to ship; ``None`` where nobody asks.

    ``margin`` is how far its nDCG may be below that of the fallback, ``monthly_usd`` what reranking may cost.
    """

    concept_ndcg: float | None = 0.80
    margin: float | None = 0.03
    relationship_recall: float | None = 0.85
    p95_ms: float | None = 400.0
    monthly_usd: float | None = 7.0
    kappa: float | None = 0.70


@dataclass(frozen=True)
class GatePlan:
    """``depth`` results are asked for, of which ``k`` documents count; more than one result may be of one document.

    From ``recall_grade`` of a shape on, a judgement counts for recall. Costs are told for ``monthly_searches``.
    ``agreement`` is κ of the judges, for all questions (``""``) and for each shape; empty if there was one judge.
    """

    questions: tuple[Question, ...]
    qrels: Mapping[str, Mapping[str, float]]
    configurations: tuple[Configuration, ...]
    criteria: Criteria = Criteria()
    corpus: str | None = None
    k: int = DFLT_K
    depth: int = 2 * DFLT_K
    monthly_searches: int = DFLT_MONTHLY
    recall_grades: Mapping[str, int] = field(default_factory=dict)
    agreement: Mapping[str, float] = field(default_factory=dict)

    def named(self, role: Literal["baseline", "proposed", "fallback"]) -> Configuration | None:
        return next((one for one in self.configurations if one.role == role), None)

    def asked(self, shape: str) -> list[Question]:
        """The questions of a shape that something answers."""
        return [one for one in self.questions if one.shape == shape and any(self.qrels.get(one.id, {}).values())]


# -- reading --------------------------------------------------------------------------------------------------------

_TOP = ("gate", "criteria", "configurations")
_GATE = ("corpus", "questions", "qrels", "judges", "pool", "k", "depth", "monthly_searches", "recall_grades")
_CONFIGURATION = ("role", "operation", "options", "settings", "keyword_backend", *SHAPES)


def read_plan(path: str | Path) -> GatePlan:
    """A plan from a TOML or YAML file; the files that it names are looked for beside it."""
    place = Path(path).expanduser()
    data = _table(_loaded(place), f"{place}")
    for name in data:
        choice("table", name, _TOP)
    gate = _table(data.get("gate", {}), f"{place}: [gate]")
    for name in gate:
        choice("setting of [gate]", name, _GATE)
    questions = _questions(_paths(gate, "questions", place))
    configurations = _configurations(data.get("configurations"), place)
    if not any(one.role == "proposed" for one in configurations):
        raise InvalidInput(
            f"{place} has no proposed configuration.",
            remedy="Call one [configurations.proposed], or give it role = 'proposed'.",
        )
    k = _whole(gate, "k", DFLT_K, place)
    return GatePlan(
        questions,
        _qrels(_paths(gate, "qrels", place)),
        configurations,
        _criteria(data.get("criteria", {}), place),
        None if gate.get("corpus") is None else str(gate["corpus"]),
        k,
        max(_whole(gate, "depth", 2 * k, place), k),
        _whole(gate, "monthly_searches", DFLT_MONTHLY, place),
        {
            choice("shape", shape, SHAPES): _whole(gate["recall_grades"], shape, 1, place)
            for shape in _table(gate.get("recall_grades", {}), f"{place}: recall_grades")
        },
        _agreement(gate, questions, place),
    )


def _loaded(place: Path) -> Any:
    try:
        text = place.read_text("utf-8-sig")
    except UnicodeDecodeError:
        raise InvalidInput(f"{place} is not UTF-8 text.", remedy="Give a TOML or YAML file.") from None
    except OSError as error:
        raise InvalidInput(f"{place} cannot be read: {error.strerror or error}.", remedy="Check the path.") from None
    try:
        if place.suffix in (".yaml", ".yml"):
            import yaml

            try:
                return yaml.safe_load(text)
            except (yaml.YAMLError, RecursionError) as error:
                raise ValueError(" ".join(str(error).split())) from None
        return tomllib.loads(text)
    except ValueError as error:
        kind = "YAML" if place.suffix in (".yaml", ".yml") else "TOML"
        raise InvalidInput(f"{place} is not valid {kind}: {error}.") from None


def _table(value: Any, where: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping) or not all(isinstance(name, str) for name in value):
        raise InvalidInput(f"{where} must be a table of named values.")
    return value


def _whole(table: Mapping[str, Any], name: str, default: int, place: Path) -> int:
    value = table.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise InvalidInput(f"{place}: {name} must be a whole number of at least 1, not {value!r}.")
    return value


def _paths(gate: Mapping[str, Any], name: str, place: Path, *, needed: bool = True) -> list[Path]:
    given = gate.get(name, [])
    words = [given] if isinstance(given, str) else given
    if not isinstance(words, Sequence) or not all(isinstance(word, str) for word in words) or (needed and not words):
        raise InvalidInput(f"{place}: [gate] needs {name}, a file or a list of files.")
    return [place.parent / Path(word).expanduser() for word in words]


def _questions(paths: Sequence[Path]) -> tuple[Question, ...]:
    found: dict[str, Question] = {}
    for path in paths:
        for place, line in read_jsonl(path):
            if not isinstance(line.get("id"), str) or not str(line.get("query") or "").strip():
                raise InvalidInput(f"{place}: a question has an id and a query.")
            if line["id"] in found:
                raise InvalidInput(f"{place}: there is another question {line['id']!r}.")
            operation = line.get("operation")
            shape = str(line.get("shape") or ("concept" if operation is None else "relationship"))
            found[line["id"]] = Question(
                line["id"],
                str(line["query"]),
                choice(f"{place}: shape", shape, SHAPES),
                None if operation is None else str(operation),
                tuple(map(str, line.get("symbols") or ())),
                str(line.get("kind") or ""),
            )
    if not found:
        raise InvalidInput(f"{', '.join(map(str, paths))}: there are no questions.")
    return tuple(found.values())


def _qrels(paths: Sequence[Path]) -> dict[str, dict[str, float]]:
    merged: dict[str, dict[str, float]] = {}
    for path in paths:
        if path.suffix == ".jsonl":
            for (qid, candidate), grade in read_judgements(path).items():
                merged.setdefault(qid, {})[candidate] = grade
        else:
            for qid, grades in load_qrels(path).items():
                merged.setdefault(qid, {}).update(grades)
    return merged


def _agreement(gate: Mapping[str, Any], questions: Sequence[Question], place: Path) -> dict[str, float]:
    judges = _paths(gate, "judges", place, needed=False)
    if not judges:
        return {}
    if len(judges) != 2:
        raise InvalidInput(f"{place}: judges are two files, not {len(judges)}.")
    pools = _paths(gate, "pool", place, needed=False)
    pool = [pair for path in pools for pair in read_pool(path)] if pools else None
    grades = both(read_judgements(judges[0]), read_judgements(judges[1]), pool)
    shapes = {one.id: one.shape for one in questions}
    found = {"": kappa(list(grades.values()))}
    for shape in SHAPES:
        pairs = [both for (qid, _), both in grades.items() if shapes.get(qid) == shape]
        if pairs:
            found[shape] = kappa(pairs)
    return found


def _criteria(given: Any, place: Path) -> Criteria:
    table = _table(given, f"{place}: [criteria]")
    known = [one.name for one in fields(Criteria)]
    values: dict[str, float | None] = {}
    for name, value in table.items():
        choice("criterion", name, known)
        if value == _OFF:
            values[name] = None
        elif isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
            raise InvalidInput(f"{place}: {name} must be a number of at least 0 or 'off', not {value!r}.")
        else:
            values[name] = float(value)
    return Criteria(**values)


def _configurations(given: Any, place: Path) -> tuple[Configuration, ...]:
    tables = _table(given or {}, f"{place}: [configurations]")
    found = [_configuration(name, _table(table, f"{place}: {name}"), place) for name, table in tables.items()]
    for role in ROLES[:-1]:
        if sum(one.role == role for one in found) > 1:
            raise InvalidInput(f"{place}: more than one configuration has the role {role!r}.")
    return tuple(found)


def _configuration(name: str, table: Mapping[str, Any], place: Path) -> Configuration:
    for key in table:
        choice(f"key of the configuration {name!r}", key, _CONFIGURATION)
    role = str(table.get("role") or (name if name in ROLES else "other"))
    settings = {**_flat(_table(table.get("settings", {}), f"{place}: {name}.settings"))}
    if table.get("keyword_backend") is not None:
        settings["retrieval.keyword_backend"] = table["keyword_backend"]
    ways = {shape: _way(_table(table[shape], f"{place}: {name}.{shape}"), place) for shape in SHAPES if shape in table}
    return Configuration(name, choice("role", role, ROLES), _way(table, place), ways, settings)


def _way(table: Mapping[str, Any], place: Path) -> Way:
    operation = table.get("operation", "search")
    if not isinstance(operation, str) or not operation.strip():
        raise InvalidInput(f"{place}: an operation is named by a text, not by {operation!r}.")
    return Way(operation.replace("_", "-"), dict(_table(table.get("options", {}), f"{place}: options")))


def _flat(table: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Settings by their names, also where TOML took the dots of a name for tables."""
    flat: dict[str, Any] = {}
    for name, value in table.items():
        flat |= _flat(value, f"{prefix}{name}.") if isinstance(value, Mapping) else {prefix + name: value}
    return flat
