// Where we are. All of it is in the part of the address after #, which a browser sends to no server:
// a link to a view can be shared, and what somebody looked for is in no log.

import { token } from "./api.js";

const START = "search";

/** Take a token out of the address, where it must not stay. */
export function takeToken() {
  const found = /^#token=([^&]+)(?:&to=(.*))?$/.exec(location.hash);
  if (!found) return;
  history.replaceState(null, "", found[2] ? `#/${found[2]}` : `#/${START}`);
  token.set(decodeURIComponent(found[1]));
}

export function here() {
  const [path, query] = location.hash.replace(/^#\/?/, "").split(/\?(.*)/s);
  return { view: path || START, params: new URLSearchParams(query || "") };
}

/** The address of a view; what is empty is left out of it. */
export function href(view, params = {}) {
  const kept = new URLSearchParams();
  for (const [name, value] of params instanceof URLSearchParams ? params : Object.entries(params)) {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one !== undefined && one !== null && one !== "" && one !== false) kept.append(name, one === true ? "1" : one);
    }
  }
  const query = kept.toString();
  return `#/${view}${query ? `?${query}` : ""}`;
}

export function go(view, params, { replace = false } = {}) {
  const to = href(view, params);
  if (to === location.hash) {
    dispatchEvent(new Event("again"));
  } else if (replace) {
    history.replaceState(null, "", to);
    dispatchEvent(new Event("hashchange"));
  } else {
    location.hash = to;
  }
}

/** The values of an address as a plain object: lists for the names in `lists`. */
export function values(params, lists = []) {
  const found = {};
  for (const name of new Set(params.keys())) found[name] = lists.includes(name) ? params.getAll(name) : params.get(name);
  for (const name of lists) found[name] ||= [];
  return found;
}
