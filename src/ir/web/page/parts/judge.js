// Judging what was found, by a click, into a set of cases that `ir eval` reads.

import { html, useEffect, useState } from "../vendor/preact.js";
import { call } from "../core/api.js";
import { forget, say, useAnswer, useSets } from "../core/hooks.js";
import { Field, Wrong } from "./common.js";
import { Line } from "./options.js";

export const GRADES = [
  [0, "Wrong"],
  [1, "Related"],
  [2, "Good"],
  [3, "Perfect"],
];

/** What a set says of a query: grades by item, and how to change them. */
export function useJudging(set, query) {
  const sets = useSets();
  const known = Boolean(sets.data?.sets.some((one) => one.name === set));
  const held = useAnswer((signal) => call("judged-sets", { name: set }, { signal }), set && query && known ? set : null);
  const [now, setNow] = useState(null);
  const [error, setError] = useState(null);
  useEffect(() => {
    setNow(held.data?.queries?.find((one) => one.query === query) || null);
  }, [held.data, query, set]);
  if (!set || !query) return null;
  const judge = async (body, told) => {
    setError(null);
    try {
      const done = await call("judge", { set, ...body });
      const about = done.queries.find((one) => one.query === query);
      setNow(about || null);
      say(told);
      forget("sets");
      return done;
    } catch (failed) {
      setError(failed);
      return null;
    }
  };
  const grades = Object.fromEntries((now?.judgements || []).map((one) => [one.item, one.grade]));
  return {
    set,
    grades,
    nothing: Boolean(now?.nothing),
    error: error || (held.state === "failed" ? held.error : null),
    grade(item, grade, corpus) {
      if (grades[item] === grade) return judge({ query, items: [item], remove: true, corpus }, "Judgement removed.");
      return judge({ query, items: [item], grade, corpus }, `Judged as ${GRADES[grade][1].toLowerCase()}.`);
    },
    none(corpus) {
      return now?.nothing ? judge({ query, remove: true, corpus }, "Judgement removed.") : judge({ query, nothing: true, corpus }, "Judged: nothing answers it.");
    },
    undo: () => judge({ undo: 0 }, "The last judgement was taken back."),
  };
}

export function Grades({ judging, item, corpus, rank }) {
  const held = judging.grades[item];
  return html`<div class="grades" role="group" aria-label=${`Judge result ${rank}`}>
    ${GRADES.map(([grade, word]) => html`<button type="button" key=${grade} class="grade g${grade}" aria-pressed=${held === grade} title=${`${word} (${grade})`} onClick=${() => judging.grade(item, grade, corpus)}>${word}</button>`)}
  </div>`;
}

/** Which set judgements go into, and what can be said of the query as a whole. */
export function JudgingBar({ set, onSet, judging, corpora }) {
  const sets = useSets();
  const known = sets.data?.sets || [];
  return html`<div class="judging">
    <${Field} label="Judge into"><${Line} list="sets" value=${set} onDone=${onSet} placeholder="name of a set" spellcheck="false" maxlength="64" /><//>
    <datalist id="sets">${known.map((one) => html`<option value=${one.name}>${one.cases} cases</option>`)}</datalist>
    ${judging ? html`
      <button type="button" aria-pressed=${judging.nothing} onClick=${() => judging.none(corpora[0])}>Nothing answers this</button>
      <button type="button" class="quiet" onClick=${judging.undo}>Undo</button>
      <span class="faint">${Object.keys(judging.grades).length} judged</span>` : html`<span class="faint hint">Name a set, and each result can be judged by a click or the keys 0–3.</span>`}
    ${judging?.error ? html`<${Wrong} error=${judging.error} />` : null}
  </div>`;
}
