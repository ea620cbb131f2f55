// The view #/search: a search with every keystroke, with both rankings and their fusion.
//
// Parameters: q, k, w (the weight of the words in percent; absent: the engine chooses) and vs (a second scope to compare with).

import { fusion } from "../code.js";
import { unpacked } from "../scopes.js";
import { makeColumns } from "./search-columns.js";
import { makeComparison } from "./search-compare.js";
import { makeControls } from "./search-controls.js";
import { makeStart } from "./search-start.js";

const K = 10;
const SLOW_US = 50_000;
const PAUSE_MS = 250;
let ended = null;

export function mount(root, context) {
  const { api, state, dom, widgets, about } = context;
  const { h, show } = dom;
  const place = h("div", { class: "answer" });
  const notices = h("div", { class: "notices" });
  const controls = makeControls(context, { ask: () => ask(), asked });
  const columns = makeColumns(context, { changed: () => ask() });
  const comparison = makeComparison(context);
  const start = makeStart(context);
  show(root, h("h1", { class: "unseen" }, "Search"), controls.element, notices, place);

  let running = false;
  let again = false;
  let alive = true;
  let slow = false;
  let shown = null; // the part in `place`

  // The question in the URL.
  function asked() {
    const weight = state.get("w");
    const share = Math.min(100, Math.max(0, Number(weight)));
    const k = Number.parseInt(state.get("k") ?? K, 10);
    return {
      text: (state.get("q") ?? "").trim(),
      scope: state.scope(),
      k: Number.isFinite(k) && k > 0 ? k : K,
      weight: weight === null || Number.isNaN(share) ? null : share / 100,
      other: state.get("vs") ? unpacked(state.get("vs")) : null,
    };
  }

  // One request runs at a time; changes meanwhile start another one after it, so answers arrive in order.
  async function ask() {
    if (running) {
      again = true;
      return;
    }
    running = true;
    place.setAttribute("aria-busy", "true");
    do {
      // A slow embedder (over a network) is not called with every keystroke.
      if (slow) await new Promise((resolve) => { setTimeout(resolve, PAUSE_MS); });
      again = false;
      await once(asked());
    } while (again && alive);
    running = false;
    place.setAttribute("aria-busy", "false");
  }

  async function once(question) {
    controls.follow(question);
    if (!question.scope.tenant) return;
    try {
      if (!question.text) {
        const found = await start.load(question);
        if (alive && !again) part(start, found, question);
        controls.rest();
        return;
      }
      const body = { text: question.text, k: Math.min(question.k, about.max_k), ...fusion(question.weight) };
      const sent = performance.now();
      const explain = (scope) => api.post("v1/explain", { ...body, scope });
      const [found, other] = await Promise.all([explain(question.scope), question.other?.tenant ? explain(question.other) : null]);
      if (!alive) return;
      slow = found.took_us > SLOW_US;
      controls.answered(found, performance.now() - sent);
      show(notices, remarks(context, question, found));
      if (other) part(comparison, [found, other], question);
      else part(columns, found, question);
    } catch (error) {
      if (!alive) return;
      shown?.leave?.();
      shown = null;
      controls.rest();
      show(notices);
      show(place, widgets.failed(error, ask));
      context.announce(error.message, { urgent: true });
    }
  }

  // Shows an answer in a part of the view, which is reused for the next answer.
  function part(wanted, found, question) {
    if (wanted === start) show(notices);
    if (shown !== wanted) {
      shown?.leave?.();
      show(place, wanted.element);
      shown = wanted;
    }
    wanted.show(found, question);
  }

  const stop = state.subscribe(ask);
  ended = () => {
    alive = false;
    stop();
    shown?.leave?.();
    controls.leave();
  };
  ask();
}

export function unmount() {
  ended?.();
  ended = null;
}

// Remarks on an answer: degraded searches, corrected words, no relevant hits.
function remarks({ dom: { h }, about }, question, found) {
  const said = [];
  if (question.k > about.max_k) said.push(["bad", `This service gives ${about.max_k} hits at most; ${question.k} were asked for.`]);
  for (const [typed, meant] of Object.entries(found.corrections)) said.push(["", `Searched for “${meant}” in place of “${typed}”.`]);
  for (const reason of found.degraded) {
    const [name, text] = [reason.slice(0, Math.max(0, reason.indexOf(":"))), reason.slice(reason.indexOf(":") + 1).trim()];
    said.push(["bad", name === "no_embedder" ? "Words only: this index has no embedder, so nothing is found by its meaning. Start the service with --embedder." : text]);
  }
  if (found.hits[0]?.relevance === "none") said.push(["", "Little speaks for any of these: perhaps no memory answers the question."]);
  return said.map(([kind, text]) => h("p", { class: `notice ${kind}` }, text));
}
