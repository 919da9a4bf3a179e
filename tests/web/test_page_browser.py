"""The page in a real browser: every view, by keyboard too, with nothing wrong on the console."""

from __future__ import annotations

import json
import re
import shlex
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.clients.npm import package_file
from tests.web.browser import HOSTILE, Tab, chromium, home, language_model, make_corpora, served
from tests.web.served import Process, wait_until

from ir.cli.main import run
from ir.serve.offer import page as offered

AXE = ("axe-core", "4.14.0", "axe.min.js")
#: Each view, and what is there once it has its answers.
VIEWS = {
    "search": ("#/search?q=tea&in=notes", ".hit"),
    "several corpora": ("#/search?q=tea&in=notes&in=packages&filter=year%3E%3D2000", ".hit"),
    "judging": ("#/search?q=tea&in=notes&set=first", ".hit .grades"),
    "discover": ("#/discover?q=bitter+tea&in=notes&disclose=body", ".card"),
    "ask": ("#/ask?q=why+is+tea+bitter%3F&in=notes&llm=no", ".turn .tag >> nth=0"),
    "side by side": ("#/compare?q=tea&in=notes&a.mode=hybrid&b.mode=lexical", ".facts"),
    "document": ("#/doc?in=packages&id=shop", "svg a.node"),
    "lines": ("#/doc?in=notes&id=tea.md&line=3&tab=similar", ".smallhit"),
    "types": ("#/ontology?in=code&tab=types", "table.bars"),
    "symbol": ("#/ontology?in=code&symbol=boil", "svg a.node"),
    "callers": ("#/ontology?in=code&symbol=boil&rel=callers", "tbody tr"),
    "query": ("#/ontology?in=code&tab=query&q=boil+water&links=1", ".card"),
    "grounding": ("#/ground?p=a+cup+of+tea", ".card table"),
    "evaluation": ("#/eval", "section[aria-label=Runs] :is(.empty, table)"),
    "corpora": ("#/corpora", ".card"),
}


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as one:
        yield one


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("page")


@pytest.fixture(scope="module")
def writer() -> Iterator[Any]:
    with language_model() as one:
        yield one


@pytest.fixture(scope="module")
def server(browser: Any, folder: Path, writer: Any) -> Iterator[Process]:
    with home(folder):
        make_corpora(folder)
        with served() as one:
            yield one


@pytest.fixture
def tab(browser: Any, server: Process) -> Iterator[Tab]:
    """A tab that must end with a clean console, and without a request to anybody else."""
    one = Tab(browser, f"http://127.0.0.1:{server.port}")
    yield one
    one.close()
    assert one.wrong == []
    assert one.foreign == []


def settled(page: Any) -> None:
    """Nothing is on its way any more."""
    page.wait_for_load_state("networkidle")
    until(page, "!document.querySelector('.waiting, [aria-busy=true]')")


def until(page: Any, expression: str, seconds: float = 15) -> None:
    """Wait for what is true in the page. The browser's own waiting evaluates texts, which the page's policy forbids."""
    deadline = time.monotonic() + seconds
    while not page.evaluate(expression):
        assert time.monotonic() < deadline, expression
        time.sleep(0.02)


def titles(page: Any, where: str = ".hits h3") -> list[str]:
    return [one.inner_text() for one in page.query_selector_all(where)]


# -- search ----------------------------------------------------------------------------------------------------------


def test_a_query_is_typed_and_its_results_are_explained(tab: Tab) -> None:
    page = tab.open("#/search?in=packages")
    page.locator(".chip", has_text="notes").click()
    page.locator(".chip", has_text="packages").click()
    page.keyboard.press("/")
    page.keyboard.type("bitter tea")
    page.keyboard.press("Enter")
    page.wait_for_selector(".hit")
    assert "q=bitter+tea" in page.url
    assert "in=notes" in page.url
    first = page.locator(".hit").first
    assert first.locator("h3").inner_text() == "Tea"
    assert {mark.lower() for mark in first.locator("mark").all_inner_texts()} >= {"tea", "bitter"}
    assert re.search(r"meaning\s+#1", first.locator(".scores").inner_text())
    assert first.locator(".bar .fill.dense").count() >= 1
    assert first.locator(".bar .fill.lexical").count() >= 1
    first.locator("summary").click()
    assert "words found" in first.locator(".why").inner_text()
    about = page.locator("aside.about").inner_text()
    assert "Where the time went" in about
    assert "look up" in about
    assert re.search(r"best cosine .* floor", about)
    assert page.locator("svg.floor line.at").count() == 1


def test_the_address_is_the_state_and_back_works(tab: Tab) -> None:
    page = tab.open("#/search?q=tea&in=notes")
    page.wait_for_selector(".hit")
    before = titles(page)
    page.get_by_label("Mode").select_option("lexical")
    until(page, "location.hash.includes('mode=lexical')")
    settled(page)
    assert page.locator(".hit .fill.dense").count() == 0
    page.go_back()
    until(page, "!location.hash.includes('mode=')")
    page.wait_for_selector(".hit .fill.dense")
    assert titles(page) == before
    assert page.title() == "tea · Search · ir"


def test_a_filter_is_written_in_words_or_json_and_a_wrong_one_is_explained(tab: Tab) -> None:
    page = tab.open("#/search?q=tea&in=packages&filter=year%3E2020")
    page.wait_for_selector(".hit")
    assert titles(page) == ["The shop"]
    tab.open('#/search?q=tea&in=packages&filter={"year":{"$lt":2020}}')
    page.wait_for_selector(".hit")
    assert titles(page) == ["The store"]
    for wrong in ("year", "year%3E", "year+%3E%3E"):
        tab.open(f"#/search?q=tea&in=packages&filter={wrong}")
        page.wait_for_selector(".wrong")
        assert "is no condition" in page.locator(".wrong").inner_text()


def test_results_are_walked_and_opened_by_keys(tab: Tab) -> None:
    page = tab.open("#/search?q=tea&in=notes")
    page.wait_for_selector(".hit")
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("k")
    assert page.evaluate("document.activeElement.id") == "hit-1"
    page.keyboard.press("Enter")
    page.wait_for_selector(".line.on")
    assert "#/doc?in=notes&id=tea.md" in page.url
    page.keyboard.press("?")
    assert page.locator("dialog[open]").inner_text().count("Search") >= 1
    page.keyboard.press("Escape")
    until(page, "!document.querySelector('dialog')")
    page.keyboard.press("o")
    until(page, "location.hash.startsWith('#/ontology')")


def test_script_in_documents_is_text(tab: Tab) -> None:
    page = tab.open("#/search?q=hostile+kettle&in=notes")
    page.wait_for_selector(".hit")
    for place in (
        "#/doc?in=notes&id=hostile.md",
        "#/ask?q=what+does+the+hostile+kettle+say%3F&in=notes&llm=no&anyway=1",
        "#/discover?q=hostile+kettle&in=notes&disclose=body&floor=none",
        f"#/search?q={HOSTILE.replace('&', '%26')}&in=notes",
    ):
        tab.open(place)
        settled(page)
        assert "<script>" in page.locator("main").inner_text() + page.evaluate(
            "document.querySelector('input')?.value ?? ''"
        )
    assert page.evaluate("window.ran") is None
    assert page.locator("main script, main img").count() == 0


def test_what_is_shown_can_be_copied_as_other_calls(tab: Tab, server: Process) -> None:
    page = tab.open("#/search?q=it's+tea&in=notes&mode=lexical&k=3")
    page.wait_for_selector(".hit")
    page.get_by_role("button", name="Copy as…").click()
    ways = page.locator(".way pre").all_inner_texts()
    assert ways[0].startswith(f"curl -s http://127.0.0.1:{server.port}/v1/search")
    body = json.loads(re.search(r"-d '(.*)'$", ways[0], re.DOTALL)[1].replace("'\\''", "'"))  # type: ignore[index]
    assert server.call("search", **body).status == 200
    assert ways[1] == r"ir search notes 'it'\''s tea' --explain --mode lexical --k 3"
    assert json.loads(ways[2]) == {
        "name": "search",
        "arguments": {"query": "it's tea", "corpus": "notes", "k": 3, "mode": "lexical"},
    }


@pytest.mark.parametrize(
    "view", ["several corpora", "discover", "ask", "document", "symbol", "callers", "query", "grounding"]
)
def test_a_copied_command_runs_and_a_copied_tool_call_has_arguments_that_the_tool_has(
    tab: Tab, folder: Path, view: str, capsys: pytest.CaptureFixture[str]
) -> None:
    place, there = VIEWS[view]
    page = tab.open(place)
    page.wait_for_selector(there)
    page.get_by_role("button", name="Copy as…").first.click()
    ways = dict(zip(page.locator(".way h3").all_inner_texts(), page.locator(".way pre").all_inner_texts(), strict=True))
    with home(folder):
        assert run(shlex.split(ways["Command line"])[1:]) == 0, ways["Command line"]
    assert capsys.readouterr().out
    if "MCP tool call" in ways:
        called = json.loads(ways["MCP tool call"])
        (tool,) = [one for one in offered()["tools"] if one["name"] == called["name"]]
        assert set(called["arguments"]) <= set(tool["inputSchema"]["properties"])


# -- the other views -------------------------------------------------------------------------------------------------


def test_discovery_reveals_more_step_by_step_and_abstains(tab: Tab) -> None:
    page = tab.open("#/discover?q=bitter+tea&in=notes")
    page.wait_for_selector(".card")
    page.get_by_role("button", name="Show the whole text").first.click()
    page.wait_for_selector(".card details")
    assert "disclose=body" in page.url
    page.locator(".card summary").first.click()
    assert "Steep green tea" in page.locator(".card pre").first.inner_text()
    tab.open("#/discover?q=bitter+tea&in=notes&floor=5")
    page.wait_for_selector(".notes.doubt")
    assert "Nothing here answers that" in page.locator("main").inner_text()
    assert page.locator(".notes").count() == 1


def test_a_search_says_where_all_of_its_time_went_and_what_its_floor_is(tab: Tab) -> None:
    page = tab.open("#/search?q=zebra&in=notes&filter=year%3E2020")
    page.wait_for_selector(".about")
    assert "nothing was found to hold against it" in page.locator(".about").inner_text()
    tab.open("#/search?q=bitter+tea&in=notes")
    page.wait_for_selector(".hit")
    assert "read the query" in page.locator(".stages dt").all_inner_texts()


def test_two_configurations_show_what_moved(tab: Tab) -> None:
    page = tab.open("#/compare?q=tea+bread&in=notes&in=packages&a.mode=dense&b.mode=lexical")
    page.wait_for_selector(".facts")
    facts = dict(
        zip(page.locator(".facts dt").all_inner_texts(), page.locator(".facts dd").all_inner_texts(), strict=True)
    )
    left, right = (page.locator(f".slopes section:nth-of-type({n}) .brief li").count() for n in (1, 2))
    assert int(facts["in both"]) + int(facts["only left"]) == left
    assert int(facts["in both"]) + int(facts["only right"]) == right
    assert page.locator(".slopes path").count() == int(facts["in both"])
    page.locator(".side").nth(1).get_by_label("Mode").select_option("dense")
    until(page, "location.hash.includes('b.mode=dense')")
    until(page, "document.querySelector('.facts dd').innerText === document.querySelectorAll('.facts dd')[1].innerText")
    assert page.locator(".brief .alone").count() == 0


def test_a_document_shows_its_lines_and_is_read_on(tab: Tab) -> None:
    page = tab.open("#/doc?in=notes&id=tea.md&line=3")
    page.wait_for_selector(".line.on")
    assert page.locator(".line.on").inner_text().split("\n")[-1] == "Steep green tea at 80 degrees."
    page.get_by_role("link", name="Similar").click()
    page.wait_for_selector(".smallhit")
    page.get_by_role("link", name="Around").click()
    page.wait_for_selector("pre.text")
    tab.open("#/doc?in=notes&id=nothing.md")
    page.wait_for_selector(".wrong")
    assert "nothing.md" in page.locator(".wrong").inner_text()
    tab.wrong = [
        told for told in tab.wrong if "404" not in told
    ]  # the browser's own word about an answer of the server


def test_the_graph_is_walked_by_keyboard_and_as_a_list(tab: Tab) -> None:
    page = tab.open("#/doc?in=packages&id=shop")
    page.wait_for_selector("svg a.node")
    nodes = [one.get_attribute("aria-label") for one in page.query_selector_all("svg a.node")]
    assert {name.split(",")[0] for name in nodes} == {"The shop", "The store", "The web", "The office"}
    page.locator("svg a.node").first.focus()
    page.keyboard.press("ArrowRight")
    reached = page.evaluate("document.activeElement.getAttribute('aria-label')").split(",")[0]
    page.keyboard.press("Enter")
    until(page, f"document.querySelector('h1')?.innerText === {json.dumps(reached)}")
    assert "REF" in page.locator(".linklist").inner_text()
    page.locator(".linklist a", has_text="The shop").first.click()
    until(page, "document.querySelector('h1')?.innerText === 'The shop'")
    page.go_back()
    until(page, f"document.querySelector('h1')?.innerText === {json.dumps(reached)}")


def test_an_answer_streams_cites_and_goes_on(tab: Tab) -> None:
    page = tab.open("#/ask?in=notes&llm=no")
    page.get_by_label("Question").fill("why is tea bitter?")
    page.keyboard.press("Enter")
    page.wait_for_selector(".citebutton")
    page.wait_for_selector(".turn .tag")
    assert "bitter" in page.locator(".prose").inner_text()
    page.locator("button.citebutton").first.click()
    assert page.evaluate("document.activeElement.id").startswith("source-0-")
    page.wait_for_selector(".sources li.lit .passage")
    page.get_by_label("Follow-up question").fill("and how hot should it be?")
    page.keyboard.press("Enter")
    until(page, "document.querySelectorAll('.turn').length === 2")
    settled(page)
    assert page.url.count("q=") == 2
    page.go_back()
    until(page, "document.querySelectorAll('.turn').length === 1")
    tab.open("#/ask?q=who+won+the+race+in+1904%3F&in=notes&llm=no")
    page.wait_for_selector(".turn .notes.doubt")


def test_what_a_model_cites_wrongly_is_said(tab: Tab) -> None:
    page = tab.open("#/ask?q=why+is+tea+bitter%3F&in=notes")
    page.wait_for_selector(".turn .tag >> text=by careless")
    assert "not among the sources" in page.locator(".notes.doubt").inner_text()
    assert page.locator("button.citebutton").all_inner_texts() == ["1"]
    assert page.locator("span.citebutton.bad").all_inner_texts() == ["9"]


def test_an_answer_can_be_stopped_and_the_model_is_told(tab: Tab, writer: Any) -> None:
    page = tab.open("#/ask?in=notes")
    page.get_by_label("Question").fill("tell me at length why tea is bitter")
    page.keyboard.press("Enter")
    until(page, "document.querySelector('.prose')?.innerText.includes('word word')")
    page.get_by_role("button", name="Stop").click()
    page.wait_for_selector("text=Stopped before the end.")
    written = page.locator(".prose").inner_text()
    assert 0 < written.count("word") < 400
    wait_until(lambda: writer.left)


def test_judging_by_click_makes_a_set_that_is_measured_and_compared(tab: Tab, server: Process) -> None:
    page = tab.open("#/search?q=bitter+tea&in=notes")
    page.wait_for_selector(".hit")
    page.get_by_label("Judge into").fill("clicked")
    page.keyboard.press("Enter")
    page.wait_for_selector(".grades")
    page.locator(".hit").first.get_by_role("button", name="Perfect").click()
    page.wait_for_selector(".hit .grade[aria-pressed=true]")
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("0")
    page.wait_for_selector(".hit:nth-child(2) .g0[aria-pressed=true]")
    shown = server.call("judged-sets", name="clicked").json
    assert {"item": "tea.md", "grade": 3, "note": None} in shown["queries"][0]["judgements"]
    tab.open("#/search?q=how+long+to+knead&in=notes&set=clicked")
    page.wait_for_selector(".hit")
    page.locator(".hit").first.get_by_role("button", name="Good").click()
    page.wait_for_selector(".hit .grade[aria-pressed=true]")
    tab.open("#/eval")
    for mode in ("hybrid", "lexical"):
        form = page.locator("section[aria-label=Measure]")
        form.get_by_label("Mode").select_option(mode)
        form.get_by_label("Label").fill(f"by {mode}")
        form.get_by_role("button", name="Measure").click()
        page.wait_for_selector(f"section[aria-label=Runs] >> text=by {mode}")
    page.get_by_label("Compare by hybrid").check()
    page.get_by_label("Compare by lexical").check()
    page.get_by_role("link", name="Compare the two").click()
    page.wait_for_selector(".plot canvas")
    assert "ndcg@10" in page.locator("table").first.inner_text()
    tab.open("#/eval")
    page.get_by_role("link", name="by hybrid").click()
    page.wait_for_selector(".plot canvas")
    assert "bitter tea" in page.locator("main").inner_text()


def test_the_ontology_says_who_calls_what(tab: Tab) -> None:
    page = tab.open("#/ontology?in=code")
    page.wait_for_selector("table.bars")
    assert "calls" in page.locator("main").inner_text()
    page.get_by_role("link", name="Who calls what").click()
    page.get_by_label("Symbol").fill("boil")
    page.keyboard.press("Enter")
    page.wait_for_selector("pre.text")
    assert "def boil" in page.locator("pre.text").inner_text()
    assert "brew" in page.locator("aside").inner_text()
    page.get_by_role("link", name="Callers", exact=True).click()
    page.wait_for_selector("tbody tr")
    assert page.locator("tbody th").all_inner_texts()[0].startswith("brew")
    tab.open("#/ontology?in=code&symbol=boyl")
    page.wait_for_selector(".empty")
    assert "boil" in page.locator(".empty").inner_text()


def test_grounding_reports_each_phrase(tab: Tab) -> None:
    page = tab.open("#/ground")
    page.get_by_label("Phrases, one on each line").fill("a cup of tea\nbaked bread")
    page.get_by_role("button", name="Ground").click()
    page.wait_for_selector(".card table")
    assert [
        one.split("\n")[0].split(" ")[0] for one in page.locator(".card tbody tr:first-child th").all_inner_texts()
    ] == [
        "drink:tea",
        "food:bread",
    ]
    assert "meaning" in page.locator(".whys").first.inner_text()


def test_a_corpus_is_checked_and_refreshed_as_a_job(tab: Tab) -> None:
    page = tab.open("#/corpora")
    page.get_by_role("button", name="Check notes").click()
    page.wait_for_selector("text=up to date")
    page.get_by_role("button", name="Refresh notes").click()
    page.wait_for_selector(".jobs >> text=5 unchanged")


# -- all views ---------------------------------------------------------------------------------------------------------


def test_no_view_has_a_serious_finding_of_axe(browser: Any, server: Process) -> None:
    source = package_file(*AXE).read_text("utf-8")
    tab = Tab(browser, f"http://127.0.0.1:{server.port}", bypass_csp=True)
    found: dict[str, Any] = {}
    for name, (place, there) in VIEWS.items():
        page = tab.open(place)
        page.wait_for_selector(there)
        page.evaluate(source)
        for scheme, options in (("light", {}), ("dark", {"runOnly": ["color-contrast"]})):
            page.emulate_media(color_scheme=scheme)
            report = page.evaluate("(how) => axe.run(document, {resultTypes: ['violations'], ...how})", options)
            serious = [one for one in report["violations"] if one["impact"] in ("serious", "critical")]
            if serious:
                told = [(one["id"], [node["html"][:120] for node in one["nodes"]][:3]) for one in serious]
                found[f"{name}, {scheme}"] = told
    tab.close()
    assert found == {}


def test_every_view_fits_a_phone(browser: Any, server: Process) -> None:
    tab = Tab(browser, f"http://127.0.0.1:{server.port}", viewport={"width": 360, "height": 780})
    wide = {}
    for name, (place, there) in VIEWS.items():
        page = tab.open(place)
        page.wait_for_selector(there)
        over = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        if over > 0:
            wide[name] = over
    tab.close()
    assert wide == {}
    assert tab.wrong == []


def test_a_phone_shows_results_first_and_the_options_when_asked(browser: Any, server: Process) -> None:
    tab = Tab(browser, f"http://127.0.0.1:{server.port}", viewport={"width": 360, "height": 780})
    page = tab.open("#/search?q=tea&in=notes&mode=hybrid")
    page.wait_for_selector(".hit")
    assert page.locator(".hit").first.bounding_box()["y"] < 390
    page.get_by_text("How to search").click()
    page.get_by_label("Mode").select_option("lexical")
    page.wait_for_url("**mode=lexical**")
    assert page.get_by_label("Mode").is_visible()
    tab.close()


def test_a_phone_shows_which_view_it_is_in(browser: Any, server: Process) -> None:
    tab = Tab(browser, f"http://127.0.0.1:{server.port}", viewport={"width": 360, "height": 780})
    page = tab.open("#/corpora")
    page.wait_for_selector(".corpora")
    ends = page.evaluate("document.querySelector('.top nav [aria-current]').getBoundingClientRect().right")
    tab.close()
    assert 0 < ends <= 360


def test_the_first_paint_comes_within_a_second(tab: Tab) -> None:
    paints = []
    for _ in range(3):
        page = tab.open("#/search")
        page.wait_for_selector(".queryline")
        paints.append(page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime"))
    assert min(paints) <= 1000


def test_a_server_that_went_away_is_said_and_found_again(tab: Tab) -> None:
    page = tab.open("#/search?q=tea&in=notes")
    page.wait_for_selector(".hit")
    page.route("**/v1/search", lambda route: route.abort())
    page.get_by_label("Mode").select_option("dense")
    page.wait_for_selector(".wrong")
    assert "does not answer" in page.locator(".wrong").inner_text()
    page.unroute("**/v1/search")
    page.get_by_role("button", name="Try again").click()
    page.wait_for_selector(".hit")
    tab.wrong = [told for told in tab.wrong if "ERR_FAILED" not in told]  # the browser's own word


def test_a_token_is_asked_for_kept_for_the_tab_and_taken_out_of_the_address(browser: Any, tmp_path: Path) -> None:
    from ir.access import open_access

    with home(tmp_path):
        make_corpora(tmp_path)
        access = open_access()
        secret = access.create("ana", scopes=["read"])[1]
        access.close()
        with served() as one:
            tab = Tab(browser, f"http://127.0.0.1:{one.port}")
            page = tab.open("#/search?q=tea&in=notes")
            page.wait_for_selector("dialog[open]")
            page.get_by_role("textbox", name="Token").fill("wrong")
            page.keyboard.press("Enter")
            page.wait_for_selector("dialog >> text=does not take the token")
            page.get_by_role("textbox", name="Token").fill(secret)
            page.keyboard.press("Enter")
            page.wait_for_selector(".hit")
            assert page.locator(".who").inner_text() == "ana"
            tab.open("#/corpora")
            page.wait_for_selector(".card")
            assert page.get_by_role("button", name="Refresh notes").count() == 0  # it may only read
            page.get_by_role("button", name="Sign out").click()
            page.wait_for_selector("dialog[open]")
            tab.close()
            fresh = Tab(browser, f"http://127.0.0.1:{one.port}")
            page = fresh.open(f"#token={secret}&to=search%3Fq=tea%26in=notes".replace("%3F", "?").replace("%26", "&"))
            page.wait_for_selector(".hit")
            assert secret not in page.url
            assert page.evaluate("Object.keys(localStorage).join()") == "ir-theme"
            page.get_by_role("button", name="Copy as…").click()
            assert secret not in page.locator("dialog").inner_text()
            fresh.close()
            assert fresh.wrong == []
