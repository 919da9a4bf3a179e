"""Haystack: BM25 and embedding retrievers over its in-memory store, joined by reciprocal rank in a pipeline."""

from __future__ import annotations

from typing import Any

from haystack import Document, Pipeline
from haystack.components.joiners import DocumentJoiner
from haystack.components.retrievers.in_memory import InMemoryBM25Retriever, InMemoryEmbeddingRetriever
from haystack.document_stores.in_memory import InMemoryDocumentStore
from worker import Filter, Peer, serve


class Haystack(Peer):
    """The store is saved as JSON and read whole."""

    modes = ("hybrid", "dense", "lexical")

    def build(self) -> None:
        store = InMemoryDocumentStore(embedding_similarity_function="cosine")
        store.write_documents(
            [
                Document(id=str(row["id"]), content=row["text"], embedding=vector.tolist())
                for row, vector in zip(self.rows(), self.vectors(), strict=True)
            ]
        )
        store.save_to_disk(str(self.work / "store.json"))

    def open(self) -> None:
        store = InMemoryDocumentStore.load_from_disk(str(self.work / "store.json"))
        self.words = InMemoryBM25Retriever(store, top_k=10)
        self.dense = InMemoryEmbeddingRetriever(store, top_k=10)
        both = Pipeline()
        both.add_component("words", InMemoryBM25Retriever(store, top_k=10))
        both.add_component("dense", InMemoryEmbeddingRetriever(store, top_k=10))
        both.add_component("joined", DocumentJoiner(join_mode="reciprocal_rank_fusion", top_k=10))
        both.connect("words", "joined")
        both.connect("dense", "joined")
        self.both = both

    def search(self, mode: str, query: str, vector: Any, k: int, where: Filter) -> list[int]:
        if mode == "hybrid":
            asked = {"words": {"query": query}, "dense": {"query_embedding": vector.tolist()}}
            found = self.both.run(asked)["joined"]
        elif mode == "dense":
            found = self.dense.run(query_embedding=vector.tolist())
        else:
            found = self.words.run(query=query)
        return [int(document.id) for document in found["documents"]][:k]


if __name__ == "__main__":
    serve(Haystack)
