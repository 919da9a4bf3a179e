"""Rerankers: one protocol, a deadline, a report."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.models import tiny
from tests.models.pulled import as_installed
from tests.models.serving import Server, dripping, serving

import ir
from ir.errors import EmbedderError, EmbedderUnavailable, InvalidInput, RerankError
from ir.models import install
from ir.models.tokenizing import TextTokenizer
from ir.rerank import CrossEncoder, MaxSim, Reranked, RerankReport, resolve_reranker

KEY = "rr-secret-1"
SEGMENTS: list[Mapping[str, Any]] = [{"text": "green tea"}, {"text": "bread dough bread"}, {"text": "hot water"}]


def classifier(tmp_path: Path, outputs: int = 1) -> Path:
    rng = np.random.default_rng(8)
    head = {
        "classifier__weight": rng.standard_normal((outputs, tiny.HIDDEN)).astype(np.float32),
        "classifier__bias": rng.standard_normal(outputs).astype(np.float32),
    }
    return tiny.write_bert(tmp_path / f"judge{outputs}", prefix="bert.", **head)


def expected_logits(folder: Path, query: str, text: str, outputs: int) -> Any:
    tokens = TextTokenizer(folder / "tokenizer.json", 40).pair(query, text)
    rng = np.random.default_rng(8)
    weight, bias = rng.standard_normal((outputs, tiny.HIDDEN)), rng.standard_normal(outputs)
    tensors = tiny.bert_tensors()
    first = tiny.bert_states(tokens.ids, types=tokens.types)[0]
    return np.tanh(first @ tensors["pooler.dense.weight"].T + tensors["pooler.dense.bias"]) @ weight.T + bias


@pytest.mark.parametrize("outputs", [1, 2])
def test_a_cross_encoder_reads_query_and_text_together(tmp_path: Path, outputs: int) -> None:
    folder = classifier(tmp_path, outputs)
    rerank = resolve_reranker(f"cross-encoder:{folder}")
    scores = rerank("hot tea", SEGMENTS)
    logits = [expected_logits(folder, "hot tea", segment["text"], outputs) for segment in SEGMENTS]
    expected = [row[0] if outputs == 1 else row[1] - row[0] for row in logits]
    np.testing.assert_allclose(scores, expected, atol=1e-4)
    assert isinstance(scores, Reranked)
    report = scores.report.to_dict()
    assert (report["reranker"], report["segments"], report["deadline_ms"]) == (f"cross-encoder:{folder.name}", 3, 1500)
    assert 0 < report["ms"] <= 1500


def test_a_cross_encoder_from_an_onnx_file(tmp_path: Path) -> None:
    table = np.arange(len(tiny.WORDS), dtype=np.float32)[:, None]
    folder = tiny.write_lookup(tmp_path / "m", table, output="logits")
    with pytest.raises(RerankError, match="one finite score"):
        CrossEncoder(folder)("tea", SEGMENTS)  # a number for each token is not a score


def test_a_cross_encoder_of_the_hub_by_its_name(tmp_path: Path) -> None:
    folder = classifier(tmp_path)
    with pytest.raises(EmbedderUnavailable, match="ir models pull org/judge"):
        resolve_reranker("cross-encoder:org/judge")
    files = {path.name: path.read_bytes() for path in folder.iterdir()}

    def hub(path: str, body: Any) -> tuple[int, Any, dict[str, str]]:
        if path.startswith("/api/models/org/judge/tree/"):
            return 200, [{"type": "file", "path": name, "size": len(data)} for name, data in files.items()], {}
        return 200, files[path.rpartition("/")[2]], {}

    with serving(hub) as server:
        install.pull("org/judge", hub_url=server.url, progress=lambda *_: None)
    assert resolve_reranker("cross-encoder:org/judge")("tea", SEGMENTS) == CrossEncoder(folder)("tea", SEGMENTS)


def test_a_bare_cross_encoder_is_the_default_one_or_says_how_to_get_it(tmp_path: Path) -> None:
    with pytest.raises(EmbedderUnavailable, match=r"ir models pull cross-encoder/ms-marco-MiniLM-L-6-v2"):
        resolve_reranker("cross-encoder")
    folder = classifier(tmp_path)
    files = {path.name: path.read_bytes() for path in folder.iterdir()}

    def hub(path: str, body: Any) -> tuple[int, Any, dict[str, str]]:
        if path.startswith("/api/models/cross-encoder/ms-marco-MiniLM-L-6-v2/tree/"):
            return 200, [{"type": "file", "path": name, "size": len(data)} for name, data in files.items()], {}
        return 200, files[path.rpartition("/")[2]], {}

    with serving(hub) as server:
        install.pull("cross-encoder/ms-marco-MiniLM-L-6-v2", hub_url=server.url, progress=lambda *_: None)
    assert resolve_reranker("cross-encoder")("tea", SEGMENTS) == CrossEncoder(folder)("tea", SEGMENTS)


def test_every_reranker_reports_and_a_search_passes_it_on(tmp_path: Path) -> None:
    source = ir.CorpusSource.from_mapping({"tea": "green tea", "bread": "bread dough"}, name="n")
    corpus = ir.build(source, store=ir.CorpusStore.memory(), embedder="light")
    for rerank in (CrossEncoder(classifier(tmp_path)), MaxSim(tiny.write_bert(tmp_path / "m"), deadline_ms=60_000)):
        report = ir.search(corpus, "green tea", rerank=rerank).meta["rerank"]
        assert (report["reranker"], report["segments"], report["deadline_ms"]) == (rerank.id, 2, rerank.deadline_ms)
        assert 0 < report["ms"] < report["deadline_ms"]


def test_an_encoder_without_a_classifier_is_no_cross_encoder(tmp_path: Path) -> None:
    with pytest.raises(EmbedderError, match="not a cross-encoder"):
        CrossEncoder(tiny.write_bert(tmp_path / "m"))


def test_a_deadline_ends_it_and_the_first_stage_stands(tmp_path: Path) -> None:
    slow = CrossEncoder(classifier(tmp_path), deadline_ms=0)
    with pytest.raises(RerankError, match=r"did not finish 3 segments within 0 ms.*rerank\.deadline_ms"):
        slow("tea", SEGMENTS)
    source = ir.CorpusSource.from_mapping({"tea": "green tea", "bread": "bread dough"}, name="n")
    corpus = ir.build(source, store=ir.CorpusStore.memory(), embedder="light")
    hits = ir.search(corpus, "green tea", rerank=slow)
    assert [hit.artifact_id for hit in hits] == ["tea", "bread"]
    assert hits.meta["degraded"] == ["reranker"]


def test_maxsim_is_the_mean_of_the_best_cosines(tmp_path: Path) -> None:
    folder = tiny.write_bert(tmp_path / "m")
    scores = MaxSim(folder)("hot tea", [*SEGMENTS, {"text": ""}])

    def inner(text: str) -> Any:
        rows = tiny.bert_states(TextTokenizer(folder / "tokenizer.json", 40)(text).ids)[1:-1]
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)

    expected = [(inner("hot tea") @ inner(segment["text"]).T).max(axis=1).mean() for segment in SEGMENTS]
    np.testing.assert_allclose(scores[:3], expected, atol=2e-3)
    assert scores[3] == 0.0


def test_maxsim_remembers_texts_and_asks_to_be_mixed(tmp_path: Path) -> None:
    rerank = MaxSim(tiny.write_bert(tmp_path / "m"))
    first = rerank("hot tea", SEGMENTS)
    assert rerank("hot tea", SEGMENTS) == first
    assert set(rerank._known) == {"hot tea", *(segment["text"] for segment in SEGMENTS)}
    assert 0 < rerank.weight < 1


@pytest.mark.slow
def test_maxsim_gives_what_it_read_in_time_and_goes_on_from_there(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    texts = [" ".join(rng.choice(tiny.WORDS[4:10], 36)) for _ in range(3000)]
    segments = [{"text": text} for text in texts]
    whole = MaxSim(tiny.write_bert(tmp_path / "m"), deadline_ms=600_000)("hot tea", segments)
    assert whole.report.note is None
    hurried = MaxSim(tmp_path / "m", deadline_ms=40)
    counts = []
    while not counts or counts[-1] < len(texts):
        assert len(counts) < 500
        try:
            scores = hurried("hot tea", segments)
        except RerankError:  # on a machine that is busy with other things
            counts.append(0)
            continue
        read = scores.report.scored
        counts.append(read)
        np.testing.assert_allclose(scores[:read], whole[:read], atol=1e-6)
        assert set(scores[read:]) <= {min(scores[:read])}
        assert read == len(texts) or f"read the best {read} of 3000" in str(scores.report.note)
    assert 0 < next(count for count in counts if count) < len(texts)
    assert scores == whole


def test_of_an_unfinished_reranking_the_unread_follow(tmp_path: Path) -> None:
    texts = {name: f"{name} tea" for name in ("hot", "green", "black", "white")}
    corpus = ir.build(ir.CorpusSource.from_mapping(texts, name="n"), store=ir.CorpusStore.memory(), embedder="light")
    first = [hit.artifact_id for hit in ir.search(corpus, "hot green tea")]

    def half(query: str, segments: Any) -> Reranked:
        return Reranked([0.1, 0.9, 0.1, 0.1], RerankReport("half", len(segments), 1.0, 100, 2))

    hits = ir.search(corpus, "hot green tea", rerank=half, rerank_weight=0.9)
    assert [hit.artifact_id for hit in hits] == [first[1], first[0], first[2], first[3]]
    assert hits.meta["degraded"] == []
    assert (hits.meta["rerank"]["scored"], hits.meta["rerank"]["segments"]) == (2, 4)
    assert "read the best 2 of 4 candidates within 100 ms" in hits.meta["notes"][0]


@pytest.fixture
def teas() -> Any:
    source = ir.CorpusSource.from_mapping({"tea": "green tea", "bread": "bread dough"}, name="n")
    return ir.build(source, store=ir.CorpusStore.memory(), embedder="light")


def test_a_function_that_raises_leaves_the_first_stage_with_its_reason(teas: Any) -> None:
    def broken(query: str, segments: Any) -> list[float]:
        raise KeyError("no such model")

    hits = ir.search(teas, "green tea", rerank=broken)
    assert [hit.artifact_id for hit in hits] == ["tea", "bread"]
    assert hits.meta["degraded"] == ["reranker"]
    assert hits.meta["rerank"]["error"] == "The reranker 'broken' failed: KeyError: 'no such model'."
    assert hits.meta["notes"] == [f"The order of the first stage stands. {hits.meta['rerank']['error']}"]


def test_a_function_that_is_late_is_not_waited_for(teas: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IR_RERANK_DEADLINE_MS", "50")
    ended = threading.Event()

    def slow(query: str, segments: Any) -> Iterator[float]:
        ended.wait(30)
        yield from range(len(segments))

    hits = ir.search(teas, "green tea", rerank=slow)
    assert not ended.is_set()
    ended.set()
    assert "'slow' did not answer within 50 ms" in hits.meta["rerank"]["error"]
    assert "rerank.deadline_ms" in hits.meta["notes"][0]
    slow.deadline_ms = 60_000  # type: ignore[attr-defined]
    assert ir.search(teas, "green tea", rerank=slow).meta["reranked"] is True


def test_a_network_of_fixed_shape_leaves_the_first_stage_with_its_reason(teas: Any, tmp_path: Path) -> None:
    table = np.ones((len(tiny.WORDS), 1), np.float32)
    folder = tiny.write_lookup(tmp_path / "m", table, output="logits", sizes=(1, 3))
    hits = ir.search(teas, "green tea", rerank=CrossEncoder(folder))
    assert "could not be run on an input of" in hits.meta["rerank"]["error"]
    assert "dynamic axes" in hits.meta["notes"][0]


def test_maxsim_runs_a_folder_in_whole_numbers_too(tmp_path: Path) -> None:
    folder = tiny.write_bert(tmp_path / "m")
    exact, whole = (resolve_reranker(f"maxsim:{folder}{suffix}") for suffix in ("", "-int8"))
    assert (exact.id, whole.id) == ("maxsim:m", "maxsim:m-int8")  # type: ignore[attr-defined]
    np.testing.assert_allclose(whole("hot tea", SEGMENTS), exact("hot tea", SEGMENTS), atol=0.1)
    assert whole("hot tea", SEGMENTS) != exact("hot tea", SEGMENTS)
    named = tiny.write_bert(tmp_path / "own-int8")
    assert resolve_reranker(f"maxsim:{named}").id == "maxsim:own-int8"  # type: ignore[attr-defined]
    with pytest.raises(EmbedderUnavailable, match="ir models pull org/none"):
        resolve_reranker("maxsim:org/none-int8")


@pytest.mark.slow
def test_maxsim_over_minilm_prefers_the_answer() -> None:
    as_installed("minilm")
    rerank = resolve_reranker("maxsim")
    texts = ["The capital of France is Paris.", "Bananas are rich in potassium.", "Rivers carry water to the sea."]
    scores = rerank("which city is the capital of france", [{"text": text} for text in texts])
    assert scores[0] == max(scores)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("RERANK_API_KEY", KEY)
    with serving(lambda path, body: (200, answer(body), {})) as running:
        monkeypatch.setenv("IR_RERANK_BASE_URL", f"{running.url}/v1")
        yield running


def answer(body: Any, key: str = "results") -> Any:
    rows = [{"index": place, "relevance_score": len(text) / 100} for place, text in enumerate(body["documents"])]
    return {key: rows[::-1]}


@pytest.mark.parametrize("key", ["results", "data"])
def test_a_server_is_asked_in_the_common_format(server: Server, key: str) -> None:
    server.behaviour = lambda path, body: (200, answer(body, key), {})
    scores = resolve_reranker("http:rerank-v3")("tea", SEGMENTS)
    assert scores == [0.09, 0.17, 0.09]
    texts = [segment["text"] for segment in SEGMENTS]
    assert server.requests == [("/v1/rerank", {"model": "rerank-v3", "query": "tea", "documents": texts})]
    assert server.headers[0]["Authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize(
    "reply",
    [
        (401, {"message": f"wrong key {KEY}"}, {}),
        (500, {}, {"Retry-After": "0"}),
        (200, {"results": [{"index": 0, "relevance_score": 1.0}]}, {}),
        (200, {"results": [{"index": place, "relevance_score": "NaN"} for place in range(3)]}, {}),
        (200, [1, 2, 3], {}),
        (200, b"<html>", {}),
        (200, b"[" * 100_000 + b"]" * 100_000, {}),
    ],
)
def test_a_server_that_fails_is_a_rerank_error(server: Server, reply: Any) -> None:
    server.behaviour = lambda path, body: reply
    with pytest.raises(RerankError) as caught:
        resolve_reranker("http:m")("tea", SEGMENTS)
    assert KEY not in str(caught.value)


def test_a_silent_server_is_given_up_at_the_deadline(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IR_RERANK_DEADLINE_MS", "200")
    waiting = threading.Event()

    def silent(path: str, body: Any) -> Any:
        waiting.wait(5)
        return 200, {}, {}

    server.behaviour = silent
    began = time.perf_counter()
    with pytest.raises(RerankError, match="did not answer"):
        resolve_reranker("http:m")("tea", SEGMENTS)
    assert time.perf_counter() - began < 4
    waiting.set()


HEAD = b"HTTP/1.1 200 OK\r\n"


@pytest.mark.parametrize(
    ("first", "drop"),
    [(b"", b"H"), (HEAD, b"X"), (HEAD, b"X: y\r\n"), (HEAD + b"Content-Length: 100000\r\n\r\n", b" ")],
)
def test_a_server_that_drips_is_given_up_at_the_deadline(
    monkeypatch: pytest.MonkeyPatch, first: bytes, drop: bytes
) -> None:
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.setenv("IR_RERANK_DEADLINE_MS", "300")
    with dripping(first, drop) as url:
        monkeypatch.setenv("IR_RERANK_BASE_URL", url)
        began = time.perf_counter()
        with pytest.raises(RerankError, match="did not answer"):
            resolve_reranker("http:m")("tea", SEGMENTS)
        assert time.perf_counter() - began < 2


def test_names_that_mean_nothing_are_refused() -> None:
    for spec in ("cohere", "http:", "http://host/x", "cross-encoder:", 7):
        with pytest.raises(InvalidInput, match="'maxsim'"):
            resolve_reranker(spec)
    with pytest.raises(InvalidInput, match=r"ir config set rerank\.base_url"):
        resolve_reranker("http:m")
    with pytest.raises(EmbedderUnavailable, match="ir models pull minilm"):
        resolve_reranker("maxsim")

    def own(query: str, segments: Any) -> list[float]:
        return [0.0 for _ in segments]

    assert resolve_reranker(own) is own
