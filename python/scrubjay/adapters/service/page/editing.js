// Dialogs that change one memory, under the token's rights.

import { api } from "./api.js";
import { h } from "./dom.js";
import { given } from "./scopes.js";
import { announce, confirm, scopeText } from "./widgets.js";

// Whether the token permits changing a memory: it may write, and exactly in the memory's scope.
export const mayChange = (who, memory) =>
  who.can.includes("write") && ["tenant", "user", "agent"].every((part) => who[part] === null || who[part] === memory.scope[part]);

// Asks, then deletes; resolves to whether the memory was deleted.
export async function remove(memory) {
  const go = await confirm({
    title: "Delete this memory?",
    body: [h("blockquote", {}, memory.text.length > 400 ? `${memory.text.slice(0, 400)} ...` : memory.text),
      h("p", { class: "hint" }, `${memory.id}, of ${scopeText(memory.scope)}. It is gone from every search at once, and cannot be brought back.`)],
    action: "Delete", danger: true,
  });
  if (!go) return false;
  try {
    await api.delete(api.path`v1/memories/${memory.id}`, given(memory.scope));
    announce("Deleted", { visible: true });
    return true;
  } catch (error) {
    announce(`Not deleted: ${error.message}`, { urgent: true, visible: true });
    return false;
  }
}

// A form for a text and its metadata; resolves to whether it was saved.
export const edit = (memory) => form({
  title: "Edit this memory", action: "Save", note: `${memory.id}, of ${scopeText(memory.scope)}`,
  text: memory.text, metadata: memory.metadata,
  save: (text, metadata) => api.patch(api.path`v1/memories/${memory.id}`, {
    text, metadata: { ...without(memory.metadata), ...metadata }, scope: given(memory.scope),
  }),
});

// Metadata is merged on the server, so a key that was removed in the form is sent as null.
const without = (metadata) => Object.fromEntries(Object.keys(metadata ?? {}).map((key) => [key, null]));

// A form for a new memory in a scope.
export const add = (scope) => form({
  title: "Add a memory", action: "Add", note: `For ${scopeText(scope)}`, text: "", metadata: {},
  save: (text, metadata) => api.post("v1/memories", { memories: [{ text, metadata }], scope }),
});

function form({ title, action, note, text, metadata, save }) {
  return new Promise((resolve) => {
    let saved = false;
    const words = h("textarea", { rows: 5, required: true, maxlength: 200_000 });
    words.value = text;
    const data = h("textarea", { rows: 4, class: "mono", spellcheck: "false", "aria-describedby": "edit-wrong" });
    data.value = JSON.stringify(metadata, null, 2);
    const wrong = h("p", { id: "edit-wrong", class: "wrong", role: "alert" });
    const dialog = h("dialog", { "aria-labelledby": "edit-title" }, h("form", { onsubmit: async (event) => {
      event.preventDefault();
      let given;
      try {
        given = parsed(data.value);
      } catch (error) {
        wrong.textContent = error.message;
        data.focus();
        return;
      }
      try {
        await save(words.value, given);
        saved = true;
        dialog.close();
        announce("Saved", { visible: true });
      } catch (error) {
        wrong.textContent = error.message;
      }
    } },
      h("h2", { id: "edit-title" }, title), h("p", { class: "hint" }, note),
      h("label", {}, "Text", words), h("label", {}, "Metadata (a JSON object)", data), wrong,
      h("div", { class: "actions" }, h("button", { type: "button", onclick: () => dialog.close() }, "Cancel"), h("button", { class: "primary" }, action))));
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(saved);
    });
    document.body.append(dialog);
    dialog.showModal();
    words.focus();
  });
}

function parsed(text) {
  let value;
  try {
    value = JSON.parse(text || "{}");
  } catch (error) {
    throw new Error(`Metadata: expected JSON; ${error.message}`);
  }
  if (value === null || typeof value !== "object" || Array.isArray(value)) throw new Error("Metadata: expected a JSON object, such as {\"category\": \"keys\"}");
  return value;
}
