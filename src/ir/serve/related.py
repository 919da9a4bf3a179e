"""Answers about code: a definition, and what is related to it; as :mod:`ir.serve.answers` makes all others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ir.app.documents import tokens_of
from ir.serve.answers import NOTICE, Answer, Page, as_line, barred
from ir.serve.budget import cost, shortened

__all__ = ["relations", "symbol"]

#: What a cursor and its frame may take.
_FRAME = 60
#: So many definitions of one name are told apart, and so many similar names told.
_NAMED = 5
_TESTS = 40


def relations(response: Any, *, skip: int, budget: int, notes: Sequence[str], fresh: str) -> Answer:
    """What is related to a definition, tier by tier, each with its place."""
    said = [shortened(note, 60) for note in dict.fromkeys((*notes, *response.notes)) if "to go on: skip=" not in note]
    head: dict[str, Any] = {"corpus": response.corpus, "index": fresh, "relation": response.relation}
    lines = [as_line(f"{response.relation} of {shortened(response.symbol, 60)} in {response.corpus}; index {fresh}.")]
    definitions = [_defined(one) for one in response.definitions[:_NAMED]]
    head |= {"of": definitions} if definitions else {}
    lines += [as_line(f"of {one}") for one in definitions]
    others = [_defined(one) for one in response.others[:_NAMED]]
    if others:
        head |= {"others": others, "total_others": response.total_others}
        lines += [f"{response.total_others} more of this name:", *(as_line(f"- {one}") for one in others)]
    if response.reason is not None:
        why = shortened(response.why, 80)
        near = list(response.near[:_NAMED])
        head |= {"results": [], "reason": response.reason, "why": why} | ({"near": near} if near else {})
        lines += [as_line(f"Nothing: {why}")] + ([as_line(f"Similar names: {', '.join(near)}")] if near else [])
    if response.counts:
        head["counts"] = dict(response.counts)
        lines.append("; ".join(f"{how} {count}" for how, count in response.counts.items()))
    head |= {"notes": said} if said else {}
    lines += [as_line(f"Note: {note}") for note in said]
    if response.reason is not None:
        return Answer(shortened("\n".join(lines), budget), _within(head, budget))
    tests, told = _tests(response, budget // 3) if not skip else ([], [])
    spare = cost(tests) + tokens_of("\n".join(told))
    page = Page(max(budget - _FRAME - spare, 1), _within(head, budget * 2 // 3), _cut(lines, budget * 2 // 3))
    tier = ""
    for one in response.found:
        entry = _entry(one)
        begins = _tier(one)
        text = as_line(f"{entry['at']} {entry['name']}")
        if not page.add(entry, [text] if begins == tier else [f"{begins}:", text]):
            break
        tier = begins
    structured = {**page.head, "results": page.entries}
    if tests:
        structured |= {"tests": tests, "total_tests": response.total_tests}
    shown = len(page.entries)
    more = shown < len(response.found) or response.next_skip is not None
    return Answer("\n".join([*page.lines, *told]), structured, skip + shown, more)


def symbol(response: Any, *, budget: int, notes: Sequence[str], fresh: str) -> Answer:
    """A definition with its text and the surest of what is related to it."""
    said = [shortened(note, 60) for note in dict.fromkeys((*notes, *response.notes))]
    head: dict[str, Any] = {"corpus": response.corpus, "index": fresh, "notice": NOTICE}
    lines = [f"{response.corpus}; index {fresh}. {NOTICE}", *(as_line(f"Note: {note}") for note in said)]
    head |= {"notes": said} if said else {}
    one = response.definition
    if one is None:
        near = list(response.near[:_NAMED])
        why = shortened(response.why, 80)
        head |= {"reason": response.reason, "why": why} | ({"near": near} if near else {})
        lines += [as_line(f"Nothing: {why}")] + ([as_line(f"Similar names: {', '.join(near)}")] if near else [])
        return Answer(shortened("\n".join(lines), budget), head)
    at = f"{one.path}:{one.line}-{one.end_line}"
    head |= {"at": at, "name": one.name, "kind": one.kind, "key": one.key, "text": response.text}
    lines += [as_line(f"{at} {one.kind} {one.name}"), *barred(response.text)]
    if response.more:
        head["more"] = response.more
        lines.append(as_line(f"The rest: get items={response.more!r}"))
    for relation in ("callers", "tests", "callees", "implementations"):
        found = list(getattr(response, relation))
        if found:
            head[relation] = found
            lines += [f"{relation}, {response.totals.get(relation, len(found))} in all:", *map(as_line, found)]
    if response.totals:
        head["totals"] = dict(response.totals)
    if response.others:
        head["others"] = list(response.others)
        lines += [as_line(f"Others of this name: {', '.join(response.others)}")]
    return Answer("\n".join(lines), head, 1)


def _tests(response: Any, budget: int) -> tuple[list[dict[str, Any]], list[str]]:
    """The tests that are affected, as many as fit."""
    page = Page(budget, {}, [f"Affected tests, {response.total_tests} in all:"] if response.tests else [])
    for one in response.tests[:_TESTS]:
        entry = _entry(one)
        if not page.add(entry, [as_line(f"{entry['at']} {entry['name']}")]):
            break
    return page.entries, page.lines


def _entry(one: Any) -> dict[str, Any]:
    entry = {"at": f"{one.path}:{one.line}", "name": one.name, "resolution": one.resolution}
    entry |= {"link": one.link} if one.link != "calls" else {}
    return entry | ({"depth": one.depth} if one.depth > 1 else {})


def _tier(one: Any) -> str:
    told = one.resolution if one.link == "calls" else f"{one.resolution}, {one.link}"
    return f"{told}, depth {one.depth}" if one.depth > 1 else told


def _defined(one: Any) -> str:
    told = f"{one.path}:{one.line} {one.kind} {one.name}"
    signature = f" | {shortened(one.signature, 40)}" if one.signature else ""
    return f"{told}{signature}" + (f" [{one.change}]" if one.change else "")


def _within(head: dict[str, Any], budget: int) -> dict[str, Any]:
    """A head that leaves room: what tells names apart goes first where there is little."""
    for name in ("others", "notes", "near", "of"):
        if cost(head) <= budget:
            break
        head = {key: value for key, value in head.items() if key != name}
    return head


def _cut(lines: Sequence[str], budget: int) -> list[str]:
    kept: list[str] = []
    for line in lines:
        if kept and tokens_of("\n".join([*kept, line])) > budget:
            break
        kept.append(line)
    return kept
