"""tantivy and faiss by themselves: the least that a hybrid search could cost."""

from __future__ import annotations

import re
from typing import Any

import faiss
import numpy as np
import tantivy
from worker import Filter, Peer, serve

WORD = re.compile(r"[^\W_]+")


def analyzer() -> Any:
    """Words in lower case, without English stop words, stemmed: what ``ir`` does too, less the identifier parts."""
    chain = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple())
    chain = chain.filter(tantivy.Filter.lowercase()).filter(tantivy.Filter.stopword("english"))
    return chain.filter(tantivy.Filter.stemmer("english")).build()


def candidates(count: int, dim: int) -> list[dict[str, Any]]:
    """Configurations of faiss worth a try at this size; ``keep`` of 0 means no second, exact scoring."""
    cells = 256 if count >= 50_000 else 64
    out: list[dict[str, Any]] = [{"factory": "SQfp16", "keep": 0}, {"factory": "Flat", "keep": 0}]
    for sub in (dim // 2, dim // 4):
        out += [{"factory": f"PQ{sub}x4fs", "keep": keep} for keep in (50, 100, 200, 400, 800)]
    for probe in (cells // 8, cells // 4, cells // 2):
        out += [{"factory": f"IVF{cells},PQ{dim // 2}x4fsr", "probe": probe, "keep": keep} for keep in (100, 200, 400)]
        out += [{"factory": f"IVF{cells},SQfp16", "probe": probe, "keep": 0}]
    return out


class RawParts(Peer):
    """Lexical by tantivy, dense by one faiss index, nothing fused."""

    modes = ("hybrid", "lexical", "dense")

    def build(self) -> None:
        folder = self.work / "tantivy"
        folder.mkdir(parents=True, exist_ok=True)
        schema = tantivy.SchemaBuilder()
        schema.add_text_field("text", stored=False, tokenizer_name="bench", index_option="freq")
        schema.add_unsigned_field("id", stored=True, fast=True)
        index = tantivy.Index(schema.build(), path=str(folder))
        index.register_tokenizer("bench", analyzer())
        writer = index.writer(heap_size=256_000_000, num_threads=1)
        for row in self.rows():
            document = tantivy.Document()
            document.add_text("text", row["text"])
            document.add_unsigned("id", row["id"])
            writer.add_document(document)
        writer.commit()
        writer.wait_merging_threads()

    def open(self) -> None:
        self.index = tantivy.Index.open(str(self.work / "tantivy"))
        self.index.register_tokenizer("bench", analyzer())
        self.index.reload()
        self.searcher = self.index.searcher()
        self.open_vectors()

    def open_vectors(self) -> dict[str, Any]:
        """The dense part alone: an exact scan of half-precision rows, until it is tuned."""
        faiss.omp_set_num_threads(1)
        self.matrix = np.ascontiguousarray(self.vectors())
        self.made: dict[str, Any] = {}
        self.tune({"factory": "SQfp16", "keep": 0})
        return {}

    def tune(self, setting: Any) -> None:
        self.setting = setting
        name = setting["factory"]
        if name not in self.made:
            made = faiss.index_factory(self.matrix.shape[1], name, faiss.METRIC_INNER_PRODUCT)
            made.train(self.matrix[:: max(1, len(self.matrix) // 50_000)])
            made.add(self.matrix)
            self.made[name] = made
        self.dense_index = self.made[name]
        if "probe" in setting:
            self.dense_index.nprobe = setting["probe"]

    def settings(self) -> dict[str, Any]:
        return {"settings": candidates(*self.matrix.shape)}

    def forget(self) -> dict[str, Any]:
        """Drop every index but the chosen one."""
        self.made = {self.setting["factory"]: self.dense_index}
        return {}

    def lexical(self, query: str, k: int) -> list[int]:
        words = " ".join(WORD.findall(query.lower()))
        found = self.searcher.search(self.index.parse_query(words, ["text"]), k, count=False)
        return list(self.searcher.fast_field_values("id", [address for _, address in found.hits]))

    def dense(self, vector: Any, k: int) -> list[int]:
        keep = self.setting["keep"]
        _, found = self.dense_index.search(vector[None], max(k, keep))
        if not keep:
            return list(found[0])
        refs = found[0][found[0] >= 0]
        order = np.argsort(-(self.matrix[refs] @ vector))[:k]
        return list(refs[order])

    def search(self, mode: str, query: str, vector: Any, k: int, where: Filter) -> list[int]:
        if mode == "dense":
            return self.dense(vector, k)
        words = self.lexical(query, k)
        return words if mode == "lexical" else words + self.dense(vector, k)


if __name__ == "__main__":
    serve(RawParts)
