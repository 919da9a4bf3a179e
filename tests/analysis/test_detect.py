"""The language of a text, and of a corpus built with ``language="auto"``."""

from __future__ import annotations

from pathlib import Path

import pytest

from ir import CorpusSource, CorpusStore, build
from ir.analysis import LANGUAGES, detect_language

TEXTS = {
    "english": "The archive keeps every letter that was sent to the house, and most of them are still in their "
    "envelopes. She reads one of them each evening before the lamp goes out.",
    "french": "Les archives gardent toutes les lettres qui ont été envoyées à la maison, et la plupart sont encore "
    "dans leurs enveloppes. Elle en lit une chaque soir avant que la lampe ne s'éteigne.",
    "german": "Das Archiv bewahrt alle Briefe auf, die an das Haus geschickt wurden, und die meisten sind noch in "
    "ihren Umschlägen. Sie liest jeden Abend einen davon, bevor die Lampe ausgeht.",
    "spanish": "El archivo guarda todas las cartas que se enviaron a la casa, y la mayoría están todavía en sus "
    "sobres. Ella lee una cada noche antes de que se apague la lámpara.",
    "italian": "L'archivio conserva tutte le lettere che sono state mandate alla casa, e la maggior parte è ancora "
    "nelle sue buste. Lei ne legge una ogni sera prima che la lampada si spenga.",
    "portuguese": "O arquivo guarda todas as cartas que foram enviadas para a casa, e a maioria ainda está nos seus "
    "envelopes. Ela lê uma delas todas as noites antes de a lâmpada se apagar.",
    "dutch": "Het archief bewaart alle brieven die naar het huis werden gestuurd, en de meeste zitten nog in hun "
    "envelop. Zij leest er elke avond een van voordat de lamp uitgaat.",
    "norwegian": "Arkivet tar vare på alle brevene som ble sendt til huset, og de fleste ligger fortsatt i "
    "konvoluttene sine. Hun leser et av dem hver kveld før lampen slukkes, og det er ikke alltid lett for henne.",
    "russian": "В архиве хранятся все письма, которые были отправлены в дом, и большинство из них всё ещё лежат в "
    "конвертах. Она читает одно из них каждый вечер, прежде чем погаснет лампа.",
    "turkish": "Arşiv, eve gönderilen bütün mektupları saklıyor ve çoğu hâlâ zarfında. O her akşam bir tanesini "
    "okuyor, ama bu onun için her zaman kolay değil, çok uzun bir iş gibi.",
    "greek": "Το αρχείο φυλάει όλα τα γράμματα που στάλθηκαν στο σπίτι.",
}
STRANGERS = {
    "polish": "Archiwum przechowuje wszystkie listy, które wysłano do tego domu, a większość z nich nadal leży w "
    "kopertach. Ona czyta jeden z nich każdego wieczoru, zanim zgaśnie lampa, i to nie zawsze jest dla niej łatwe.",
    "indonesian": "Arsip itu menyimpan semua surat yang dikirim ke rumah, dan sebagian besar masih berada di dalam "
    "amplopnya. Ia membaca satu setiap malam sebelum lampu padam.",
    "chinese": "档案馆保存着所有寄到这所房子的信件，其中大部分仍在信封里。她每天晚上都会读一封。",
}


@pytest.mark.parametrize("language", TEXTS)
def test_a_paragraph_is_enough(language: str) -> None:
    assert language in LANGUAGES
    assert detect_language([TEXTS[language]]) == language


@pytest.mark.parametrize("language", STRANGERS)
def test_an_unknown_language_is_none_of_the_known_ones(language: str) -> None:
    assert detect_language([STRANGERS[language]]) == "none"


def test_source_code_with_english_comments_is_english() -> None:
    code = Path(__file__).parents[2] / "src" / "ir" / "analysis" / "analyzer.py"
    assert detect_language([code.read_text("utf-8")]) == "english"


@pytest.mark.parametrize("texts", [[], [""], ["42 -- 17"], ["kubectl get pods"]])
def test_too_little_text_is_taken_for_english(texts: list[str]) -> None:
    assert detect_language(texts) == "english"


def test_the_language_of_most_texts_wins() -> None:
    assert detect_language([TEXTS["german"], TEXTS["german"], TEXTS["english"]]) == "german"


def built(texts: dict[str, str], language: str | None, store: CorpusStore | None = None) -> CorpusStore:
    kept = CorpusStore.memory() if store is None else store
    build(CorpusSource.from_mapping(texts, name="letters"), store=kept, embedder="light", language=language)
    return kept


def test_a_corpus_is_built_in_the_language_of_its_texts() -> None:
    assert built({"a": TEXTS["french"]}, "auto").get_config()["language"] == "french"


def test_without_auto_a_corpus_is_english_as_ever() -> None:
    assert built({"a": TEXTS["french"]}, None).get_config()["language"] == "english"


def test_a_corpus_keeps_its_language() -> None:
    store = built({"a": TEXTS["french"]}, "auto")
    built({"a": TEXTS["english"], "b": TEXTS["english"]}, "auto", store)
    assert store.get_config()["language"] == "french"


def test_french_words_meet_by_their_french_stems() -> None:
    store = built({"a": TEXTS["french"], "b": "Une autre histoire, sans courrier."}, "auto")
    corpus = build(CorpusSource.from_mapping({}, name="letters"), store=store, embedder="light", full=False)
    hits = corpus.search("envoyer une lettre", mode="lexical")
    assert hits[0].artifact_id == "a"
    assert "envoi" in corpus.search("envoyer", mode="lexical", explain=True)[0].explanation["matched_terms"]  # type: ignore[index]


def test_a_file_that_cannot_be_taken_apart_does_not_hide_the_language() -> None:
    class Picky:
        def decompose(self, artifact_id: str, raw: str, metadata: object = None) -> object:
            from ir import IndexPlan, Surface

            if artifact_id == "bad":
                raise ValueError("no")
            return IndexPlan({}, [Surface(artifact_id, "document", raw)])

    store = CorpusStore.memory()
    source = CorpusSource.from_mapping({"bad": "x", "good": TEXTS["spanish"]}, name="n", strategy=Picky())
    corpus = build(source, store=store, embedder="light", language="auto")
    assert store.get_config()["language"] == "spanish"
    assert corpus.report is not None
    assert [problem.id for problem in corpus.report.failed] == ["bad"]
