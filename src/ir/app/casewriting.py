"""Writing cases by machine: queries that each artifact should answer, and queries that nothing should."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from ir.app.arguments import REPLACE, TARGET
from ir.app.context import Context
from ir.app.fields import Arg
from ir.app.judged import listening, new_file
from ir.app.operation import Value, operation
from ir.app.targets import resolve
from ir.errors import InvalidInput

__all__ = ["EvalGenRequest", "EvalGenResponse", "write_cases"]


@dataclass(frozen=True)
class EvalGenRequest(Value):
    """``per_artifact`` queries for each of at most ``max_artifacts``; ``abstention`` is the share of cases without an
    answer, about anything but ``theme``. Without ``llm`` queries are taken from the texts and from the probes."""

    target: Annotated[str, TARGET]
    file: Annotated[str, Arg("where to write the cases", blank=False, metavar="FILE")]
    per_artifact: Annotated[int, Arg("queries for each artifact", min=1, short="-k", metavar="N")] = 5
    abstention: Annotated[
        float, Arg("the share of cases that nothing should answer", min=0, max=1, metavar="SHARE")
    ] = 0.15
    max_artifacts: Annotated[
        int | None, Arg("only the first so many artifacts", min=1, metavar="N", help="Only the first N artifacts.")
    ] = None
    theme: Annotated[str | None, Arg("what the corpus is about, in a few words", metavar="TEXT")] = None
    llm: Annotated[
        bool,
        Arg("ask the configured language model, or take sentences from the texts", flag="--llm/--no-llm"),
    ] = True
    replace: Annotated[bool, REPLACE] = False


@dataclass(frozen=True)
class EvalGenResponse(Value):
    """``generators`` counts the cases by what wrote them; ``skipped`` are artifacts without a case, with the reason."""

    corpus: str
    file: str
    cases: int
    abstention_cases: int
    generators: Mapping[str, int]
    skipped: Mapping[str, str]


@operation(
    "eval-gen",
    summary="Write cases for a corpus, by a language model or from its texts",
    effect="writes",
    runs_long=True,
)
def write_cases(request: EvalGenRequest, ctx: Context) -> EvalGenResponse:
    from ir.eval import save_cases
    from ir.eval_gen import build_eval_set, corpus_signature

    file = new_file(request.file, replace=request.replace)
    target = resolve(request.target)
    source = target.source(ctx.settings)
    skipped: dict[str, str] = {}
    with listening(ctx):
        cases = build_eval_set(
            source,
            k=request.per_artifact,
            abstention_frac=request.abstention,
            max_artifacts=request.max_artifacts,
            corpus_name=target.name,
            progress=ctx.progress,
            on_skip=lambda artifact_id, reason: skipped.update({artifact_id: reason}),
            **_writers(request),
        )
    if not cases:
        raise InvalidInput(
            f"No case could be written for {target.name!r}.",
            remedy="Its texts may be too short. " + next(iter(skipped.values()), ""),
        )
    meta = {"corpus": target.name, "corpus_signature": corpus_signature(source)}
    save_cases(cases, file, meta=meta)
    return EvalGenResponse(
        corpus=target.name,
        file=str(file),
        cases=len(cases),
        abstention_cases=sum(case.gold_is_none for case in cases),
        generators=dict(Counter(str(case.metadata.get("generator")) for case in cases)),
        skipped=skipped,
    )


def _writers(request: EvalGenRequest) -> dict[str, Any]:
    writers: dict[str, Any] = {} if request.theme is None else {"theme": request.theme}
    if request.llm:
        return writers
    from ir.eval_gen import extract_queries

    return {**writers, "query_generator": extract_queries, "abstention_generator": _probes}


def _probes(*, n: int, theme: str) -> Any:
    """Some of the probes that ship with the package, always the same."""
    import random

    from ir.eval import probe_queries
    from ir.eval_gen import Queries

    probes = probe_queries()
    return Queries(random.Random(theme).sample(probes, min(n, len(probes))), "probes")
