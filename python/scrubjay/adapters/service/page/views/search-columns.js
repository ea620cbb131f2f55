// Three rankings side by side, with a line from each fused memory to its ranks by words and by meaning.

import { keyOf, makeCards } from "./search-cards.js";
import { drawLines } from "./search-lines.js";
import { moveFrom, placesOf } from "./search-motion.js";

export function makeColumns(context, { changed }) {
  const { dom: { h, svg, show }, widgets, state } = context;
  let pinned = null;
  let hovered = null;
  const cards = makeCards(context, { changed, light });

  const list = (className) => h("ol", { class: `hits ${className}` });
  const words = { list: list("words"), beyond: h("div", { class: "beyond", "aria-hidden": "true" }), note: h("p", { class: "hint" }) };
  const meaning = { list: list("meaning"), beyond: h("div", { class: "beyond", "aria-hidden": "true" }), note: h("p", { class: "hint" }) };
  const fused = { list: list("fused"), note: h("p", { class: "hint" }) };
  const lines = svg("svg", { class: "lines", "aria-hidden": "true" });
  const column = (className, title, sub, { list, beyond, note }) => h("section", { class: `column ${className}`, "aria-label": title },
    h("header", {}, h("h2", {}, title), h("span", { class: "hint" }, sub)), note, list, beyond);
  // The fused ranking first: it is the answer, and on a phone it is on top.
  const element = h("div", { class: "columns" }, lines,
    column("fused", "Fused", "both, as one ranking", fused), column("words", "Words", "BM25", words), column("meaning", "Meaning", "similarity of vectors", meaning));

  // Highlights a memory in all columns; a pinned one stays highlighted until it is unpinned or another is pinned.
  function light(key, pin = false) {
    if (pin) pinned = pinned === key ? null : key;
    else hovered = key;
    const lit = hovered ?? pinned;
    element.classList.toggle("dimmed", lit !== null);
    for (const item of element.querySelectorAll("[data-key]")) item.classList.toggle("lit", item.dataset.key === lit);
    for (const button of element.querySelectorAll("button.rank")) button.setAttribute("aria-pressed", String(button.closest("[data-key]").dataset.key === pinned));
  }

  function draw() {
    drawLines(lines, element, svg);
    light(hovered);
  }
  const watching = new ResizeObserver(draw);

  function display(found) {
    const before = placesOf(element);
    hovered = null;
    show(fused.list, found.hits.map((hit, i) => cards.full(hit, i + 1)));
    show(words.list, found.lexical.map((hit, i) => cards.slim(hit, i + 1, "By words", hit.score.toFixed(2))));
    show(meaning.list, found.vector.map((hit, i) => cards.slim(hit, i + 1, "By meaning", hit.score.toFixed(3))));
    beyond(words, found.hits, found.lexical, (hit) => hit.lexical_rank);
    beyond(meaning, found.hits, found.vector, (hit) => hit.vector_rank);
    words.note.textContent = found.lexical.length ? "" : "No memory in sight has a word of the question.";
    meaning.note.textContent = found.vector.length ? "" : found.degraded.length ? "Nothing can be found by meaning here." : "No memory in sight has a vector.";
    fused.note.textContent = found.hits.length ? "" : `Nothing is found for ${widgets.scopeText(state.scope())}. Try fewer or other words, or another scope.`;
    watching.observe(element);
    moveFrom(before, element, draw);
    draw();
    context.announce(`${found.hits.length} found${found.hits.length ? `, first: ${found.hits[0].text.slice(0, 120)}` : ""}`);
  }

  // Below a column: the ranks of fused memories that are further down in it.
  function beyond({ beyond: row, list: shown }, hits, ranked, rankOf) {
    const there = new Set(ranked.map(keyOf));
    const further = hits.filter((hit) => rankOf(hit) !== null && !there.has(keyOf(hit))).sort((one, other) => rankOf(one) - rankOf(other));
    show(row, further.map((hit) => h("span", { class: "pill number", dataset: { key: keyOf(hit) } }, `#${rankOf(hit)}`)));
    shown.classList.toggle("goes-on", further.length > 0);
  }

  return { element, show: display, leave: () => watching.disconnect() };
}
