"""Training a subword model on how terms are used: documents as bags of terms, some of them called by an alias."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from importlib.util import find_spec

import numpy as np

from ir.errors import InvalidInput, MissingExtra
from ir.ground.fasttext_file import SubwordTable
from ir.ground.subword import Subwords, names_hash
from ir.ground.terms import Terms

__all__ = ["train_subwords"]

#: One in so many terms is replaced by one of its aliases, so that aliases become neighbours too.
_ONE_IN = 10
_FEWEST_BUCKETS, _MOST_BUCKETS = 2_000, 2_000_000


def train_subwords(
    documents: Iterable[Sequence[str]],
    terms: Terms,
    *,
    dim: int = 100,
    epochs: int = 5,
    window: int = 50,
    minn: int = 3,
    maxn: int = 6,
    seed: int = 1,
) -> Subwords:
    """A model of these bags of terms. The same seed gives the same model.

    Terms and aliases that no document has are added in documents of their own: every one has a place.
    """
    if find_spec("gensim") is None:
        raise MissingExtra("gensim", "ground", "Training a subword model")
    from gensim.models import FastText

    bags = _with_aliases(documents, terms, random.Random(seed))
    if not bags:
        raise InvalidInput("There is nothing to train on.", remedy="Give usage data, or terms with aliases.")
    words = {word for bag in bags for word in bag}
    model = FastText(
        vector_size=dim,
        window=window,
        min_count=1,
        min_n=minn,
        max_n=maxn,
        bucket=_buckets(words, minn, maxn),
        sg=1,
        workers=1,
        seed=seed,
    )
    model.build_vocab(corpus_iterable=bags)
    model.train(corpus_iterable=bags, total_examples=len(bags), epochs=epochs)
    held = model.wv
    table = SubwordTable(
        list(held.index_to_key), np.array(held.vectors_vocab), np.array(held.vectors_ngrams), minn, maxn
    )
    about = {"source": "trained", "names": names_hash(terms), "documents": len(bags), "epochs": epochs, "seed": seed}
    return Subwords.of(table, about)


def _with_aliases(documents: Iterable[Sequence[str]], terms: Terms, chance: random.Random) -> list[list[str]]:
    bags, seen = [], set()
    for document in documents:
        bag = []
        for name in document:
            at = terms.find(name) if chance.randrange(_ONE_IN) == 0 else None
            aliases = terms.aliases_of(at) if at is not None else []
            bag.append(chance.choice(aliases) if aliases else name)
        seen.update(bag)
        if bag:
            bags.append(bag)
    every, starts = iter(terms.aliases), terms.alias_starts.tolist()
    for at, name in enumerate(terms.names):
        own = [next(every) for _ in range(starts[at + 1] - starts[at])]
        bags += [[name, alias] for alias in own if alias not in seen]
        if name not in seen and not own:
            bags.append([name])
    return bags


def _buckets(words: Iterable[str], minn: int, maxn: int) -> int:
    """About as many as there are distinct n-grams: more cost memory, fewer make strangers share a row."""
    grams: set[int] = set()
    for word in words:
        spelt = f"<{word}>"
        for size in range(minn, maxn + 1):
            grams.update(hash(spelt[first : first + size]) for first in range(len(spelt) - size + 1))
        if len(grams) >= _MOST_BUCKETS:
            return _MOST_BUCKETS
    return max(_FEWEST_BUCKETS, len(grams))
