"""Search results on a screen and in a pipe."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.text import Text

    from ir.app.searching import Found, SearchResponse
    from ir.cli.output import Output

__all__ = ["location", "show"]

PLAIN_WIDTH = 160


def show(response: SearchResponse, output: Output) -> None:
    """Print the hits; what is said about them goes to stderr."""
    for found in response.found:
        if output.pretty:
            output.console.print(_pretty(found), soft_wrap=True)
        else:
            print(_plain(found))
    for note in response.notes:
        print(f"ir: {note}", file=sys.stderr)
    if not response.found:
        print(f"ir: nothing in {response.corpus!r} matches", file=sys.stderr)


def location(found: Found) -> str:
    """``file:line`` as a terminal or an editor opens it, relative to the current folder where it lies inside."""
    place = found.citation
    if place.path is None:
        return found.hit.artifact_id
    path = Path(place.path)
    if path.is_absolute() and path.is_relative_to(Path.cwd()):
        path = path.relative_to(Path.cwd())
    if place.line is not None:
        return f"{path}:{place.line}"
    return f"{path} (page {place.page})" if place.page is not None else str(path)


def _plain(found: Found) -> str:
    text = " ".join(found.citation.excerpt.split())
    if len(text) > PLAIN_WIDTH:
        text = text[: PLAIN_WIDTH - 1].rstrip() + "…"
    lines = [f"{location(found)}: {found.hit.score:.3f} {text}"]
    lines += [f"    {reason}" for reason in _reasons(found)]
    return "\n".join(lines)


def _pretty(found: Found) -> Text:
    from rich.text import Text

    place = found.citation
    link = f" link {Path(place.path).as_uri()}" if place.path and Path(place.path).is_absolute() else ""
    out = Text.assemble((f"{found.rank:>2}  ", "dim"), (location(found), f"bold cyan{link}"))
    out.append(f"  {found.hit.score:.3f}", style="dim")
    heading = _heading(found)
    if heading:
        out.append(f"  {heading}", style="green")
    body = Text(place.excerpt)
    for start, end in place.marks:
        body.stylize("bold yellow", start, end)
    for line in body.split("\n"):
        line.rstrip()
        if line.plain.strip():
            out.append("\n    ").append_text(line)
    for reason in _reasons(found):
        out.append(f"\n    {reason}", style="dim")
    return out.append("\n")


def _heading(found: Found) -> str:
    from ir.base import heading_of

    name = found.hit.metadata.get("name")
    return heading_of(found.hit.metadata) or (name if isinstance(name, str) else "")


def _reasons(found: Found) -> list[str]:
    """Why the hit stands where it does, one line to a channel; nothing unless it was asked for."""
    why = found.hit.explanation
    if why is None:
        return []
    shares = why.get("shares", {})
    lines = [_channel(name, channel, shares.get(name)) for name, channel in why.get("channels", {}).items()]
    terms = f"terms    {', '.join(why.get('matched_terms', ())) or 'none matched'}"
    missing = why.get("missing_terms", ())
    lines.append(terms + (f"; not here: {', '.join(missing)}" if missing else ""))
    lines += [f"{name:<8} {value:+.3f}" for name, value in why.get("boosts", {}).items()]
    return lines


def _channel(name: str, channel: Any, share: float | None) -> str:
    place = f"rank {channel['rank']}" if channel.get("rank") else "not in its list"
    part = f", adds {share:.3f}" if share is not None else ""
    return f"{name:<8} {place}, score {channel['score']:.3f}{part}"
