"""The commands of docs/serve.md do what the page says, and the page for people is served as it is."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.web.served import Served

from ir.web.guard import CSP
from ir.web.pages import FOLDER, Pages

PAGE = Path(__file__).parents[2] / "docs" / "serve.md"
COMMANDS = re.findall(r"^```sh\n(.*?)\n```$", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: re.findall(r"/v1/(\w+)", command)[0])
def test_a_command_of_the_page_is_answered(command: str, served: Served) -> None:
    if shutil.which("curl") is None:
        pytest.skip("curl is not installed")
    here = command.replace("localhost:8418", f"localhost:{served.port}")
    done = subprocess.run(["sh", "-c", here], capture_output=True, text=True, check=True, timeout=60)
    if "event-stream" in command:
        assert done.stdout.startswith("event: search\n")
        assert "event: complete\n" in done.stdout
        return
    told = json.loads(done.stdout)
    assert ("status" in told) == ("nobody" in command), told


def test_the_page_names_every_route_and_every_error(served: Served) -> None:
    text = PAGE.read_text("utf-8")
    for path, ways in served.get("/openapi.json").json["paths"].items():
        name = path.removeprefix("/v1/").split("/")[0]
        assert f"`{name}`" in text or path.replace("{job}", "ID") in text, path
        for told in ways.values():
            for status in told["responses"]:
                assert int(status) < 400 or status == "500" or re.search(rf"\b{status}\b", text), status


def test_the_files_of_the_page_are_served_with_its_policy(served: Served, tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text("<!doctype html><title>ir</title>")
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "app.js").write_text("export {}")
    served.application.pages = Pages(tmp_path)
    page = served.get("/")
    assert (page.status, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert page.headers["content-security-policy"] == CSP
    assert served.get("/", If_None_Match=page.headers["etag"]).status == 304
    script = served.get("/assets/lib/app.js")
    assert script.headers["content-type"] == "text/javascript; charset=utf-8"
    assert served.get("/assets/lib").status == 404


def test_the_page_needs_no_token(served: Served) -> None:
    served.token_for()
    assert served.get("/").status == (200 if (FOLDER / "index.html").exists() else 404)
