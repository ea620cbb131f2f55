// An assembled prompt: the bar of its tokens by part, its text, its recalled records, and what was left out.

import { BLOCKS, DROPPED, short } from "./words.js";

const PARTS = ["policies", "preferences", "memories", "turns"];

// The bar: the share of the budget of each part, and the rest.
export function budgetBar({ dom: { h } }, blocks, trace) {
  const { tokens, budget_tokens: budget } = trace;
  const total = tokens.total ?? 0;
  const parts = PARTS.flatMap((name) => (tokens[name] ? [{ name, n: tokens[name], records: blocks.find((block) => block.name === name)?.ids.length ?? 0 }] : []));
  const said = parts.map(({ name, n }) => `${BLOCKS[name].toLowerCase()} ${n}`).join(", ");
  const share = (n) => `${Math.min(100, (100 * n) / Math.max(budget, total)).toFixed(2)}%`;
  return h("figure", { class: "budget" },
    h("div", { class: "segments", role: "img", "aria-label": `${total} of ${budget} tokens: ${said || "nothing"}, ${Math.max(0, budget - total)} left` },
      parts.map(({ name, n }) => h("i", { class: name, style: { "--share": share(n) } }))),
    h("figcaption", {}, h("strong", { class: "number" }, `${total} of ${budget} tokens`),
      parts.map(({ name, n, records }) => h("span", { class: "part" }, h("i", { class: name, "aria-hidden": "true" }), `${BLOCKS[name]} ${n}`, records > 0 && h("span", { class: "muted" }, ` (${records})`))),
      h("span", { class: "part" }, h("i", { class: "free", "aria-hidden": "true" }), `Free ${Math.max(0, budget - total)}`)));
}

// The text, with one colour for each part.
export function promptText({ dom: { h } }, blocks) {
  return h("div", { class: "prompt-text", tabindex: "0", role: "group", "aria-label": "The text of the prompt" }, blocks.map((block) => h("pre", { class: block.name }, block.text.trimEnd())));
}

// The recalled records, best first, with the outcome of each, and what was left out by reason. `texts`: by id.
export function recalledTable(view, trace, texts) {
  const { dom: { h }, state } = view;
  if (trace.retrieved.length === 0) return h("p", { class: "muted" }, "Nothing was recalled.");
  const dropped = new Map(trace.dropped);
  const excerpts = new Set(trace.excerpts);
  const yes = (hit) => h("strong", {}, excerpts.has(hit.id) ? "✓ in part" : "✓ yes");
  const reasons = [...new Set(dropped.values())];
  const text = (hit) => {
    const said = short(texts.get(hit.id) ?? hit.id, 160);
    return hit.kind === "note" ? said : h("button", { type: "button", class: "link", onclick: () => state.set({ record: hit.id }, { push: true }) }, said);
  };
  return h("div", { class: "recalled" },
    h("table", {}, h("thead", {}, h("tr", {}, ["What was recalled", "Kind", "Relevance", "In the prompt?"].map((name) => h("th", { scope: "col" }, name)))),
      h("tbody", {}, trace.retrieved.map((hit) => h("tr", { class: dropped.has(hit.id) ? "out" : "in" },
        h("td", { class: "wording" }, text(hit)), h("td", {}, hit.kind), h("td", {}, h("span", { class: `badge tier ${hit.tier}` }, hit.tier)),
        h("td", {}, dropped.has(hit.id) ? DROPPED[dropped.get(hit.id)]?.[0] ?? dropped.get(hit.id) : yes(hit)))))),
    reasons.map((reason) => h("p", { class: "hint" }, h("strong", {}, `${DROPPED[reason]?.[0] ?? reason}: `), DROPPED[reason]?.[1] ?? "")));
}
