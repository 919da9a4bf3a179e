"""Addresses of corpora in Milvus, and what of them is shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from ir.errors import InvalidInput
from ir.store.milvus.address import Address


@pytest.mark.parametrize(
    ("url", "uri", "database", "corpus"),
    [
        ("milvus://host", "http://host:19530", "", "corpus"),
        ("milvus://host:1234/team", "http://host:1234", "team", "corpus"),
        ("milvus://host:1234/team/mail%20box", "http://host:1234", "team", "mail box"),
        ("milvus://host/team?corpus=mail&tls=1", "https://host:19530", "team", "mail"),
        ("milvus+lite:some/file.db", "some/file.db", "", "corpus"),
        ("milvus+lite:/abs/file.db?corpus=mail", "/abs/file.db", "", "mail"),
    ],
)
def test_addresses(url: str, uri: str, database: str, corpus: str) -> None:
    address = Address.parse(url)
    assert (address.uri, address.database, address.corpus) == (uri, database, corpus)


@pytest.mark.parametrize(
    "url", ["milvus://", "milvus://me:secret@host/db", "milvus://host/db?token=secret", "milvus://h:port/", "other:x"]
)
def test_refused_without_repeating_secrets(url: str) -> None:
    with pytest.raises(InvalidInput, match="MILVUS_TOKEN") as caught:
        Address.parse(url)
    assert "secret" not in str(caught.value)


def test_files_end_in_db() -> None:
    with pytest.raises(InvalidInput, match=r"ends in \.db"):
        Address.parse("milvus+lite:/some/folder")


@pytest.mark.parametrize("option", ["timeout=soon", "keep=-1", "index=BEST"])
def test_options_are_checked(option: str) -> None:
    with pytest.raises(InvalidInput):
        Address.parse(f"milvus://host/db?{option}")


def test_credentials_come_from_the_environment_or_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    address = Address.parse("milvus://me@host/db")
    monkeypatch.delenv("MILVUS_TOKEN", raising=False)
    monkeypatch.delenv("MILVUS_TOKEN_FILE", raising=False)
    assert address.token() == ""
    monkeypatch.setenv("MILVUS_TOKEN", "hidden")
    assert address.token() == "me:hidden"
    (tmp_path / "token").write_text("root:from-file\n")
    monkeypatch.setenv("MILVUS_TOKEN_FILE", str(tmp_path / "token"))
    assert address.token() == "root:from-file"
    assert "hidden" not in repr(address) + address.label
    monkeypatch.setenv("MILVUS_TOKEN_FILE", str(tmp_path / "absent"))
    with pytest.raises(InvalidInput, match="cannot be read"):
        address.token()


def test_names_of_collections_tell_corpora_apart() -> None:
    names = ["mail", "mail-box", "mail_box", "mail box", "Mail", "é", "x" * 150, "x" * 151]
    prefixes = {Address("http://h:1", corpus=name).prefix for name in names}
    assert len(prefixes) == len(names)
    assert all(prefix.isascii() and prefix.replace("_", "").isalnum() for prefix in prefixes)
