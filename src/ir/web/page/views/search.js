// The search lab: a query, how to ask it, and why each result stands where it stands.

import { html, useEffect, useState } from "../vendor/preact.js";
import { call } from "../core/api.js";
import { say, useAnswer, useKeys } from "../core/hooks.js";
import { go, href, values } from "../core/route.js";
import { count, ms } from "../core/words.js";
import { Answer, CorpusChoice, Empty, Notes, Wrong, useChosen } from "../parts/common.js";
import { CopyAs } from "../parts/copy.js";
import { About } from "../parts/about.js";
import { Hit, mostOf, placeOf } from "../parts/hit.js";
import { JudgingBar, useJudging } from "../parts/judge.js";
import { LISTS, Options, QueryLine, searchBody } from "../parts/options.js";

export default function Search({ params }) {
  const asked = values(params, LISTS);
  const corpora = useChosen(asked.in);
  const [at, setAt] = useState(0);
  let body = null;
  let unread = null;
  try {
    if (asked.q && corpora.length) body = searchBody(asked, corpora);
  } catch (error) {
    unread = error;
  }
  const key = body ? JSON.stringify(body) : null;
  const answer = useAnswer((signal) => call("search", body, { signal }), key);
  const judging = useJudging(asked.set, asked.q);
  const change = (more) => go("search", { ...asked, ...more });
  const found = (answer.data && key && answer.data.found) || [];
  useEffect(() => setAt(0), [key]);
  useEffect(() => {
    if (answer.state === "done") say(found.length ? `${count(found.length, "result")}.` : "Nothing was found.");
  }, [answer.state, answer.key]);
  const move = (by) => {
    const to = Math.max(1, Math.min(found.length, at + by));
    setAt(to);
    document.getElementById(`hit-${to}`)?.focus();
  };
  const chosen = found[at - 1];
  const keys = {
    j: () => move(1),
    k: () => move(-1),
    Enter: (event) => {
      if (!chosen || event.target.closest("a, button, summary")) return false;
      location.hash = placeOf(chosen, corpora[0]);
      return true;
    },
  };
  if (judging && chosen) for (const grade of [0, 1, 2, 3]) keys[grade] = () => judging.grade(chosen.artifact_id, grade, chosen.source || corpora[0]);
  useKeys(keys);
  const most = mostOf(found);
  return html`<div class="lab">
    <h1 class="unseen">Search</h1>
    <${QueryLine} value=${asked.q} onAsk=${(q) => change({ q, in: corpora })} label="Query" placeholder="What are you looking for?" />
    <${CorpusChoice} chosen=${corpora} onChange=${(names) => change({ in: names })} />
    <${Options} values=${asked} onChange=${change} />
    ${unread ? html`<${Wrong} error=${unread} />` : null}
    ${asked.q ? null : html`<${Begin} corpora=${corpora} />`}
    <div class="split">
      <section aria-label="Results" class="results">
        <${Answer} answer=${answer} lines=${9}>${(data) => html`
          <div class="row between head">
            <h2>${found.length ? count(found.length, "result") : "Nothing was found"} <span class="faint">in ${data.corpora.join(", ")} · ${ms(answer.ms)}</span></h2>
            <span class="row">
              <a class="button quiet" href=${href("compare", { q: asked.q, in: corpora, ...sides(asked) })}>Side by side</a>
              <${CopyAs} operation="search" body=${body} />
            </span>
          </div>
          <${State} data=${data} />
          <${JudgingBar} set=${asked.set} onSet=${(set) => change({ set })} judging=${judging} corpora=${corpora} />
          ${found.length ? html`<ol class="hits">${found.map((hit) => html`<${Hit} key=${`${hit.source}/${hit.artifact_id}/${hit.rank}`} hit=${hit} corpus=${corpora[0]} most=${most} several=${corpora.length > 1} judging=${judging} chosen=${hit.rank === at} />`)}</ol>`
            : html`<${Empty} title="No record has anything in common with that."><p>Try other words, another mode, or fewer filters.</p><//>`}`}<//>
      </section>
      <aside aria-label="How this came about" class="about">${answer.data ? html`<${About} data=${answer.data} />` : null}</aside>
    </div>
  </div>`;
}

/** What there is to do, for who comes here for the first time. */
function Begin({ corpora }) {
  const views = [
    ["discover", "Discover", "A few answers, or the word that nothing here answers."],
    ["ask", "Ask", "An answer in sentences, each with the passage that it comes from."],
    ["compare", "Side by side", "One query, two ways to search, and what moved."],
    ["ontology", "Ontology", "Types and links; who calls what in code."],
    ["ground", "Grounding", "Which terms of a vocabulary people mean."],
    ["eval", "Evaluation", "What you judged, what was measured, which way is better."],
    ["corpora", "Corpora", "What can be searched, and how fresh it is."],
  ];
  return html`<div class="begin">
    <p class="faint">Search by meaning and by words. Press <kbd>/</kbd> to write, <kbd>?</kbd> for all keys.</p>
    <ul>${views.map(([name, title, does]) => html`<li key=${name}><a href=${href(name, { in: corpora })}><b>${title}</b><span>${does}</span></a></li>`)}</ul>
  </div>`;
}

/** What has to be known before the results are read. */
export function State({ data }) {
  const degraded = [data.meta, ...Object.values(data.meta?.sources || {})].flatMap((one) => one?.degraded || []);
  return html`
    ${data.doubtful ? html`<p class="notes doubt">The best score is below the floor: probably nothing here answers that.</p>` : null}
    ${data.stale ? html`<p class="notes doubt">The source has changed since it was indexed. <a href=${href("corpora")}>Bring it up to date</a></p>` : null}
    ${degraded.length ? html`<p class="notes doubt">Done without: ${[...new Set(degraded)].join(", ")}.</p>` : null}
    <${Notes} notes=${data.doubtful ? data.notes.filter((note) => !note.startsWith("Probably nothing")) : data.notes} />`;
}

/** The options of here as the left side of a comparison. */
function sides(asked) {
  const made = {};
  for (const [name, value] of Object.entries(asked)) if (!["q", "in", "set"].includes(name)) made[`a.${name}`] = value;
  made["b.mode"] = asked.mode === "lexical" ? "dense" : "lexical";
  return made;
}
