"""A small program as a corpus, and servers that fail in every way."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

import ir
from ir.code.strategy import Code
from ir.sources import CorpusSource
from ir.store import CorpusStore, LocalStore

pytest.importorskip("tree_sitter")

PROGRAM = {
    "shop/store.py": """
        '''Where orders are kept.'''

        class Store:
            '''Keeps orders by their number.'''

            def load(self, number):
                '''Read one order from the disk.'''
                raise NotImplementedError

            def save(self, order):
                '''Write one order to the disk.'''
                raise NotImplementedError
        """,
    "shop/files.py": """
        from shop.store import Store

        class FileStore(Store):
            '''Orders in files, one file for each.'''

            def load(self, number):
                '''Open the file of an order and parse it.'''
                return parse_order(number)

        class CachedFileStore(FileStore):
            '''The same, with the last orders held in memory.'''

            def load(self, number):
                '''Look into the memory first.'''
                return super().load(number)

        def parse_order(number):
            '''Turn the lines of a file into an order.'''
            return number
        """,
    "shop/mail.py": """
        from shop.files import FileStore

        def send_receipt(number):
            '''Mail a receipt for an order to the customer.'''
            return FileStore().load(number)
        """,
    "tests/test_mail.py": """
        from shop.mail import send_receipt

        def test_a_receipt_is_sent():
            assert send_receipt(3)
        """,
    "README.md": """
        # Shop

        How receipts are mailed after an order was paid.
        """,
}
#: Each definition is cut apart from the others.
CODE = {"chunk_size": 160, "overlap": 0}
Making = Callable[..., Any]


def source(files: Mapping[str, str], embedder: Any = "light") -> CorpusSource:
    texts = {path: dedent(text).lstrip("\n") for path, text in files.items()}
    return CorpusSource.from_mapping(texts, name="shop", strategy=Code(**CODE), embedder=embedder)


@pytest.fixture
def making(tmp_path: Path) -> Iterator[Making]:
    """Builds a program as a corpus, in memory or in a folder."""
    made: list[Any] = []

    def make(files: Mapping[str, str] = PROGRAM, *, local: bool = False, embedder: Any = "light") -> Any:
        store = LocalStore(tmp_path / f"corpus{len(made)}") if local else CorpusStore.memory()
        made.append(store)
        return ir.build(source(files, embedder), store=store)

    yield make
    for store in made:
        store.close()


@pytest.fixture
def shop(making: Making) -> Any:
    return making()


class Wrapped:
    """An embedder around a real one, for tests that watch or break it."""

    def __init__(self, real: Any, before: Callable[[], None]) -> None:
        self.id, self._real, self._before = real.id, real, before

    def __call__(self, texts: Any, *, input_type: str = "document") -> Any:
        self._before()
        return self._real(texts, input_type=input_type)


class RerankServer:
    """A rerank server on loopback that likes long documents best; ``mode`` says how it behaves."""

    def __init__(self) -> None:
        self.mode, self.calls, self.bodies = "right", 0, []  # type: ignore[var-annotated]
        self.release = threading.Event()
        owner = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                owner.calls += 1
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                owner.bodies.append(body)
                if owner.mode == "hangs":
                    owner.release.wait(60)
                    return
                documents = body["documents"]
                scored = [{"index": n, "relevance_score": float(len(text))} for n, text in enumerate(documents)]
                if owner.mode == "wrong":
                    scored = scored[:1]
                answer = json.dumps({"results": scored}).encode()
                self.send_response({"fails": 500, "refuses": 401}.get(owner.mode, 200))
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *args: object) -> None: ...

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self.release.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@pytest.fixture
def rerank_server() -> Iterator[RerankServer]:
    server = RerankServer()
    yield server
    if server._thread.is_alive():
        server.stop()


@pytest.fixture
def silent_socket() -> Iterator[tuple[str, int]]:
    """A socket that takes connections and never answers."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        yield listening.getsockname()
