"""Addresses of corpora in MongoDB, and what of them is shown."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.extras import needs

from ir.errors import InvalidInput
from ir.store.mongo.address import Address
from ir.store.opening import for_corpus, names_server, without_password


@pytest.mark.parametrize(
    ("url", "uri", "database", "corpus"),
    [
        ("mongodb://host", "mongodb://host/", "ir", "corpus"),
        ("mongodb://a:27017,b/team", "mongodb://a:27017,b/", "team", "corpus"),
        ("mongodb://me@host/team/mail%20box", "mongodb://host/", "team", "mail box"),
        ("mongodb://host/team?corpus=mail&tls=true", "mongodb://host/?tls=true", "team", "mail"),
        ("mongodb+srv://me:secret@host/team", "mongodb+srv://host/", "team", "corpus"),
    ],
)
def test_addresses(url: str, uri: str, database: str, corpus: str) -> None:
    address = Address.parse(url)
    assert (address.uri, address.database, address.corpus) == (uri, database, corpus)


@pytest.mark.parametrize(
    "url", ["mongodb://", "mongodb://me:secret@/db", "mongodb://me:secret@host/db#x", "mongodb://me:secret@host/d$b"]
)
def test_refused_without_repeating_secrets(url: str) -> None:
    with pytest.raises(InvalidInput, match="mongodb://") as caught:
        Address.parse(url)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("option", ["timeout=soon", "keep=-1", "lock_timeout=x"])
def test_options_are_checked(option: str) -> None:
    with pytest.raises(InvalidInput):
        Address.parse(f"mongodb://host/db?{option}")


def test_a_password_comes_from_the_address_the_environment_or_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = Address.parse("mongodb://me@host/db")
    monkeypatch.delenv("MONGODB_PASSWORD", raising=False)
    monkeypatch.delenv("MONGODB_PASSWORD_FILE", raising=False)
    assert address.password() == ""
    monkeypatch.setenv("MONGODB_PASSWORD", "hidden")
    assert address.password() == "hidden"
    assert Address.parse("mongodb://me:p%40ss@host/db").password() == "p@ss"
    (tmp_path / "password").write_text("from-file\n")
    monkeypatch.setenv("MONGODB_PASSWORD_FILE", str(tmp_path / "password"))
    assert address.password() == "from-file"
    monkeypatch.setenv("MONGODB_PASSWORD_FILE", str(tmp_path / "absent"))
    with pytest.raises(InvalidInput, match="MONGODB_PASSWORD_FILE names cannot be read"):
        address.password()
    shown = Address.parse("mongodb://me:hidden@host/db/notes?timeout=3")
    assert "hidden" not in repr(shown) + shown.label + str(vars(shown)["hosts"])
    assert shown.label == "mongodb://me@host/db/notes"


def test_what_is_written_down_of_an_address() -> None:
    assert names_server("mongodb://host/db")
    assert names_server("mongodb+srv://host/db")
    assert for_corpus("mongodb://host/db", "notes") == "mongodb://host/db?corpus=notes"
    given = "mongodb://me:secret@a,b/db/notes?tls=true&tlsCertificateKeyFilePassword=secret"
    assert without_password(given) == "mongodb://me@a,b/db/notes?tls=true"


def test_nothing_is_connected_to_before_it_is_asked() -> None:
    needs("pymongo")
    from ir.store import CorpusStore

    assert repr(CorpusStore.open("mongodb://nowhere.invalid/db/notes")) == (
        "MongoStore('mongodb://nowhere.invalid/db/notes')"
    )
