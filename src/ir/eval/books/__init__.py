"""How well are questions about books answered? Questions, their gold, measures, and reports of them."""

from __future__ import annotations

from ir.eval.books.harness import evaluate_books
from ir.eval.books.questions import BookQuestion, Gold, find_questions, kept_questions, read_questions
from ir.eval.books.report import BookReport, book_markdown, save_book_report

__all__ = [
    "BookQuestion",
    "BookReport",
    "Gold",
    "book_markdown",
    "evaluate_books",
    "find_questions",
    "kept_questions",
    "read_questions",
    "save_book_report",
]
