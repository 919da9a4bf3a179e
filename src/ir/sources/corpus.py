"""A corpus, defined: what is in it, what counts as a change, how it is taken apart, and who embeds it.

The only module here that knows strategies: it combines a scope with a strategy.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ir.errors import InvalidInput
from ir.protocols import IndexingStrategy, Omission, WithSkipped, WithStat
from ir.sources.files import MARKDOWN_FILES, FileScope
from ir.sources.loaded import LoadedScope
from ir.sources.packages import README_CHARS, Repos, load_packages
from ir.sources.records import Fetcher, load_jsonl, load_records
from ir.sources.reports import ReportScope
from ir.sources.sessions import CLAUDE_SESSIONS, load_sessions
from ir.sources.signals import content_hash_signal
from ir.sources.skills import load_skills
from ir.sources.tools import load_tools
from ir.spans import Moment
from ir.strategy import Chunked, Package, Skill, TurnPair, WholeText

__all__ = ["CorpusSource"]


@dataclass
class CorpusSource:
    """A corpus definition: scope, change signal, strategy and embedder.

    ``scope`` is any mapping ``{id: raw}``. ``metadata_of(id, raw)`` gives the fields to filter on; without it these
    are a raw mapping's own scalar fields. Every classmethod takes the fields of this class that it does not set
    itself, such as ``embedder``, ``change_signal`` and ``metadata_of``, as keywords.
    """

    name: str
    scope: Mapping[str, Any]
    indexing_strategy: IndexingStrategy = field(default_factory=WholeText)
    change_signal: Callable[[str, Any], str] = content_hash_signal
    embedder: Any = "default"
    metadata_of: Callable[[str, Any], Mapping[str, Any]] | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name.strip():
            raise InvalidInput(f"A corpus needs a name, not {self.name!r}.")
        if isinstance(self.scope, (Sequence, Set)):
            raise InvalidInput(
                f"A corpus is made from a mapping of ids to items, not from a {type(self.scope).__name__}.",
                remedy="Give each item an id, for instance: {str(n): text for n, text in enumerate(texts)}",
            )
        strategy = self.indexing_strategy
        if isinstance(strategy, type) or not hasattr(strategy, "decompose"):
            raise InvalidInput(
                f"{strategy!r} is not a strategy.",
                remedy="Give an object with a decompose method, such as ir.Chunked().",
            )

    def skipped(self) -> list[Omission]:
        """What the scope could not use, and why; empty if it does not say."""
        return list(self.scope.skipped()) if isinstance(self.scope, WithSkipped) else []

    def stat_signal(self, artifact_id: str) -> str | None:
        """A cheap change test, if the scope has one; ``None`` means: compare the content."""
        return self.scope.stat_signal(artifact_id) if isinstance(self.scope, WithStat) else None

    @classmethod
    def from_mapping(
        cls, mapping: Mapping[str, Any], *, name: str, strategy: IndexingStrategy | None = None, **kwargs: Any
    ) -> CorpusSource:
        """Any mapping ``{id: raw}`` as a corpus; one surface for each item by default. Ids are texts.

        >>> CorpusSource.from_mapping({"a": "some text"}, name="notes", embedder="light").scope["a"]
        'some text'
        """
        if isinstance(mapping, dict):  # iterating over another mapping may take long; a build reports on its keys
            wrong = next((key for key in mapping if not isinstance(key, str)), "")
            if not isinstance(wrong, str):
                raise InvalidInput(
                    f"The keys of a mapping are the ids of its items, which are texts; {wrong!r} is none.",
                    remedy="Write them as texts: {str(key): item for key, item in mapping.items()}",
                )
        return cls(name, mapping, strategy or WholeText(), **kwargs)

    @classmethod
    def from_files(
        cls,
        root: str | Path,
        *,
        name: str | None = None,
        pattern: str | None = MARKDOWN_FILES,
        exclude: Callable[[str], bool] | None = None,
        strategy: IndexingStrategy | None = None,
        all_text: bool = False,
        hidden: bool = False,
        max_bytes: int | None = None,
        include_secrets: bool | None = None,
        include_generated: bool | None = None,
        **kwargs: Any,
    ) -> CorpusSource:
        """A folder of text files (or one file), in chunks; see :class:`ir.sources.FileScope`.

        ``pattern`` is searched for in paths relative to ``root``; ``all_text`` (or no pattern) takes every text file
        that is not ignored. ``exclude`` is asked with the relative path. ``include_secrets`` takes files that may hold
        secrets, such as ``.env``, ``include_generated`` lock files, minified and generated ones; without them the
        settings of those names decide.
        """
        limit = {} if max_bytes is None else {"max_bytes": max_bytes}
        wanted = None if all_text else pattern
        scope = FileScope(
            root,
            pattern=wanted,
            exclude=exclude,
            hidden=hidden,
            include_secrets=include_secrets,
            include_generated=include_generated,
            **limit,
        )
        return cls(name or scope.root.resolve().name or "files", scope, strategy or Chunked(), **kwargs)

    @classmethod
    def from_md_reports(
        cls,
        *,
        name: str = "reports",
        projects_root: str | Path | None = None,
        strategy: IndexingStrategy | None = None,
        recursive: bool = True,
        **kwargs: Any,
    ) -> CorpusSource:
        """Markdown under projects' ``docs/`` and ``misc/docs/``, each tagged with its ``project`` and ``group``.

        ``projects_root`` (the current folder by default) holds projects, or groups of them, or is one. Files named in
        capitals, such as README.md, are left out, and without ``recursive`` what lies deeper than right in a ``docs``.
        Ids are paths relative to the root.
        """
        return cls(name, ReportScope(projects_root, recursive=recursive), strategy or Chunked(), **kwargs)

    @classmethod
    def from_packages(
        cls,
        *,
        name: str = "packages",
        manifest: str | Path | None = None,
        readme_chars: int = README_CHARS,
        strategy: IndexingStrategy | None = None,
        repos: Repos | None = None,
        exclude: Sequence[str] | None = None,
        **kwargs: Any,
    ) -> CorpusSource:
        """Software packages: the projects of a ``.pth`` manifest and of ``repos``, else what is installed here.

        ``repos`` are project folders or patterns such as ``"~/code/*"``, or a function (or ``"module:function"``) that
        returns folders. ``exclude`` leaves out by patterns of names (``"types-*"``) or of folders.
        """
        scope = LoadedScope(load_packages(manifest, readme_chars, repos, exclude))
        return cls(name, scope, strategy or Package(), **kwargs)

    @classmethod
    def from_skills(
        cls,
        *,
        name: str = "skills",
        filter: Any = None,
        fetcher: Fetcher | str | None = None,
        roots: Sequence[str | Path] | None = None,
        strategy: IndexingStrategy | None = None,
        **kwargs: Any,
    ) -> CorpusSource:
        """Agent skills: folders with a SKILL.md below ``roots``, or what ``fetcher`` returns.

        A record is a mapping with ``name``, ``description`` and maybe ``parent``; ``filter`` is a function of it or
        a metadata filter. Records of one name are told apart by parent, path or number: ``deploy``, ``deploy@ops``.
        The default roots are ``~/.claude/skills``, ``.claude/skills`` and ``skills``.
        """
        return cls(name, LoadedScope(load_skills(roots, fetcher, filter)), strategy or Skill(), **kwargs)

    @classmethod
    def from_mcp_tools(
        cls, tools: Any, *, name: str = "tools", strategy: IndexingStrategy | None = None, **kwargs: Any
    ) -> CorpusSource:
        """Tools of MCP servers, by name; their parameters are searched too, and ``params`` lists their names.

        ``tools`` is a list of mappings or objects, an answer to ``tools/list``, or the path of a JSON file with one.
        """
        return cls(name, LoadedScope(load_tools(tools)), strategy or Skill(), **kwargs)

    @classmethod
    def from_records(
        cls,
        fetcher: Fetcher | str,
        *,
        name: str = "records",
        id_key: str | None = None,
        text_key: str | None = None,
        strategy: IndexingStrategy | None = None,
        **kwargs: Any,
    ) -> CorpusSource:
        """What a function (or ``"module:function"``) returns: mappings with an id under ``id_key``.

        Without ``id_key`` it is looked for under ``_id`` and ``id``. The other scalar fields can be filtered on.
        """
        return cls(name, LoadedScope(load_records(fetcher, id_key)), strategy or WholeText(text_key=text_key), **kwargs)

    @classmethod
    def from_jsonl(
        cls,
        path: str | Path,
        *,
        name: str | None = None,
        id_key: str | None = None,
        text_key: str | None = None,
        strategy: IndexingStrategy | None = None,
        **kwargs: Any,
    ) -> CorpusSource:
        """A file with one JSON object on each line, read as in :meth:`from_records`."""
        bodies = {"file": str(Path(path).expanduser().absolute()), "id_key": id_key}
        scope = LoadedScope(load_jsonl(path, id_key), bodies=bodies)
        return cls(name or Path(path).stem, scope, strategy or WholeText(text_key=text_key), **kwargs)

    @classmethod
    def from_sessions(
        cls,
        root: str | Path,
        *,
        name: str = "sessions",
        strategy: IndexingStrategy | None = None,
        since: Moment | None = None,
        projects: Sequence[str] | str | None = None,
        **kwargs: Any,
    ) -> CorpusSource:
        """Chat sessions in JSON lines; every question with its answer is an item, ``<session file>#<turn>``.

        ``since`` leaves out older ones: a date, a moment, or how long ago (``"7d"``, or a number of days), counted
        from each build. ``projects`` keeps those of projects by name or folder, in which ``*`` stands for anything.
        """
        return cls(name, LoadedScope(load_sessions(root, since, projects)), strategy or TurnPair(), **kwargs)

    @classmethod
    def from_claude_sessions(
        cls,
        root: str | Path = CLAUDE_SESSIONS,
        *,
        name: str = "sessions",
        strategy: IndexingStrategy | None = None,
        since: Moment | None = None,
        projects: Sequence[str] | str | None = None,
        **kwargs: Any,
    ) -> CorpusSource:
        """The chat sessions that Claude Code keeps on this machine; see :meth:`from_sessions`."""
        return cls.from_sessions(root, name=name, strategy=strategy, since=since, projects=projects, **kwargs)
