"""The table in the wheel: always there, about meaning, and silent about what it cannot read."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import ir
from ir.embed import FAST, CachedEmbedder, LightEmbedder, best_available, make_embedder
from ir.embed.box import FILES, BoxEmbedder, folder
from ir.embed.pieces import Speller, words_of
from ir.errors import InvalidInput

TEXTS = [
    "Green tea is steeped at 80 degrees.",
    "def parseHTTPHeader(raw_bytes): ...",
    "the orbit of Mars",
    "",
    "naïve café",
]
#: A question and what answers it share no word that is not in others too.
RELATED = {
    "how do I repair a flat bicycle tyre": "Fixing a punctured bike wheel",
    "remedies for a high temperature in children": "What to do when a baby has a fever",
    "delete a folder and all that it contains": "Remove a directory recursively",
    "which planet is closest to the sun": "Mercury orbits nearer to our star than any other world",
    "money that is owed to a bank": "Loans, debt and credit",
    "drag on the wing of an aeroplane": "Aerodynamic resistance of an aircraft",
    "open a connection to the database": "def connect_db(host, port): return SqlSession(host, port)",
    "sort a list from the largest to the smallest": "def orderDescending(items): return sorted(items, reverse=True)",
    "what do cows eat": "Cattle graze on grass and hay",
    "a doctor who treats the heart": "Cardiology and cardiac surgery",
}


@pytest.fixture(scope="module")
def box() -> BoxEmbedder:
    return BoxEmbedder()


def test_it_is_there_by_its_name_and_is_the_fast_one() -> None:
    embedder, embedder_id = make_embedder("box")
    assert embedder_id == FAST == best_available() == "box"
    assert not isinstance(embedder, CachedEmbedder)
    assert make_embedder("Box ")[0] is embedder


def test_rows_have_length_one_and_no_numbers_that_are_none(box: BoxEmbedder) -> None:
    rows = box(TEXTS)
    assert rows.shape == (len(TEXTS), box.dim)
    assert rows.dtype == np.float32
    assert np.isfinite(rows).all()
    lengths = np.linalg.norm(rows, axis=1)
    assert lengths == pytest.approx([1, 1, 1, 0, 1], abs=1e-5)


def test_questions_find_what_answers_them(box: BoxEmbedder) -> None:
    """By meaning: hashing the words does not do it."""

    def found(embedder: BoxEmbedder | LightEmbedder) -> int:
        scores = embedder(list(RELATED)) @ embedder(list(RELATED.values())).T
        return int((scores.argmax(axis=1) == np.arange(len(RELATED))).sum())

    assert found(box) >= len(RELATED) - 1
    assert found(LightEmbedder()) < found(box)


def test_identifiers_are_read_as_their_words(box: BoxEmbedder) -> None:
    camel, snake, said, other = box(["getUserName", "get_user_name", "get user name", "drawRectangle"])
    assert camel @ snake == pytest.approx(1, abs=1e-5)
    assert camel @ said == pytest.approx(1, abs=1e-5)
    assert camel @ other < 0.5


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("parseHTTPHeader_v2", ["parse", "http", "header", "v", "2"]),
        ("iPhone, GPUs and PhD", ["iphone", "gpus", "and", "phd"]),
        ("Größe naïve", ["grosse", "naive"]),
        ("東京 Москва", []),
        ("α-synuclein", ["synuclein"]),
    ],
)
def test_words(text: str, words: list[str]) -> None:
    assert words_of(text) == words


def test_a_word_is_spelt_with_the_longest_pieces() -> None:
    speller = Speller({"un": 0, "unit": 1, "##ed": 2, "##it": 3, "##e": 4})
    assert speller.rows("united") == (1, 2)
    assert speller.rows("unite") == (1, 4)
    assert speller.rows("xyz") == speller.rows("units") == ()
    assert speller.rows("un" + "ed" * 9) == ()


@pytest.mark.parametrize("text", ["", "  \n", "東京は日本の首都", "Москва — столица России", "🙂 ∑ → «»", "ελληνικά"])
def test_a_text_that_it_cannot_read_has_no_vector(box: BoxEmbedder, text: str) -> None:
    assert not box([text]).any()


def test_words_carry_a_text_in_another_script() -> None:
    texts = {
        "tokyo": "東京は日本の首都であり、世界最大の都市の一つである。",
        "moscow": "Москва — столица России и крупнейший город страны.",
        "tea": "Green tea is steeped at 80 degrees.",
        "sea": "La mer est calme ce matin et les bateaux rentrent au port.",
    }
    source = ir.CorpusSource.from_mapping(texts, name="scripts", embedder="box")
    corpus = ir.build(source, store=ir.CorpusStore.memory())
    for query, first in {"столица России": "moscow", "東京": "tokyo", "hot drink": "tea", "les bateaux": "sea"}.items():
        hits = ir.search(corpus, query, mode="hybrid")
        assert hits[0].artifact_id == first
        assert all(np.isfinite(hit.score) for hit in hits)
    assert (
        not ir.search(corpus, "столица", mode="dense") or ir.search(corpus, "столица", mode="dense")[0].score <= 0.001
    )


def test_a_text_has_one_vector_in_every_batch_thread_and_process(box: BoxEmbedder) -> None:
    texts = [f"{text} number {number}" for number in range(200) for text in TEXTS]
    expected = box(texts)
    assert np.array_equal(np.concatenate([box([text]) for text in texts[:20]]), expected[:20])
    assert np.array_equal(box(texts[7:]), expected[7:])
    with ThreadPoolExecutor(4) as pool:
        assert all(np.array_equal(rows, expected) for rows in pool.map(BoxEmbedder(), [texts] * 8))
    script = "import sys; from ir.embed.box import *; sys.stdout.buffer.write(BoxEmbedder()(sys.argv[1:]).tobytes())"
    made = subprocess.run([sys.executable, "-c", script, *TEXTS], capture_output=True, check=True).stdout
    assert made == box(TEXTS).tobytes()


def test_the_files_are_the_ones_that_the_record_tells_of(box: BoxEmbedder) -> None:
    record = json.loads((folder() / "record.json").read_text("utf-8"))
    sums = {name: hashlib.sha256((folder() / name).read_bytes()).hexdigest() for name in record["files"]}
    assert sums == record["files"]
    assert record["sha256"] == hashlib.sha256("".join(sums.values()).encode()).hexdigest()
    assert record["sha256"][:12] in box.fingerprint
    assert (record["rows"], record["dimensions"]) == np.load(folder() / "vectors.npy", mmap_mode="r").shape
    assert set(sums) | {"record.json"} == set(FILES)


def test_it_is_small_and_says_where_it_comes_from() -> None:
    assert sum(path.stat().st_size for path in folder().iterdir()) <= 10_000_000
    record = json.loads((folder() / "record.json").read_text("utf-8"))
    assert len(record["sources"]) > 100
    for source in record["sources"]:
        assert source["version"]
        assert "GPL" not in source["licence"]
    notice = (folder() / "NOTICE.md").read_text("utf-8")
    for name in ("all-MiniLM-L6-v2", "Apache", "WordNet"):
        assert name in notice


def test_nothing_is_learnt_from_what_is_measured() -> None:
    sources = {source["package"] for source in json.loads((folder() / "record.json").read_text("utf-8"))["sources"]}
    measured = {"flask", "click", "starlette", "aiohttp", "express", "axios", "redux", "zod", "fastapi", "kubernetes"}
    assert not sources & measured


def test_its_speed_is_of_the_order_of_hashing() -> None:
    pairs = [f"{left} {right}" for left in RELATED for right in RELATED.values()]
    embedders = {"box": BoxEmbedder(), "light": LightEmbedder()}
    taken: dict[str, float] = {}
    for turn in range(3):
        texts = [f"{pair} {turn} {number}" for pair in pairs for number in range(20)]  # none was seen before
        for name, embedder in embedders.items():
            began = time.process_time()
            embedder(texts)
            taken[name] = min(taken.get(name, 1e9), time.process_time() - began)
    assert taken["box"] < 20 * taken["light"]


def test_it_is_neither_got_nor_removed() -> None:
    from ir.app.context import Context
    from ir.app.models import ModelsRequest, models

    assert models(ModelsRequest("ls"), Context()).models[0].name == "box"
    for action in ("pull", "rm"):
        with pytest.raises(InvalidInput, match="comes with ir"):
            models(ModelsRequest(action, "box"), Context())


def test_a_source_that_asks_for_nothing_special_gets_it(tmp_path: Path) -> None:
    source = ir.CorpusSource.from_mapping(RELATED, name="plain")
    corpus = ir.build(source)
    assert corpus.store.get_config()["embedder"] == "box"
    assert corpus.store.get_config()["alpha"] == BoxEmbedder.blend_alpha
    assert not ir.build(source).report.changed
    assert ir.build(source, embedder="light").store.get_config()["embedder"] == "light"
    assert ir.build(source).store.get_config()["embedder"] == "light"  # a corpus keeps what it has
