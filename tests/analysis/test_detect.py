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


#: Sentences of everyday length, as they stand in small corpora.
SENTENCES = {
    "english": "Press the red button and wait until the light goes green.",
    "french": "Appuyez sur le bouton rouge et attendez que la lampe soit verte.",
    "german": "Der schnelle braune Fuchs springt über den faulen Hund und läuft in den Wald.",
    "spanish": "Este es un texto en español sobre la cocina y los alimentos.",
    "portuguese": "Isto é um texto em português sobre a cozinha e os alimentos.",
    "italian": "Questo è un testo in italiano sulla cucina e gli alimenti.",
    "dutch": "Dit is een Nederlandse tekst over koken en voedsel in onze keuken.",
    "swedish": "Det här är en text på svenska om hur man lagar mat, och den är inte lång.",
    "none": "Toto je český text o vaření a potravinách v naší kuchyni.",
}

#: What is no prose, or hardly any: nothing of it says another language than English.
NO_PROSE = {
    "javascript": """
        const l = s.map((d) => d.m), n = t - s;
        for (let i = 0; i < n; i++) { if (d[i] === t) { return l(d, s, m); } }
        var c = a.on("les", function (e) { return e.des ? e.la : e.en });
        let m = new Set(); s.t = t; s.d = d; n.m = m; y += l; j = qu + l + d + t
    """,
    "shell": """
        tar -c -z -f out.tgz -C /srv data
        git commit -m "m" && git push -u origin d
        docker run -d -t -m 512m -l app=s nginx
        curl -s -L -d @m.json -H "n: t" http://localhost:8000
        ls -l -t -d */ | sort -n -k 5 | head -n 3
        sed -n -e 's/les/la/' -e 's/d/t/' notes.txt
        find . -type d -name s -mtime -m
        ssh -t -l me host sudo -s
    """,
    "python": """
        def les(d, s, m, t=None):
            for l, n in d.items():
                m[l] = n if t else s
            return sorted(m, key=lambda en: m[en])
        class De(Et): la = un = 1
    """,
    "sql": "SELECT t.id, d.name FROM t JOIN d ON d.id = t.d_id WHERE t.n > 5 AND d.s = 'm' ORDER BY t.l DESC;",
    "c": "int m(char *s, int d) { unsigned l = 0; while (*s) l += *s++ - d; return l % n; }",
    "go": 'func (s *Server) le(d time.Duration, n int) (t T, err error) { if s.m == nil { return t, es.New("la") } }',
    "yaml": "metadata:\n  name: la\n  labels: {app: des, tier: les}\nspec:\n  ports:\n  - port: 80\n    name: en\n",
    "log": "10:02:11 INFO d.m.s.Main t=4 n=2 l=17\n10:02:12 WARN d.m.s.Les s=1 m=0\n",
    "titles": "Supersonic wing body interference\nBoundary layer transition\nConvolutional network training\n"
    "Protein folding dynamics\nJérôme Lalande\nIron deficiency anemia\nDunn index clustering\n",
    "commands": "docker run nginx\nkubectl get pods\nnpm install express\napt update\nsystemctl restart sshd\n",
    "units": "12 m, 4 s, 30 d, 5 l, 9 t, 7 n, 3 m, 8 s, 15 l, 2 d, 6 t, 1 n",
}


@pytest.mark.parametrize("language", SENTENCES)
@pytest.mark.parametrize("times", [3, 30])
def test_a_few_sentences_are_enough(language: str, times: int) -> None:
    assert detect_language([SENTENCES[language]] * times) == language


@pytest.mark.parametrize("kind", NO_PROSE)
@pytest.mark.parametrize("times", [1, 9])
def test_what_is_no_prose_is_taken_for_english(kind: str, times: int) -> None:
    assert detect_language([NO_PROSE[kind]] * times) == "english"


@pytest.mark.parametrize("kind", NO_PROSE)
def test_what_is_no_prose_does_not_hide_the_language_of_the_rest(kind: str) -> None:
    assert detect_language([NO_PROSE[kind]] * 3 + [TEXTS["french"]] * 3) == "french"


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
