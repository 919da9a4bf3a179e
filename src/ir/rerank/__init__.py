"""Which of the best candidates answer the query best, read together with it?

:func:`resolve_reranker` is the door. A reranker is a callable ``(query, segments) -> scores``, one score for each
segment, higher is better. Ours keep a deadline and report what they did; when one fails it raises
:class:`~ir.errors.RerankError`, and a search then keeps the order of its first stage and tells the reason. A function
that raises anything, or is late, is treated the same.
"""

from ir.rerank.breaker import CircuitBreaker
from ir.rerank.cross_encoder import CrossEncoder
from ir.rerank.http import HttpReranker
from ir.rerank.maxsim import MaxSim
from ir.rerank.report import Reranked, RerankReport
from ir.rerank.resolve import resolve_reranker

__all__ = ["CircuitBreaker", "CrossEncoder", "HttpReranker", "MaxSim", "RerankReport", "Reranked", "resolve_reranker"]
