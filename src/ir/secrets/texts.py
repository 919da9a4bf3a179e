"""Keys of known formats inside texts, with stars for what must not be read.

Only what says by its own form, or by the words before it, that it is a key: never a hash, an id or a blob that could be
anything. Every hidden character becomes one star, so that places in a text stay what they were.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

__all__ = ["for_show", "mask_keys"]

_WORD = "A-Za-z0-9"
# What ends a key: nothing that could make it a part of something longer.
_ENDS = rf"(?![{_WORD}_/+=-])"
_SET = r"""["']?\s{0,3}[:=]{1,2}>?\s{0,3}["']?"""
_BREAKS = r"(?:\\[nr]|[\s\"'+,])*+"
_HEADERS = "(?:Proc-Type|DEK-Info|Version|Comment):"
_BASE64_LINES = rf"(?>(?:\\[nr]|[\s\"'+,]|[{_WORD}+/=]{{16,}}|{_HEADERS}[^\n]*)++)"
_AMAZON = rf"([A-Z2-7]{{16}}(?:[^{_WORD}/+\n]{{1,5}}(?![0-9a-f]{{40}})[{_WORD}/+]{{40}})?){_ENDS}"
_GITHUB = rf"([{_WORD}]{{36,255}}){_ENDS}"
_STRIPE = rf"([{_WORD}]{{16,}}){_ENDS}"
_NAMED_SECRET = rf"{_SET}([{_WORD}/+]{{40}}){_ENDS}"
_TWILIO = rf"[\w.-]{{0,20}}?(?i:token){_SET}([0-9a-f]{{32}}){_ENDS}"

#: How a key begins, and how it goes on; the group is hidden. A text is looked through for the beginnings, which is
#: quicker than any expression, and only what follows one is matched.
_KEYS = {
    "AKIA": _AMAZON,
    "ASIA": _AMAZON,
    "glpat-": rf"([{_WORD}_-]{{20,}}){_ENDS}",
    "xox": rf"[abeoprs]-((?=[{_WORD}-]*\d)[{_WORD}-]{{20,}}){_ENDS}",
    "xapp-": rf"(\d-[{_WORD}-]{{20,}}){_ENDS}",
    "sk-": rf"(?:(?:ant|proj|svcacct|admin|or)-(?=[{_WORD}_-]{{20}})|(?=[{_WORD}]{{32,}}{_ENDS})(?=[A-Za-z]*\d))"
    rf"([{_WORD}_-]+){_ENDS}",
    "AIza": rf"([{_WORD}_-]{{35}}){_ENDS}",
    "GOCSPX-": rf"([{_WORD}_-]{{28}}){_ENDS}",
    "pypi-Ag": rf"([{_WORD}_-]{{50,}}){_ENDS}",
    "SG.": rf"([{_WORD}_-]{{22}}\.[{_WORD}_-]{{43}}){_ENDS}",
    # A signed token: header, claims, signature.
    "eyJ": rf"([{_WORD}_-]{{8,}}\.eyJ[{_WORD}_-]{{8,}}\.[{_WORD}_-]{{16,}}){_ENDS}",
}
#: The same for beginnings with a line below, which most prose has none of.
_LOW_LINE_KEYS = {
    **dict.fromkeys(("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), _GITHUB),
    "github_pat_": rf"([{_WORD}_]{{40,255}}){_ENDS}",
    **dict.fromkeys(("sk_live_", "rk_live_", "sk_test_", "rk_test_"), _STRIPE),
    "whsec_": rf"([{_WORD}]{{24,}}){_ENDS}",
    "npm_": rf"([{_WORD}]{{36}}){_ENDS}",
    "hf_": rf"((?=[{_WORD}]*[A-Z])(?=[{_WORD}]*[a-z])[{_WORD}]{{34}}){_ENDS}",
    "dop_v1_": rf"([0-9a-f]{{64}}){_ENDS}",
}
#: What makes a key of what follows, wherever it stands in a word.
_NAMES = {
    "ecretAccessKey": _NAMED_SECRET,
    "AccountKey=": rf"([{_WORD}+/]{{86}}==)",
    "hooks.slack.com/services/": rf"(T[{_WORD}]+/B[{_WORD}]+/[{_WORD}]{{16,}})",
    # A private key from its first line on, as far as it looks like one.
    "-----BEGIN ": rf"[A-Z0-9 ]{{0,20}}PRIVATE KEY(?: BLOCK)?-----(?={_BREAKS}(?:[{_WORD}+/=]{{16}}|{_HEADERS}))"
    rf"({_BASE64_LINES}(?:[{_WORD}+/=]{{1,15}}\s{{0,2}}(?=-----END))?)",
    # The password of an address, unless it is a word that only stands for one.
    "://": r"[^\s/:@?#'\"<>`]{0,64}:((?!(?i:(?:my)?pass(?:word|wd)?|pwd|secret|token|key|x+|\.+|\*+)@)"
    r"(?:[^\s/@?#'\"<>`$%{}()\[\]*]|%[0-9A-Fa-f]{2}){1,128})(?=@[A-Za-z0-9\[])",
}
_LOW_LINE_NAMES = {
    **dict.fromkeys(("secret_access_key", "SECRET_ACCESS_KEY", "aws_secret_key", "AWS_SECRET_KEY"), _NAMED_SECRET),
    **dict.fromkeys(("twilio_", "TWILIO_"), _TWILIO),
}
#: The rest of a private key whose beginning is in another piece of the text.
_KEY_END = r"-----END [A-Z0-9 ]{0,20}PRIVATE KEY(?: BLOCK)?-----"
_KEY_LINES = rf"(?m)(?:^[{_WORD}+/=]{{16,76}}[ \t\r]*\n)++(?:[{_WORD}+/=]{{1,15}}[ \t\r]*\n)?\Z"
_LONGEST_KEY = 20_000


@cache
def _follows(sign: str) -> re.Pattern[str]:
    """What follows a sign in a key; compiled when the first text holds it, which for most processes is never."""
    alone = sign in _KEYS or sign in _LOW_LINE_KEYS
    # A look back over the sign itself, for the match begins behind it.
    before = rf"(?<![{_WORD}_/+-]{re.escape(sign)})" if alone else ""
    return re.compile(before + {**_KEYS, **_LOW_LINE_KEYS, **_NAMES, **_LOW_LINE_NAMES}[sign])


_SIGNS = (*_KEYS, *_NAMES)
_LOW_LINE_SIGNS = (*_LOW_LINE_KEYS, *_LOW_LINE_NAMES)


def mask_keys(text: str) -> str:
    """``text`` with stars for the keys in it.

    >>> mask_keys("postgres://me:hunter2@db and commit 3f786850e387550fdab836ed7e6dc881de23001b")
    'postgres://me:*******@db and commit 3f786850e387550fdab836ed7e6dc881de23001b'
    """
    spans = _keys_in(text)
    if not spans:
        return text
    parts, done = [], 0
    for start, end in sorted(spans):
        if end > done:
            start = max(start, done)
            parts += [text[done:start], re.sub(r"\S", "*", text[start:end])]
            done = end
    return "".join((*parts, text[done:]))


def _keys_in(text: str) -> list[tuple[int, int]]:
    signs = [sign for sign in _SIGNS if sign in text]
    if "_" in text:
        signs += [sign for sign in _LOW_LINE_SIGNS if sign in text]
    spans = []
    for sign in signs:
        at = text.find(sign)
        while at >= 0:
            found = _follows(sign).match(text, at + len(sign))
            if found:
                spans.append(found.span(1))
            at = text.find(sign, found.end() if found else at + len(sign))
    if "-----END " in text:
        spans += _rest_of_key(text)
    return spans


def _rest_of_key(text: str) -> list[tuple[int, int]]:
    """The lines above the end of a private key that began before the text did: its end is the first there is."""
    end = re.search(_KEY_END, text)
    if end is None or "-----BEGIN " in text[: end.start()]:
        return []
    first = max(0, end.start() - _LONGEST_KEY)
    lines = re.search(_KEY_LINES, text[first : end.start()])
    return [(first + lines.start(), end.start())] if lines else []


def for_show(value: Any) -> Any:
    """A text, or lists and mappings of texts, as they may be shown: masked, unless the user has turned that off."""
    shown = _masked_within(value)
    # Looked up only where something was found: reading the settings takes longer than all the rest.
    return value if shown is value or not _wanted() else shown


def _masked_within(value: Any) -> Any:
    """``value`` with its texts masked; the very same object if there was nothing to mask."""
    if isinstance(value, str):
        return mask_keys(value)
    if isinstance(value, dict):
        shown = {key: _masked_within(item) for key, item in value.items()}
        return shown if any(shown[key] is not item for key, item in value.items()) else value
    if isinstance(value, (list, tuple)):
        members = [_masked_within(item) for item in value]
        changed = any(new is not old for new, old in zip(members, value, strict=True))
        return type(value)(members) if changed else value
    return value


def _wanted() -> bool:
    from ir.config import Settings
    from ir.errors import IrError

    try:
        return bool(Settings.load()["mask_secrets"])
    except IrError:  # settings that cannot be read turn nothing off
        return True
