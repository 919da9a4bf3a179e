"""``python -m bench.ontology [EMBEDDER]…``: the questions of ``bench.code`` through ``ontology_query`` as it is called.

Ten results each, with the defaults of every parameter; nothing is reranked unless ``retrieval.reranker`` says by what.
How fast it is, ``python -m bench --part ontology`` measures.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any

from bench.envs import Unavailable
from bench.judged import markdown
from ir.app.context import Context
from ir.app.ontology import configured_reranker, hybrid_options
from ir.base import SearchHit
from ir.query import OntologyQuery, Parts, QueryResult, ontology_query

EMBEDDERS = ("box", "minilm-int8")


def main(args: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.ontology", description="Concept questions about code.")
    parser.add_argument("embedders", nargs="*", default=list(EMBEDDERS))
    given = parser.parse_args(args)
    from bench import code

    names = code.code_bases()
    try:
        rows = []
        for spec in given.embedders:
            values = [_measured(name, spec, code) for name in names]
            rows.append([f"`{spec}`", *values, code.mean(values), _measured(code.OWN, spec, code)])
        print(markdown(["", *names, "mean", code.OWN], rows))
    except Unavailable as error:
        print(f"bench.ontology: {error}", file=sys.stderr)
        return 1
    return 0


def _measured(name: str, spec: str, code: Any) -> float:
    """The mean nDCG@10 of a code base's questions."""
    corpus, ctx = code.corpus_of(name, spec), Context()
    parts = Parts(reranker=configured_reranker(ctx)[0], per_artifact=int(ctx.settings["per_file"]))
    values = [
        code.ndcg([_hit(result) for result in _results(corpus, one.text, parts)], one.targets)
        for one in code.questions_of(name)
    ]
    return float(code.mean(values))


def _results(corpus: Any, text: str, parts: Parts) -> Sequence[QueryResult]:
    return ontology_query(corpus, OntologyQuery(text), hybrid_options(), parts).results


def _hit(result: QueryResult) -> SearchHit:
    lines = {"line_start": result.line_start, "line_end": result.line_end}
    return SearchHit(result.artifact_id, "chunk", result.score, result.text, lines)


if __name__ == "__main__":
    sys.exit(main())
