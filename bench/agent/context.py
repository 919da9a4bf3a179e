"""What an agent has read so far, and what that cost."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from bench.agent.questions import Question

#: The tokenizer of this benchmark: four characters are a token, in what is asked and in what comes back.
CHARACTERS_PER_TOKEN = 4


def tokens_of(text: str) -> int:
    return -(-len(text) // CHARACTERS_PER_TOKEN)


@dataclass
class Context:
    """Everything one question brought into the context, call by call."""

    calls: int = 0
    tokens: int = 0
    seen: dict[str, set[int]] = field(default_factory=lambda: defaultdict(set))

    def take(self, asked: str, answer: str, lines: Iterable[tuple[str, Iterable[int]]]) -> None:
        """One call: what was asked, what came back, and which lines of which files are whole in it."""
        self.calls += 1
        self.tokens += tokens_of(asked) + tokens_of(answer)
        for file, numbers in lines:
            self.seen[file].update(numbers)

    def answers(self, question: Question) -> bool:
        """Whether every line of one of the answers was read."""
        return any(self.seen[one.file].issuperset(one.lines) for one in question.answers)


def numbered(lines: Sequence[str], first: int) -> str:
    """Lines as a reading tool prints them."""
    return "\n".join(f"{number}\t{line}" for number, line in enumerate(lines, start=first))
