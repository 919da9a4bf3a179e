"""Nothing is sent and nothing is left about: one of each kind of command in a fresh home, under a guard."""

from __future__ import annotations

import json
import shutil
import signal
import socket
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from tests.models import tiny
from tests.models.pulled import pulled
from tests.privacy.guard import Guard

THINGS = ("tea", "water", "green", "bread", "dough", "anchor", "candle", "drum", "engine", "hammer")
TEXT = (
    "The {thing} hangs on the {place} wall of the shed, where it is hot and dry. "
    "Nobody moved it since last winter, because the ladder is broken and the floor is wet.\n"
)


@pytest.fixture
def shed(guard: Guard) -> Path:
    """A folder of notes, and cases about it."""
    folder = guard.work / "shed"
    folder.mkdir()
    lines = [{"query": f"how deep is the sea {number}", "gold": []} for number in range(4)]
    for thing in THINGS:
        for place in ("left", "right"):
            name = f"{thing}-{place}.md"
            text = TEXT.format(thing=thing, place=place)
            (folder / name).write_text(f"---\ndeps: [tea-left.md]\n---\n{text}")
            lines.append({"query": f"{thing} on the {place} wall", "gold": [name]})
    (guard.work / "cases.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (guard.work / "out").mkdir()
    return folder


def assert_kept(guard: Guard) -> None:
    """Nothing was looked up or spoken to; nothing was written but where the user said and where ``ir`` lives."""
    assert guard.network() == []
    assert guard.strays(guard.work / "out") == []
    assert guard.leftovers() == []
    ours = (".config/ir/", ".local/share/ir/", ".cache/ir/")
    assert [path for path in guard.tree() if not path.startswith(ours)] == []


def everything(guard: Guard) -> None:
    """One of each kind of command, with the embedder that ``guard.extra`` names."""
    ir = guard.ir
    ir("--version")
    ir("search", "shed", "hot water", "-k", "2")
    ir("register", "walls", "shed")
    ir("build", "walls", "--links")
    ir("build", "walls", "--dry-run")
    for mode in ("hybrid", "dense", "lexical"):
        ir("search", "walls", "tea on the left wall", "--mode", mode, "--explain", "--json")
    ir("ls")
    ir("info", "walls")
    ir("calibrate-min-score", "walls", "--probes", codes=(0, 1))
    ir("calibrate-min-score", "walls", "cases.jsonl", codes=(0, 1))
    ir("discover", "walls", "tea on the left wall", codes=(0, 1))
    ir("eval", "walls", "cases.jsonl", "--run", "out/one.run", "--html", "out/eval.html")
    ir("eval", "walls", "cases.jsonl", "--mode", "lexical", "--run", "out/two.run")
    ir("compare", "out/one.run", "out/two.run", "--qrels", "cases.jsonl", "--html", "out/compare.html")
    ir("eval-gen", "walls", "out/made.jsonl", "--no-llm", "--max-artifacts", "3")
    ir("eval-select", "walls", "cases.jsonl")
    ir("sweep-select", "walls", "cases.jsonl", "--html", "out/sweep.html")
    ir("tune", "walls", "cases.jsonl", "--folds", "2", codes=(0, 1))
    ir("tune", "walls", "--forget", codes=(0, 1))
    ir("graph", "walls", "neighbours", "tea-right.md")
    ir("graph", "walls", "export", "-o", "out/graph.dot")
    ir("coverage", "walls")
    ir("space", "ls", "walls")
    ir("policy", "walls")
    ir("schedule", "--format", "cron")
    ir("gc", "--dry-run", codes=(0, 1))
    ir("maintain")
    ir("export", "walls", "out/walls.irz")
    ir("import", "out/walls.irz", "--name", "again")
    watched(guard)
    ir("config", "set", "k", "4")
    ir("config", "list")
    ir("models", "ls")
    ir("doctor", codes=(0, 3))
    ir("rm", "again", "--yes")
    ir("search", "nowhere", "tea", codes=(3,))


def watched(guard: Guard) -> None:
    """Start ``ir watch``, change a file, and end it as Ctrl-C does."""
    process = guard.start(sys.executable, "-m", "ir", "watch", "walls")
    assert process.stderr is not None
    next(line for line in process.stderr if "watching" in line)
    (guard.work / "shed" / "new.md").write_text("A new kettle for the tea.\n")
    next(line for line in process.stderr if "1 added" in line)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode in (0, 130)
    assert "kettle" in guard.ir("search", "walls", "kettle", "--mode", "lexical").stdout


@pytest.mark.slow
@pytest.mark.usefixtures("shed")
def test_every_command_with_light_keeps_to_our_folders_and_looks_nothing_up(guard: Guard) -> None:
    guard.extra["IR_EMBEDDER"] = "light"
    everything(guard)
    assert_kept(guard)
    assert any(path.startswith(".cache/ir/matplotlib/") for path in guard.tree()), "no plot was drawn"


@pytest.mark.slow
@pytest.mark.usefixtures("shed")
def test_every_command_with_a_network_keeps_to_our_folders_and_looks_nothing_up(guard: Guard) -> None:
    folder = tiny.write_lookup(guard.root / "model", np.eye(len(tiny.WORDS), dtype=np.float32))
    guard.extra["IR_EMBEDDER"] = str(folder)
    everything(guard)
    assert_kept(guard)


@pytest.mark.parametrize("form", ["", "-int8", "-openvino"])
@pytest.mark.usefixtures("shed")
def test_a_search_with_a_network_in_each_form_is_quiet(guard: Guard, form: str) -> None:
    if form == "-openvino" and find_spec("openvino") is None:
        pytest.skip("openvino is not installed")
    folder = tiny.write_bert(guard.root / "bert")
    guard.ir("search", "shed", "hot water", "--embedder", f"{folder}{form}")
    assert_kept(guard)


@pytest.mark.parametrize("kind", ["maxsim", "cross-encoder"])
@pytest.mark.usefixtures("shed")
def test_a_reranker_is_quiet(guard: Guard, kind: str) -> None:
    rng = np.random.default_rng(8)
    head = {"classifier__weight": rng.standard_normal((1, tiny.HIDDEN)), "classifier__bias": rng.standard_normal(1)}
    named = {name: value.astype(np.float32) for name, value in head.items()} if kind == "cross-encoder" else {}
    folder = tiny.write_bert(guard.root / "bert", prefix="bert." if named else "", **named)
    done = guard.ir("search", "shed", "hot water", "--embedder", "light", "--rerank", f"{kind}:{folder}", "--json")
    assert json.loads(done.stdout)["meta"]["reranked"] is True
    assert_kept(guard)


def test_what_is_found_out_about_fonts_is_kept_in_our_cache(guard: Guard) -> None:
    """matplotlib makes a list of them, and asks fontconfig, which keeps one of its own for each folder of fonts."""
    found = find_spec("matplotlib")
    if found is None or found.origin is None:
        pytest.skip("matplotlib is not installed")
    bundled = Path(found.origin).parent / "mpl-data" / "fonts" / "ttf" / "DejaVuSans.ttf"
    mine = guard.home / ".local" / "share" / "fonts"
    mine.mkdir(parents=True)
    shutil.copy(bundled, mine / "Mine.ttf")
    guard.python("from ir.eval import plot_distractors; plot_distractors({1: 1.0, 4: 0.8}, path='out/plot.png')")
    shutil.rmtree(mine)
    assert_kept(guard)
    assert any(path.startswith(".cache/ir/matplotlib/fontlist") for path in guard.tree())


@pytest.mark.slow
@pytest.mark.usefixtures("shed")
def test_the_pulled_model_is_quiet(guard: Guard) -> None:
    models = guard.home / ".cache" / "ir" / "models"
    models.mkdir(parents=True)
    (models / "minilm").symlink_to(pulled("minilm"), target_is_directory=True)
    for name in ("minilm", "minilm-int8"):
        guard.ir("build", "shed", "--embedder", name)
        assert "tea-left" in guard.ir("search", "shed", "the tea on the left", "--embedder", name).stdout
    assert_kept(guard)


@pytest.mark.slow
def test_a_process_that_stays_with_a_network_looks_nothing_up(guard: Guard) -> None:
    """Events are queued first and sent after a while: a process that ends at once proves little."""
    folder = tiny.write_bert(guard.root / "bert")
    guard.python(
        "import time\n"
        "from ir.embed import make_embedder\n"
        f"make_embedder({str(folder)!r}, cache=False)[0](['tea'])\n"
        "time.sleep(20)\n"
    )
    assert_kept(guard)


@pytest.mark.slow
@pytest.mark.usefixtures("shed")
def test_a_corpus_in_a_milvus_file_leaves_no_log(guard: Guard) -> None:
    if find_spec("milvus_lite") is None:
        pytest.skip("milvus-lite is not installed")
    guard.extra |= {"IR_EMBEDDER": "light", "IR_GUARD_LOOPBACK": "1"}
    guard.ir("build", "shed", "--store", "milvus+lite:out/shed.db")
    guard.ir("search", "shed", "hot water")
    assert guard.network() == []
    assert guard.strays(guard.work / "out", guard.home / ".cache" / "milvus") == []
    assert guard.leftovers() == []
    assert not (guard.home / ".cache" / "milvus").exists()


@pytest.mark.slow
@pytest.mark.usefixtures("shed")
def test_a_cluster_of_this_machine_reports_nothing_and_goes_with_its_files(guard: Guard) -> None:
    if find_spec("ray") is None:
        pytest.skip("ray is not installed")
    guard.extra |= {"IR_EMBEDDER": "light", "IR_GUARD_LOOPBACK": "1", "TMPDIR": tempfile.mkdtemp(dir="/tmp")}
    guard.ir("build", "shed", "--ray", "local")
    left = list(Path(guard.extra["TMPDIR"]).iterdir())
    shutil.rmtree(guard.extra["TMPDIR"])
    assert left == []
    # Ray asks for its own address and for the cloud that it runs in, whether or not it reports; no setting ends that.
    own = {"8.8.8.8", "2001:4860:4860::8888", socket.gethostname()}
    clouds = {"169.254.169.254", "169.254.169.254:80", "metadata.google.internal"}
    assert {event.partition(" ")[2] for event in guard.network()} - own - clouds == set()
    assert [path for path in guard.tree() if "/ir/" not in path] == []
