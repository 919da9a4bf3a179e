import { useCallback, useEffect, useRef, useState } from "../vendor/preact.js";
import { call, listen, send } from "./api.js";
import { here, takeToken } from "./route.js";

export function useRoute() {
  const [route, setRoute] = useState(here);
  useEffect(() => {
    const look = () => {
      takeToken();
      setRoute(here());
    };
    addEventListener("hashchange", look);
    addEventListener("again", look);
    return () => {
      removeEventListener("hashchange", look);
      removeEventListener("again", look);
    };
  }, []);
  return route;
}

/** What `ask(signal)` gives, again whenever `key` changes. What was there stays while the next is on its way. */
export function useAnswer(ask, key) {
  const [answer, setAnswer] = useState({ state: "idle" });
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    if (key === null) {
      setAnswer({ state: "idle" });
      return undefined;
    }
    const stop = new AbortController();
    const began = performance.now();
    setAnswer((before) => ({ ...before, state: "loading", error: null }));
    ask(stop.signal).then(
      (data) => stop.signal.aborted || setAnswer({ state: "done", data, key, ms: performance.now() - began }),
      (error) => stop.signal.aborted || setAnswer({ state: "failed", error, key }),
    );
    return () => stop.abort();
  }, [key, turn]);
  const again = useCallback(() => setTurn((one) => one + 1), []);
  useEffect(() => listen((what) => what === "token" && again()), []);
  return { ...answer, again };
}

// What several views need and nobody changes often is asked for once.
const kept = new Map();

function keptAnswer(name, ask) {
  return function useKept() {
    const [, draw] = useState(0);
    useEffect(() => {
      const state = kept.get(name) || { watchers: new Set(), answer: { state: "idle" } };
      kept.set(name, state);
      const watcher = () => draw((one) => one + 1);
      state.watchers.add(watcher);
      if (state.answer.state === "idle" || state.answer.state === "failed") load(name, ask);
      else watcher();
      return () => state.watchers.delete(watcher);
    }, []);
    return { ...(kept.get(name)?.answer || { state: "loading" }), again: () => load(name, ask) };
  };
}

function load(name, ask) {
  const state = kept.get(name);
  if (!state) return Promise.resolve();
  const tell = (answer) => {
    state.answer = answer;
    for (const watcher of state.watchers) watcher();
  };
  tell({ ...state.answer, state: "loading" });
  return ask().then(
    (data) => tell({ state: "done", data }),
    (error) => tell({ state: "failed", error }),
  );
}

const loaders = {
  me: () => send("GET", "/v1/me"),
  corpora: () => call("status", {}),
  vocabularies: () => call("vocab-info", {}),
  sets: () => call("judged-sets", {}),
};
export const useMe = keptAnswer("me", loaders.me);
export const useCorpora = keptAnswer("corpora", loaders.corpora);
export const useVocabularies = keptAnswer("vocabularies", loaders.vocabularies);
export const useSets = keptAnswer("sets", loaders.sets);

/** Ask again for what is kept, as after a job or another token. */
export function forget(...names) {
  for (const name of names.length ? names : Object.keys(loaders)) load(name, loaders[name]);
}
listen((what) => what === "token" && forget());

/** Say something to who listens instead of looking. */
export function say(text) {
  const place = document.getElementById("said");
  place.textContent = "";
  requestAnimationFrame(() => (place.textContent = text));
}

/** Call `pressed` for keys that are meant for the page, not for a field. */
export function useKeys(keys) {
  const held = useRef(keys);
  held.current = keys;
  useEffect(() => {
    const pressed = (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
      const at = event.target;
      const writing = at.isContentEditable || (/^(INPUT|TEXTAREA|SELECT)$/.test(at.tagName) && !["checkbox", "radio"].includes(at.type));
      if (writing && event.key !== "Escape") return;
      if (document.querySelector("dialog[open]") && event.key !== "Escape") return;
      const does = held.current[event.key];
      if (does && does(event) !== false) event.preventDefault();
    };
    addEventListener("keydown", pressed);
    return () => removeEventListener("keydown", pressed);
  }, []);
}
