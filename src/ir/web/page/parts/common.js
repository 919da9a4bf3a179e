// The small parts that every view is put together from.

import { html, useEffect, useLayoutEffect, useRef, useState } from "../vendor/preact.js";
import { useCorpora } from "../core/hooks.js";

/** A text with the stretches that match in it; `marks` are [start, end] in code points, as Python counts them. */
export function Marked({ text, marks = [] }) {
  if (!marks.length) return text;
  const letters = /[\ud800-\udfff]/.test(text) ? Array.from(text) : text;
  const cut = (from, to) => (typeof letters === "string" ? letters.slice(from, to) : letters.slice(from, to).join(""));
  const parts = [];
  let reach = 0;
  for (const [start, end] of marks) {
    if (start < reach || end <= start) continue;
    parts.push(cut(reach, start), html`<mark key=${start}>${cut(start, end)}</mark>`);
    reach = end;
  }
  parts.push(cut(reach));
  return parts;
}

/** A bar that is `share` of its track. Its numbers stand beside it, so it is not read aloud. */
export function Bar({ share, kind = "score" }) {
  const width = `${Math.max(0, Math.min(1, share || 0)) * 100}%`;
  return html`<span class="bar" aria-hidden="true"><span class="fill ${kind}" style=${{ width }}></span></span>`;
}

/** Bars one after the other: what a number is made of. */
export function Stack({ parts, of }) {
  return html`<span class="bar stack" aria-hidden="true">
    ${parts.map(([kind, value]) => html`<span class="fill ${kind}" style=${{ width: `${Math.max(0, Math.min(1, value / (of || 1))) * 100}%` }}></span>`)}
  </span>`;
}

export function Tag({ kind = "", children, title }) {
  return html`<span class="tag ${kind}" title=${title}>${children}</span>`;
}

export function Notes({ notes = [], kind = "note" }) {
  if (!notes.length) return null;
  return html`<ul class="notes ${kind}">${notes.map((note) => html`<li>${note}</li>`)}</ul>`;
}

export function Wrong({ error, again }) {
  if (!error) return null;
  return html`<div class="wrong" role="alert">
    <p><strong>${error.message}</strong></p>
    ${error.status === 401 ? html`<p>Sign in with a token, at the top of the page.</p>` : error.remedy ? html`<p>${error.remedy}</p>` : null}
    <p class="row">
      ${again ? html`<button type="button" onClick=${again}>Try again</button>` : null}
      ${error.code && error.code !== "error" ? html`<span class="faint">${error.status ? `${error.status} · ` : ""}${error.code}</span>` : null}
    </p>
  </div>`;
}

export function Empty({ title, children }) {
  return html`<div class="empty"><p><strong>${title}</strong></p>${children ? html`<div>${children}</div>` : null}</div>`;
}

/** Grey lines where an answer will be. */
export function Waiting({ lines = 4, what = "Loading" }) {
  return html`<div class="waiting" role="status"><span class="unseen">${what}…</span>
    ${Array.from({ length: lines }, (_, at) => html`<span class="ghost g${at % 3}" key=${at}></span>`)}
  </div>`;
}

/** What an answer is, in each of its states. While another is on its way the one before stays, dimmed. */
export function Answer({ answer, children, lines, idle }) {
  if (answer.state === "idle") return idle || null;
  if (answer.state === "failed") return html`<${Wrong} error=${answer.error} again=${answer.again} />`;
  if (!answer.data) return html`<${Waiting} lines=${lines} />`;
  return html`<div class=${answer.state === "loading" ? "answered again" : "answered"} aria-busy=${answer.state === "loading"}>${children(answer.data)}</div>`;
}

export function Field({ label, hint, children, wide = false }) {
  return html`<label class="field ${wide ? "wide" : ""}"><span class="label">${label}${hint ? html` <span class="faint">${hint}</span>` : null}</span>${children}</label>`;
}

/** Choices as [value, text] or plain values. */
export function Select({ value, choices, onChange, ...more }) {
  return html`<select ...${more} value=${value ?? ""} onChange=${(event) => onChange(event.target.value)}>
    ${choices.map((one) => {
      const [word, text] = Array.isArray(one) ? one : [one, one];
      return html`<option value=${word} selected=${word === (value ?? "")}>${text}</option>`;
    })}
  </select>`;
}

export function Check({ label, checked, onChange }) {
  return html`<label class="check"><input type="checkbox" checked=${checked} onChange=${(event) => onChange(event.target.checked)} /> <span>${label}</span></label>`;
}

/** Corpora to choose from: some of them, or with `one` just one. */
export function CorpusChoice({ chosen, onChange, one = false, only }) {
  const corpora = useCorpora();
  if (corpora.state === "failed") return html`<${Wrong} error=${corpora.error} again=${corpora.again} />`;
  const ready = (corpora.data?.corpora || []).filter((corpus) => corpus.built && (!only || only(corpus)));
  if (!corpora.data) return html`<span class="faint">Looking for corpora…</span>`;
  if (!ready.length) return html`<p class="notes doubt">There is no corpus yet. <code>ir build FOLDER</code>, where the server runs, makes one.</p>`;
  const type = one ? "radio" : "checkbox";
  const known = chosen.filter((word) => ready.some((corpus) => corpus.name === word));
  const turn = (name, on) => onChange(one ? [name] : on ? [...known, name] : known.filter((word) => word !== name));
  return html`<fieldset class="chips"><legend class="unseen">${one ? "Corpus" : "Corpora"}</legend>
    ${ready.map((corpus) => html`<label class="chip" key=${corpus.name} title=${`${corpus.records ?? "?"} records, ${corpus.embedder || ""}`}>
      <input type=${type} name="corpus" value=${corpus.name} checked=${chosen.includes(corpus.name)} onChange=${(event) => turn(corpus.name, event.target.checked)} />
      <span>${corpus.name}${corpus.stale ? html`<span class="dot stale" title="changed since it was indexed"></span>` : null}</span>
    </label>`)}
  </fieldset>`;
}

/** The corpora to ask where an address names none: the only one, or the first. */
export function useChosen(named) {
  const corpora = useCorpora();
  const first = corpora.data?.corpora?.find((corpus) => corpus.built);
  return named.length ? named : first ? [first.name] : [];
}

export function Dialog({ title, onClose, children }) {
  const place = useRef(null);
  useLayoutEffect(() => {
    const before = document.activeElement;
    place.current.showModal();
    return () => before?.focus?.();
  }, []);
  return html`<dialog ref=${place} onClose=${onClose} onClick=${(event) => event.target === place.current && place.current.close()} aria-label=${title}>
    <div class="dialog">
      <div class="row between"><h2>${title}</h2><button type="button" class="plain" onClick=${() => place.current.close()} aria-label="Close">✕</button></div>
      ${children}
    </div>
  </dialog>`;
}

/** A word that copies a text and says so. */
export function CopyButton({ text, children = "Copy" }) {
  const [done, setDone] = useState("");
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      setDone("Copied");
    } catch {
      setDone("Not allowed here");
    }
    setTimeout(() => setDone(""), 1600);
  };
  return html`<button type="button" onClick=${copy}><span aria-live="polite">${done || children}</span></button>`;
}

export function Pairs({ pairs }) {
  return html`<dl class="pairs">${pairs.filter(([, value]) => value !== null && value !== undefined && value !== "").map(([name, value]) => html`<div key=${name}><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`;
}
