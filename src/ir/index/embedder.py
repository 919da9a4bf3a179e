"""The embedder of an index: made when it is needed, checked against what the index was built with."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ir.errors import EmbedderError, EmbedderMismatch, EmbedderUnavailable, IrError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ir.protocols import Embedder

    Vectors = NDArray[np.float32]

__all__ = ["CUSTOM", "LazyEmbedder", "embed_checked", "embedder_for", "is_of", "resolve", "spec_text"]

#: The id of a callable that does not say what it is.
CUSTOM = "custom"


def resolve(spec: Any) -> tuple[Embedder, str]:
    """An embedder and its id from a spec; an embedder that an index was opened with is taken as it is."""
    if isinstance(spec, LazyEmbedder):
        return spec, spec.id
    from ir.embed import make_embedder

    embedder, embedder_id = make_embedder(spec)
    return embedder, embedder_id


def is_of(embedder: Any, fingerprint: str) -> bool:
    """Whether a fingerprint is of this embedder; one that is not the same every time knows its own (``matches``)."""
    matches = getattr(embedder, "matches", None)
    return bool(getattr(embedder, "fingerprint", None) == fingerprint or (matches and matches(fingerprint)))


def spec_text(spec: Any) -> str:
    """How a corpus remembers its embedder: the name that makes it again, or ``"custom"``."""
    if isinstance(spec, LazyEmbedder):
        return spec.spec
    if not isinstance(spec, str):
        return CUSTOM
    from ir.models.folders import lasting_name

    return lasting_name(spec)  # the corpus may be searched from anywhere


class LazyEmbedder:
    """The embedder that a corpus was built with, made on the first call.

    Opening a corpus therefore loads no model. The first call checks that the model still is the one whose vectors
    the index holds.
    """

    def __init__(
        self, config: Mapping[str, Any], make: Callable[[], tuple[Embedder, str]], *, given: bool = False
    ) -> None:
        self._config = dict(config)
        #: Whether a caller gave it, rather than that the corpus remembers it.
        self.given = given
        self._make = make
        self._embedder: Embedder | None = None
        self.id = str(self._config.get("embedder_id", ""))
        self.dim: int | None = self._config.get("dim")

    @property
    def spec(self) -> str:
        return str(self._config.get("embedder", CUSTOM))

    @property
    def fingerprint(self) -> str | None:
        found = self._config.get("fingerprint")
        return None if found is None else str(found)

    def __call__(self, texts: Sequence[str], *, input_type: str = "document") -> Vectors:
        vectors = (self._embedder or self.load())(texts, input_type=input_type)
        if self.dim and vectors.shape[-1] != self.dim:
            raise self._mismatch(f"{self.dim} numbers to a vector", f"{vectors.shape[-1]}")
        return vectors

    def load(self) -> Embedder:
        """The model itself."""
        if self._embedder is None:
            try:
                embedder, embedder_id = self._make()
            except EmbedderUnavailable as error:
                raise _unavailable(self._config, error) from error
            if embedder_id != self.id:
                raise self._mismatch(f"the embedder {self.id!r}", repr(embedder_id))
            found = getattr(embedder, "fingerprint", None)
            if self.fingerprint is not None and found is not None and not is_of(embedder, self.fingerprint):
                raise self._mismatch(f"fingerprint {_short(self.fingerprint)} of {self.id!r}", _short(str(found)))
            self._embedder = embedder
        return self._embedder

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.load(), name)

    def _mismatch(self, built: str, found: str) -> EmbedderMismatch:
        """The model has changed behind its name: a build notices that, and embeds everything again."""
        name = self._config.get("name", "NAME")
        return EmbedderMismatch(
            f"The corpus {name!r} was built with {built}, but this embedder has {found}.",
            remedy=f"{_build_again(self._config)}; or search its words alone with mode='lexical'.",
        )


def embedder_for(config: Mapping[str, Any], given: Any) -> LazyEmbedder:
    """The embedder of the corpus with this ``config``; ``given`` by the caller, else the one it remembers."""
    lazy = LazyEmbedder(config, lambda: resolve(given))
    if given is not None:
        try:
            embedder, embedder_id = resolve(given)
        except EmbedderUnavailable as error:
            raise _other(config, repr(given), given) if spec_text(given) != lazy.spec else error from error
        if embedder_id != lazy.id:
            raise _other(config, repr(embedder_id), given)
        return LazyEmbedder(config, lambda: (embedder, embedder_id), given=True)
    if lazy.spec == CUSTOM:
        return LazyEmbedder(config, _needs_callable(config))
    return LazyEmbedder(config, lambda: resolve(lazy.spec))


def _other(config: Mapping[str, Any], asked: str, given: Any) -> EmbedderMismatch:
    """A corpus can be searched with its own embedder only; a plain build would keep that one."""
    name = config.get("name", "NAME")
    return EmbedderMismatch(
        f"The corpus {name!r} was built with the embedder {config.get('embedder_id')!r}, not with {asked}.",
        remedy="Leave the embedder out to search with the one that it has, or its words alone with mode='lexical'. "
        f"{_build_again(config, spec_text(given))} moves it to the other one.",
    )


def _unavailable(config: Mapping[str, Any], error: EmbedderUnavailable) -> EmbedderUnavailable:
    """What is left to do with a corpus whose model is gone: another embedder helps only with another index."""
    from ir.embed import best_available
    from ir.models.folders import how_to_get

    spec = str(config.get("embedder"))
    here = best_available()
    told = f"{error.message} The corpus {config.get('name', 'NAME')!r} was built with it."
    words = f"Or search its words alone with mode='lexical'. {_build_again(config, here)} moves it to what is here."
    return EmbedderUnavailable(told, remedy=f"{how_to_get(spec)} {words}")


def _build_again(config: Mapping[str, Any], embedder: str | None = None) -> str:
    """The command that embeds a corpus again; one that was built from Python has to be built there."""
    import shlex

    from ir.registry import PRESETS, get

    name = str(config.get("name", "NAME"))
    if name not in PRESETS and get(name) is None:
        if embedder is None:
            return "Build it again from Python"
        return f"ir.build(…, embedder={embedder!r})" if embedder != CUSTOM else "Building it again"
    if embedder == CUSTOM:
        return "Building it again from Python"
    chosen = "" if embedder is None else f" --embedder {shlex.quote(embedder)}"
    return f"{'Rebuild it with: ' if embedder is None else ''}ir build {shlex.quote(name)}{chosen}"


def _short(fingerprint: str) -> str:
    """A fingerprint as it fits a sentence."""
    from zlib import crc32

    name, mark, long = fingerprint.partition("-~")
    return f"{name}-{crc32(long.encode()):08x}" if mark else fingerprint


def _needs_callable(config: Mapping[str, Any]) -> Callable[[], tuple[Embedder, str]]:
    def refuse() -> tuple[Embedder, str]:
        name = config.get("name", "NAME")
        raise EmbedderError(
            f"The corpus {name!r} was built with an embedder of your own ({config.get('embedder_id')!r}).",
            remedy=f"Pass it: open_corpus({name!r}, embedder=…); or search its words alone with mode='lexical'.",
        )

    return refuse


def embed_checked(embedder: Embedder, texts: Sequence[str], dim: int | None) -> Vectors:
    """The vectors of document texts as a finite float32 matrix with ``dim`` columns, or an error that says why not."""
    import numpy as np

    label = getattr(embedder, "id", CUSTOM)
    try:
        vectors = np.asarray(embedder(texts, input_type="document"), dtype=np.float32)
    except (IrError, MemoryError):
        raise
    except Exception as error:
        raise EmbedderError(
            f"The embedder {label!r} failed on a batch of {len(texts)} texts: {type(error).__name__}: {error}.",
            remedy="Nothing was changed in the corpus.",
        ) from error
    if vectors.ndim != 2 or vectors.shape[0] != len(texts) or vectors.shape[1] < 1:
        raise EmbedderError(
            f"The embedder {label!r} returned an array of shape {vectors.shape} for {len(texts)} texts; "
            f"one row per text is needed."
        )
    if dim is not None and vectors.shape[1] != dim:
        raise EmbedderError(f"The embedder {label!r} returned {vectors.shape[1]} columns after {dim} before.")
    if not np.isfinite(vectors).all():
        raise EmbedderError(f"The embedder {label!r} returned numbers that are not finite.")
    return vectors
