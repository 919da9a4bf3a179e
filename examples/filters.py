"""Rank only what a filter on metadata lets through."""

import ir

PAPERS = {
    "p1": {"text": "Sparse retrieval with learned term weights", "year": 2021, "tags": ["sparse", "neural"]},
    "p2": {"text": "Dense retrieval with hard negatives", "year": 2023, "tags": ["dense", "neural"]},
    "p3": {"text": "Term weighting approaches for text retrieval", "year": 1988, "tags": ["sparse"]},
}


def main() -> None:
    source = ir.CorpusSource.from_mapping(PAPERS, name="papers", metadata_of=lambda _, paper: paper)
    corpus = ir.build(source, store=ir.CorpusStore.memory(), embedder="light")
    for wanted in (
        {"year": {"$gte": 2020}},
        {"tags": "sparse"},
        {"$and": [{"tags": {"$in": ["sparse"]}}, {"year": {"$lt": 2000}}]},
    ):
        ids = [hit.artifact_id for hit in corpus.search("retrieval", filter=wanted)]
        print(wanted, "->", ", ".join(sorted(ids)))


if __name__ == "__main__":
    main()
