"""Give LlamaIndex a corpus: as a retriever for query engines, and as a tool for agents.

Needs: pip install llama-index-core
"""

from typing import Any

from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from llama_index.core.tools import FunctionTool

import ir
from ir.tools import make_search

NOTES = {
    "tea": "Green tea is steeped at 80 degrees for two minutes; boiling water makes it bitter.",
    "bread": "Knead the dough for ten minutes, let it rise, fold it, and bake it hot with steam.",
    "bicycle": "Change the chain when the gauge drops in. Oil it after riding in the rain.",
}


class IrRetriever(BaseRetriever):
    """The ``k`` best passages of a corpus, or of one by its name, as LlamaIndex's nodes with scores."""

    def __init__(self, corpus: Any, k: int = 4) -> None:
        self._corpus, self._k = corpus, k
        super().__init__()

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        hits = ir.search(self._corpus, query_bundle.query_str, k=self._k, mode="hybrid")
        return [
            NodeWithScore(
                node=TextNode(
                    id_=hit.artifact_id, text=hit.text, metadata={**hit.metadata, "artifact_id": hit.artifact_id}
                ),
                score=hit.score,
            )
            for hit in hits
        ]


def make_tool(corpus: Any) -> FunctionTool:
    """The same search as a tool: its name, its description and its arguments are read from the function."""
    return FunctionTool.from_defaults(make_search(corpus, k=3))


def main() -> None:
    source = ir.CorpusSource.from_mapping(NOTES, name="notes")
    corpus = ir.build(source, store=ir.CorpusStore.memory(), embedder="light")

    nodes = IrRetriever(corpus, k=1).retrieve("how hot should the water for tea be")
    print(f"{nodes[0].node_id}: {nodes[0].text}")

    tool = make_tool(corpus)
    answer = tool(query="bake bread", k=1).raw_output
    print(f"{tool.metadata.name} found {answer['results'][0]['artifact_id']}")


if __name__ == "__main__":
    main()
