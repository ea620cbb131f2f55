// The shell: tabs, scope, theme, token, and the view named by the URL.
//
// A view is a module in views/ with mount(root, context) and unmount(). It is mounted into an empty element when the caller is
// known and a tenant is chosen; context = {api, state, dom, widgets, announce, who, about}. It subscribes to state itself, and is
// mounted again only for another view or token.

import { api } from "./api.js";
import * as dom from "./dom.js";
import { add } from "./editing.js";
import { chooseScope, given, listScopes, same } from "./scopes.js";
import { state } from "./state.js";
import * as widgets from "./widgets.js";
import * as search from "./views/search.js";
import * as map from "./views/map.js";
import * as memory from "./views/memory.js";

const { h, show } = dom;
const VIEWS = { search: [search, "Search"], map: [map, "Map"], memory: [memory, "Memory"] };
const main = document.getElementById("main");

let who = null;
let about = null;
let mounted = null; // [module, name]

function unmount() {
  if (mounted) mounted[0].unmount();
  mounted = null;
}

function tabs() {
  const made = Object.entries(VIEWS).map(([name, [, title]]) =>
    h("a", { href: state.href(name), "aria-current": state.view() === name ? "page" : null }, title));
  show(document.getElementById("tabs"), made);
}

// ---------------------------------------------------------------- tools: scope and theme

const counted = h("span", { class: "badge accent number" });
const named = h("span", { class: "name" });
const scopeButton = h("button", { type: "button", class: "scope", hidden: true, onclick: async () => {
  const chosen = await chooseScope({
    title: "Whose memories?", hint: "A search sees what the scope owns and what is shared with it; nothing else, not even as statistics.",
    current: state.scope(), who,
  });
  if (chosen) state.set({ tenant: null, user: null, agent: null, ...chosen }, { push: true });
} }, named, counted);

let countedScope = null;

// Shows the scope and the number of memories visible to a search from it.
async function showScope() {
  const scope = state.scope();
  scopeButton.hidden = !who || !scope.tenant;
  if (scopeButton.hidden || (countedScope && same(scope, countedScope))) return;
  countedScope = scope;
  named.textContent = widgets.scopeText(scope);
  counted.textContent = "";
  scopeButton.setAttribute("aria-label", `Scope: ${named.textContent}. Choose another`);
  try {
    const { count } = await api.post("v1/count", { scope });
    if (same(scope, state.scope())) counted.textContent = count.toLocaleString();
  } catch {
    // The view shows the error.
  }
}

function themeButton() {
  const root = document.documentElement;
  const isDark = () => (root.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  const button = h("button", { type: "button", class: "icon", onclick: () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    try {
      localStorage.setItem("scrubjay-theme", root.dataset.theme);
    } catch {
      // The theme then lasts until the page is closed.
    }
    label();
  } });
  const label = () => {
    button.textContent = isDark() ? "☀" : "☾";
    button.setAttribute("aria-label", isDark() ? "Use light colours" : "Use dark colours");
  };
  label();
  return button;
}

// ---------------------------------------------------------------- before a view: token, tenant, an empty index

function askForToken(error) {
  unmount();
  const made = "Whoever runs it makes one: scrubjay serve --tokens FILE --add-token NAME --tenant TENANT";
  const input = h("input", { type: "password", id: "token", autocomplete: "off", required: true, placeholder: "sj_...", "aria-describedby": "token-why" });
  const form = h("form", { class: "panel token", onsubmit: (event) => {
    event.preventDefault();
    api.setToken(input.value);
    start();
  } },
    h("h1", {}, "A token, please"),
    h("p", { id: "token-why" }, api.hasToken() ? "The service does not know this token. " : "This service asks for a token. ", made),
    h("label", {}, "Token", input),
    h("p", { class: "hint" }, "It stays in this page: it is not stored, and not part of any link."),
    h("button", { class: "primary" }, "Open"));
  show(main, form);
  input.focus();
  if (api.hasToken()) widgets.announce(error.message, { urgent: true });
}

function showEmptyIndex() {
  const addFirst = h("button", { type: "button", class: "primary", onclick: async () => {
    const scope = await chooseScope({ title: "Whose memory is it?", current: null, who });
    if (scope && await add(scope)) {
      state.set(scope);
      start();
    }
  } }, "Add the first memory");
  show(main, widgets.empty("This index is empty", "Fill it from the command line, over HTTP, or here.",
    h("pre", { class: "code" }, "scrubjay add memories.scrubjay notes/ --tenant acme --user jane\nscrubjay serve --demo   # 351 memories to look at"), addFirst));
}

// The scope to use if the URL names no tenant: that of an example, or the first scope.
function proposedScope(scopes) {
  const votes = (example) => about.examples.filter(({ scope }) => same(scope, example.scope)).length;
  const best = [...about.examples].sort((one, other) => votes(other) - votes(one))[0];
  const found = best?.scope ?? scopes.find((scope) => scope.user) ?? scopes[0];
  return found ? given(found) : null;
}

// ---------------------------------------------------------------- routing

// Shows the view named by the URL, if it is not shown already.
function route() {
  tabs();
  showScope();
  if (!who || !state.scope().tenant) return;
  const name = Object.hasOwn(VIEWS, state.view()) ? state.view() : "search";
  if (mounted?.[1] === name) return;
  unmount();
  const root = h("div", { class: `view view-${name}` });
  show(main, root);
  const [view, title] = VIEWS[name];
  document.title = `${title} · Scrubjay`;
  mounted = [view, name];
  view.mount(root, { api, state, dom, widgets, announce: widgets.announce, who, about });
}

async function start() {
  unmount();
  countedScope = null;
  const isFresh = location.hash.length < 2;
  let known;
  try {
    [who, about, known] = await Promise.all([api.get("v1/whoami"), api.get("v1/about"), listScopes()]);
  } catch (error) {
    who = null;
    if (error.status === 401) askForToken(error);
    else show(main, widgets.failed(error, start));
    return;
  }
  // Parts that the token is bound to need no choice.
  state.set(given(who));
  if (!state.scope().tenant) {
    const proposed = proposedScope(known.scopes);
    if (proposed) state.set(proposed);
    else return showEmptyIndex();
  }
  // A file written only through Memory has nothing to search: open it on the memory view.
  const here = known.scopes.find((scope) => same(given(scope), state.scope()));
  if (isFresh && here?.memory && here.visible === 0) location.hash = state.href("memory");
  show(document.getElementById("foot"), `Scrubjay ${about.version} · ${about.embedder ?? "no embedder, words only"} · `, h("a", { href: "openapi.json" }, "OpenAPI"));
  route();
}

show(document.getElementById("tools"), scopeButton, themeButton());
state.subscribe(route);
// Dialogs belong to what was shown: following a link or going back closes them. The dialog of a record is part of the URL, and is
// opened and closed by its view.
addEventListener("hashchange", () => document.querySelectorAll("dialog[open]:not(.record)").forEach((dialog) => dialog.close()));
tabs();
start();
