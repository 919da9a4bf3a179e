"""Search source code by words, by parts of identifiers, and by meaning: here this library's own."""

from pathlib import Path

import ir


def main() -> None:
    root = Path(ir.__file__).parent
    source = ir.CorpusSource.from_files(root, name="own-code", pattern=r".*\.py$", embedder="light")
    corpus = ir.build(source, store=ir.CorpusStore.memory())
    for query in ("safe_name", "parse filter operators", "what happens to a broken registry file"):
        print(f"\n{query}")
        for hit in corpus.search(query, mode="hybrid", k=3):
            print(f"  {hit.score:.3f}  {hit.artifact_id}:{hit.metadata.get('line_start')}")


if __name__ == "__main__":
    main()
