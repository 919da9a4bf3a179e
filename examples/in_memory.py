"""Search a few texts without touching the disk."""

import ir

NOTES = {
    "tea": "Green tea is steeped at 80 degrees for two minutes; boiling water makes it bitter.",
    "bread": "Knead the dough for ten minutes, let it rise, fold it, and bake it hot with steam.",
    "bicycle": "Change the chain when the gauge drops in. Oil it after riding in the rain.",
}


def main() -> None:
    source = ir.CorpusSource.from_mapping(NOTES, name="notes")
    corpus = ir.build(source, store=ir.CorpusStore.memory(), embedder="light")
    for hit in corpus.search("how hot should the water be", mode="hybrid", k=2):
        print(f"{hit.score:.3f}  {hit.artifact_id}: {hit.text}")


if __name__ == "__main__":
    main()
