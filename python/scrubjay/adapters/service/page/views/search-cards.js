// A memory as a card: its rank, its matching parts, why it was found, and its actions.

import { edit, mayChange, remove } from "../editing.js";
import { same } from "../scopes.js";

export const keyOf = ({ scope, id }) => JSON.stringify([scope.tenant, scope.user, scope.agent, id]);

const TIERS = { high: "clearly fits", standard: "fits", low: "fits little", none: "does not fit" };

// `changed()` is called after a memory was edited or deleted; `light(key)` when one is hovered, focused or pinned.
export function makeCards(context, { changed, light }) {
  const { dom: { h, show }, widgets, who, state } = context;
  const open = new Set(); // cards with open details, kept open in the next answer

  const marked = ({ snippet }) => [
    snippet.before && "… ",
    snippet.pieces.map(({ text, match }) => (match ? h("mark", { class: match }, text) : text)),
    snippet.after && " …",
  ];

  // The frame of a card, highlighted together with the cards of the same memory in other columns.
  function frame(memory, className, ...children) {
    const key = keyOf(memory);
    const item = h("li", { class: `hit ${className}`, dataset: { key } }, children);
    if (light) {
      item.addEventListener("pointerenter", () => light(key));
      item.addEventListener("pointerleave", () => light(null));
      item.addEventListener("focusin", () => light(key));
      item.addEventListener("focusout", () => light(null));
    }
    return item;
  }

  const rank = (place, memory, of) => (light
    ? h("button", { type: "button", class: "rank", "aria-label": `${of} ${place}: show ${memory.id} in all rankings`, onclick: () => light(keyOf(memory), true) }, place)
    : h("span", { class: "rank" }, place));

  // An entry of the ranking by words or by meaning.
  const slim = (hit, place, of, figure) => frame(hit, "slim", rank(place, hit, of), h("div", { class: "text" }, marked(hit)), h("span", { class: "score number" }, figure));

  // An entry of the fused ranking.
  function full(hit, place) {
    const body = h("div", { class: "body" },
      h("div", { class: "text" }, marked(hit)),
      h("div", { class: "meta" }, places(hit), facts(hit), more(hit)));
    return frame(hit, "full", rank(place, hit, "Fused"), body);
  }

  // A memory of a listing.
  const plain = (memory) => frame(memory, "full listed", h("div", { class: "body" },
    h("div", { class: "text" }, memory.text.length > 400 ? `${memory.text.slice(0, 400)} …` : memory.text),
    h("div", { class: "meta" }, facts(memory), more(memory))));

  const places = (hit) => [
    hit.identifier && h("span", { class: "badge identifier" }, "identifier"),
    h("span", { class: hit.lexical_rank === null ? "badge" : "badge words" }, hit.lexical_rank === null ? "no word" : `#${hit.lexical_rank} words`),
    h("span", { class: hit.vector_rank === null ? "badge" : "badge meaning" }, hit.vector_rank === null ? "not near" : `#${hit.vector_rank} meaning`),
  ];

  function facts(memory) {
    const { scope } = memory;
    // The owner is omitted if it is exactly the current scope.
    const whose = same(scope, state.scope()) ? null : scope.user || scope.agent ? widgets.scopeText({ ...scope, tenant: null }) : `all of ${scope.tenant}`;
    return [
      whose && h("span", { class: "badge plain" }, whose),
      typeof memory.metadata.category === "string" && h("span", { class: "badge plain" }, memory.metadata.category),
      memory.created_at && h("span", { class: "muted" }, widgets.day(memory.created_at)),
    ];
  }

  function more(memory) {
    const key = keyOf(memory);
    const details = h("details", { open: open.has(key), ontoggle: () => (details.open ? fillIn() : open.delete(key)) }, h("summary", {}, memory.snippet ? "Why" : "More"));
    const fillIn = () => {
      open.add(key);
      while (details.children.length > 1) details.lastChild.remove();
      details.append(evidence(memory), actions(memory));
    };
    if (open.has(key)) fillIn();
    return details;
  }

  function evidence(memory) {
    const row = (name, value) => value !== null && value !== undefined && value !== "" && [h("dt", {}, name), h("dd", {}, value)];
    const found = memory.snippet ? [
      row("By words", memory.bm25 === null ? "no word in common" : `BM25 ${memory.bm25.toFixed(2)}${memory.lexical_rank === null ? "" : `, place ${memory.lexical_rank}`}`),
      row("By meaning", memory.similarity === null ? null : `similarity ${memory.similarity.toFixed(3)}${memory.vector_rank === null ? "" : `, place ${memory.vector_rank}`}`),
      row("Identifier", memory.identifier ? "holds a rare identifier of the question verbatim, so it comes first" : null),
      row("Altogether", memory.relevance ? TIERS[memory.relevance] : null),
      row("Score", parts(memory)),
    ] : [];
    return h("dl", {}, found,
      row("Id", h("code", {}, memory.id)),
      row("Scope", widgets.scopeText(memory.scope)),
      row("Said", memory.created_at),
      row("Ends", memory.expires_at),
      Object.entries(memory.metadata).map(([name, value]) => row(name, typeof value === "string" ? value : JSON.stringify(value))));
  }

  // "4.57 = words 2.10 + meaning 2.47"
  function parts({ score, parts: given }) {
    const added = Object.entries(given ?? {}).filter(([name, value]) => name !== "final" && Math.abs(value) >= 0.005);
    return `${score.toFixed(2)}${added.length > 1 ? ` = ${added.map(([name, value]) => `${name} ${value.toFixed(2)}`).join(" + ")}` : ""}`;
  }

  function actions(memory) {
    const made = h("div", { class: "actions" });
    if (!mayChange(who, memory)) return show(made, h("p", { class: "hint" }, who.can.includes("write") ? "Shared with you: your token reads it, others write it." : "Your token reads, it does not write."));
    const act = (work) => async () => { if (await work(memory)) changed(); };
    return show(made,
      h("button", { type: "button", class: "small", onclick: act(edit), "aria-label": `Edit ${memory.id}` }, "Edit"),
      h("button", { type: "button", class: "small", onclick: act(remove), "aria-label": `Delete ${memory.id}` }, "Delete"));
  }

  return { slim, full, plain };
}
