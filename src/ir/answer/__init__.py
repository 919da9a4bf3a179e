"""What do the passages that were found say to a question? An answer that cites them, piece by piece as it is written.

>>> from ir.answer import Passage, answer_events
>>> passages = [Passage(1, "tea.md", "Green tea is steeped at 80 degrees. It is never boiled.", label="tea.md:1")]
>>> events = list(answer_events("How hot is green tea steeped?", passages))
>>> [event.kind for event in events if event.kind != "token"], events[-1].data["answer"]
(['context', 'generation', 'complete'], 'Green tea is steeped at 80 degrees. [1]')
"""

from __future__ import annotations

from ir.answer.citations import Checked, checked
from ir.answer.events import Event, answer_events
from ir.answer.extract import extracted
from ir.answer.passages import Passage
from ir.answer.prompt import follow_up, prompt_for

__all__ = ["Checked", "Event", "Passage", "answer_events", "checked", "extracted", "follow_up", "prompt_for"]
