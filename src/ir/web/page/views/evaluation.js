// What was judged, what was measured on it, and whether one way to search is better than another.

import { html, useEffect, useState } from "../vendor/preact.js";
import { call, send } from "../core/api.js";
import { forget, say, useAnswer, useMe, useSets } from "../core/hooks.js";
import { go, href, values } from "../core/route.js";
import { ago, count, number, score } from "../core/words.js";
import { Answer, CorpusChoice, Empty, Field, Notes, Pairs, Select, Tag, Waiting, Wrong, useChosen } from "../parts/common.js";
import { CopyAs } from "../parts/copy.js";
import { GRADES } from "../parts/judge.js";
import { Plot } from "../parts/plot.js";

export default function Evaluation({ params }) {
  const asked = values(params, ["pick"]);
  if (asked.set) return html`<${JudgedSet} name=${asked.set} />`;
  if (asked.run) return html`<${Run} id=${asked.run} />`;
  if (asked.a && asked.b) return html`<${Comparison} a=${asked.a} b=${asked.b} />`;
  return html`<div class="lab"><h1>Evaluation</h1><${Sets} /><${Measure} /><${Runs} picked=${asked.pick} /></div>`;
}

function Sets() {
  const sets = useSets();
  return html`<section aria-label="Sets of cases"><h2>Sets of cases</h2>
    ${sets.state === "failed" ? html`<${Wrong} error=${sets.error} again=${sets.again} />` : null}
    ${sets.data ? (sets.data.sets.length ? html`<div class="scroll" tabindex="0" role="region" aria-label="Sets of cases, as a table"><table><thead><tr><th scope="col">set</th><th scope="col" class="num">cases</th><th scope="col" class="num">answered</th><th scope="col" class="num">unanswerable</th><th scope="col" class="num">undecided</th><th scope="col" class="num">judgements</th><th scope="col">corpora</th><th scope="col">changed</th></tr></thead>
      <tbody>${sets.data.sets.map((one) => html`<tr key=${one.name}><th scope="row"><a href=${href("eval", { set: one.name })}>${one.name}</a></th><td class="num">${number(one.cases)}</td><td class="num">${number(one.answered)}</td><td class="num">${number(one.unanswerable)}</td><td class="num">${number(one.undecided)}</td><td class="num">${number(one.judgements)}</td><td>${one.corpora.join(", ")}</td><td class="faint">${one.changed ? ago(one.changed) : ""}</td></tr>`)}</tbody></table></div>`
      : html`<${Empty} title="Nothing is judged yet."><p>Search, name a set under “Judge into”, and say of each result how good it is. <a href=${href("search")}>Begin</a></p><//>`) : sets.state === "failed" ? null : html`<${Waiting} lines=${2} />`}
    ${Object.entries(sets.data?.broken || {}).map(([name, why]) => html`<p class="notes doubt" key=${name}>${name}: ${why}</p>`)}
  </section>`;
}

function JudgedSet({ name }) {
  const body = { name };
  const answer = useAnswer((signal) => call("judged-sets", body, { signal }), name);
  return html`<div class="lab"><p><a href=${href("eval")}>← Evaluation</a></p><h1>${name}</h1>
    <${Answer} answer=${answer}>${(data) => html`
      <p class="faint">${count(data.sets[0].cases, "case")}, ${count(data.sets[0].judgements, "judgement")}</p>
      <ol class="cards">${data.queries.map((one, at) => html`<li class="card" key=${at}>
        <div class="row between"><h2><a href=${href("search", { q: one.query, in: one.corpus, set: name })}>${one.query}</a></h2><span>${one.corpus ? html`<${Tag} kind="corpus">${one.corpus}<//>` : null}${one.nothing ? html` <${Tag}>nothing answers it<//>` : one.id ? null : html` <${Tag} kind="doubt">undecided<//>`}</span></div>
        <ul class="plainlist">${one.judgements.map((said) => html`<li key=${said.item}><span class="grade g${Math.min(3, said.grade)}">${GRADES[said.grade]?.[1] || said.grade}</span> ${one.corpus ? html`<a href=${href("doc", { in: one.corpus, id: said.item })}>${said.item}</a>` : said.item}${said.note ? html` <span class="faint">${said.note}</span>` : null}</li>`)}</ul>
      </li>`)}</ol>`}<//></div>`;
}

function Measure() {
  const sets = useSets();
  const me = useMe();
  const names = (sets.data?.sets || []).filter((one) => one.cases).map((one) => one.name);
  const [form, setForm] = useState({});
  const [told, setTold] = useState(null);
  const [error, setError] = useState(null);
  const chosen = useChosen([]);
  const set = form.cases || names[0];
  const home = sets.data?.sets.find((one) => one.name === set)?.corpora[0];
  const corpus = form.corpus || home || chosen[0];
  if (!names.length || (me.data?.scopes && !me.data.scopes.includes("write"))) return null;
  const body = { corpus, cases: set, save: true, ...(form.mode ? { mode: form.mode } : {}), ...(form.fusion ? { fusion: form.fusion } : {}), ...(form.label ? { label: form.label } : {}) };
  const start = async (event) => {
    event.preventDefault();
    setError(null);
    try {
      const job = await call("eval", body);
      setTold(job.job ? "running" : "done");
      say("Measuring has begun.");
      if (job.job) await follow(job.job);
      setTold("done");
      say("Measured.");
      dispatchEvent(new Event("measured"));
    } catch (failed) {
      setTold(null);
      setError(failed);
    }
  };
  const put = (name) => (value) => setForm({ ...form, [name]: value });
  return html`<section aria-label="Measure"><h2>Measure</h2>
    <form class="fields" onSubmit=${start}>
      <${Field} label="Cases"><${Select} value=${set} onChange=${put("cases")} choices=${names} /><//>
      <div class="field any"><span class="label">Corpus</span><${CorpusChoice} one chosen=${[corpus]} onChange=${([name]) => put("corpus")(name)} /></div>
      <${Field} label="Mode"><${Select} value=${form.mode} onChange=${put("mode")} choices=${[["", "as set"], "hybrid", ["dense", "meaning"], ["lexical", "words"]]} /><//>
      <${Field} label="Fusion"><${Select} value=${form.fusion} onChange=${put("fusion")} choices=${[["", "as set"], "blend", "rrf", "minmax", "dbsf", "minmax_corpus"]} /><//>
      <${Field} label="Label"><input value=${form.label || ""} maxlength="200" onInput=${(event) => put("label")(event.target.value)} placeholder="a few words" /><//>
      <button type="submit" class="main" disabled=${told === "running"}>${told === "running" ? "Measuring…" : "Measure"}</button>
      <${CopyAs} operation="eval" body=${body} />
    </form><${Wrong} error=${error} /></section>`;
}

async function follow(job) {
  for (;;) {
    const now = await send("GET", `/v1/jobs/${encodeURIComponent(job)}`);
    if (now.state === "done") return now.result;
    if (now.state === "failed" || now.state === "cancelled") throw Object.assign(new Error(now.error?.message || `It was ${now.state}.`), now.error || {});
    await new Promise((done) => setTimeout(done, 400));
  }
}

function Runs({ picked }) {
  const [turn, setTurn] = useState(0);
  const answer = useAnswer((signal) => call("runs", {}, { signal }), `runs ${turn}`);
  useMeasured(() => setTurn((one) => one + 1));
  const pick = (id, on) => go("eval", { pick: on ? [...picked, id].slice(-2) : picked.filter((one) => one !== id) }, { replace: true });
  return html`<section aria-label="Runs"><h2>Runs</h2>
    <${Answer} answer=${answer}>${(data) => {
      if (!data.runs.length) return html`<${Empty} title="No run is kept yet."><p>Measure above, or with <code>ir eval CORPUS SET --save</code>.</p><//>`;
      const metrics = [...new Set(data.runs.flatMap((run) => Object.keys(run.metrics)))].filter((name) => /^(ndcg@10|mrr@10|recall@10|mrr|ndcg|hit@1|success@1|precision@1)$/i.test(name)).slice(0, 4);
      const shown = metrics.length ? metrics : Object.keys(data.runs[0].metrics).slice(0, 4);
      return html`<div class="row between"><p class="faint">Choose two to compare them.</p>${picked.length === 2 ? html`<a class="button main" href=${href("eval", { a: picked[0], b: picked[1] })}>Compare the two</a>` : null}</div>
        <div class="scroll" tabindex="0" role="region" aria-label="Runs, as a table"><table><thead><tr><th scope="col"><span class="unseen">compare</span></th><th scope="col">run</th><th scope="col">corpus</th><th scope="col">cases</th><th scope="col">mode</th>${shown.map((name) => html`<th scope="col" class="num">${name}</th>`)}<th scope="col">when</th></tr></thead>
        <tbody>${data.runs.map((run) => html`<tr key=${run.id}><td><input type="checkbox" aria-label=${`Compare ${run.label || run.id}`} checked=${picked.includes(run.id)} onChange=${(event) => pick(run.id, event.target.checked)} /></td><th scope="row"><a href=${href("eval", { run: run.id })}>${run.label || run.id}</a>${run.degraded ? html` <${Tag} kind="doubt">degraded<//>` : null}</th><td>${run.corpus}</td><td>${run.cases}</td><td>${run.mode}${run.settings.fusion ? `, ${run.settings.fusion}` : ""}</td>${shown.map((name) => html`<td class="num">${score(run.metrics[name])}</td>`)}<td class="faint">${ago(run.at)}</td></tr>`)}</tbody></table></div>`;
    }}<//></section>`;
}

function useMeasured(does) {
  useEffect(() => {
    addEventListener("measured", does);
    return () => removeEventListener("measured", does);
  }, []);
}

function Run({ id }) {
  const body = { id, depth: 5 };
  const answer = useAnswer((signal) => call("runs", body, { signal }), id);
  const [error, setError] = useState(null);
  const [sure, setSure] = useState(false);
  const drop = async () => {
    if (!sure) {
      setSure(true);
      say("Press once more to remove it for good.");
      return;
    }
    try {
      await call("forget-run", { id });
      forget("sets");
      go("eval", {});
    } catch (failed) {
      setError(failed);
    }
  };
  return html`<div class="lab"><p><a href=${href("eval")}>← Evaluation</a></p>
    <${Answer} answer=${answer}>${({ runs: [run], queries }) => html`
      <div class="row between"><h1>${run.label || run.id}</h1><span class="row"><button type="button" class="quiet" onClick=${drop} onBlur=${() => setSure(false)}>${sure ? "Remove it for good?" : "Remove this run"}</button><${CopyAs} operation="runs" body=${body} /></span></div>
      <${Wrong} error=${error} />
      <${Notes} notes=${[...(run.drifted ? [`${count(run.drifted, "case")} have answers that are no longer in the corpus.`] : []), ...(run.degraded ? ["A part of the search was missing while this was measured."] : [])]} kind="doubt" />
      <dl class="facts">${Object.entries(run.metrics).filter(([name]) => !name.includes("@") || name.endsWith("@10")).map(([name, value]) => html`<div key=${name}><dt>${name}</dt><dd>${score(value)}</dd></div>`)}${run.abstention_accuracy === null ? null : html`<div><dt>abstains rightly</dt><dd>${score(run.abstention_accuracy)}</dd></div>`}</dl>
      <${Pairs} pairs=${[["corpus", run.corpus], ["cases", `${run.cases}: ${number(run.n_cases)}, of which ${number(run.n_abstention)} without an answer`], ["settings", Object.entries(run.settings).map(([name, value]) => `${name} ${value}`).join(", ")], ["model", run.embedder], ["outcomes", Object.entries(run.outcomes).map(([name, many]) => `${number(many)} ${name.replaceAll("_", " ")}`).join(", ")], ["when", run.at]]} />
      <div class="two">${Object.entries(run.curves).map(([name, by]) => html`<${Plot} key=${name} title=${name} lines=${[[run.label || run.mode, by]]} />`)}</div>
      <h2>Queries</h2>
      <div class="scroll" tabindex="0" role="region" aria-label="Queries of the run"><table><thead><tr><th scope="col">query</th><th scope="col">outcome</th><th scope="col" class="num">rank</th><th scope="col">found</th></tr></thead><tbody>${queries.map((one) => html`<tr key=${one.id}><th scope="row"><a href=${href("search", { q: one.query, in: run.corpus, mode: run.mode, fusion: run.settings.fusion })}>${one.query}</a></th><td><${Tag}>${one.outcome.replaceAll("_", " ")}<//></td><td class="num">${one.rank ?? "–"}</td><td>${one.ranking.map(([item], at) => html`<span key=${at} class=${one.judgements[item] > 0 ? "right" : "faint"}>${at ? ", " : ""}${item}</span>`)}</td></tr>`)}</tbody></table></div>`}<//></div>`;
}

function Comparison({ a, b }) {
  const body = { run_a: a, run_b: b };
  const answer = useAnswer((signal) => call("compare", body, { signal }), `${a} ${b}`);
  const runs = useAnswer((signal) => call("runs", {}, { signal }), "runs");
  const named = (id) => {
    const run = runs.data?.runs.find((one) => one.id === id);
    return run ? run.label || `${run.mode} ${ago(run.at)}` : id;
  };
  return html`<div class="lab"><p><a href=${href("eval", { pick: [a, b] })}>← Evaluation</a></p>
    <div class="row between"><h1>${named(a)} and ${named(b)}</h1><span class="row"><a class="button quiet" href=${href("eval", { a: b, b: a })}>Swap</a><${CopyAs} operation="compare" body=${body} /></span></div>
    <${Answer} answer=${answer}>${(data) => {
      const { names, measures, n_queries: many } = data.comparison;
      const label = (name) => (name === names[0] ? named(a) : named(b));
      const first = Object.values(measures)[0];
      const changes = [...(first?.changes || [])].filter((one) => one.change).sort((one, two) => Math.abs(two.change) - Math.abs(one.change)).slice(0, 25);
      return html`<p class="faint">${count(many, "query", "queries")}${data.unpaired ? `; ${count(data.unpaired, "query", "queries")} in one of the runs only` : ""}</p>
        <div class="scroll" tabindex="0" role="region" aria-label="Means and paired tests"><table><thead><tr><th scope="col">measure</th><th scope="col" class="num">${label(names[0])}</th><th scope="col" class="num">${label(names[1])}</th><th scope="col" class="num">difference</th><th scope="col" class="num">95 % interval</th><th scope="col" class="num">p</th><th scope="col" class="num">better / worse / same</th></tr></thead>
        <tbody>${Object.entries(measures).map(([name, one]) => html`<tr key=${name}><th scope="row">${name}</th><td class="num">${score(one.a)}</td><td class="num">${score(one.b)}</td><td class="num"><${Tag} kind=${one.p_randomization >= 0.05 ? "" : one.difference > 0 ? "up" : "down"} title=${one.p_randomization >= 0.05 ? "This may be luck." : ""}>${one.difference > 0 ? "+" : ""}${score(one.difference)}<//></td><td class="num">${one.interval ? `${score(one.interval[0])} … ${score(one.interval[1])}` : "–"}</td><td class="num">${score(one.p_randomization)}</td><td class="num">${one.wins} / ${one.losses} / ${one.ties}</td></tr>`)}</tbody></table></div>
        <div class="two">${Object.entries(data.curves).map(([measure, by]) => html`<${Plot} key=${measure} title=${`${measure} by depth`} lines=${Object.entries(by).map(([name, curve]) => [label(name), curve])} />`)}</div>
        ${changes.length ? html`<h2>Queries that changed most</h2><ul class="plainlist">${changes.map((one) => html`<li key=${one.query_id}><${Tag} kind=${one.change > 0 ? "up" : "down"}>${one.change > 0 ? "+" : ""}${score(one.change)}<//> <${Asked} query=${data.queries[one.query_id]} id=${one.query_id} runs=${[a, b].map((id) => runs.data?.runs.find((run) => run.id === id))} /></li>`)}</ul>` : null}`;
    }}<//></div>`;
}

/** A query that fared differently, asked again in both ways beside each other. */
function Asked({ query, id, runs: [a, b] }) {
  if (!query || !a || !b || a.corpus !== b.corpus) return query || id;
  return html`<a href=${href("compare", { q: query, in: a.corpus, "a.mode": a.mode, "a.fusion": a.settings.fusion, "b.mode": b.mode, "b.fusion": b.settings.fusion })}>${query}</a>`;
}
