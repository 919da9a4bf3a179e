"""From text to token ids, as the model's own ``tokenizer.json`` says."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from ir.errors import EmbedderError, MissingExtra

__all__ = ["TextTokenizer", "Tokens"]

#: In running text, no tokenizer needs more characters than this for a token.
_CHARS_PER_TOKEN = 24
#: If a text is nearly all blanks or one endless word, at most this many times as much of it is read.
_LONGEST_LOOK = (1, 8, 64)


class Tokens(NamedTuple):
    """Token ids, and for each the number of its part (0, or 1 for the second text of a pair)."""

    ids: list[int]
    types: list[int]


class TextTokenizer:
    """Texts of any length to at most ``max_tokens`` ids, special ones included unless ``special`` is false."""

    def __init__(self, file: Path, max_tokens: int, *, lower: bool = False, special: bool = True) -> None:
        self.max_tokens = max_tokens
        self._lower = lower
        self._special = special
        self._tokenizer = _load(file)
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(max_tokens)

    def __call__(self, text: str) -> Tokens:
        return self._encoded(text)

    def word(self, text: str) -> list[int]:
        """The ids of a few characters: :meth:`__call__` without what only long texts need."""
        clean = text if text.isascii() and not self._lower else self._clean(text)
        ids: list[int] = self._tokenizer.encode(clean, None, False, self._special).ids
        return ids

    def pair(self, first: str, second: str) -> Tokens:
        """Both texts as one input; the longer one is cut first."""
        return self._encoded(second, first)

    def id_of(self, token: str) -> int | None:
        found = self._tokenizer.token_to_id(token)
        return None if found is None else int(found)

    @property
    def unknown(self) -> int | None:
        """The id for what the vocabulary does not cover, if there is one."""
        names = (getattr(self._tokenizer.model, "unk_token", None), "[UNK]", "<unk>")
        return next((self.id_of(name) for name in names if name and self.id_of(name) is not None), None)

    def _encoded(self, text: str, before: str | None = None) -> Tokens:
        # Tokenising ten megabytes takes seconds, and all but the first few hundred tokens are thrown away.
        for times in _LONGEST_LOOK:
            cut = self.max_tokens * _CHARS_PER_TOKEN * times
            tokens = self._encode(text[:cut], None if before is None else before[:cut])
            if len(text) <= cut or len(tokens.ids) >= self.max_tokens:
                break
        return tokens

    def _encode(self, text: str, before: str | None) -> Tokens:
        parts = [self._clean(part) for part in ((text,) if before is None else (before, text))]
        done = self._tokenizer.encode(*parts, add_special_tokens=self._special)
        return Tokens(done.ids, done.type_ids)

    def _clean(self, text: str) -> str:
        if not text.isascii():
            text = text.encode("utf-8", "replace").decode("utf-8")  # half of a surrogate pair cannot be encoded
        return text.lower() if self._lower else text


def _load(file: Path) -> Any:
    try:
        from tokenizers import Tokenizer
    except ImportError as error:
        raise MissingExtra("tokenizers", "onnx", "Running an embedding model") from error
    if not file.is_file():
        raise EmbedderError(
            f"{file} is missing.", remedy="A model's folder must hold its tokenizer.json; get the model again."
        )
    try:
        return Tokenizer.from_file(str(file))
    except Exception as error:  # the library raises bare Exception
        raise EmbedderError(f"{file} is not a tokenizer: {error}.", remedy="Get the model again.") from error
