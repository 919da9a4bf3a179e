"""Files that hold secrets: by their name, or by what stands in them. Never a certificate or a public key."""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

__all__ = ["REASON", "holds_secrets", "may_hold_secrets"]

#: What is said of a file that was left out.
REASON = "may hold secrets; the setting include_secrets takes such files in"

_NAMES = """
    .netrc _netrc .pgpass .pypirc .git-credentials .htpasswd .my.cnf .s3cfg .boto .vault-token .dockercfg
    id_rsa id_dsa id_ecdsa id_ecdsa_sk id_ed25519 id_ed25519_sk
    credentials.json application_default_credentials.json adc.json secrets.yml secrets.yaml secrets.json secrets.toml
    kubeconfig terraform.tfstate terraform.tfstate.backup
"""
_SECRET_NAMES = frozenset(_NAMES.split())
_SECRET_SUFFIXES = frozenset(("p12", "pfx", "pkcs12", "jks", "keystore", "kdbx", "kdb", "ppk", "keytab"))
#: How names of JSON files begin.
_SECRET_JSON = ("service-account", "service_account", "serviceaccount", "client_secret", "client-secret")
#: Files whose folder makes them secret.
_SECRET_PATHS = {
    "credentials": ("/.aws/credentials",),
    "config.json": ("/.docker/config.json",),
    "config": ("/.kube/config",),
    "hosts.yml": ("/.config/gh/hosts.yml",),
    "credentials.db": ("/gcloud/credentials.db",),
    "access_tokens.db": ("/gcloud/access_tokens.db",),
}
#: What a file of settings may end with.
_SETTINGS = frozenset(("", "yaml", "yml", "json", "conf"))
#: Words in names with ``.env`` that are made to be shared.
_MODELS = frozenset(("example", "sample", "template", "dist", "defaults", "schema"))
#: What these hold decides.
_UNDECIDED = frozenset(("pem", "key", "npmrc"))
_SPACE = b"\xef\xbb\xbf \t\r\n"


def may_hold_secrets(path: str) -> bool | None:
    """Whether a file holds secrets, to judge by its name; ``None`` if one has to look into it.

    >>> [may_hold_secrets(path) for path in ("a/.env", ".env.example", "id_rsa", "id_rsa.pub", "notes.md", "a.pem")]
    [True, False, True, False, False, None]
    """
    # Asked for every file of every walk: the common name is to be done with after a few look-ups.
    name = path[path.rfind("/") + 1 :].lower()
    suffix = name[name.rfind(".") + 1 :] if "." in name else ""
    if name in _SECRET_NAMES or suffix in _SECRET_SUFFIXES:
        return True
    if suffix in _UNDECIDED:
        return None
    if suffix == "env" or name.startswith(".env"):
        return _MODELS.isdisjoint(re.split(r"[._-]", name))
    if name in _SECRET_PATHS:
        return f"/{path.lower()}".endswith(_SECRET_PATHS[name])
    if suffix == "json" and name.startswith(_SECRET_JSON):
        return True
    return name.startswith("kubeconfig") and suffix in _SETTINGS


def holds_secrets(path: str, data: bytes) -> bool:
    """Whether the content of a file is secret: a private key at its beginning, or what its name makes one expect."""
    begins = data.lstrip(_SPACE)[:200]
    if begins.startswith((b"-----BEGIN ", b"PuTTY-User-Key-File-")) and _forms().private.match(begins):
        return True
    if may_hold_secrets(path) is not None:
        return False
    name = path.lower()
    if name.endswith("npmrc"):
        return _forms().npm.search(data) is not None
    if _forms().private.search(data):
        return True
    return name.endswith(".key") and not _forms().public.match(data) and b"\0" not in data


class _Forms(NamedTuple):
    private: re.Pattern[bytes]
    public: re.Pattern[bytes]
    npm: re.Pattern[bytes]


@cache
def _forms() -> _Forms:
    """Compiled when they are needed first, which in most folders is never."""
    kind = rb"-----BEGIN (?:[A-Z0-9]+ ){0,3}"
    return _Forms(
        re.compile(kind + rb"PRIVATE KEY(?: BLOCK)?-----|PuTTY-User-Key-File-\d"),
        re.compile(rb"\s*(?:" + kind + rb"(?:PUBLIC KEY|CERTIFICATE)|ssh-|ecdsa-)"),
        # A name in place of the key is read from the environment.
        re.compile(rb"^\s*[^;#\s=]*(?:_authToken|_auth|_password)\s*=\s*(?!\s*[\"']?\$\{)\S", re.MULTILINE),
    )
