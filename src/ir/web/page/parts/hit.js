// A result: where it is, what it says, and why it stands where it stands.

import { html } from "../vendor/preact.js";
import { href } from "../core/route.js";
import { score } from "../core/words.js";
import { Bar, Marked, Pairs, Stack, Tag } from "./common.js";
import { Grades } from "./judge.js";

const PROSE = new Set([undefined, null, "markdown", "html", "pdf", "text", "txt", "rst", "ipynb", "md"]);
export const CHANNELS = { dense: "meaning", lexical: "words" };

/** Where a hit leads: its document, at its line. */
export function placeOf(hit, corpus) {
  return href("doc", { in: hit.source || corpus, id: hit.artifact_id, line: hit.line, end: hit.end_line, s: hit.line ? null : hit.surface_index });
}

export function citation(hit) {
  const page = hit.page_label ? `, page ${hit.page_label}` : hit.page ? `, page ${hit.page}` : "";
  return `${hit.artifact_id}${hit.line ? `:${hit.line}` : page}${hit.cell ? `, cell ${hit.cell}` : ""}`;
}

/** The most that each channel gave in a list, so that bars can be compared. */
export function mostOf(found) {
  const most = { score: Math.max(...found.map((hit) => hit.score), 1e-9) };
  for (const hit of found) {
    for (const [name, channel] of Object.entries(hit.channels || {})) most[name] = Math.max(most[name] || 1e-9, channel.score);
  }
  return most;
}

export function isProse(hit) {
  return PROSE.has(hit.metadata?.format) && !hit.metadata?.symbolKey;
}

/** Lines of prose that were broken by hand, as one; no letter moves, so marks stay where they are. */
export function flowing(text) {
  const parts = text.split(/(```[^]*?(?:```|$))/);
  return parts.map((part, at) => (at % 2 ? part : part.replace(/(?<!\n)\n(?![\n\s#>|*`~-]|\d+[.)])(?!$)/g, " "))).join("");
}

/** What a result is called; the signs that set code apart in a heading are not read. */
export function titleOf(hit) {
  return hit.heading?.replaceAll("`", "") || hit.metadata?.title || hit.artifact_id;
}

export function Hit({ hit, corpus, most, several, judging, chosen, query }) {
  const prose = isProse(hit);
  const title = titleOf(hit);
  return html`<li class="hit ${chosen ? "chosen" : ""}" id=${`hit-${hit.rank}`} tabindex="-1" aria-labelledby=${`hit-title-${hit.rank}`}>
    <div class="rank" aria-hidden="true">${hit.rank}</div>
    <div class="body">
      <h3 id=${`hit-title-${hit.rank}`}><a href=${placeOf(hit, corpus)}>${title}</a></h3>
      <p class="place">
        ${several ? html`<${Tag} kind="corpus">${hit.source}<//>` : null}
        <a class="cite" href=${placeOf(hit, corpus)}>${citation(hit)}</a>
        ${hit.metadata?.objectType || hit.surface_kind !== "chunk" ? html`<${Tag}>${hit.metadata?.objectType || hit.surface_kind}<//>` : null}
      </p>
      ${prose ? html`<p class="excerpt"><${Marked} text=${flowing(hit.excerpt)} marks=${hit.marks} /></p>` : html`<pre class="excerpt code"><${Marked} text=${hit.excerpt} marks=${hit.marks} /></pre>`}
      <details class="why"><summary>Why it is here</summary><${Why} hit=${hit} /></details>
      <div class="row acts">
        <a href=${href("doc", { in: hit.source || corpus, id: hit.artifact_id, line: hit.line, end: hit.end_line, tab: "similar" })}>Similar</a>
        <a href=${href("doc", { in: hit.source || corpus, id: hit.artifact_id, line: hit.line, end: hit.end_line, node: hit.metadata?.symbolKey, tab: "links" })}>Links</a>
        ${judging ? html`<${Grades} judging=${judging} item=${hit.artifact_id} corpus=${hit.source || corpus} rank=${hit.rank} />` : null}
      </div>
    </div>
    <${Scores} hit=${hit} most=${most} />
  </li>`;
}

/** The score and what each channel gave, as bars with their numbers. */
export function Scores({ hit, most }) {
  const shares = Object.entries(hit.explanation?.shares || {});
  const boosts = Object.values(hit.explanation?.boosts || {}).reduce((sum, one) => sum + one, 0);
  const parts = [...shares, ...(boosts > 0 ? [["boost", boosts]] : [])];
  const channels = Object.entries(hit.channels || {});
  return html`<dl class="scores">
    <div class="total"><dt>score</dt><dd><b>${score(hit.score)}</b>
      ${parts.length > 1 ? html`<${Stack} parts=${parts} of=${most.score} />` : html`<${Bar} share=${hit.score / most.score} />`}</dd></div>
    ${channels.map(([name, channel]) => html`<div key=${name}><dt><span class="dot ${name}"></span>${CHANNELS[name] || name}</dt>
      <dd><span title="rank in this channel">#${channel.rank}</span> <span>${score(channel.score)}</span><${Bar} share=${channel.score / most[name]} kind=${name} /></dd></div>`)}
    ${boosts > 0 && parts.length > 1 ? html`<div><dt><span class="dot boost"></span>boosts</dt><dd>${score(boosts)}<${Bar} share=${boosts / most.score} kind="boost" /></dd></div>` : null}
  </dl>`;
}

function Why({ hit }) {
  const told = hit.explanation || {};
  const shown = Object.entries(hit.metadata || {}).filter(([name]) => !["lead", "start", "end", "chunk_index", "n_chunks", "contentHash"].includes(name));
  const list = (words) => (words?.length ? words.map((word) => html`<code key=${word}>${word}</code> `) : null);
  const sums = (numbers) => Object.entries(numbers || {}).map(([name, value]) => `${CHANNELS[name] || name} ${score(value)}`).join(" + ");
  return html`<${Pairs} pairs=${[
    ["words found", list(told.matched_terms)],
    ["words missing", list(told.missing_terms)],
    ["score is", sums(told.shares)],
    ["boosts", sums(told.boosts)],
    ["surface", hit.surface_index === null ? hit.surface_kind : `${hit.surface_kind} ${hit.surface_index}`],
    ...shown.map(([name, value]) => [name, typeof value === "object" ? JSON.stringify(value) : String(value)]),
  ]} />`;
}

/** A hit in one line, for lists beside something else. */
export function SmallHit({ hit, corpus }) {
  return html`<li class="smallhit"><a href=${placeOf(hit, corpus)}>${titleOf(hit)}</a>
    <span class="faint">${citation(hit)}</span> <span class="num">${score(hit.score)}</span></li>`;
}
