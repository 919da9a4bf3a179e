"""A real browser on a real server, for the tests of the page."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from tests.web.served import Process

from ir.cli.main import run

CHROMIUM = Path("/usr/bin/chromium")
#: It asks nobody but the server that is tested.
FLAGS = [
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync"),
    *("--disable-component-update", "--no-first-run", "--disable-default-apps"),
]
HOSTILE = "<script>window.ran = 'script'</script><img src=x onerror=\"window.ran='image'\">"
_WATCH = "addEventListener('securitypolicyviolation', (told) => console.error('CSP ' + told.violatedDirective))"


@contextmanager
def home(folder: Path) -> Iterator[None]:
    """A home of its own for corpora and a server that several tests share."""
    with pytest.MonkeyPatch.context() as patch:
        for kind in ("CONFIG", "DATA", "CACHE", "RUNTIME"):
            patch.setenv(f"IR_{kind}_DIR", str(folder / kind.lower()))
        patch.setenv("IR_EMBEDDER", "light")
        patch.delenv("IR_WORKSPACE", raising=False)
        yield


def ir(*words: str | Path) -> None:
    assert run([str(word) for word in words]) == 0, words


def make_corpora(folder: Path) -> None:
    """Notes, one of which is hostile; packages with links; a little code; a vocabulary."""
    notes = folder / "notes"
    notes.mkdir()
    (notes / "tea.md").write_text("# Tea\n\nSteep green tea at 80 degrees.\n\nBoiling water makes tea bitter.\n")
    (notes / "bread.md").write_text(
        "# Bread\n\nKnead the dough for ten minutes.\n\nLet the bread rise before baking.\n"
    )
    (notes / "bike.md").write_text("# Bicycle\n\nOil the chain every month.\n\nCheck the brakes in autumn.\n")
    (notes / "hostile.md").write_text(f"# Hostile {HOSTILE}\n\nA hostile kettle says {HOSTILE} to all.\n")
    (notes / "long.md").write_text("# Long\n\n" + "\n\n".join(f"Paragraph {n} is about maps." for n in range(400)))
    rows = [
        {"id": "shop", "title": "The shop", "text": "Sells tea to people.", "deps": ["web", "store"], "year": 2024},
        {"id": "admin", "title": "The office", "text": "Manages the shop.", "deps": ["web", "shop"], "year": 2020},
        {"id": "web", "title": "The web", "text": "Serves pages.", "deps": [], "year": 2022},
        {"id": "store", "title": "The store", "text": "Keeps tea in a database.", "deps": [], "year": 2019},
    ]
    (folder / "packages.jsonl").write_text("\n".join(map(json.dumps, rows)))
    code = folder / "code"
    code.mkdir()
    (code / "kettle.py").write_text(
        'def boil(water):\n    """Boil water."""\n    return heat(water, 100)\n\n\n'
        "def heat(water, degrees):\n    return (water, degrees)\n\n\ndef brew(leaves):\n    return boil(leaves)\n"
    )
    terms = [
        {"name": "drink:tea", "display": "Tea", "definition": "A drink of leaves.", "category": "drink"},
        {"name": "food:bread", "display": "Bread", "definition": "Baked dough.", "category": "food"},
    ]
    (folder / "terms.jsonl").write_text("\n".join(map(json.dumps, terms)))
    ir("register", "notes", notes)
    ir("build", "notes")
    ir("register", "packages", folder / "packages.jsonl", "--kind", "jsonl")
    ir("build", "packages", "--links")
    ir("register", "code", code, "--kind", "code")
    ir("ingest", "code", "code")
    ir("vocab", "build", "kitchen", folder / "terms.jsonl")


class _Writer(BaseHTTPRequestHandler):
    """Writes what a careless language model may write: one citation that is right, and one of nothing."""

    def do_POST(self) -> None:
        asked = self.rfile.read(int(self.headers["Content-Length"])).decode()
        words = "word " * 400 if "at length" in asked else "Boiling water makes it bitter [1]. Magic does so, too [9]."
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        try:
            for word in words.split(" "):
                told = json.dumps({"choices": [{"delta": {"content": f"{word} "}}]})
                self.wfile.write(f"data: {told}\n\n".encode())
                self.wfile.flush()
                time.sleep(0.03)
            self.wfile.write(b"data: [DONE]\n\n")
        except OSError:
            self.server.left = True  # type: ignore[attr-defined]

    def log_message(self, *about: object) -> None:
        pass


@contextmanager
def language_model() -> Iterator[Any]:
    """A server of a language model on loopback; ``left`` says whether somebody stopped listening to it."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Writer)
    server.left = False  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("IR_LLM_BASE_URL", f"http://127.0.0.1:{server.server_port}/v1")
            patch.setenv("IR_LLM_MODEL", "careless")
            yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@contextmanager
def served(*options: str) -> Iterator[Process]:
    """``ir serve`` over the corpora of the home that is set."""
    process = Process(*options)
    try:
        yield process
    finally:
        process.end()


@contextmanager
def chromium() -> Iterator[Any]:
    """Debian's browser; the tests are skipped, aloud, where it is not installed."""
    if not CHROMIUM.exists():
        pytest.skip(f"there is no browser at {CHROMIUM}")
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright, of the extra dev, is not installed")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=str(CHROMIUM), args=FLAGS)
        yield browser
        browser.close()


class Tab:
    """A tab, and everything that went wrong in it."""

    def __init__(self, browser: Any, address: str, **look: Any) -> None:
        self.context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **look})
        self.context.set_default_timeout(15_000)
        self.page = self.context.new_page()
        self.page.add_init_script(_WATCH)
        self.address = address
        self.wrong: list[str] = []
        self.foreign: list[str] = []
        self.page.on(
            "console", lambda told: self.wrong.append(told.text) if told.type in ("error", "warning") else None
        )
        self.page.on("pageerror", lambda error: self.wrong.append(str(error)))
        self.page.on("request", lambda asked: None if asked.url.startswith(address) else self.foreign.append(asked.url))

    def open(self, place: str = "") -> Any:
        self.page.goto("about:blank")
        self.foreign.clear()
        self.page.goto(f"{self.address}/{place}")
        self.page.wait_for_selector("main")
        return self.page

    def close(self) -> None:
        self.context.close()
