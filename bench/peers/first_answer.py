"""What a user writes with another library to ask a folder one question: ``first_answer.py LIBRARY FOLDER MODEL QUERY``.

Each way is the one that its documentation shows first, with the same weights. Prints the number of chunks, then hits.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

SIZE, OVERLAP = 1000, 100


def main() -> None:
    library, folder, model, query = sys.argv[1:5]
    {"txtai": txtai, "langchain": langchain, "llamaindex": llamaindex}[library](Path(folder), model, query)


def texts(folder: Path) -> Iterator[tuple[str, str]]:
    """Every file that is text, in one order."""
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            raw = path.read_bytes()
            if b"\0" not in raw:
                yield str(path.relative_to(folder)), raw.decode("utf-8", "replace")


def txtai(folder: Path, model: str, query: str) -> None:
    """txtai leaves the cutting to its user: paragraphs, put together up to the same size."""
    from txtai import Embeddings

    chunks = []
    for name, text in texts(folder):
        held = ""
        for paragraph in text.split("\n\n"):
            if held and len(held) + len(paragraph) > SIZE:
                chunks.append((f"{name}#{len(chunks)}", held, None))
                held = ""
            held = f"{held}\n\n{paragraph}" if held else paragraph
        if held.strip():
            chunks.append((f"{name}#{len(chunks)}", held, None))
    embeddings = Embeddings(path=model, hybrid=True, gpu=False)
    embeddings.index(chunks)
    print(len(chunks))
    for hit in embeddings.search(query, 10):
        print(hit)


def langchain(folder: Path, model: str, query: str) -> None:
    from langchain_community.vectorstores import FAISS
    from langchain_core.documents import Document
    from langchain_core.embeddings import Embeddings
    from langchain_text_splitters import RecursiveCharacterTextSplitter
    from sentence_transformers import SentenceTransformer

    network = SentenceTransformer(model, device="cpu")

    class Network(Embeddings):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return network.encode(texts, show_progress_bar=False).tolist()  # type: ignore[no-any-return]

        def embed_query(self, text: str) -> list[float]:
            return self.embed_documents([text])[0]

    documents = [Document(text, metadata={"source": name}) for name, text in texts(folder)]
    chunks = RecursiveCharacterTextSplitter(chunk_size=SIZE, chunk_overlap=OVERLAP).split_documents(documents)
    store = FAISS.from_documents(chunks, Network())
    print(len(chunks))
    for hit in store.similarity_search(query, k=10):
        print(hit.metadata["source"])


def llamaindex(folder: Path, model: str, query: str) -> None:
    from llama_index.core import Document, VectorStoreIndex
    from llama_index.core.embeddings import BaseEmbedding
    from llama_index.core.node_parser import SentenceSplitter
    from sentence_transformers import SentenceTransformer

    network = SentenceTransformer(model, device="cpu")

    class Network(BaseEmbedding):
        def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
            return network.encode(texts, show_progress_bar=False).tolist()  # type: ignore[no-any-return]

        def _get_text_embedding(self, text: str) -> list[float]:
            return self._get_text_embeddings([text])[0]

        def _get_query_embedding(self, query: str) -> list[float]:
            return self._get_text_embedding(query)

        async def _aget_query_embedding(self, query: str) -> list[float]:
            return self._get_text_embedding(query)

    documents = [Document(text=text, metadata={"source": name}) for name, text in texts(folder)]
    splitter = SentenceSplitter(chunk_size=256, chunk_overlap=25)
    nodes = splitter.get_nodes_from_documents(documents)
    index = VectorStoreIndex(nodes, embed_model=Network(embed_batch_size=32))
    print(len(nodes))
    for hit in index.as_retriever(similarity_top_k=10).retrieve(query):
        print(hit.metadata["source"])


if __name__ == "__main__":
    main()
