"""No text takes for ever to be shown."""

from __future__ import annotations

import time

from ir.analysis import analyzer_for
from ir.analysis.excerpts import excerpt


def test_a_long_rule_with_a_word_at_its_end_is_read_at_once() -> None:
    for text in ("-" * 5000 + "x tea", "- " * 5000 + "tea", "tea\n" + "|-+" * 2000 + " kettle", "=" * 5000):
        began = time.process_time()
        excerpt(analyzer_for("english"), text, {"tea"}, 300)
        assert time.process_time() - began < 1
