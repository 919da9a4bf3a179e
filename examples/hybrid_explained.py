"""See what each channel says about a result, and how four ways of combining them differ."""

import ir

TOOLS = {
    "grep": "Print the lines of files that match a pattern.",
    "find": "Walk a folder tree and list the files whose name, age or size matches.",
    "sort": "Put the lines of a text in order.",
    "rsync": "Copy files to another machine, sending only the differences.",
    "tar": "Pack many files into one archive.",
}


def main() -> None:
    source = ir.CorpusSource.from_mapping(TOOLS, name="tools")
    corpus = ir.build(source, store=ir.CorpusStore.memory(), embedder="light")
    query = "copy files to a remote machine"
    for fusion in ("blend", "rrf", "minmax", "dbsf"):
        hits = corpus.search(query, mode="hybrid", fusion=fusion, k=2)
        print(f"{fusion:>7}: " + ", ".join(f"{hit.artifact_id} {hit.score:.3f}" for hit in hits))
    top = corpus.search(query, mode="hybrid", k=1, explain=True)[0]
    print(f"\nwhy {top.artifact_id}: found {top.explanation['matched_terms']}")
    for name, channel in top.channels.items():
        share = top.explanation["shares"][name]
        print(f"  {name}: rank {channel['rank']}, score {channel['score']:.3f}, adds {share:.3f}")


if __name__ == "__main__":
    main()
