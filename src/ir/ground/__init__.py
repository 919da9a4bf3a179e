"""Which terms of a fixed vocabulary does a phrase mean?

:class:`Vocabulary` holds the terms, :func:`ground` finds them. ``ir.ground.psq`` is a second door with a contract of
its own: candidates by subword neighbours and context, for those who have usage data in millions.
"""

from ir.ground.choosing import choose_by_rule, make_llm_chooser, term_schema
from ir.ground.context import ContextModel
from ir.ground.evaluation import Case, Evaluation, evaluate, held_back_aliases
from ir.ground.folding import Folding
from ir.ground.formulator import ground_formulator
from ir.ground.grounding import Grounded, Grounding, Reason, ground
from ir.ground.lint import lint
from ir.ground.phrases import phrases_in
from ir.ground.reading import read_policy, read_terms, read_usage
from ir.ground.subword import Subwords
from ir.ground.terms import Term
from ir.ground.training import train_subwords
from ir.ground.usage import UsageDocument
from ir.ground.vocabulary import Vocabulary
from ir.ground.weights import Weights

__all__ = [
    "Case",
    "ContextModel",
    "Evaluation",
    "Folding",
    "Grounded",
    "Grounding",
    "Reason",
    "Subwords",
    "Term",
    "UsageDocument",
    "Vocabulary",
    "Weights",
    "choose_by_rule",
    "evaluate",
    "ground",
    "ground_formulator",
    "held_back_aliases",
    "lint",
    "make_llm_chooser",
    "phrases_in",
    "read_policy",
    "read_terms",
    "read_usage",
    "term_schema",
    "train_subwords",
]
