"""What tuning leaves in a corpus, and how it is taken out again: the choice, and a floor that goes with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ir.index.opening import as_corpus
from ir.protocols import CorpusOrName, Store
from ir.select.gate import calibration_key

if TYPE_CHECKING:
    from ir.eval import MinScoreCalibration

__all__ = ["Forgotten", "forget", "keep"]

_CHOICE = "tuned"
#: The calibration that a tuned floor replaced, by its key; ``None`` if there was none.
_REPLACED = "tuned_floor"
#: Marks a calibration that tuning set. One that was made by hand since then has no such mark, and stays.
_MADE_BY = "tune"


@dataclass(frozen=True)
class Forgotten:
    """The name of the choice that was dropped, and whether a floor was; falsy where nothing was tuned."""

    choice: str | None = None
    floor: bool = False

    def __bool__(self) -> bool:
        return self.choice is not None or self.floor


def keep(corpus: CorpusOrName, settings: Mapping[str, Any] | None, floor: MinScoreCalibration | None) -> None:
    """Keep a choice and its floor; earlier ones go, also where there is nothing to keep."""
    opened = as_corpus(corpus)
    store = opened.store
    with store.transaction():
        forget(opened)
        config = store.get_config()
        if settings is not None:
            config[_CHOICE] = dict(settings)
        if floor is not None:
            key = calibration_key(floor.mode, fusion=floor.fusion, rerank=floor.rerank)
            config[_REPLACED] = {key: store.get_calibration(key)}
            replace(floor, made_by=_MADE_BY).save(opened)
        store.set_config(config)


def forget(corpus: CorpusOrName) -> Forgotten:
    """Search as by default again: drop the choice; if tuning set a floor, the one of before takes its place again."""
    store = as_corpus(corpus).store
    with store.transaction():
        config = store.get_config()
        choice, replaced = config.pop(_CHOICE, None), config.pop(_REPLACED, None)
        dropped = [_put_back(store, key, before) for key, before in (replaced or {}).items()]
        if choice is not None or replaced is not None:
            store.set_config(config)
    return Forgotten(None if choice is None else str(choice.get("name", "a choice")), any(dropped))


def _put_back(store: Store, key: str, before: Mapping[str, Any] | None) -> bool:
    if (store.get_calibration(key) or {}).get("made_by") != _MADE_BY:
        return False
    if before:
        store.set_calibration(key, before)
    else:
        store.delete_calibration(key)
    return True
