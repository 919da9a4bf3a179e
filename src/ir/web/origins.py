"""Under which names the server is asked, and by pages from where: what a foreign page could make a browser do here."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from ir.errors import InvalidInput
from ir.web.refusals import Refusal

__all__ = ["Origins", "is_loopback", "words_in"]

_HERE = frozenset({"localhost", "127.0.0.1", "::1"})
_ANYWHERE = frozenset({"0.0.0.0", "::", ""})


def words_in(text: str | None) -> tuple[str, ...]:
    """The words of a setting, with commas between them."""
    return tuple(word.strip() for word in (text or "").split(",") if word.strip())


def is_loopback(host: str) -> bool:
    """Whether nobody outside this machine reaches an address.

    >>> is_loopback("127.0.0.1"), is_loopback("::1"), is_loopback("localhost"), is_loopback("0.0.0.0")
    (True, True, True, False)
    """
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


@dataclass(frozen=True)
class Origins:
    """``host`` is what the server listens on, ``names`` are further ones that it is known by, and ``foreign`` the
    origins of pages from elsewhere that may ask it. A name that is none of these may be somebody else's that leads here
    (DNS rebinding); a bare address cannot be."""

    host: str
    names: tuple[str, ...] = ()
    foreign: tuple[str, ...] = ()

    @classmethod
    def of(cls, host: str, names: Iterable[str], foreign: Iterable[str]) -> Origins:
        origins = tuple(one.rstrip("/") for one in foreign)
        for one in origins:
            parts = urlsplit(one)
            if parts.scheme not in ("http", "https") or not parts.netloc or parts.path or parts.query:
                raise InvalidInput(
                    f"serve.cors has {one!r}, which is no origin.", remedy="Write https://app.example.org, with commas."
                )
        return cls(host, tuple(name.lower() for name in names), origins)

    def check(self, headers: Mapping[bytes, bytes]) -> None:
        """A refusal for a foreign name, and for a foreign page."""
        host = headers.get(b"host", b"").decode("latin-1").strip().lower()
        if not self._is_ours(host):
            raise Refusal(421, "wrong_host", "This server does not go by that name.", close=True)
        origin = headers.get(b"origin")
        if origin is not None and not self.allows(origin.decode("latin-1"), host):
            raise Refusal(403, "foreign_origin", "Pages from elsewhere may not ask here.")
        site = headers.get(b"sec-fetch-site")
        navigates = headers.get(b"sec-fetch-mode") == b"navigate"
        if origin is None and site == b"cross-site" and not navigates:
            raise Refusal(403, "foreign_origin", "Pages from elsewhere may not ask here.")

    def allows(self, origin: str, host: str) -> bool:
        """Whether a page of that origin may ask: the server's own, or one that was named."""
        return urlsplit(origin).netloc.lower() == host or origin in self.foreign

    def _is_ours(self, host: str) -> bool:
        try:
            name = urlsplit(f"//{host}").hostname or ""
        except ValueError:
            return False
        if not name or "@" in host or "/" in host:
            return False
        known = name in _HERE or name == self.host.lower() or name in self.names
        return known or (self.host in _ANYWHERE and _is_address(name))
