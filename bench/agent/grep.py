"""The other way: grep for the words of the question, then read windows of lines. The policy is all in this file.

1. The question's words: lower case, three letters or more or a number, without stop words; of a word that ends in a
   plural s the s is left away, since a pattern matches inside words too.
2. One ``rg --line-number --ignore-case`` for all of them at once. As nobody reads ten thousand lines, the agent is
   given the best for free: files are ranked by how many of the words occur in them, then by matches per line, and what
   is shown is at most ``SHOWN`` matching lines of the first ``FILES`` files, ``PER_FILE`` of each, cut at ``WIDEST``.
3. Then windows of 40 lines before and after the densest place of the best file, of the next file, and so on; a second
   round reads the second-densest place of each. Never whole files.

``Rarest`` differs in the ranking: a word counts the more, the fewer files have it (inverse document frequency), for
the file and for the place in it. ``Counts`` asks for counts of matches per file first (``rg --count``), which is
shorter, and lets the ranking find the place in the file. ``Plain`` shows the matches as they come, in the order of
paths, as one does who pipes the output to ``head``.
"""

from __future__ import annotations

import json
import math
import re
import subprocess
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from bench.agent.context import Context, numbered
from bench.agent.questions import Question, lines_of
from bench.envs import python_of

AROUND = 40
SHOWN, FILES, PER_FILE, WIDEST = 100, 20, 5, 200
CALLS = 11
STOP_WORDS = frozenset((Path(__file__).parent / "stop_words.txt").read_text("utf-8").split())


@dataclass(frozen=True)
class Match:
    line: int
    words: frozenset[str]


Found = dict[str, list[Match]]


def words_of(question: str) -> list[str]:
    """
    >>> words_of("How do I keep passwords of my 3 users safe?")
    ['password', '3', 'user', 'safe']
    """
    words = [word for word in re.findall(r"[a-z]+|\d+", question.lower()) if word not in STOP_WORDS]
    kept = [word for word in words if len(word) > 2 or word.isdigit()]
    return list(dict.fromkeys(re.sub(r"(?<=[a-z]{3})(?<!s)s$", "", word) for word in kept))


def grep(folder: Path, words: list[str]) -> Found:
    """Every line of the folder that has one of the words, by file."""
    rg = python_of("ripgrep").parent / "rg"
    pattern = "|".join(words)
    done = subprocess.run(
        [str(rg), "--json", "--ignore-case", "--sort", "path", pattern, "."], cwd=folder, capture_output=True, text=True
    )
    found: Found = defaultdict(list)
    for event in map(json.loads, done.stdout.splitlines()):
        if event["type"] == "match":
            data = event["data"]
            line = data["lines"].get("text", "").lower()
            held = frozenset(word for word in words if word in line)
            found[data["path"]["text"].removeprefix("./")].append(Match(data["line_number"], held))
    return found


class Ranked:
    """Files by distinct words, then by density. The base of the other variants."""

    name = "rg, files by distinct words"

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.files = sum(1 for path in folder.rglob("*") if path.is_file())

    def __call__(self, question: Question, solved: Callable[[Context], bool]) -> Context:
        context = Context()
        words = words_of(question.text)
        found = grep(self.folder, words)
        worth = self.worth(found, words)
        ranked = sorted(found, key=lambda file: self.rank(file, found[file], worth))
        shown, lines = self.listing(ranked, found)
        context.take(f"rg -n -i '{'|'.join(words)}'", shown, lines)
        for file, line in self.windows(ranked, found, worth):
            if solved(context) or context.calls >= CALLS:
                break
            start = max(1, line - AROUND)
            part = lines_of(self.folder / file)[start - 1 : line + AROUND]
            read = [(file, range(start, start + len(part)))]
            context.take(f"read {file} {start} {len(part)}", numbered(part, start), read)
        return context

    def worth(self, found: Found, words: list[str]) -> dict[str, float]:
        return dict.fromkeys(words, 1.0)

    def rank(self, file: str, matches: list[Match], worth: dict[str, float]) -> tuple[float, float]:
        """Best first."""
        value = sum(worth[word] for word in frozenset().union(*(match.words for match in matches)))
        return -value, -len(matches) / len(lines_of(self.folder / file))

    def listing(self, ranked: list[str], found: Found) -> tuple[str, list[tuple[str, list[int]]]]:
        """What the first call prints, and which whole lines are in it."""
        printed, whole = [], []
        for file in ranked[:FILES]:
            lines = lines_of(self.folder / file)
            for match in found[file][:PER_FILE]:
                if len(printed) < SHOWN:
                    text = lines[match.line - 1]
                    printed.append(f"{file}:{match.line}:{text[:WIDEST]}")
                    whole += [(file, [match.line])] if len(text) <= WIDEST else []
        return "\n".join(printed), whole

    def windows(self, ranked: list[str], found: Found, worth: dict[str, float]) -> Iterator[tuple[str, int]]:
        """Places to read, best first: the best of each file, then the second of each."""
        places = {file: self.places(found[file], worth) for file in ranked[:FILES]}
        for turn in range(2):
            yield from ((file, lines[turn]) for file, lines in places.items() if len(lines) > turn)

    def places(self, matches: list[Match], worth: dict[str, float]) -> list[int]:
        """The two densest places of a file that do not overlap: by words in a window, then by matches in it."""
        scored = []
        at = [match.line for match in matches]
        for middle in at:
            near = matches[bisect_left(at, middle - AROUND) : bisect_right(at, middle + AROUND)]
            value = sum(worth[word] for word in frozenset().union(*(match.words for match in near)))
            weight = sum(sum(map(worth.__getitem__, match.words)) / (1 + abs(match.line - middle)) for match in near)
            scored.append((-value, -weight, middle))
        scored.sort()
        best = scored[0][2]
        return [best, *[line for *_, line in scored if abs(line - best) > 2 * AROUND][:1]]


class Rarest(Ranked):
    """Rare words count more."""

    name = "rg, rare words first"

    def worth(self, found: Found, words: list[str]) -> dict[str, float]:
        files = Counter(
            word for matches in found.values() for word in frozenset().union(*(match.words for match in matches))
        )
        return {word: math.log(1 + self.files / (files[word] or self.files)) for word in words}


class Counts(Rarest):
    """``rg --count`` first: a short list of files."""

    name = "rg --count, rare words first"

    def listing(self, ranked: list[str], found: Found) -> tuple[str, list[tuple[str, list[int]]]]:
        return "\n".join(f"{file}:{len(found[file])}" for file in ranked[:FILES]), []


class Plain(Ranked):
    """Matches as they come; then the densest places of the files that were seen, best first."""

    name = "rg, to head"

    def listing(self, ranked: list[str], found: Found) -> tuple[str, list[tuple[str, list[int]]]]:
        printed, whole = [], []
        for file, matches in found.items():
            lines = lines_of(self.folder / file)
            for match in matches[: SHOWN - len(printed)]:
                text = lines[match.line - 1]
                printed.append(f"{file}:{match.line}:{text[:WIDEST]}")
                whole += [(file, [match.line])] if len(text) <= WIDEST else []
        return "\n".join(printed), whole


VARIANTS = (Ranked, Rarest, Counts, Plain)
