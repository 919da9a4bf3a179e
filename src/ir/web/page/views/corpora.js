// The corpora: what they hold, how fresh they are, and the work that is done on them.

import { html, useEffect, useRef, useState } from "../vendor/preact.js";
import { call, send } from "../core/api.js";
import { forget, say, useCorpora, useMe } from "../core/hooks.js";
import { href } from "../core/route.js";
import { ago, count, number, seconds, size } from "../core/words.js";
import { Empty, Pairs, Tag, Waiting, Wrong } from "../parts/common.js";
import { CopyAs } from "../parts/copy.js";

const ACTIVE = ["waiting", "running"];

export default function Corpora() {
  const corpora = useCorpora();
  const me = useMe();
  const jobs = useJobs();
  const [checked, setChecked] = useState({});
  const [busy, setBusy] = useState("");
  const [error, setError] = useState(null);
  const check = async (name) => {
    setBusy(name || "all");
    setError(null);
    try {
      const found = await call("status", { check: true, ...(name ? { target: name } : {}) });
      setChecked((before) => ({ ...before, ...Object.fromEntries(found.corpora.map((one) => [one.name, one])) }));
      say("Checked.");
    } catch (failed) {
      setError(failed);
    }
    setBusy("");
  };
  const refresh = async (name) => {
    setError(null);
    try {
      await call("refresh", { target: name });
      say(`The refresh of ${name} has begun.`);
      jobs.look();
    } catch (failed) {
      setError(failed);
    }
  };
  const writes = !me.data || !me.data.scopes || me.data.scopes.includes("write");
  const all = (corpora.data?.corpora || []).map((one) => ({ ...one, ...(checked[one.name] || {}) }));
  return html`<div class="lab">
    <div class="row between"><h1>Corpora</h1><span class="row"><button type="button" disabled=${busy === "all"} onClick=${() => check()}>${busy === "all" ? "Looking…" : "Check freshness"}</button><${CopyAs} operation="status" body=${{ check: true }} /></span></div>
    <${Wrong} error=${error} />
    ${corpora.state === "failed" ? html`<${Wrong} error=${corpora.error} again=${corpora.again} />` : null}
    ${!corpora.data && corpora.state !== "failed" ? html`<${Waiting} />` : null}
    ${corpora.data && !all.length ? html`<${Empty} title="There is no corpus yet."><p><code>ir build FOLDER</code> makes one of a folder; <code>ir register</code> gives it a name.</p><//>` : null}
    <ul class="cards corpora">${all.map((one) => html`<li class="card" key=${one.name}>
      <div class="row between"><h2><a href=${href("search", { in: one.name })}>${one.name}</a></h2><${Fresh} one=${one} /></div>
      <${Pairs} pairs=${[
        ["holds", `${one.artifacts === null ? "–" : count(one.artifacts, "item")}, ${one.records === null ? "–" : count(one.records, "record")}`],
        ["size", size(one.bytes)],
        ["model", one.embedder],
        ["made of", one.origin ? `${one.kind || ""} ${one.origin}`.trim() : one.kind],
        ["built", one.built_at ? ago(one.built_at) : null],
        ["version", one.version],
        ["commit", one.git?.commit ? `${one.git.commit.slice(0, 10)}${one.git.branch ? ` on ${one.git.branch}` : ""}` : null],
        ["changes", one.changes || null],
        ["at work", one.job],
      ]} />
      <div class="row acts">
        <a href=${href("search", { in: one.name })}>Search</a><a href=${href("ask", { in: one.name })}>Ask</a><a href=${href("ontology", { in: one.name, tab: "types" })}>Types</a>
        <button type="button" class="quiet" disabled=${busy === one.name} onClick=${() => check(one.name)} aria-label=${`Check ${one.name}`}>Check</button>
        ${writes && one.built ? html`<button type="button" class="quiet" disabled=${jobs.all.some((job) => ACTIVE.includes(job.state) && job.corpus === one.name)} onClick=${() => refresh(one.name)} aria-label=${`Refresh ${one.name}`}>Refresh</button>` : null}
      </div>
    </li>`)}</ul>
    <${Jobs} jobs=${jobs} />
  </div>`;
}

function Fresh({ one }) {
  if (!one.built) return html`<${Tag}>${one.state}<//>`;
  if (one.state !== "ready") return html`<${Tag} kind="bad">${one.state}<//>`;
  if (one.stale === true) return html`<${Tag} kind="doubt">stale<//>`;
  if (one.stale === false) return html`<${Tag} kind="up">up to date<//>`;
  return html`<${Tag}>ready<//>`;
}

/** The jobs of the server; asked for each second while one is at work. */
function useJobs() {
  const [all, setAll] = useState([]);
  const [error, setError] = useState(null);
  const timer = useRef(0);
  const before = useRef([]);
  const look = async () => {
    clearTimeout(timer.current);
    try {
      const found = await send("GET", "/v1/jobs");
      const jobs = found.jobs || found;
      for (const job of jobs) {
        const was = before.current.find((one) => one.job === job.job);
        if (was && ACTIVE.includes(was.state) && !ACTIVE.includes(job.state)) {
          say(`${job.kind} ${job.corpus}: ${job.state}.`);
          forget("corpora");
        }
      }
      before.current = jobs;
      setAll(jobs);
      setError(null);
      timer.current = setTimeout(look, jobs.some((job) => ACTIVE.includes(job.state)) ? 700 : 8000);
    } catch (failed) {
      setError(failed);
      timer.current = setTimeout(look, 8000);
    }
  };
  useEffect(() => {
    look();
    return () => clearTimeout(timer.current);
  }, []);
  return { all, error, look };
}

function Jobs({ jobs }) {
  const stop = (job) => send("DELETE", `/v1/jobs/${encodeURIComponent(job)}`).then(jobs.look, jobs.look);
  if (!jobs.all.length && !jobs.error) return null;
  return html`<section aria-label="Jobs"><h2>Jobs</h2>
    <${Wrong} error=${jobs.error} again=${jobs.look} />
    <ul class="jobs">${jobs.all.map((job) => html`<li key=${job.job}>
      <div class="row between"><span><b>${job.kind}</b> ${job.corpus} <${Tag} kind=${{ done: "up", failed: "bad", running: "doubt" }[job.state] || ""}>${job.state}<//></span>
        <span class="faint">${job.state === "running" ? html`${job.stage || ""} ${job.total ? `${number(job.done)} of ${number(job.total)}` : job.done ? number(job.done) : ""}${job.seconds_left !== null && job.seconds_left !== undefined ? ` · about ${seconds(job.seconds_left)} left` : ""}` : `${seconds(job.seconds)}${job.began ? ` · ${ago(job.began)}` : ""}`}
        ${ACTIVE.includes(job.state) ? html` <button type="button" class="quiet" onClick=${() => stop(job.job)} aria-label=${`Stop ${job.kind} ${job.corpus}`}>Stop</button>` : null}</span></div>
      ${ACTIVE.includes(job.state) ? html`<progress max=${job.total || 1} value=${job.total ? job.done : undefined} aria-label=${`${job.kind} ${job.corpus}`}></progress>` : null}
      ${job.error ? html`<p class="notes doubt">${job.error.message || job.error.detail} ${job.error.remedy || ""}</p>` : null}
      ${job.result ? html`<p class="faint">${["added", "changed", "removed", "unchanged"].filter((name) => name in job.result).map((name) => `${number(job.result[name])} ${name}`).join(", ")}${job.result.saved ? html`Run <a href=${href("eval", { run: job.result.saved })}>${job.result.saved}</a>` : null}</p>` : null}
    </li>`)}</ul>
  </section>`;
}
