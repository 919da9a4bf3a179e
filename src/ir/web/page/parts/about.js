// How a list came about: where the time went, how the best stands to the floor, which version answered.

import { html } from "../vendor/preact.js";
import { ms, score } from "../core/words.js";
import { Bar, Pairs, Tag } from "./common.js";

const STAGES = { query: "read the query", rest: "the rest", channels: "look up", fusion: "fuse", code: "code ranking", boosts: "boosts", exit: "early exit", rerank: "rerank", final_boosts: "final boosts", collapse: "one per file", expansion: "expand" };

export function About({ data }) {
  const metas = data.meta?.sources ? Object.entries(data.meta.sources) : [[data.corpus, data.meta || {}]];
  return html`
    ${(data.floors || []).map((floor) => html`<${Floor} key=${floor.corpus} floor=${floor} found=${data.found.filter((hit) => (hit.source || data.corpus) === floor.corpus)} several=${data.floors.length > 1} />`)}
    ${metas.map(([name, meta]) => html`<section key=${name}>
      <h2>Where the time went${metas.length > 1 ? ` · ${name}` : ""}</h2>
      <${Stages} meta=${meta} />
    </section>`)}
    ${metas.map(([name, meta]) => html`<section key=${name}><h2>What answered${metas.length > 1 ? ` · ${name}` : ""}</h2><${Answered} meta=${meta} words=${data.words} /></section>`)}`;
}

function Stages({ meta }) {
  const stages = all(meta);
  const most = Math.max(...stages.map((stage) => stage.ms), 1e-6);
  const ran = stages.filter((stage) => stage.ran);
  const rest = stages.filter((stage) => !stage.ran);
  return html`<dl class="stages">
      ${ran.map((stage) => html`<div key=${stage.name}><dt>${STAGES[stage.name] || stage.name}${stage.degraded ? html` <${Tag} kind="bad">degraded<//>` : null}</dt><dd><span class="num">${ms(stage.ms)}</span><${Bar} share=${stage.ms / most} kind="time" /></dd></div>`)}
      <div class="total"><dt>in all</dt><dd><span class="num">${ms(meta.timings?.total_ms)}</span></dd></div>
    </dl>
    ${rest.length ? html`<details class="faint"><summary>${rest.length} stages did not run</summary><ul>${rest.map((stage) => html`<li>${STAGES[stage.name] || stage.name}: ${stage.why}</li>`)}</ul></details>` : null}`;
}

/** The stages, and what the total has besides them: the query as numbers, and what lies between the stages. */
function all(meta) {
  const { query_ms: query = 0, total_ms: total = 0 } = meta.timings || {};
  const stages = meta.stages || [];
  const rest = total - query - stages.reduce((sum, stage) => sum + stage.ms, 0);
  return [{ name: "query", ms: query, ran: query > 0, why: "it was at hand" }, ...stages, ...(rest > total / 20 ? [{ name: "rest", ms: rest, ran: true }] : [])];
}

/** The floor against the raw scores that it is compared with: a dot for each result, a line for the floor. */
function Floor({ floor, found, several }) {
  const title = `The floor${several ? ` · ${floor.corpus}` : ""}`;
  if (floor.floor === null) return html`<section><h2>${title}</h2><p class="faint">In this mode the corpus has no floor: it never says that nothing answers.</p></section>`;
  if (floor.best === null) return html`<section><h2>${title}</h2><p class="faint">${score(floor.floor)}${floor.origin ? ` (from ${floor.origin})` : ""}; nothing was found to hold against it.</p></section>`;
  const channel = floor.reads.includes("blend") ? null : floor.reads.includes("BM25") ? "lexical" : "dense";
  const dots = channel ? found.map((hit) => hit.channels?.[channel]?.score).filter((one) => one !== undefined) : [];
  const high = Math.max(floor.best, floor.floor, ...dots) * 1.15 || 1;
  const low = Math.min(0, floor.best, ...dots);
  const place = (value) => 8 + ((value - low) / (high - low)) * 284;
  const told = `${floor.reads} ${score(floor.best)}, floor ${score(floor.floor)}: ${floor.below ? "below" : "above"}`;
  return html`<section><h2>${title}</h2>
    <svg class="floor ${floor.below ? "below" : ""}" viewBox="0 0 300 58" role="img" aria-label=${told}>
      <rect class="under" x="8" y="12" width=${Math.max(0, place(floor.floor) - 8)} height="22" rx="3"></rect>
      <line class="axis" x1="8" x2="292" y1="34" y2="34"></line>
      ${dots.map((one) => html`<circle class="one" cx=${place(one)} cy="23" r="3.5"></circle>`)}
      <circle class="best" cx=${place(floor.best)} cy="23" r="6"></circle>
      <line class="at" x1=${place(floor.floor)} x2=${place(floor.floor)} y1="6" y2="40"></line>
      <text x=${Math.min(place(floor.floor), 236)} y="53" text-anchor=${place(floor.floor) > 236 ? "middle" : "middle"}>floor ${score(floor.floor)}</text>
    </svg>
    <p class="faint">${told}${floor.origin ? ` (from ${floor.origin})` : ""}.</p>
  </section>`;
}

function Answered({ meta, words }) {
  const by = meta.answered_by || {};
  return html`<${Pairs} pairs=${[
    ["mode", meta.fusion ? `${meta.mode}, ${meta.fusion}` : meta.mode],
    ["model", by.embedder],
    ["space", meta.space],
    ["words", Object.values(words || {}).join(", ")],
    ["reranked", meta.reranked ? "yes" : null],
    ["commit", meta.git?.commit?.slice(0, 10)],
    ["version", meta.version],
    ...Object.entries(meta).filter(([name, value]) => ["routing", "names", "aliases", "queries", "graph"].includes(name) && value).map(([name, value]) => [name, told(value)]),
  ]} />`;
}

/** What a search says of itself, in short. */
function told(value) {
  if (Array.isArray(value)) return value.map(told).join(", ");
  if (typeof value !== "object") return String(value);
  return Object.entries(value).filter(([, one]) => one !== null && one !== false).map(([name, one]) => `${name.replaceAll("_", " ")}: ${told(one ?? "")}`).join("; ");
}
