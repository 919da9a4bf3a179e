"""Give a LangChain agent a corpus: as a retriever for chains, and as a tool that may say that nothing fits.

Needs: pip install langchain-core
"""

from typing import Any

from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.tools import StructuredTool

import ir
from ir.tools import make_search

NOTES = {
    "tea": "Green tea is steeped at 80 degrees for two minutes; boiling water makes it bitter.",
    "bread": "Knead the dough for ten minutes, let it rise, fold it, and bake it hot with steam.",
    "bicycle": "Change the chain when the gauge drops in. Oil it after riding in the rain.",
}


class IrRetriever(BaseRetriever):
    """The ``k`` best passages of a corpus, or of one by its name, as LangChain's documents."""

    corpus: Any
    k: int = 4

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        hits = ir.search(self.corpus, query, k=self.k, mode="hybrid")
        return [
            Document(
                page_content=hit.text,
                id=hit.artifact_id,
                metadata={**hit.metadata, "artifact_id": hit.artifact_id, "score": hit.score},
            )
            for hit in hits
        ]


def make_tool(corpus: Any) -> StructuredTool:
    """The same search as a tool: its name, its description and its arguments are read from the function."""
    return StructuredTool.from_function(make_search(corpus, k=3))


def main() -> None:
    source = ir.CorpusSource.from_mapping(NOTES, name="notes")
    corpus = ir.build(source, store=ir.CorpusStore.memory(), embedder="light")

    documents = IrRetriever(corpus=corpus, k=1).invoke("how hot should the water for tea be")
    print(f"{documents[0].id}: {documents[0].page_content}")

    tool = make_tool(corpus)
    answer = tool.invoke({"query": "bake bread", "k": 1})
    print(f"{tool.name}({', '.join(tool.args)}) found {answer['results'][0]['artifact_id']}")


if __name__ == "__main__":
    main()
