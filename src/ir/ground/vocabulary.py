"""A fixed set of terms with all that is needed to find them: one value, made once, saved, extended and asked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ir.errors import InvalidInput
from ir.ground.channels import Channel, Lookup
from ir.ground.folding import Folding
from ir.ground.grounding import Grounding, ground, pools
from ir.ground.index import Index
from ir.ground.saving import load, save
from ir.ground.terms import Term, Terms, as_term
from ir.ground.usage import UsageDocument, UsageModel, held_back
from ir.ground.weights import DEFAULTS, Probe, Weights, choose
from ir.options import choice
from ir.sources import CorpusSource

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from ir.ground.context import ContextModel
    from ir.ground.subword import Subwords

__all__ = ["BLOCKED_FROM", "DFLT_EMBEDDERS", "Vocabulary"]

#: A term of the policy list is blocked from this probability on.
BLOCKED_FROM = 0.95
#: The table that every installation has.
DFLT_EMBEDDERS = ("box",)
#: So many held-back aliases, or usage documents, choose the weights.
_MOST_PROBES = 600
_SOURCES = {"aliases": "held-back aliases", "usage": "held-back usage"}

Terms_ = Iterable[Term | str | Mapping[str, Any]]


class Vocabulary:
    """Terms, the policy list, and the channels that phrases are grounded by.

    :meth:`of` makes one in memory, :meth:`save` and :meth:`load` keep it in a folder. A vocabulary never changes;
    :meth:`extended` gives one with more terms or aliases, which are groundable at once: what was trained stays.

    >>> vocabulary = Vocabulary.of(["fox", {"name": "canid", "aliases": ["canine"]}])
    >>> vocabulary = vocabulary.extended(aliases={"vixen": "fox"})
    >>> [found.terms[0].term for found in vocabulary.ground(["canine", "Vixen"])]
    ['canid', 'fox']
    """

    def __init__(
        self,
        terms: Terms,
        folding: Folding,
        *,
        policy: Mapping[str, float] | None = None,
        embedders: Sequence[str] = DFLT_EMBEDDERS,
        language: str = "english",
        index: Index | None = None,
        weights: Weights | None = None,
        floor: float | None = None,
        usage: UsageModel | None = None,
        subwords: Subwords | None = None,
        context: ContextModel | None = None,
    ) -> None:
        self.terms = terms
        self.folding = folding
        self.policy = dict(policy or {})
        self.embedders = tuple(embedders)
        self.language = language
        self._index = index
        self.weights = weights or Weights()
        self.floor = floor
        self.usage = usage
        self.subwords = subwords
        self.context = context

    @classmethod
    def of(
        cls,
        terms: Terms_,
        *,
        policy: Mapping[str, float] | None = None,
        folding: Folding | None = None,
        embedders: Sequence[str] = DFLT_EMBEDDERS,
        language: str = "english",
        usage: Sequence[UsageDocument] | None = None,
        step: Callable[[str], None] = lambda name: None,
    ) -> Vocabulary:
        """A vocabulary of these terms, with the weights that its aliases and its usage suggest.

        ``usage`` are documents with a text and the terms that somebody gave it. ``embedders`` are the models that
        compare meaning; none is fine.
        """
        held = Terms.of(terms)
        fold = folding or Folding.guess(held.names)
        made = cls(held, fold, policy=_checked_policy(policy), embedders=embedders, language=language)
        made._index = Index.of(held, fold, language=language, embedders=made.embedders, step=step)
        if usage:
            step("usage")
            made = made._with_usage(usage)
        step("weights")
        return made.weighed()

    # -- what it holds -------------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.terms)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.terms.find(name) is not None

    def __getitem__(self, name: str) -> Term:
        at = self.terms.find(name)
        if at is None:
            raise KeyError(name)
        term: Term = self.terms[at]
        return term

    @property
    def index(self) -> Index:
        if self._index is None:
            self._index = Index.of(self.terms, self.folding, language=self.language, embedders=self.embedders)
        return self._index

    @cached_property
    def blocked(self) -> frozenset[str]:
        """The terms of the policy list that are left out unless they are allowed."""
        return frozenset(name for name, probability in self.policy.items() if probability >= BLOCKED_FROM)

    @cached_property
    def _blocked_rows(self) -> NDArray[np.bool_]:
        rows = np.zeros(len(self.terms), bool)
        folded = {self.folding(name) for name in self.blocked}
        for name in self.blocked:
            at = self.terms.find(name)
            if at is not None:
                rows[at] = True
        # A list that writes names in another way still means the same terms.
        for text in folded:
            for row in self.index.surfaces.rows_of(text):
                owner = int(self.index.surfaces.owners[row])
                rows[owner] |= self.folding(self.terms.names[owner]) == text
        return rows

    def allowed(self, terms: NDArray[np.int64], allow_blocked: bool, min_count: int) -> NDArray[np.int64]:
        """Those of these terms that may be given."""
        kept = np.ones(len(terms), bool)
        if not allow_blocked and self.blocked:
            kept &= ~self._blocked_rows[terms]
        if min_count > 0:
            kept &= np.asarray(self.terms.counts[terms]) >= min_count
        return terms[kept]

    # -- channels ------------------------------------------------------------------------------------------------------

    @cached_property
    def channels(self) -> tuple[Channel, ...]:
        made = self.index.channels()
        if self.usage is not None:
            made += self.usage.channels()
        if self.subwords is not None:
            made.append(self.subwords.channel(self))
        if self.context is not None:
            made.append(self.context.channel(self))
        return tuple(made)

    def chosen_channels(self, names: Sequence[str] | None) -> tuple[Channel, ...]:
        """The channels of these names; all that count if none are named."""
        if names is None:
            return tuple(channel for channel in self.channels if self.weights.values.get(channel.name, 0))
        have = {channel.name: channel for channel in self.channels}
        return tuple(have[choice("channel", name, have)] for name in dict.fromkeys(names))

    def weights_of(self, asked: Sequence[Channel], over: Mapping[str, float] | None) -> NDArray[np.float32]:
        """How much each of these channels counts. One that is asked by name counts, even if it does not by default."""
        for name in over or {}:
            choice("channel", name, DEFAULTS)
        values = {**self.weights.values, **(over or {})}
        counted = np.array([values.get(channel.name, 0.0) for channel in asked], np.float32)
        if len(asked) == 1 and not counted.any():
            counted[:] = 1
        return counted

    def ground(self, phrases: str | Sequence[str], **options: Any) -> list[Grounding]:
        """See :func:`ir.ground.ground`."""
        return ground(phrases, self, **options)

    # -- made of another -----------------------------------------------------------------------------------------------

    def extended(
        self,
        terms: Terms_ = (),
        aliases: Mapping[str, str | Sequence[str]] | None = None,
        *,
        removed: Iterable[str] = (),
    ) -> Vocabulary:
        """This vocabulary with more terms, other definitions of some, and more aliases (``alias -> term or terms``).

        Everything that is derived from terms is made anew. What was trained (usage, subwords, context), the weights and
        the floor stay.
        """
        gone = set(removed)
        held = {term.name: term for term in self.terms if term.name not in gone}
        held |= {term.name: term for term in map(as_term, terms)}
        for alias, targets in (aliases or {}).items():
            for target in (targets,) if isinstance(targets, str) else targets:
                if target not in held:
                    raise InvalidInput(
                        f"The alias {alias!r} is for {target!r}, which is no term.", remedy="Add the term."
                    )
                held[target] = replace(held[target], aliases=(*held[target].aliases, alias))
        table = Terms.of(held.values())
        index = Index.of(table, self.folding, language=self.language, embedders=self.embedders)
        return self._changed(terms=table, index=index, usage=self.usage.over(table) if self.usage is not None else None)

    def _changed(self, **parts: Any) -> Vocabulary:
        names = ("policy", "embedders", "language", "weights", "floor", "usage", "subwords", "context")
        held = {name: getattr(self, name) for name in names}
        held |= {"terms": self.terms, "folding": self.folding, "index": self._index} | parts
        return Vocabulary(held.pop("terms"), held.pop("folding"), **held)

    def with_models(self, *, subwords: Subwords | None = None, context: ContextModel | None = None) -> Vocabulary:
        """This vocabulary with a subword model or a context model, trained or brought along."""
        parts = {"subwords": subwords, "context": context}
        return self._changed(**{name: part for name, part in parts.items() if part is not None})

    def without_subwords(self) -> Vocabulary:
        """This vocabulary without its subword model."""
        return self._changed(subwords=None)

    def with_policy(self, policy: Mapping[str, float]) -> Vocabulary:
        """This vocabulary with another policy list."""
        return self._changed(policy=_checked_policy(policy))

    def source(self, name: str) -> CorpusSource:
        """The terms as a source of artifacts: what they are called and what they mean, to be built and searched."""
        return CorpusSource.from_mapping({term.name: _artifact(term) for term in self.terms}, name=name)

    # -- weights -------------------------------------------------------------------------------------------------------

    def weighed(self) -> Vocabulary:
        """This vocabulary with weights chosen from what is known of it, and a floor from probes."""
        made = self
        if self.usage is None:
            rows = self.alias_rows(_MOST_PROBES)
            if len(rows):
                made = self._changed(weights=choose(*self._alias_probes(rows), _SOURCES["aliases"]))
        return made._changed(floor=_floor(made))

    def _with_usage(self, documents: Sequence[UsageDocument]) -> Vocabulary:
        train, held = held_back(documents, self.folding)
        trial = self._changed(usage=UsageModel.of(train, self.terms, self.folding, self.embedders, self.language))
        weights = choose(*trial._usage_probes(held[:_MOST_PROBES]), _SOURCES["usage"]) if held else self.weights
        whole = UsageModel.of(documents, self.terms, self.folding, self.embedders, self.language)
        return self._changed(usage=whole, weights=weights)

    def alias_rows(self, most: int) -> NDArray[np.int64]:
        """The surfaces of aliases, which can be held back; about ``most`` of them, from all over."""
        rows = self.index.surfaces.aliases()
        step = max(1, -(-len(rows) // most))
        return rows[::step]

    def _alias_probes(self, rows: NDArray[np.int64]) -> tuple[list[Probe], list[str]]:
        surfaces = self.index.surfaces
        lookups, owners = [], []
        for row in rows.tolist():
            text = surfaces.texts[row]
            lookups.append(Lookup(text, text, hidden=row))
            owners.append({int(surfaces.owners[row])})
        return self._probes(lookups, owners)

    def _usage_probes(self, documents: Sequence[UsageDocument]) -> tuple[list[Probe], list[str]]:
        lookups, right = [], []
        for document in documents:
            numbers = {at for term in document.terms if (at := self.terms.find(term)) is not None}
            folded = self.folding(document.text)
            if numbers and folded:
                lookups.append(Lookup(document.text, folded))
                right.append(numbers)
        return self._probes(lookups, right)

    def _probes(self, lookups: Sequence[Lookup], right: Sequence[set[int]]) -> tuple[list[Probe], list[str]]:
        probes = []
        for pool, wanted in zip(pools(lookups, self.channels, self), right, strict=True):
            hits = np.isin(pool.terms, list(wanted))
            probes.append(Probe(pool.scores, hits, len(wanted) - int(hits.sum())))
        return probes, [channel.name for channel in self.channels]

    # -- files ---------------------------------------------------------------------------------------------------------

    def save(self, folder: str | Path) -> Path:
        """Write it to a folder, beside what is there, which is replaced at the end."""
        return save(self, folder)

    @classmethod
    def load(cls, folder: str | Path) -> Vocabulary:
        """The vocabulary in a folder; its arrays are mapped, not read."""
        return cls(**load(folder))

    def __repr__(self) -> str:
        return f"<Vocabulary of {len(self.terms):,} terms, {len(self.terms.aliases):,} aliases>"


def _artifact(term: Term) -> dict[str, Any]:
    called = [term.display or term.name, *term.aliases]
    text = "\n".join(part for part in (", ".join(called), term.definition) if part)
    told = {"category": term.category} if term.category else {}
    return {"title": term.display or term.name, "text": text, "count": term.count, **told}


#: Where the floor lies among what unrelated phrases score.
_FLOOR_PERCENTILE = 75.0


def _floor(vocabulary: Vocabulary) -> float | None:
    """What the best term of an unrelated phrase may score: a high percentile of what probes score here."""
    from ir.select.probes import percentile_floor, probe_queries

    if not len(vocabulary):
        return None
    found = vocabulary.ground(probe_queries()[:: 2 if len(vocabulary) < 50_000 else 6], k=1, allow_blocked=True)
    scores = np.array([one.terms[0].score if one.terms else 0.0 for one in found])
    return round(percentile_floor(scores, _FLOOR_PERCENTILE), 4)


def _checked_policy(policy: Mapping[str, float] | None) -> dict[str, float]:
    for name, probability in (policy or {}).items():
        if isinstance(probability, bool) or not isinstance(probability, (int, float)) or not 0 <= probability <= 1:
            raise InvalidInput(f"The probability of {name!r} must be a number between 0 and 1, not {probability!r}.")
    return dict(policy or {})
