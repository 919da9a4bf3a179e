// Two ways to search, side by side, and what moved between them.

import { html, useRef, useState, useLayoutEffect } from "../vendor/preact.js";
import { call } from "../core/api.js";
import { useAnswer } from "../core/hooks.js";
import { go, values } from "../core/route.js";
import { count, ms, score } from "../core/words.js";
import { Answer, CorpusChoice, Empty, Tag, Wrong, useChosen } from "../parts/common.js";
import { CopyAs } from "../parts/copy.js";
import { citation, placeOf, titleOf } from "../parts/hit.js";
import { LISTS, Options, QueryLine, searchBody } from "../parts/options.js";

const SIDES = ["a", "b"];
const NAMES = { a: "Left", b: "Right" };

export default function Compare({ params }) {
  const asked = values(params, LISTS);
  if (!Object.keys(asked).some((name) => name.startsWith("a.") || name.startsWith("b."))) Object.assign(asked, { "a.mode": "hybrid", "b.mode": "lexical" });
  const corpora = useChosen(asked.in);
  const change = (more) => go("compare", { ...asked, ...more });
  const left = useSide("a", asked, corpora);
  const right = useSide("b", asked, corpora);
  const sides = { a: left, b: right };
  const both = left.answer.data && right.answer.data;
  const moved = both ? moves(left.answer.data.found, right.answer.data.found) : null;
  return html`<div class="lab">
    <h1 class="unseen">Side by side</h1>
    <${QueryLine} value=${asked.q} onAsk=${(q) => change({ q, in: corpora })} label="Query" placeholder="One query, two ways to search" action="Compare" />
    <${CorpusChoice} chosen=${corpora} onChange=${(names) => change({ in: names })} />
    <div class="two">${SIDES.map((side) => html`<section key=${side} class="side" aria-label=${`${NAMES[side]} configuration`}>
      <h2><span class="letter ${side}">${side.toUpperCase()}</span> ${NAMES[side]}</h2>
      <${Options} name=${side} values=${sides[side].own} onChange=${(more) => change(Object.fromEntries(Object.entries(more).map(([name, value]) => [`${side}.${name}`, value])))} />
    </section>`)}</div>
    ${asked.q ? null : html`<${Empty} title="What does a setting change?"><p>Ask one query in two ways: by meaning and by words, with and without a reranker, by two kinds of fusion.</p><//>`}
    ${moved ? html`<${Summary} moved=${moved} />` : null}
    ${asked.q ? html`<${Lists} sides=${sides} moved=${moved} corpora=${corpora} />` : null}
  </div>`;
}

function useSide(side, asked, corpora) {
  const own = {};
  for (const [name, value] of Object.entries(asked)) if (name.startsWith(`${side}.`)) own[name.slice(2)] = value;
  let body = null;
  let unread = null;
  try {
    if (asked.q && corpora.length) body = searchBody({ ...own, q: asked.q }, corpora);
  } catch (error) {
    unread = error;
  }
  const answer = useAnswer((signal) => call("search", body, { signal }), body ? JSON.stringify(body) : null);
  return { own, body, unread, answer };
}

const keyOf = (hit) => `${hit.source || ""}/${hit.artifact_id}/${hit.surface_index ?? ""}`;

/** What became of each hit: in both lists with two ranks, or in one alone. */
export function moves(left, right) {
  const ranks = { a: new Map(left.map((hit) => [keyOf(hit), hit.rank])), b: new Map(right.map((hit) => [keyOf(hit), hit.rank])) };
  const shared = [...ranks.a.keys()].filter((key) => ranks.b.has(key));
  const changed = shared.map((key) => ranks.a.get(key) - ranks.b.get(key));
  return {
    ranks,
    shared,
    onlyLeft: left.length - shared.length,
    onlyRight: right.length - shared.length,
    up: changed.filter((by) => by > 0).length,
    down: changed.filter((by) => by < 0).length,
    same: changed.filter((by) => by === 0).length,
    mean: changed.length ? changed.reduce((sum, by) => sum + Math.abs(by), 0) / changed.length : 0,
    overlap: shared.length / Math.max(1, new Set([...ranks.a.keys(), ...ranks.b.keys()]).size),
  };
}

function Summary({ moved }) {
  const facts = [
    [moved.shared.length, "in both"],
    [moved.same, "at the same rank"],
    [moved.up, "higher on the right"],
    [moved.down, "lower on the right"],
    [moved.onlyLeft, "only left"],
    [moved.onlyRight, "only right"],
    [`${(moved.overlap * 100).toFixed(0)}%`, "overlap"],
    [moved.mean.toFixed(1), "ranks moved on average"],
  ];
  return html`<dl class="facts" aria-label="What moved">${facts.map(([value, what]) => html`<div key=${what}><dt>${what}</dt><dd>${value}</dd></div>`)}</dl>`;
}

function Lists({ sides, moved, corpora }) {
  const place = useRef(null);
  const [lines, setLines] = useState([]);
  useLayoutEffect(() => {
    const draw = () => {
      if (!moved || !place.current) return;
      const frame = place.current.getBoundingClientRect();
      const made = [];
      for (const key of moved.shared) {
        const [one, two] = SIDES.map((side) => place.current.querySelector(`[data-key="${CSS.escape(`${side}:${key}`)}"]`)?.getBoundingClientRect());
        if (!one || !two || two.left - one.right < 20) continue;
        const change = Math.sign(moved.ranks.a.get(key) - moved.ranks.b.get(key));
        made.push({ key, change, x1: one.right - frame.left, y1: one.top + one.height / 2 - frame.top, x2: two.left - frame.left, y2: two.top + two.height / 2 - frame.top });
      }
      setLines(made);
    };
    draw();
    const watch = new ResizeObserver(draw);
    if (place.current) watch.observe(place.current);
    return () => watch.disconnect();
  }, [moved]);
  return html`<div class="slopes" ref=${place}>
    <svg aria-hidden="true">${lines.map((line) => html`<path key=${line.key} class=${line.change > 0 ? "up" : line.change < 0 ? "down" : "same"} d=${`M${line.x1} ${line.y1}C${line.x1 + 24} ${line.y1} ${line.x2 - 24} ${line.y2} ${line.x2} ${line.y2}`} />`)}</svg>
    ${SIDES.map((side) => html`<section key=${side} aria-label=${`${NAMES[side]} results`}>
      ${sides[side].unread ? html`<${Wrong} error=${sides[side].unread} />` : null}
      <${Answer} answer=${sides[side].answer} lines=${8}>${(data) => html`
        <div class="row between head"><h2><span class="letter ${side}">${side.toUpperCase()}</span> ${count(data.found.length, "result")} <span class="faint">${ms(data.meta?.timings?.total_ms)}</span></h2><${CopyAs} operation="search" body=${sides[side].body} /></div>
        <ol class="brief">${data.found.map((hit) => html`<${Brief} key=${keyOf(hit)} hit=${hit} side=${side} moved=${moved} corpus=${corpora[0]} />`)}</ol>`}<//>
    </section>`)}
  </div>`;
}

function Brief({ hit, side, moved, corpus }) {
  const key = keyOf(hit);
  const other = moved?.ranks[side === "a" ? "b" : "a"].get(key);
  const alone = moved && other === undefined;
  const by = other === undefined ? 0 : side === "b" ? other - hit.rank : hit.rank - other;
  const told = !moved ? "" : alone ? `only ${NAMES[side].toLowerCase()}` : by === 0 ? "same" : side === "b" ? `${by > 0 ? "▲" : "▼"} ${Math.abs(by)}` : `→ ${other}`;
  return html`<li data-key=${`${side}:${key}`} class=${alone ? "alone" : ""}>
    <span class="rank">${hit.rank}</span>
    <span class="what"><a href=${placeOf(hit, corpus)}>${titleOf(hit)}</a><span class="faint">${citation(hit)}</span></span>
    <span class="num">${score(hit.score)}</span>
    <${Tag} kind=${alone ? "only" : by > 0 && side === "b" ? "up" : by < 0 && side === "b" ? "down" : ""}>${told}<//>
  </li>`;
}
