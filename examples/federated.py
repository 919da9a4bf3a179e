"""Ask several corpora at once. Their scores are never compared: results are merged by rank."""

import ir

KITCHEN = {"tea": "Steep green tea at 80 degrees.", "bread": "Let the dough rise, then bake it."}
WORKSHOP = {"glue": "Wood glue needs clamps until it is dry.", "drill": "Drill steel slowly and with oil."}


def corpus_of(name: str, notes: dict[str, str]) -> ir.Corpus:
    source = ir.CorpusSource.from_mapping(notes, name=name)
    return ir.build(source, store=ir.CorpusStore.memory(), embedder="light")


def main() -> None:
    corpora = [corpus_of("kitchen", KITCHEN), corpus_of("workshop", WORKSHOP)]
    query = "how long until the glue is dry"
    merged = ir.fuse_hits({corpus.name: corpus.search(query, mode="hybrid") for corpus in corpora}, k=3)
    for hit in merged:
        print(f"{hit.source}/{hit.artifact_id}: {hit.text} (score there {hit.metadata['source_score']:.3f})")


if __name__ == "__main__":
    main()
