"""Test collections in BEIR's layout: ``corpus.jsonl``, ``queries.jsonl`` and judgements."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ir.errors import InvalidInput
from ir.eval.cases import DiscoveryCase
from ir.eval.files import read_jsonl, write_lines
from ir.eval.runs import load_qrels

if TYPE_CHECKING:
    from ir.sources import CorpusSource

__all__ = ["BeirDataset", "find_beir", "load_beir", "save_beir"]

_CORPUS = "corpus.jsonl"
_QUERIES = "queries.jsonl"


@dataclass(frozen=True)
class BeirDataset:
    """A collection: documents (``title`` and ``text``, and whatever else a line holds), queries, judgements.

    ``repeated_ids`` are those of documents and queries that came more than once; the last one counts.
    """

    name: str
    corpus: dict[str, dict[str, Any]] = field(default_factory=dict)
    queries: dict[str, str] = field(default_factory=dict)
    qrels: dict[str, dict[str, float]] = field(default_factory=dict)
    repeated_ids: tuple[str, ...] = ()

    def source(self) -> CorpusSource:
        """The documents, whole where the embedder reads all of one and cut where it does not."""
        from ir.sources import CorpusSource
        from ir.strategy import Fitted

        return CorpusSource.from_mapping(self.corpus, name=self.name, strategy=Fitted(text_key="text"))

    def answered(self) -> tuple[dict[str, str], dict[str, dict[str, float]]]:
        """Queries and judgements of those queries that have a relevant document: those that are usually counted."""
        qrels = {
            qid: grades
            for qid, grades in self.qrels.items()
            if qid in self.queries and any(grade > 0 for grade in grades.values())
        }
        if not qrels:
            raise InvalidInput(f"No query of {self.name!r} has a relevant document in the judgements.")
        return {qid: self.queries[qid] for qid in qrels}, qrels

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
        """What does not fit together: judged queries and documents that are not there, ids that come twice."""
        documents = {doc for grades in self.qrels.values() for doc in grades}
        return {
            "unknown_queries": sorted(set(self.qrels) - set(self.queries)),
            "unknown_documents": sorted(documents - set(self.corpus)),
            "unjudged_queries": sorted(set(self.queries) - set(self.qrels)),
            "repeated_ids": sorted(self.repeated_ids),
            "empty_documents": sorted(doc for doc, fields in self.corpus.items() if not _words(fields)),
        }

    def warnings(self) -> list[str]:
        """What of :meth:`check` bears on the figures, in sentences."""
        found = self.check()
        said = {
            "repeated_ids": "ids occur more than once{}; the last of each counts",
            "unknown_queries": "judged queries are not among the queries{}; they are left out",
            "unknown_documents": "judged documents are not in the corpus{}; they count as not found",
            "empty_documents": "documents have neither title nor text{}; they cannot be found",
        }
        return [
            f"{len(found[name]):,} {text.format(f', among them {found[name][0]!r}')}."
            for name, text in said.items()
            if found[name]
        ]


def _words(fields: Mapping[str, Any]) -> str:
    return "".join(str(fields.get(key) or "").strip() for key in ("title", "text"))


def find_beir(path: str | Path) -> list[Path]:
    """The folders in BEIR's layout at and below ``path``, by name; ``path`` itself if there are none.

    Hidden folders are passed over, links are followed. Whether a folder can be read is for :func:`load_beir` to say.
    """
    root = Path(path)
    found = []
    seen: set[str] = set()  # a link may lead in a circle
    for folder, below, files in os.walk(root, followlinks=True):
        new = os.path.realpath(folder) not in seen
        seen.add(os.path.realpath(folder))
        if new and {_CORPUS, _QUERIES} <= set(files):
            found.append(Path(folder))
            new = False  # a collection does not contain another
        below[:] = sorted(name for name in below if new and not name.startswith("."))
    return found or [root]


def load_beir(folder: str | Path, *, split: str = "test") -> BeirDataset:
    """Read a folder; judgements are ``qrels/<split>.tsv``, else ``qrels.tsv`` beside the corpus.

    Queries without a judgement in the split are kept in ``queries`` and left out of ``cases()``. A corpus without any
    document is an error.
    """
    root = Path(folder)
    if not root.is_dir():
        raise InvalidInput(f"{root} is not a folder.", remedy="Give the folder that holds corpus.jsonl.")
    qrels = next((path for path in (root / "qrels" / f"{split}.tsv", root / "qrels.tsv") if path.is_file()), None)
    needed = [root / _CORPUS, root / _QUERIES]
    absent = [path.name for path in needed if not path.is_file()]
    if qrels is None:
        absent.append(f"qrels/{split}.tsv or qrels.tsv")
    if absent or qrels is None:
        found = sorted(path.stem for path in root.glob("qrels/*.tsv"))
        hint = f"It has the splits {', '.join(found)}." if found else "A BEIR folder needs them."
        raise InvalidInput(f"{root} lacks {', '.join(absent)}.", remedy=hint)
    documents = [(_text(line, "_id", place), _document(line)) for place, line in read_jsonl(needed[0])]
    if not documents:
        raise InvalidInput(f"{needed[0]} holds no documents.", remedy='Write one on each line: {"_id": …, "text": …}')
    queries = [(_text(line, "_id", place), _text(line, "text", place)) for place, line in read_jsonl(needed[1])]
    repeated = (*_repeated(documents), *_repeated(queries))
    return BeirDataset(root.resolve().name, dict(documents), dict(queries), load_qrels(qrels), repeated)


def _document(line: Mapping[str, Any]) -> dict[str, Any]:
    return {"title": "", "text": "", **{key: value for key, value in line.items() if key != "_id"}}


def _repeated(items: Iterable[tuple[str, Any]]) -> tuple[str, ...]:
    return tuple(name for name, count in Counter(name for name, _ in items).items() if count > 1)


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
    write_lines(root / _CORPUS, (json.dumps(line, ensure_ascii=False) for line in documents))
    write_lines(root / _QUERIES, (json.dumps(line, ensure_ascii=False) for line in queries))
    judgements = [f"{qid}\t{doc}\t{grade:g}" for qid, grades in dataset.qrels.items() for doc, grade in grades.items()]
    write_lines(root / "qrels" / f"{split}.tsv", ["query-id\tcorpus-id\tscore", *judgements])
