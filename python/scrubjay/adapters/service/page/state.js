// What is shown, in the URL: #/search?tenant=acme&user=jane&q=... . A link to it shows the same to a colleague, who needs a token
// of their own. Tenant, user, agent and q are common to all views; every other name is of one view.

const SHARED = ["tenant", "user", "agent", "q"];
const listeners = new Set();
const left = new Map(); // the parameters of a view that was left

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
  // The name of the view: "search".
  view: () => view,
  // A parameter, or `otherwise`.
  get: (name, otherwise = null) => values.get(name) ?? otherwise,
  // {tenant, user, agent}: what is not chosen is left out, as requests want it.
  scope: () => Object.fromEntries(SHARED.slice(0, 3).flatMap((part) => (values.get(part) ? [[part, values.get(part)]] : []))),
  // Changes parameters (null or "" removes one) and tells the listeners; `push` makes an entry in the history.
  set(changes, { push = false } = {}) {
    const changed = new URLSearchParams(values);
    for (const [name, value] of Object.entries(changes)) {
      if (value === null || value === undefined || value === "") changed.delete(name);
      else changed.set(name, value);
    }
    if (changed.toString() === values.toString()) return;
    if (push) flush(); // what was shown until now belongs to the entry that is left
    values = changed;
    if (push) {
      history.pushState(null, "", written(view, values));
      seen = location.hash;
    } else {
      // Browsers refuse to have the address changed with every keystroke.
      timer ??= setTimeout(flush, 200);
    }
    tell();
  },
  // The link to a view: with what is common, and what that view had when it was left.
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
  // The whole link to what is shown now.
  link() {
    flush();
    return location.href;
  },
  // Calls `listener` after each change; returns what ends that.
  subscribe(listener) {
    listeners.add(listener);
    return () => listeners.delete(listener);
  },
};

let timer = null;
let seen = location.hash; // by this module; any other is a link that was followed, of which hashchange has yet to tell

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
