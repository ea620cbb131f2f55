// The view #/memory: what is known of a scope as of a day, its prompts, recorded runs, and records to review.
//
// Parameters: part (known, prompt, runs or review), as_of and known_at (days), record (the id of the open record), run, budget,
// floor. `view` is shared by the parts: the context, and the scope's overview.

import { makeKnown } from "./memory/known.js";
import { makePrompt } from "./memory/prompt.js";
import { followRecord } from "./memory/record.js";
import { makeReview } from "./memory/review.js";
import { makeRuns } from "./memory/runs.js";
import { forget, tell } from "./memory/writing.js";
import { mayErase, mayWrite } from "./memory/rights.js";
import { makeTime } from "./memory/time.js";
import { counted } from "./memory/words.js";

const PARTS = { known: ["Known", makeKnown], prompt: ["Prompt", makePrompt], runs: ["Runs", makeRuns], review: ["Review", makeReview] };
const TIMES = 100;
let ended = null;

export function mount(root, context) {
  const { api, state, dom, widgets } = context;
  const { h, show } = dom;
  const title = h("h1", {});
  const summary = h("p", { class: "muted summary" });
  const tools = h("div", { class: "actions" });
  const parts = h("nav", { class: "parts", "aria-label": "Parts of the memory" });
  const place = h("div", { class: "part" });
  const head = h("header", { class: "memory-head" }, h("div", {}, title, summary), tools);

  let shown = null; // {name, scope, part}: the part in `place`
  let alive = true;
  let asked = 0;

  const view = { ...context, overview: null, most: Math.min(context.about?.max_k ?? 100, 100), reload, scope: () => state.scope() };
  const record = followRecord(view);

  const scopeKey = () => JSON.stringify(state.scope());
  const partName = () => (state.get("part") in PARTS ? state.get("part") : "known");

  // Follows the URL: reloads for another scope, mounts another part, or lets the current part follow.
  function follow() {
    if (state.view() !== "memory" || !state.scope().tenant) return;
    if (shown?.scope !== scopeKey()) return void reload();
    showParts();
    if (!view.overview) return;
    if (shown.name !== partName()) showPart();
    else shown.part.follow();
    record.follow();
  }

  // Reads the memory again, after a change or for another scope.
  async function reload() {
    const mine = ++asked;
    if (shown?.scope !== scopeKey()) {
      leave();
      shown = { name: null, scope: scopeKey(), part: null };
      view.overview = null;
      show(place, h("p", { class: "muted", role: "status" }, "Looking ..."));
    }
    showHead();
    showParts();
    try {
      const overview = await api.post("v1/memory/overview", { scope: state.scope(), limit: Math.min(TIMES, view.most) });
      if (!alive || mine !== asked) return;
      view.overview = overview;
    } catch (error) {
      if (alive && mine === asked) show(place, error.status === 404 ? noMemory() : widgets.failed(error, reload));
      return;
    }
    showHead();
    showPart();
    record.follow();
  }

  function showPart() {
    leave();
    shown.name = partName();
    showParts();
    if (isEmpty() && shown.name !== "review") {
      show(place, nothingYet());
      shown.part = { follow() {}, leave() {} };
      return;
    }
    const time = makeTime(view);
    const part = PARTS[shown.name][1](view, time);
    shown.part = { follow() { time.follow(); part.follow(); }, leave() { part.leave?.(); } };
    show(place, part.isTimed && time.element, part.element);
    shown.part.follow();
  }

  function leave() {
    shown?.part?.leave();
    if (shown) shown.part = null;
  }

  function showHead() {
    const scope = state.scope();
    title.textContent = `What is known of ${widgets.scopeText(scope)}`;
    summary.textContent = view.overview ? counted(view.overview) : "";
    const write = mayWrite(context.who, scope);
    const erase = mayErase(context.who);
    show(tools,
      h("button", { type: "button", disabled: write !== null, title: write, onclick: async () => { if (await tell(view)) reload(); } }, "Tell it something"),
      h("button", { type: "button", class: "quiet", disabled: erase !== null, title: erase, onclick: async () => { if (await forget(view)) reload(); } }, "Forget ..."));
    const reasons = [...new Set([write, erase].filter(Boolean))];
    if (reasons.length) tools.append(h("p", { class: "hint" }, reasons.join(" ")));
  }

  function showParts() {
    const waiting = view.overview ? ["fact", "policy"].reduce((sum, kind) => sum + (view.overview.counts[kind]?.provisional ?? 0), 0) : 0;
    show(parts, Object.entries(PARTS).map(([name, [label]]) => h("a", {
      href: state.href("memory", { part: name === "known" ? null : name, record: null }), "aria-current": partName() === name ? "page" : null,
    }, label, name === "review" && waiting > 0 && h("span", { class: "badge bad number", "aria-label": `${waiting} waiting` }, waiting))));
  }

  const isEmpty = () => view.overview.runs === 0 && Object.keys(view.overview.counts).length === 0;

  function nothingYet() {
    const scope = state.scope();
    const args = ["tenant", "user", "agent"].filter((name) => scope[name]).map((name) => `--${name} ${scope[name]}`).join(" ");
    return widgets.empty("Nothing is remembered here yet", `${widgets.scopeText(scope)} has no facts, preferences, policies, episodes or runs. Tell it something above, propose over HTTP or from Python, choose another scope, or:`,
      h("pre", { class: "code" }, `scrubjay memory add memories.scrubjay "Jane lives in Oslo" ${args}`));
  }

  function noMemory() {
    return widgets.empty("No typed memory is served here", "The service has an index without a file. With a file it has a memory beside the index:",
      h("pre", { class: "code" }, "scrubjay serve memories.scrubjay"));
  }

  show(root, head, parts, place);
  const stop = state.subscribe(follow);
  ended = () => {
    alive = false;
    stop();
    leave();
    record.close();
  };
  follow();
}

export function unmount() {
  ended?.();
  ended = null;
}
