"""The settings that exist: name, type, default, range and meaning, in one table."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from ir.errors import InvalidInput
from ir.options import (
    AUTO_GRAPH,
    AUTO_RANKING,
    DFLT_FUSION,
    FUSIONS,
    GRAPHS,
    KEYWORD_BACKENDS,
    LANGUAGES,
    MODES,
    RANKINGS,
)
from ir.secrets.addresses import masked

__all__ = ["KEYS", "Key", "key_named", "names"]

_TRUE = frozenset({"1", "true", "yes", "on"})
_FALSE = frozenset({"0", "false", "no", "off"})
#: ``openai:MODEL`` names a server; ``C:\\models`` is a folder.
_SCHEME = re.compile(r"\s*[\w+.-]{2,}:")
_WORDS = {str: "text", int: "a whole number", float: "a number", bool: "true or false"}


def names_server(embedder: str) -> bool:
    """Whether an embedder may be one that text is sent to.

    Loaders of a user's own may know further schemes, so all of them are taken for servers.
    """
    return bool(_SCHEME.match(embedder))


@dataclass(frozen=True)
class Key:
    """One setting. ``project=False``: not from a project's file, which a stranger may have written.

    ``servers``: it may name one that text is sent to; from a project's file it may not.
    """

    name: str
    type: type
    default: Any
    doc: str
    choices: tuple[str, ...] | None = None
    low: float | None = None
    high: float | None = None
    project: bool = True
    servers: bool = False

    @property
    def variable(self) -> str:
        """The environment variable that sets it."""
        return "IR_" + self.name.upper().replace(".", "_")

    @property
    def allowed(self) -> str:
        """What it may be, in words."""
        if self.choices:
            return "one of " + ", ".join(map(repr, self.choices))
        words = _WORDS[self.type]
        if self.low is not None:
            words += f" of at least {self.low:g}"
        if self.high is not None:
            words += f"{' and' if self.low is not None else ''} at most {self.high:g}"
        return words

    def safe_from_project(self, value: object) -> bool:
        """Whether a project's file may set it so: whatever it says, text and keys stay where they are."""
        return self.project and not (self.servers and isinstance(value, str) and names_server(value))

    def check(self, value: object, where: str) -> Any:
        """``value``, if it is allowed; ``where`` says in the error who set it."""
        if self.type is float and isinstance(value, int) and not isinstance(value, bool):
            value = float(value)
        if type(value) is not self.type or not self._in_range(value):
            raise InvalidInput(f"{where}: {self.name} must be {self.allowed}, not {masked(repr(value))}.")
        return value

    def parse(self, text: str, where: str) -> Any:
        """A value from a command line or an environment variable."""
        word = text.strip()
        value: object = word
        try:
            if self.type is bool:
                value = True if word.lower() in _TRUE else False if word.lower() in _FALSE else word
            elif self.type in (int, float):
                value = self.type(word)
        except ValueError:
            value = word
        return self.check(value, where)

    def _in_range(self, value: Any) -> bool:
        if self.type is str:
            return bool(value.strip()) and value.isprintable() and (self.choices is None or value in self.choices)
        if self.type is bool:
            return True
        return (
            value == value
            and abs(value) != float("inf")
            and (self.low is None or value >= self.low)
            and (self.high is None or value <= self.high)
        )


KEYS: tuple[Key, ...] = (
    Key(
        "embedder",
        str,
        "default",
        "The model that turns text into vectors: 'default', 'box' or a model name.",
        servers=True,
    ),
    Key("mode", str, "hybrid", "How commands search unless told otherwise.", choices=MODES),
    Key("fusion", str, DFLT_FUSION, "How the two channels of a hybrid search are combined.", choices=FUSIONS),
    Key("k", int, 10, "How many results a search shows.", low=1, high=10_000),
    Key("per_file", int, 2, "How many results of one file a search shows, if they are apart.", low=1, high=10_000),
    Key(
        "ranking",
        str,
        AUTO_RANKING,
        "What ranks beside meaning and words: 'code' what is known of source code, 'book' which sections are named, "
        "'plain' nothing, 'auto' as the corpus was built.",
        choices=(AUTO_RANKING, *RANKINGS),
    ),
    Key(
        "graph",
        str,
        AUTO_GRAPH,
        "How links lift what good results lead to: 'expand', 'propagate', 'additive', 'frontier', 'none', or 'auto' as "
        "the corpus was built.",
        choices=(AUTO_GRAPH, *GRAPHS),
    ),
    Key(
        "language",
        str,
        "auto",
        "The language whose stop words and word stems a new corpus is indexed by; 'auto' finds it out from the texts.",
        choices=("auto", *LANGUAGES),
    ),
    Key(
        "upgrade",
        str,
        "auto",
        "Whether better vectors are made in the background once fast ones answer: at a terminal, 'always' or 'never'.",
        choices=("auto", "always", "never"),
    ),
    Key(
        "store",
        str,
        "local",
        "Where new corpora are kept: 'local', or a server's address; one of PostgreSQL also keeps their names, for "
        "all who set it.",
        project=False,
    ),
    Key("refresh", bool, True, "Whether a search first brings a folder's corpus up to date, when that is cheap."),
    Key("refresh_scan_ms", int, 200, "How long, in ms, the scan before such a refresh may take.", low=1, high=60_000),
    Key("refresh_max_changed", int, 50, "How many changed files such a refresh takes on.", low=0, high=100_000),
    Key(
        "include_secrets",
        bool,
        False,
        "Whether files that may hold secrets, such as .env and private keys, are indexed.",
        project=False,
    ),
    Key(
        "include_generated",
        bool,
        False,
        "Whether lock files, minified and generated files are indexed.",
    ),
    Key(
        "mask_secrets",
        bool,
        True,
        "Whether keys of known formats inside texts are shown as stars.",
        project=False,
    ),
    Key(
        "book_rules",
        str,
        None,
        "The file of rules by which `ir ingest book` says what passages are, where none is given; 'none' for no rules.",
        project=False,
    ),
    Key("max_file_mb", float, 10.0, "Files above this size, in megabytes, are reported and left out.", low=0.001),
    Key(
        "lock_timeout_s", float, 30.0, "How long, in seconds, a build waits for another one to end.", low=0, high=86_400
    ),
    Key(
        "daemon",
        str,
        "auto",
        "Whether agents share one warm process in the background ('auto') or each has its own ('off').",
        choices=("auto", "off"),
        project=False,
    ),
    Key(
        "daemon_idle_s",
        float,
        1800.0,
        "After how many seconds without a call that process leaves; it lets go of models and corpora before.",
        low=1,
        high=604_800,
        project=False,
    ),
    Key(
        "mcp.tools",
        str,
        "all",
        "Which tools agents are offered: 'all', or names with commas between them.",
        project=False,
    ),
    Key(
        "mcp.max_tokens",
        int,
        2000,
        "How long, in tokens, a tool's answer is unless the agent asks for another length.",
        low=200,
        high=20_000,
    ),
    Key(
        "serve.access",
        str,
        None,
        "Where tokens, workspaces and limits are kept: a file, or postgresql://user@host/database to share them.",
        project=False,
    ),
    Key(
        "serve.port",
        int,
        8418,
        "The port that ir serve listens on; 0 for any free one.",
        low=0,
        high=65_535,
        project=False,
    ),
    Key(
        "serve.hosts",
        str,
        None,
        "The names, with commas between them, that ir serve is known by beside localhost and its own address.",
        project=False,
    ),
    Key(
        "serve.cors",
        str,
        None,
        "The origins, with commas between them, whose pages may ask ir serve; none but its own otherwise.",
        project=False,
    ),
    Key(
        "serve.threads",
        int,
        0,
        "How many searches ir serve does at once; 0 for one on each core.",
        low=0,
        high=1024,
        project=False,
    ),
    Key("serve.open_corpora", int, 32, "How many corpora ir serve keeps open.", low=1, high=10_000, project=False),
    Key(
        "serve.body_mb",
        float,
        4.0,
        "How long, in megabytes, a request to ir serve may be.",
        low=0.001,
        high=1000,
        project=False,
    ),
    Key(
        "serve.body_s",
        float,
        15.0,
        "How long, in seconds, a client may take to send it.",
        low=0.1,
        high=3600,
        project=False,
    ),
    Key(
        "serve.call_s",
        float,
        30.0,
        "How long, in seconds, a call of ir serve may take.",
        low=0.1,
        high=3600,
        project=False,
    ),
    Key(
        "serve.ask_s",
        float,
        300.0,
        "How long, in seconds, one that asks a language model may.",
        low=0.1,
        high=3600,
        project=False,
    ),
    Key(
        "serve.drain_s",
        float,
        20.0,
        "How long, in seconds, ir serve waits for running calls when it is told to stop.",
        low=0,
        high=3600,
        project=False,
    ),
    Key(
        "serve.connections",
        int,
        1000,
        "How many connections ir serve keeps at once.",
        low=1,
        high=1_000_000,
        project=False,
    ),
    Key(
        "serve.workspace_jobs",
        int,
        8,
        "How many jobs of one workspace may run or wait at once.",
        low=1,
        high=10_000,
        project=False,
    ),
    Key("llm.base_url", str, None, "The address of an OpenAI-compatible language model server.", project=False),
    Key("llm.model", str, None, "The language model to ask there."),
    Key(
        "llm.api_key_env",
        str,
        "OPENAI_API_KEY",
        "The environment variable that holds the key for it; the key itself is never stored.",
        project=False,
    ),
    Key("llm.timeout_s", float, 60.0, "How long, in seconds, to wait for its answer.", low=0.1, high=3600),
    Key("threads", int, 0, "How many threads embed; 0 for one on each physical core.", low=0, high=1024),
    Key(
        "embed.base_url",
        str,
        "https://api.openai.com/v1",
        "The address of the OpenAI-compatible embeddings server that 'openai:MODEL' asks.",
        project=False,
    ),
    Key(
        "embed.api_key_env",
        str,
        "OPENAI_API_KEY",
        "The environment variable that holds the key for it; the key itself is never stored.",
        project=False,
    ),
    Key("embed.timeout_s", float, 60.0, "How long, in seconds, a batch of texts may take there.", low=0.1, high=3600),
    Key(
        "ollama.base_url",
        str,
        "http://localhost:11434",
        "The address of the Ollama server that 'ollama:MODEL' asks.",
        project=False,
    ),
    Key(
        "rerank.base_url",
        str,
        None,
        "The address of a rerank server in the style of Cohere, Jina or Voyage.",
        project=False,
    ),
    Key(
        "rerank.api_key_env",
        str,
        "RERANK_API_KEY",
        "The environment variable that holds the key for it; the key itself is never stored.",
        project=False,
    ),
    Key(
        "rerank.deadline_ms",
        int,
        1500,
        "How long, in ms, a reranker may take before the search goes on without it.",
        low=1,
        high=600_000,
    ),
    Key(
        "rerank.retries",
        int,
        1,
        "How often a rerank server is asked again after a passing failure, if there is time left.",
        low=0,
        high=10,
    ),
    Key(
        "rerank.failures",
        int,
        3,
        "After how many failures in a row a rerank server is left alone for a while.",
        low=1,
        high=1000,
    ),
    Key("rerank.rest_s", float, 30.0, "For how many seconds it is left alone then.", low=0, high=86_400),
    Key(
        "rerank.usd_per_1000_searches",
        float,
        None,
        "What 1,000 rerankings cost on the server, in US dollars; each result then tells its cost.",
        low=0,
    ),
    Key(
        "rerank.usd_per_million_tokens",
        float,
        None,
        "What a million tokens cost there, in US dollars, if it is paid by tokens.",
        low=0,
    ),
    Key(
        "retrieval.keyword_backend",
        str,
        "embedded",
        "The engine that finds words for ir keyword and ontology queries.",
        choices=KEYWORD_BACKENDS,
        project=False,
    ),
    Key(
        "retrieval.postgres_url",
        str,
        None,
        "The database that keeps words for the back ends on PostgreSQL: postgresql://user@host/database.",
        project=False,
    ),
    Key(
        "retrieval.milvus_url",
        str,
        None,
        "The Milvus that keeps words for the back end of that name: milvus://host:19530.",
        project=False,
    ),
    Key(
        "azure_search.base_url",
        str,
        None,
        "The address of an Azure AI Search service: https://NAME.search.windows.net",
        project=False,
    ),
    Key(
        "azure_search.api_key_env",
        str,
        "AZURE_SEARCH_API_KEY",
        "The environment variable that holds the key or token for it; the key itself is never stored.",
        project=False,
    ),
    Key(
        "azure_search.auth",
        str,
        "api-key",
        "Whether that variable holds an 'api-key' of the service or a 'bearer' token.",
        choices=("api-key", "bearer"),
        project=False,
    ),
    Key(
        "retrieval.reranker",
        str,
        "none",
        "What ontology queries are reranked by: 'maxsim', 'cross-encoder:MODEL', 'http:MODEL' or 'none'.",
        servers=True,
    ),
    Key(
        "retrieval.link_phrases",
        str,
        None,
        "The phrases, with commas between them, by which a question about links is known; a star is any words.",
        project=False,
    ),
    Key(
        "telemetry.enabled",
        bool,
        False,
        "Whether queries and requests are measured, for Prometheus and OpenTelemetry.",
        project=False,
    ),
    Key(
        "telemetry.otlp_endpoint",
        str,
        None,
        "The collector that measures and spans are sent to, such as http://localhost:4318.",
        project=False,
    ),
    Key(
        "telemetry.query_text",
        bool,
        False,
        "Whether spans hold what was asked for.",
        project=False,
    ),
    Key(
        "models.hub_url",
        str,
        "https://huggingface.co",
        "The address of the model hub that ir models pull asks first.",
        project=False,
    ),
)

_BY_NAME = {key.name: key for key in KEYS}


def names() -> tuple[str, ...]:
    """The names of all settings."""
    return tuple(_BY_NAME)


def key_named(name: str, where: str) -> Key:
    """The setting of that name, else an error with the nearest ones; ``where`` says who used the name."""
    if name in _BY_NAME:
        return _BY_NAME[name]
    if name.endswith(".api_key"):
        raise InvalidInput(
            f"{where}: {name} is not a setting, because keys are never kept in files.",
            remedy=f"Put the key in an environment variable and its name in {name}_env.",
        )
    from difflib import get_close_matches  # for those who err

    near = get_close_matches(name, _BY_NAME, n=1)
    hint = f"Did you mean {near[0]!r}? " if near else ""
    raise InvalidInput(f"{where}: unknown setting {name!r}.", remedy=f"{hint}Known: {', '.join(_BY_NAME)}.")
