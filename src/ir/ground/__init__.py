"""Which terms of a fixed vocabulary does a phrase mean?

:class:`Vocabulary` holds the terms, :func:`ground` finds them. ``ir.ground.psq`` is a second door with a contract of
its own: candidates by subword neighbours and context, for those who have usage data in millions.
"""

from ir.ground.folding import Folding
from ir.ground.grounding import Grounded, Grounding, Reason, ground
from ir.ground.terms import Term
from ir.ground.vocabulary import Vocabulary
from ir.ground.weights import Weights

__all__ = ["Folding", "Grounded", "Grounding", "Reason", "Term", "Vocabulary", "Weights", "ground"]
