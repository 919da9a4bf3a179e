"""Test collections in BEIR's layout: ``corpus.jsonl``, ``queries.jsonl`` and judgements."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ir.errors import InvalidInput
from ir.eval.cases import DiscoveryCase
from ir.eval.files import read_jsonl, write_lines
from ir.eval.runs import load_qrels

__all__ = ["BeirDataset", "load_beir", "save_beir"]


@dataclass(frozen=True)
class BeirDataset:
    """A collection: documents (``title`` and ``text``, and whatever else a line holds), queries, judgements."""

    name: str
    corpus: dict[str, dict[str, Any]] = field(default_factory=dict)
    queries: dict[str, str] = field(default_factory=dict)
    qrels: dict[str, dict[str, float]] = field(default_factory=dict)

    def cases(self) -> list[DiscoveryCase]:
        """One case for each judged query; its gold are the documents graded above 0.

        A query all of whose judgements are 0 becomes an abstention case; one without judgements is left out, since
        nothing is known about it.
        """
        return [
            DiscoveryCase(
                query=self.queries[qid],
                gold=tuple(doc for doc, grade in grades.items() if grade > 0),
                corpus=self.name,
                metadata={"query_id": qid},
            )
            for qid, grades in self.qrels.items()
            if qid in self.queries
        ]

    def check(self) -> dict[str, list[str]]:
        """What does not fit together: judged queries and documents that are not there."""
        documents = {doc for grades in self.qrels.values() for doc in grades}
        return {
            "unknown_queries": sorted(set(self.qrels) - set(self.queries)),
            "unknown_documents": sorted(documents - set(self.corpus)),
            "unjudged_queries": sorted(set(self.queries) - set(self.qrels)),
        }


def load_beir(folder: str | Path, *, split: str = "test") -> BeirDataset:
    """Read a folder; judgements are ``qrels/<split>.tsv``, else ``qrels.tsv`` beside the corpus.

    Queries without a judgement in the split are kept in ``queries`` and left out of ``cases()``.
    """
    root = Path(folder)
    if not root.is_dir():
        raise InvalidInput(f"{root} is not a folder.", remedy="Give the folder that holds corpus.jsonl.")
    qrels = next((path for path in (root / "qrels" / f"{split}.tsv", root / "qrels.tsv") if path.is_file()), None)
    needed = [root / "corpus.jsonl", root / "queries.jsonl"]
    absent = [path.name for path in needed if not path.is_file()]
    if qrels is None:
        absent.append(f"qrels/{split}.tsv or qrels.tsv")
    if absent or qrels is None:
        found = sorted(path.stem for path in root.glob("qrels/*.tsv"))
        hint = f"It has the splits {', '.join(found)}." if found else "A BEIR folder needs them."
        raise InvalidInput(f"{root} lacks {', '.join(absent)}.", remedy=hint)
    corpus = {}
    for place, line in read_jsonl(needed[0]):
        doc = _text(line, "_id", place)
        corpus[doc] = {"title": "", "text": "", **{key: value for key, value in line.items() if key != "_id"}}
    queries = {_text(line, "_id", place): _text(line, "text", place) for place, line in read_jsonl(needed[1])}
    return BeirDataset(root.resolve().name, corpus, queries, load_qrels(qrels))


def _text(line: Mapping[str, Any], key: str, place: str) -> str:
    value = line.get(key)
    if isinstance(value, bool) or not isinstance(value, (str, int)) or value == "":
        raise InvalidInput(f"{place}: the key {key!r} must hold text, found {value!r}.")
    return str(value)


def save_beir(dataset: BeirDataset, folder: str | Path, *, split: str = "test") -> None:
    """Write a collection as ``load_beir`` reads it."""
    root = Path(folder)
    documents = ({"_id": doc, **fields} for doc, fields in dataset.corpus.items())
    queries = ({"_id": qid, "text": text} for qid, text in dataset.queries.items())
    write_lines(root / "corpus.jsonl", (json.dumps(line, ensure_ascii=False) for line in documents))
    write_lines(root / "queries.jsonl", (json.dumps(line, ensure_ascii=False) for line in queries))
    judgements = [f"{qid}\t{doc}\t{grade:g}" for qid, grades in dataset.qrels.items() for doc, grade in grades.items()]
    write_lines(root / "qrels" / f"{split}.tsv", ["query-id\tcorpus-id\tscore", *judgements])
