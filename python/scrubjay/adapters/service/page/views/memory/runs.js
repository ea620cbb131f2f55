// The part "Runs": recorded runs, their turns, and their prompts rebuilt from the trace.

import { budgetBar, promptText, recalledTable } from "./budget.js";
import { dayText, short, textOf } from "./words.js";

const AUTHORS = { user: "user", model: "model", tool: "tool" };

export function makeRuns(view) {
  const { api, state, dom, widgets } = view;
  const { h, show } = dom;
  const list = h("nav", { class: "run-list", "aria-label": "Recorded runs" });
  const place = h("div", { class: "replay" });
  const element = h("div", { class: "runs" }, list, place);
  let names = null;
  let last = null;
  let asked = 0;

  async function load() {
    const mine = ++asked;
    try {
      names ??= (await api.post("v1/memory/sessions/list", { scope: state.scope() })).runs;
      if (mine !== asked) return;
      const run = state.get("run") ?? names.at(-1) ?? null;
      showNames(run);
      if (names.length === 0) return show(place, widgets.empty("No run is recorded here", "A session records the turns of a conversation and every prompt, so that each can be made again:",
        h("pre", { class: "code" }, "with memory.session(scope, \"chat-7\") as session:\n    session.user(\"Where does Jane live?\")\n    prompt = session.assemble(budget_tokens=500)")));
      show(place, h("p", { class: "muted", role: "status" }, "Replaying ..."));
      const [told, first] = await Promise.all([api.post("v1/memory/sessions/events", { scope: state.scope(), run }), replay(run, 0)]);
      if (mine !== asked) return;
      render(run, told.events, first);
    } catch (error) {
      if (mine !== asked) return;
      show(place, error.status === 404 ? widgets.empty("No run of this name is recorded", "What a record calls its run may be an import or a chat of which no trace was kept. Those that were recorded are on the list.") : widgets.failed(error, load));
    }
  }

  const replay = (run, after) => api.post("v1/memory/sessions/replay", { scope: state.scope(), run, after, limit: Math.min(20, view.most) });

  function showNames(run) {
    show(list, names.length > 0 && h("h2", {}, "Runs"), h("ul", {}, [...names].reverse().map((name) => h("li", {},
      h("a", { href: state.href("memory", { run: name }), "aria-current": name === run ? "true" : null }, name)))));
  }

  function render(run, events, first) {
    const prompts = new Map();
    const verdict = h("p", { class: "replay-verdict" });
    const turns = h("ol", { class: "turns" });
    const more = h("div", { class: "actions" });
    const retracted = new Set(events.filter((event) => event.kind === "retraction").map((event) => event.data.retracts));
    const nPrompts = events.filter((event) => event.kind === "prompt").length;
    // Adds a page of rebuilt prompts.
    const take = ({ prompts: some, next_after: next }) => {
      for (const prompt of some) prompts.set(prompt.seq, prompt);
      const same = [...prompts.values()].filter((prompt) => prompt.faithful).length;
      show(verdict, nPrompts === 0 ? "No prompt was made in this run."
        : [h("strong", { class: same === prompts.size ? "good" : "bad" }, `${same === prompts.size ? "✓" : "✗"} ${same} of ${prompts.size} prompts`),
          ` made again from the trace ${same === prompts.size ? "are the same, byte for byte" : "are the same; the others were counted by another tokenizer, or a turn in them is past its retention"}.`,
          prompts.size < nPrompts && ` ${nPrompts - prompts.size} were not made again yet.`]);
      show(turns, events.map((event) => (event.kind === "prompt" ? promptItem(prompts.get(event.seq), event) : turnItem(event, retracted.has(event.seq)))));
      show(more, next !== null && h("button", { type: "button", onclick: async () => take(await replay(run, next)) }, "Make the next prompts again"));
    };
    show(place, h("h2", {}, run), h("p", { class: "muted" }, `${events.length} events${events.length ? `, ${dayText(events[0].at)}` : ""}`), verdict, turns, more);
    take(first);
  }

  function turnItem(event, isRetracted) {
    if (event.kind === "retraction") return h("li", { class: "turn note" }, h("p", { class: "hint" }, `Event ${event.data.retracts} was taken back${event.content ? `: ${event.content}` : "."}`));
    return h("li", { class: `turn ${AUTHORS[event.kind] ?? "tool"}` }, h("span", { class: "hint" }, event.author === event.kind ? event.kind : `${event.kind}, ${event.author}`),
      h(isRetracted ? "s" : "p", { class: "says" }, event.content));
  }

  function promptItem(prompt, event) {
    if (!prompt) return h("li", { class: "turn prompt-made" }, h("p", { class: "hint" }, `Prompt of turn ${event.turn}: not made again yet.`));
    const texts = new Map(Object.values(event.data.pieces).flat().map(([, id, text]) => [id, text]));
    const table = h("div", {}, recalledTable(view, prompt.trace, texts));
    let read = false;
    const details = h("details", { ontoggle: async () => {
      if (!details.open || read) return;
      read = true;
      await readTexts(prompt.trace, texts);
      show(table, recalledTable(view, prompt.trace, texts));
    } },
      h("summary", {}, h("span", {}, `Prompt of turn ${prompt.turn}`), h("span", { class: "muted number" }, `${prompt.trace.tokens.total ?? 0} of ${prompt.trace.budget_tokens} tokens`),
        h("span", { class: `badge ${prompt.faithful ? "good" : "bad"}` }, prompt.faithful ? "✓ same bytes" : "✗ not the same"), h("code", { class: "muted" }, prompt.recorded_sha256.slice(0, 12))),
      budgetBar(view, prompt.blocks, prompt.trace),
      prompt.text === null ? h("p", { class: "hint" }, "It cannot be made again: as tokens are counted here, its policies and preferences are over its budget.") : promptText(view, prompt.blocks),
      h("h3", {}, `What was retrieved for "${short(prompt.trace.query, 100)}"`), table);
    return h("li", { class: "turn prompt-made" }, details);
  }

  // The trace has the texts of a prompt; records that were left out are read in their current state.
  async function readTexts(trace, texts) {
    await Promise.all(trace.retrieved.filter((hit) => !texts.has(hit.id)).map(async (hit) => {
      try {
        const found = hit.kind === "note" ? await api.get(api.path`v1/memories/${hit.id}`, state.scope()) : (await api.get(api.path`v1/memory/records/${hit.id}`, state.scope())).record;
        texts.set(hit.id, textOf(found));
      } catch {
        texts.set(hit.id, `${hit.id} (deleted since)`);
      }
    }));
  }

  return {
    element,
    isTimed: false,
    follow() {
      const key = state.get("run") ?? "";
      if (key === last) return;
      last = key;
      load();
    },
    leave() {
      asked += 1;
    },
  };
}
