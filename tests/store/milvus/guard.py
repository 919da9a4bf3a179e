"""A gate before a Milvus server: encrypted, and only for those who have the token, as servers are set up in earnest.

The core that tests can start knows neither. Requests that may pass are handed on as they are.
"""

from __future__ import annotations

import base64
import shutil
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc
import pytest


def certificate(folder: Path) -> tuple[Path, Path]:
    """A certificate for this machine that signs itself, and its key."""
    program = shutil.which("openssl")
    if program is None:
        pytest.skip("openssl is not there to make a certificate")
    signed, key = folder / "server.pem", folder / "server.key"
    command = [program, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-days", "2"]
    subprocess.run([*command, *names, "-keyout", key, "-out", signed], check=True, capture_output=True)
    return signed, key


class _Gate(grpc.GenericRpcHandler):
    def __init__(self, channel: grpc.Channel, token: str) -> None:
        self._channel = channel
        self._wanted = base64.b64encode(token.encode()).decode()

    def service(self, details: Any) -> Any:
        forward = self._channel.unary_unary(details.method)
        shown = dict(details.invocation_metadata).get("authorization")

        def handle(request: bytes, context: grpc.ServicerContext) -> Any:
            if shown != self._wanted:
                context.abort(grpc.StatusCode.UNAUTHENTICATED, "auth check failure, please check user and password")
            try:
                return forward(request, timeout=30)
            except grpc.RpcError as error:
                context.abort(error.code(), error.details())

        return grpc.unary_unary_rpc_method_handler(handle)


@contextmanager
def guarded(host: str, folder: Path, token: str) -> Iterator[tuple[int, Path]]:
    """The port of the gate before ``host``, and the certificate that it shows."""
    signed, key = certificate(folder)
    with grpc.insecure_channel(host) as channel:
        server = grpc.server(ThreadPoolExecutor(4), handlers=(_Gate(channel, token),))
        credentials = grpc.ssl_server_credentials([(key.read_bytes(), signed.read_bytes())])
        port = server.add_secure_port("127.0.0.1:0", credentials)
        server.start()
        try:
            yield port, signed
        finally:
            server.stop(None).wait()
