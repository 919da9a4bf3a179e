"""The questions that clients ask `ir serve`, in one process with some threads and the corpus open: to the library,
which gives hits, or to the operation that the server answers with, as JSON."""

import json
import sys
import threading
import time

import ir
from ir.app.session import Session
from ir.web.answers import encoded

threads, seconds, k, queries, how = json.loads(sys.stdin.readline())
corpus, session = ir.open_corpus("bench"), Session()


def library(query: str) -> None:
    corpus.search(query, mode="hybrid", k=k)


def operation(query: str) -> None:
    encoded(session.call("search", {"query": query, "target": "bench", "k": k}, door="http"))


ask = {"library": library, "operation": operation}[how]
for query in queries[:40]:
    ask(query)
counts = [0] * threads
until = time.monotonic() + seconds


def work(number: int) -> None:
    at = number * 13
    while time.monotonic() < until:
        ask(queries[at % len(queries)])
        at += 1
        counts[number] += 1


began, cpu = time.monotonic(), time.process_time()
workers = [threading.Thread(target=work, args=(number,)) for number in range(threads)]
for one in workers:
    one.start()
for one in workers:
    one.join()
print(json.dumps({"count": sum(counts), "seconds": time.monotonic() - began, "cpu": time.process_time() - cpu}))
