"""What should stay private is masked where it is shown, and nothing else is."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import random
import string
import time
import uuid
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ir
from ir.secrets.files import holds_secrets, may_hold_secrets
from ir.secrets.texts import for_show, mask_keys
from ir.store import CorpusStore

LETTERS = string.ascii_letters + string.digits


def made(length: int, alphabet: str = LETTERS, seed: int = 1) -> str:
    """Something random with a small and a large letter and a digit, as keys have; no key that ever was one."""
    return "aZ7"[: max(0, length)] + "".join(random.Random(seed).choices(alphabet, k=length - 3))


BODY = "\n".join(base64.b64encode(bytes([line] * 48)).decode() for line in range(20))
#: A text with a key, and the key.
KEYS = {
    "aws id": ("AKIA" + "ABCDEFGHIJKLMNOP", "ABCDEFGHIJKLMNOP"),
    "aws pair": (f"AKIAABCDEFGHIJKLMNOP,{made(40)}", made(40)),
    "aws secret": (f"aws_secret_access_key = {made(40)}", made(40)),
    "aws json": (f'"SecretAccessKey": "{made(40)}"', made(40)),
    **{f"github {kind}": (f"gh{kind}_{made(36)}", made(36)) for kind in "pousr"},
    "github fine": (f"github_pat_{made(22)}_{made(59)}", made(59)),
    "gitlab": (f"glpat-{made(20)}", made(20)),
    "slack": (f"xoxb-123456789012-1234567890123-{made(24)}", made(24)),
    "slack hook": (f"https://hooks.slack.com/services/T0000AAAA/B0000AAAA/{made(24)}", made(24)),
    "stripe": (f"sk_live_{made(24)}", made(24)),
    "stripe restricted": (f"rk_live_{made(24)}", made(24)),
    "openai": (f"sk-{made(48)}", made(48)),
    "openai project": (f"sk-proj-{made(60, LETTERS + '_-')}", made(60, LETTERS + "_-")),
    "anthropic": (f"sk-ant-api03-{made(93)}", made(93)),
    "google": (f"AIza{made(35)}", made(35)),
    "npm": (f"npm_{made(36)}", made(36)),
    "pypi": (f"pypi-AgEIcHlwaS5vcmc{made(80)}", made(80)),
    "hugging face": (f"hf_{made(34)}", made(34)),
    "sendgrid": (f"SG.{made(22)}.{made(43)}", made(43)),
    "twilio": (f"TWILIO_AUTH_TOKEN={'0123456789abcdef' * 2}", "0123456789abcdef" * 2),
    "azure": (f"AccountName=a;AccountKey={made(86)}==;", made(86)),
    "jwt": (f"Bearer eyJ{made(20)}.eyJ{made(40)}.{made(43)}", made(43)),
    "address": ("postgresql://me:hunter2@db.example/notes", "hunter2"),
    "address of a token": ("redis://:p%40ss-w0rd@cache:6379/0", "p%40ss-w0rd"),
    "private key": (f"-----BEGIN RSA PRIVATE KEY-----\n{BODY}\nQUJD\n-----END RSA PRIVATE KEY-----", BODY[:64]),
    "encrypted key": (
        f"-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\n{BODY}\n-----END RSA PRIVATE KEY-----",
        BODY[-64:],
    ),
    "pgp key": (
        f"-----BEGIN PGP PRIVATE KEY BLOCK-----\n\n{BODY}\n=abcd\n-----END PGP PRIVATE KEY BLOCK-----",
        BODY[:64],
    ),
    "key in json": (
        json.dumps({"private_key": f"-----BEGIN PRIVATE KEY-----\n{BODY}\n-----END PRIVATE KEY-----\n"}),
        BODY[:64],
    ),
    "key cut before": (f"{BODY}\nQUJD\n-----END OPENSSH PRIVATE KEY-----\n", BODY[:64]),
    "key cut behind": (f"-----BEGIN OPENSSH PRIVATE KEY-----\n{BODY}", BODY[-64:]),
}


@pytest.mark.parametrize("kind", KEYS)
@pytest.mark.parametrize("around", ["{}", "see {} there", 'token="{}"', "a={}\nb", "`{}`", "({}), and"])
def test_keys_of_known_formats_are_masked(kind: str, around: str) -> None:
    text, key = KEYS[kind]
    if "\n" in text and not around.startswith("{"):
        around = "before\n{}\nafter"
    whole = around.format(text)
    shown = mask_keys(whole)
    assert key not in shown
    assert shown.count("*") >= len(key.replace("\n", ""))
    # Every place in the text stays what it was.
    assert len(shown) == len(whole)
    assert [new for new, old in zip(shown, whole, strict=True) if new != old] == ["*"] * (
        sum(new != old for new, old in zip(shown, whole, strict=True))
    )
    assert mask_keys(shown) == shown


def test_only_the_key_is_hidden_of_a_text() -> None:
    key = made(36)
    assert mask_keys(f"first ghp_{key}, then {key}") == f"first ghp_{'*' * 36}, then {key}"
    assert mask_keys("postgresql://me:hunter2@db/x?y=1") == "postgresql://me:*******@db/x?y=1"


@pytest.mark.parametrize(
    "text",
    [
        "3f786850e387550fdab836ed7e6dc881de23001b",
        "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "550e8400-e29b-41d4-a716-446655440000",
        "task-management-system-for-everybody and disk-usage",
        "class='sk-spinner sk-circle-fade-dot-animation'",
        "hf_model_for_sequence_classification_with_pooling",
        "npm_config_registry_address_of_the_mirror",
        "ghp_ and github_pat_ are how tokens of GitHub begin",
        "http://localhost:8080/@me and https://example.com:443/a@b",
        "postgresql://user:password@host, ftp://me:xxx@host, https://$USER:${TOKEN}@host, a://b:<password>@c",
        "git@github.com:me/project.git, mail me@example.com",
        "It begins with -----BEGIN PRIVATE KEY----- and ends with -----END PRIVATE KEY-----.",
        f"-----BEGIN CERTIFICATE-----\n{BODY}\n-----END CERTIFICATE-----",
        f"-----BEGIN PUBLIC KEY-----\n{BODY}\n-----END PUBLIC KEY-----",
        f"ssh-ed25519 {made(68)} me@host",
        "SG.short.thing and AIza and AKIA, xoxo- hugs and kisses from me",
        f"secret = {made(39)}",
        "integrity sha512-" + base64.b64encode(hashlib.sha512(b"x").digest()).decode(),
        "eyJhbGciOiJub25lIn0",
        "AKIAabcdefghijklmnop",
        "MYAKIAABCDEFGHIJKLMNOP",
    ],
)
def test_what_only_looks_long_is_left(text: str) -> None:
    assert mask_keys(text) is text


@given(st.binary(min_size=1, max_size=80), st.sampled_from(["", "id ", "a_", "x-", "/", "=", "commit "]))
def test_hashes_ids_and_blobs_are_never_masked(data: bytes, before: str) -> None:
    texts = [getattr(hashlib, name)(data).hexdigest() for name in ("md5", "sha1", "sha256", "sha512", "blake2b")]
    texts += [texts[1].upper(), texts[1][:7], str(uuid.UUID(bytes=hashlib.md5(data).digest()))]
    texts += [base64.b64encode(data).decode(), base64.urlsafe_b64encode(data).decode(), base64.b32encode(data).decode()]
    texts += [data.hex(), base64.b85encode(data).decode(), f"img:{base64.b64encode(data * 20).decode()}"]
    for text in texts:
        assert mask_keys(before + text) == before + text


@given(st.text(alphabet=LETTERS + "_", min_size=1, max_size=60), st.integers(0, 10**40))
def test_identifiers_and_numbers_are_never_masked(name: str, number: int) -> None:
    for text in (name, f"self.{name} = {name}()", f"{number}", f"{name}-{number}", f"#{number:x}"):
        assert mask_keys(text) == text


@pytest.mark.parametrize(
    "piece",
    [
        *("eyJ", "eyJaaaaaaaa.", "sk-", "sk-ant-", "://", "://a:", "xox", "xoxb-1", "AKIA", "twilio_token", "SG."),
        *("-----BEGIN ", "-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----\n", "A" * 64 + "\n", "ghp_a"),
        "secret_access_key=",
    ],
)
def test_no_text_takes_long(piece: str) -> None:
    text = piece * (200_000 // len(piece))
    for case in (
        text,
        f" {piece}" * 20_000,
        f"{text}\n-----END PRIVATE KEY-----",
        f"-----BEGIN PRIVATE KEY-----{text}",
    ):
        began = time.process_time()
        mask_keys(case)
        assert time.process_time() - began < 5  # what grows with the square of the length would take minutes


# --- what is shown -----------------------------------------------------------------------------------------------

TOKEN = f"ghp_{made(36)}"
STARS = f"ghp_{'*' * 36}"


def corpus_of(**notes: str) -> ir.Corpus:
    source = ir.CorpusSource.from_mapping(notes, name="notes", embedder="light")
    return ir.build(source, store=CorpusStore.memory())


def test_hits_passages_and_disclosures_show_stars_and_the_index_keeps_the_text(tmp_path: Path) -> None:
    file = tmp_path / "deploy.md"
    file.write_text(f"# Deploy\n\nDeploy with the token {TOKEN} at night.\n")
    source = ir.CorpusSource.from_files(tmp_path, name="notes", embedder="light")
    corpus = ir.build(source, store=CorpusStore.memory())
    hit = corpus.search("deploy token", explain=True)[0]
    assert TOKEN in hit.text
    assert STARS in hit.to_dict()["text"]
    assert TOKEN not in json.dumps(hit.to_dict())
    assert TOKEN not in json.dumps(ir.expand(hit, corpus).to_dict())
    result = ir.discover(corpus, "deploy token", disclose_level="body")
    assert STARS in (result.results[0].body or "")
    assert TOKEN not in repr(result)
    assert TOKEN not in json.dumps(result.to_dict())
    assert TOKEN not in json.dumps(ir.tools.search("deploy token", corpus=corpus))


def test_metadata_is_masked_too() -> None:
    source = ir.CorpusSource.from_mapping({"a": {"text": "deploy", "note": TOKEN, "more": [TOKEN]}}, name="n")
    corpus = ir.build(source, store=CorpusStore.memory(), embedder="light")
    shown = corpus.search("deploy")[0].to_dict()["metadata"]
    assert (shown["note"], shown["more"]) == (STARS, [STARS])


def test_a_setting_shows_keys_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    assert for_show({"a": [TOKEN, 1, None]}) == {"a": [STARS, 1, None]}
    monkeypatch.setenv("IR_MASK_SECRETS", "false")
    assert for_show({"a": [TOKEN, 1, None]}) == {"a": [TOKEN, 1, None]}
    assert corpus_of(a=f"deploy {TOKEN}").search("deploy")[0].to_dict()["text"] == f"deploy {TOKEN}"


def test_a_project_cannot_turn_it_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ir.toml").write_text("mask_secrets = false\n")
    assert for_show(TOKEN) == STARS
    with pytest.raises(ir.errors.InvalidInput, match="cannot be set by a project"):
        ir.config.Settings.load()


# --- files -------------------------------------------------------------------------------------------------------

SECRET_FILES = """
    .env .env.local .env.production .envrc prod.env sub/.env id_rsa id_dsa id_ecdsa id_ed25519 x.p12 x.pfx x.jks x.kdbx
    x.ppk X.P12 .netrc .pgpass .pypirc .htpasswd .git-credentials .aws/credentials .docker/config.json .kube/config
    credentials.json service-account.json service-account-prod.json service_account.json secrets.yml secrets.yaml
    terraform.tfstate terraform.tfstate.backup client_secret_12.json application_default_credentials.json
    gcloud/credentials.db kubeconfig kubeconfig-prod kubeconfig.yaml
"""
PLAIN_FILES = """
    .env.example .env.sample .env.template example.env id_rsa.pub id_ed25519.pub notes.md environment.py env.md
    config.json credentials.md secrets.md passwords.txt main.tf key.py keys.md package.json aws/credentials.py
    docker/config.json kube/config terraform.tf docs/secrets/readme.md netrc.py account.json config credentials
    env p12 keystore kubeconfig.py src/kubeconfig_test.go
"""


@pytest.mark.parametrize("path", SECRET_FILES.split())
def test_files_that_hold_secrets_by_their_name(path: str) -> None:
    assert may_hold_secrets(path)
    assert may_hold_secrets(f"/home/me/{path}")


@pytest.mark.parametrize("path", PLAIN_FILES.split())
def test_files_that_only_sound_like_secrets(path: str) -> None:
    assert may_hold_secrets(path) is False
    assert may_hold_secrets(f"/home/me/{path}") is False


PRIVATE = f"-----BEGIN OPENSSH PRIVATE KEY-----\n{BODY}\n-----END OPENSSH PRIVATE KEY-----\n".encode()
CERTIFICATE = f"-----BEGIN CERTIFICATE-----\n{BODY}\n-----END CERTIFICATE-----\n".encode()
PUBLIC = f"-----BEGIN PUBLIC KEY-----\n{BODY}\n-----END PUBLIC KEY-----\n".encode()


@pytest.mark.parametrize(
    ("name", "data", "secret"),
    [
        ("deploy.txt", PRIVATE, True),
        ("deploy", b"\xef\xbb\xbf\n" + PRIVATE, True),
        ("server.pem", PRIVATE, True),
        ("bundle.pem", CERTIFICATE + PRIVATE, True),
        ("server.pem", CERTIFICATE, False),
        ("public.pem", PUBLIC, False),
        ("server.key", PRIVATE, True),
        ("master.key", b"0123456789abcdef", True),
        ("archive.key", PUBLIC, False),
        ("archive.key", PUBLIC.replace(b"PUBLIC KEY", b"PGP PUBLIC KEY BLOCK"), False),
        ("howto.md", b"# Keys\n\n" + PRIVATE, False),
        ("howto.md", b"-----BEGIN CERTIFICATE-----", False),
        (".npmrc", b"//registry.npmjs.org/:_authToken=npm_abc\n", True),
        (".npmrc", b"//registry.npmjs.org/:_authToken=${NPM_TOKEN}\n", False),
        (".npmrc", b"save-exact=true\n", False),
    ],
)
def test_files_that_hold_secrets_by_their_nature(name: str, data: bytes, secret: bool) -> None:
    assert holds_secrets(f"some/{name}", data) is secret


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "notes.md").write_text("Deploy at night.\n")
    (folder / "prod.env").write_text("PASSWORD=hunter2\n")
    (folder / "cert.pem").write_bytes(CERTIFICATE)
    (folder / "key.pem").write_bytes(PRIVATE)
    (folder / "odd").write_bytes(PRIVATE)
    return folder


def test_a_folder_is_indexed_without_files_of_secrets_and_says_so(project: Path) -> None:
    source = ir.CorpusSource.from_files(project, all_text=True, embedder="light")
    corpus = ir.build(source, store=CorpusStore.memory())
    assert corpus.report is not None
    assert sorted(corpus.report.added) == ["cert.pem", "notes.md"]
    told = {problem.id: problem.reason for problem in corpus.report.skipped}
    assert set(told) == {"prod.env", "key.pem", "odd"}
    assert all("may hold secrets" in reason and "include_secrets" in reason for reason in told.values())
    everything = ir.CorpusSource.from_files(project, all_text=True, include_secrets=True)
    assert set(everything.scope) == {"cert.pem", "key.pem", "notes.md", "odd", "prod.env"}


def test_what_became_secret_leaves_the_index_at_the_next_build(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = CorpusStore.memory()

    def built() -> ir.Corpus:
        return ir.build(ir.CorpusSource.from_files(project, all_text=True, embedder="light"), store=store)

    for file in project.iterdir():  # so old that its stat is proof enough
        os.utime(file, (1_600_000_000, 1_600_000_000))
    monkeypatch.setenv("IR_INCLUDE_SECRETS", "true")
    assert built().search("password hunter2", mode="lexical")[0].artifact_id == "prod.env"
    monkeypatch.delenv("IR_INCLUDE_SECRETS")
    report = built().report
    assert report is not None
    assert sorted(report.removed) == ["key.pem", "odd", "prod.env"]
    (project / "notes.md").write_bytes(PRIVATE)  # by what it holds now
    report = built().report
    assert report is not None
    assert report.removed == ["notes.md"]
    assert not built().search("deploy at night", mode="lexical")


def test_of_two_files_that_are_written_alike_one_stays_in_the_index(tmp_path: Path) -> None:
    for name in (b"tea\xff.md", b"tea\\xff.md"):
        file = Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + name))
        file.write_text("Steep tea.\n")
        os.utime(file, (1_600_000_000, 1_600_000_000))  # so old that it is not read again
    store = CorpusStore.memory()
    for _ in range(3):
        corpus = ir.build(ir.CorpusSource.from_files(tmp_path, embedder="light"), store=store)
        assert [hit.artifact_id for hit in corpus.search("steep tea")] == ["tea\\xff.md"]
