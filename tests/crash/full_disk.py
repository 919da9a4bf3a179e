"""Run on a file system of a few megabytes: fill it, try to build, and look at what is left."""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path

from tests.crash import world

from ir.errors import StoreUnwritable


def main(disk: Path) -> None:
    corpus = disk / "corpus"
    world.build(corpus, 1)
    filler = disk / "filler"
    with filler.open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(b"\0" * 4096)
    for attempt in range(3):
        try:
            world.build(corpus, 2)
        except StoreUnwritable as error:
            print(f"attempt {attempt}: {error}")
        else:
            raise SystemExit("the build went through on a full disk")
    print("version while full:", world.version_seen(corpus))
    filler.unlink()
    world.build(corpus, 2)
    print("version after:", world.version_seen(corpus))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
