// The state of the page, kept in the URL: #/search?tenant=acme&user=jane&q=... . A link shows the same to a colleague with a
// token of their own. Tenant, user, agent and q are common to all views; every other name belongs to one view.

const SHARED = ["tenant", "user", "agent", "q"];
const listeners = new Set();
const left = new Map(); // the parameters of inactive views

let view = "";
let values = new URLSearchParams();

function read() {
  const [path, query = ""] = splitOnce(location.hash.slice(1), "?");
  view = path.replace(/^\/+/, "") || "search";
  values = new URLSearchParams(query);
}

function splitOnce(text, separator) {
  const at = text.indexOf(separator);
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + 1)];
}

function written(name, parameters) {
  const query = parameters.toString();
  return `#/${name}${query ? `?${query}` : ""}`;
}

export const state = {
  // The name of the current view, such as "search".
  view: () => view,
  // A parameter, or `otherwise`.
  get: (name, otherwise = null) => values.get(name) ?? otherwise,
  // {tenant, user, agent}, without missing parts, as in requests.
  scope: () => Object.fromEntries(SHARED.slice(0, 3).flatMap((part) => (values.get(part) ? [[part, values.get(part)]] : []))),
  // Changes parameters (null or "" removes one) and notifies the listeners; `push` adds a history entry.
  set(changes, { push = false } = {}) {
    const changed = new URLSearchParams(values);
    for (const [name, value] of Object.entries(changes)) {
      if (value === null || value === undefined || value === "") changed.delete(name);
      else changed.set(name, value);
    }
    if (changed.toString() === values.toString()) return;
    if (push) flush(); // earlier changes belong to the previous history entry
    values = changed;
    if (push) {
      history.pushState(null, "", written(view, values));
      seen = location.hash;
    } else {
      // Browsers throttle changes of the address, so it does not follow every keystroke.
      timer ??= setTimeout(flush, 200);
    }
    tell();
  },
  // The link to a view: common parameters, and those that the view had last.
  href(name, changes = {}) {
    const own = name === view ? values : left.get(name);
    const made = new URLSearchParams(own ?? "");
    for (const part of SHARED) {
      if (values.get(part)) made.set(part, values.get(part));
      else made.delete(part);
    }
    for (const [key, value] of Object.entries(changes)) {
      if (value === null || value === "") made.delete(key);
      else made.set(key, value);
    }
    return written(name, made);
  },
  // The full link to the current state.
  link() {
    flush();
    return location.href;
  },
  // Calls `listener` after each change; returns a function that unsubscribes it.
  subscribe(listener) {
    listeners.add(listener);
    return () => listeners.delete(listener);
  },
};

let timer = null;
let seen = location.hash; // last hash set here; another value means a followed link whose hashchange is pending

function flush() {
  if (timer === null) return;
  clearTimeout(timer);
  timer = null;
  if (location.hash !== seen) return;
  if (written(view, values) !== location.hash) history.replaceState(null, "", written(view, values));
  seen = location.hash;
}

function tell() {
  for (const listener of [...listeners]) listener();
}

addEventListener("pagehide", flush);
addEventListener("hashchange", () => {
  clearTimeout(timer);
  timer = null;
  seen = location.hash;
  left.set(view, new URLSearchParams(values));
  read();
  tell();
});
read();
