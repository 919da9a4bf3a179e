// Grounding: which terms of a vocabulary phrases mean, and why.

import { html, useEffect, useState } from "../vendor/preact.js";
import { call } from "../core/api.js";
import { useAnswer, useVocabularies } from "../core/hooks.js";
import { go, values } from "../core/route.js";
import { count, number, score } from "../core/words.js";
import { Answer, Bar, Check, Empty, Field, Notes, Select, Tag, Wrong } from "../parts/common.js";
import { CopyAs } from "../parts/copy.js";
import { Line } from "../parts/options.js";

export default function Ground({ params }) {
  const asked = values(params);
  const known = useVocabularies();
  const all = known.data?.vocabularies || [];
  const name = asked.v || all[0]?.name;
  const phrases = asked.text ? [asked.p || ""].filter((one) => one.trim()) : (asked.p || "").split("\n").map((one) => one.trim()).filter(Boolean);
  const body = phrases.length && name ? { phrases, name, k: Number(asked.k) || 5, explain: true, ...(asked.text ? { text: true } : {}), ...(asked.floor ? { floor: true } : {}) } : null;
  const answer = useAnswer((signal) => call("ground", body, { signal }), body ? JSON.stringify(body) : null);
  const change = (more) => go("ground", { ...asked, v: name, ...more });
  const [text, setText] = useState(asked.p || "");
  useEffect(() => setText(asked.p || ""), [asked.p]);
  const ask = (event) => {
    event.preventDefault();
    change({ p: text });
  };
  const about = all.find((one) => one.name === name);
  return html`<div class="lab">
    <h1>Grounding</h1>
    ${known.state === "failed" ? html`<${Wrong} error=${known.error} again=${known.again} />` : null}
    ${known.data && !all.length ? html`<${Empty} title="There is no vocabulary yet."><p><code>ir vocab build NAME FILE</code> makes one from CSV, JSONL or SKOS.</p><//>` : html`
    <form onSubmit=${ask} class="grounding">
      <label class="field wide"><span class="label">${asked.text ? "A text to take phrases from" : "Phrases, one on each line"}</span><textarea class="query" rows="4" value=${text} onInput=${(event) => setText(event.target.value)} onKeyDown=${(event) => event.key === "Enter" && (event.ctrlKey || event.metaKey) && ask(event)}></textarea></label>
      <div class="fields">
        <${Field} label="Vocabulary"><${Select} value=${name} onChange=${(v) => change({ v })} choices=${all.map((one) => one.name)} /><//>
        <${Field} label="Terms"><${Line} type="number" min="1" value=${asked.k} onDone=${(k) => change({ k })} placeholder="5" class="short" /><//>
        <${Check} label="It is a text" checked=${Boolean(asked.text)} onChange=${(on) => change({ text: on, p: text })} />
        <${Check} label="Keep to the floor" checked=${Boolean(asked.floor)} onChange=${(on) => change({ floor: on, p: text })} />
        <button class="main" type="submit">Ground</button>
      </div>
      ${about ? html`<p class="faint">${about.name}: ${count(about.terms, "term")}, ${count(about.aliases, "alias", "aliases")}${about.blocked ? `, ${number(about.blocked)} blocked` : ""}${about.floor !== null ? `, floor ${score(about.floor)}` : ""}</p>` : null}
    </form>
    <${Answer} answer=${answer} idle=${html`<${Empty} title="What do people mean by their words?"><p>Phrases are looked up by their letters, their words and their meaning; the report says by which.</p><//>`}>${(data) => html`
      <div class="row between head"><h2>${count(data.phrases.length, "phrase")} <span class="faint">${count(data.phrases.filter((one) => !one.terms.length).length, "without a term", "without a term")}</span></h2><${CopyAs} operation="ground" body=${body} /></div>
      <${Notes} notes=${data.notes} />
      <ol class="cards">${data.phrases.map((one, at) => html`<li class="card" key=${at}>
        <div class="row between"><h3>${one.phrase}</h3>${one.abstained ? html`<${Tag} kind="bad">below the floor<//>` : null}</div>
        ${one.terms.length ? html`<div class="scroll" tabindex="0" role="region" aria-label=${`Terms for ${one.phrase}`}><table class="bars"><thead><tr><th scope="col">term</th><th scope="col">score</th><td></td>${one.terms.some((term) => term.category) ? html`<th scope="col">category</th>` : null}<th scope="col">why</th></tr></thead><tbody>${one.terms.map((term) => html`<tr key=${term.term}>
          <th scope="row">${term.term}${term.display && term.display !== term.term ? html` <span class="faint">${term.display}</span>` : null}</th>
          <td class="num">${score(term.score)}</td><td><${Bar} share=${term.score / (one.terms[0].score || 1)} /></td>${one.terms.some((each) => each.category) ? html`<td>${term.category}</td>` : null}
          <td class="whys">${term.why.map((why) => html`<${Tag} key=${why.channel} title=${`${why.by ? `by ${why.by}, ` : ""}weight ${score(why.weight)}`}>${why.channel} ${score(why.score)}<//> `)}</td></tr>`)}</tbody></table></div>` : html`<p class="faint">No term fits.</p>`}
      </li>`)}</ol>`}<//>`}
  </div>`;
}
