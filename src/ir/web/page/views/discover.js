// Discovery: the few things that answer a query, with as much of each as is asked for, or the word that none does.

import { html } from "../vendor/preact.js";
import { call } from "../core/api.js";
import { useAnswer } from "../core/hooks.js";
import { go, href, values } from "../core/route.js";
import { count, score } from "../core/words.js";
import { Answer, Bar, CorpusChoice, Empty, Field, Notes, Pairs, Select, Tag, Wrong, useChosen } from "../parts/common.js";
import { CopyAs } from "../parts/copy.js";
import { flowing } from "../parts/hit.js";
import { LISTS, Line, QueryLine, readFilter } from "../parts/options.js";

/** Why there are no more answers, or none. */
const REASONS = {
  max_k: "The list ends at its limit.",
  top_k: "The best, as many as were asked for.",
  rel_threshold: "The next one scores too far below the best.",
  score_gap: "The list ends where the scores fall steeply.",
  abs_threshold: "The next one scores below the threshold.",
  below_floor: "The best score is below the floor of the corpus.",
  no_candidates: "There is no candidate at all.",
};
const LEVELS = ["metadata", "body", "bundled"];

export default function Discover({ params }) {
  const asked = values(params, LISTS);
  const corpora = useChosen(asked.in);
  const change = (more) => go("discover", { ...asked, ...more });
  let body = null;
  let unread = null;
  try {
    if (asked.q && corpora.length) body = bodyOf(asked, corpora);
  } catch (error) {
    unread = error;
  }
  const answer = useAnswer((signal) => call("discover", body, { signal }), body ? JSON.stringify(body) : null);
  const set = (name) => (value) => change({ [name]: value });
  return html`<div class="lab">
    <h1 class="unseen">Discover</h1>
    <${QueryLine} value=${asked.q} onAsk=${(q) => change({ q, in: corpora })} label="What to discover" placeholder="What do you need to know?" action="Discover" />
    <${CorpusChoice} chosen=${corpora} onChange=${(names) => change({ in: names })} />
    <div class="fields">
      <${Field} label="Reveal"><${Select} value=${asked.disclose} onChange=${set("disclose")} choices=${[["", "metadata"], "body", "bundled"]} /><//>
      <${Field} label="Commit by"><${Select} value=${asked.strategy} onChange=${set("strategy")} choices=${[["", "conservative"], "top_k", "abs_threshold", "rel_threshold", "score_gap"]} /><//>
      <${Field} label="At most"><${Line} type="number" min="1" value=${asked.max_k} onDone=${set("max_k")} placeholder="3" class="short" /><//>
      <${Field} label="Floor" hint="auto, none, 0.3"><${Line} value=${asked.floor} onDone=${set("floor")} placeholder="auto" class="short" /><//>
      <${Field} label="Around"><${Select} value=${asked.expand} onChange=${set("expand")} choices=${[["", "nothing"], ["window", "a window"], ["parent", "the parent"]]} /><//>
      <${Field} label="Mode"><${Select} value=${asked.mode} onChange=${set("mode")} choices=${[["", "as set"], "hybrid", ["dense", "meaning"], ["lexical", "words"]]} /><//>
      <${Field} label="Filter" hint="kind=Spells"><${Line} value=${asked.filter} onDone=${set("filter")} class="mono" spellcheck="false" /><//>
    </div>
    ${unread ? html`<${Wrong} error=${unread} />` : null}
    <${Answer} answer=${answer} idle=${unread ? null : html`<${Empty} title="A few answers, or none."><p>Search ranks everything. Discovery commits: it returns what answers, and says so when nothing does.</p><//>`}>${(data) => html`
      <div class="row between head"><h2>${data.abstained ? "Nothing here answers that" : count(data.results.length, "answer")} <span class="faint">of ${count(data.n_retrieved, "candidate")} in ${data.corpora.join(", ")}</span></h2><${CopyAs} operation="discover" body=${body} /></div>
      ${data.stale ? html`<p class="notes doubt">The source has changed since it was indexed.</p>` : null}
      <${Notes} notes=${data.notes} kind=${data.abstained ? "doubt" : "note"} />
      ${data.abstained && data.notes.length ? null : html`<p class=${data.abstained ? "notes doubt" : "faint"}>${REASONS[data.reason.replace("abstain:", "")] || data.reason.replace("abstain:", "").replaceAll("_", " ")}</p>`}
      <ol class="cards">${data.results.map((one, at) => html`<${Found} key=${one.artifact_id} one=${one} at=${at} best=${data.results[0].score} corpora=${corpora} level=${data.disclose_level} onMore=${() => change({ disclose: LEVELS[LEVELS.indexOf(data.disclose_level) + 1] })} />`)}</ol>
      <details class="faint"><summary>Signals</summary><${Pairs} pairs=${Object.entries({ ...data.signals, answerable: data.answerable }).filter(([name]) => name !== "notes").map(([name, value]) => [name, typeof value === "object" ? JSON.stringify(value) : String(value)])} /></details>`}<//>
  </div>`;
}

function bodyOf(asked, corpora) {
  const body = { query: asked.q, targets: corpora };
  for (const name of ["disclose", "strategy", "expand", "mode"]) if (asked[name]) body[name] = asked[name];
  if (asked.max_k) body.max_k = Number(asked.max_k);
  if (asked.floor) body.min_score = Number.isNaN(Number(asked.floor)) ? asked.floor : Number(asked.floor);
  if (asked.filter) body.filter = readFilter(asked.filter);
  return body;
}

function Found({ one, at, best, corpora, level, onMore }) {
  const corpus = one.source || one.metadata?.source || corpora[0];
  const more = Object.entries(one).filter(([name, value]) => !["artifact_id", "name", "score", "summary", "body", "level", "metadata", "pointer", "source"].includes(name) && value !== null && value !== "" && !(Array.isArray(value) && !value.length));
  return html`<li class="card">
    <div class="row between"><h3><a href=${href("doc", { in: corpus, id: one.artifact_id })}>${one.name || one.artifact_id}</a></h3><span class="row nowrap"><span class="num">${score(one.score)}</span><${Bar} share=${one.score / best} /></span></div>
    <p class="place">${corpora.length > 1 ? html`<${Tag} kind="corpus">${corpus}<//>` : null}${one.name && one.name !== one.artifact_id ? html`<span class="cite">${one.artifact_id}</span> ` : null}<${Tag}>${one.level}<//></p>
    <p class="excerpt clamp" tabindex="0">${flowing(one.summary)}</p>
    ${one.body ? html`<details><summary>The whole text</summary><pre class="text" tabindex="0">${one.body}</pre></details>` : null}
    ${more.map(([name, value]) => html`<details key=${name}><summary>${name.replaceAll("_", " ")}</summary><pre class="text" tabindex="0">${typeof value === "string" ? value : JSON.stringify(value, null, 2)}</pre></details>`)}
    ${level !== "bundled" ? html`<button type="button" class="quiet" onClick=${onMore}>${level === "metadata" ? "Show the whole text" : "Show what belongs to it"}</button>` : null}
  </li>`;
}
