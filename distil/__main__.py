"""``python -m distil FOLDER [STEP …]``: make the table in the wheel again. README.md tells what each step does."""

from __future__ import annotations

import argparse
from pathlib import Path

from distil import pack
from distil.fetch import fetch
from distil.lessons import prepare
from distil.teach import Lessons
from distil.texts import gather
from distil.train import Settings

#: How many texts are taught before the next; what was taught is kept if the run is stopped.
AT_ONCE = 16_384
STEPS = ("gather", "teach", "train", "pack")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m distil", description=__doc__)
    parser.add_argument("folder", type=Path, help="where packages, texts and vectors are kept between runs (3 GB)")
    parser.add_argument("steps", nargs="*", metavar="STEP", help=f"{', '.join(STEPS)}; without a name, all of them")
    arguments = parser.parse_args()
    folder: Path = arguments.folder
    for step in arguments.steps or STEPS:
        if step == "gather":
            print(gather(fetch(folder / "packages"), folder / "texts"))
        elif step == "teach":
            lesson, lessons = prepare(folder / "texts"), Lessons(folder / "vectors")
            for texts in (lesson.words, lesson.held, lesson.real, lesson.made):
                for start in range(0, len(texts), AT_ONCE):
                    print(f"{start:,} of {len(texts):,}", flush=True)
                    lessons.of(texts[start : start + AT_ONCE])
        elif step == "train":
            pack.train(folder, Settings())
        elif step == "pack":
            pack.write(folder)
        else:
            parser.error(f"There is no step {step!r}. The steps are {', '.join(STEPS)}.")


if __name__ == "__main__":
    main()
