"""The YAML block that opens a Markdown file."""

from __future__ import annotations

import re
from datetime import date
from typing import Any, NamedTuple

__all__ = ["FrontMatter", "split_front_matter"]

LARGEST = 64 * 1024
_DEEPEST = 20
_CLOSE = re.compile(r"^(?:---|\.\.\.)[ \t]*\r?$", re.MULTILINE)


class FrontMatter(NamedTuple):
    """The fields, the text after them, the 1-based line where that starts, and what was wrong with the block."""

    fields: dict[str, Any]
    body: str
    first_line: int
    problem: str | None = None


def split_front_matter(text: str) -> FrontMatter:
    """The front matter of a text, apart from the rest. A broken block stays in the text and is named as a problem.

    >>> split_front_matter("---\\ntitle: A\\n---\\nbody")
    FrontMatter(fields={'title': 'A'}, body='body', first_line=4, problem=None)
    """
    if not text.startswith(("---\n", "---\r\n")):
        return FrontMatter({}, text, 1)
    opening = text.index("\n") + 1
    close = _CLOSE.search(text, opening, opening + LARGEST)
    if close is None:
        # A lone rule at the top is Markdown; a block that begins like YAML and never ends is a mistake.
        yaml_like = re.match(r"[A-Za-z_][\w-]*:(?:[ \t]|\r?$)", text[opening : opening + 200], re.MULTILINE)
        problem = f"front matter has no closing '---' within {LARGEST // 1024} KB" if yaml_like else None
        return FrontMatter({}, text, 1, problem)
    try:
        fields = _load(text[opening : close.start()])
    # A YAML reader fails in many ways on hostile input; none of them may end an indexing run.
    except Exception as error:
        reason = " ".join(str(error).split())[:200]
        return FrontMatter({}, text, 1, f"front matter is not usable YAML: {reason}")
    end = min(close.end() + 1, len(text))
    return FrontMatter(fields, text[end:], text.count("\n", 0, end) + 1)


def _load(block: str) -> dict[str, Any]:
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    depth = 0
    for event in yaml.parse(block, Loader=loader):
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None) is not None:
            raise ValueError("aliases and anchors are not allowed")
        if isinstance(event, (yaml.SequenceStartEvent, yaml.MappingStartEvent)):
            depth += 1
            if depth > _DEEPEST:
                raise ValueError(f"nested more than {_DEEPEST} deep")
        elif isinstance(event, (yaml.SequenceEndEvent, yaml.MappingEndEvent)):
            depth -= 1
    loaded = yaml.load(block, Loader=loader)
    if loaded is None:
        return {}
    if not isinstance(loaded, dict):
        raise ValueError(f"a mapping is expected, not a {type(loaded).__name__}")
    fields = {str(key): _plain(value) for key, value in loaded.items()}
    # A title is there to be searched, and only text can be.
    if type(fields.get("title")) in (int, float):
        fields["title"] = str(fields["title"])
    return fields


def _plain(value: Any) -> Any:
    if isinstance(value, date):
        return value.isoformat()
    return [_plain(item) for item in value] if isinstance(value, list) else value
