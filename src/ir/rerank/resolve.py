"""From what a user writes to a reranker."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from ir.config import Settings
from ir.endpoint import Endpoint, RetryBudget
from ir.errors import EmbedderUnavailable, InvalidInput, RerankError
from ir.models.folders import base_and_form, find_folder, how_to_get
from ir.protocols import Reranker
from ir.rerank.breaker import CircuitBreaker
from ir.rerank.costs import Price, Spending
from ir.rerank.cross_encoder import CrossEncoder
from ir.rerank.http import HttpReranker
from ir.rerank.maxsim import MaxSim

__all__ = ["resolve_reranker"]

_FORMS = "'maxsim', 'maxsim:MODEL', 'cross-encoder', 'cross-encoder:MODEL-OR-FOLDER' or 'http:MODEL'"
#: The cross-encoder that is meant where none is named: small, and trained on questions and passages.
DFLT_CROSS_ENCODER = "cross-encoder/ms-marco-MiniLM-L-6-v2"


def resolve_reranker(spec: Any) -> Reranker:
    """The reranker that ``spec`` stands for; a callable is one already.

    A name is ``"maxsim"`` (over the states of MiniLM) or ``"maxsim:MODEL"``, ``"cross-encoder:MODEL"`` with a folder or
    a pulled model, ``"cross-encoder"`` for the default one, which must have been pulled too, or ``"http:MODEL"`` for
    the server that ``rerank.base_url`` names. A model that is not there is an error here, so that a search is not
    quietly done without what was asked for.
    """
    if callable(spec):
        return spec  # type: ignore[no-any-return]
    if not isinstance(spec, str):
        raise InvalidInput(f"rerank must be a callable or a name, not {spec!r}.", remedy=f"Use {_FORMS}.")
    kind, named, model = spec.strip().partition(":")
    settings = Settings.load()
    deadline_ms = int(settings["rerank.deadline_ms"])
    if kind == "http" and model and not model.startswith("//"):
        return _http(model, settings, deadline_ms)
    if kind == "maxsim":
        # With int8, twice as many texts are read before the deadline, and the ranking is as good.
        base, form = base_and_form(model or "minilm-int8")
        return _maxsim(str(_folder(base)), form, deadline_ms)
    if kind == "cross-encoder" and (model or not named):
        return _cross_encoder(str(_folder(model or DFLT_CROSS_ENCODER)), deadline_ms)
    raise InvalidInput(f"Unknown reranker {spec!r}.", remedy=f"Use {_FORMS}.")


def _folder(model: str) -> Path:
    found = find_folder(model)
    if found is None:
        raise EmbedderUnavailable(f"The model {model!r} is not on this machine.", remedy=how_to_get(model))
    return found


@lru_cache(maxsize=2)
def _maxsim(path: str, form: str, deadline_ms: int) -> MaxSim:
    return MaxSim(Path(path), form=form, deadline_ms=deadline_ms)


@lru_cache(maxsize=2)
def _cross_encoder(path: str, deadline_ms: int) -> CrossEncoder:
    return CrossEncoder(Path(path), deadline_ms=deadline_ms)


class _Known(NamedTuple):
    """What is remembered of a model on a server from one search to the next."""

    breaker: CircuitBreaker
    budget: RetryBudget
    spending: Spending


@lru_cache(maxsize=16)
def _known(base_url: str, model: str, failures: int, rest_s: float) -> _Known:
    return _Known(CircuitBreaker(failures=failures, rest_s=rest_s), RetryBudget(), Spending())


def _http(model: str, settings: Settings, deadline_ms: int) -> HttpReranker:
    base_url = settings["rerank.base_url"]
    if not base_url:
        raise InvalidInput(
            "No rerank server is configured: rerank.base_url is not set.",
            remedy="Set it with: ir config set rerank.base_url URL",
        )
    name = f"The rerank model {model!r} at {urlsplit(base_url).netloc.rpartition('@')[2]}"
    check = (
        f"Check that it runs, that rerank.base_url is right, and that {settings['rerank.api_key_env']} holds the key."
    )
    key = settings.api_key("rerank")
    known = _known(base_url, model, int(settings["rerank.failures"]), float(settings["rerank.rest_s"]))
    endpoint = Endpoint(
        base_url,
        name,
        RerankError,
        check,
        "rerank.base_url",
        key,
        retries=int(settings["rerank.retries"]),
        backoff_s=0.1,
        budget=known.budget,
    )
    price = Price(settings["rerank.usd_per_1000_searches"], settings["rerank.usd_per_million_tokens"])
    return HttpReranker(
        endpoint, model, deadline_ms=deadline_ms, price=price, breaker=known.breaker, spending=known.spending
    )
