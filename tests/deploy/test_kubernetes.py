"""The manifests: what the schemas of Kubernetes say, and whether they fit the application."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.deploy.conftest import DEPLOY, documents, run, tool
from tests.deploy.test_images import DOCKERFILE, PORT, settings_of

from ir.config.keys import KEYS

FOLDER = DEPLOY / "kubernetes"


def manifests() -> dict[str, Any]:
    """Every object by its kind."""
    found = {}
    (made,) = documents(FOLDER / "kustomization.yaml")
    for name in [*made["resources"], "shell.yaml"]:
        for one in documents(FOLDER / name):
            assert one["kind"] not in found
            found[one["kind"]] = one
    return found


def pods() -> list[dict[str, Any]]:
    """What is said of a pod: of those that serve, and of the one to work from."""
    made = manifests()
    return [made["Deployment"]["spec"]["template"]["spec"], made["Pod"]["spec"]]


def test_every_manifest_is_in_the_list_but_the_one_for_now_and_then() -> None:
    (made,) = documents(FOLDER / "kustomization.yaml")
    files = {path.name for path in FOLDER.glob("*.yaml")} - {"kustomization.yaml", "shell.yaml"}
    assert set(made["resources"]) == files


@pytest.mark.slow
def test_the_schemas_of_kubernetes_take_them(tmp_path: Path) -> None:
    validate = tool("kubernetes-validate", "PyPI")
    for path in FOLDER.glob("*.yaml"):
        if path.name != "kustomization.yaml":
            done = run(validate, "--strict", path)
            assert done.returncode == 0, done.stdout + done.stderr
    wrong = (FOLDER / "deployment.yaml").read_text("utf-8").replace("periodSeconds", "periodSecond")
    (tmp_path / "wrong.yaml").write_text(wrong)
    assert run(validate, "--strict", tmp_path / "wrong.yaml").returncode != 0


def test_kustomize_puts_them_together(tmp_path: Path) -> None:
    done = run(tool("kubectl", "kubernetes.io"), "kustomize", FOLDER)
    assert done.returncode == 0, done.stderr
    (tmp_path / "all.yaml").write_text(done.stdout)
    made = {one["kind"]: one for one in documents(tmp_path / "all.yaml")}
    assert all(one["metadata"]["namespace"] == "ir" for kind, one in made.items() if kind != "Namespace")
    (container,) = made["Deployment"]["spec"]["template"]["spec"]["containers"]
    (shell,) = manifests()["Pod"]["spec"]["containers"]
    assert container["image"] == shell["image"]
    assert ":" in container["image"]


def test_probes_and_ports_are_those_of_the_application() -> None:
    (container,) = pods()[0]["containers"]
    assert container["args"] == ["serve", "--host", "0.0.0.0", "--port", str(PORT)]
    assert container["ports"] == [{"name": "http", "containerPort": PORT}]
    assert container["startupProbe"]["httpGet"] == {"path": "/healthz", "port": "http"}
    assert container["livenessProbe"]["httpGet"] == {"path": "/healthz", "port": "http"}
    assert container["readinessProbe"]["httpGet"] == {"path": "/readyz", "port": "http"}
    made = manifests()
    assert made["Service"]["spec"]["ports"][0]["targetPort"] == "http"
    annotations = made["Deployment"]["spec"]["template"]["metadata"]["annotations"]
    assert (annotations["prometheus.io/port"], annotations["prometheus.io/path"]) == (str(PORT), "/metrics")


@pytest.mark.parametrize("number", [0, 1])
def test_a_pod_has_no_more_than_it_needs(number: int) -> None:
    pod = pods()[number]
    user = pod["securityContext"]["runAsUser"]
    assert f"USER {user}:{pod['securityContext']['runAsGroup']}" in DOCKERFILE
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert pod["automountServiceAccountToken"] is False
    assert not {"hostNetwork", "hostPID", "hostIPC"} & set(pod)
    (container,) = pod["containers"]
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert {"cpu", "memory"} == set(container["resources"]["limits"]) == set(container["resources"]["requests"])
    mounts = {one["mountPath"]: one["name"] for one in container["volumeMounts"]}
    assert set(mounts) == {"/var/lib/ir", "/tmp"}
    assert set(mounts.values()) == {volume["name"] for volume in pod["volumes"]}
    assert all("sizeLimit" in volume["emptyDir"] for volume in pod["volumes"])


def test_settings_are_settings_and_the_password_is_in_no_file() -> None:
    made = manifests()
    settings = settings_of(made["ConfigMap"]["data"])
    assert settings["telemetry.enabled"] is True
    (container,) = pods()[0]["containers"]
    assert str(settings["serve.threads"]) == container["resources"]["limits"]["cpu"]
    assert settings["serve.access"].startswith("postgresql://")
    assert "Secret" not in made
    (password,) = container["env"]
    assert set(password["valueFrom"]) == {"secretKeyRef"}


def test_a_pod_that_leaves_has_time_for_what_it_has_begun() -> None:
    pod = pods()[0]
    settings = settings_of(manifests()["ConfigMap"]["data"])
    (container,) = pod["containers"]
    waits = float(container["lifecycle"]["preStop"]["exec"]["command"][-1].split("(")[1].rstrip(")"))
    assert pod["terminationGracePeriodSeconds"] > settings["serve.drain_s"] + waits
    assert "serve.drain_s" in {key.name for key in KEYS}


def test_whoever_is_not_named_neither_comes_nor_is_reached() -> None:
    made = manifests()
    policy = made["NetworkPolicy"]["spec"]
    assert policy["policyTypes"] == ["Ingress", "Egress"]
    assert all(rule["from"] for rule in policy["ingress"])
    assert all(rule["to"] for rule in policy["egress"])
    assert {port["port"] for rule in policy["ingress"] for port in rule["ports"]} == {"http"}
    assert {port["port"] for rule in policy["egress"] for port in rule["ports"]} == {53, 5432}
    labels = made["Deployment"]["spec"]["template"]["metadata"]["labels"]
    for chosen in (
        policy["podSelector"]["matchLabels"],
        made["Deployment"]["spec"]["selector"]["matchLabels"],
        made["Service"]["spec"]["selector"],
        made["PodDisruptionBudget"]["spec"]["selector"]["matchLabels"],
    ):
        assert chosen.items() <= labels.items()
    # The one to work from answers nobody.
    assert not made["Service"]["spec"]["selector"].items() <= made["Pod"]["metadata"]["labels"].items()
