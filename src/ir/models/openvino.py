"""Running a network on OpenVINO: one compiled model, with as many single-threaded streams as the user allows."""

from __future__ import annotations

import sys
import threading
from collections import deque
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ir.errors import MissingExtra
from ir.models.origin import again
from ir.models.session import thread_count, unloadable

__all__ = ["OpenVinoSession", "load_openvino"]

_TELEMETRY = "openvino_telemetry"
#: How many prepared operations are kept. Without a limit they take a megabyte for each size of batch, which saves
#: a tenth of the time if every batch has a different length; otherwise no gain could be measured.
_PREPARED = 64
_loading = threading.Lock()


class End(NamedTuple):
    """An input or an output of a network."""

    name: str
    type: str


class OpenVinoSession:
    """A model file, or a network of OpenVINO's own operations, asked as a session of onnxruntime is."""

    def __init__(self, model: Any) -> None:
        core = _core()
        self.precision = _best_precision(core)
        threads = thread_count()
        options = {
            "INFERENCE_PRECISION_HINT": self.precision,
            "NUM_STREAMS": threads,
            "INFERENCE_NUM_THREADS": threads,
            "CPU_RUNTIME_CACHE_CAPACITY": _PREPARED,
            "ENABLE_CPU_PINNING": False,  # otherwise several processes would all be pinned to the first processors
        }
        try:
            network = _read_onnx(model) if isinstance(model, Path) else model
            self._compiled = core.compile_model(network, "CPU", options)
        except Exception as error:  # its errors have no common base class but Exception
            what = str(model) if isinstance(model, Path) else "The network of the model"
            # Its messages begin with locations in its own source and end with the cause.
            advice = again(model) if isinstance(model, Path) else ""
            raise unloadable(what, str(error).strip().rpartition("\n")[2], advice) from error
        self._outputs = {name: output for output in self._compiled.outputs for name in output.get_names()}
        #: A request can be used by one thread at a time, and keeps its memory for the next.
        self._idle: deque[Any] = deque()

    def get_inputs(self) -> list[End]:
        return [End(item.get_any_name(), _type_of(item)) for item in self._compiled.inputs]

    def get_outputs(self) -> list[End]:
        return [End(name, _type_of(item)) for name, item in self._outputs.items()]

    def run(self, outputs: Sequence[str], given: Mapping[str, NDArray[Any]]) -> list[NDArray[Any]]:
        try:
            request = self._idle.pop()
        except IndexError:
            request = self._compiled.create_infer_request()
        found = request.infer(dict(given), share_inputs=True, share_outputs=True)
        rows = [np.array(found[self._outputs[name]]) for name in outputs]  # a copy: the request will be used again
        self._idle.append(request)
        return rows


def _best_precision(core: Any) -> str:
    """The smallest number type that is fast on this processor and was measured not to change the vectors."""
    return "bf16" if "BF16" in core.get_property("CPU", "OPTIMIZATION_CAPABILITIES") else "f32"


def _type_of(end: Any) -> str:
    return str(np.dtype(end.get_element_type().to_dtype()).name)


def _read_onnx(file: Path) -> Any:
    """The network of a file; ``Core.read_model`` would try a damaged one as every format, and print what each says."""
    reader = load_openvino().frontend.FrontEndManager().load_by_framework("onnx")
    return reader.convert(reader.load(str(file)))


def load_openvino() -> Any:
    """The package without its telemetry, by which an import is reported to its makers and marked in the home folder."""
    with _loading:
        before = sys.modules.get(_TELEMETRY)
        sys.modules[_TELEMETRY] = None  # type: ignore[assignment]  # to import it fails, and OpenVINO does without
        try:
            import openvino
        except ImportError as error:
            raise MissingExtra("openvino", "openvino", "Running a model on OpenVINO") from error
        finally:
            if before is None:
                del sys.modules[_TELEMETRY]
            else:
                sys.modules[_TELEMETRY] = before
    return openvino


@lru_cache(maxsize=1)
def _core() -> Any:
    return load_openvino().Core()
