"""Check the questions against the corpus they ask about.

    python -m bench.books.check PATH_TO_CORPUS

The exit code is 1 if an id is unknown, a question borrows its wording, or a row has the wrong form.
"""

import json
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

QUESTIONS = Path(__file__).with_name("srd_questions.jsonl")
INTENTS = {"lookup", "procedure", "exception", "comparison", "definition"}
NEEDED = {"one": 1, "two": 2}
HALVES = {"open", "kept"}
RUN = 4  # this many words in a row in common is a quotation
NAMED = 1 / 3  # at most this share of the questions may use the title of a gold entry

Row = dict[str, Any]


def read(path: Path) -> list[Row]:
    with path.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines if line.strip()]


def words(text: str) -> list[str]:
    return re.findall(r"[a-z0-9]+", text.lower().replace("’", "'").replace("'", ""))


def runs(text: str, length: int = RUN) -> set[tuple[str, ...]]:
    found = words(text)
    return {tuple(found[i : i + length]) for i in range(len(found) - length + 1)}


def names(question: str, entry: Row) -> bool:
    """Whether the question uses the entry's title; "Crossbow, heavy" is named by "heavy crossbow" too."""
    title = words(entry["title"])
    turned = words(" ".join(reversed(entry["title"].split(","))))
    return bool(title) and any(tuple(form) in runs(question, len(form)) for form in (title, turned))


def faults(row: Row, entries: dict[str, Row]) -> Iterator[str]:
    gold, also = row["gold"], row["also"]
    for entry in (*gold, *also):
        if entry not in entries:
            yield f"unknown entry {entry}"
    if row["kind"] not in NEEDED or len(set(gold)) != NEEDED[row["kind"]]:
        yield f"kind {row['kind']!r} with {len(set(gold))} gold entries"
    if row["intent"] not in INTENTS:
        yield f"intent {row['intent']!r} is none of {sorted(INTENTS)}"
    if row["half"] not in HALVES:
        yield f"half {row['half']!r} is none of {sorted(HALVES)}"
    if not row["why"]:
        yield "no reason"
    stands_for = row.get("stands_for", {})
    if set(stands_for) != set(also) or not set(stands_for.values()) <= set(gold):
        yield "stands_for doesn't give one gold entry for each id in also"
    known = [entries[entry] for entry in gold if entry in entries]
    for entry in known:
        for run in runs(row["question"]) & runs(entry["title"] + " " + entry["text"]):
            yield f"quotes {entry['_id']}: {' '.join(run)}"
    if row["kind"] == "two" and sum(names(row["question"], entry) for entry in known) > 1:
        yield "names both entries"


def check(questions: list[Row], entries: dict[str, Row]) -> list[str]:
    wrong = [f"{row['id']}: {fault}" for row in questions for fault in faults(row, entries)]
    for key in ("id", "question"):
        wrong += [f"{key} {value!r} is there twice" for value, n in Counter(r[key] for r in questions).items() if n > 1]
    named = [
        row["id"]
        for row in questions
        if any(names(row["question"], entries[entry]) for entry in row["gold"] if entry in entries)
    ]
    if len(named) > NAMED * len(questions):
        wrong.append(f"{len(named)} of {len(questions)} questions name an entry: {' '.join(named)}")
    print(f"{len(questions)} questions, {len(named)} name an entry")
    for title, counts in (
        ("kind, half", Counter((row["kind"], row["half"]) for row in questions)),
        ("intent", Counter((row["intent"],) for row in questions)),
        ("kind of gold entry", Counter((g.split("/")[0],) for row in questions for g in row["gold"])),
    ):
        print(f"{title}: " + "; ".join(f"{' '.join(key)} {n}" for key, n in sorted(counts.items())))
    return wrong


def main(arguments: list[str]) -> int:
    if len(arguments) != 1:
        print("usage: python -m bench.books.check PATH_TO_CORPUS", file=sys.stderr)
        return 2
    corpus = Path(arguments[0])
    if not corpus.is_file():
        print(f"{corpus} is no file; give the corpus, one JSON entry in each line", file=sys.stderr)
        return 2
    wrong = check(read(QUESTIONS), {entry["_id"]: entry for entry in read(corpus)})
    for line in wrong:
        print(line, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
