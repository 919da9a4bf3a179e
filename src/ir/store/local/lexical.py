"""The tantivy half of a generation: words for ranking, metadata terms for filtering."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ir.protocols import Ranking
from ir.store.local.symlinks import readable_copy

if TYPE_CHECKING:
    from ir.protocols import Refs

__all__ = ["LexicalReader", "LexicalWriter"]

_NUMBER, _WORDS, _METADATA = "number", "words", "metadata"
_ANALYZER = "terms"
#: Deleting many at once goes in batches, as one query of a million terms would not fit.
_BATCH = 1000
#: So many words of queries have their part of a query at hand.
_REMEMBERED = 10_000


def _register(index: Any) -> Any:
    """Terms arrive analysed and joined by spaces; tantivy forgets its tokenizers on every open."""
    import tantivy

    index.register_tokenizer(_ANALYZER, tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace()).build())
    return index


def _create(folder: Path) -> Any:
    import tantivy

    builder = tantivy.SchemaBuilder()
    builder.add_unsigned_field(_NUMBER, indexed=True, fast=True)
    builder.add_text_field(_WORDS, tokenizer_name=_ANALYZER, index_option="freq")
    builder.add_text_field(_METADATA, tokenizer_name="raw", index_option="basic")
    return tantivy.Index(builder.build(), path=str(folder))


class LexicalWriter:
    """Adds to and deletes from an index in a folder that nobody reads yet."""

    def __init__(self, folder: Path, *, expected: int) -> None:
        import tantivy

        existing = tantivy.Index.exists(str(folder))
        self._index = _register(tantivy.Index.open(str(folder)) if existing else _create(folder))
        self._schema = self._index.schema
        self._document = tantivy.Document
        # One thread makes one segment, and a query's cost grows with their number.
        heap = min(max(expected * 4000, 20_000_000), 800_000_000)
        self._writer = self._index.writer(heap_size=heap, num_threads=1)

    def add(self, number: int, line: str, metadata_terms: Iterable[str]) -> None:
        """Index a record: the terms of its text with spaces between them, and those of its metadata."""
        document = self._document()
        document.add_unsigned(_NUMBER, number)
        document.add_text(_WORDS, line)
        for term in metadata_terms:
            document.add_text(_METADATA, term)
        self._writer.add_document(document)

    def delete(self, numbers: Sequence[int]) -> None:
        from tantivy import Query

        for start in range(0, len(numbers), _BATCH):
            batch = [int(number) for number in numbers[start : start + _BATCH]]
            self._writer.delete_documents_by_query(Query.term_set_query(self._schema, _NUMBER, batch))

    def finish(self) -> None:
        self._writer.commit()
        self._writer.wait_merging_threads()


class LexicalReader:
    """Searches an index that does not change."""

    def __init__(self, folder: Path) -> None:
        import tantivy

        self._folder = readable_copy(folder)
        index = _register(tantivy.Index.open(str(self._folder.path)))
        index.config_reader("manual")
        self._index = index
        self._searcher = index.searcher()
        self._schema = index.schema
        self._q = tantivy.Query
        self._occur = tantivy.Occur
        self._clauses: dict[tuple[str, float], tuple[Any, Any]] = {}

    def __len__(self) -> int:
        return int(self._searcher.num_docs)

    # -- ranking -----------------------------------------------------------------------------------------------

    def rank(self, terms: Mapping[str, float], limit: int, within: Any | None) -> Ranking:
        """The best records that match some term and pass the filter query."""
        query = self._words(terms)
        if within is not None:
            query = self._both(query, within)
        return self._run(query, limit)

    def frequency(self, term: str) -> int:
        return int(self._searcher.doc_freq(_WORDS, term))

    def _run(self, query: Any, limit: int) -> Ranking:
        hits = self._searcher.search(query, limit, count=False).hits
        numbers = self._searcher.fast_field_values(_NUMBER, [address for _, address in hits])
        refs = np.fromiter(numbers, np.int64, len(hits))
        return Ranking(refs, np.fromiter([score for score, _ in hits], np.float32, len(hits)))

    def _words(self, terms: Mapping[str, float]) -> Any:
        clauses = self._clauses
        try:
            return self._q.boolean_query([clauses[asked] for asked in terms.items()])
        except KeyError:
            if len(clauses) > _REMEMBERED:
                clauses = self._clauses = {}
            clauses.update({asked: self._clause(*asked) for asked in terms.items() if asked not in clauses})
        return self._q.boolean_query([clauses[asked] for asked in terms.items()])

    def _clause(self, term: str, weight: float) -> tuple[Any, Any]:
        query = self._q.term_query(self._schema, _WORDS, term, "freq")
        return self._occur.Should, query if weight == 1 else self._q.boost_query(query, float(weight))

    def _both(self, ranked: Any, within: Any) -> Any:
        silent = self._q.const_score_query(within, 0.0)
        return self._q.boolean_query([(self._occur.Must, ranked), (self._occur.Must, silent)])

    # -- filtering ---------------------------------------------------------------------------------------------

    def values(self, prefix: str, limit: int) -> list[str] | None:
        """The distinct metadata terms with a prefix; ``None`` if there are more than ``limit``."""
        found = self._searcher.terms_with_prefix(_METADATA, prefix, limit=limit + 1)
        return None if len(found) > limit else [term for term, _ in found]

    def has_term(self, term: str) -> bool:
        return bool(self._searcher.doc_freq(_METADATA, term))

    def any_of(self, terms: Sequence[str]) -> Any:
        """A query for the records that have one of the metadata terms."""
        if not terms:
            return self._q.empty_query()
        if len(terms) == 1:
            return self._q.term_query(self._schema, _METADATA, terms[0], "basic")
        return self.either([self._q.term_query(self._schema, _METADATA, term, "basic") for term in terms])

    def either(self, queries: Sequence[Any]) -> Any:
        if not queries:
            return self._q.empty_query()
        return self._q.boolean_query([(self._occur.Should, query) for query in queries])

    def every(self, queries: Sequence[Any]) -> Any:
        if not queries:
            return self._q.all_query()
        return self._q.boolean_query([(self._occur.Must, query) for query in queries])

    def without(self, query: Any) -> Any:
        return self._q.boolean_query([(self._occur.Must, self._q.all_query()), (self._occur.MustNot, query)])

    def numbers(self, query: Any) -> Refs:
        """All records that match a filter query, ascending."""
        silent = self._q.const_score_query(query, 0.0)
        count = self._searcher.search(silent, 1, count=True).count
        if not count:
            return np.empty(0, dtype=np.int64)
        return np.sort(self._run(silent, count).refs)
