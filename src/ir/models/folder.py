"""What the files of a model's folder say about how it is to be used."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ir.errors import EmbedderError
from ir.models.origin import again
from ir.models.soundness import NETWORKS

__all__ = ["POOLINGS", "ModelFolder", "read_json"]

POOLINGS = ("mean", "cls", "max", "lasttoken")
_OTHER_POOLINGS = ("mean_sqrt_len_tokens", "weightedmean_tokens")
_DESCRIBING = (
    "config.json", "modules.json", "sentence_bert_config.json", "config_sentence_transformers.json", "tokenizer.json",
)  # fmt: skip
_DFLT_MAX_TOKENS = 512
_WHOLE_FILE = 4_000_000
_SAMPLES = 64
_SAMPLE_BYTES = 16_384


@dataclass(frozen=True)
class ModelFolder:
    """A model in the layout of sentence-transformers, or a bare network with its tokenizer.

    ``network`` is an ONNX file, else ``weights`` are run by our own graph. ``prompts`` are put before a text by input
    type. ``dense`` are folders of linear layers after pooling.
    """

    path: Path
    config: Mapping[str, Any]
    network: Path | None
    weights: Path | None
    pooling: str = "mean"
    normalise: bool = False
    max_tokens: int = _DFLT_MAX_TOKENS
    lower: bool = False
    prompts: Mapping[str, str] = field(default_factory=dict)
    dense: tuple[Path, ...] = ()
    static: bool = False

    @classmethod
    def read(cls, path: Path) -> ModelFolder:
        """Read the folder; an :class:`~ir.errors.EmbedderError` says what is missing or not understood."""
        if not path.is_dir():
            raise EmbedderError(f"There is no model folder {path}.", remedy="Give a folder that holds a model's files.")
        modules = _modules(path)
        core = path / modules.get("Transformer", "") if not (path / "config.json").exists() else path
        config = read_json(core / "config.json")
        network = next((file for name in NETWORKS if (file := path / name).is_file()), None)
        weights = next((file for folder in (core, path) if (file := folder / "model.safetensors").is_file()), None)
        static = "StaticEmbedding" in modules or config.get("model_type") == "model2vec"
        if network is None and weights is None:
            raise EmbedderError(
                f"The folder {path} holds no network: neither onnx/model.onnx nor model.safetensors.",
                remedy="Export the model to ONNX, or get its safetensors files.",
            )
        sbert = read_json(core / "sentence_bert_config.json")
        return cls(
            path,
            config,
            network,
            weights,
            pooling=_pooling(path, modules),
            normalise="Normalize" in modules,
            max_tokens=_max_tokens(core, config, sbert),
            lower=bool(sbert.get("do_lower_case")),
            prompts=_prompts(path / "config_sentence_transformers.json"),
            dense=tuple(path / where for kind, where in modules.items() if kind.startswith("Dense")),
            static=static,
        )

    @property
    def tokenizer(self) -> Path:
        """The file that says how text becomes tokens."""
        beside = self.weights.parent / "tokenizer.json" if self.weights else self.path / "tokenizer.json"
        return beside if beside.is_file() else self.path / "tokenizer.json"

    def digest(self) -> str:
        """A short hash of everything that decides the vectors; of large files, of samples all over them."""
        hashed = hashlib.blake2b(digest_size=8)
        for file in self._files():
            hashed.update(str(file.relative_to(self.path)).encode() + b"\0" + file.stat().st_size.to_bytes(8, "little"))
            for block in _blocks(file):
                hashed.update(block)
        return hashed.hexdigest()

    def _files(self) -> list[Path]:
        described = [self.path / name for name in _DESCRIBING]
        poolings = [*self.path.glob("*_Pooling/config.json"), *self.path.glob("*_Dense/*")]
        poolings += [file for folder in self.dense for file in folder.glob("*")]
        data = [*self.path.glob("onnx/*.onnx_data"), *self.path.glob("*.onnx_data")] if self.network else []
        used = self.network or self.weights
        return sorted({file for file in (*described, *poolings, *data, used) if file is not None and file.is_file()})


def read_json(file: Path) -> dict[str, Any]:
    """The object in a file, none if there is no file; of a list, an object with the list as ``modules``."""
    try:
        found = json.loads(file.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError) as error:
        raise EmbedderError(f"{file} cannot be read: {error}.", remedy=again(file)) from error
    return found if isinstance(found, dict) else {"modules": found}


def _malformed(file: Path, what: str) -> EmbedderError:
    return EmbedderError(f"{file} is malformed: {what}.", remedy=again(file))


def _modules(path: Path) -> dict[str, str]:
    """The kinds of a model's parts with their sub-folders; several dense layers are numbered."""
    modules: dict[str, str] = {}
    parts = read_json(path / "modules.json").get("modules", [])
    if not isinstance(parts, list):
        raise _malformed(path / "modules.json", "it must hold a list of parts")
    for part in parts:
        if not isinstance(part, dict) or not isinstance(part.get("type"), str):
            raise _malformed(path / "modules.json", "every part must be an object with a type")
        kind, where = part["type"].rpartition(".")[2], str(part.get("path") or "")
        if kind == "Dense" and "Normalize" in modules:
            raise EmbedderError(
                f"The model in {path} normalises before a dense layer, which is not supported.",
                remedy="Export the whole model to ONNX with an output named sentence_embedding.",
            )
        if ".." in Path(where).parts or Path(where).is_absolute():
            raise EmbedderError(f"{path / 'modules.json'} points outside of its folder.")
        if kind not in ("Transformer", "Pooling", "Normalize", "Dense", "Dropout", "StaticEmbedding"):
            raise EmbedderError(
                f"The model in {path} has a part of type {kind!r}, which is not supported.",
                remedy="Export the whole model to ONNX with an output named sentence_embedding.",
            )
        modules[kind if kind not in modules else f"{kind}{len(modules)}"] = where
    return modules


def _pooling(path: Path, modules: Mapping[str, str]) -> str:
    settings = read_json(path / modules["Pooling"] / "config.json") if "Pooling" in modules else {}
    if settings.get("include_prompt") is False:
        raise EmbedderError(f"The model in {path} pools without its prompt, which is not supported.")
    named = settings.get("pooling_mode")
    chosen = [str(named)] if isinstance(named, str) else list(named or ())
    for name in (*(f"{pooling}_tokens" for pooling in ("mean", "max")), "cls_token", "lasttoken", *_OTHER_POOLINGS):
        if settings.get(f"pooling_mode_{name}"):
            chosen.append(name.removesuffix("_tokens").removesuffix("_token"))
    if len(chosen) > 1 or (chosen and chosen[0] not in POOLINGS):
        raise EmbedderError(
            f"The model in {path} pools by {' and '.join(chosen)}, which is not supported.",
            remedy=f"One of {', '.join(POOLINGS)} is.",
        )
    return chosen[0] if chosen else "mean"


def _max_tokens(core: Path, config: Mapping[str, Any], sbert: Mapping[str, Any]) -> int:
    positions = config.get("max_position_embeddings")
    if positions is not None and not isinstance(positions, int):
        raise _malformed(core / "config.json", "max_position_embeddings must be a whole number")
    if positions and config.get("model_type") in ("roberta", "xlm-roberta"):
        positions -= int(config.get("pad_token_id", 1)) + 1
    told = sbert.get("max_seq_length") or read_json(core / "tokenizer_config.json").get("model_max_length")
    limits = [int(limit) for limit in (positions, told) if isinstance(limit, (int, float)) and 0 < limit < 1e6]
    return min(limits, default=_DFLT_MAX_TOKENS)


def _prompts(file: Path) -> dict[str, str]:
    settings = read_json(file)
    held = settings.get("prompts") or {}
    if not isinstance(held, dict) or not all(isinstance(text, str | None) for text in held.values()):
        raise _malformed(file, "prompts must be texts by name")
    given = {str(name): text or "" for name, text in held.items()}
    default = given.get(str(settings.get("default_prompt_name")), "")
    document = given.get("document", given.get("passage", default))
    return {"query": given.get("query", default), "document": document}


def _blocks(file: Path) -> Iterator[bytes]:
    size = file.stat().st_size
    with file.open("rb") as opened:
        if size <= _WHOLE_FILE:
            yield opened.read()
            return
        for sample in range(_SAMPLES):
            opened.seek((size - _SAMPLE_BYTES) * sample // (_SAMPLES - 1))
            yield opened.read(_SAMPLE_BYTES)
