// A question, an answer that comes piece by piece, and the passages it is made from beside it.

import { html, useEffect, useRef, useState } from "../vendor/preact.js";
import { call, stream } from "../core/api.js";
import { say, useKeys } from "../core/hooks.js";
import { go, href, values } from "../core/route.js";
import { score } from "../core/words.js";
import { Check, CorpusChoice, Empty, Field, Notes, Select, Tag, Wrong, useChosen } from "../parts/common.js";
import { CopyAs } from "../parts/copy.js";
import { Line, QueryLine } from "../parts/options.js";

const FLAGS = {
  no_citation: "The answer cites nothing.",
  unknown_citation: "The answer cites something that is not among the sources.",
};
/** What was answered in this tab, so that going back asks nobody again. */
const answered = new Map();

export default function Ask({ params }) {
  const asked = values(params, ["in", "q"]);
  const corpora = useChosen(asked.in);
  const change = (more) => go("ask", { ...asked, ...more });
  const [turns, setTurns] = useState([]);
  const [attempt, setAttempt] = useState(0);
  const stop = useRef(null);
  const how = { mode: asked.mode, k: asked.k, llm: asked.llm, anyway: asked.anyway };
  const key = corpora.length && asked.q.length ? JSON.stringify([corpora, asked.q, how]) : null;
  useEffect(() => {
    if (!key) {
      setTurns([]);
      return undefined;
    }
    let wanted = true;
    const show = (made) => wanted && setTurns([...made]);
    const control = new AbortController();
    stop.current = control;
    converse(asked.q, corpora, how, show, control.signal);
    return () => {
      wanted = false;
      control.abort();
    };
  }, [key, attempt]);
  const last = turns[turns.length - 1];
  const running = last && !last.ended;
  useKeys({ Escape: () => (running ? stop.current.abort() : false) });
  const ask = (question) => change({ q: asked.q.length ? [...asked.q, question] : [question], in: corpora });
  return html`<div class="lab asking">
    <h1 class="unseen">Ask</h1>
    ${turns.length ? null : html`<${QueryLine} onAsk=${ask} label="Question" placeholder="Ask a question" action="Ask" />`}
    <${CorpusChoice} chosen=${corpora} onChange=${(names) => change({ in: names })} />
    <div class="fields">
      <${Field} label="Answer by"><${Select} value=${asked.llm} onChange=${(llm) => change({ llm })} choices=${[["", "model, if there is one"], ["no", "the best sentences"]]} /><//>
      <${Field} label="Passages"><${Line} type="number" min="1" max="50" value=${asked.k} onDone=${(k) => change({ k })} placeholder="6" class="short" /><//>
      <${Field} label="Mode"><${Select} value=${asked.mode} onChange=${(mode) => change({ mode })} choices=${[["", "as set"], "hybrid", ["dense", "meaning"], ["lexical", "words"]]} /><//>
      <${Check} label="Answer even below the floor" checked=${Boolean(asked.anyway)} onChange=${(anyway) => change({ anyway })} />
    </div>
    ${turns.length ? null : html`<${Empty} title="Answers with their sources."><p>Each sentence cites the passage that it comes from. Where nothing here answers, nothing is made up.</p><//>`}
    ${turns.map((turn, at) => html`<${Turn} key=${at} turn=${turn} number=${at} body=${bodyOf(turn.question, corpora, how, turns.slice(0, at))} corpora=${corpora} again=${() => setAttempt((one) => one + 1)} />`)}
    ${turns.length ? html`<div class="next">
      ${running ? html`<button type="button" class="main" onClick=${() => stop.current.abort()}>Stop <kbd>Esc</kbd></button>` : html`
        <${QueryLine} key=${asked.q.length} onAsk=${ask} label="Follow-up question" placeholder="Ask on" action="Ask" />
        <a class="button quiet" href=${href("ask", { in: corpora, llm: asked.llm })}>New question</a>`}
    </div>` : null}
  </div>`;
}

function bodyOf(question, corpora, how, before) {
  const body = { question, target: corpora.length === 1 ? corpora[0] : corpora };
  if (how.mode) body.mode = how.mode;
  if (how.k) body.k = Number(how.k);
  if (how.llm === "no") body.llm = false;
  if (how.anyway) body.anyway = true;
  const history = before.flatMap((turn) => [{ role: "user", content: turn.question }, { role: "assistant", content: turn.answer || "" }]);
  if (history.length) body.history = history;
  return body;
}

/** Ask the questions of a conversation one after the other; what was answered before is at hand. */
async function converse(questions, corpora, how, show, signal) {
  const turns = [];
  for (const [at, question] of questions.entries()) {
    const key = JSON.stringify([corpora, how, questions.slice(0, at + 1)]);
    const held = answered.get(key);
    if (held) {
      turns.push(held);
      show(turns);
      continue;
    }
    const turn = { question, answer: "", sources: [], notes: [], flags: [], ended: false, step: "Looking for passages" };
    turns.push(turn);
    show(turns);
    await answer(turn, bodyOf(question, corpora, how, turns.slice(0, -1)), () => show(turns), signal);
    turn.ended = true;
    if (!turn.stopped && !turn.error) answered.set(key, turn);
    say(turn.abstained ? "Nothing here answers that." : turn.stopped ? "Stopped." : "The answer is complete.");
    show(turns);
    if (turn.error || signal.aborted) return;
  }
}

async function answer(turn, body, show, signal) {
  const heard = (kind, data) => {
    if (kind === "search") turn.notes = data.notes || [];
    if (kind === "context") {
      turn.sources = data.passages;
      turn.step = "Reading";
      texts(turn.sources).then(show);
    }
    if (kind === "generation") {
      turn.by = data.by;
      turn.step = "Writing";
    }
    if (kind === "token") turn.answer += data.text;
    if (kind === "complete") Object.assign(turn, { answer: data.answer, shown: data.cited_answer || data.answer, flags: data.flags || [], cited: data.cited || [], attached: data.attached || [], abstained: data.abstained, reason: data.reason });
    if (kind === "error") turn.error = { message: data.message || data.detail, remedy: data.remedy, code: data.code };
    show();
  };
  try {
    await stream("ask", body, heard, { signal });
  } catch (error) {
    if (error.name === "AbortError") turn.stopped = true;
    else turn.error = error;
  }
}

/** The events tell where the passages are; what they say is read as any document is. */
async function texts(sources) {
  const corpora = [...new Set(sources.map((one) => one.corpus))];
  await Promise.all(corpora.map(async (target) => {
    const own = sources.filter((one) => one.corpus === target);
    await Promise.all(own.map(async (one) => {
      const item = one.line ? `${one.id}:${one.line}-${one.end_line || one.line}` : one.id;
      const read = await call("get", { items: [item], target, numbers: false, max_tokens: 1500 }).catch(() => null);
      one.text = read?.got?.[0]?.text || "";
    }));
  }));
}

function Turn({ turn, number, body, corpora, again }) {
  const cited = new Set([...(turn.cited || []), ...(turn.attached || []).map((one) => one.passage)]);
  const [lit, setLit] = useState(null);
  const jump = (at) => {
    setLit(at);
    const place = document.getElementById(`source-${number}-${at}`);
    place?.focus();
    place?.scrollIntoView({ block: "nearest", behavior: "smooth" });
  };
  return html`<section class="turn" aria-label=${`Question: ${turn.question}`}>
    <h2 class="question">${turn.question}</h2>
    <div class="split">
      <div class="answer">
        ${turn.abstained ? html`<p class="notes doubt">${turn.reason || "Nothing here answers that."}</p>` : html`<div class="prose" aria-live=${turn.ended ? "off" : "polite"} aria-busy=${!turn.ended}>
          <${Cited} text=${turn.shown || turn.answer} known=${turn.sources.map((one) => one.number)} onJump=${jump} />
          ${turn.ended ? null : html`<span class="caret" aria-hidden="true"></span>`}
        </div>`}
        ${turn.ended ? null : html`<p class="faint" role="status">${turn.step}…</p>`}
        ${turn.stopped ? html`<p class="notes doubt">Stopped before the end.</p>` : null}
        ${turn.error ? html`<${Wrong} error=${turn.error} again=${again} />` : null}
        <${Notes} notes=${turn.flags.map((flag) => FLAGS[flag] || flag)} kind="doubt" />
        <${Notes} notes=${turn.notes.filter((note) => !(turn.abstained && note === turn.reason))} />
        ${turn.ended ? html`<div class="row">${turn.by ? html`<${Tag}>by ${turn.by === "extract" ? "the best sentences" : turn.by}<//>` : null}${turn.attached?.length ? html`<${Tag} title="a rule found the passages for sentences without a citation">${turn.attached.length} citations attached<//>` : null}<${CopyAs} operation="ask" body=${body} /></div>` : null}
      </div>
      <aside aria-label="Sources" class="sources">
        ${turn.sources.length ? html`<h3>Sources</h3>` : null}
        <ol>${turn.sources.map((one) => html`<li key=${one.number} id=${`source-${number}-${one.number}`} tabindex="-1" class="${lit === one.number ? "lit" : ""} ${cited.has(one.number) ? "cited" : turn.ended ? "unused" : ""}">
          <p><b class="letter">${one.number}</b> <a href=${href("doc", { in: one.corpus || corpora[0], id: one.id, line: one.line, end: one.end_line })}>${one.section?.replaceAll("`", "") || one.id}</a></p>
          <p class="place"><span class="cite">${one.label.replace(/ \(.*\)$/s, "")}</span> <span class="num">${score(one.score)}</span> ${cited.has(one.number) ? html`<${Tag} kind="up">cited<//>` : null}</p>
          ${one.text ? html`<details open=${lit === one.number}><summary>Passage</summary><p class="passage">${one.text}</p></details>` : null}
        </li>`)}</ol>
      </aside>
    </div>
  </section>`;
}

/** A text whose [n] lead to the sources. */
function Cited({ text, known, onJump }) {
  const parts = text.split(/(\[\d+(?:\s*[,;]\s*\d+)*\])/);
  return parts.map((part, at) => {
    if (at % 2 === 0) return part;
    return html`<span class="cites" key=${at}>${part.match(/\d+/g).map(Number).map((one) => (known.includes(one) ? html`<button type="button" class="citebutton" onClick=${() => onJump(one)} aria-label=${`Source ${one}`}>${one}</button>` : html`<span class="citebutton bad" title="no such source">${one}</span>`))}</span>`;
  });
}
