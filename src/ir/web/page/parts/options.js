// How to search: the fields that the lab, the comparison and the address share.

import { html, useEffect, useState } from "../vendor/preact.js";
import { Check, Field, Select } from "./common.js";

export const LISTS = ["in"];
const WORDS = ["mode", "fusion", "rerank", "ranking", "words", "meaning", "branch", "embedder", "graph"];
const NUMBERS = ["k", "per_file", "chapters"];
const SIGNS = { "=": "$eq", "!=": "$ne", ">=": "$gte", "<=": "$lte", ">": "$gt", "<": "$lt", "~": "$contains" };

/** The body of a search for the values of an address. A filter that cannot be read throws. */
export function searchBody(asked, corpora) {
  const body = { query: asked.q, target: corpora.length === 1 ? corpora[0] : corpora, explain: true };
  for (const name of WORDS) if (asked[name]) body[name] = asked[name];
  for (const name of NUMBERS) if (asked[name]) body[name] = Number(asked[name]);
  if (asked.filter) body.filter = readFilter(asked.filter);
  if (asked.names) body.graph_first = true;
  if (asked.aliases) body.aliases = asked.aliases === "yes";
  if (asked.surface) body.surfaces = split(asked.surface);
  if (asked.glob) body.globs = split(asked.glob);
  return body;
}

const split = (text) => text.split(/[\s,]+/).filter(Boolean);

/** A filter as JSON, or as conditions such as `year>=2024, kind=Spells`. */
export function readFilter(text) {
  if (text.trim().startsWith("{")) {
    try {
      return JSON.parse(text);
    } catch (error) {
      throw new Error(`The filter is no JSON: ${error.message}`);
    }
  }
  const parts = text.split(/[,\n]/).map((one) => one.trim()).filter(Boolean).map((one) => {
    const found = /^([^=!<>~\s]+)\s*(!=|>=|<=|=|>|<|~)\s*(.*)$/s.exec(one);
    if (!found || !found[3] || /^[=<>~]/.test(found[3])) throw new Error(`“${one}” is no condition. Write field=value, or use != >= <= > < ~ (contains).`);
    return { [found[1]]: { [SIGNS[found[2]]]: plain(found[3]) } };
  });
  return parts.length === 1 ? parts[0] : { $and: parts };
}

function plain(word) {
  try {
    const value = JSON.parse(word);
    return typeof value === "object" && value !== null ? word : value;
  } catch {
    return word;
  }
}

/** A text field that tells its value when somebody has finished with it. */
export function Line({ value = "", onDone, ...more }) {
  const [text, setText] = useState(value);
  useEffect(() => setText(value), [value]);
  const done = () => text.trim() !== value && onDone(text.trim());
  return html`<input ...${more} value=${text} onInput=${(event) => setText(event.target.value)} onBlur=${done}
    onKeyDown=${(event) => event.key === "Enter" && done()} />`;
}

/** The options in a row, the rarer ones behind a word; on a phone all of them, so that what was found comes first. `name` sets the two sides of a comparison apart. */
export function Options({ values, onChange, name = "" }) {
  const set = (field) => (value) => onChange({ [field]: value });
  const rare = ["filter", "surface", "glob", "words", "meaning", "per_file", "branch", "embedder", "chapters", "names", "aliases"];
  const used = rare.filter((field) => values[field]);
  const list = `rerankers${name}`;
  const given = [...used, ...["mode", "fusion", "rerank", "graph", "ranking", "k"].filter((field) => values[field])];
  const [open, setOpen] = useState(() => matchMedia("(min-width: 46.01rem)").matches);
  return html`<details class="fold" open=${open} onToggle=${(event) => event.target.className === "fold" && setOpen(event.target.open)}>
    <summary>How to search${given.length ? html` <span class="tag">${given.length} set</span>` : null}</summary>
    <div class="options">
    <div class="fields">
      <${Field} label="Mode"><${Select} value=${values.mode} onChange=${set("mode")} choices=${[["", "as set"], ["hybrid", "hybrid"], ["dense", "meaning"], ["lexical", "words"]]} /><//>
      <${Field} label="Fusion"><${Select} value=${values.fusion} onChange=${set("fusion")} disabled=${values.mode === "dense" || values.mode === "lexical"} choices=${[["", "as set"], "blend", "rrf", "minmax", "dbsf", "minmax_corpus"]} /><//>
      <${Field} label="Rerank"><${Line} value=${values.rerank} onDone=${set("rerank")} list=${list} placeholder="none" /><datalist id=${list}><option value="maxsim" /><option value="cross-encoder:" /><option value="http:" /></datalist><//>
      <${Field} label="Graph"><${Select} value=${values.graph} onChange=${set("graph")} choices=${[["", "as set"], "none", "additive", "frontier", "propagate", "expand"]} /><//>
      <${Field} label="Ranking"><${Select} value=${values.ranking} onChange=${set("ranking")} choices=${[["", "auto"], "code", "plain"]} /><//>
      <${Field} label="Results"><${Line} type="number" min="1" max="1000" value=${values.k} onDone=${set("k")} placeholder="10" class="short" /><//>
    </div>
    <details class="more" open=${used.length > 0}>
      <summary>Filter and more${used.length ? html` <span class="tag">${used.length} set</span>` : null}</summary>
      <div class="fields">
        <${Field} label="Filter" hint="year>=2024, kind=Spells or JSON" wide><${Line} value=${values.filter} onDone=${set("filter")} spellcheck="false" class="mono" /><//>
        <${Field} label="Files" hint="*.py !*.md"><${Line} value=${values.glob} onDone=${set("glob")} spellcheck="false" class="mono" /><//>
        <${Field} label="Surfaces" hint="title, chunk"><${Line} value=${values.surface} onDone=${set("surface")} spellcheck="false" /><//>
        <${Field} label="Words instead"><${Line} value=${values.words} onDone=${set("words")} /><//>
        <${Field} label="Meaning instead"><${Line} value=${values.meaning} onDone=${set("meaning")} /><//>
        <${Field} label="Per file"><${Line} type="number" min="1" value=${values.per_file} onDone=${set("per_file")} class="short" /><//>
        <${Field} label="Chapters" hint="of a book"><${Line} type="number" min="1" value=${values.chapters} onDone=${set("chapters")} class="short" /><//>
        <${Field} label="Aliases"><${Select} value=${values.aliases} onChange=${set("aliases")} choices=${[["", "as set"], ["yes", "read too"], ["no", "leave out"]]} /><//>
        <${Field} label="Git branch"><${Line} value=${values.branch} onDone=${set("branch")} spellcheck="false" /><//>
        <${Field} label="Embedder"><${Line} value=${values.embedder} onDone=${set("embedder")} spellcheck="false" /><//>
        <${Check} label="Only what the names in it lead to" checked=${Boolean(values.names)} onChange=${set("names")} />
      </div>
    </details></div>
  </details>`;
}

/** The line to write a query on, with the button beside it. */
export function QueryLine({ value = "", onAsk, label, placeholder, action = "Search", id = "query" }) {
  const [text, setText] = useState(value);
  useEffect(() => setText(value), [value]);
  const ask = (event) => {
    event.preventDefault();
    if (text.trim()) onAsk(text.trim());
  };
  return html`<form class="queryline" role="search" onSubmit=${ask}>
    <label class="unseen" for=${id}>${label}</label>
    <input id=${id} class="query" type="search" enterkeyhint="search" autocomplete="off" value=${text} placeholder=${placeholder} onInput=${(event) => setText(event.target.value)} />
    <button class="main" type="submit">${action}</button>
  </form>`;
}
