"""LangChain: BM25 retriever and FAISS store under an ensemble retriever, each at its defaults."""

from __future__ import annotations

import pickle
from typing import Any

from langchain_classic.retrievers import EnsembleRetriever
from langchain_community.retrievers import BM25Retriever
from langchain_community.vectorstores import FAISS
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from worker import Filter, Peer, serve


class Given(Embeddings):
    """Query vectors from outside."""

    def __init__(self, vector_of: dict[str, Any]) -> None:
        self.vector_of = vector_of

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return [float(value) for value in self.vector_of[text]]


class LangChain(Peer):
    """BM25 has no file of its own: opening reads the documents and makes it again."""

    modes = ("hybrid", "dense", "lexical")

    def build(self) -> None:
        rows = list(self.rows())
        documents = [Document(page_content=row["text"], metadata={"id": row["id"]}) for row in rows]
        pairs = zip((row["text"] for row in rows), self.vectors(), strict=True)
        store = FAISS.from_embeddings(pairs, Given(self.vector_of), metadatas=[{"id": row["id"]} for row in rows])
        store.save_local(str(self.work))
        (self.work / "documents.pickle").write_bytes(pickle.dumps(documents))
        BM25Retriever.from_documents(documents)

    def open(self) -> None:
        store = FAISS.load_local(str(self.work), Given(self.vector_of), allow_dangerous_deserialization=True)
        documents = pickle.loads((self.work / "documents.pickle").read_bytes())
        words = BM25Retriever.from_documents(documents, k=10)
        dense = store.as_retriever(search_kwargs={"k": 10})
        both = EnsembleRetriever(retrievers=[words, dense], weights=[0.5, 0.5])
        self.retrievers = {"lexical": words, "dense": dense, "hybrid": both}

    def search(self, mode: str, query: str, vector: Any, k: int, where: Filter) -> list[int]:
        return [document.metadata["id"] for document in self.retrievers[mode].invoke(query)][:k]


if __name__ == "__main__":
    serve(LangChain)
