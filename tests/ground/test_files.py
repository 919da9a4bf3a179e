"""What vocabularies are read from and kept in."""

from __future__ import annotations

import json
import pickle
import struct
from pathlib import Path

import numpy as np
import pytest

from ir.errors import CorpusCorrupt, FormatMismatch, InvalidInput, NotFound, SourceError
from ir.ground import ContextModel, Subwords, Term, UsageDocument, Vocabulary, lint, read_policy, read_terms, read_usage
from ir.ground.fasttext_file import SubwordTable, read_model
from ir.ground.saving import MANIFEST, verify
from ir.ground.subword import gram_rows


def write(path: Path, text: str) -> Path:
    path.write_text(text, "utf-8")
    return path


def test_terms_come_from_csv_with_or_without_a_header(tmp_path: Path) -> None:
    rows = 'red_fox,animal,50,"vulpes vulpes,狐"\nfox,animal,3\ncanid\n'
    bare = read_terms([write(tmp_path / "bare.csv", rows)])
    headed = read_terms([write(tmp_path / "headed.csv", "name,category,count,aliases\n" + rows)])
    expected = [
        Term("red_fox", category="animal", count=50, aliases=("vulpes vulpes", "狐")),
        Term("fox", category="animal", count=3),
        Term("canid"),
    ]
    assert bare.terms == headed.terms == expected
    assert not bare.problems
    assert not headed.problems


def test_a_wrong_row_is_told_with_its_file_and_line_and_the_rest_is_taken(tmp_path: Path) -> None:
    text = 'tea,,5,\nbad,,-1,\n,,3,\nworse,,many,\ntea,,9,"leaf"\na,b,1,c,d\nok,,1,\n'
    found = read_terms([write(tmp_path / "terms.csv", text)])
    assert [term.name for term in found.terms] == ["tea", "ok"]
    assert found.terms[0] == Term("tea", count=9, aliases=("leaf",))
    assert [(one.file, one.line, one.left_out) for one in found.problems] == [
        ("terms.csv", 2, True),
        ("terms.csv", 3, True),
        ("terms.csv", 4, True),
        ("terms.csv", 5, False),
        ("terms.csv", 6, True),
    ]
    assert (found.left_out, found.rows) == (4, 7)


def test_terms_come_from_jsonl_and_json(tmp_path: Path) -> None:
    lines = '{"name": "tea", "aliases": ["leaf"], "count": 2}\n"bread"\n{"x": 1}\nnot json\n[1]\n'
    found = read_terms([write(tmp_path / "terms.jsonl", lines)])
    assert [(term.name, term.aliases) for term in found.terms] == [("tea", ("leaf",)), ("bread", ())]
    assert sorted(problem.line for problem in found.problems) == [3, 4, 5]
    whole = read_terms([write(tmp_path / "terms.json", '{"tea": {"definition": "Leaves."}, "bread": {}}')])
    assert whole.terms == [Term("tea", definition="Leaves."), Term("bread")]


def test_terms_come_from_skos(tmp_path: Path) -> None:
    concepts = {
        "@context": {"skos": "http://www.w3.org/2004/02/skos/core#"},
        "@graph": [
            {
                "@id": "http://x.org/tea",
                "@type": "skos:Concept",
                "skos:prefLabel": [{"@language": "de", "@value": "Tee"}, {"@language": "en", "@value": "Tea"}],
                "skos:altLabel": {"@language": "en", "@value": "Cha"},
                "skos:definition": {"@language": "en", "@value": "Leaves in water."},
                "skos:broader": {"@id": "http://x.org/drinks"},
            },
            {"@id": "http://x.org/drinks", "@type": ["skos:Concept"], "skos:prefLabel": "Drinks"},
            {"@id": "http://x.org/tea2", "@type": "skos:Concept", "skos:prefLabel": "Tea"},
            {"@id": "http://x.org/scheme", "@type": "skos:ConceptScheme", "skos:prefLabel": "All"},
        ],
    }
    found = read_terms([write(tmp_path / "drinks.jsonld", json.dumps(concepts))])
    assert found.terms[0] == Term("Tea", "Tea", "Leaves in water.", "Drinks", aliases=("Cha",))
    assert [term.name for term in found.terms] == ["Tea", "Drinks", "Tea (tea2)"]


def test_files_that_are_no_vocabulary_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="no file"):
        read_terms([tmp_path / "none.csv"])
    with pytest.raises(InvalidInput, match=r"\.jsonl"):
        read_terms([write(tmp_path / "terms.xml", "<a/>")])
    (tmp_path / "bytes.csv").write_bytes(b"\xff\xfe\x00tea")
    with pytest.raises(SourceError, match="UTF-8"):
        read_terms([tmp_path / "bytes.csv"])


def test_policy_and_usage_are_read(tmp_path: Path) -> None:
    policy, problems = read_policy(write(tmp_path / "p.csv", "tag,probability\nfox,0.99\nwolf,2\ntea,0.5\n"))
    assert policy == {"fox": 0.99, "tea": 0.5}
    assert [problem.line for problem in problems] == [3]
    lines = '["a", "b"]\n{"text": "hot", "terms": ["tea"], "id": "x"}\n{"text": "no"}\n'
    usage, problems = read_usage(write(tmp_path / "u.jsonl", lines))
    assert usage == [UsageDocument("", ("a", "b")), UsageDocument("hot", ("tea",), "x")]
    assert [problem.line for problem in problems] == [3]


def test_a_saved_vocabulary_is_the_same(tmp_path: Path, boxed: Vocabulary) -> None:
    bags = [["coffee", "green-tea"], ["java", "c"], ["c", "csharp"]]
    documents = [UsageDocument("a hot cup", ("green-tea",)), UsageDocument("compile it", ("c", "java"))]
    whole = Vocabulary.of(boxed.terms, usage=documents, policy={"c": 1.0}).with_models(context=ContextModel.of(bags))
    whole.save(tmp_path / "v")
    again = Vocabulary.load(tmp_path / "v")
    phrases = ["hot cup", "ML", "roasted", "C", "java"]
    assert again.ground(phrases, explain=True) == whole.ground(phrases, explain=True)
    assert (again.floor, again.weights, again.policy) == (whole.floor, whole.weights, whole.policy)
    assert list(again.terms) == list(whole.terms)
    assert verify(tmp_path / "v") == []


def test_a_vocabulary_is_replaced_whole_and_damage_is_seen(tmp_path: Path, plain: Vocabulary) -> None:
    folder = tmp_path / "v"
    with pytest.raises(NotFound, match="no vocabulary"):
        Vocabulary.load(folder)
    plain.save(folder)
    plain.extended(["rust"]).save(folder)
    assert "rust" in Vocabulary.load(folder)
    parts = [path for path in folder.iterdir() if path.is_dir()]
    assert len(parts) == 1
    names = parts[0] / "names.npy"
    content = names.read_bytes()
    names.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    assert verify(folder) == ["names.npy"]
    names.write_bytes(content[:-1])
    with pytest.raises(CorpusCorrupt, match=r"names\.npy"):
        Vocabulary.load(folder)
    manifest = folder / MANIFEST
    manifest.write_text(json.dumps({**json.loads(manifest.read_text("utf-8")), "format": 99}), "utf-8")
    with pytest.raises(FormatMismatch, match="99"):
        Vocabulary.load(folder)
    manifest.write_text("{", "utf-8")
    with pytest.raises(CorpusCorrupt):
        Vocabulary.load(folder)


def test_lint_tells_what_looks_wrong() -> None:
    terms = [
        Term("a", aliases=("b",)),
        Term("b", aliases=("c",)),
        Term("c", aliases=("a",)),
        Term("machine-learning", count=9, aliases=("ml",)),
        Term("machine_learning", aliases=("ml",)),
        Term("tea"),
    ]
    found = lint(Vocabulary.of(terms, embedders=(), policy={"nobody": 0.99}))
    kinds = [finding.kind for finding in found]
    assert kinds.count("alias-is-term") == 3
    assert next(finding.terms for finding in found if finding.kind == "alias-cycle") == ("a", "c", "b")
    assert ("machine_learning", "machine-learning") in {one.terms for one in found if one.kind == "unreachable"}
    assert {"near-duplicate", "shared-alias", "policy-unknown"} <= set(kinds)
    assert lint(Vocabulary.of(["tea", "bread"], embedders=())) == []


# -- models of others --------------------------------------------------------------------------------------------------


def facebook(path: Path, words: list[str], *, quantised: bool = False, dim: int = 4, bucket: int = 50) -> np.ndarray:
    """A model in the format of Facebook's fastText; its matrix."""
    matrix = np.random.default_rng(3).standard_normal((len(words) + bucket, dim)).astype(np.float32)
    head = struct.pack("<2i12id", 793712314, 12, dim, 5, 5, 1, 5, 1, 2, 1, bucket, 2, 3, 100, 1e-4)
    dictionary = struct.pack("<3i2q", len(words), len(words), 0, 10, -1)
    for word in words:
        dictionary += word.encode() + b"\0" + struct.pack("<qb", 1, 0)
    body = struct.pack("<?2q", quantised, *matrix.shape) + matrix.tobytes()
    path.write_bytes(head + dictionary + body)
    return matrix


def test_a_model_of_facebook_is_read(tmp_path: Path) -> None:
    words = ["fox", "red_fox", "müller", "日本"]
    matrix = facebook(tmp_path / "m.bin", words)
    table = read_model(tmp_path / "m.bin")
    assert list(table.words) == words
    assert isinstance(table.gram_rows, np.memmap)
    model = Subwords.of(table)
    rows = gram_rows("fox", table)
    assert len(rows) == 4 + 3  # of <fox>: four bigrams that are more than a mark, three trigrams
    mean = (matrix[0] + matrix[4:][rows].sum(axis=0)) / (len(rows) + 1)
    assert model.vector("fox") == pytest.approx(mean / np.linalg.norm(mean), abs=1e-6)
    near = model.neighbours(["fox", "wolf"], 3)
    assert "fox" not in {word for word, _ in near[0]}
    assert [score for _, score in near[1]] == sorted((score for _, score in near[1]), reverse=True)


def test_models_that_cannot_be_used_are_refused(tmp_path: Path) -> None:
    facebook(tmp_path / "q.bin", ["fox"], quantised=True)
    with pytest.raises(InvalidInput, match="quantised"):
        read_model(tmp_path / "q.bin")
    facebook(tmp_path / "cut.bin", ["fox"])
    (tmp_path / "cut.bin").write_bytes((tmp_path / "cut.bin").read_bytes()[:-8])
    with pytest.raises(InvalidInput, match="cut off"):
        read_model(tmp_path / "cut.bin")
    (tmp_path / "head.bin").write_bytes((tmp_path / "cut.bin").read_bytes()[:30])
    with pytest.raises(InvalidInput, match="cut off"):
        read_model(tmp_path / "head.bin")
    write(tmp_path / "x.bin", "hello")
    with pytest.raises(InvalidInput, match="no subword model"):
        read_model(tmp_path / "x.bin")
    facebook(tmp_path / "other.bin", ["alpha", "beta"])
    with pytest.raises(InvalidInput, match=r"0\.0%"):
        Subwords.read(tmp_path / "other.bin", Vocabulary.of(["fox", "wolf"], embedders=()).terms)


class Evil:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return (eval, ("open('hacked', 'w')",))


def test_a_pickle_runs_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "evil.model").write_bytes(pickle.dumps(Evil()))
    with pytest.raises(InvalidInput, match="gensim"):
        read_model(tmp_path / "evil.model")
    assert not (tmp_path / "hacked").exists()


def test_a_subword_model_gives_candidates_for_unseen_words() -> None:
    words = ["fox", "foxes", "wolf"]
    chance = np.random.default_rng(1)
    rows = chance.standard_normal((2000, 16)).astype(np.float32)
    model = Subwords.of(SubwordTable(words, np.zeros((3, 16), np.float32), rows, 3, 6))
    vocabulary = Vocabulary.of([Term("fox", aliases=("foxes",)), Term("wolf")], embedders=()).with_models(
        subwords=model
    )
    found = vocabulary.ground("foxy", channels=["subword"])[0].terms
    assert found[0].term == "fox"


@pytest.mark.slow
def test_a_model_is_trained_twice_alike_and_read_as_gensim_saves_it(tmp_path: Path) -> None:
    gensim = pytest.importorskip("gensim.models")
    from ir.ground import train_subwords

    terms = Vocabulary.of([Term("fox", aliases=("vixen",)), Term("wolf"), Term("tea")], embedders=()).terms
    bags = [["fox", "wolf"], ["tea", "fox"]] * 30
    first, second = (train_subwords(bags, terms, dim=8, epochs=2) for _ in range(2))
    assert set(first.table.words) == {"fox", "vixen", "wolf", "tea"}
    assert np.array_equal(first.nearest.rows, second.nearest.rows)
    theirs = gensim.FastText(bags, vector_size=8, min_count=1, bucket=500, workers=1, epochs=1)
    theirs.save(str(tmp_path / "g.model"))
    ours = Subwords.read(tmp_path / "g.model", terms)
    for word in ("fox", "unseen", "日本"):
        vector = theirs.wv[word]
        assert ours.vector(word) == pytest.approx(vector / np.linalg.norm(vector), abs=1e-5)
    expected = [word for word, _ in theirs.wv.most_similar("foxy", topn=3)]
    assert [word for word, _ in ours.neighbours(["foxy"], 3)[0]] == expected
