"""What was discovered, on a screen and in a pipe."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ir.cli.location import link_to, place_of
from ir.cli.streams import dim
from ir.cli.visible import one_line, visible

if TYPE_CHECKING:
    from ir.app.discovering import DiscoverResponse
    from ir.cli.output import Output
    from ir.select import Disclosure, DiscoveryResult

__all__ = ["show"]

PLAIN_WIDTH = 140
SUMMARY_LINES = 3
#: Why a selection ended where it did, or was not made.
REASONS = {
    "abstain:no_candidates": "nothing matches",
    "abstain:custom": "the selector kept nothing",
    "abs_threshold": "the others are below the floor",
    "custom": "the selector's choice",
    "exhausted": "there are no others",
    "max_k": "no more than --max-k",
    "nonpositive_top": "no score is above 0",
    "rel_threshold": "the others score less than --rel times the best",
    "score_gap": "a gap in the scores follows",
    "top_k": "the first ones",
}
#: Where a floor is from.
FLOORS_FROM = {
    "given": "as given",
    "cases": "calibrated from cases",
    "probes": "from queries about other things",
}


def show(response: DiscoverResponse, output: Output) -> None:
    """Print what was committed to; the verdict, the calibration's word and notes go to stderr."""
    several = len(response.corpora) > 1
    for number, shown in enumerate(response.result.results, start=1):
        if output.pretty:
            _print_pretty(number, shown, output, several=several)
        else:
            _print_plain(shown, several=several)
    sys.stdout.flush()  # in a pipe, what is said about results comes after them too
    for line in _verdict(response):
        said = visible(f"ir: {line}")
        print(dim(said) if output.pretty else said, file=sys.stderr)


def _place(shown: Disclosure, *, several: bool) -> str:
    """Where it can be opened, or its id; with the corpus in front where there are several."""
    place = place_of(
        shown.artifact_id, shown.pointer or None, shown.metadata.get("line_start"), shown.metadata.get("page")
    )
    return f"{shown.source}  {place}" if several and shown.source else place


def _revealed(shown: Disclosure) -> list[tuple[str, str]]:
    """The texts beyond the summary, each with what it is."""
    texts = [("passage", shown.passage), ("body", shown.body)]
    return [(what, text) for what, text in texts if text is not None]


def _score(shown: Disclosure) -> float:
    """The score in its own corpus: one that was merged by rank only says where it stands."""
    own = shown.metadata.get("source_score")
    return float(own) if isinstance(own, (int, float)) else shown.score


def _remarks(shown: Disclosure) -> list[str]:
    notes = [f"{key}: {shown.metadata[key]}" for key in ("disclosure", "expansion") if shown.metadata.get(key)]
    bundle: Any = shown.metadata.get("bundle") or ()
    return notes + [f"bundled: {item['name']} ({item['size']:,} bytes)" for item in bundle]


def _print_plain(shown: Disclosure, *, several: bool) -> None:
    text = " ".join(shown.summary.split())
    if len(text) > PLAIN_WIDTH:
        text = text[: PLAIN_WIDTH - 1].rstrip() + "…"
    place = _place(shown, several=several).replace("  ", "\t", 1)
    print(visible(f"{place}: {_score(shown):.3f} {text}"))
    for what, revealed in _revealed(shown):
        print(visible(f"--- {what} of {one_line(shown.artifact_id)}\n{revealed}\n---"))
    for remark in _remarks(shown):
        print(f"    {one_line(remark)}")


def _print_pretty(number: int, shown: Disclosure, output: Output, *, several: bool) -> None:
    from rich.padding import Padding
    from rich.text import Text

    from ir.base import heading_of

    linked = f"bold cyan{link_to(shown.pointer)}"
    head = Text.assemble((f"{number:>2}  ", "dim"), (_place(shown, several=several), linked))
    head.append(f"  {_score(shown):.3f}", style="dim")
    heading = heading_of(shown.metadata) or (shown.name if shown.name != shown.artifact_id else "")
    if heading:
        head.append(f"  {one_line(heading)}", style="green")
    output.console.print(head)
    summary = [line for line in shown.summary.splitlines() if line.strip()][:SUMMARY_LINES]
    texts = _revealed(shown)
    for what, text in texts or [("", "\n".join(summary))]:
        if len(texts) > 1:
            output.console.print(Padding(Text(what, style="bold"), (0, 0, 0, 4)))
        output.console.print(Padding(Text(visible(text.strip())), (0, 0, 0, 4)))
    for remark in _remarks(shown):
        output.console.print(Padding(Text(one_line(remark), style="dim"), (0, 0, 0, 4)))
    output.console.print()


def _verdict(response: DiscoverResponse) -> list[str]:
    result = response.result
    if result.abstained:
        why = REASONS.get(result.reason) or _below(result)
        lines = [f"abstained: {why}"]
    else:
        sizes = f"{len(result.results)} of {result.n_retrieved} candidates"
        lines = [f"committed to {sizes}: {REASONS.get(result.reason, result.reason)}"]
    lines += _floors(result)
    answerable = _answerable(result.answerable)
    lines += [answerable] if answerable else []
    return lines + [note for note in response.notes if not (result.abstained and note.startswith("Off topic"))]


def _parts(result: DiscoveryResult) -> list[tuple[str, Mapping[str, Any]]]:
    """The signals of each source with its place in a sentence."""
    per_source = result.signals.get("per_source")
    return [(f" in {name}", part) for name, part in per_source.items()] if per_source else [("", result.signals)]


def _floors(result: DiscoveryResult) -> list[str]:
    """Which floor held for each source; why there was none stands among the notes, if it was not the user's wish."""
    from ir.select.signals import describe

    lines = []
    for where, part in _parts(result):
        if part.get("floor") is None:
            lines.append(f"floor{where}: none")
        else:
            origin = FLOORS_FROM.get(part["floor_from"], part["floor_from"])
            read = describe(part["gate_scale"]) if part.get("gate_scale") else "best score"
            lines.append(f"floor{where}: {part['floor']:.3f} on the {read}, {origin}, mode {part['floor_mode']}")
    return lines


def _below(result: DiscoveryResult) -> str:
    """Which floor was not reached, and by what."""
    from ir.select.signals import describe

    told = []
    for where, part in _parts(result):
        if part.get("floor") is not None and part.get("gate_score") is not None:
            read = describe(part["gate_scale"]) if part.get("gate_scale") else "best score"
            words = "no word of the query is there, and " if part.get("words_found") is False else ""
            told.append(f"{words}the {read}{where} is {part['gate_score']:.3f}, below the floor of {part['floor']:.3f}")
    return "off topic; " + "; ".join(told) if told else "below the floor"


def _answerable(answer: Any) -> str:
    if not answer:
        return ""
    source = f" in {answer['source']}" if answer.get("source") else ""
    error = answer.get("error_rate")
    if answer["probability"] is None:
        said = f"scores above {answer['above_probes']:.0%} of unrelated queries{source}"
        said += f"; the floor lets {error:.0%} of them in" if error is not None else ""
    else:
        said = f"on topic with probability {answer['probability']:.0%}{source}"
        said += f" (the floor errs on {error:.0%} of queries)" if error is not None else ""
    return f"{said}. That is about the topic: an answer may still be missing."
