"""Search results on a screen and in a pipe."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from ir.cli.location import link_to, place_of
from ir.cli.visible import one_line, visible

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.text import Text

    from ir.app.citation import Citation
    from ir.app.keywords import KeywordSearchResponse
    from ir.app.searching import Found, SearchResponse
    from ir.app.similarity import SimilarResponse
    from ir.app.traversing import TraverseResponse
    from ir.cli.output import Output

__all__ = ["location", "show", "show_found"]

PLAIN_WIDTH = 200
#: How much of a long line is shown before its first match.
PLAIN_LEAD = 50
MAX_LINES = 4


def show(response: SearchResponse | KeywordSearchResponse, output: Output) -> None:
    """Print the hits; what is said about them goes to stderr."""
    several = len(response.corpora) > 1
    for found in response.found:
        before = f"{found.hit.source}\t" if several else ""
        if output.pretty:
            output.console.print(_pretty(found, response.words, before.replace("\t", "  ")))
        else:
            print(one_line(before[:-1]) + before[-1:] + _plain(found, response.words))
    sys.stdout.flush()  # in a pipe, what is said about hits comes after them too
    for note in response.notes:
        print(visible(f"ir: {note}"), file=sys.stderr)
    if not response.found:
        print(f"ir: nothing in {response.corpus!r} matches", file=sys.stderr)


def show_found(response: SimilarResponse | TraverseResponse, output: Output) -> None:
    """Print hits that no query of words found."""
    for found in response.found:
        if output.pretty:
            output.console.print(_pretty(found, {}))
        else:
            print(_plain(found, {}))
    sys.stdout.flush()  # in a pipe, what is said about hits comes after them too
    for note in response.notes:
        print(visible(f"ir: {note}"), file=sys.stderr)
    if not response.found:
        print(f"ir: nothing in {response.corpus!r}", file=sys.stderr)


def location(found: Found) -> str:
    """Where the hit can be opened."""
    cited = found.citation
    return place_of(found.hit.artifact_id, cited.path, cited.line, cited.page_label, cited.cell)


def _plain(found: Found, words: Mapping[str, str]) -> str:
    linked = "(linked) " if found.hit.metadata.get("linked") else ""
    lines = [f"{location(found)}: {found.hit.score:.3f} {linked}{_cut(found.citation)}"]
    lines += [f"    {reason}" for reason in _reasons(found, words)]
    return visible("\n".join(lines))


def _cut(place: Citation) -> str:
    """One line of the excerpt, from the line that is cited on; from nearer to its first match if that is far off."""
    begin = place.focus
    first = next((mark for mark in place.marks if mark[0] >= begin), None)
    cut = ""
    if first is not None and len(_flat(place.excerpt[begin : first[1]])) >= PLAIN_WIDTH:
        begin = max(begin, first[0] - PLAIN_LEAD)
        # From the next word on, unless that is the match itself.
        begin += place.excerpt[begin : first[0]].find(" ") + 1
        cut = "…"
    text = cut + _flat(place.excerpt[begin:])
    return text[: PLAIN_WIDTH - 1].rstrip() + "…" if len(text) > PLAIN_WIDTH else text


def _flat(text: str) -> str:
    return " ".join(text.split())


def _pretty(found: Found, words: Mapping[str, str], before: str = "") -> RenderableType:
    from rich.console import Group
    from rich.padding import Padding
    from rich.text import Text

    place = found.citation
    linked = f"bold cyan{link_to(place.path)}"
    head = Text.assemble((f"{found.rank:>2}  {one_line(before)}", "dim"), (location(found), linked), overflow="fold")
    head.append(f"  {found.hit.score:.3f}", style="dim")
    if found.hit.metadata.get("linked"):
        head.append("  linked", style="dim")
    heading = _heading(found)
    if heading:
        head.append(f"  {one_line(heading)}", style="green")
    reasons = Text(visible("\n".join(_reasons(found, words))), style="dim")
    parts = [Padding(text, (0, 0, 0, 4)) for text in (_excerpt(place), reasons) if text.plain]
    return Group(head, *parts, Text())


def _excerpt(place: Citation) -> Text:
    """A few lines of the excerpt, from just above the one that is cited on, with the matches marked."""
    from rich.text import Text

    body = Text(visible(place.excerpt))
    for start, end in place.marks:
        body.stylize("bold yellow", start, end)
    lines = [line for line in body.split("\n") if line.plain.strip()]
    above = sum(1 for line in place.excerpt[: place.focus].split("\n") if line.strip())
    return Text("\n").join(lines[max(0, above - 1) :][:MAX_LINES])


def _heading(found: Found) -> str:
    name = found.hit.metadata.get("name")
    return found.citation.heading or (name if isinstance(name, str) else "")


def _reasons(found: Found, words: Mapping[str, str]) -> list[str]:
    """Why the hit stands where it does, one line to a channel; nothing unless it was asked for."""
    why = found.hit.explanation
    if why is None:
        return []
    shares = why.get("shares", {})
    lines = [_channel(name, channel, shares.get(name)) for name, channel in why.get("channels", {}).items()]
    here, missing = (_written(why.get(name, ()), words) for name in ("matched_terms", "missing_terms"))
    lines.append(f"words    {here or 'none found'}" + (f"; not here: {missing}" if missing else ""))
    lines += [f"{name:<8} {value:+.3f}" for name, value in why.get("boosts", {}).items()]
    return lines


def _written(terms: Iterable[str], words: Mapping[str, str]) -> str:
    """Terms as the user wrote them; an identifier and its parts are one word."""
    return ", ".join(dict.fromkeys(words.get(term, term) for term in terms))


def _channel(name: str, channel: Any, share: float | None) -> str:
    place = f"rank {channel['rank']}" if channel.get("rank") else "not in its list"
    part = f", adds {share:.3f}" if share is not None else ""
    return f"{name:<8} {place}, score {channel['score']:.3f}{part}"
