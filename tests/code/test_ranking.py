"""Searches of source code: what stands first, why, and how to go without."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ir
from ir.base import Hits
from ir.code import paths
from ir.code.asked import asked_in
from ir.code.ranking import CodeRanking
from ir.code.strategy import Code
from ir.errors import InvalidInput
from ir.store import CorpusStore, LocalStore

pytest.importorskip("tree_sitter")

FILES = {
    "app/session.py": '''
        """Sessions of users."""


        class SessionStore:
            """Keeps sessions in cookies."""

            def open_session(self, request):
                return request.cookies
        ''',
    "app/views.py": '''
        from app.session import SessionStore


        def show(request):
            """Show the session of a request: open_session, open_session, open_session."""
            return SessionStore().open_session(request)
        ''',
    "app/__init__.py": """
        from app.session import SessionStore

        __all__ = ["SessionStore"]
        """,
    "tests/test_session.py": '''
        from app.session import SessionStore


        def test_open_session():
            """open_session opens a session."""
            assert SessionStore().open_session(None)
        ''',
    "README.md": "# The session store\n\nOpen a session with `open_session` of the session store.\n",
}


@pytest.fixture(params=["memory", "local"])
def built(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[..., ir.Corpus]]:
    stores: list[CorpusStore] = []

    def build(files: Mapping[str, str], strategy: Any = None) -> ir.Corpus:
        stores.append(CorpusStore.memory() if request.param == "memory" else LocalStore(tmp_path / f"c{len(stores)}"))
        from textwrap import dedent

        texts = {path: dedent(text).lstrip("\n") for path, text in files.items()}
        source = ir.CorpusSource.from_mapping(texts, name="program", strategy=strategy or Code())
        return ir.build(source, store=stores[-1], embedder="light")

    yield build
    for store in stores:
        store.close()


def stage(hits: Hits) -> Mapping[str, Any]:
    return next(one for one in hits.meta["stages"] if one["name"] == "code")


def files_of(hits: Hits) -> list[str]:
    return [hit.artifact_id for hit in hits]


@pytest.mark.parametrize("mode", ["hybrid", "lexical", "dense"])
def test_what_is_built_as_code_is_ranked_as_code(built: Callable[..., ir.Corpus], mode: str) -> None:
    corpus = built(FILES)
    for query in ("open_session", "SessionStore.open_session", "where are sessions kept in the store"):
        hits = corpus.search(query, mode=mode, explain=True)
        assert files_of(hits)[0] == "app/session.py", query
        assert stage(hits)["ran"]
        assert hits[0].explanation is not None
        assert {"code.definition", "code.path"} & set(hits[0].explanation["boosts"])


def test_the_parts_that_are_explained_add_up_to_the_score(built: Callable[..., ir.Corpus]) -> None:
    for hit in built(FILES).search("how is a session opened", mode="hybrid", explain=True):
        assert hit.explanation is not None
        added = sum(hit.explanation["shares"].values()) + sum(hit.explanation["boosts"].values())
        assert hit.score == pytest.approx(added)


def test_a_plain_ranking_can_be_asked_for(built: Callable[..., ir.Corpus]) -> None:
    corpus = built(FILES)
    plain = corpus.search("open_session", mode="hybrid", ranking="plain", explain=True)
    assert not stage(plain)["ran"]
    assert stage(plain)["why"] == "a plain ranking was asked for"
    assert all(hit.explanation is not None and not hit.explanation["boosts"] for hit in plain)
    assert files_of(plain) != files_of(corpus.search("open_session", mode="hybrid"))


def test_other_corpora_are_ranked_as_before_unless_asked_otherwise(built: Callable[..., ir.Corpus]) -> None:
    corpus = built(FILES, ir.Chunked())
    usual, plain = (corpus.search("open_session", mode="hybrid", ranking=one) for one in (None, "plain"))
    assert [(hit.artifact_id, hit.score) for hit in usual] == [(hit.artifact_id, hit.score) for hit in plain]
    assert stage(usual)["why"] == "the corpus is neither source code nor a book"
    assert files_of(corpus.search("open_session", mode="hybrid", ranking="code"))[0] == "app/session.py"


def test_a_corpus_that_is_built_otherwise_later_is_no_longer_ranked_as_code(built: Callable[..., ir.Corpus]) -> None:
    corpus = built(FILES)
    source = ir.CorpusSource.from_mapping({"a.md": "tea"}, name="program", strategy=ir.Chunked())
    again = ir.build(source, store=corpus.store, embedder="light")
    assert not stage(again.search("tea"))["ran"]


def test_tests_come_last_unless_they_are_asked_for(built: Callable[..., ir.Corpus]) -> None:
    corpus = built(FILES)
    usual, asked = (
        files_of(corpus.search(query, mode="hybrid")) for query in ("open session", "tests of open session")
    )
    assert usual.index("tests/test_session.py") > usual.index("app/views.py")
    assert asked.index("tests/test_session.py") < asked.index("app/views.py")


def test_a_definition_that_no_channel_found_is_fetched(built: Callable[..., ir.Corpus]) -> None:
    noise = {
        f"noise{number}.py": f"def other{number}():\n    frobnicate({number})\n    frobnicate()\n"
        for number in range(40)
    }
    body = "\n".join(f"    step_{number} = prepare({number}, 'many other words in a long body')" for number in range(9))
    corpus = built({**noise, "deep/core.py": f"class Engine:\n    def frobnicate(self):\n{body}\n"})
    alone = CodeRanking(fetch=False)
    assert "deep/core.py" not in files_of(corpus.search("frobnicate", mode="hybrid", k=3, fetch_k=3, ranking=alone))
    hits = corpus.search("frobnicate", mode="hybrid", k=3, fetch_k=3)
    assert files_of(hits)[0] == "deep/core.py"
    assert stage(hits)["why"] == "1 added by their names"
    assert hits[0].channels["dense"]["score"] != 0
    narrowed = corpus.search("frobnicate", mode="hybrid", k=3, fetch_k=3, filter={"symbols": "other1"})
    assert files_of(narrowed) == ["noise1.py"], "a filter holds for what is fetched too"


def test_further_chunks_of_a_file_make_room_for_others(built: Callable[..., ir.Corpus]) -> None:
    many = "\n\n".join(
        f"def route_{name}(path):\n    return match(path, {name!r})" + "\n    # route" * 30 for name in "abcdef"
    )
    corpus = built({"routing.py": many, "convert.py": "def convert(path):\n    return path  # for a route\n"})
    first = files_of(corpus.search("route path", mode="hybrid", per_artifact=3))[:2]
    assert first == ["routing.py", "convert.py"]
    undecayed = corpus.search("route path", mode="hybrid", per_artifact=3, ranking=CodeRanking(decay=1))
    assert files_of(undecayed)[:2] == ["routing.py", "routing.py"]


def test_discovery_ranks_as_searches_do(built: Callable[..., ir.Corpus]) -> None:
    corpus = built(FILES)
    usual = ir.discover(corpus, "open_session", max_k=1, strategy="top_k")
    plain = ir.discover(corpus, "open_session", max_k=1, strategy="top_k", ranking="plain")
    assert usual.results[0].artifact_id == "app/session.py"
    assert plain.results[0].artifact_id != "app/session.py"


def test_a_ranking_of_ones_own(built: Callable[..., ir.Corpus]) -> None:
    def by_path(pool: ir.retrieve.Pool) -> list[float]:
        return [float(path == "README.md") for path in pool.artifact_ids]

    hits = built(FILES).search("open_session", mode="hybrid", ranking=by_path, explain=True)
    assert hits[0].artifact_id == "README.md"
    assert hits[0].explanation is not None
    assert hits[0].explanation["boosts"] == {"by_path": 1.0}


def test_an_unknown_ranking_is_told_with_those_that_there_are(built: Callable[..., ir.Corpus]) -> None:
    with pytest.raises(InvalidInput, match="'code', 'book', 'plain'"):
        built(FILES).search("x", ranking="prose")


@pytest.mark.parametrize(
    "query", ["?", "...", "a" * 5000, "::", "x.", "\x00 \ud800", "das Gerüst 构建 🎉", "$ _ __", "A B C D E F G H I"]
)
def test_any_question_can_be_asked(query: str) -> None:
    for hit in small().search(query, mode="hybrid"):
        assert np.isfinite(hit.score)


@cache
def small() -> ir.Corpus:
    texts = {"a.py": "def a_b():\n    return 1\n", "tests/b.py": "class B:\n    pass\n"}
    source = ir.CorpusSource.from_mapping(texts, name="program", strategy=Code())
    return ir.build(source, store=CorpusStore.memory(), embedder="light")


def test_the_command_and_the_setting_choose_the_ranking(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from ir.cli.main import run

    ir.build(ir.CorpusSource.from_mapping(FILES, name="program", strategy=Code()), embedder="light").store.close()

    def first(*options: str) -> tuple[bool, str]:
        capsys.readouterr()
        assert run(["search", "program", "open_session", "--json", *options]) == 0
        said = json.loads(capsys.readouterr().out)
        return next(one["ran"] for one in said["meta"]["stages"] if one["name"] == "code"), said["found"][0][
            "artifact_id"
        ]

    assert first() == first("--ranking", "code") == (True, "app/session.py")
    assert first("--ranking", "plain")[0] is False
    monkeypatch.setenv("IR_RANKING", "plain")
    assert first()[0] is False
    assert first("--ranking", "auto") == (True, "app/session.py")
    capsys.readouterr()
    assert (
        run(["discover", "program", "open_session", "--ranking", "code", "-s", "top_k", "--max-k", "1", "--json"]) == 0
    )
    assert json.loads(capsys.readouterr().out)["results"][0]["artifact_id"] == "app/session.py"


# -- paths and questions -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path",
    """
    tests/test_a.py a_test.py conftest.py pkg/server_test.go src/test/java/org/x/FooTest.java x/FooTests.java x/FooIT.java
    src/Acme.Tests/Parsing.cs Acme.UnitTests/A.cs src/parser/tests.rs tests/it/main.rs lib/a.test.ts lib/a.spec.tsx
    src/__tests__/a.js src/__mocks__/a.js types/a.test-d.ts spec/a_spec.rb integration-tests/a.go app/src/androidTest/A.kt
    """.split(),  # noqa: SIM905
)
def test_paths_of_tests(path: str) -> None:
    assert paths.is_test_path(path)


@pytest.mark.parametrize(
    "path",
    """
    src/contest.py src/testing.py lib/latest.js src/TypeSpec.cs pkg/attest/a.go src/manifest.ts org/x/Contestant.java
    src/_pytest/main.py openapi/spec.go src/request.rs unittest/case.py src/main/java/org/x/engine/FooTest.java
    """.split(),  # noqa: SIM905
)
def test_paths_that_only_look_like_tests(path: str) -> None:
    assert not paths.is_test_path(path)


def test_files_that_are_seldom_what_is_asked_for() -> None:
    assert all(map(paths.is_example, ["examples/a.py", "docs_src/b.py", "benches/c.rs", "src/samples/D.cs"]))
    assert all(
        map(paths.is_shim, ["compat.py", "lib/legacy/a.js", "vendor/x/y.go", "api/a.pb.go", "a_pb2.py", "F.g.cs"])
    )
    assert all(
        map(paths.is_reexport, ["a/__init__.py", "src/index.ts", "src/mod.rs", "x/package-info.java", "p/doc.go"])
    )
    assert all(map(paths.is_declaration, ["a.d.ts", "a.pyi"]))
    assert all(map(paths.is_code, ["a.py", "b.rs", "c.cs", "d.tsx", "e.go", "F.java"]))
    ordinary = ["src/app.py", "lib/compose.ts", "internal/sampler/sampler.go", "src/main/java/org/x/Sample.java"]
    for kind in (paths.is_example, paths.is_shim, paths.is_reexport, paths.is_declaration):
        assert not any(map(kind, ordinary)), kind.__name__
    assert not any(map(paths.is_code, ["README.md", "pyproject.toml", "a.txt", "LICENSE"]))


@pytest.mark.parametrize(
    ("query", "names", "types"),
    [
        ("getUserName", {"getUserName"}, set()),
        ("session", {"session"}, set()),
        ("how does app.render look up views", {"app.render", "render"}, set()),
        ("How is std::fmt::Display used", {"std::fmt::Display", "Display"}, set()),
        ("how Blueprint inherits from its base", set(), {"Blueprint"}),
        ("JSON and HTTP errors", set(), set()),
        ("", set(), set()),
        ("où est la clé ?", set(), set()),
    ],
)
def test_the_names_in_a_question(query: str, names: set[str], types: set[str]) -> None:
    asked = asked_in(query)
    assert (set(asked.names), set(asked.types)) == (names, types)


@pytest.mark.parametrize(
    ("query", "better", "worse"),
    [
        ("terminal emulator", "terminalemulator", "terminal"),
        ("rate limit headers", "ratelimitheaders", "ratelimittracker"),
        ("configuration of a server", "config", "serverless_adapter_table"),
        ("routing of requests", "router", "requestor_pool_manager"),
        ("interceptors", "InterceptorManager", "Interval"),
    ],
)
def test_names_are_compared_by_their_words(query: str, better: str, worse: str) -> None:
    asked = asked_in(query)
    weights = dict.fromkeys(asked.words, 1.0)
    first, second = (asked.share(paths.name_parts(name), weights, {}) for name in (better, worse))
    assert first > second
