"""Tokens, workspaces and limits: the same in a file and in PostgreSQL."""

from __future__ import annotations

import json
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.store.postgres.fixtures import new_database, shared_server

from ir.access import SCOPES, Access, Quota, Usage, access_file, open_access
from ir.errors import AccessUnavailable, FormatMismatch, InvalidInput, NotFound, QuotaExceeded

_BACK_ENDS = ["file", pytest.param("postgresql", marks=pytest.mark.slow)]


@pytest.fixture(params=_BACK_ENDS)
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "file":
        return str(tmp_path / "access.db")
    return shared_server().url(new_database(shared_server()))


@pytest.fixture
def access(address: str) -> Iterator[Access]:
    with open_access(address) as found:
        yield found


# -- tokens ----------------------------------------------------------------------------------------------------


def test_a_token_is_found_by_its_secret(access: Access) -> None:
    token, secret = access.create("ci", workspace="team-a", corpora=["notes"], scopes=["read", "write"], expires="30d")
    assert access.find(secret) == token
    assert (token.name, token.workspace, token.corpora) == ("ci", "team-a", frozenset({"notes"}))
    assert token.scopes == {"read", "write"}
    assert token.expires is not None
    assert timedelta(days=29) < token.expires - datetime.now(UTC) <= timedelta(days=30)
    assert access.tokens() == [token]
    assert access.tokens("team-b") == []


def test_a_secret_names_its_token_and_holds_256_random_bits(access: Access) -> None:
    token, secret = access.create("ci")
    assert secret.startswith(f"ir_{token.id}_")
    assert len(secret) - len(f"ir_{token.id}_") == 43  # 43 signs of 6 bits each
    assert access.create("ci")[1] != secret


def test_only_a_hash_of_the_secret_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "access.db"
    with open_access(str(path)) as access:
        _, secret = access.create("ci")
    kept = b"".join(one.read_bytes() for one in tmp_path.iterdir())
    assert b"ci" in kept
    assert secret.encode() not in kept
    assert secret[-43:].encode() not in kept


@pytest.mark.parametrize("word", ["", "ir_", "x" * 5000, "ir_abcdefghijkl_" + "A" * 43, "Bearer x", "ir_ü_" + "a" * 43])
def test_what_is_no_token_is_not_found(access: Access, word: str) -> None:
    access.create("ci")
    assert access.find(word) is None


def test_a_right_id_with_a_wrong_secret_is_not_found(access: Access) -> None:
    _, secret = access.create("ci")
    assert access.find(secret[:-1] + ("A" if secret[-1] != "A" else "B")) is None


def test_a_revoked_token_is_not_found_any_more(access: Access) -> None:
    token, secret = access.create("ci")
    assert access.find(secret) is not None
    assert access.revoke(token.id) is True
    assert access.find(secret) is None
    assert access.revoke(token.id) is False
    assert access.tokens()[0].state() == "revoked"


@pytest.mark.slow
def test_revoking_in_one_place_works_in_another_within_a_second(access: Access, address: str) -> None:
    with open_access(address) as other:
        token, secret = access.create("ci")
        assert other.find(secret) == token
        access.revoke(token.id)
        time.sleep(1.05)
        assert other.find(secret) is None


def test_revoking_an_unknown_token_is_an_error(access: Access) -> None:
    with pytest.raises(NotFound, match="no token 'abc'"):
        access.revoke("abc")


def test_a_token_expires(tmp_path: Path) -> None:
    from ir.access.sqlite import SqliteTables

    now = [1_800_000_000.0]
    access = Access(SqliteTables(tmp_path / "access.db", lambda: now[0]), lambda: now[0])
    token, secret = access.create("ci", expires=timedelta(minutes=5))
    now[0] += 299
    assert access.find(secret) == token
    now[0] += 2
    assert access.find(secret) is None
    access.close()


@pytest.mark.parametrize("expires", ["soon", "-1d", timedelta(0), datetime(2020, 1, 1, tzinfo=UTC), "99999999999999w"])
def test_an_end_that_is_none_is_refused(access: Access, expires: str) -> None:
    with pytest.raises(InvalidInput):
        access.create("ci", expires=expires)
    assert access.tokens() == []


def test_that_tokens_were_made_is_known_after_the_last_was_revoked(access: Access) -> None:
    assert access.has_tokens() is False
    token, _ = access.create("ci")
    assert access.has_tokens() is True
    access.revoke(token.id)
    assert access.has_tokens() is True


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"name": ""}, "name"),
        ({"name": "a\nb"}, "printed"),
        ({"workspace": "Team A"}, "workspace"),
        ({"workspace": "../x"}, "workspace"),
        ({"scopes": []}, "scope"),
        ({"scopes": ["root"]}, "scope"),
        ({"corpora": [""]}, "names"),
        ({"requests_per_minute": 0}, "requests_per_minute"),
    ],
)
def test_a_token_that_cannot_be_is_refused(access: Access, given: dict[str, object], error: str) -> None:
    with pytest.raises(InvalidInput, match=error):
        access.create(**{"name": "ci", **given})  # type: ignore[arg-type]


def test_a_greater_scope_holds_the_smaller_ones(access: Access) -> None:
    for number, scope in enumerate(SCOPES):
        token, _ = access.create("ci", scopes=[scope])
        assert [token.allows(one) for one in SCOPES] == [place <= number for place in range(3)]


def test_the_file_is_its_owners_alone(ir_home: Path) -> None:
    with open_access() as access:
        access.create("ci")
        modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in access_file().parent.glob("access.db*")}
    assert modes
    assert set(modes.values()) == {0o600}


def test_looking_makes_nothing(ir_home: Path) -> None:
    with open_access() as access:
        assert access.exists() is False
    assert not access_file().exists()


def test_a_file_that_cannot_be_used_is_never_a_yes(tmp_path: Path) -> None:
    path = tmp_path / "access.db"
    path.write_text("this is no database" * 100, "utf-8")
    with open_access(str(path)) as access:
        with pytest.raises(AccessUnavailable):
            access.find("ir_abcdefghijkl_" + "A" * 43)
        with pytest.raises(AccessUnavailable):
            access.has_tokens()
        with pytest.raises(AccessUnavailable):
            access.take(None)


# -- workspaces ------------------------------------------------------------------------------------------------


def test_a_table_that_came_later_is_added_to_what_is_there(access: Access, address: str) -> None:
    token, secret = access.create("ci")
    access._tables.run("DROP TABLE {at}jobs")
    access.close()
    with open_access(address) as again:
        assert again.find(secret) == token
        assert again.post("build-1", "default", {"state": "running"}) is False
        assert again.posted("default")[0][0] == {"state": "running"}


def test_what_another_version_keeps_is_refused_and_left_alone(access: Access, address: str) -> None:
    access.create("ci")
    access._tables.run("UPDATE {at}about SET value = '99' WHERE key = 'format'")
    access._tables.run("DROP TABLE {at}jobs")
    access.close()
    for _ in range(2):
        with open_access(address) as again, pytest.raises(FormatMismatch, match="99"):
            again.tokens()


def test_workspaces_keep_their_quotas(access: Access) -> None:
    made = access.create_workspace("team-a", Quota(records=10, bytes=2**40, requests_per_minute=60))
    access.create_workspace("team-b")
    assert [one.name for one in access.workspaces()] == ["team-a", "team-b"]
    assert access.workspace("team-a") == made
    assert access.quota("team-a") == made.quota
    assert access.quota("team-b") == access.quota("nobody") == Quota()
    access.set_quota("team-a", Quota(records=5))
    assert access.quota("team-a") == Quota(records=5)
    with pytest.raises(InvalidInput, match="already"):
        access.create_workspace("team-a")
    with pytest.raises(NotFound):
        access.set_quota("team-c", Quota())


@pytest.mark.parametrize("given", [{"records": -1}, {"bytes": 1.5}, {"requests_per_minute": 0}, {"records": True}])
def test_a_quota_that_cannot_be_is_refused(given: dict[str, object]) -> None:
    with pytest.raises(InvalidInput):
        Quota(**given)  # type: ignore[arg-type]


def test_removing_a_workspace_revokes_its_tokens_alone(access: Access) -> None:
    access.create_workspace("team-a", Quota(records=10))
    mine, secret = access.create("a", workspace="team-a")
    other, others = access.create("b", workspace="team-b")
    access.check_quota("team-a", "notes", records=5)
    assert [token.id for token in access.remove_workspace("team-a")] == [mine.id]
    assert access.find(secret) is None
    assert access.find(others) == other
    assert access.workspace("team-a") is None
    assert access.usage("team-a") == Usage()


# -- quotas ----------------------------------------------------------------------------------------------------


def test_a_corpus_that_would_hold_too_much_is_refused_and_nothing_noted(access: Access) -> None:
    access.create_workspace("team-a", Quota(records=10, bytes=1000))
    access.check_quota("team-a", "one", records=6, bytes=500)
    with pytest.raises(QuotaExceeded, match="may hold 10 records, and this would make it 11"):
        access.check_quota("team-a", "two", records=5, bytes=100)
    with pytest.raises(QuotaExceeded, match="1,000 bytes"):
        access.check_quota("team-a", "two", records=1, bytes=501)
    assert access.usage("team-a") == Usage(6, 500)
    assert access.check_quota("team-a", "one", records=10, bytes=1000) == Usage(6, 500)
    assert access.usage("team-a") == Usage(10, 1000)


def test_a_workspace_that_holds_too_much_may_shrink(access: Access) -> None:
    access.create_workspace("team-a")
    access.check_quota("team-a", "one", records=20)
    access.set_quota("team-a", Quota(records=10))
    access.check_quota("team-a", "one", records=15)
    with pytest.raises(QuotaExceeded):
        access.check_quota("team-a", "one", records=16)
    access.note_usage("team-a", {"one": None})
    assert access.usage("team-a") == Usage()


def test_quotas_of_one_workspace_are_not_anothers(access: Access) -> None:
    access.create_workspace("team-a", Quota(records=1))
    access.check_quota("team-b", "one", records=1000)
    access.check_quota("team-a", "one", records=1)


def test_many_at_once_never_hold_more_than_the_quota(access: Access, address: str) -> None:
    access.create_workspace("team-a", Quota(records=10))
    refused: list[str] = []

    def build(name: str) -> None:
        with open_access(address) as own:
            try:
                own.check_quota("team-a", name, records=3)
            except QuotaExceeded:
                refused.append(name)

    threads = [threading.Thread(target=build, args=(f"c{number}",)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(refused) == 5
    assert access.usage("team-a") == Usage(9, 0)


# -- limits ----------------------------------------------------------------------------------------------------


def test_without_a_limit_every_call_may_go_on(access: Access) -> None:
    token, _ = access.create("ci")
    found = access.take(token)
    assert (found.allowed, found.limit, found.remaining) == (True, None, None)


def test_a_token_has_a_limit_of_its_own(access: Access) -> None:
    token, _ = access.create("ci", requests_per_minute=3)
    other, _ = access.create("cd", requests_per_minute=3)
    assert [access.take(token).remaining for _ in range(3)] == [2, 1, 0]
    refused = access.take(token)
    assert not refused.allowed
    assert 15 < refused.retry_after_s <= 20
    assert refused.limit == 3
    assert access.take(other).allowed


def test_the_tokens_of_a_workspace_share_its_limit(access: Access) -> None:
    access.create_workspace("team-a", Quota(requests_per_minute=4))
    one, _ = access.create("one", workspace="team-a", requests_per_minute=3)
    two, _ = access.create("two", workspace="team-a")
    assert [access.take(token).allowed for token in (one, two, one, two, one, two)] == [True] * 4 + [False] * 2
    # What was refused for the workspace's sake was not taken from the token's own.
    access.set_quota("team-a", Quota())
    assert access.take(one).allowed
    assert not access.take(one).allowed


def test_what_costs_more_takes_more(access: Access) -> None:
    token, _ = access.create("ci", requests_per_minute=10)
    assert access.take(token, cost=8).remaining == 2
    assert not access.take(token, cost=3).allowed
    assert access.take(token, cost=2).allowed


def test_a_bucket_fills_up_again(tmp_path: Path) -> None:
    from ir.access.sqlite import SqliteTables

    now = [1_800_000_000.0]
    access = Access(SqliteTables(tmp_path / "access.db", lambda: now[0]), lambda: now[0])
    token, _ = access.create("ci", requests_per_minute=60)
    assert sum(access.take(token).allowed for _ in range(100)) == 60
    now[0] += access.take(token).retry_after_s
    assert [access.take(token).allowed for _ in range(2)] == [True, False]
    now[0] += 10.001
    assert sum(access.take(token).allowed for _ in range(100)) == 10
    now[0] -= 86_400  # the clock is set back
    assert sum(access.take(token).allowed for _ in range(100)) == 60
    access.close()


_TAKER = """
import json, sys, time
from ir.access import open_access
with open_access(sys.argv[1]) as access:
    token = access.find(sys.argv[2])
    began = time.time()
    allowed = sum(access.take(token).allowed for _ in range(60))
    print(json.dumps([allowed, began, time.time()]))
"""


@pytest.mark.slow
def test_processes_share_a_limit_exactly(access: Access, address: str) -> None:
    access.create_workspace("team-a", Quota(requests_per_minute=90))
    _, secret = access.create("ci", workspace="team-a", requests_per_minute=100)
    running = [
        subprocess.Popen([sys.executable, "-c", _TAKER, address, secret], stdout=subprocess.PIPE) for _ in range(3)
    ]
    told = [json.loads(process.communicate(timeout=120)[0]) for process in running]
    allowed = sum(one[0] for one in told)
    seconds = max(one[2] for one in told) - min(one[1] for one in told)
    assert 90 <= allowed <= 90 + seconds * 90 / 60 + 1, (told, seconds)


@pytest.mark.slow
def test_a_server_that_is_away_is_never_a_yes_and_then_answers_again() -> None:
    from ir.testing.postgres_server import running_server

    with running_server({"fsync": "off"}) as server, open_access(server.url()) as access:
        token, secret = access.create("ci", requests_per_minute=5)
        server.stop()
        time.sleep(1.05)
        for ask in (lambda: access.find(secret), lambda: access.take(token), access.tokens):
            with pytest.raises(AccessUnavailable, match="cannot be read or written now"):
                ask()
        server.start()
        assert access.find(secret) == token
        assert access.take(token).allowed


@pytest.mark.slow
def test_an_address_is_never_told_with_its_password() -> None:
    with open_access("postgresql://me:hidden@127.0.0.1:1/db") as access, pytest.raises(AccessUnavailable) as told:
        access.tokens()
    assert "hidden" not in str(told.value)
    assert "hidden" not in access.label


def test_an_address_of_another_kind_is_refused() -> None:
    with pytest.raises(InvalidInput, match="file, or in a PostgreSQL"):
        open_access("mysql://db/x")
