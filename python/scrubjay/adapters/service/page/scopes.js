// The scopes that the token may name, with their counts, and the dialog that chooses one.

import { api } from "./api.js";
import { h, show } from "./dom.js";
import { scopeText } from "./widgets.js";

const PARTS = ["tenant", "user", "agent"];
const MOST = 200;

// {scopes: [{tenant, user, agent, own, visible, memory}], more}: scopes with `contains` in one of their parts.
export const listScopes = (contains) => api.get("v1/scopes", { limit: MOST, contains: contains || null });

// A scope as in requests: without null parts.
export const given = (scope) => Object.fromEntries(PARTS.flatMap((part) => (scope[part] ? [[part, scope[part]]] : [])));

export const same = (one, other) => PARTS.every((part) => (one[part] ?? null) === (other[part] ?? null));

// "acme/jane", for a URL parameter; parts are percent-encoded, so a slash within a name is unambiguous.
export const packed = (scope) => PARTS.map((part) => encodeURIComponent(scope[part] ?? "")).join("/").replace(/\/+$/, "");
export function unpacked(text) {
  const parts = text.split("/");
  try {
    return given(Object.fromEntries(PARTS.map((part, i) => [part, decodeURIComponent(parts[i] ?? "")])));
  } catch {
    return {};
  }
}

// Asks for a scope; resolves to one, or to null. `who`: the grant of the token.
export function chooseScope({ title, hint, current, who }) {
  return new Promise((resolve) => {
    let chosen = null;
    const filter = h("input", { type: "search", placeholder: "Filter by name", "aria-label": "Filter the scopes by name", autocomplete: "off" });
    const list = h("div", { class: "scopes" });
    const note = h("p", { class: "hint", role: "status" });
    const fields = Object.fromEntries(PARTS.map((part) => [part, h("input", {
      name: part, maxlength: 256, value: who[part] ?? "", disabled: who[part] !== null, autocomplete: "off",
      placeholder: part === "tenant" ? "required" : "none",
    })]));
    const form = h("form", { class: "another", onsubmit: (event) => {
      event.preventDefault();
      pick(given(Object.fromEntries(PARTS.map((part) => [part, fields[part].value]))));
    } }, PARTS.map((part) => h("label", {}, part[0].toUpperCase() + part.slice(1), fields[part])), h("button", { class: "primary" }, "Use it"));
    fields.tenant.required = true;
    const close = h("button", { type: "button", onclick: () => dialog.close() }, "Cancel");
    const dialog = h("dialog", { class: "choose", "aria-labelledby": "choose-title" },
      h("h2", { id: "choose-title" }, title), hint && h("p", { class: "hint" }, hint), filter, list, note,
      h("details", {}, h("summary", {}, "Name another scope"), form), h("div", { class: "actions" }, close));
    const pick = (scope) => {
      chosen = scope;
      dialog.close();
    };
    let asked = 0;
    const fillIn = async () => {
      const mine = ++asked;
      try {
        const found = await listScopes(filter.value.trim());
        if (mine !== asked) return;
        show(list, groups(found.scopes, current, pick));
        note.textContent = found.scopes.length === 0 ? "No scope of that name holds memories."
          : found.more ? `The first ${MOST}; filter to see others.` : "";
      } catch (error) {
        if (mine === asked) note.textContent = error.message;
      }
    };
    filter.addEventListener("input", fillIn);
    dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(chosen);
    });
    document.body.append(dialog);
    dialog.showModal();
    fillIn();
  });
}

// Groups the scopes by tenant, with its name as the heading.
function groups(scopes, current, pick) {
  const tenants = new Map();
  for (const scope of scopes) tenants.set(scope.tenant, [...(tenants.get(scope.tenant) ?? []), scope]);
  return [...tenants].map(([tenant, members]) => h("section", {},
    h("h3", {}, tenant),
    h("ul", {}, members.map((scope) => h("li", {}, h("button", {
      type: "button", class: "quiet", "aria-current": current && same(scope, current) ? "true" : null, onclick: () => pick(given(scope)),
    }, h("span", {}, scope.user || scope.agent ? scopeText({ ...scope, tenant: null }) : "shared by all"),
    h("span", { class: "muted number" }, `${scope.own} own, sees ${scope.visible}${scope.memory ? ", and facts" : ""}`)))))));
}
