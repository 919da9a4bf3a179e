"""Find the relevant things in a corpus: source → index → search → select → disclose.

>>> import ir
>>> notes = {"tea": "Steep green tea at 80 degrees for two minutes.", "bread": "Knead the dough, then let it rest."}
>>> source = ir.CorpusSource.from_mapping(notes, name="notes")
>>> corpus = ir.build(source, store=ir.CorpusStore.memory(), embedder="light")
>>> ir.search(corpus, "how hot should the water for tea be", mode="hybrid")[0].artifact_id
'tea'

Every public name stands on this page and is loaded when it is first used.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import inspect

    from ir.base import Artifact, Hits, IndexPlan, Record, SearchHit, Surface, tag_source
    from ir.errors import IrError
    from ir.expand import Passage, expand, parent_policy, sentence_window_policy
    from ir.formulate import make_llm_formulator
    from ir.graph import CorpusGraph, GraphStore, canonical_node_id, default_edge_extractor
    from ir.index import Corpus, build, build_corpus, open_corpus
    from ir.protocols import EdgeExtractor, Formulator, IndexingStrategy, NeighborhoodPolicy, Retriever, Synthesizer
    from ir.registry import register, retriever_for, retrievers
    from ir.registry import registered as corpora
    from ir.retrieve import as_retriever, fuse_hits, records_for_artifact, search
    from ir.select import Disclosure, DiscoveryResult, Selection, disclose, discover, select
    from ir.sources import CorpusSource
    from ir.store import CorpusStore
    from ir.strategy import Chunked, Package, Skill, WholeText
    from ir.synopsis import make_llm_synthesizer, with_synopsis
    from ir.traverse import WalkPolicy, WalkState, collapsed_tree_policy, traverse

__version__ = "0.1.0"

__all__ = [
    "Artifact",
    "Chunked",
    "Corpus",
    "CorpusGraph",
    "CorpusSource",
    "CorpusStore",
    "Disclosure",
    "DiscoveryResult",
    "EdgeExtractor",
    "Formulator",
    "GraphStore",
    "Hits",
    "IndexPlan",
    "IndexingStrategy",
    "IrError",
    "NeighborhoodPolicy",
    "Package",
    "Passage",
    "Record",
    "Retriever",
    "SearchHit",
    "Selection",
    "Skill",
    "Surface",
    "Synthesizer",
    "WalkPolicy",
    "WalkState",
    "WholeText",
    "as_retriever",
    "branch_corpus",
    "build",
    "build_corpus",
    "canonical_node_id",
    "collapsed_tree_policy",
    "corpora",
    "default_edge_extractor",
    "disclose",
    "discover",
    "expand",
    "fuse_hits",
    "make_llm_formulator",
    "make_llm_synthesizer",
    "open_corpus",
    "parent_policy",
    "records_for_artifact",
    "register",
    "retriever_for",
    "retrievers",
    "search",
    "select",
    "sentence_window_policy",
    "tag_source",
    "traverse",
    "with_synopsis",
]

#: Where each public name lives.
_HOMES = {
    "ir.base": ("Artifact", "Hits", "IndexPlan", "Record", "SearchHit", "Surface", "tag_source"),
    "ir.errors": ("IrError",),
    "ir.expand": ("Passage", "expand", "parent_policy", "sentence_window_policy"),
    "ir.formulate": ("make_llm_formulator",),
    "ir.graph": ("CorpusGraph", "GraphStore", "canonical_node_id", "default_edge_extractor"),
    "ir.index": ("Corpus", "branch_corpus", "build", "build_corpus", "open_corpus"),
    "ir.protocols": (
        *("EdgeExtractor", "Formulator", "IndexingStrategy", "NeighborhoodPolicy", "Retriever", "Synthesizer"),
    ),
    "ir.registry": ("corpora", "register", "retriever_for", "retrievers"),
    "ir.retrieve": ("as_retriever", "fuse_hits", "records_for_artifact", "search"),
    "ir.select": ("Disclosure", "DiscoveryResult", "Selection", "disclose", "discover", "select"),
    "ir.sources": ("CorpusSource",),
    "ir.store": ("CorpusStore",),
    "ir.strategy": ("Chunked", "Package", "Skill", "WholeText"),
    "ir.synopsis": ("make_llm_synthesizer", "with_synopsis"),
    "ir.traverse": ("WalkPolicy", "WalkState", "collapsed_tree_policy", "traverse"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}
_RENAMED = {"corpora": "registered"}
#: Functions here that share their name with the module they live in: the module itself is made callable.
_CALLABLE_MODULES = ("expand", "select", "traverse")
_SUBMODULES = (
    *("analysis", "app", "base", "cli", "config", "embed", "errors", "eval", "eval_gen", "filters", "formulate"),
    *(
        "graph",
        "ground",
        "index",
        "maintain",
        "operations",
        "options",
        "protocols",
        "registry",
        "retrieve",
        "sources",
        "store",
        "strategy",
        "synopsis",
    ),
    *("testing", "tools", "tune"),
)


class _CallableModule(ModuleType):
    """A module that is also its main function: ``ir.select(hits)`` beside ``from ir.select import select``."""

    @property
    def _function(self) -> Any:
        return getattr(self, self.__name__.rpartition(".")[2])

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._function(*args, **kwargs)

    @property
    def __signature__(self) -> inspect.Signature:
        from inspect import signature

        return signature(self._function)


class _Package(ModuleType):
    """This package. Python binds a submodule to it by name on import; that is where it becomes callable."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _CALLABLE_MODULES and type(value) is ModuleType:
            value.__class__ = _CallableModule
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package


def __getattr__(name: str) -> Any:
    if name in _CALLABLE_MODULES or name in _SUBMODULES:
        return import_module(f"ir.{name}")
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module 'ir' has no attribute {name!r}")
    value = getattr(import_module(home), _RENAMED.get(name, name))
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*__all__, *_SUBMODULES, "__version__"})
