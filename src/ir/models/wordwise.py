"""Tokenising word by word, remembering each word: several times as quick, where words do not influence each other."""

from __future__ import annotations

import json
from array import array
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ir.models.tokenizing import TextTokenizer

__all__ = ["WordwiseTokenizer"]

Ids = NDArray[np.int32]

_SPACE = "▁"
_MOST_WORDS = 300_000
_LONGEST_REMEMBERED = 64
_CHARS_PER_TOKEN = 24


class WordwiseTokenizer:
    """Text to token ids, without special ones. Gives what the tokenizer itself gives, which is asked when in doubt."""

    def __init__(self, file: Path, max_tokens: int, *, lower: bool = False) -> None:
        self._whole = TextTokenizer(file, max_tokens, lower=lower, special=False)
        self._max_tokens = max_tokens
        described = json.loads(file.read_text("utf-8"))
        self._by_word = _words_are_independent(described)
        self._marks = [str(token["content"]) for token in described.get("added_tokens") or ()]
        self._words = _Words(self._whole)

    @property
    def unknown(self) -> int | None:
        return self._whole.unknown

    def __call__(self, text: str) -> Ids:
        if not self._by_word:
            return np.array(self._whole(text).ids, np.int32)
        words = text[: self._max_tokens * _CHARS_PER_TOKEN].split(" ")
        # Two spaces in a row may be one token, and next to a mark such as </s> the tokenizer starts afresh.
        if "" in words or any(mark in text for mark in self._marks):
            return np.array(self._whole(text).ids, np.int32)
        ids = np.frombuffer(b"".join(map(self._words.__getitem__, words)), np.int32)
        if len(self._words) > _MOST_WORDS:
            self._words.clear()
        return ids[: self._max_tokens]


class _Words(dict[str, bytes]):
    """The ids of each word met so far. A dict, so that a known word costs no Python call; and of bytes, which lie
    together in memory and are joined at once."""

    def __init__(self, tokenizer: TextTokenizer) -> None:
        super().__init__()
        self._tokenizer = tokenizer
        self._word = tokenizer.word

    def __missing__(self, word: str) -> bytes:
        if len(word) > _LONGEST_REMEMBERED:
            return np.array(self._tokenizer(word).ids, np.int32).tobytes()
        ids = self[word] = array("i", self._word(word)).tobytes()  # takes half as long as a small numpy array
        return ids


def _words_are_independent(tokenizer: dict[str, Any]) -> bool:
    """Whether text can be split at single spaces without changing its tokens."""
    first = tokenizer.get("pre_tokenizer") or {}
    if first.get("type") in ("BertPreTokenizer", "Whitespace", "WhitespaceSplit"):
        return True
    parts = (tokenizer.get("normalizer") or {}).get("normalizers") or []
    marks_spaces = [(part.get("type"), part.get("prepend") or part.get("content")) for part in parts]
    if first or marks_spaces != [("Prepend", _SPACE), ("Replace", _SPACE)]:
        return False
    # A token that holds a space behind a letter would join two words.
    vocabulary = (tokenizer.get("model") or {}).get("vocab") or {}
    return not any(_SPACE in token.lstrip(_SPACE) for token in vocabulary)
