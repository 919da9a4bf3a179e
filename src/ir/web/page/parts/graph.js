// One step of the graph, drawn: the thing in the middle, what it is linked to around it. Each node is a link that
// leads to its own step, so that a keyboard walks as well as a mouse; the list beside it says the same in words.

import { html, useEffect, useRef, useState } from "../vendor/preact.js";
import { call } from "../core/api.js";
import { useAnswer } from "../core/hooks.js";
import { href } from "../core/route.js";
import { count, number } from "../core/words.js";
import { Answer, Empty, Notes, Select, Tag } from "./common.js";
import { CopyAs } from "./copy.js";
import { d3 } from "./load.js";

const WIDTH = 540;
const HEIGHT = 380;
const DRAWN = 40;

export function useNeighbours(corpus, id, type) {
  const body = { id, target: corpus, ...(type ? { edge_type: type } : {}) };
  const answer = useAnswer((signal) => call("neighbours", body, { signal }), corpus && id ? JSON.stringify(body) : null);
  return [answer, body];
}

export function Links({ corpus, id, leadsTo }) {
  const [type, setType] = useState("");
  const [answer, body] = useNeighbours(corpus, id, type);
  return html`<section aria-label="Links" class="links">
    <${Answer} answer=${answer} lines=${3}>${(found) => html`
      <div class="row between">
        <p class="faint">${found.total ? html`${count(found.total, "link")}: ${Object.entries(found.types).map(([name, many]) => `${number(many)} ${name}`).join(", ")}` : null}</p>
        <span class="row">
          ${Object.keys(found.types).length > 1 || type ? html`<label class="row"><span class="faint">only</span><${Select} value=${type} onChange=${setType} choices=${[["", "all types"], ...Object.keys(found.types)]} /></label>` : null}
          <${CopyAs} operation="neighbours" body=${body} />
        </span>
      </div>
      ${found.edges.length ? html`<${Drawing} found=${found} leadsTo=${leadsTo} /><${List} found=${found} leadsTo=${leadsTo} />` : html`<${Empty} title="Nothing is linked here."><p><code>ir build --links</code> makes links from the fields deps and parent; books and code have links of their own.</p><//>`}
      <${Notes} notes=${found.notes} />`}<//>
  </section>`;
}

function Drawing({ found, leadsTo }) {
  const [placed, setPlaced] = useState(null);
  const place = useRef(null);
  useEffect(() => {
    let wanted = true;
    layout(found).then((made) => wanted && setPlaced(made), () => wanted && setPlaced("none"));
    return () => {
      wanted = false;
    };
  }, [found]);
  if (placed === "none") return null;
  if (!placed || placed.id !== found.id) return html`<div class="drawing" aria-hidden="true"></div>`;
  const walk = (event) => {
    const all = [...place.current.querySelectorAll("a")];
    const at = all.indexOf(document.activeElement);
    const to = { ArrowRight: at + 1, ArrowDown: at + 1, ArrowLeft: at - 1, ArrowUp: at - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    all[(to + all.length) % all.length]?.focus();
  };
  return html`<figure class="drawing">
    <svg ref=${place} viewBox=${`0 0 ${WIDTH} ${HEIGHT}`} role="group" aria-label=${`Graph around ${placed.nodes[0].label}. Arrow keys go from node to node, Enter walks there.`} onKeyDown=${walk}>
      <g aria-hidden="true">${placed.edges.map((edge, at) => html`<line key=${at} class="edge ${edge.out ? "out" : "in"}" x1=${edge.source.x} y1=${edge.source.y} x2=${edge.target.x} y2=${edge.target.y}><title>${edge.type}</title></line>`)}</g>
      ${placed.nodes.map((node, at) => html`<a key=${node.key} href=${leadsTo(node)} aria-label=${`${node.label}, ${node.type}${node.via ? `, ${node.via}` : ""}`} class=${`node ${at === 0 ? "middle" : ""} t${node.hue}`}>
        <circle cx=${node.x} cy=${node.y} r=${at === 0 ? 11 : 7}></circle>
        <text x=${node.x} y=${node.y + (at === 0 ? 26 : 19)} text-anchor="middle">${short(node.label, at === 0 ? 32 : 20)}</text>
        <title>${node.label} · ${node.type}</title>
      </a>`)}
    </svg>
    ${placed.left ? html`<figcaption class="faint">${count(placed.left, "more node")} in the list below.</figcaption>` : null}
  </figure>`;
}

async function layout(found) {
  const force = await d3();
  const keyOf = (node) => `${node.corpus || ""} ${node.id}`;
  const kinds = [...new Set(found.nodes.map((node) => node.type))];
  const nodes = found.nodes.slice(0, DRAWN).map((node, at) => {
    const turn = (at / Math.min(DRAWN, found.nodes.length)) * 2 * Math.PI;
    return { ...node, key: keyOf(node), hue: kinds.indexOf(node.type) % 5, x: WIDTH / 2 + (at ? Math.cos(turn) * 140 : 0), y: HEIGHT / 2 + (at ? Math.sin(turn) * 110 : 0) };
  });
  const byKey = new Map(nodes.map((node) => [node.key, node]));
  const edges = [];
  for (const edge of found.edges) {
    const source = byKey.get(` ${edge.source}`);
    const target = byKey.get(`${edge.corpus || ""} ${edge.target}`);
    if (!source || !target || source === target) continue;
    const out = edge.source === found.id;
    edges.push({ source, target, type: edge.type, out });
    (out ? target : source).via ||= out ? `${edge.type} from here` : `${edge.type} to here`;
  }
  nodes[0].fx = WIDTH / 2;
  nodes[0].fy = HEIGHT / 2;
  const run = force.forceSimulation(nodes).stop()
    .force("link", force.forceLink(edges).distance(nodes.length > 18 ? 165 : 125).strength(0.5))
    .force("charge", force.forceManyBody().strength(-420))
    .force("apart", force.forceCollide(34))
    .force("y", force.forceY(HEIGHT / 2).strength(0.12));
  run.tick(180);
  for (const node of nodes) {
    node.x = Math.max(58, Math.min(WIDTH - 58, node.x));
    node.y = Math.max(16, Math.min(HEIGHT - 26, node.y));
  }
  return { id: found.id, nodes, edges, left: Math.max(0, found.nodes.length - DRAWN) };
}

function short(text, most) {
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}

function List({ found, leadsTo }) {
  const nodes = new Map(found.nodes.map((node) => [`${node.corpus || ""} ${node.id}`, node]));
  const groups = new Map();
  for (const edge of found.edges) {
    const out = edge.source === found.id;
    const other = nodes.get(out ? `${edge.corpus || ""} ${edge.target}` : ` ${edge.source}`);
    const name = out ? `${edge.type} →` : `← ${edge.type}`;
    if (other) groups.set(name, [...(groups.get(name) || []), other]);
  }
  return html`<details class="linklist" open=${found.edges.length <= 12}><summary>As a list</summary>
    ${[...groups].map(([name, all]) => html`<div key=${name}><h4>${name}</h4><ul>${all.map((node) => html`<li key=${node.id}><a href=${leadsTo(node)}>${node.label}</a> <${Tag}>${node.type}<//></li>`)}</ul></div>`)}
  </details>`;
}

/** Where a node leads in the view of documents: what can be read is read, and the graph goes on from it. */
export function toNode(corpus, now) {
  return (node) => href("doc", {
    in: node.corpus || corpus,
    id: node.corpus ? node.id : node.artifact || now,
    line: node.artifact && node.artifact !== node.id ? node.line : null,
    node: node.corpus || node.artifact === node.id ? null : node.id,
    tab: "links",
  });
}
