// Before the first question: proposed questions, and the latest memories.

import { given, listScopes, same } from "../scopes.js";
import { makeCards } from "./search-cards.js";
import { add } from "../editing.js";

const N_NEWEST = 12;
const N_NEAR = 5;

export function makeStart(context) {
  const { api, state, dom: { h, show }, widgets, about, who } = context;
  const cards = makeCards(context, { changed: () => reload() });
  const element = h("div", { class: "start" });
  let last = null;

  async function load({ scope }) {
    const listed = await api.post("v1/list", { scope, limit: Math.min(N_NEWEST, about.max_k) });
    const known = listed.memories.length === 0 || scope.user || scope.agent ? (await listScopes()).scopes : [];
    return { listed, known };
  }

  async function reload() {
    if (last) display(await load(last), last);
  }

  function display({ listed, known }, question) {
    last = question;
    const { scope } = question;
    const here = about.examples.filter((example) => example.scope.tenant === scope.tenant);
    const others = known.filter((one) => !same(one, scope));
    const isKnown = known.some((one) => same(one, scope)) || !(scope.user || scope.agent);
    const addOne = who.can.includes("write") && h("button", { type: "button", onclick: async () => { if (await add(scope)) reload(); } }, "Add a memory");
    show(element,
      !isKnown && listed.memories.length > 0 && h("p", { class: "notice" }, `Nothing is stored for ${widgets.scopeText(scope)} itself; it sees what is shared. `, nearby(others, scope)),
      here.length > 0 && h("section", { class: "examples" }, h("h2", {}, "Worth asking"), h("div", { class: "grid" }, here.map(example))),
      listed.memories.length > 0
        ? h("section", {}, h("div", { class: "heading" }, h("h2", {}, "Written last"), addOne), h("ul", { class: "hits newest" }, listed.memories.map((memory) => cards.plain(memory))))
        : widgets.empty(`Nothing to see from ${widgets.scopeText(scope)}`, "No memory has this scope, and none is shared with it. Check the spelling, choose another scope, or add a memory.",
          nearby(others, scope), addOne || null));
  }

  function example({ title, text, scope, shows }) {
    return h("button", { type: "button", class: "example", onclick: () => state.set({ user: null, agent: null, ...given(scope), q: text }, { push: true }) },
      h("span", { class: "title" }, title), h("span", { class: "question" }, text), h("span", { class: "hint" }, shows), h("span", { class: "badge" }, widgets.scopeText(scope)));
  }

  // Similar scopes: those whose names begin alike come first.
  function nearby(others, scope) {
    const sought = (scope.user ?? scope.agent ?? scope.tenant)[0].toLowerCase();
    const near = (one) => Number(one.tenant === scope.tenant) + 2 * Number((one.user ?? one.agent ?? one.tenant).toLowerCase().startsWith(sought));
    const found = [...others].sort((one, other) => near(other) - near(one)).slice(0, N_NEAR);
    return found.map((one) => h("button", { type: "button", class: "small", onclick: () => state.set({ user: null, agent: null, ...given(one) }, { push: true }) },
      widgets.scopeText(one), h("span", { class: "muted number" }, one.own.toLocaleString())));
  }

  return { element, load, show: display };
}

