// Dialogs that change the memory: each describes the change, asks, and shows errors in place. A dialog resolves to "done", to
// "gone" (the record does not exist any more) or to null.

import { scopeOf } from "./rights.js";
import { KINDS, short, textOf } from "./words.js";

// Proposes a fact to the memory, through the gate.
export const tell = (view) => ask(view, {
  title: "Tell it something", note: `A fact of ${view.widgets.scopeText(view.scope())}. It passes the gate: what it contradicts is superseded, what is known already is not written twice.`,
  fields: [
    { name: "content", label: "The fact, in a sentence", area: true, required: true, placeholder: "Jane lives in Oslo" },
    { name: "subject", label: "Subject", placeholder: "Jane", hint: "Subject and predicate together are its slot: only facts of one slot can contradict each other." },
    { name: "predicate", label: "Predicate", placeholder: "lives in" },
  ],
  action: "Propose",
  async send({ content, subject, predicate }) {
    const given = await view.api.post("v1/memory/propose", { scope: view.scope(), source: "page", candidates: [{ content, subject, predicate }] });
    const [outcome] = given.outcomes;
    if (outcome.status === "rejected") throw new Error(`The gate refused it. ${outcome.reason}`);
    return { superseded: "Written; it took the place of an earlier fact.", deduplicated: "That was known already." }[outcome.status] ?? (outcome.active ? "Written." : `Written, but not in force yet: ${outcome.reason}`);
  },
});

export const editRecord = (view, record) => ask(view, {
  title: `Edit this ${KINDS[record.kind]}`, note: "It is changed in place: its previous text is deleted, and no search finds it. To say that something has changed in the world, tell it a new fact instead.",
  fields: {
    fact: [{ name: "content", label: "Text", area: true, required: true, value: record.content }, { name: "confidence", label: "Confidence, 0 to 1", type: "number", min: 0, max: 1, step: "any", value: record.confidence, required: true }],
    preference: [{ name: "text", label: "Text", area: true, required: true, value: record.text }],
    episode: [{ name: "title", label: "Title", value: record.title }, { name: "summary", label: "Summary", area: true, required: true, value: record.summary }, { name: "outcome", label: "Outcome", required: true, value: record.outcome }],
  }[record.kind],
  action: "Save",
  async send(values) {
    const changes = Object.fromEntries(Object.entries(values).filter(([name, value]) => String(value) !== String(record[name] ?? "")));
    if (Object.keys(changes).length === 0) throw new Error("Nothing was changed.");
    await view.api.patch(where(view, record), { ...changes, scope: scopeOf(record) });
    return "Saved.";
  },
});

export const revoke = (view, record) => ask(view, {
  title: `Revoke this ${KINDS[record.kind]}?`, quote: textOf(record),
  note: `It is out of force at once, for good, and stays to be asked about.${record.kind === "fact" ? " What it had superseded is in force again." : ""}`,
  fields: [{ name: "reason", label: "Why?", required: true, placeholder: "she never said that" }],
  action: "Revoke", danger: true,
  async send({ reason }) {
    await view.api.post(`${where(view, record)}/revoke`, { reason, scope: scopeOf(record) });
    return "Revoked.";
  },
});

export const confirmRecord = (view, record) => ask(view, {
  title: `Confirm this ${KINDS[record.kind]}?`, quote: textOf(record), note: `It is in force then, for all of ${scopeOf(record).tenant}, and says that ${view.who.name} confirmed it.`,
  fields: [], action: "Confirm",
  async send() {
    await view.api.post(`${where(view, record)}/confirm`, { scope: scopeOf(record) });
    return "Confirmed.";
  },
});

export const removeRecord = (view, record) => ask(view, {
  title: `Delete this ${KINDS[record.kind]}?`, quote: textOf(record), note: "It goes with everything that is known about it, and cannot be brought back. To say that it is wrong but keep that it was said, revoke it.",
  fields: [], action: "Delete", danger: true, result: "gone",
  async send() {
    await view.api.delete(where(view, record), scopeOf(record));
    return "Deleted.";
  },
});

// Erases a whole scope, after its name was typed.
export function forget(view) {
  const scope = view.scope();
  const name = view.widgets.scopeText(scope);
  const everybody = scope.user || scope.agent ? "" : ", of all its users and agents";
  return ask(view, {
    title: `Forget everything of ${name}?`,
    note: `Every fact, preference, policy, episode, run and note${everybody} is erased in one transaction, in every collection. What others share with ${scope.user ?? scope.agent ?? name} stays. This cannot be undone.`,
    fields: [
      { name: "reason", label: "Why?", required: true, placeholder: "she asked for it" },
      { name: "name", label: `Type "${name}" to go on`, required: true, autocomplete: "off" },
    ],
    action: "Forget", danger: true,
    async send({ reason, name: typed }) {
      if (typed.trim() !== name) throw new Error(`Expected "${name}", got "${typed}".`);
      const { counts } = await view.api.post("v1/memory/forget", { scope, reason });
      const said = Object.entries(counts).filter(([, n]) => n > 0).map(([kind, n]) => `${n} ${kind}`);
      return said.length ? `Forgotten: ${said.join(", ")}.` : "There was nothing to forget.";
    },
  });
}

const where = (view, record) => view.api.path`v1/memory/records/${record.id}`;

function ask({ dom: { h }, announce }, { title, note, quote, fields, action, danger = false, result = "done", send }) {
  return new Promise((resolve) => {
    let done = null;
    const inputs = fields.map((field) => h(field.area ? "textarea" : "input", {
      name: field.name, required: field.required, placeholder: field.placeholder, rows: field.area ? 3 : null, type: field.area ? null : field.type ?? "text",
      min: field.min, max: field.max, step: field.step, maxlength: field.area ? 200_000 : field.type ? null : 500, autocomplete: "off", "aria-describedby": field.hint ? `hint-${field.name}` : null,
    }));
    inputs.forEach((input, i) => { input.value = fields[i].value ?? ""; });
    const wrong = h("p", { class: "wrong", role: "alert" });
    const go = h("button", { class: danger ? "danger" : "primary" }, action);
    const stop = h("button", { type: "button", onclick: () => dialog.close() }, "Cancel");
    const form = h("form", { onsubmit: async (event) => {
      event.preventDefault();
      go.disabled = true;
      wrong.textContent = "";
      try {
        const said = await send(Object.fromEntries(inputs.map((input) => [input.name, input.type === "number" ? Number(input.value) : input.value])));
        done = result;
        dialog.close();
        announce(said, { visible: true });
      } catch (error) {
        wrong.textContent = error.message;
        go.disabled = false;
      }
    } },
      h("h2", { id: "ask-title" }, title), quote && h("blockquote", {}, short(quote, 400)), h("p", { class: "hint" }, note),
      fields.map((field, i) => h("div", {}, h("label", {}, field.label, inputs[i]), field.hint && h("p", { class: "hint", id: `hint-${field.name}` }, field.hint))),
      wrong, h("div", { class: "actions" }, stop, go));
    const dialog = h("dialog", { class: "asking", "aria-labelledby": "ask-title" }, form);
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(done);
    });
    document.body.append(dialog);
    dialog.showModal();
    (inputs[0] ?? stop).focus();
  });
}
