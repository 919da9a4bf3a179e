"""The fields that several requests share, described once."""

from __future__ import annotations

from ir.app.fields import Arg

__all__ = [
    "ALIASES",
    "CANDIDATES",
    "CASES",
    "CHAPTERS",
    "CORPUS",
    "DRY_RUN",
    "EMBEDDER",
    "FILTER",
    "FUSION",
    "GRAPH",
    "GRAPH_FIRST",
    "HTML",
    "LINES",
    "MAX_TOKENS",
    "MODE",
    "QUERY",
    "RANKING",
    "REL",
    "REPLACE",
    "STRATEGY",
    "SURFACES",
    "SYMBOL",
    "TARGET",
    "UPGRADE",
    "K",
]

UPGRADE = Arg(
    "whether a better model reads everything after the fast one, where no embedder was chosen",
    flag="--upgrade/--no-upgrade",
    help="Whether the better model reads too, where no embedder was chosen.",
)
QUERY = Arg("what to look for", blank=False, max_chars=100_000)
TARGET = Arg("a corpus name, a folder or a file", blank=False, metavar="CORPUS|PATH")
CORPUS = Arg("the name of a corpus", blank=False, metavar="CORPUS")
K = Arg("how many results", min=1, max=1000, clamp=True, short="-k", metavar="N", help="How many results to show (10).")
MODE = Arg(
    "by meaning (dense), by words (lexical) or by both (hybrid)",
    choices="ir.options:MODES",
    short="-m",
    metavar="MODE",
    help="hybrid, dense or lexical (hybrid).",
)
FUSION = Arg(
    "how the two rankings of a hybrid search become one",
    choices="ir.options:FUSIONS",
    metavar="METHOD",
    help="blend, rrf, minmax, dbsf or minmax_corpus (blend).",
)
GRAPH = Arg(
    "how links lift what good results lead to; none: not at all",
    choices=("auto", "additive", "frontier", "propagate", "expand", "none"),
    metavar="HOW",
    help="auto, expand, propagate, additive, frontier or none: how links lift what good results lead to (auto).",
)
CHAPTERS = Arg(
    "search only so many chapters, those that the question fits best",
    min=1,
    max=1000,
    clamp=True,
    metavar="N",
    help="Search only the N chapters that the question fits best, or all if they have little to say.",
)
GRAPH_FIRST = Arg("search only what is linked to the names in the question, if it names any")
ALIASES = Arg(
    "read the other names that the corpus knows of a thing with the question, such as armor class with AC",
    flag="--aliases/--no-aliases",
)
RANKING = Arg(
    "rank as source code, as a book, or by meaning and words alone",
    choices=("auto", "code", "book", "plain"),
    metavar="HOW",
    help="auto, code, book or plain: what ranks beside meaning and words (auto).",
)
FILTER = Arg("only records whose metadata matches this filter", metavar="JSON")
SURFACES = Arg(
    "rank these kinds of surface only",
    flag="--surface",
    metavar="KIND",
    help="Rank this kind of surface only. Repeatable.",
    blank=False,
)
EMBEDDER = Arg(
    "the embedding model: box, default or a model's name",
    blank=False,
    bare=True,
    setting="embedder",
    metavar="NAME",
    complete="ir.embed.models:known_names",
)
STRATEGY = Arg(
    "the rule that says how many results to commit to",
    choices="ir.select:STRATEGIES",
    short="-s",
    metavar="NAME",
    help="conservative, top_k, abs_threshold, rel_threshold or score_gap.",
)
CANDIDATES = Arg("candidates for each case", min=1, max=1000, short="-k", metavar="N")
CASES = Arg(
    "a set of cases by name, a file of them, or a folder in BEIR's layout", metavar="CASES", blank=False, bare=True
)
DRY_RUN = Arg("only say what would be done", short="-n")
REPLACE = Arg("replace a file that exists", flag="--force", short="-f")
HTML = Arg("also write a page with tables and plots", metavar="FILE", private=True)
SYMBOL = Arg("a name, Class.method, path::name, path:line or symbolKey", blank=False, max_chars=2000, metavar="SYMBOL")
LINES = Arg("lines of context before and after", min=0, max=100, clamp=True, metavar="N")
MAX_TOKENS = Arg("about how many tokens of text to return at most", min=1, max=100_000, clamp=True, metavar="N")


def languages() -> tuple[str, ...]:
    """The languages that words can be indexed in, and the word for finding out."""
    from ir.options import LANGUAGES

    return ("auto", *LANGUAGES)


REL = Arg(
    "keep results with at least this share of the best score",
    min=0,
    max=1,
    metavar="SHARE",
    help="Keep results with at least this share of the best score (0.9).",
)
