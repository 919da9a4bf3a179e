// The page: its frame, its views, its keys.

import { html, render, useEffect, useErrorBoundary, useRef, useState } from "./vendor/preact.js";
import { listen, token } from "./core/api.js";
import { say, useKeys, useMe, useRoute } from "./core/hooks.js";
import { go, href, takeToken } from "./core/route.js";
import { Dialog, Empty, Waiting, Wrong } from "./parts/common.js";

const VIEWS = [
  ["search", "Search", "s"],
  ["discover", "Discover", "d"],
  ["ask", "Ask", "a"],
  ["compare", "Side by side", "c"],
  ["ontology", "Ontology", "o"],
  ["ground", "Grounding", "g"],
  ["eval", "Evaluation", "e"],
  ["corpora", "Corpora", "p"],
];
const HOMES = { search: "search", discover: "discover", ask: "ask", compare: "compare", ontology: "ontology", ground: "ground", eval: "evaluation", corpora: "corpora", doc: "document" };
const TITLES = { ...Object.fromEntries(VIEWS.map(([name, title]) => [name, title])), doc: "Document" };
const THEMES = ["auto", "light", "dark"];

function Page() {
  const route = useRoute();
  const [help, setHelp] = useState(false);
  const [asking, setAsking] = useState(false);
  const me = useMe();
  useEffect(() => listen((what) => setAsking(what === "refused")), []);
  useEffect(() => {
    const about = route.params.get("q") || route.params.get("id") || route.params.get("symbol");
    document.title = `${about ? `${about} · ` : ""}${TITLES[route.view] || "Not found"} · ir`;
  }, [route]);
  const before = useRef(route.view);
  useEffect(() => {
    // On a narrow screen the views are a line to be pushed: show where we are.
    const current = document.querySelector(".top nav [aria-current]");
    if (current) current.closest("nav").scrollLeft = current.offsetLeft - current.closest("nav").offsetLeft - 24;
  }, [route.view]);
  useEffect(() => {
    say(TITLES[route.view] || "");
    if (before.current === route.view) return;
    before.current = route.view;
    scrollTo(0, 0);
    // Where somebody was is gone with the view before: go on at the beginning of this one.
    requestAnimationFrame(() => document.activeElement === document.body && document.getElementById("main").focus());
  }, [route.view]);
  const keys = { "?": () => setHelp(true), "/": toQuery, t: turnTheme };
  for (const [name, , key] of VIEWS) keys[key] = () => go(name, kept(route));
  useKeys(keys);
  return html`
    <a class="skip" href="#main" onClick=${skip}>Skip to the content</a>
    <header class="top">
      <a class="brand" href=${href("search")} aria-label="ir, start"><img src="/assets/icon.svg" alt="" width="26" height="26" /><span>ir</span></a>
      <nav aria-label="Views"><ul>${VIEWS.map(([name, title, key]) => html`<li key=${name}><a href=${href(name, kept(route))} aria-current=${route.view === name ? "page" : undefined} title=${`Key ${key}`}>${title}</a></li>`)}</ul></nav>
      <div class="tools">
        <${Theme} />
        <button type="button" class="quiet" onClick=${() => setHelp(true)} aria-label="Keys and help">?</button>
        <${Who} me=${me} onAsk=${() => setAsking(true)} />
      </div>
    </header>
    <main id="main" tabindex="-1"><${View} route=${route} /></main>
    ${help ? html`<${Help} onClose=${() => setHelp(false)} me=${me} />` : null}
    ${asking ? html`<${TokenEntry} onClose=${() => setAsking(false)} me=${me} />` : null}`;
}

/** The corpora and the query go along from view to view. */
function kept(route) {
  const found = { in: route.params.getAll("in") };
  if (["search", "discover", "compare", "ask"].includes(route.view)) found.q = route.params.get("q");
  return found;
}

const loaded = {};

function View({ route }) {
  const [, draw] = useState(0);
  const [error, forgive] = useErrorBoundary();
  const home = HOMES[route.view];
  useEffect(() => {
    if (home && !loaded[home]) {
      import(`./views/${home}.js`).then(
        (made) => (loaded[home] = made.default),
        () => (loaded[home] = () => html`<${Wrong} error=${{ message: "This view could not be loaded.", remedy: "Reload the page." }} />`),
      ).then(() => draw((one) => one + 1));
    }
    if (error) forgive();
  }, [route]);
  if (!home) return html`<${Empty} title="There is no such view."><p><a href=${href("search")}>Search</a></p><//>`;
  if (error) return html`<${Wrong} error=${{ message: "This view failed.", remedy: String(error.message || error) }} again=${forgive} />`;
  const Shown = loaded[home];
  return Shown ? html`<${Shown} key=${home} params=${route.params} />` : html`<${Waiting} />`;
}

function Theme() {
  const [theme, setTheme] = useState(document.documentElement.dataset.theme || "auto");
  useEffect(() => {
    const look = () => setTheme(document.documentElement.dataset.theme || "auto");
    addEventListener("themed", look);
    return () => removeEventListener("themed", look);
  }, []);
  return html`<button type="button" class="quiet" onClick=${turnTheme} aria-label=${`Colours: ${theme}. Change`} title=${`Colours: ${theme} (key t)`}>${{ auto: "◐", light: "☀", dark: "☾" }[theme]}</button>`;
}

function turnTheme() {
  const now = document.documentElement.dataset.theme || "auto";
  wear(THEMES[(THEMES.indexOf(now) + 1) % THEMES.length]);
  say(`Colours: ${document.documentElement.dataset.theme || "auto"}`);
}

function wear(theme) {
  if (theme === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  localStorage.setItem("ir-theme", theme);
  dispatchEvent(new Event("themed"));
}

function Who({ me, onAsk }) {
  if (me.state === "failed" && me.error.code === "offline") return html`<span class="tag bad" role="status">server away</span>`;
  const signed = Boolean(token.get());
  if (signed) {
    const out = () => {
      token.set("");
      say("Signed out.");
    };
    return html`<span class="who" title=${me.data ? `workspace ${me.data.workspace}, may ${me.data.scopes?.join(", ")}` : ""}>${me.data?.name || "token"}</span><button type="button" class="quiet" onClick=${out}>Sign out</button>`;
  }
  if (me.data?.auth === "none") return null;
  return html`<button type="button" class="quiet" onClick=${onAsk}>Sign in</button>`;
}

function TokenEntry({ onClose, me }) {
  const [word, setWord] = useState("");
  const enter = (event) => {
    event.preventDefault();
    if (!word.trim()) return;
    token.set(word.trim());
    onClose();
    dispatchEvent(new Event("again"));
  };
  return html`<${Dialog} title="A token, please" onClose=${onClose}>
    <form onSubmit=${enter} class="tokens">
      <p>${token.get() ? "The server does not take the token that this page has: it may be revoked or past its time." : "This server answers to who has a token."} Who runs it makes one with <code>ir token create</code>.</p>
      <label class="field wide"><span class="label">Token</span><input type="password" name="token" autocomplete="off" value=${word} onInput=${(event) => setWord(event.target.value)} autofocus /></label>
      <p class="faint">It is kept until this tab is closed, and sent to this server alone.</p>
      <button class="main" type="submit">Sign in</button>
    </form>
  <//>`;
}

function Help({ onClose, me }) {
  const keys = [
    ["/", "to the query"],
    ["j k", "next and previous result"],
    ["Enter", "open the result"],
    ["0 1 2 3", "judge the result, once a set is named"],
    ["t", "colours: auto, light, dark"],
    ["?", "this help"],
    ["Esc", "leave a field or a window"],
  ];
  return html`<${Dialog} title="Keys" onClose=${onClose}>
    <div class="keys">
      <dl>${VIEWS.map(([, title, key]) => html`<div><dt><kbd>${key}</kbd></dt><dd>${title}</dd></div>`)}</dl>
      <dl>${keys.map(([key, does]) => html`<div><dt>${key.split(" ").map((one) => html`<kbd>${one}</kbd> `)}</dt><dd>${does}</dd></div>`)}</dl>
    </div>
    <p class="faint">Every view is in the address: bookmark it, send it, go back. ${me.data?.version ? `ir ${me.data.version}, workspace ${me.data.workspace}.` : ""} <a href="/openapi.json">The HTTP API</a></p>
  <//>`;
}

function toQuery() {
  const field = document.querySelector("#main input.query, #main textarea.query, #main input");
  field?.focus();
  field?.select?.();
}

function skip(event) {
  event.preventDefault();
  document.getElementById("main").focus();
}

addEventListener("keydown", (event) => {
  if (event.key === "Escape" && /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName) && !event.target.closest("dialog")) event.target.blur();
});
takeToken();
wear(localStorage.getItem("ir-theme") || "auto");
document.getElementById("page").textContent = "";
render(html`<${Page} />`, document.getElementById("page"));
