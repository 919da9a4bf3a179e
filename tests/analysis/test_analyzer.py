"""Text becomes the terms that people search for."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ir.analysis import LANGUAGES, Analyzer, analyzer_for, document_terms, query_terms
from ir.analysis.analyzer import bounded
from ir.analysis.split import Kind, ascii_pieces, pieces, plain_words, run_pattern
from ir.analysis.words import line_of
from ir.errors import InvalidInput


@pytest.fixture(scope="module")
def english() -> Analyzer:
    return Analyzer()


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("The cats are running", ["cat", "run"]),
        ("How do I do what they would do?", []),
        ("getUserName", ["getusernam", "get", "user", "name"]),
        ("getusername", ["getusernam"]),
        ("HTTPServer2", ["httpserver2", "http", "server", "2"]),
        ("snake_cases", ["snake_cases", "snake", "case"]),
        ("a.b.c", ["a.b.c", "a", "b", "c"]),
        ("is_not_the", ["is_not_the", "is", "not", "the"]),
        ("e-mails emails", ["email", "e", "mail", "email"]),
        ("APIs and URLs", ["api", "url"]),
        ("the user's, GitHub’s", ["user", "github", "git", "hub"]),
        ("C++ or C#; see item#2", ["c++", "c", "c#", "c", "see", "item", "2"]),
        ("__init__ _x_ foo_", ["init", "x", "foo"]),
        ("(end.) 'quoted' std::vector", ["end", "quot", "std", "vector"]),
        ("naïve Café cafe\u0301", ["naiv", "cafe", "cafe"]),
        ("the thé", ["the"]),
        ("ＦＵＬＬ ﬁne", ["full", "fine"]),
        ("d41d8cd98f00b204e9800998ecf8427e", ["d41d8cd98f00b204e9800998ecf8427e"]),
        ("日本語 猫 see手机", ["日本", "日", "本語", "本", "語", "猫", "see", "手机", "手", "机"]),
        ("МирТруд2", ["миртруд2", "мир", "труд", "2"]),
        ("हिन्दी में", ["हिन्दी", "में"]),
        ("😀 \x00\x01 -- …", []),
        ("", []),
    ],
)
def test_terms(english: Analyzer, text: str, terms: list[str]) -> None:
    assert english.terms(text) == terms


@pytest.mark.parametrize("text", ["ガギ ポート", "データベース", "がっこう", "한국어 값"])
def test_letters_are_not_cut_from_the_marks_that_belong_to_them(english: Analyzer, text: str) -> None:
    assert english.terms(unicodedata.normalize("NFD", text)) == english.terms(text)


def test_half_width_kana_are_the_kana(english: Analyzer) -> None:
    assert english.terms("ｶﾀｶﾅ ﾃﾞｰﾀﾍﾞｰｽ ｶﾞﾊﾟ") == english.terms("カタカナ データベース ガパ")
    assert [(token.start, token.end) for token in english.tokens("ｶﾞﾊﾟ")] == [(0, 4), (0, 2), (2, 4)]


def test_without_identifiers_only_words_are_left() -> None:
    assert Analyzer(identifiers=False).terms("getUserName of snake_case") == ["getusernam", "snake", "case"]


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_listed_language_works(language: str) -> None:
    analyzer = Analyzer(language)
    assert analyzer.terms("getUserName")[0] in analyzer.terms("getusername")
    assert analyzer.language == language


def test_languages_stem_and_stop_in_their_own_way() -> None:
    assert Analyzer("german").terms("die Häuser und das Haus") == ["haus", "haus"]
    assert Analyzer("french").terms("l'amour des chats")[-1] == "chat"
    assert Analyzer("french").terms("fenêtres fenetre") == ["fenetr", "fenetr"]
    assert Analyzer("portuguese").terms("ações acoes") == ["aco", "aco"]
    assert len(set(Analyzer("spanish").terms("canción cancion año ano"))) == 3
    assert Analyzer("swedish").terms("båda bada")[0] != Analyzer("swedish").terms("bada")[0]
    assert Analyzer("none").terms("The Running cats") == ["the", "running", "cats"]


def test_an_unknown_language_names_the_known_ones() -> None:
    with pytest.raises(InvalidInput, match="'english'"):
        Analyzer("englisch")


def test_ids_differ_where_the_output_does() -> None:
    ids = {Analyzer(language, identifiers).id for language in LANGUAGES for identifiers in (True, False)}
    assert len(ids) == 2 * len(LANGUAGES)
    assert Analyzer().id == Analyzer().id


def test_the_output_is_the_one_the_id_stands_for(english: Analyzer) -> None:
    """Who changes the terms must raise VERSION: indexes are pinned to the analyzer's id."""
    text = "The getUserName of e-mails, a.b.c and HTTPServer2: naïve users' C++ state-of-the-art 日本語 12.5 don't IDs"
    digest = hashlib.blake2b(" ".join(english.terms(text)).encode(), digest_size=8).hexdigest()
    assert (english.id, digest) == ("terms3-english", "f5073bfccfe10ea8")


def test_very_long_words_are_shortened_and_stay_distinct(english: Analyzer) -> None:
    one, two = english.terms("x" * 300), english.terms("x" * 301)
    assert one != two
    assert len(one[0]) < 100
    assert english.terms("x" * 300) == one


@pytest.mark.slow
def test_huge_and_odd_texts_are_harmless(english: Analyzer) -> None:
    for text in ("y" * 10_000_000, "a_" * 1_000_000, "é" * 1_000_000, "\ud800\udfff" * 10, "ﷺ"):
        assert all(term and len(term) <= 200 and not term.isspace() for term in english.terms(text))


def test_headings_count_three_times() -> None:
    terms = document_terms(analyzer_for(), "Body text", {"title": "Parsers"})
    assert terms == ["parser", "parser", "parser", "bodi", "text"]
    assert document_terms(analyzer_for(), "Body", {}) == ["bodi"]


def test_query_terms_are_counted() -> None:
    assert query_terms(analyzer_for(), "tests of the test runner") == {"test": 2.0, "runner": 1.0}
    assert query_terms(analyzer_for(), "the") == {}


def test_one_analyzer_for_each_language() -> None:
    assert analyzer_for("dutch") is analyzer_for("dutch")


@pytest.mark.slow
@settings(max_examples=400, deadline=None)
@given(st.text(max_size=60) | st.text(alphabet="aB1_-.'’#+é日ｶﾞ ก\u0301\u200d\t,(/=@", max_size=40))
def test_tokens_are_the_terms_with_true_places(text: str) -> None:
    analyzer = analyzer_for()
    tokens = analyzer.tokens(text)
    assert [term for token in tokens for term in token.terms] == analyzer.terms(text)
    for token in tokens:
        assert 0 <= token.start < token.end <= len(text)
        assert all(term and len(term.split()) == 1 for term in token.terms)


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(st.text(max_size=60), st.text(max_size=20))
def test_terms_do_not_depend_on_what_was_seen_before(text: str, other: str) -> None:
    fresh, used = Analyzer(), analyzer_for()
    used.terms(other)
    assert used.terms(text) == fresh.terms(text)
    assert used.terms(f"{text} {other}") == fresh.terms(text) + fresh.terms(other)


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ir.analysis.words.MOST_REMEMBERED", 100)
    analyzer = Analyzer()
    expected = [f"word{number}" for number in range(500)]
    assert [term for word in expected for term in analyzer.terms(word)][::3] == expected
    assert len(analyzer.vocabulary()) <= 101


def test_memory_is_bounded_where_a_whole_text_stands_between_spaces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ir.analysis.words.MOST_GIVEN", 1000)
    analyzer = Analyzer()
    letters = [chr(code) for code in range(0x4E00, 0x4E00 + 4000)]
    texts = ["".join(letters[start : start + 200]) for start in range(0, 4000, 200)]
    assert all(set(text) <= set(analyzer.terms(text)) for text in texts)
    assert len(analyzer.vocabulary().terms) <= 1000 + 399


RUNS = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9_.'\-]{0,24}(\+\+|#)?", fullmatch=True)


WORDS = st.lists(RUNS | st.from_regex(r"[!-~]{1,30}", fullmatch=True), max_size=8)


@pytest.mark.slow
@given(WORDS)
def test_the_quick_splitter_follows_the_same_rules(words: list[str]) -> None:
    careful = [
        [
            [bounded(run[start:end].lower(), kind) for start, end, kind in pieces(run)]
            for run in run_pattern(word).findall(word)
        ]
        for word in words
    ]
    assert [[list(_told(*found)) for found in word] for word in ascii_pieces(words)] == careful


def _told(first: Kind, texts: list[str]) -> Iterator[tuple[str, Kind]]:
    for number, text in enumerate(texts):
        yield text, Kind.PART if number and first is not Kind.WORD else first


@pytest.mark.slow
@given(st.lists(st.text(min_size=1, max_size=12).filter(lambda word: not set(word) & set("\r\n")) | RUNS, max_size=8))
def test_plain_words_are_told_together_as_they_are_one_by_one(words: list[str]) -> None:
    def alone(word: str) -> str:
        core = word.strip("(.)")
        return core.lower() if re.fullmatch("[A-Z]?[a-z]+|[A-Z]+s?|[0-9]+", core) else ""

    assert plain_words(words, "(.)", 200) == [alone(word) for word in words]


def test_words_are_known_together_as_they_are_one_by_one() -> None:
    texts = ["The getUserName() of e-mails", "", "of the", "naïve 日本語 C++", "x" * 300, "one"]
    together, alone = Analyzer().vocabulary(), Analyzer()
    found = [line_of(together.terms, numbers).split() for numbers in together.of_texts(texts)]
    assert found == [alone.terms(text) for text in texts]
    assert [len(terms) for terms in found][1:3] == [0, 0]


def test_words_that_fail_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    analyzer = Analyzer()
    analyzer.terms("before")
    monkeypatch.setattr(analyzer.vocabulary(), "_find", lambda words: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        analyzer.terms("before fresh words")
    monkeypatch.undo()
    assert analyzer.terms("before fresh words") == ["befor", "fresh", "word"]
