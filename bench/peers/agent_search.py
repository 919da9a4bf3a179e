"""``ir search --json`` for many queries in one process: queries in, responses out, a line each."""

from __future__ import annotations

import json
import sys

from ir.app.context import Context
from ir.app.searching import SearchRequest, search
from ir.config import Settings


def main() -> None:
    folder, k = sys.argv[1], int(sys.argv[2])
    context = Context(Settings.load(), lambda *_, **__: None, lambda *_: None)
    for line in sys.stdin:
        response = search(SearchRequest(query=json.loads(line), target=folder, k=k, refresh=False), context)
        print(json.dumps(response.to_dict()), flush=True)


if __name__ == "__main__":
    main()
