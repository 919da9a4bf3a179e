"""A tool is called, or a resource is read: arguments are checked, an operation runs, its response becomes an answer."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, unquote, urlsplit

from ir.app.context import Caller
from ir.app.documents import tokens_of
from ir.app.fields import clamped
from ir.app.problems import describe
from ir.app.session import Session
from ir.config import corpora_dir
from ir.config.workspace import current_workspace
from ir.errors import Cancelled, IrError, NotFound
from ir.serve import answers, ontology, related
from ir.serve.answers import Answer
from ir.serve.budget import Cursor, cost, shortened
from ir.serve.freshness import Freshness, Key
from ir.serve.jobs import Job, Jobs
from ir.serve.operations import run_operation
from ir.serve.protocol import INVALID_PARAMS, ProtocolError, check_tool
from ir.serve.tasks import Task
from ir.serve.tools import FULL, TOOLS
from ir.surrogates import storable

__all__ = ["Calls"]

log = logging.getLogger("ir.daemon")

#: So long a question may take.
_DEADLINE_S = 120.0
#: So long `refresh` waits for its end before it says under which handle it goes on.
_PATIENCE_S = 8.0
_MOST_RESULTS = 1000
_RESOURCE_TOKENS = 20_000
_MOST_NAMED = 1000

Result = dict[str, Any]


class Calls:
    """The tools and resources, over one session whose corpora stay open."""

    def __init__(self, *, watching: bool, session: Session | None = None, jobs: Jobs | None = None) -> None:
        self.session = session or Session()
        self.jobs = jobs or Jobs()
        self.began = time.time()
        self._named: dict[tuple[str, Caller], tuple[Any, str]] = {}
        self.freshness = Freshness(self._take_in, lambda: self.session.settings, watching=watching)
        self.freshness.start()

    def close(self) -> None:
        self.jobs.stop()
        self.freshness.stop()
        self.session.close()

    def named(self, word: str, caller: Caller) -> str:
        """The name of the corpus that a caller means; looked up again when corpora came or went."""
        key, state = (word, caller), _state_of_corpora()
        held = self._named.get(key)
        if held is not None and held[0] == state:
            return held[1]
        ctx = self.session.context(door="mcp", caller=caller)
        try:
            name = ctx.target(word).name
        finally:
            ctx.release()
        if len(self._named) >= _MOST_NAMED:
            self._named.clear()
        self._named[key] = (state, name)
        return name

    def state(self) -> Result:
        """What this process holds, for whoever looks after it."""
        held = [f"{workspace}/{name}" for workspace, name in self.session.pool.names()]
        return {"open": held, "jobs": self.jobs.running(), "seconds": round(time.time() - self.began, 1)}

    def operation(self, task: Task) -> Result:
        """An operation for the user's own command line."""
        caller = Caller("cli", task.caller.workspace, None, task.caller.folder)
        return run_operation(self.session, task.params, caller, task.cancelled.is_set)

    def tool(self, task: Task) -> Result:
        """The result of a tool. What goes wrong in an expected way is a result too, with a next step."""
        began = time.perf_counter()
        name = task.params["name"]
        check_tool(name, TOOLS)
        tool = TOOLS[name]
        try:
            given, notes = clamped(tool.arguments, _whole(task.params.get("arguments") or {}))
            arguments = tool.arguments.from_dict(given)
            answer: Answer = getattr(self, f"_{name}")(arguments, _Asking(self, task, notes))
        except Cancelled:
            raise
        except IrError as error:
            return _failed(error)
        except Exception as error:
            log.exception("the tool %s failed", name)
            return _unexpected(error)
        answer.meta["timings_ms"] = {"total": round((time.perf_counter() - began) * 1000, 1)}
        return {
            "content": [{"type": "text", "text": answer.text}],
            "structuredContent": answer.structured,
            "isError": False,
            "_meta": {"ir": answer.meta},
        }

    def resources(self, task: Task) -> Result:
        """The corpora, as resources that say what is in them."""
        asking = _Asking(self, task, [])
        found = asking.call("status", {})
        listed = [
            {
                "uri": f"ir://{quote(one.name, safe='')}",
                "name": one.name,
                "description": f"{one.artifacts or 0:,} items; {one.state}",
                "mimeType": "text/plain",
            }
            for one in found.corpora
        ]
        return {"resources": listed}

    def resource(self, task: Task) -> Result:
        """The text at an address: ``ir://corpus/id#L3-L9``, or what is known of ``ir://corpus``."""
        uri = task.params["uri"]
        try:
            parts = urlsplit(uri)
            corpus = unquote(parts.netloc)
        except ValueError:
            parts, corpus = None, ""
        if parts is None or parts.scheme != "ir" or not corpus:
            raise ProtocolError(INVALID_PARAMS, "There is no such resource. Write ir://CORPUS/ID#L3-L9.", {"uri": uri})
        asking = _Asking(self, task, [])
        if parts.path in ("", "/"):
            found = asking.call("status", {"target": corpus})
            text = answers.stated(found, [], asking.fresh, budget=_RESOURCE_TOKENS).text
        else:
            asked = {"target": corpus, "items": (uri,), "max_tokens": _RESOURCE_TOKENS, "numbers": False}
            asking.look((corpus,))
            text = "\n".join(one.text for one in asking.call("get", asked).got)
        return {"contents": [{"uri": uri, "mimeType": "text/plain", "text": text}], "_meta": {"ir": asking.meta()}}

    def _search(self, arguments: Any, asking: _Asking) -> Answer:
        return self._ranked("search", arguments, asking, arguments.corpus)

    def _similar(self, arguments: Any, asking: _Asking) -> Answer:
        return self._ranked("similar", arguments, asking, arguments.corpus)

    def _ranked(self, name: str, arguments: Any, asking: _Asking, corpus: Any) -> Answer:
        names = asking.names(corpus)
        skip = asking.skip(arguments)
        asked = TOOLS[name].asked(arguments) | {"target": names if name == "search" else names[0]}
        wanted = min(skip + arguments.k, _MOST_RESULTS)
        asking.look(names)
        response = asking.call(name, asked | {"k": wanted})
        budget, full = asking.budget(arguments), arguments.detail == FULL
        fresh = asking.told_fresh()
        answer = answers.found(response, budget=budget, full=full, skip=skip, notes=asking.notes, fresh=fresh)
        asking.degraded(getattr(response, "meta", {}))
        more = answer.more or (len(response.found) == wanted < _MOST_RESULTS)
        return asking.finished(answer, more, arguments)

    def _discover(self, arguments: Any, asking: _Asking) -> Answer:
        names = asking.names(arguments.corpus)
        asking.look(names)
        response = asking.call("discover", TOOLS["discover"].asked(arguments) | {"targets": names})
        budget, full = asking.budget(arguments), arguments.detail == FULL
        fresh = asking.told_fresh()
        answer = answers.discovered(response, budget=budget, full=full, notes=asking.notes, fresh=fresh)
        asking.degraded(response.result.signals)
        return asking.finished(answer, False, arguments)

    def _ask(self, arguments: Any, asking: _Asking) -> Answer:
        names = asking.names(arguments.corpus)
        asking.look(names)
        response = asking.call("ask", TOOLS["ask"].asked(arguments) | {"target": names})
        fresh = asking.told_fresh()
        answer = answers.answered(response, budget=asking.budget(arguments), notes=asking.notes, fresh=fresh)
        return asking.finished(answer, False, arguments)

    def _get(self, arguments: Any, asking: _Asking) -> Answer:
        items = (arguments.items,) if isinstance(arguments.items, str) else arguments.items
        addressed = {unquote(urlsplit(item).netloc) for item in items if item.startswith("ir://")}
        corpus = addressed.pop() if len(addressed) == 1 and arguments.corpus == "." else arguments.corpus
        names = asking.names(corpus)
        asking.look(names)
        budget = room = asking.budget(arguments)
        for _ in range(4):  # what lines cost beside their letters is known only afterwards
            asked = TOOLS["get"].asked(arguments) | {"target": names[0], "max_tokens": max(1, room)}
            response = asking.call("get", asked)
            fresh = asking.told_fresh()
            answer = answers.gotten(response, budget=budget, notes=asking.notes, fresh=fresh)
            spent = max(cost(answer.structured), cost(answer.text))
            if spent <= budget or room <= 1:
                break
            room = min(room - 1, int(room * budget / spent * 0.93))
        return asking.finished(answer, False, arguments)

    def _grep(self, arguments: Any, asking: _Asking) -> Answer:
        names = asking.names(arguments.corpus)
        asking.look(names)
        skip = left = asking.skip(arguments)
        budget, room = asking.budget(arguments), arguments.k
        responses = []
        for name in names:
            asked = TOOLS["grep"].asked(arguments) | {"target": name, "max_tokens": budget}
            response = asking.call("grep", asked | {"skip": left, "k": max(room, 1)})
            left = max(0, left - response.total)
            room -= len(response.matches)
            responses.append(response)
        answer = answers.grepped(responses, budget=budget, skip=skip, notes=asking.notes, fresh=asking.told_fresh())
        return asking.finished(answer, answer.more, arguments)

    def _symbol(self, arguments: Any, asking: _Asking) -> Answer:
        relation = "impact" if arguments.diff is not None else arguments.relation
        if relation is not None:
            return self._related(relation, arguments, asking)
        names = asking.names(arguments.corpus)
        asking.look(names)
        budget = room = asking.budget(arguments)
        for _ in range(4):  # what a frame costs beside the text is known only afterwards
            response = asking.call("symbol", {"symbol": arguments.symbol, "target": names[0], "max_tokens": room})
            answer = related.symbol(response, notes=asking.notes, fresh=asking.told_fresh(), budget=budget)
            spent = max(cost(answer.structured), tokens_of(answer.text))
            if spent <= budget or room <= 1:
                break
            room = max(1, min(room - 1, int(room * budget / spent * 0.93)))
        return asking.finished(answer, False, arguments)

    def _related(self, relation: str, arguments: Any, asking: _Asking) -> Answer:
        names = asking.names(arguments.corpus)
        skip = asking.skip(arguments)
        asking.look(names)
        operation = {"tests": "tests-of"}.get(relation, relation)
        asked = TOOLS["symbol"].asked(arguments) | {"target": names[0], "skip": skip}
        response = asking.call(operation, asked)
        budget = asking.budget(arguments)
        answer = related.relations(response, skip=skip, budget=budget, notes=asking.notes, fresh=asking.told_fresh())
        return asking.finished(answer, answer.more and answer.shown < _MOST_RESULTS, arguments)

    def _ontology_query(self, arguments: Any, asking: _Asking) -> Answer:
        names = asking.names(arguments.corpus)
        asking.look(names)
        tool = TOOLS["ontology_query"]
        response = asking.call(tool.operations[0], tool.asked(arguments) | {"target": names[0]})
        asking.degraded({"degraded": response.answer.meta.degraded})
        budget, fresh = int(self.session.settings["mcp.max_tokens"]), asking.told_fresh()
        answer = ontology.answered(response, budget=budget, notes=asking.notes, fresh=fresh)
        return asking.finished(answer, False, arguments)

    def _ground(self, arguments: Any, asking: _Asking) -> Answer:
        response = asking.call("ground", TOOLS["ground"].asked(arguments))
        return answers.grounded(response, budget=asking.budget(arguments), notes=asking.notes)

    def _status(self, arguments: Any, asking: _Asking) -> Answer:
        if arguments.job is not None:
            job = self.jobs.find(arguments.job)
            if job is None or job.workspace != current_workspace() or not asking.may_see(job.corpus):
                raise NotFound(
                    f"There is no job {arguments.job[:80]!r}.", remedy="Jobs end with the process; ask for status."
                )
            told = job.to_dict()
            return Answer("; ".join(f"{name} {value}" for name, value in told.items()), told)
        response = asking.call("status", TOOLS["status"].asked(arguments))
        running = [job for job in self.jobs.all(current_workspace()) if job.state == "running"]
        jobs = [job.to_dict() for job in running if asking.may_see(job.corpus)]
        return answers.stated(response, jobs, asking.fresh, budget=asking.budget(arguments))

    def _refresh(self, arguments: Any, asking: _Asking) -> Answer:
        name = asking.names(arguments.corpus)[0]
        job = self._start_refresh((current_workspace(), name))
        deadline = time.monotonic() + (_PATIENCE_S if arguments.wait else 0.0)
        job.listeners.append(asking.report)
        try:
            while not job.over.wait(0.05) and time.monotonic() < deadline:
                asking.check()
        finally:
            job.listeners.remove(asking.report)
        if not job.over.is_set():
            return answers.refreshed(None, job.to_dict(), asking.notes)
        if job.failure is not None:
            raise job.failure
        return asking.finished(answers.refreshed(job.result, None, asking.notes), False, arguments)

    def _start_refresh(self, key: Key) -> Job:
        def work(job: Job) -> Any:
            began = time.time()
            try:
                done = self.session.call(
                    "refresh", {"target": key[1]}, door="mcp", cancelled=job.stop.is_set, progress=job.report
                )
            except Exception as error:
                self.freshness.refreshed(key, began, error)
                raise
            self.freshness.refreshed(key, began)
            return done

        return self.jobs.start("refresh", *key, work)

    def _take_in(self, key: Key) -> None:
        """Take in what changed in a watched folder, as a job like any other."""
        from ir.config.workspace import in_workspace

        with in_workspace(key[0]):
            job = self._start_refresh(key)
        job.over.wait()
        if job.failure is not None:
            raise job.failure


def _whole(given: Any) -> Any:
    """Arguments without halves of characters, which a client may send and no store can look for."""
    if isinstance(given, str):
        return storable(given)
    if isinstance(given, list):
        return [_whole(one) for one in given]
    return {_whole(key): _whole(one) for key, one in given.items()} if isinstance(given, dict) else given


class _Asking:
    """One call on its way: who asks, and what is to be told beside the answer."""

    def __init__(self, calls: Calls, task: Task, notes: list[str]) -> None:
        self._calls = calls
        self._task = task
        self._caller = Caller("mcp", task.caller.workspace, task.caller.corpora, task.caller.folder)
        self._names: tuple[str, ...] = ()
        self._steps = 0
        self._version = ""
        self._asked_version: str | None = None
        self._degraded: list[str] = []
        self.notes = notes

    def call(self, name: str, arguments: Mapping[str, Any]) -> Any:
        """The response of an operation."""
        return self._calls.session.call(
            name,
            arguments,
            door="mcp",
            caller=self._caller,
            deadline_s=_DEADLINE_S,
            cancelled=self._task.cancelled.is_set,
            progress=self._progress,
        )

    def check(self) -> None:
        if self._task.cancelled.is_set():
            raise Cancelled("The call was cancelled.")

    def may_see(self, corpus: str) -> bool:
        return self._caller.corpora is None or corpus in self._caller.corpora

    def names(self, corpus: str | tuple[str, ...]) -> tuple[str, ...]:
        """The corpora that are meant, by their names; an error for what is none that this caller may see."""
        words = (corpus,) if isinstance(corpus, str) else corpus
        self._names = tuple(dict.fromkeys(self._calls.named(word, self._caller) for word in words or (".",)))
        return self._names

    def look(self, names: tuple[str, ...]) -> None:
        self._names = names
        self._calls.freshness.look(current_workspace(), names)

    def fresh(self, name: str) -> str:
        return _fresh(self._calls.freshness.told(current_workspace(), (name,)))

    def told_fresh(self) -> str:
        return _fresh(self._calls.freshness.told(current_workspace(), self._names))

    def budget(self, arguments: Any) -> int:
        """How long the answer may be, in tokens."""
        return int(getattr(arguments, "max_tokens", None) or self._calls.session.settings["mcp.max_tokens"])

    def skip(self, arguments: Any) -> int:
        """How many results were shown before."""
        if arguments.cursor is None:
            return 0
        skip, self._asked_version = Cursor.read(arguments.cursor, _question(arguments))
        return skip

    def degraded(self, meta: Mapping[str, Any]) -> None:
        self._degraded = [str(part) for part in meta.get("degraded", ())]

    def finished(self, answer: Answer, more: bool, arguments: Any) -> Answer:
        """The answer with its cursor and with what is to be known of it."""
        answer.meta.update(self.meta())
        if self._asked_version is not None and self._asked_version != self._version:
            note = "The index has changed since the page before; results may have moved."
            answer.structured.setdefault("notes", []).append(note)
            answer.text += f"\nNote: {note}"
        if more:
            cursor = Cursor.of(_question(arguments), self._version).at(answer.shown)
            answer.structured["next"] = cursor
            answer.text += f"\nMore: repeat with cursor={cursor!r}"
        return answer

    def meta(self) -> Result:
        """What a program may want to know of an answer."""
        found: Result = {"freshness": self._calls.freshness.told(current_workspace(), self._names)}
        versions, backends = {}, set()
        ctx = self._calls.session.context(door="mcp", caller=self._caller)
        try:
            for name in self._names:
                store = ctx.open(name).store
                versions[name] = store.content_version
                backends.add(type(store).__name__.removesuffix("Store").lower())
        finally:
            ctx.release()
        self._version = ".".join(version[:8] for version in versions.values())
        return found | {"content_version": versions, "backend": sorted(backends), "degraded": self._degraded}

    def report(self, job: Job) -> None:
        """Tell the client how far a job is."""
        self._tell(f"{job.stage} {job.done}" + ("" if job.total is None else f" of {job.total}"))

    def _progress(self, step: Any) -> None:
        self._tell(f"{step.stage} {step.done}" + ("" if step.total is None else f" of {step.total}"))

    def _tell(self, message: str) -> None:
        self._steps += 1
        if self._task.progress is not None and not self._task.cancelled.is_set():
            self._task.progress({"progress": self._steps, "message": message})


def _state_of_corpora() -> Any:
    """What changes when a corpus is registered, built or removed."""
    from ir.registry import state

    try:
        told = corpora_dir().stat()
        return state(), told.st_mtime_ns, told.st_size
    except OSError:
        return state()


def _question(arguments: Any) -> Result:
    """The arguments that a cursor belongs to: all but those that say how much to show."""
    told = arguments.to_dict()
    return {name: value for name, value in told.items() if name not in ("cursor", "max_tokens", "detail", "k")}


def _fresh(told: Mapping[str, Any]) -> str:
    reason = told.get("reason")
    return f"{told['state']} ({shortened(str(reason), 30)})" if reason else str(told["state"])


def _failed(error: IrError) -> Result:
    problem = describe(error, "mcp")
    text = f"{problem.message} {problem.remedy}".strip()
    return {
        "content": [{"type": "text", "text": text}],
        "structuredContent": {"error": problem.to_dict()},
        "isError": True,
    }


def _unexpected(error: Exception) -> Result:
    told = f"Unexpected {type(error).__name__}. The service's log says where; ask in another way, or tell the user."
    problem = {"code": "unexpected", "message": told, "remedy": ""}
    return {"content": [{"type": "text", "text": told}], "structuredContent": {"error": problem}, "isError": True}
