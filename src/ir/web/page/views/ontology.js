// What a corpus consists of: its types and links, one definition with all around it, and questions across both.

import { html } from "../vendor/preact.js";
import { call } from "../core/api.js";
import { useAnswer } from "../core/hooks.js";
import { go, href, values } from "../core/route.js";
import { count, number, score } from "../core/words.js";
import { Answer, Bar, Check, CorpusChoice, Empty, Field, Notes, Pairs, Select, Tag, useChosen } from "../parts/common.js";
import { CopyAs } from "../parts/copy.js";
import { Links } from "../parts/graph.js";
import { Line, QueryLine } from "../parts/options.js";

const TABS = [["types", "Types and links"], ["symbol", "Who calls what"], ["query", "Query"]];
const RELATIONS = [["", "Everything"], ["callers", "Callers"], ["callees", "Calls"], ["implementations", "Implementations"], ["tests-of", "Tests"], ["impact", "Impact"]];

export default function Ontology({ params }) {
  const asked = values(params, ["in"]);
  const corpus = useChosen(asked.in)[0];
  const tab = asked.tab || (asked.symbol ? "symbol" : asked.q ? "query" : "types");
  const change = (more) => go("ontology", { ...asked, tab, ...more });
  return html`<div class="lab">
    <h1>Ontology</h1>
    <${CorpusChoice} one chosen=${corpus ? [corpus] : []} onChange=${(names) => change({ in: names, symbol: null, rel: null })} />
    <nav aria-label="Parts of the ontology" class="tabs">${TABS.map(([name, title]) => html`<a key=${name} href=${href("ontology", { in: corpus, tab: name, symbol: asked.symbol, q: asked.q })} aria-current=${tab === name ? "true" : undefined}>${title}</a>`)}</nav>
    ${!corpus ? null : tab === "types" ? html`<${Types} corpus=${corpus} />` : tab === "symbol" ? html`<${Symbol} corpus=${corpus} asked=${asked} change=${change} />` : html`<${Query} corpus=${corpus} asked=${asked} change=${change} />`}
  </div>`;
}

function Types({ corpus }) {
  const body = { target: corpus };
  const answer = useAnswer((signal) => call("census", body, { signal }), corpus);
  return html`<${Answer} answer=${answer}>${(data) => {
    const types = Object.entries(data.types);
    const links = Object.entries(data.links).map(([name, known]) => [name, known, Object.values(known).reduce((sum, one) => sum + one, 0)]);
    const most = Math.max(...types.map(([, many]) => many), 1);
    const mostLinks = Math.max(...links.map(([, , many]) => many), 1);
    return html`<div class="row end"><${CopyAs} operation="census" body=${body} /></div>
      <div class="two">
        <section><h2>Types</h2><div class="scroll" tabindex="0" role="region" aria-label="Types"><table class="bars"><thead><tr><th scope="col">type</th><th scope="col" class="num">how many</th><td></td></tr></thead><tbody>${types.map(([name, many]) => html`<tr key=${name}><th scope="row"><a href=${href("ontology", { in: corpus, tab: "query", type: name })}>${name}</a></th><td class="num">${number(many)}</td><td><${Bar} share=${many / most} /></td></tr>`)}</tbody></table></div></section>
        <section><h2>Links</h2>${links.length ? html`<div class="scroll" tabindex="0" role="region" aria-label="Links"><table class="bars"><thead><tr><th scope="col">link</th><th scope="col" class="num">how many</th><th scope="col">how they are known</th><td></td></tr></thead><tbody>${links.map(([name, known, many]) => html`<tr key=${name}><th scope="row">${name}</th><td class="num">${number(many)}</td><td class="faint">${Object.entries(known).map(([how, of]) => `${number(of)} ${how}`).join(", ")}</td><td><${Bar} share=${many / mostLinks} kind="dense" /></td></tr>`)}</tbody></table></div>` : html`<p class="faint">Nothing is linked.</p>`}</section>
      </div>`;
  }}<//>`;
}

function Symbol({ corpus, asked, change }) {
  const { symbol, rel } = asked;
  return html`
    <${QueryLine} value=${symbol} onAsk=${(word) => change({ symbol: word, tab: "symbol" })} label="Symbol" placeholder="A name, Class.method or path:line" action="Show" />
    ${symbol ? html`<nav aria-label="Relations" class="tabs small">${RELATIONS.map(([name, title]) => html`<a key=${name} href=${href("ontology", { ...asked, in: corpus, tab: "symbol", rel: name })} aria-current=${(rel || "") === name ? "true" : undefined}>${title}</a>`)}</nav>
      ${rel ? html`<${Related} key=${rel} corpus=${corpus} symbol=${symbol} relation=${rel} asked=${asked} change=${change} />` : html`<${Definition} corpus=${corpus} symbol=${symbol} />`}`
      : html`<${Empty} title="Look a definition up."><p>A function, a method or a type of a corpus of code: its text, who calls it, what it calls, its tests.</p><//>`}`;
}

function Definition({ corpus, symbol }) {
  const body = { symbol, target: corpus };
  const answer = useAnswer((signal) => call("symbol", body, { signal }), JSON.stringify(body));
  const walk = (node) => (node.artifact && node.id !== node.artifact ? href("ontology", { in: corpus, symbol: node.id, tab: "symbol" }) : href("doc", { in: corpus, id: node.artifact || node.id, tab: "links" }));
  return html`<${Answer} answer=${answer}>${(data) => (data.definition ? html`<div class="split">
      <section aria-label="Definition">
        <div class="row between"><h2>${data.definition.name} <${Tag}>${data.definition.kind}<//></h2><${CopyAs} operation="symbol" body=${body} /></div>
        <p class="place"><a class="cite" href=${href("doc", { in: corpus, id: data.definition.path, line: data.definition.line, end: data.definition.end_line, node: data.definition.key })}>${data.definition.path}:${data.definition.line}</a></p>
        <${Notes} notes=${data.notes} />
        <pre class="text code" tabindex="0">${data.text}</pre>
        <${Links} corpus=${corpus} id=${data.definition.key} leadsTo=${walk} />
      </section>
      <aside aria-label="Related">${[["callers", "Called by"], ["tests", "Tested by"], ["callees", "Calls"], ["implementations", "Implemented by"]].map(([name, title]) => (data[name].length ? html`<section key=${name}><h3>${title} <span class="faint">${number(data.totals[name] || data[name].length)}</span></h3><ul class="plainlist">${data[name].map((one) => html`<li key=${one}><${Told} told=${one} corpus=${corpus} /></li>`)}</ul></section>` : null))}
        ${data.others.length ? html`<section><h3>Others of this name</h3><ul class="plainlist">${data.others.map((one) => html`<li key=${one}><a href=${href("ontology", { in: corpus, tab: "symbol", symbol: one })}>${one}</a></li>`)}</ul></section>` : null}
      </aside>
    </div>` : html`<${Unknown} data=${data} corpus=${corpus} symbol=${symbol} />`)}<//>`;
}

/** "path:line name (how it is known)". */
function Told({ told, corpus }) {
  const found = /^(.*):(\d+) (.*) \(([\w-]+)\)$/.exec(told);
  if (!found) return told;
  const [, path, line, name, how] = found;
  return html`<a href=${href("ontology", { in: corpus, tab: "symbol", symbol: `${path}::${name}` })}>${name}</a> <a class="cite faint" href=${href("doc", { in: corpus, id: path, line })}>${path}:${line}</a>${how === "exact" ? null : html` <${Tag}>${how}<//>`}`;
}

function Related({ corpus, symbol, relation, asked, change }) {
  const body = { symbol, target: corpus, k: Number(asked.k) || 50 };
  if (asked.depth) body.depth = Number(asked.depth);
  const answer = useAnswer((signal) => call(relation, body, { signal }), JSON.stringify([relation, body]));
  const rows = (list, title) => html`<div class="scroll" tabindex="0" role="region" aria-label=${title}><table><caption class="unseen">${title}</caption><thead><tr><th scope="col">name</th><th scope="col">where</th><th scope="col">how</th><th scope="col">known</th><th scope="col" class="num">steps</th></tr></thead>
    <tbody>${list.map((one, at) => html`<tr key=${at}><th scope="row"><a href=${href("ontology", { in: corpus, tab: "symbol", symbol: one.key, rel: relation })}>${one.name}</a> <${Tag}>${one.kind}<//></th><td><a class="cite" href=${href("doc", { in: corpus, id: one.path, line: one.line, node: one.key })}>${one.path}:${one.line}</a></td><td>${one.link}</td><td><${Tag} kind=${one.resolution === "exact" ? "up" : ""}>${one.resolution}<//></td><td class="num">${one.depth}</td></tr>`)}</tbody></table></div>`;
  return html`<div class="row between"><${Field} label="Steps"><${Select} value=${asked.depth} onChange=${(depth) => change({ depth })} choices=${[["", "as usual"], "1", "2", "3", "5"]} /><//><${CopyAs} operation=${relation} body=${body} /></div>
    <${Answer} answer=${answer}>${(data) => html`
      ${data.definitions.length ? html`<p>${data.definitions.slice(0, 3).map((one) => html`<${Tag} key=${one.key}>${one.kind}<//> <a class="cite" href=${href("doc", { in: corpus, id: one.path, line: one.line, end: one.end_line, node: one.key })}>${one.path}:${one.line}</a> `)}<span class="faint">${count(data.total, "place")}${Object.keys(data.counts).length ? `: ${Object.entries(data.counts).map(([how, many]) => `${number(many)} ${how}`).join(", ")}` : ""}</span></p>` : null}
      <${Notes} notes=${data.notes} />
      ${data.found.length ? rows(data.found, relation) : null}
      ${data.tests.length ? html`<h3>Tests that are affected</h3>${rows(data.tests, "tests")}` : null}
      ${!data.found.length && !data.tests.length ? html`<${Unknown} data=${data} corpus=${corpus} />` : null}`}<//>`;
}

function Unknown({ data, corpus, symbol }) {
  return html`<${Empty} title=${data.why || "Nothing was found."}>${symbol ? html`<p><a href=${href("search", { in: corpus, q: symbol })}>Search for ${symbol}</a></p>` : null}${data.near.length ? html`<p>Similar names: ${data.near.map((one) => html`<a key=${one} href=${href("ontology", { in: corpus, tab: "symbol", symbol: one })}>${one}</a> `)}</p>` : null}<//>`;
}

function Query({ corpus, asked, change }) {
  const body = asked.q ? { semantic_query: asked.q, target: corpus } : null;
  if (body) {
    if (asked.type) body.object_type = asked.type;
    if (asked.level) body.chunk_level = asked.level;
    if (asked.links) body.follow_links = true;
    if (asked.k) body.top_k = Number(asked.k);
  }
  const answer = useAnswer((signal) => call("ontology-query", body, { signal }), body ? JSON.stringify(body) : null);
  return html`
    <${QueryLine} value=${asked.q} onAsk=${(q) => change({ q, tab: "query" })} label="Query" placeholder="How are hits fused?" action="Query" />
    <div class="fields">
      <${Field} label="Type" hint="function, type"><${Line} value=${asked.type} onDone=${(type) => change({ type })} /><//>
      <${Field} label="Level"><${Select} value=${asked.level} onChange=${(level) => change({ level })} choices=${[["", "any"], "file", "type", "method", "doc"]} /><//>
      <${Field} label="Results"><${Line} type="number" min="1" max="100" value=${asked.k} onDone=${(k) => change({ k })} placeholder="10" class="short" /><//>
      <${Check} label="Follow links" checked=${Boolean(asked.links)} onChange=${(links) => change({ links })} />
    </div>
    <${Answer} answer=${answer} idle=${html`<${Empty} title="Ask code or typed records."><p>Ranked chunks, of one type or level if you say so, and what they are linked to.</p><//>`}>${(data) => html`
      <div class="row between head"><h2>${count(data.results.length, "result")}</h2><${CopyAs} operation="ontology-query" body=${body} /></div>
      <${Notes} notes=${[...data.notes, ...data._meta.notes]} />
      ${data._meta.degraded.length ? html`<p class="notes doubt">Done without: ${data._meta.degraded.join(", ")}.</p>` : null}
      <div class="split"><ol class="cards">${data.results.map((one) => html`<li class="card" key=${one.chunkId}>
        <div class="row between"><h3><a href=${href("doc", { in: corpus, id: one.path, line: one.lineStart, end: one.lineEnd, node: one.symbolKey })}>${one.symbolKey ? one.symbolKey.split("/").pop().replace(/[.#]$/, "") || one.path : one.path}</a></h3><span class="num">${score(one.score)}</span></div>
        <p class="place"><span class="cite">${one.path}${one.lineStart ? `:${one.lineStart}` : ""}</span> ${[one.objectType, one.chunkLevel, one.provenance].filter(Boolean).map((word) => html`<${Tag} key=${word}>${word}<//> `)}<span class="faint">${Object.entries(one.sourceRanks).map(([name, rank]) => `${name} #${rank}`).join(" · ")}</span></p>
        <pre class="excerpt code clamp" tabindex="0">${one.text}</pre>
      </li>`)}</ol>
      <aside aria-label="Linked">${data._meta.expandedContext.length ? html`<h3>Linked to them</h3><ul class="plainlist">${data._meta.expandedContext.map((one, at) => html`<li key=${at}><${Tag}>${one.direction === "out" ? `${one.linkName} →` : `← ${one.linkName}`}<//> <a href=${href("ontology", { in: corpus, tab: "symbol", symbol: one.linkedNode.symbolKey })}>${one.linkedNode.name || one.linkedNode.symbolKey}</a></li>`)}</ul>` : null}
        <h3>What ran</h3><${Pairs} pairs=${[["hybrid", data._meta.hybrid ? "yes" : "no"], ["reranked", data._meta.reranked ? data._meta.reranker : data._meta.skippedRerank || "no"], ["cached", data._meta.cacheHit ? "yes" : "no"], ["version", data._meta.ontologyVersion.slice(0, 12)], ...Object.entries(data._meta.timings).map(([name, many]) => [name, `${many} ms`])]} />
      </aside></div>`}<//>`;
}
