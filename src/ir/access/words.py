"""The secret words that tokens are known by.

A secret is ``ir_``, the token's id, and 256 random bits. The beginning makes one that leaked easy to search for, and
the id says which token to revoke. Only a SHA-256 of the whole is kept: what is slow to hash protects words that people
think of, and nobody can go through 256 random bits.
"""

from __future__ import annotations

import hashlib
import re
import secrets

__all__ = ["digest_of", "id_of", "new_word"]

_BYTES = 32
_LETTERS = "abcdefghijklmnopqrstuvwxyz234567"
_ID_LENGTH = 12
_WORD = re.compile(r"ir_([a-z2-7]{12})_[A-Za-z0-9_-]{43}")


def new_word() -> tuple[str, str]:
    """``(id, secret)`` of a new token."""
    token_id = "".join(secrets.choice(_LETTERS) for _ in range(_ID_LENGTH))
    return token_id, f"ir_{token_id}_{secrets.token_urlsafe(_BYTES)}"


def id_of(secret: object) -> str | None:
    """The id of the token that a secret is for; ``None`` for what cannot be one of ours."""
    found = _WORD.fullmatch(secret) if isinstance(secret, str) else None
    return found[1] if found else None


def digest_of(secret: str) -> str:
    """What is kept of a secret."""
    return hashlib.sha256(secret.encode()).hexdigest()
