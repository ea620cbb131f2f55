// The part "Prompt": the prompt that would be assembled for a question, its budget, and what was left out.

import { budgetBar, promptText, recalledTable } from "./budget.js";

const BUDGET = 500;
const K = 20;
const FLOORS = { none: "none: all of it goes in", low: "low", standard: "standard", high: "high" };

export function makePrompt(view, time) {
  const { api, state, dom, widgets, about } = view;
  const { h, show } = dom;
  const question = h("input", { type: "search", placeholder: "What does the user ask?", autocomplete: "off", maxlength: 20_000 });
  const budget = h("input", { type: "range", min: 50, max: 2000, step: 5, "aria-label": "Budget in tokens" });
  const number = h("input", { type: "number", min: 1, max: 1_000_000, class: "number", "aria-label": "Budget in tokens, as a number" });
  const floor = h("select", {}, Object.entries(FLOORS).map(([name, label]) => h("option", { value: name }, label)));
  const place = h("div", { "aria-live": "polite" });
  const element = h("div", { class: "prompt" }, h("form", { class: "panel asks", onsubmit: (event) => event.preventDefault() },
    h("label", { class: "asked-for" }, "Question", question),
    h("div", { class: "field" }, h("span", { class: "label", "aria-hidden": "true" }, "Budget, in tokens"), h("div", { class: "pair" }, budget, number)),
    h("label", {}, h("span", {}, "Floor ", h("span", { class: "hint" }, "how relevant the best must be")), floor)), place);

  question.addEventListener("input", () => state.set({ q: question.value }));
  budget.addEventListener("input", () => state.set({ budget: budget.value }));
  number.addEventListener("change", () => state.set({ budget: number.value }));
  floor.addEventListener("change", () => state.set({ floor: floor.value === "standard" ? null : floor.value }));

  let asked = 0;
  let last = null;
  let timer = null;

  const wanted = () => ({
    text: (state.get("q") ?? "").trim(),
    budget_tokens: Number.parseInt(state.get("budget") ?? BUDGET, 10) || BUDGET,
    floor: state.get("floor") in FLOORS ? state.get("floor") : "standard",
  });

  async function load() {
    const mine = ++asked;
    const { text, ...limits } = wanted();
    if (!text) return show(place, start());
    const body = { scope: state.scope(), text, k: Math.min(K, view.most), ...time.asked() };
    try {
      const [made, recalled] = await Promise.all([api.post("v1/memory/assemble", { ...body, ...limits }), api.post("v1/memory/recall", body)]);
      if (mine === asked) render(made, new Map(recalled.hits.map((hit) => [hit.id, hit.text])));
    } catch (error) {
      if (mine === asked) show(place, error.code === "over_budget" ? tooSmall(error) : widgets.failed(error, load));
    }
  }

  function render(made, texts) {
    const { trace } = made;
    const inside = trace.retrieved.length - trace.dropped.length;
    show(place,
      budgetBar(view, made.blocks, trace),
      trace.degraded.length > 0 && h("p", { class: "hint" }, `Less ran than usual: ${trace.degraded.join("; ")}`),
      inside === 0 && h("p", { class: "panel remark" }, "Nothing that is remembered answers this question, so nothing is put into the prompt. Lower the floor to have it anyway."),
      h("div", { class: "both-sides" },
        h("section", {}, h("h2", {}, "The prompt"), made.blocks.length ? promptText(view, made.blocks) : h("p", { class: "muted" }, "It is empty."),
          h("div", { class: "actions" }, widgets.copyButton("Copy the prompt", () => made.text, { class: "small" }), h("span", { class: "hint mono" }, `sha256 ${made.sha256.slice(0, 12)}`)),
          made.prefix && h("p", { class: "hint" }, `Its first ${new TextEncoder().encode(made.prefix).length} bytes stay the same from turn to turn while policies and preferences do, so a model server can cache them.`)),
        h("section", {}, h("h2", {}, "What was recalled ", h("span", { class: "badge number" }, `${inside} of ${trace.retrieved.length} went in`)), recalledTable(view, trace, texts))));
  }

  function tooSmall(error) {
    const needed = /need (\d+)/.exec(error.message)?.[1];
    return widgets.empty("The budget is too small", `${error.message}.`, needed && h("button", { type: "button", class: "primary", onclick: () => state.set({ budget: String(Number(needed) + 100) }) }, `Make it ${Number(needed) + 100} tokens`));
  }

  function start() {
    const scope = state.scope();
    const fitting = (about?.examples ?? []).filter((example) => example.scope.tenant === scope.tenant && (example.scope.user ?? undefined) === scope.user);
    return widgets.empty("What would the model be told?", "Type a question. Policies and preferences stand first and whole; then what is remembered and has to do with it, as far as the budget goes.",
      fitting.slice(0, 4).map((example) => h("button", { type: "button", onclick: () => state.set({ q: example.text }) }, example.text)));
  }

  return {
    element,
    isTimed: true,
    follow() {
      const { text, budget_tokens: tokens, floor: chosen } = wanted();
      if (question.value.trim() !== text) question.value = text;
      budget.value = tokens;
      if (document.activeElement !== number) number.value = tokens;
      floor.value = chosen;
      const key = JSON.stringify([text, tokens, chosen, time.days()]);
      if (key === last) return;
      clearTimeout(timer);
      timer = setTimeout(load, last === null ? 0 : 120);
      last = key;
    },
    leave() {
      clearTimeout(timer);
      asked += 1;
    },
  };
}
