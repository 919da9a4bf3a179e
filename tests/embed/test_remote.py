"""Embedding servers, played by a real one on the loopback interface."""

from __future__ import annotations

import time
import tracemalloc
import zlib
from collections.abc import Iterator
from datetime import UTC, datetime
from email.utils import format_datetime
from typing import Any

import numpy as np
import pytest
from tests.models.serving import Server, dripping, serving

import ir
from ir.embed import CachedEmbedder, make_embedder
from ir.errors import CorpusNotBuilt, EmbedderError, EmbedderMismatch
from ir.index import open_store

KEY = "sk-secret-9"


def vector(text: str, seed: int = 0, dim: int = 16) -> list[float]:
    row = np.random.default_rng(zlib.crc32(text.encode()) + seed).standard_normal(dim)
    return [float(value) for value in row]


class Model:
    """An OpenAI-shaped and Ollama-shaped model whose behaviour a test changes."""

    def __init__(self) -> None:
        self.seed = 0
        self.dim = 16
        self.noise = 0.0
        self.noise_seed = 9
        self.failures: list[tuple[int, Any, dict[str, str]]] = []
        self.spoil: Any = None
        self.numbers: Any = None

    def __call__(self, path: str, body: Any) -> tuple[int, Any, dict[str, str]]:
        if self.failures:
            return self.failures.pop(0)
        rng = np.random.default_rng(self.noise_seed)
        rows = [vector(text, self.seed, self.dim) for text in body["input"]]
        rows = [[value + self.noise * rng.standard_normal() for value in row] for row in rows]
        if self.spoil is not None:
            rows = self.spoil(rows)
        if path.endswith("/api/embed"):
            return 200, {"embeddings": rows}, {}
        numbers = range(len(rows)) if self.numbers is None else self.numbers
        data = [{"index": number, "embedding": row} for number, row in zip(numbers, rows, strict=True)]
        return 200, {"data": data[::-1]}, {}


@pytest.fixture
def model() -> Model:
    return Model()


@pytest.fixture
def server(model: Model, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with serving(model) as running:
        monkeypatch.setenv("IR_EMBED_BASE_URL", f"{running.url}/v1")
        monkeypatch.setenv("IR_OLLAMA_BASE_URL", running.url)
        yield running


def test_openai_in_batches_with_the_key_and_in_order(server: Server) -> None:
    embedder, embedder_id = make_embedder("openai:small", cache=False)
    assert embedder_id == "openai:small"
    assert not server.requests
    texts = [f"text {number}" for number in range(300)]
    rows = embedder(texts)
    np.testing.assert_allclose(rows, [vector(text) for text in texts], atol=1e-6)
    assert [len(body["input"]) for _, body in server.requests] == [128, 128, 44]
    assert {path for path, _ in server.requests} == {"/v1/embeddings"}
    assert server.headers[0]["Authorization"] == f"Bearer {KEY}"
    assert server.requests[0][1]["model"] == "small"


def test_ollama_without_a_key(server: Server) -> None:
    embedder, embedder_id = make_embedder("ollama:nomic:latest", cache=False)
    assert embedder_id == "ollama:nomic:latest"
    np.testing.assert_allclose(embedder(["a", "b"]), [vector("a"), vector("b")], atol=1e-6)
    assert server.requests[0] == ("/api/embed", {"model": "nomic:latest", "input": ["a", "b"]})
    assert "Authorization" not in server.headers[0]


def test_blank_texts_are_not_sent_and_long_ones_are_cut(server: Server) -> None:
    embedder, _ = make_embedder("openai:small", cache=False)
    rows = embedder(["", " ", "x" * 100_000, "\ud800"])
    assert not rows[:2].any()
    assert [len(text) for text in server.requests[0][1]["input"]] == [32_000, 1]
    assert embedder([""]).shape == (1, 16)


def test_a_passing_failure_is_tried_again_when_the_server_says(server: Server, model: Model) -> None:
    embedder, _ = make_embedder("openai:small", cache=False)
    model.failures = [(429, {}, {"Retry-After": "0"}), (503, {}, {"Retry-After": "0"})]
    np.testing.assert_allclose(embedder(["a"]), [vector("a")], atol=1e-6)
    assert len(server.requests) == 3


def test_a_rate_limit_is_outwaited_until_the_deadline(
    server: Server, model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = format_datetime(datetime.now(UTC), usegmt=True)
    waits = [{"Retry-After": "0.01"}, {"retry-after-ms": "5"}, {"Retry-After": now}, {"Retry-After": "0"}]
    model.failures = [(429, {}, headers) for headers in waits * 3]
    np.testing.assert_allclose(make_embedder("openai:small", cache=False)[0](["a"]), [vector("a")], atol=1e-6)
    assert len(server.requests) == 13
    monkeypatch.setenv("IR_EMBED_TIMEOUT_S", "2")
    model.failures = [(429, {}, {"Retry-After": "3600"})]
    with pytest.raises(EmbedderError, match=r"did not answer after 1 tries: HTTP status 429"):
        make_embedder("openai:small", cache=False)[0](["a"])


def test_other_failures_are_tried_a_few_times_only(server: Server, model: Model) -> None:
    model.failures = [(503, {}, {"Retry-After": "0"})] * 9
    with pytest.raises(EmbedderError, match="did not answer after 5 tries"):
        make_embedder("openai:small", cache=False)[0](["a"])


@pytest.mark.slow
def test_a_hundred_thousand_texts_go_in_batches_that_are_not_all_held(server: Server, model: Model) -> None:
    embedder, _ = make_embedder("ollama:small", cache=False)
    texts = [f"text {number % 200}" for number in range(100_000)]
    tracemalloc.start()
    rows = embedder(texts)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert rows.shape == (100_000, 16)
    assert len(server.requests) == 782
    # The server runs in this process and remembers every request.
    assert peak < 2 * rows.nbytes + 60_000_000


def test_a_server_that_drips_is_given_up_when_the_time_is_over(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IR_EMBED_TIMEOUT_S", "0.3")
    with dripping(b"HTTP/1.1 200 OK\r\n", b"X: y\r\n") as url:
        monkeypatch.setenv("IR_EMBED_BASE_URL", url)
        began = time.perf_counter()
        with pytest.raises(EmbedderError, match="did not answer after 1 tries: timed out"):
            make_embedder("openai:small", cache=False)[0](["a"])
        assert time.perf_counter() - began < 2


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (400, "This model's maximum context length is 8192 tokens, however you requested 9000 tokens"),
        (400, "the input length exceeds the context length"),
        (413, "Payload Too Large"),
        (422, "inputs must have less than 512 tokens. Given: 600; too many tokens"),
    ],
)
def test_a_text_that_is_too_long_for_the_server_is_cut_until_it_fits(
    server: Server, model: Model, status: int, said: str
) -> None:
    def limited(path: str, body: Any) -> tuple[int, Any, dict[str, str]]:
        long = any(len(text) > 10_000 for text in body["input"])
        return (status, {"error": said}, {}) if long else model(path, body)

    server.behaviour = limited
    texts = [f"text {number}" for number in range(9)]
    rows = make_embedder("openai:small", cache=False)[0]([*texts[:5], "x" * 30_000, *texts[5:]])
    np.testing.assert_allclose(rows[5], vector("x" * 7_500), atol=1e-6)
    np.testing.assert_allclose(np.delete(rows, 5, axis=0), [vector(text) for text in texts], atol=1e-6)


def test_a_text_that_is_always_too_long_is_named(server: Server, model: Model) -> None:
    server.behaviour = lambda path, body: (400, {"error": "input too long"}, {})
    with pytest.raises(
        EmbedderError, match=r"a text of 312 characters for too long: .*input too long.*'tea tea"
    ) as caught:
        make_embedder("openai:small", cache=False)[0](["tea " * 625])
    assert "OPENAI_API_KEY" not in str(caught.value)


def test_a_refusal_is_an_error_without_the_key(server: Server, model: Model) -> None:
    model.failures = [(401, {"error": f"bad key {KEY}"}, {})]
    with pytest.raises(EmbedderError, match="refused the request: HTTP status 401") as caught:
        make_embedder("openai:small", cache=False)[0](["a"])
    assert KEY not in str(caught.value)
    assert "OPENAI_API_KEY" in caught.value.remedy
    assert KEY not in repr(make_embedder("openai:small", cache=False)[0].__dict__)


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda rows: [[float("nan"), *row[1:]] for row in rows], "NaN or infinity"),
        (lambda rows: rows[:-1], r"shape \(1, 16\) for 2 texts"),
        (lambda rows: [rows[0], rows[1][:3]], "not a list of vectors"),
        (lambda rows: [["a"], ["b"]], "not a list of vectors"),
    ],
)
def test_wrong_answers_are_errors(server: Server, model: Model, spoil: Any, message: str) -> None:
    model.spoil = spoil
    with pytest.raises(EmbedderError, match=message):
        make_embedder("openai:small", cache=False)[0](["a", "b"])


@pytest.mark.parametrize("numbers", [[0, 0, 1], [0, 2, 3], [1, 2, 3], [-1, 0, 1], [0, 1, None], [0, 1, "x"]])
def test_rows_that_cannot_be_told_apart_are_refused(server: Server, model: Model, numbers: list[Any]) -> None:
    model.numbers = numbers
    with pytest.raises(EmbedderError, match=r"did not number its vectors from 0 to 2"):
        make_embedder("openai:small", cache=False)[0](["a", "b", "c"])


def test_another_dimension_in_mid_flight_is_refused(server: Server, model: Model) -> None:
    embedder, _ = make_embedder("openai:small", cache=False)
    embedder(["a"])
    model.dim = 8
    with pytest.raises(EmbedderMismatch, match="vectors of 8 numbers, and of 16 before"):
        embedder(["b"])


def test_noise_leaves_the_fingerprint_and_another_model_does_not(server: Server, model: Model) -> None:
    first = make_embedder("openai:small", cache=False)[0].fingerprint
    model.noise = 1e-4
    assert make_embedder("openai:small", cache=False)[0].matches(first)  # type: ignore[attr-defined]
    for noise in (1e-3, 1e-2):  # cosines of 0.99995 and better
        model.noise = noise
        assert make_embedder("openai:small", cache=False)[0].matches(first)  # type: ignore[attr-defined]
    model.noise = 0
    model.seed = 1
    assert not make_embedder("openai:small", cache=False)[0].matches(first)  # type: ignore[attr-defined]


@pytest.mark.parametrize("seed", range(20))
def test_a_model_that_changed_a_little_is_noticed(server: Server, model: Model, seed: int) -> None:
    model.dim = 384
    first = make_embedder("openai:small", cache=False)[0].fingerprint
    model.noise, model.noise_seed = 0.1, seed  # a cosine of 0.995
    assert not make_embedder("openai:small", cache=False)[0].matches(first)  # type: ignore[attr-defined]


def test_a_corpus_outlives_the_rounding_of_its_server(server: Server, model: Model) -> None:
    source = ir.CorpusSource.from_mapping({"a": "tea", "b": "bread"}, name="remote")
    ir.build(source, embedder="openai:small")
    asked = len(server.requests)
    for seed in range(5):
        model.noise, model.noise_seed = 5e-3, seed
        assert ir.search(ir.open_corpus("remote"), "tea")[0].artifact_id == "a"
        report = ir.build(source, embedder="openai:small").report
        assert (report.added, report.changed) == ([], [])
    ir.build(ir.CorpusSource.from_mapping({"c": "tea"}, name="other"), embedder="openai:small")
    sent = [text for _, body in server.requests[asked:] for text in body["input"]]
    assert sent.count("tea") == 5  # the queries: no document was asked for again


def test_a_fingerprint_of_an_earlier_version_is_understood(server: Server, model: Model) -> None:
    source = ir.CorpusSource.from_mapping({"a": "tea", "b": "bread"}, name="remote")
    ir.build(source, embedder="openai:small")
    with open_store("remote") as store:
        sketch = store.get_config()["fingerprint"]
        store.set_config({**store.get_config(), "fingerprint": "openai:small-16-22892b8273d631d8"})
    assert ir.search(ir.open_corpus("remote"), "tea")[0].artifact_id == "a"
    ir.build(source, embedder="openai:small")
    with open_store("remote") as store:
        assert store.get_config()["fingerprint"] == sketch
    model.seed = 1
    with pytest.raises(EmbedderMismatch, match="fingerprint"):
        ir.search(ir.open_corpus("remote"), "tea")


def test_a_model_that_changes_during_a_build_is_refused_and_not_kept(server: Server, model: Model) -> None:
    texts = {str(number): f"text {number}" for number in range(2000)}
    source = ir.CorpusSource.from_mapping(texts, name="remote")

    def change(path: str, body: Any) -> tuple[int, Any, dict[str, str]]:
        if "text 1500" in body["input"]:
            model.seed = 1
        return model(path, body)

    server.behaviour = change
    with pytest.raises(EmbedderMismatch, match="has changed while it was used"):
        ir.build(source, embedder="openai:small")
    with pytest.raises(CorpusNotBuilt):
        ir.search(ir.open_corpus("remote"), "text")
    server.behaviour, model.seed = model, 0
    embedder, _ = make_embedder("openai:small")
    np.testing.assert_allclose(embedder(list(texts.values())), [vector(text) for text in texts.values()], atol=1e-6)


def test_a_process_that_runs_for_long_notices_a_change(
    server: Server, model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = ir.CorpusSource.from_mapping({"a": "tea", "b": "bread"}, name="remote")
    corpus = ir.build(source, embedder="openai:small")
    now = time.monotonic()
    assert ir.search(corpus, "some tea")[0].artifact_id == "a"
    model.seed = 1
    asked = len(server.requests)
    ir.search(corpus, "more tea")
    assert len(server.requests) == asked + 1  # a moment later nothing is checked
    monkeypatch.setattr("time.monotonic", lambda: now + 3600)
    for _ in range(2):
        with pytest.raises(EmbedderMismatch, match="has changed while it was used"):
            ir.search(corpus, "much tea")
    model.seed = 0
    assert ir.search(corpus, "much tea")


def test_a_model_that_changed_behind_its_name_is_refused(server: Server, model: Model) -> None:
    source = ir.CorpusSource.from_mapping({"a": "tea", "b": "bread"}, name="remote")
    ir.build(source, embedder="openai:small")
    assert ir.search(ir.open_corpus("remote"), "tea")[0].artifact_id == "a"
    model.seed = 1
    with pytest.raises(EmbedderMismatch, match="fingerprint"):
        ir.search(ir.open_corpus("remote"), "tea")
    assert ir.search(ir.open_corpus("remote"), "tea", mode="lexical")[0].artifact_id == "a"


def test_documents_are_asked_for_once(server: Server) -> None:
    embedder, _ = make_embedder("openai:small")
    assert isinstance(embedder, CachedEmbedder)
    embedder(["a", "b"])
    before = len(server.requests)
    make_embedder("openai:small")[0](["b", "a"])
    assert [body["input"][0] for _, body in server.requests[before:]] == ["search"]  # the probes, to know the model


def test_a_name_without_a_model_is_refused() -> None:
    with pytest.raises(EmbedderError, match="Write openai:MODEL"):
        make_embedder("openai: ")
