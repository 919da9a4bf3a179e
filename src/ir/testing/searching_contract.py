"""What a snapshot answers: dense, lexical, filters before ranking, completed scores."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ir.errors import InvalidInput
from ir.protocols import Store, Where
from ir.testing.made import EVERYTHING, all_refs, found, ids, made, scores_by_id, unit, where, words
from ir.testing.tiny_corpora import CITIES, FUNCTIONS, ToyEmbedder, tiny_records


class SearchingContract:
    """Part of :class:`ir.testing.contracts.StoreContract`."""

    #: How far a cosine may be off: stores may keep half precision.
    cosine_tolerance = 2e-3
    #: How far a BM25 score may be off.
    bm25_tolerance = 1e-3

    # -- an empty corpus -------------------------------------------------------------------------------------------

    def test_an_empty_corpus_has_no_answers(self, store: Store) -> None:
        none = np.zeros(0, dtype=np.int64)
        with store.snapshot() as snapshot:
            assert (len(snapshot), snapshot.kinds(), snapshot.dim) == (0, frozenset(), None)
            assert len(snapshot.dense(unit(1, 0), 5, EVERYTHING).refs) == 0
            assert len(snapshot.lexical(words("anything"), 5, where({"a": 1})).refs) == 0
            assert len(snapshot.dense_scores(unit(1, 0), none)) == len(snapshot.lexical_scores({"x": 1.0}, none)) == 0
            assert snapshot.rows(none) == []
            groups, kinds = snapshot.grouping(none)
            assert (len(groups), len(kinds)) == (0, 0)
            assert snapshot.term_stats(["x"]).documents == 0
            assert snapshot.term_stats(["x"]).frequencies["x"] == 0

    def test_a_corpus_that_was_emptied(self, store: Store) -> None:
        store.put_records([made("a"), made("b")])
        store.delete_records(["a", "b"])
        with store.snapshot() as snapshot:
            assert (len(snapshot), snapshot.kinds(), snapshot.dim) == (0, frozenset(), None)
            assert len(snapshot.dense(unit(1, 0, 0), 5, EVERYTHING).refs) == 0
            assert len(snapshot.lexical(words("text"), 5, EVERYTHING).refs) == 0

    # -- dense -----------------------------------------------------------------------------------------------------

    def test_dense_is_cosine_best_first(self, store: Store) -> None:
        store.put_records(
            [
                made("same", vector=(5, 0, 0)),
                made("near", vector=(0.2, 0.05, 0)),
                made("across", vector=(0, 0, 3)),
                made("against", vector=(-1, 0, 0)),
            ]
        )
        with store.snapshot() as snapshot:
            ranking = snapshot.dense(unit(1, 0, 0), 10, EVERYTHING)
            assert ids(snapshot, ranking) == ["same", "near", "across", "against"]
            expected = [1.0, 0.2 / math.hypot(0.2, 0.05), 0.0, -1.0]
            assert ranking.scores.tolist() == pytest.approx(expected, abs=self.cosine_tolerance)
            assert (snapshot.dim, ranking.refs.dtype.name, ranking.scores.dtype.name) == (3, "int64", "float32")

    def test_a_vector_of_zeros_scores_zero(self, store: Store) -> None:
        store.put_records([made("zero", vector=(0, 0, 0)), made("one", vector=(1, 1, 0))])
        with store.snapshot() as snapshot:
            scores = scores_by_id(snapshot, snapshot.dense(unit(1, 1, 0), 10, EVERYTHING))
        assert scores == pytest.approx({"one": 1.0, "zero": 0.0}, abs=self.cosine_tolerance)

    def test_limits(self, store: Store) -> None:
        store.put_records([made(f"r{number}", "word", (1, number, 0)) for number in range(10)])
        with store.snapshot() as snapshot:
            assert ids(snapshot, snapshot.dense(unit(1, 0, 0), 3, EVERYTHING)) == ["r0", "r1", "r2"]
            assert len(snapshot.dense(unit(1, 0, 0), 10, EVERYTHING).refs) == 10
            assert len(snapshot.dense(unit(1, 0, 0), 1000, EVERYTHING).refs) == 10
            assert len(snapshot.lexical(words("word"), 4, EVERYTHING).refs) == 4
            assert len(snapshot.lexical(words("word"), 1000, EVERYTHING).refs) == 10

    def test_a_query_vector_of_another_size_is_refused(self, store: Store) -> None:
        store.put_record(made("a"))
        with store.snapshot() as snapshot, pytest.raises(InvalidInput, match="dimensions"):
            snapshot.dense(unit(1, 0), 5, EVERYTHING)

    # -- lexical ---------------------------------------------------------------------------------------------------

    def test_bm25_by_hand(self, store: Store) -> None:
        store.put_records([made("a", "red fox"), made("b", "red red barn owl"), made("c", "white hen")])
        rare, common = math.log(1 + 2.5 / 1.5), math.log(1 + 1.5 / 2.5)
        average = 8 / 3

        def part(count: float, length: float) -> float:
            return 2.2 * count / (count + 1.2 * (0.25 + 0.75 * length / average))

        with store.snapshot() as snapshot:
            scores = scores_by_id(snapshot, snapshot.lexical(words("fox red"), 10, EVERYTHING))
            weighted = scores_by_id(snapshot, snapshot.lexical({"fox": 2.0}, 10, EVERYTHING))
            stats = snapshot.term_stats(["red", "fox", "absent"])
        expected = {"a": (rare + common) * part(1, 2), "b": common * part(2, 4)}
        assert scores == pytest.approx(expected, abs=self.bm25_tolerance)
        assert weighted == pytest.approx({"a": 2 * rare * part(1, 2)}, abs=self.bm25_tolerance)
        assert (stats.documents, dict(stats.frequencies)) == (3, {"red": 2, "fox": 1, "absent": 0})
        assert stats.average_length == pytest.approx(average)

    def test_lengths_are_rounded_to_a_byte(self, store: Store) -> None:
        store.put_records([made("exact", "fox " * 40), made("rounded", "fox " * 40 + "hen"), made("c", "owl")])
        with store.snapshot() as snapshot:
            scores = scores_by_id(snapshot, snapshot.lexical(words("fox"), 10, EVERYTHING))
        assert scores["exact"] == pytest.approx(scores["rounded"], abs=1e-6)

    def test_only_records_with_a_term_are_found(self, store: Store) -> None:
        store.put_records([made("a", "one fox"), made("b", "one hen")])
        with store.snapshot() as snapshot:
            assert ids(snapshot, snapshot.lexical(words("fox"), 10, EVERYTHING)) == ["a"]
            assert ids(snapshot, snapshot.lexical(words("zebra"), 10, EVERYTHING)) == []
            assert ids(snapshot, snapshot.lexical({}, 10, EVERYTHING)) == []

    def test_words_are_found_in_their_other_forms(self, store: Store) -> None:
        store.put_records(tiny_records(CITIES))
        with store.snapshot() as snapshot:
            best = snapshot.rows(snapshot.lexical(words("the fish markets"), 10, EVERYTHING).refs)
        assert best[0].artifact_id == "arden"
        assert {row.artifact_id for row in best} == {"arden", "dunmere", "farholt"}

    @pytest.mark.parametrize("query", ["getUserName", "user name", "GetUserName"])
    def test_identifiers_are_found_whole_and_by_their_parts(self, store: Store, query: str) -> None:
        store.put_records(tiny_records(FUNCTIONS))
        with store.snapshot() as snapshot:
            rows = snapshot.rows(snapshot.lexical(words(query), 10, EVERYTHING).refs)
        assert "getUserName" in [row.artifact_id for row in rows]

    @pytest.mark.parametrize(("query", "wanted"), [("retry", "http.client.retry"), ("xml", "parseXMLFile")])
    def test_parts_of_other_identifiers(self, store: Store, query: str, wanted: str) -> None:
        store.put_records(tiny_records(FUNCTIONS))
        with store.snapshot() as snapshot:
            rows = snapshot.rows(snapshot.lexical(words(query), 10, EVERYTHING).refs)
        assert [row.artifact_id for row in rows] == [wanted]

    def test_titles_and_sections_count_for_more(self, store: Store) -> None:
        store.put_records(
            [
                made("body", "herring and other things of the sea"),
                made("title", "other things of the sea, and yet", title="Herring"),
                made("section", "other things of the sea, and yet", section="Fish > Herring"),
            ]
        )
        with store.snapshot() as snapshot:
            order = ids(snapshot, snapshot.lexical(words("herring"), 10, EVERYTHING))
        assert order[-1] == "body"
        assert sorted(order) == ["body", "section", "title"]

    def test_the_language_is_the_corpus_own(self, store: Store) -> None:
        store.set_config({"language": "german"})
        store.put_records([made("a", "Die Häuser stehen am Fluss"), made("b", "Eine Katze")])
        assert found(store, "das Haus", "german") == ["a"]

    def test_one_character_finds_the_words_it_is_part_of(self, store: Store) -> None:
        store.put_records(
            [made("tea", "绿茶需要用八十度的水冲泡"), made("cat", "猫喜欢睡觉和吃鱼"), made("alone", "一杯 茶")]
        )
        assert found(store, "茶") == ["alone", "tea"]
        assert found(store, "鱼") == ["cat"]
        assert found(store, "绿茶") == ["tea"]

    def test_a_change_of_language_reaches_what_is_already_there(self, store: Store) -> None:
        store.put_record(made("a", "Die Häuser stehen am Fluss"))
        store.set_config({"language": "german"})
        assert found(store, "das Haus", "german") == ["a"]

    # -- which records may come back -------------------------------------------------------------------------------

    def test_filters_apply_before_ranking(self, store: Store) -> None:
        near = [made(f"near{number}", "word word", (1, 0, 0), colour="red") for number in range(60)]
        far = [made(f"far{number}", "word and more", (0, 1, number), colour="blue") for number in range(5)]
        store.put_records([*near, *far])
        blue = where({"colour": "blue"})
        with store.snapshot() as snapshot:
            dense = snapshot.dense(unit(1, 0.1, 0), 5, blue)
            lexical = snapshot.lexical(words("word"), 5, blue)
            assert sorted(ids(snapshot, dense)) == sorted(ids(snapshot, lexical)) == [f"far{n}" for n in range(5)]
            assert ids(snapshot, snapshot.dense(unit(1, 0.1, 0), 2, blue)) == ["far0", "far1"]
            assert ids(snapshot, snapshot.dense(unit(1, 0, 0), 5, where({"colour": "green"}))) == []

    @pytest.mark.parametrize(
        ("spec", "expected"),
        [
            ({"people": {"$lt": 5000}}, "belmor farholt"),
            ({"people": {"$gte": 7800, "$lt": 45000}}, "arden dunmere"),
            ({"tags": "sea"}, "arden dunmere"),
            ({"tags": {"$in": ["craft", "university"]}}, "corvane farholt"),
            ({"tags": {"$contains": "railway"}}, "belmor elsted"),
            ({"title": {"$contains": "el"}}, "belmor"),
            ({"place.country": "Norland"}, "arden corvane"),
            ({"place.height": {"$gt": 90}}, "belmor corvane elsted"),
            ({"place": {"$exists": False}}, "farholt"),
            ({"place.country": None}, "farholt"),
            ({"place.country": {"$ne": "Norland"}}, "belmor dunmere elsted farholt"),
            ({"$or": [{"tags": "craft"}, {"people": 98000.0}]}, "corvane farholt"),
            ({"$nor": [{"tags": "sea"}, {"tags": "railway"}]}, "corvane farholt"),
            ({"$not": {"people": {"$lt": 90_000}}}, "corvane"),
            ({"tags": {"$nin": ["sea", "railway", "market"]}}, "corvane"),
            ({"tags": ["sea", "market"]}, "arden"),
            ({"tags": "sea", "place.country": "Westmark"}, "dunmere"),
            ({"$or": []}, ""),
        ],
    )
    def test_each_operator(self, store: Store, spec: dict[str, object], expected: str) -> None:
        store.put_records(tiny_records(CITIES))
        query = ToyEmbedder()(["a town"])[0]
        everywhere = words("town sea market railway university museum village trains mountains")
        with store.snapshot() as snapshot:
            dense = snapshot.rows(snapshot.dense(query, 10, where(spec)).refs)
            lexical = snapshot.rows(snapshot.lexical(everywhere, 10, where(spec)).refs)
        assert sorted(row.artifact_id for row in dense) == expected.split()
        assert {row.artifact_id for row in lexical} <= set(expected.split())

    def test_large_whole_numbers_are_equal_however_they_are_written(self, store: Store) -> None:
        store.put_records([made("whole", at=17 * 10**17, big=10**22), made("point", at=1.7e18, big=1e22)])
        store.put_records([made("next", at=17 * 10**17 + 1), made("list", at=[2**53])])
        expected: list[tuple[dict[str, object], str]] = [
            ({"at": 1.7e18}, "point whole"),
            ({"at": 17 * 10**17}, "point whole"),
            ({"at": 17 * 10**17 + 1}, "next"),
            ({"at": {"$in": [2.0**53, 10**400]}}, "list"),
            ({"big": 10**22}, "point whole"),
            ({"big": {"$ne": 1e22}}, "list next"),
        ]
        with store.snapshot() as snapshot:
            for spec, names in expected:
                found = ids(snapshot, snapshot.dense(unit(1, 0, 0), 5, where(spec)))
                assert sorted(found) == names.split(), spec

    def test_kinds(self, store: Store) -> None:
        store.put_records(
            [
                made("whole", "a fox", (1, 0, 0), artifact="x", kind="document"),
                made("piece0", "the fox", (1, 0.1, 0), artifact="x", kind="chunk", index=1, page=1),
                made("piece1", "foxes", (1, 0.2, 0), artifact="x", kind="chunk", index=2, page=2),
            ]
        )
        with store.snapshot() as snapshot:
            assert snapshot.kinds() == {"document", "chunk"}
            for given, expected in [
                (Where(kinds=frozenset({"chunk"})), ["piece0", "piece1"]),
                (Where(kinds=frozenset({"chunk", "document"})), ["piece0", "piece1", "whole"]),
                (Where(kinds=frozenset({"absent"})), []),
                (where({"page": 2}, ["chunk"]), ["piece1"]),
                (where({"page": 2}, ["document"]), []),
            ]:
                assert sorted(ids(snapshot, snapshot.dense(unit(1, 0, 0), 5, given))) == expected
                assert sorted(ids(snapshot, snapshot.lexical(words("fox"), 5, given))) == expected
        store.delete_records(["piece0", "piece1"])
        with store.snapshot() as snapshot:
            assert snapshot.kinds() == {"document"}

    def test_a_filter_sees_what_was_replaced(self, store: Store) -> None:
        store.put_records([made("a", state="open"), made("b", state="open")])
        still_open = where({"state": "open"})
        with store.snapshot() as snapshot:
            assert len(snapshot.dense(unit(1, 0, 0), 5, still_open).refs) == 2
        store.put_record(made("a", state="closed"))
        with store.snapshot() as snapshot:
            assert ids(snapshot, snapshot.dense(unit(1, 0, 0), 5, still_open)) == ["b"]
            assert ids(snapshot, snapshot.lexical(words("text"), 5, still_open)) == ["b"]

    # -- scores and records of given refs --------------------------------------------------------------------------

    def test_completed_scores_equal_ranked_ones(self, store: Store) -> None:
        store.put_records(tiny_records(CITIES))
        query, terms = ToyEmbedder()(["fishing market"])[0], words("fishing market")
        with store.snapshot() as snapshot:
            refs = all_refs(snapshot, ToyEmbedder().dim)[::-1].copy()
            dense = snapshot.dense(query, 10, EVERYTHING)
            lexical = snapshot.lexical(terms, 10, EVERYTHING)
            cosines = dict(zip(refs.tolist(), snapshot.dense_scores(query, refs).tolist(), strict=True))
            points = dict(zip(refs.tolist(), snapshot.lexical_scores(terms, refs).tolist(), strict=True))
        ranked = dict(zip(dense.refs.tolist(), dense.scores.tolist(), strict=True))
        assert cosines == pytest.approx(ranked, abs=self.cosine_tolerance)
        holding = dict(zip(lexical.refs.tolist(), lexical.scores.tolist(), strict=True))
        assert points == pytest.approx({ref: holding.get(ref, 0.0) for ref in points}, abs=self.bm25_tolerance)
        assert 0 < len(holding) < len(points)

    def test_rows_come_in_the_order_asked_for(self, store: Store) -> None:
        store.put_records([made("a", "x", artifact="A", index=4, page=[1]), made("b", "y", artifact="B", kind="chunk")])
        with store.snapshot() as snapshot:
            refs = all_refs(snapshot)
            forth, back = snapshot.rows(refs), snapshot.rows(refs[::-1].copy())
            assert [row.id for row in forth] == [row.id for row in back][::-1]
            row = {row.id: row for row in forth}["a"]
            assert tuple(row) == ("a", "A", "document", 4, "x", {"page": [1]})
            row.metadata["page"].append(2)
            assert {row.id: row for row in snapshot.rows(refs)}["a"].metadata == {"page": [1]}

    def test_refs_are_found_by_the_ids_of_records(self, store: Store) -> None:
        store.put_records([made("a", "x"), made("b", "y")])
        with store.snapshot() as snapshot:
            refs = all_refs(snapshot)
            ids = [row.id for row in snapshot.rows(refs)]
            assert snapshot.refs_of([*ids, "gone"]) == dict(zip(ids, refs.tolist(), strict=True))
            assert snapshot.refs_of([]) == {}

    def test_grouping_tells_artifacts_apart(self, store: Store) -> None:
        store.put_records(
            [made(f"r{number}", artifact=f"a{number % 3}", kind=f"k{number % 2}", index=number) for number in range(9)]
        )
        with store.snapshot() as snapshot:
            refs = all_refs(snapshot)
            groups, kinds = snapshot.grouping(refs)
            rows = snapshot.rows(refs)
            few, _ = snapshot.grouping(refs[4:])
        assert list(kinds) == [row.surface_kind for row in rows]
        pairs = set(zip(groups.tolist(), (row.artifact_id for row in rows), strict=True))
        assert len(pairs) == 3
        assert few.tolist() == groups[4:].tolist()

    def test_equal_scores_come_in_the_same_order_every_time(self, store: Store) -> None:
        store.put_records([made(f"r{number}", "twin text") for number in range(30)])
        with store.snapshot() as snapshot:
            first = snapshot.dense(unit(1, 0, 0), 30, EVERYTHING).refs.tolist()
            assert snapshot.dense(unit(1, 0, 0), 30, EVERYTHING).refs.tolist() == first
            lexical = snapshot.lexical(words("twin"), 30, EVERYTHING).refs.tolist()
            assert len(lexical) == 30
            assert snapshot.lexical(words("twin"), 30, EVERYTHING).refs.tolist() == lexical
            assert lexical[:10] == snapshot.lexical(words("twin"), 10, EVERYTHING).refs.tolist()
