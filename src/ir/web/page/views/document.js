// One document as it is indexed, with its lines; beside it what it is linked to and what is like it.

import { html, useEffect, useRef, useState } from "../vendor/preact.js";
import { call } from "../core/api.js";
import { useAnswer } from "../core/hooks.js";
import { href, values } from "../core/route.js";
import { count } from "../core/words.js";
import { Answer, Empty, Notes, Tag } from "../parts/common.js";
import { CopyAs } from "../parts/copy.js";
import { Links, toNode } from "../parts/graph.js";
import { SmallHit } from "../parts/hit.js";

const WHOLE = 30_000;
const BEFORE = 60;
const AFTER = 400;

export default function DocumentView({ params }) {
  const asked = values(params);
  const { id } = asked;
  const corpus = asked.in;
  const line = Number(asked.line) || null;
  const end = Number(asked.end) || line;
  const answer = useAnswer((signal) => read(corpus, id, line, signal), corpus && id ? JSON.stringify([corpus, id]) : null);
  const tab = asked.tab || "links";
  const leadsTo = toNode(corpus, id);
  if (!corpus || !id) return html`<${Empty} title="No document is named."><p><a href=${href("search")}>Search for one.</a></p><//>`;
  return html`<div class="reading">
    <div class="split">
      <section aria-label="Document" class="document">
        <${Answer} answer=${answer} lines=${12}>${(data) => html`<${Text} key=${`${data.corpus} ${data.got[0].id} ${data.got[0].line}`} first=${data} corpus=${data.corpus} id=${data.got[0].id} line=${line} end=${end} />`}<//>
        ${answer.state === "failed" ? html`<p><a href=${href("search", { in: corpus, q: id })}>Search for ${id}</a></p>` : null}
      </section>
      ${answer.data ? html`<aside aria-label="Around it" class="around">
        <nav aria-label="Around the document" class="tabs">${[["links", "Links"], ["similar", "Similar"], ["around", "Around"]].map(([name, title]) => html`<a key=${name} href=${href("doc", { ...asked, tab: name })} aria-current=${tab === name ? "true" : undefined}>${title}</a>`)}</nav>
        ${tab === "similar" ? html`<${Similar} corpus=${corpus} id=${id} line=${line} end=${end} />` : tab === "around" ? html`<${Around} corpus=${corpus} id=${id} line=${line} surface=${asked.s} />` : html`<${Links} corpus=${corpus} id=${asked.node || id} leadsTo=${leadsTo} />`}
      </aside>` : null}
    </div>
  </div>`;
}

/** The whole text, or of a long one the part around the line. */
async function read(target, id, line, signal) {
  const get = (item, most) => call("get", { items: [item], target, numbers: false, max_tokens: most }, { signal });
  const whole = await get(id, WHOLE);
  const got = whole.got[0];
  if (!got.cut || !line || line <= got.end_line) return whole;
  return get(`${id}:${Math.max(got.first_line, line - BEFORE)}-${Math.min(got.last_line, line + AFTER)}`, WHOLE);
}

function Text({ first, corpus, id, line, end }) {
  const [parts, setParts] = useState([first.got[0]]);
  const [busy, setBusy] = useState(false);
  const place = useRef(null);
  const got = parts[0];
  const last = parts[parts.length - 1];
  useEffect(() => {
    const at = place.current?.querySelector(`[data-line="${line}"]`);
    if (at) place.current.scrollTop = at.offsetTop - place.current.clientHeight / 3;
  }, [line, first]);
  const lines = parts.flatMap((part) => part.text.split("\n").map((text, at) => [part.line + at, text]));
  const more = async (from, to, before) => {
    setBusy(true);
    try {
      const next = await call("get", { items: [`${id}:${from}-${to}`], target: corpus, numbers: false, max_tokens: WHOLE });
      setParts(before ? [...next.got, ...parts] : [...parts, ...next.got]);
    } finally {
      setBusy(false);
    }
  };
  const body = { items: [line ? `${id}:${line}-${end || line}` : id], target: corpus };
  return html`
    <header>
      <h1>${titleOf(got).replaceAll("`", "")}</h1>
      <div class="row between"><p class="place"><${Tag} kind="corpus">${corpus}<//> <span class="cite">${got.id}</span> <span class="faint">${count(got.last_line - got.first_line + 1, "line")}${got.cited ? "" : " of indexed text"}</span></p><${CopyAs} operation="get" body=${body} /></div>
    </header>
    <${Notes} notes=${first.stale ? ["The source has changed since this was indexed."] : []} kind="doubt" />
    ${got.line > got.first_line ? html`<button type="button" class="quiet" disabled=${busy} onClick=${() => more(Math.max(got.first_line, got.line - AFTER), got.line - 1, true)}>Earlier lines</button>` : null}
    <div class=${`lines ${flows(got) ? "flow" : ""}`} ref=${place} tabindex="0" role="region" aria-label="Text">
      ${lines.map(([number, text]) => html`<div key=${number} data-line=${number} class=${line && number >= line && number <= (end || line) ? "line on" : "line"}><a class="no" href=${href("doc", { in: corpus, id, line: number })} aria-label=${`Line ${number}`} tabindex="-1">${number}</a><span>${text || " "}</span></div>`)}
    </div>
    ${last.end_line < last.last_line ? html`<button type="button" class="quiet" disabled=${busy} onClick=${() => more(last.end_line + 1, Math.min(last.last_line, last.end_line + AFTER), false)}>Later lines</button>` : null}`;
}

/** A section of a book is called by its heading, anything else by its title. */
function titleOf(got) {
  const heading = got.id.includes("#") && got.line === got.first_line ? /^#{1,6}\s+(.+)/.exec(got.text)?.[1] : null;
  return [got.title, heading].filter((one, at, all) => one && all.indexOf(one) === at).join(" > ") || got.id;
}

/** Whether a document is prose: then it is set as such, and as code otherwise. */
function flows(got) {
  const ending = /\.([a-z0-9]+)$/i.exec((got.path || got.id).split("#")[0])?.[1]?.toLowerCase();
  return !got.cited || ["md", "markdown", "txt", "rst", "html", "htm", "pdf"].includes(ending);
}

function Similar({ corpus, id, line, end }) {
  const body = { item: line ? `${id}:${line}-${end || line}` : id, target: corpus, k: 12 };
  const answer = useAnswer((signal) => call("similar", body, { signal }), JSON.stringify(body));
  return html`<section aria-label="Similar">
    <div class="row between"><p class="faint">What is like ${line ? (end && end !== line ? `lines ${line} to ${end}` : `line ${line}`) : "this document"}</p><${CopyAs} operation="similar" body=${body} /></div>
    <${Answer} answer=${answer}>${(data) => html`<${Notes} notes=${data.notes} />${data.found.length ? html`<ol class="smalls">${data.found.map((hit) => html`<${SmallHit} key=${hit.rank} hit=${hit} corpus=${corpus} />`)}</ol>` : html`<${Empty} title="Nothing is like it." />`}`}<//>
  </section>`;
}

function Around({ corpus, id, line, surface }) {
  const [window, setWindow] = useState(1);
  const body = { item: line ? `${id}:${line}` : id, target: corpus, how: "window", window };
  if (!line && surface) body.surface_index = Number(surface);
  const answer = useAnswer((signal) => call("expand", body, { signal }), JSON.stringify(body));
  return html`<section aria-label="Around">
    <div class="row between"><label class="row"><span class="faint">passages to each side</span><input type="number" min="0" max="20" class="short" value=${window} onChange=${(event) => setWindow(Number(event.target.value))} /></label><${CopyAs} operation="expand" body=${body} /></div>
    <${Answer} answer=${answer}>${(data) => html`<p class="faint">${data.line ? `Lines ${data.line} to ${data.end_line}, ` : ""}${count(data.records, "passage")}</p><pre class="text" tabindex="0">${data.text}</pre><${Notes} notes=${data.notes} />`}<//>
  </section>`;
}
