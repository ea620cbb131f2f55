// The same question from two scopes, side by side: shared memories appear in both, private ones in one.

import { scopeText } from "../widgets.js";
import { keyOf, makeCards } from "./search-cards.js";
import { drawLines } from "./search-lines.js";

export function makeComparison(context) {
  const { dom: { h, svg, show } } = context;
  const cards = makeCards(context, { changed: () => {}, light });
  const lines = svg("svg", { class: "lines", "aria-hidden": "true" });
  const verdict = h("p", { class: "verdict" });
  const sides = ["one", "other"].map((name) => ({ title: h("h2", {}), note: h("span", { class: "hint number" }), list: h("ol", { class: "hits" }), name }));
  const board = h("div", { class: "columns two" }, lines, sides.map(({ title, note, list, name }) => h("section", { class: `column ${name}`, dataset: { kind: "both" } }, h("header", {}, title, note), list)));
  const element = h("div", {}, verdict, board);
  let pinned = null;

  function light(key, pin = false) {
    if (pin) pinned = pinned === key ? null : key;
    const lit = key ?? pinned;
    board.classList.toggle("dimmed", lit !== null);
    for (const item of board.querySelectorAll("[data-key]")) item.classList.toggle("lit", item.dataset.key === lit);
  }
  const draw = () => drawLines(lines, board, svg, ".one");
  const watching = new ResizeObserver(draw);

  function display(answers, question) {
    const scopes = [question.scope, question.other];
    const keys = answers.map((answer) => new Set(answer.hits.map(keyOf)));
    answers.forEach((answer, i) => {
      sides[i].title.textContent = `${scopeText(scopes[i])} sees`;
      sides[i].note.textContent = `${answer.took_us.toFixed(0)} µs`;
      show(sides[i].list, answer.hits.map((hit, place) => {
        const card = cards.full(hit, place + 1);
        if (keys[1 - i].has(keyOf(hit))) card.classList.add("shared");
        return card;
      }), answer.hits.length === 0 && h("li", { class: "hint" }, "Nothing is found."));
    });
    const names = scopes.map(scopeText);
    const seen = (scope, hit) => ["tenant", "user", "agent"].every((part) => hit.scope[part] === null || hit.scope[part] === (scope[part] ?? null));
    const strange = answers.flatMap((answer, i) => answer.hits.filter((hit) => !seen(scopes[i], hit)));
    const priv = answers.map((answer, i) => answer.hits.filter((hit) => !seen(scopes[1 - i], hit)).length);
    const shared = answers[0].hits.filter((hit) => seen(scopes[1], hit)).length;
    show(verdict, h("strong", {}, strange.length ? `${strange.length} memories are where they do not belong. ` : "Nothing crosses over. "),
      `Of what ${names[0]} finds, ${priv[0]} are hidden from ${names[1]} and ${shared} shared; of what ${names[1]} finds, ${priv[1]} are hidden from ${names[0]}.`);
    verdict.classList.toggle("bad", strange.length > 0);
    watching.observe(board);
    draw();
    context.announce(verdict.textContent);
  }

  return { element, show: display, leave: () => watching.disconnect() };
}
