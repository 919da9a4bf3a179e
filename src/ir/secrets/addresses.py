"""Addresses as they may be shown: without the keys that people put into them."""

from __future__ import annotations

import re

__all__ = ["masked"]

_LOGIN = re.compile(r"(?<=://)[^/?#\s'\"]*@")
_KEY_LIKE = re.compile(
    r"([?&;][\w.-]*(?:key|token|secret|passw|pwd|auth|credential|sig)[\w.-]*=)[^&;#\s'\"]+", re.IGNORECASE
)


def masked(text: str) -> str:
    """``text`` with stars for the logins of its addresses and for those parameters that look like keys.

    >>> masked("http://me:sk-1@host/v1?model=a&api_key=sk-2")
    'http://***@host/v1?model=a&api_key=***'
    """
    return _KEY_LIKE.sub(r"\1***", _LOGIN.sub("***@", text))
