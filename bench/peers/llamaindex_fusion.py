"""LlamaIndex: its vector index and BM25 retriever under a fusion retriever (reciprocal rank)."""

from __future__ import annotations

from typing import Any

from llama_index.core import Settings, StorageContext, VectorStoreIndex, load_index_from_storage
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.llms import MockLLM
from llama_index.core.retrievers import QueryFusionRetriever
from llama_index.core.schema import TextNode
from llama_index.retrievers.bm25 import BM25Retriever
from worker import Filter, Peer, serve

VECTOR_OF: dict[str, Any] = {}


class Given(BaseEmbedding):
    """Query vectors from outside; nodes carry theirs already."""

    def _get_query_embedding(self, query: str) -> list[float]:
        return [float(value) for value in VECTOR_OF[query]]

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_query_embedding(query)

    def _get_text_embedding(self, text: str) -> list[float]:
        return self._get_query_embedding(text)


class LlamaIndex(Peer):
    """Everything at its defaults: the simple vector store in memory, saved as JSON."""

    modes = ("hybrid", "dense", "lexical")

    def __init__(self, job: dict[str, Any]) -> None:
        super().__init__(job)
        self.vector_of = VECTOR_OF
        Settings.embed_model = Given()
        Settings.llm = MockLLM()

    def build(self) -> None:
        nodes = [
            TextNode(id_=str(row["id"]), text=row["text"], embedding=vector.tolist())
            for row, vector in zip(self.rows(), self.vectors(), strict=True)
        ]
        VectorStoreIndex(nodes).storage_context.persist(str(self.work / "index"))
        for node in nodes:
            node.embedding = None
        BM25Retriever.from_defaults(nodes=nodes, similarity_top_k=10).persist(str(self.work / "bm25"))

    def open(self) -> None:
        context = StorageContext.from_defaults(persist_dir=str(self.work / "index"))
        dense = load_index_from_storage(context).as_retriever(similarity_top_k=10)
        words = BM25Retriever.from_persist_dir(str(self.work / "bm25"))
        both = QueryFusionRetriever(
            [dense, words], similarity_top_k=10, num_queries=1, mode="reciprocal_rerank", use_async=False
        )
        self.retrievers = {"lexical": words, "dense": dense, "hybrid": both}

    def search(self, mode: str, query: str, vector: Any, k: int, where: Filter) -> list[int]:
        return [int(found.node.node_id) for found in self.retrievers[mode].retrieve(query)][:k]


if __name__ == "__main__":
    serve(LlamaIndex)
