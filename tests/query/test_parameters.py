"""DR-3 and DR-10: options and parameters are values; what they cannot be is refused with what they can."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, fields
from typing import Any

import pytest

from ir.errors import InvalidInput
from ir.query import HybridQueryOptions, OntologyQuery, Parts, ontology_query

SPEC = {
    "semantic_query": None,
    "object_type": None,
    "precision": True,
    "follow_links": False,
    "link_depth": 1,
    "chunk_level": None,
    "provenance": None,
    "branch": "main",
    "top_k": 10,
    "min_relevance": None,
    "distance_metric": "cosine",
    "interface_name": None,
    "traverse_link": None,
    "filter": None,
    "domain": None,
    "include": (),
}


def test_every_parameter_of_the_contract_is_there_with_its_default() -> None:
    asked = OntologyQuery("order")
    assert {item.name for item in fields(asked)} == set(SPEC)
    assert {name: getattr(asked, name) for name in SPEC if name != "semantic_query"} == {
        name: value for name, value in SPEC.items() if name != "semantic_query"
    }


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"chunk_level": "page"}, "'file', 'type', 'method', 'doc'"),
        ({"provenance": "guessed"}, "'ingested', 'hand-authored'"),
        ({"distance_metric": "manhattan"}, "'cosine', 'dot', 'l2'"),
        ({"include": ("picture",)}, "'text', 'signature', 'doc'"),
        ({"link_depth": 2}, "link_depth must be 1"),
        ({"link_depth": 0}, "at least 1"),
        ({"top_k": 0}, "at least 1"),
        ({"min_relevance": 1.5}, "between 0 and 1"),
        ({"min_relevance": float("nan")}, "between 0 and 1"),
        ({"precision": "yes"}, "true or false"),
        ({"branch": ""}, "not empty"),
        ({"domain": " "}, "not empty"),
        ({"filter": {"a": {"$zz": 1}}}, r"\$zz"),
        ({"depth": 2}, "'link_depth'"),
    ],
)
def test_an_unknown_parameter_or_value_names_the_allowed_ones(given: dict[str, Any], named: str) -> None:
    with pytest.raises(InvalidInput, match=named):
        OntologyQuery.of("order", **given)


def test_texts_that_no_store_can_keep_are_found_nowhere_and_break_nothing(making: Any) -> None:
    shop = making(local=True)
    for name in ("object_type", "interface_name", "traverse_link"):
        with pytest.raises(InvalidInput):
            ontology_query(shop, OntologyQuery.of("a \udcff b", **{name: "x\ud800"}), HybridQueryOptions())
    assert not ontology_query(shop, OntologyQuery("a \udcff b", domain="x\ud800"), HybridQueryOptions()).results


def test_an_empty_query_is_refused() -> None:
    with pytest.raises(InvalidInput, match="empty"):
        OntologyQuery(" \n")


def test_hybrid_options_have_the_contract_s_defaults_and_no_assumed_threshold() -> None:
    options = HybridQueryOptions()
    assert (options.enable_keyword, options.sparse_top_k, options.dense_top_k, options.rrf_k) == (True, 50, 50, 60)
    assert options.bm_saturation_threshold is None
    with pytest.raises(FrozenInstanceError):
        options.rrf_k = 1  # type: ignore[misc]


@pytest.mark.parametrize(
    "given",
    [
        {"rrf_k": 0},
        {"sparse_top_k": 0},
        {"dense_top_k": -1},
        {"bm_saturation_threshold": -1.0},
        {"enable_keyword": 1},
        {"fusion": "sum"},
        {"weights": (1.0,)},
        {"weights": (1.0, -1.0)},
    ],
)
def test_hybrid_options_that_make_no_sense_are_refused(given: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        HybridQueryOptions(**given)


def test_without_options_a_query_goes_by_meaning_alone_as_a_dense_search_does(shop: Any) -> None:
    answer = ontology_query(shop, OntologyQuery("mail a receipt", top_k=5))
    plain = shop.search("mail a receipt", k=5, mode="dense", per_artifact=False, ranking="plain") if _ranks() else None
    plain = plain or shop.search("mail a receipt", k=5, mode="dense", per_artifact=False)
    assert [(one.path, one.line_start) for one in answer.results] == [
        (hit.artifact_id, hit.metadata.get("line_start")) for hit in plain
    ]
    assert [one.score for one in answer.results] == pytest.approx([hit.score for hit in plain])
    assert (answer.meta.hybrid, answer.meta.backend) == (False, None)


def _ranks() -> bool:
    from ir.options import SearchOptions

    return any(item.name == "ranking" for item in fields(SearchOptions))


def test_without_keywords_it_is_not_hybrid_and_with_them_it_is(shop: Any) -> None:
    off = ontology_query(shop, OntologyQuery("order"), HybridQueryOptions(enable_keyword=False))
    on = ontology_query(shop, OntologyQuery("order"), HybridQueryOptions())
    assert (off.meta.hybrid, off.meta.backend, on.meta.hybrid, on.meta.backend) == (False, None, True, "embedded")
    assert all(set(one.source_ranks) == {"dense"} for one in off.results)


def test_filters_of_every_kind_narrow_the_results(shop: Any) -> None:
    def paths(**given: Any) -> set[str]:
        answer = ontology_query(shop, OntologyQuery.of("order", **given), HybridQueryOptions())
        return {f"{one.path} {one.object_type}" for one in answer.results}

    assert paths(object_type="function") <= {f"{path} function" for path in ("shop/files.py", "shop/mail.py")} | {
        "tests/test_mail.py function"
    }
    assert paths(chunk_level="type") == {"shop/store.py type", "shop/files.py type"}
    assert not paths(provenance="hand-authored")
    assert {one.split("/")[0] for one in paths(domain="tests")} == {"tests"}
    assert {one.split(" ")[0] for one in paths(filter={"symbolKey": {"$contains": "mail"}})} == {
        "shop/mail.py",
        "tests/test_mail.py",
    }


def test_an_unknown_object_type_names_those_of_the_corpus(shop: Any) -> None:
    with pytest.raises(InvalidInput, match=r"'widget'.*'function'.*'type'"):
        ontology_query(shop, OntologyQuery("order", object_type="widget"), HybridQueryOptions())


def test_an_interface_narrows_to_what_implements_it_over_any_number_of_steps(shop: Any) -> None:
    answer = ontology_query(shop, OntologyQuery("load an order", interface_name="Store"), HybridQueryOptions())
    owners = {one.symbol_key.rpartition("/")[2].partition("#")[0] for one in answer.results if one.symbol_key}
    assert owners == {"FileStore", "CachedFileStore"}


def test_an_unknown_interface_names_the_nearest_types(shop: Any) -> None:
    with pytest.raises(InvalidInput, match="'Store'"):
        ontology_query(shop, OntologyQuery("order", interface_name="Stor"), HybridQueryOptions())


def test_inheritance_in_a_circle_ends(making: Any) -> None:
    files = {"a.py": "from b import B\nclass A(B):\n    pass\n", "b.py": "from a import A\nclass B(A):\n    pass\n"}
    answer = ontology_query(making(files), OntologyQuery("class", interface_name="A"), HybridQueryOptions())
    assert {one.path for one in answer.results} == {"b.py"}


@pytest.mark.parametrize("metric", ["cosine", "dot", "l2"])
def test_results_below_the_least_relevance_are_left_out_by_every_metric(shop: Any, metric: str) -> None:
    def asked(least: float | None) -> list[float]:
        query = OntologyQuery("mail a receipt", distance_metric=metric, min_relevance=least, top_k=50)
        return [one.similarity or 0.0 for one in ontology_query(shop, query, HybridQueryOptions()).results]

    everything = sorted(asked(None))
    least = everything[len(everything) // 2]
    assert sorted(asked(least)) == [one for one in everything if one >= least]


def test_more_of_each_result_is_there_if_asked_for(shop: Any) -> None:
    query = OntologyQuery("mail a receipt", include=("signature", "doc"), object_type="function")
    first = ontology_query(shop, query, HybridQueryOptions()).results[0]
    assert (first.signature, first.doc) == ("def send_receipt(number)", "Mail a receipt for an order to the customer.")


def test_another_branch_than_the_indexed_one_is_refused_with_those_there_are(shop: Any) -> None:
    with pytest.raises(InvalidInput, match="'main'"):
        ontology_query(shop, OntologyQuery("order", branch="feature"), HybridQueryOptions(), Parts())


def test_a_branch_is_asked_as_git_has_it_and_the_default_is_what_is_indexed(tmp_path: Any) -> None:
    import shutil

    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    from tests.branches.conftest import Repo

    import ir
    from ir.code.strategy import Code

    repo = Repo(tmp_path / "repo")
    repo.git("init", "-q")
    repo.commit({"a.py": "def mail():\n    '''Mail a receipt.'''\n"})
    repo.git("checkout", "-q", "-b", "feature")
    repo.commit({"b.py": "def mail_twice():\n    '''Mail two receipts.'''\n"})
    repo.git("checkout", "-q", "main")
    source = ir.CorpusSource.from_files(repo.root, name="repo", all_text=True, strategy=Code(), embedder="light")
    corpus = ir.build(source)

    def paths(**given: Any) -> set[str]:
        parts = Parts(source=lambda: source)
        answer = ontology_query(corpus, OntologyQuery.of("mail receipts", **given), HybridQueryOptions(), parts)
        return {one.path for one in answer.results}

    assert (paths(), paths(branch="main"), paths(branch="feature")) == ({"a.py"}, {"a.py"}, {"a.py", "b.py"})
    with pytest.raises(InvalidInput, match="nowhere"):
        paths(branch="nowhere")
