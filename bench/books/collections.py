"""The collections that books are measured on, as corpora with links: built once for each embedder, and kept."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import ir
from bench.books.check import QUESTIONS, read
from bench.judged import KEPT, embedder_of, need_collections
from ir.book import Book
from ir.store import LocalStore

#: What players write for what the rules say; the same in every game of this family.
ALIASES = {
    "AC": "Armor Class",
    "HP": "hit points",
    "DC": "Difficulty Class",
    "XP": "experience points",
    "DM": ["game master", "GM"],
    "STR": "Strength",
    "DEX": "Dexterity",
    "CON": "Constitution",
    "INT": "Intelligence",
    "WIS": "Wisdom",
    "CHA": "Charisma",
    "AoO": ["attack of opportunity", "opportunity attack"],
    "crit": "critical hit",
    "PC": ["player character", "character"],
    "NPC": ["nonplayer character", "monster"],
}


@dataclass(frozen=True)
class Question:
    """``gold`` are groups of entries: each group is found when one of its entries is."""

    id: str
    text: str
    gold: tuple[frozenset[str], ...]
    about: dict[str, Any] = field(default_factory=dict)


def lines_of(path: Path) -> list[dict[str, Any]]:
    with path.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines if line.strip()]


@cache
def srd_items() -> dict[str, dict[str, Any]]:
    """The entries of the rules; what they are linked to is named by other capitals than the entries are."""
    rows = lines_of(need_collections() / "corpora" / "srd5e" / "corpus.jsonl")
    ids = {row["_id"].casefold(): row["_id"] for row in rows}
    return {
        row["_id"]: {
            "title": row["title"],
            "text": row["text"],
            "chapter": row["kind"],
            "links": [ids[link.casefold()] for link in row["links"] if link.casefold() in ids],
        }
        for row in rows
    }


@cache
def hotpot_items() -> dict[str, dict[str, Any]]:
    rows = lines_of(need_collections() / "hotpotqa_small" / "corpus.jsonl")
    return {row["_id"]: {"title": row["title"], "text": row["text"]} for row in rows}


@cache
def corpus_of(name: str, spec: str, *, given_links: bool = False) -> ir.Corpus:
    """``srd`` or ``hotpot``, with links by names; ``given_links`` are those that the entries bring with them."""
    items = srd_items() if name == "srd" else hotpot_items()
    if not given_links:
        items = {key: {**item, "links": []} for key, item in items.items()}
    embedder = embedder_of(spec)
    place = KEPT / f"book-{name}-{'given-' if given_links else ''}{embedder.id.replace('/', '_')}"
    source = ir.CorpusSource.from_mapping(items, name=name, strategy=Book())
    print(f"  {name}, {spec} …", end="", file=sys.stderr, flush=True)
    built = ir.build(source, store=LocalStore(place), embedder=embedder, floor=False)
    built.store.set_config({**built.store.get_config(), "aliases": ALIASES if name == "srd" else {}})
    print(f" {len(built.store):,} records", file=sys.stderr)
    return built


def own_questions(half: str) -> list[Question]:
    """Our questions about the rules, ``open`` or ``kept``."""
    rows = [row for row in read(QUESTIONS) if row["half"] == half]
    return [Question(row["id"], row["question"], _groups(row), {"kind": row["kind"]}) for row in rows]


def _groups(row: dict[str, Any]) -> tuple[frozenset[str], ...]:
    stands = row.get("stands_for", {})
    return tuple(
        frozenset({gold, *(other for other, replaced in stands.items() if replaced == gold)}) for gold in row["gold"]
    )


def judged_questions(name: str) -> list[Question]:
    """The questions of a collection in BEIR's layout."""
    folder = need_collections() / name
    texts = {row["_id"]: row["text"] for row in lines_of(folder / "queries.jsonl")}
    gold: dict[str, list[str]] = {}
    for line in (folder / "qrels.tsv").read_text("utf-8").splitlines():
        query, document, score = line.split("\t")[:3]
        if score.strip().isdigit() and int(score) > 0:
            gold.setdefault(query, []).append(document)
    return [Question(key, texts[key], tuple(frozenset({one}) for one in gold[key])) for key in gold if key in texts]
