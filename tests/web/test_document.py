"""The OpenAPI document is true: requests that are made from it are answered as it says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from bench.http_cases import run_cases, server
from tests.extras import needs
from tests.web.served import Served, wait_until

from ir.app.operation import operations
from ir.app.schema import outside_schema


def document(served: Served) -> Any:
    return served.get("/openapi.json").json


def test_the_schemas_are_those_of_the_operations(served: Served) -> None:
    paths = document(served)["paths"]
    for name, operation in operations().items():
        if "http" in operation.doors:
            told = paths[f"/v1/{name}"]["post"]["requestBody"]["content"]["application/json"]
            own = outside_schema(operation)
            assert set(told["schema"]["properties"]) == set(own["properties"]), name
            assert told["schema"]["additionalProperties"] is False
            assert "example" in told


def test_the_document_is_made_once(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    first = served.get("/openapi.json")
    monkeypatch.setattr(served.application, "_make_api", None)  # whoever made it again would fail
    again = served.get("/openapi.json")
    assert again.body == first.body
    assert served.get("/openapi.json", If_None_Match=again.headers["etag"]).status == 304


def test_an_example_is_a_request_that_is_understood(served: Served) -> None:
    for path, ways in document(served)["paths"].items():
        if "post" in ways and path != "/v1/build":
            example = ways["post"]["requestBody"]["content"]["application/json"]["example"]
            answer = served.ask("POST", path, example)
            assert answer.status in (200, 202, 404), (path, answer.body)


def test_every_error_is_declared(served: Served) -> None:
    for path, ways in document(served)["paths"].items():
        for method, told in ways.items():
            declared = set(told["responses"])
            assert {"400", "405", "413", "421", "500", "503"} <= declared, path
            if path.startswith("/v1"):
                assert {"401", "403", "404", "429"} <= declared
            if method == "post":
                assert {"409", "422", "504"} <= declared
            assert told["operationId"]


def test_tokens_are_declared_where_they_are_asked_for(served: Served) -> None:
    assert "securitySchemes" not in document(served)["components"]
    served.token_for()
    wait_until(lambda: "securitySchemes" in document(served)["components"])
    told = document(served)
    assert told["components"]["securitySchemes"]["token"]["scheme"] == "bearer"
    assert told["paths"]["/v1/search"]["post"]["security"] == [{"token": []}]
    assert "security" not in told["paths"]["/healthz"]["get"]


@pytest.mark.parametrize(
    ("tokens", "shown", "each"), [(False, False, 8), (True, True, 4), (True, False, 1)], ids=["open", "token", "locked"]
)
def test_requests_made_from_the_document_are_answered_as_it_says(
    tokens: bool, shown: bool, each: int, tmp_path: Path
) -> None:
    """A few; ``python -m bench.http_cases`` makes thousands."""
    needs("schemathesis")
    with server(tmp_path, tokens=tokens) as (address, token):
        done = run_cases(address, token if shown else None, tmp_path, each=each, seed=7, phases="examples,fuzzing")
    assert done.clean, done.failures
    assert done.cases >= 30 * each
    assert '"level": "error"' not in (tmp_path / "log").read_text("utf-8")
