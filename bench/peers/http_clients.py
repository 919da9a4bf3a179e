"""Clients of `ir serve` in a process of their own, so that what they compute is not the server's."""

import asyncio
import json
import sys
import time

port, clients, seconds, k, queries = json.loads(sys.stdin.readline())
times: list[float] = []
errors: list[str] = []


async def client(number: int, until: float) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    at = number * 13
    while time.monotonic() < until:
        body = json.dumps({"query": queries[at % len(queries)], "target": "bench", "k": k}).encode()
        at += 1
        began = time.perf_counter()
        head = b"POST /v1/search HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % len(body)
        writer.write(head + body)
        head = await reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
        await reader.readexactly(length)
        times.append(time.perf_counter() - began)
        if not head.startswith(b"HTTP/1.1 200"):
            errors.append(head[:12].decode())
    writer.close()


async def main() -> None:
    until = time.monotonic() + seconds
    await asyncio.gather(*(client(number, until) for number in range(clients)))


began, cpu = time.monotonic(), time.process_time()
asyncio.run(main())
told = {"times": times, "errors": errors, "seconds": time.monotonic() - began, "cpu": time.process_time() - cpu}
print(json.dumps(told))
