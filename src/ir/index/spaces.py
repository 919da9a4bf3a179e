"""Several embeddings of one corpus: a space is added, filled, made the default, dropped."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

from ir.base import embedding_text
from ir.errors import EmbedderMismatch, InvalidInput
from ir.index.embedder import embed_checked, is_of, resolve, spec_text
from ir.index.embedding import Embedding, More
from ir.index.progress import Listener, Progress
from ir.options import count
from ir.select.gate import AUTOMATIC

if TYPE_CHECKING:
    from ir.base import Vector
    from ir.index.corpus import Corpus
    from ir.protocols import Embedder, Store

__all__ = [
    "DESCRIBED",
    "FLOOR",
    "add_space",
    "described",
    "drop_space",
    "embedded",
    "fill",
    "free_name",
    "parts",
    "switch_space",
    "use_space",
]

#: The settings that tell of the model of a space; those of the default space stand beside the others.
DESCRIBED = ("embedder", "embedder_id", "fingerprint", "dim", "alpha")
#: What is kept of a space that is not the default one beside that: the floor that it had when it last was.
FLOOR = "floor"
_SPACES = "spaces"
_UNFIT = re.compile(r"[^A-Za-z0-9._-]+")
#: So many records are embedded between two writes; each write stays, whatever happens next.
_BATCHES = 8
_LOOKED_AT = 200


def described(embedder: Any, spec: str, embedder_id: str, dim: int | None) -> dict[str, Any]:
    """What a corpus keeps of the model of a space."""
    found = getattr(embedder, "fingerprint", None)
    settings = {"embedder": spec, "embedder_id": embedder_id, "dim": dim}
    settings["fingerprint"] = None if found is None else str(found)
    alpha = getattr(embedder, "blend_alpha", None)
    return settings if alpha is None else {**settings, "alpha": float(alpha)}


def free_name(embedder_id: str, taken: Iterable[str]) -> str:
    """A name for the space of a model that no space has yet.

    >>> free_name("openai:text-3 small", ["main"]), free_name("light", ["main", "light"])
    ('openai-text-3-small', 'light-2')
    """
    held = set(taken)
    name = _UNFIT.sub("-", embedder_id).strip("-._")[:50] or "space"
    return next(made for made in (name, *(f"{name}-{number}" for number in range(2, 10_000))) if made not in held)


def add_space(
    corpus: Corpus,
    name: str,
    *,
    embedder: Any,
    batch_size: int = 256,
    progress: Listener | None = None,
) -> int:
    """Embed a corpus by another model too, into a space of its own; how many texts were embedded.

    Searches go on as before; ``search(space=name)`` reads the new one, and :func:`use_space` makes it the default.
    What was embedded stays if this breaks off, and is not embedded again when it is called again with the same model.
    """
    batch_size = count("batch_size", batch_size)
    model, embedder_id = resolve(embedder)
    store = corpus.store
    settings = described(model, spec_text(embedder), embedder_id, None)
    with store.transaction():
        config = store.get_config()
        held = config.get(_SPACES, {}).get(name)
        if name not in store.spaces() or held is None:
            store.add_space(name)
        elif held.get("embedder_id") != embedder_id or not is_of(model, held.get("fingerprint")):
            raise EmbedderMismatch(
                f"The space {name!r} of {corpus.name!r} holds vectors of {held.get('embedder_id')!r}, "
                f"not of {embedder_id!r}.",
                remedy="Choose another name, or drop the space first.",
            )
        store.set_config({**config, _SPACES: {**config.get(_SPACES, {}), name: settings}})
    done = fill(store, name, model, store.unembedded(space=name), batch_size=batch_size, progress=progress)
    tell = progress or (lambda step: None)
    tell(Progress("write", 0, None))
    with store.transaction():  # also makes what searches need of the new vectors
        config = store.get_config()
        described_now = {**config[_SPACES][name], "dim": store.spaces()[name]}
        store.set_config({**config, _SPACES: {**config[_SPACES], name: described_now}})
    tell(Progress("write", 1, 1))
    return done


def use_space(corpus: Corpus, name: str) -> None:
    """Make a space the default one; what it was before stays until it is dropped.

    The floor that builds make goes and comes with its space. Floors that somebody calibrated for the other model do not
    hold for this one, and know that by its id.
    """
    switch_space(corpus.store, name)


def switch_space(store: Store, name: str, *, floor: Mapping[str, Any] | None = None) -> None:
    """:func:`use_space` for a store; ``floor`` stands for the one that the space had. All of it is one transaction."""
    with store.transaction():
        config, former = store.get_config(), store.default_space
        if name == former:
            return
        settings = config.get(_SPACES, {}).get(name)
        if settings is None:
            store.set_default_space(name)  # refuses a name that is not there
            raise InvalidInput(f"Nothing is known of the model of the space {name!r}.")
        others = {known: told for known, told in config[_SPACES].items() if known != name}
        others[former] = {key: config[key] for key in DESCRIBED if key in config}
        held = store.get_calibration(AUTOMATIC)
        if held is not None and held.get("embedder_id") == config.get("embedder_id"):
            others[former][FLOOR] = held
        floor = floor or settings.get(FLOOR)
        kept = {key: value for key, value in config.items() if key not in DESCRIBED}
        described_now = {key: value for key, value in settings.items() if key != FLOOR}
        store.set_default_space(name)
        store.set_config({**kept, **described_now, _SPACES: others})
        if floor is not None:
            store.set_calibration(AUTOMATIC, floor)
        elif held is not None:
            store.delete_calibration(AUTOMATIC)


def drop_space(corpus: Corpus, name: str) -> None:
    """Remove a space with its vectors; the default one cannot be dropped."""
    store = corpus.store
    with store.transaction():
        store.drop_space(name)
        config = store.get_config()
        others = {known: told for known, told in config.get(_SPACES, {}).items() if known != name}
        store.set_config({**{key: value for key, value in config.items() if key != _SPACES}, **_kept(others)})


def _kept(others: Mapping[str, Any]) -> dict[str, Any]:
    return {_SPACES: dict(others)} if others else {}


def fill(
    store: Store,
    space: str,
    embedder: Embedder,
    record_ids: Sequence[str],
    *,
    batch_size: int,
    progress: Listener | None,
    see: Callable[[Sequence[Vector]], None] | None = None,
    alone: bool = False,
    embedding: Embedding | None = None,
    ahead: int = 0,
) -> int:
    """Give records their vectors in a space, in the order of their lengths within each batch; how many there were.

    A record that is rewritten meanwhile gets no vector of its old text, unless the caller is ``alone``: in a
    transaction of its own nobody else writes. Where this is one of several calls, ``embedding`` is what all of them
    embed with, and ``ahead`` how many records are left for the next ones.
    """
    made = embedding or Embedding(embedder, batch_size=batch_size, listener=progress, dim=store.spaces()[space])
    left = len(record_ids) + ahead
    usual = _usual_length(store, record_ids) if progress is not None else 0.0
    for part in parts(record_ids, batch_size * _BATCHES):
        texts = {one.id: embedding_text(one.text, one.metadata) for one in store.get_records(part)}
        left -= len(part)
        rows: dict[str, Vector] = {}
        for batch, found in made(sorted(set(texts.values()), key=len), More(left, left * usual)):
            rows.update(zip(batch, found, strict=True))
        vectors = {record_id: rows[text] for record_id, text in texts.items()}
        if see is not None:
            see(list(vectors.values()))
        if alone:
            store.put_vectors(space, vectors)
        else:
            store.put_vectors_of(space, vectors, texts)
    if embedding is None:
        made.end()
    return len(record_ids)


def _usual_length(store: Store, record_ids: Sequence[str]) -> float:
    """How long the texts of some records are, by a few of them from everywhere."""
    few = record_ids[:: max(1, len(record_ids) // _LOOKED_AT)]
    lengths = [len(record.text) for record in store.get_records(few)]
    return sum(lengths) / max(1, len(lengths))


def embedded(
    store: Store,
    space: str,
    embedder: Embedder,
    record_ids: Sequence[str],
    *,
    batch_size: int,
    tick: Callable[[int], None] = lambda count: None,
) -> tuple[dict[str, Vector], dict[str, str]]:
    """The vectors of some records in a space, and the texts that they were made of; nothing is written."""
    texts = {one.id: embedding_text(one.text, one.metadata) for one in store.get_records(record_ids)}
    dim = store.spaces()[space]
    made: dict[str, Vector] = {}
    for batch in parts(sorted(set(texts.values()), key=len), batch_size):
        rows = embed_checked(embedder, batch, dim)
        dim = rows.shape[1]
        made.update(zip(batch, rows, strict=True))
        tick(len(batch))
    return {record_id: made[text] for record_id, text in texts.items()}, texts


def parts(values: Sequence[str], size: int) -> Iterator[list[str]]:
    """The values, so many at a time."""
    left = iter(values)
    while part := list(islice(left, size)):
        yield part
