"""Running a network: one onnxruntime session, single-threaded, asked by as many threads as the user allows."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ir.config import Settings
from ir.errors import EmbedderError, MissingExtra
from ir.models.origin import again
from ir.system import physical_cores

__all__ = [
    "equal_length_batches",
    "in_parallel",
    "load_onnxruntime",
    "open_session",
    "run_session",
    "thread_count",
    "unloadable",
]

#: How many tokens make a batch: enough to keep a processor busy, few enough to stay in its cache. With twice as many,
#: int8 takes a tenth longer.
BATCH_TOKENS = 256


def open_session(model: bytes | Path, weights: Mapping[str, NDArray[Any]] | None = None) -> Any:
    """An onnxruntime session of a model file, or of a graph and its ``weights``."""
    onnxruntime = load_onnxruntime()
    options = onnxruntime.SessionOptions()
    # Texts run side by side, each on one thread: quicker than many threads on one text, and no thread ever spins.
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 4
    if isinstance(model, bytes):
        # Our own graph is already optimised; the higher levels make it slower.
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    names = list(weights or {})
    values = [onnxruntime.OrtValue.ortvalue_from_numpy(np.asarray((weights or {})[name])) for name in names]
    if names:
        options.add_external_initializers(names, values)
    try:
        source = model if isinstance(model, bytes) else str(model)
        return onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime's errors have no common base class but Exception
        what = "The network of the model" if isinstance(model, bytes) else str(model)
        raise unloadable(what, _first_line(error), again(model) if isinstance(model, Path) else "") from error


def load_onnxruntime() -> Any:
    """The package without its telemetry: it writes an id of the machine to the home folder and reports to its makers.

    It looks at the variable while it is imported; its own ``disable_telemetry_events`` can only be called too late.
    The variable stays set, so that processes started from here keep still as well.
    """
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"
    try:
        import onnxruntime
    except ImportError as error:
        raise MissingExtra("onnxruntime", "onnx", "Running an embedding model") from error
    return onnxruntime


def run_session(session: Any, outputs: Sequence[str], given: Mapping[str, Any], path: Path) -> Any:
    """What a session computes; a network that cannot take texts as they come is an error that says so."""
    try:
        return session.run(list(outputs), dict(given))
    except Exception as error:  # as above
        shape = " by ".join(str(size) for size in np.shape(given.get("input_ids", ())))
        raise EmbedderError(
            f"The network of {path} could not be run on an input of {shape}: {_first_line(error)}.",
            remedy="Export it with dynamic axes, so that it takes any number of texts and of tokens.",
        ) from error


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0][:300].rstrip(".") or type(error).__name__


def unloadable(what: str, why: str, again: str = "") -> EmbedderError:
    """The error for a network that its engine does not take; ``again`` says how to get it once more."""
    return EmbedderError(
        f"{what} cannot be loaded: {why[:300].rstrip('.')}.",
        remedy=f"Its files are incomplete or damaged. {again or 'Get the model again.'}",
    )


def equal_length_batches(lengths: Sequence[int], tokens: int = BATCH_TOKENS) -> Iterator[list[int]]:
    """Places of texts of one length, the longest first; so no text is padded.

    >>> list(equal_length_batches([2, 3, 2, 2], tokens=4))
    [[1], [0, 2], [3]]
    """
    order = sorted(range(len(lengths)), key=lambda place: -lengths[place])
    batch: list[int] = []
    for place in order:
        length = lengths[place]
        if batch and (lengths[batch[0]] != length or (len(batch) + 1) * length > tokens):
            yield batch
            batch = []
        batch.append(place)
    if batch:
        yield batch


def in_parallel(work: Callable[[list[int]], None], batches: Sequence[list[int]]) -> None:
    """Do ``work`` for every batch, on as many threads as the user allows; the first error ends it."""
    threads = min(thread_count(), len(batches)) if len(batches) > 1 else 1
    if threads <= 1:
        for batch in batches:
            work(batch)
        return
    with ThreadPoolExecutor(threads, thread_name_prefix="ir-embed") as pool:
        try:
            for _ in pool.map(work, batches):
                pass
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


def thread_count() -> int:
    """How many threads may embed: the setting ``threads``, else one for each physical core."""
    return int(Settings.load()["threads"]) or physical_cores()
