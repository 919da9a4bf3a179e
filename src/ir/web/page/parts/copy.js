// What is shown, as a call by other doors: curl, the command line, an agent's tool.

import { html, useState } from "../vendor/preact.js";
import { token } from "../core/api.js";
import { CopyButton, Dialog } from "./common.js";

/** How the command of an operation is written: what stands first, and which fields are called otherwise. */
const COMMANDS = {
  search: { first: ["target", "query"], also: "target" },
  discover: { first: ["targets", "query"], also: "targets" },
  ask: { first: ["target", "question"], also: "target", without: ["history"] },
  get: { first: ["target", "items"] },
  similar: { first: ["target", "item"] },
  expand: { first: ["target", "item"] },
  symbol: { first: ["target", "symbol"] },
  callers: { first: ["target", "symbol"] },
  callees: { first: ["target", "symbol"] },
  implementations: { first: ["target", "symbol"] },
  "tests-of": { first: ["target", "symbol"] },
  impact: { first: ["target", "symbol"] },
  "ontology-query": { first: ["target", "semantic_query"] },
  ground: { name: "vocab ground", first: ["name", "phrases"] },
  neighbours: { name: "graph", first: ["target", "=neighbours", "id"], without: ["most"], flags: { edge_type: "--type" } },
  census: { first: ["target"] },
  status: { first: ["target"] },
  refresh: { first: ["target"] },
  eval: { first: ["corpus", "cases"] },
  runs: { first: ["id"] },
  compare: { first: ["run_a", "run_b"] },
};
const FLAGS = { surfaces: "--surface", globs: "--glob", channels: "--channel" };

/** Fields that the tool of an agent has under another name, and the tools there are. */
const TOOLS = {
  search: ["query", "target", "k", "words", "meaning", "mode", "ranking", "filter"],
  discover: ["query", "targets", "max_k", "mode", "filter"],
  get: ["items", "target", "context", "max_tokens"],
  similar: ["item", "text", "target", "k", "filter"],
  symbol: ["symbol", "target"],
  ask: ["question", "target", "k", "llm"],
  ground: ["phrases", "name", "k", "text"],
  status: ["target", "check"],
  refresh: ["target", "wait"],
};
const RELATIONS = { callers: "callers", callees: "callees", implementations: "implementations", "tests-of": "tests", impact: "impact" };

export function curl(operation, body) {
  const auth = token.get() ? ` \\\n  -H "Authorization: Bearer $IR_TOKEN"` : "";
  const streams = operation === "ask" ? ` \\\n  -H 'Accept: text/event-stream' -N` : "";
  return `curl -s ${location.origin}/v1/${operation} \\\n  -H 'Content-Type: application/json'${auth}${streams} \\\n  -d ${quoted(JSON.stringify(body))}`;
}

export function command(operation, body) {
  const shape = COMMANDS[operation];
  if (!shape) return null;
  const words = ["ir", shape.name || operation];
  const more = [];
  for (const name of shape.first) {
    if (name.startsWith("=")) words.push(name.slice(1));
    else if (Array.isArray(body[name]) && name === shape.also) {
      words.push(quoted(body[name][0] ?? "."));
      for (const one of body[name].slice(1)) more.push("--also", quoted(one));
    } else if (Array.isArray(body[name])) words.push(...body[name].map(quoted));
    else if (body[name] !== undefined && body[name] !== null) words.push(quoted(body[name]));
  }
  for (const [name, value] of Object.entries(body)) {
    if (shape.first.includes(name) || shape.without?.includes(name) || value === null || value === undefined) continue;
    const flag = shape.flags?.[name] || FLAGS[name] || `--${name.replaceAll("_", "-")}`;
    if (value === true) words.push(flag);
    else if (value === false) words.push(flag.replace("--", "--no-"));
    else for (const one of Array.isArray(value) ? value : [value]) words.push(flag, quoted(typeof one === "object" ? JSON.stringify(one) : one));
  }
  return [...words, ...more].join(" ");
}

export function tool(operation, body) {
  if (operation in RELATIONS) {
    const { symbol, target, depth, k } = body;
    return { name: "symbol", arguments: clean({ symbol, relation: RELATIONS[operation], corpus: target, depth, k }) };
  }
  if (operation === "ontology-query") {
    const camel = (name) => (name === "target" ? "corpus" : name.replace(/_(\w)/g, (_, letter) => letter.toUpperCase()));
    return { name: "ontology_query", arguments: Object.fromEntries(Object.entries(body).map(([name, value]) => [camel(name), value])) };
  }
  const known = TOOLS[operation];
  if (!known) return null;
  const renamed = { target: "corpus", targets: "corpus", name: "vocabulary" };
  return { name: operation, arguments: clean(Object.fromEntries(known.map((name) => [renamed[name] || name, body[name]]))) };
}

function clean(fields) {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined && value !== null));
}

function quoted(value) {
  const text = String(value);
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

export function CopyAs({ operation, body }) {
  const [open, setOpen] = useState(false);
  if (!body) return null;
  const called = tool(operation, body);
  const ways = [
    ["curl", curl(operation, body), token.get() ? "Your token is not in it: put it into $IR_TOKEN." : ""],
    ["Command line", command(operation, body), ""],
    ["MCP tool call", called && JSON.stringify(called, null, 2), "What a tool has no argument for is left out."],
  ].filter(([, text]) => text);
  return html`<button type="button" class="quiet" onClick=${() => setOpen(true)}>Copy as…</button>
    ${open ? html`<${Dialog} title="The same by another door" onClose=${() => setOpen(false)}>
      ${ways.map(([name, text, note]) => html`<section class="way" key=${name}>
        <div class="row between"><h3>${name}</h3><${CopyButton} text=${text} /></div>
        <pre tabindex="0">${text}</pre>${note ? html`<p class="faint">${note}</p>` : null}
      </section>`)}
    <//>` : null}`;
}
