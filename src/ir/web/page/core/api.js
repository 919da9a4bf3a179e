// Asking the server: one function for each way it answers, and one kind of error.

const KEY = "ir-token";
const listeners = new Set();

/** What went wrong, as the server says it: `detail` for people, `remedy` for what to do next. */
export class Problem extends Error {
  constructor(told) {
    super(told.detail || told.title || "Something went wrong.");
    this.status = told.status || 0;
    this.code = told.code || "error";
    this.title = told.title || "";
    this.remedy = told.remedy || "";
    this.wait = told.wait || null;
  }
}

export const token = {
  get: () => sessionStorage.getItem(KEY) || "",
  set(word) {
    if (word) sessionStorage.setItem(KEY, word);
    else sessionStorage.removeItem(KEY);
    changed("token");
  },
};

/** Be told of "token" (it changed) and "refused" (the server asks for one). */
export function listen(heard) {
  listeners.add(heard);
  return () => listeners.delete(heard);
}

function changed(what) {
  for (const heard of listeners) heard(what);
}

/** Answer of an operation. */
export function call(operation, body, options) {
  return send("POST", `/v1/${operation}`, body, options);
}

export async function send(method, path, body, options = {}) {
  const answer = await request(method, path, body, options);
  if (answer.status === 204) return null;
  const text = await answer.text();
  try {
    return text ? JSON.parse(text) : null;
  } catch {
    throw new Problem({ status: answer.status, code: "unreadable", detail: "The server's answer cannot be read.", remedy: "Reload the page; if that does not help, look into the log of ir serve." });
  }
}

/** The events of an operation that streams: `heard(kind, data)` for each. */
export async function stream(operation, body, heard, options = {}) {
  const answer = await request("POST", `/v1/${operation}`, body, { ...options, accept: "text/event-stream" });
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let held = "";
  for (;;) {
    const { value, done } = await reader.read();
    held += value || "";
    const blocks = held.replaceAll("\r\n", "\n").split("\n\n");
    held = done ? "" : blocks.pop();
    for (const block of blocks) tell(block, heard);
    if (done) return;
  }
}

function tell(block, heard) {
  let kind = "message";
  const data = [];
  for (const line of block.split("\n")) {
    if (line.startsWith("event:")) kind = line.slice(6).trim();
    else if (line.startsWith("data:")) data.push(line.slice(5).replace(/^ /, ""));
  }
  if (data.length) heard(kind, JSON.parse(data.join("\n")));
}

async function request(method, path, body, { signal, accept }) {
  const headers = { Accept: accept || "application/json" };
  if (body !== undefined && body !== null) headers["Content-Type"] = "application/json";
  if (token.get()) headers.Authorization = `Bearer ${token.get()}`;
  let answer;
  try {
    answer = await fetch(path, { method, headers, signal, body: headers["Content-Type"] ? JSON.stringify(body) : undefined });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem({ code: "offline", title: "No answer", detail: "The server does not answer.", remedy: "Look whether ir serve is running, then try again." });
  }
  if (answer.ok) return answer;
  const told = await problem(answer);
  if (told.status === 401) changed("refused");
  throw told;
}

async function problem(answer) {
  const told = { status: answer.status, title: answer.statusText };
  try {
    Object.assign(told, await answer.json());
  } catch {
    told.detail = `The server answered ${answer.status} ${answer.statusText}.`;
  }
  if (typeof told.detail !== "string") told.detail = JSON.stringify(told.detail);
  told.wait = answer.headers.get("Retry-After");
  if (answer.status === 429 && told.wait && !told.remedy) told.remedy = `Try again in ${told.wait} s.`;
  return new Problem(told);
}
