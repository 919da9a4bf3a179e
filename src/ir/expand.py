"""What stands around a hit? Its neighbours in the same artifact, put together again as one text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ir.base import Record, SearchHit, json_clean
from ir.errors import InvalidInput, SeedNotFound
from ir.options import count
from ir.protocols import NeighborhoodPolicy, StoreOrName
from ir.secrets.texts import for_show

__all__ = [
    "DFLT_MIN_STITCH_OVERLAP",
    "DFLT_WINDOW",
    "Passage",
    "SeedNotFound",
    "expand",
    "parent_policy",
    "sentence_window_policy",
]

DFLT_WINDOW = 1
#: Two texts without offsets are taken to overlap only if at least so many characters agree.
DFLT_MIN_STITCH_OVERLAP = 8
#: Between neighbours, a gap of no more characters is the white space that was trimmed where they were cut.
MAX_TRIMMED = 16
_OMISSION = "\n…\n"


@dataclass(frozen=True)
class Passage:
    """A hit with its neighbourhood as ``text``; identity and score are the hit's own.

    ``record_ids`` are the records the text was made of, in order; empty if it is only the hit's own text.
    """

    artifact_id: str
    surface_kind: str
    score: float
    text: str
    record_ids: tuple[str, ...] = ()
    source: str | None = None
    surface_index: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """The passage in JSON's types only, with stars for the keys in its text."""
        clean: dict[str, Any] = for_show(json_clean(asdict(self)))
        return clean


def sentence_window_policy(k: int = DFLT_WINDOW) -> NeighborhoodPolicy:
    """The hit's record and up to ``k`` before and after it, of its own surface kind."""
    k = count("k", k, 0)

    def window(hit: SearchHit, siblings: Sequence[Record]) -> Sequence[Record]:
        if hit.surface_index is None:
            raise SeedNotFound(
                f"The hit on {hit.artifact_id!r} has no surface_index, so its place in the artifact is unknown.",
                remedy="Use parent_policy(), which takes the whole artifact.",
            )
        same_kind = [record for record in siblings if record.surface_kind == hit.surface_kind]
        for place, record in enumerate(same_kind):
            if record.surface_index == hit.surface_index:
                return same_kind[max(place - k, 0) : place + k + 1]
        raise SeedNotFound(
            f"{hit.artifact_id!r} has no stored {hit.surface_kind!r} surface number {hit.surface_index}.",
            remedy="The hit is older than the index, or from another corpus: search again in this one.",
        )

    return window


def parent_policy() -> NeighborhoodPolicy:
    """The whole artifact, as far as it is indexed."""
    return lambda hit, siblings: siblings


def expand(
    hit: SearchHit,
    corpus: StoreOrName,
    *,
    policy: Callable[[SearchHit, Sequence[Record]], Sequence[Record]] | None = None,
) -> Passage:
    """The neighbourhood of a hit in the corpus it came from (a corpus, a store or a name).

    ``policy`` chooses among the artifact's records, by default one to each side; what it chooses is put in order and
    stitched without repeating what overlaps. If it chooses nothing, the passage is the hit's own text.
    """
    from ir.retrieve import records_for_artifact

    siblings = records_for_artifact(corpus, hit.artifact_id)
    chosen = (policy or sentence_window_policy())(hit, siblings)
    by_id = {record.id: record for record in siblings}
    wanted = {record.id for record in chosen}
    foreign = sorted(wanted - by_id.keys())
    if foreign:
        raise InvalidInput(f"The policy returned records that do not belong to {hit.artifact_id!r}: {foreign}.")
    kept = [record for record in siblings if record.id in wanted]
    return Passage(
        artifact_id=hit.artifact_id,
        surface_kind=hit.surface_kind,
        score=hit.score,
        text=stitch(kept) if kept else hit.text,
        record_ids=tuple(record.id for record in kept),
        source=hit.source,
        surface_index=hit.surface_index,
    )


def stitch(records: Sequence[Record]) -> str:
    """The texts of records in plan order as one, each overlap once; ``…`` stands where something is left out.

    Offsets say what overlaps. Without them, the end of one text that the next one begins with is taken for an overlap,
    if they are neighbours; a text that comes twice as a whole is there twice.
    """
    text = ""
    last: Record | None = None
    reach: int | None = None
    for record in records:
        if last is None:
            text = record.text
        elif last.surface_kind != record.surface_kind:
            text += "\n\n" + record.text
            reach = None
        else:
            text += _added(text, last, record, reach)
        last = record
        end = _offset(record, "end")
        reach = end if reach is None or end is None else max(end, reach)
    return text


def _added(text: str, last: Record, record: Record, reach: int | None) -> str:
    """What a record adds to the ``text`` so far, which ends with ``last`` and is known up to the offset ``reach``."""
    adjacent = record.surface_index == last.surface_index + 1
    start, end = _offset(record, "start"), _offset(record, "end")
    if reach is not None and start is not None and end is not None:
        shared = reach - start
        if shared < 0:
            trimmed = adjacent and -shared <= MAX_TRIMMED
            return ("\n" if trimmed else _OMISSION) + record.text
        if end <= reach and record.text in text:
            return ""
        if text.endswith(record.text[:shared]):
            return record.text[shared:]
    if not adjacent:
        return _OMISSION + record.text
    shared = overlap(last.text, record.text)
    if DFLT_MIN_STITCH_OVERLAP <= shared < len(record.text):
        return record.text[shared:]
    return "\n" + record.text


def _offset(record: Record, name: str) -> int | None:
    value = record.metadata.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def overlap(before: str, after: str) -> int:
    """The length of the longest end of ``before`` that ``after`` begins with.

    >>> overlap("the quick brown", "brown fox"), overlap("abc", "xyz")
    (5, 0)
    """
    tail = before[-len(after) :] if after else ""
    # The failure function of Knuth, Morris and Pratt: linear, where trying every length is quadratic.
    fallback = [0] * len(after)
    matched = 0
    for place in range(1, len(after)):
        while matched and after[place] != after[matched]:
            matched = fallback[matched - 1]
        matched += after[place] == after[matched]
        fallback[place] = matched
    matched = 0
    for character in tail:
        while matched and (matched == len(after) or character != after[matched]):
            matched = fallback[matched - 1]
        matched += character == after[matched]
    return matched
