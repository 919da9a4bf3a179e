"""Index a folder of Markdown, change a file, and see that only that file is read again."""

import tempfile
from pathlib import Path

import ir


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        (root / "garden.md").write_text("# Garden\n\nPrune the roses in March.\n\nWater the tomatoes in the morning.\n")
        (root / "house.md").write_text("# House\n\nBleed the radiators before winter.\n")
        source = ir.CorpusSource.from_files(root, name="home", embedder="light")
        store = ir.CorpusStore.memory()
        ir.build(source, store=store)

        (root / "house.md").write_text("# House\n\nBleed the radiators. Sweep the chimney in autumn.\n")
        corpus = ir.build(ir.CorpusSource.from_files(root, name="home", embedder="light"), store=store)
        print(f"texts embedded by the second build: {corpus.report.embedded}")
        for hit in corpus.search("when to sweep the chimney", mode="hybrid", k=1):
            print(f"{hit.artifact_id}:{hit.metadata['line_start']}  {hit.text!r}")


if __name__ == "__main__":
    main()
