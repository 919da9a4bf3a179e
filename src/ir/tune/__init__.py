"""Which way to search suits this corpus?

:func:`tune` measures a few ways on judged cases, chooses by cross-validation, and keeps the choice with the corpus only
if it beats the default by more than luck; a floor likewise. :func:`forget` undoes it.
"""

from ir.tune.candidates import Way, default_way, ways
from ir.tune.keeping import Forgotten, forget
from ir.tune.result import Trial, Tuning
from ir.tune.tuning import DFLT_FOLDS, tune, tuned_run

__all__ = [
    "DFLT_FOLDS",
    "Forgotten",
    "Trial",
    "Tuning",
    "Way",
    "default_way",
    "forget",
    "tune",
    "tuned_run",
    "ways",
]
