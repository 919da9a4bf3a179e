"""``python -m bench.ground [PART …] [--embedder NAME …]``: how well, and how fast, phrases are grounded.

*topics*: aliases of GitHub topics, all removed, and in five folds with the others kept; each channel alone beside them.
*debtags*: descriptions of packages to their tags; families stay on one side of the split, the threshold is chosen on
validation. *speed*: 300,000 made-up terms, one core, beside gensim's loop. *large*: 235,000 terms with 1.2 million
aliases. *train*: subword models of 30,000 and 300,000 terms.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from bench.judged import markdown, need_collections
from ir.ground import Case, ContextModel, Subwords, Term, UsageDocument, Vocabulary, evaluate, ground
from ir.ground.families import families
from ir.ground.fasttext_file import SubwordTable
from ir.ground.psq import State, psq_candidates_from_rewrite_phrases

KS = (1, 10, 50)
#: Facets that most packages have, and that are easy to guess.
EASY = ("role::", "devel::library", "implemented-in::")
TESTED = 1400
TERMS, DIM, LOOKUPS = 300_000, 100, 20


def lines(*path: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in need_collections().joinpath(*path).read_text("utf-8").splitlines()]


def recalls(names: Iterable[Sequence[str]], gold: Iterable[set[str]]) -> list[float]:
    """The mean share of the right terms among the first k."""
    pairs = list(zip(names, gold, strict=True))
    return [float(np.mean([len(set(found[:k]) & right) / len(right) for found, right in pairs])) for k in KS]


# -- topics ------------------------------------------------------------------------------------------------------------


def topics(embedders: Sequence[str]) -> None:
    corpus = lines("github_topics_alias", "corpus.jsonl")
    pairs = [(row["text"], row["_id"].split("|")[0]) for row in lines("github_topics_alias", "queries.jsonl")]
    folds = np.random.default_rng(0).permutation(len(pairs)) % 5

    def made(kept: Sequence[tuple[str, str]]) -> Vocabulary:
        aliases: dict[str, list[str]] = defaultdict(list)
        for alias, topic in kept:
            aliases[topic].append(alias)
        terms = [Term(row["_id"], row["title"], row["text"], aliases=tuple(aliases[row["_id"]])) for row in corpus]
        return Vocabulary.of(terms, embedders=embedders)

    bare = made([])
    parts = [
        (made([pair for pair, one in zip(pairs, folds, strict=True) if one != fold]), folds == fold)
        for fold in range(5)
    ]

    def both(**options: Any) -> list[float]:
        gold = [{topic} for _, topic in pairs]
        removed = recalls(_names(bare, [alias for alias, _ in pairs], **options), gold)
        kept: list[list[float]] = []
        for vocabulary, tested in parts:
            some = [pair for pair, one in zip(pairs, tested, strict=True) if one]
            found = _names(vocabulary, [alias for alias, _ in some], **options)
            kept.append([len(some), *recalls(found, [{topic} for _, topic in some])])
        table = np.array(kept)
        return [*removed, *(table[:, 1:] * table[:, :1]).sum(0) / table[:, 0].sum()]

    rows: list[list[object]] = [["all channels", *both()]]
    rows += [[channel.name, *both(channels=[channel.name])] for channel in bare.channels]
    rows.append(["plain hybrid search", *_hybrid(bare, pairs), "", "", ""])
    print(f"\n## Aliases of topics, embedders {', '.join(embedders) or 'none'}\n")
    print(f"{len(corpus):,} topics, {len(pairs):,} aliases\n")
    print(markdown(["", *(f"removed R@{k}" for k in KS), *(f"kept R@{k}" for k in KS)], rows))
    sources = Counter(vocabulary.weights.source for vocabulary, _ in parts)
    print(f"\nWeights in the five folds: {dict(sources)}\n")


def _names(vocabulary: Vocabulary, phrases: Sequence[str], **options: Any) -> list[list[str]]:
    return [[one.term for one in found.terms] for found in ground(phrases, vocabulary, k=max(KS), **options)]


def _hybrid(vocabulary: Vocabulary, pairs: Sequence[tuple[str, str]]) -> list[float]:
    import ir

    embedder = vocabulary.embedders[0] if vocabulary.embedders else "light"
    corpus = ir.build(vocabulary.source("terms"), store=ir.CorpusStore.memory(), embedder=embedder)
    found = [[hit.artifact_id for hit in ir.search(corpus, phrase, k=max(KS), mode="hybrid")] for phrase, _ in pairs]
    return recalls(found, [{topic} for _, topic in pairs])


# -- debtags -----------------------------------------------------------------------------------------------------------


def debtags(embedders: Sequence[str]) -> None:
    """Descriptions to tags. A family is what shares the head of a description or the stem of a name."""
    packages = [row for row in lines("corpora", "debtags", "corpus.jsonl") if row["tags"]]
    told = json.loads(need_collections().joinpath("debtags_vocabulary", "tags.json").read_text("utf-8"))
    group = families([row["text"] for row in packages], [row["_id"] for row in packages])
    order = sorted(set(group))
    random.Random(1).shuffle(order)
    test, validation = set(order[:TESTED]), set(order[TESTED : 2 * TESTED])
    learned = [row for row, one in zip(packages, group, strict=True) if one not in test | validation]
    tried, tested = (
        _some([row for row, one in zip(packages, group, strict=True) if one in side], most)
        for side, most in ((validation, 1000), (test, TESTED))
    )
    counts = Counter(tag for row in learned for tag in row["tags"])
    names = sorted({tag for row in packages for tag in row["tags"]})
    terms = [
        Term(
            name,
            told.get(name, {}).get("short", ""),
            told.get(name, {}).get("long", ""),
            name.split("::")[0],
            counts[name],
        )
        for name in names
    ]
    usage = [UsageDocument(row["text"], tuple(row["tags"]), row["_id"]) for row in learned]
    began = time.process_time()
    vocabulary = Vocabulary.of(terms, usage=usage, embedders=embedders)
    built = time.process_time() - began
    words = Vocabulary.of(terms, usage=usage, embedders=())
    bare = Vocabulary.of(terms, embedders=embedders)
    ways: list[tuple[str, Vocabulary, dict[str, Any]]] = [
        ("all channels", vocabulary, {}),
        ("usage (neighbours)", vocabulary, {"channels": ["usage"]}),
        ("usage-map", vocabulary, {"channels": ["usage-map"]}),
        ("TF-IDF neighbours", words, {"channels": ["usage"]}),
        ("names and definitions, no usage", bare, {}),
        ("most frequent tags", vocabulary, {"channels": ["prior"]}),
    ]
    rows: list[list[object]] = []
    for name, one, options in ways:
        rows.append([name, *_debtags_figures(one, tried, tested, options)])
    rows.append(["plain hybrid search", *_debtags_hybrid(bare, tested)])
    print(f"\n## Packages to tags, embedders {', '.join(embedders) or 'none'}\n")
    print(f"{len(learned):,} packages learned from, {len(tried):,} to choose the threshold, {len(tested):,} tested;")
    print(f"built in {built:.0f} s of CPU time; weights: {vocabulary.weights.source}\n")
    print(markdown(["", "R@10", "R@50", "F1", "R@10 without easy facets"], rows))


def _some(rows: list[Any], most: int) -> list[Any]:
    random.Random(2).shuffle(rows)
    return rows[:most]


def _debtags_figures(vocabulary: Vocabulary, tried: Any, tested: Any, options: dict[str, Any]) -> list[float]:
    cases = [[Case(row["text"], frozenset(row["tags"]), row["_id"]) for row in rows] for rows in (tried, tested)]
    found = evaluate(vocabulary, cases[1], ks=KS, validation=cases[0], **options)
    hard = _without_easy(_names(vocabulary, [row["text"] for row in tested], **options), tested)
    return [found.recall[10], found.recall[50], found.f1, hard]


def _without_easy(names: Sequence[Sequence[str]], tested: Any) -> float:
    found, gold = [], []
    for some, row in zip(names, tested, strict=True):
        right = {tag for tag in row["tags"] if not tag.startswith(EASY)}
        if right:
            gold.append(right)
            found.append([tag for tag in some if not tag.startswith(EASY)])
    return recalls(found, gold)[1]


def _debtags_hybrid(vocabulary: Vocabulary, tested: Any) -> list[object]:
    import ir

    embedder = vocabulary.embedders[0] if vocabulary.embedders else "light"
    corpus = ir.build(vocabulary.source("terms"), store=ir.CorpusStore.memory(), embedder=embedder)
    found = [[hit.artifact_id for hit in ir.search(corpus, row["text"], k=50, mode="hybrid")] for row in tested]
    gold = [set(row["tags"]) for row in tested]
    return [*recalls(found, gold)[1:], "", _without_easy(found, tested)]


# -- speed -------------------------------------------------------------------------------------------------------------


def made_up(count: int, seed: int = 3) -> list[str]:
    """Names of one to four words out of 60,000, a few of which are frequent."""
    chance = random.Random(seed)
    starts = [
        "b",
        "c",
        "d",
        "f",
        "g",
        "h",
        "j",
        "k",
        "l",
        "m",
        "n",
        "p",
        "r",
        "s",
        "t",
        "v",
        "w",
        "z",
        "ch",
        "sh",
        "th",
        "st",
        "tr",
    ]
    syllables = [start + end for start in starts for end in ("a", "e", "i", "o", "u", "ai", "ee", "ou")]
    words = ["".join(chance.choice(syllables) for _ in range(chance.randint(2, 4))) for _ in range(60_000)]
    share = 1 / np.arange(1, len(words) + 1) ** 0.9
    drawn = iter(np.random.default_rng(seed).choice(len(words), 8 * count, p=share / share.sum()).tolist())
    names: dict[str, None] = {}
    while len(names) < count:
        names["_".join(words[next(drawn)] for _ in range(chance.randint(1, 4)))] = None
    return list(names)


def misspelt(names: Sequence[str], count: int) -> list[str]:
    chance = random.Random(9)
    made = []
    while len(made) < count:
        name = chance.choice(names).replace("_", " ")
        at = chance.randrange(len(name))
        made.append(name[:at] + name[at + 1 :])
    return made


def timed(work: Callable[[], Any], times: int = 7) -> float:
    """Milliseconds of CPU time, the median of some, after one to warm up."""
    work()
    taken = []
    for _ in range(times):
        began = time.process_time()
        work()
        taken.append(1000 * (time.process_time() - began))
    return float(np.median(taken))


def speed(embedders: Sequence[str]) -> None:
    import faiss

    faiss.omp_set_num_threads(1)
    names = made_up(TERMS)
    chance = np.random.default_rng(1)
    terms = [Term(name, count=int(count)) for name, count in zip(names, chance.integers(0, 9999, TERMS), strict=True)]
    began = time.process_time()
    vocabulary = Vocabulary.of(terms, embedders=())
    built = time.process_time() - began
    grams = (chance.standard_normal((500_000, DIM)) * np.linspace(1.5, 0.2, DIM)).astype(np.float32)
    own = (chance.standard_normal((TERMS, DIM)) * 0.3).astype(np.float32)
    began = time.process_time()
    model = Subwords.of(SubwordTable(names, own, grams, 3, 6))
    coded = time.process_time() - began
    bags = [[names[at] for at in chance.integers(0, 20_000, 8)] for _ in range(20_000)]
    vocabulary = vocabulary.with_models(subwords=model, context=ContextModel.of(bags))
    with tempfile.TemporaryDirectory() as folder:
        vocabulary.save(folder)
        began = time.perf_counter()
        vocabulary = Vocabulary.load(folder)
        loaded = time.perf_counter() - began
        state = State.of(vocabulary)
        phrases = [phrase for phrase in misspelt(names, 200) if len(phrase.split()) > 1][: LOOKUPS // 2]
        _, reports = psq_candidates_from_rewrite_phrases(phrases, True, state=state, verbose=True)
        lookups = [report["lookup"] for report in reports if not report["fasttext_skipped"]]
        context = [names[0], names[1]]
        ours = timed(lambda: psq_candidates_from_rewrite_phrases(phrases, True, context, state=state))
        assert vocabulary.subwords is not None
        found = vocabulary.subwords.neighbours(lookups, 50)
        exact = _exact(vocabulary.subwords, lookups)
        recall = float(
            np.mean([len({word for word, _ in one} & right) / 50 for one, right in zip(found, exact, strict=True)])
        )
        every = [report["lookup"] for report in reports]
        theirs, needed = (_gensim_loop(names, own, grams, some) for some in (every, lookups))
        others = misspelt(names, LOOKUPS)
        channels = timed(lambda: ground(others, vocabulary))
    rows: list[list[object]] = [
        [f"seed's algorithm, {len(reports)} lookups, ms", ours],
        ["recall@50 of exact neighbours", recall],
        ["gensim most_similar in a loop, the same lookups, ms", theirs if theirs is not None else "no gensim"],
        ["times as fast", theirs / ours if theirs else "-"],
        [f"the same for the {len(lookups)} that are no exact matches", needed / ours if needed else "-"],
        [f"channels without a model, {LOOKUPS} lookups, ms", channels],
        ["load by mapping, s", loaded],
        ["build without training, CPU s", built],
        ["codes for neighbours, CPU s", coded],
        ["memory of all this, MB", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000],
    ]
    print(f"\n## Speed, {TERMS:,} terms × {DIM}, one core, warm\n")
    print(markdown(["", "measured"], rows))


def _exact(model: Subwords, lookups: Sequence[str]) -> list[set[str]]:
    rows = np.asarray(model.nearest.rows, np.float32)
    found = []
    for word in lookups:
        scores = rows @ model.vector(word)
        found.append({model.table.words[at] for at in np.argpartition(-scores, 50)[:50]})
    return found


def _gensim_loop(names: list[str], own: Any, grams: Any, lookups: Sequence[str]) -> float | None:
    try:
        from gensim.models.fasttext import FastTextKeyedVectors
    except ImportError:
        return None
    vectors = FastTextKeyedVectors(DIM, 3, 6, len(grams))
    vectors.add_vectors(names, own)
    vectors.vectors_vocab, vectors.vectors_ngrams = own, grams
    vectors.recalc_char_ngram_buckets()
    vectors.adjust_vectors()
    vectors.fill_norms()
    return timed(lambda: [vectors.most_similar(word, topn=50) for word in lookups], 3)


def large(embedders: Sequence[str]) -> None:
    """235,000 terms with 1.2 million aliases, made up; no model, nothing trained."""
    chance = random.Random(5)
    names = made_up(235_000)
    aliases: list[list[str]] = [[] for _ in names]
    for _ in range(1_200_000):
        at = chance.randrange(len(names))
        words = names[at].split("_")
        chance.shuffle(words)
        aliases[at].append(" ".join([*words, names[chance.randrange(2000)].split("_")[0]]))
    terms = [Term(name, aliases=tuple(some)) for name, some in zip(names, aliases, strict=True)]
    began = time.process_time()
    vocabulary = Vocabulary.of(terms, embedders=())
    built = time.process_time() - began
    others = misspelt(names, LOOKUPS)
    rows: list[list[object]] = [
        ["build, CPU s", built],
        ["memory of the process, its terms included, MB", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000],
        [f"{LOOKUPS} lookups, ms", timed(lambda: ground(others, vocabulary))],
    ]
    print(f"\n## {len(names):,} terms, {len(vocabulary.terms.aliases):,} aliases\n")
    print(markdown(["", "measured"], rows))


def train(embedders: Sequence[str]) -> None:
    from ir.ground import train_subwords

    rows: list[list[object]] = []
    for count, documents in ((30_000, 30_000), (300_000, 300_000)):
        names = made_up(count)
        chance = np.random.default_rng(2)
        bags = [[names[at] for at in chance.integers(0, count, 10)] for _ in range(documents)]
        held = Vocabulary.of(names, embedders=())
        began = time.process_time()
        model = train_subwords(bags, held.terms, epochs=1)
        taken = time.process_time() - began
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
        rows.append([f"{count:,}", 10 * documents, taken, len(model.table.gram_rows), memory])
        print(f"{count:,}: {taken:.0f} s", flush=True)
    print("\n## Training a subword model, one epoch, one core\n")
    print(markdown(["terms", "tokens", "CPU s", "buckets", "MB"], rows))


PARTS = {"topics": topics, "debtags": debtags, "speed": speed, "large": large, "train": train}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], default=[])
    parser.add_argument("--embedder", action="append", default=[])
    given = parser.parse_args()
    for part in given.parts or ("topics", "debtags", "speed", "large"):
        PARTS[part](given.embedder or ["box"])


if __name__ == "__main__":
    main()
