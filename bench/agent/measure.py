"""Every question through every policy, and what can be said of the two best."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Protocol

from bench.agent.context import Context
from bench.agent.questions import Question

BUDGETS = (2_000, 4_000, 8_000, 16_000)
DRAWS = 2_000


class Policy(Protocol):
    name: str

    def __call__(self, question: Question, solved: Callable[[Context], bool]) -> Context: ...


@dataclass(frozen=True)
class Outcome:
    """One question by one policy. Tokens and calls are those at the moment of success, or all that were spent."""

    question: Question
    found: bool
    tokens: int
    calls: int

    @property
    def cost(self) -> float:
        """Tokens to success; a failure costs more than any success."""
        return self.tokens if self.found else math.inf


def run(policy: Policy, questions: Sequence[Question]) -> list[Outcome]:
    """What the policy needs for each question that has an answer."""
    outcomes = []
    for question in questions:
        if question.answers:
            context = policy(question, lambda context, question=question: context.answers(question))  # type: ignore[misc]
            outcomes.append(Outcome(question, context.answers(question), context.tokens, context.calls))
    return outcomes


def success(outcomes: Sequence[Outcome], within: float = math.inf) -> float:
    return sum(one.found and one.tokens <= within for one in outcomes) / len(outcomes)


def typical_tokens(outcomes: Sequence[Outcome]) -> float:
    """The median over all questions, failures at the far end: infinite if half of them failed."""
    return median(one.cost for one in outcomes)


def typical_calls(outcomes: Sequence[Outcome]) -> float:
    return median(one.calls if one.found else math.inf for one in outcomes)


def per_answer(outcomes: Sequence[Outcome]) -> float:
    """Tokens for each answer that was found, what was spent in vain included."""
    found = sum(one.found for one in outcomes)
    return sum(one.tokens for one in outcomes) / found if found else math.inf


def ratio(ours: Sequence[Outcome], theirs: Sequence[Outcome]) -> float:
    """How many times as many tokens the other way takes for an answer."""
    return per_answer(theirs) / per_answer(ours)


def interval(ours: Sequence[Outcome], theirs: Sequence[Outcome]) -> tuple[float, float]:
    """95 of 100 ratios of questions drawn again lie between these."""
    draw = random.Random(7)
    count = len(ours)
    ratios = []
    for _ in range(DRAWS):
        chosen = [draw.randrange(count) for _ in range(count)]
        ratios.append(ratio([ours[at] for at in chosen], [theirs[at] for at in chosen]))
    ratios.sort()
    return ratios[int(0.025 * DRAWS)], ratios[int(0.975 * DRAWS) - 1]


def paired_ratio(ours: Sequence[Outcome], theirs: Sequence[Outcome]) -> float:
    """The median of the questions' own ratios, where both find the answer."""
    both = [other.tokens / mine.tokens for mine, other in zip(ours, theirs, strict=True) if mine.found and other.found]
    return median(both) if both else math.nan


def best(results: dict[str, list[Outcome]]) -> str:
    """The policy that needs the fewest tokens for an answer."""
    return min(results, key=lambda name: per_answer(results[name]))
