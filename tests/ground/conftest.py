"""A small vocabulary that the tests share."""

from __future__ import annotations

import pytest

from ir.ground import Term, Vocabulary

TERMS = (
    Term(
        "machine-learning",
        "Machine Learning",
        "Programs that learn from data.",
        "topic",
        900,
        ("statistical-learning",),
    ),
    Term("kubernetes", "Kubernetes", "Runs containers on many machines.", "tool", 700, ("kube",)),
    Term("internet-of-things", "Internet of Things", "Devices in a network (IoT).", "topic", 300),
    Term("csharp", "C#", "A language by Microsoft.", "language", 500, ("c-sharp",)),
    Term("c", "C", "A language close to the machine.", "language", 650),
    Term("green-tea", "Green tea", "Leaves that were not fermented.", "drink", 40, ("sencha", "grüner Tee")),
    Term("coffee", "Coffee", "A drink of roasted beans.", "drink", 80, ("espresso", "java")),
    Term("java", "Java", "A language for many machines.", "language", 800),
)


@pytest.fixture(scope="session")
def plain() -> Vocabulary:
    """Without any model."""
    return Vocabulary.of(TERMS, embedders=(), policy={"coffee": 0.97, "java": 0.4})


@pytest.fixture(scope="session")
def boxed() -> Vocabulary:
    return Vocabulary.of(TERMS)
