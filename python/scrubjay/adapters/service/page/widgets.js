// Components of several views: empty and error states, confirmation, copying, dates.

import { h, show } from "./dom.js";

// Announces a text to screen readers, and shows it for a while if `visible`. `urgent` interrupts.
export function announce(text, { urgent = false, visible = false } = {}) {
  const place = document.getElementById(urgent ? "warned" : "said");
  place.textContent = "";
  setTimeout(() => { place.textContent = text; }, 30); // cleared first, so that a repeated text is announced again
  if (!visible) return;
  const toast = h("div", { class: urgent ? "toast bad" : "toast", "aria-hidden": "true" }, text);
  document.getElementById("toasts").append(toast);
  setTimeout(() => toast.remove(), 5000);
}

// A placeholder for an empty state, with actions.
export function empty(title, text, ...actions) {
  return h("div", { class: "empty" }, h("h2", {}, title), h("p", {}, text), actions.length > 0 && h("div", { class: "actions" }, actions));
}

// An error with advice.
export function failed(error, retry) {
  const again = retry && h("button", { type: "button", onclick: retry }, "Try again");
  return h("div", { class: "empty bad" }, h("h2", {}, titleOf(error)), h("p", {}, error.message), again && h("div", { class: "actions" }, again));
}

function titleOf(error) {
  switch (error.status) {
    case 0: return "No answer";
    case 401: return "A token is needed";
    case 403: return "Your token does not allow this";
    case 404: return "It is not here";
    case 422: return "The service cannot take this";
    case 429: return "Too fast";
    default: return "That did not work";
  }
}

// Asks for confirmation; resolves to the answer. `body`: texts or nodes.
export function confirm({ title, body, action, danger = false }) {
  return new Promise((resolve) => {
    const go = h("button", { type: "submit", value: "go", class: danger ? "danger" : "primary" }, action);
    const stop = h("button", { type: "submit", value: "" }, "Cancel");
    const heading = h("h2", { id: "confirm-title" }, title);
    const form = h("form", { method: "dialog" }, heading, h("div", { class: "body" }, body), h("div", { class: "actions" }, stop, go));
    const dialog = h("dialog", { "aria-labelledby": "confirm-title" }, form);
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(dialog.returnValue === "go");
    });
    document.body.append(dialog);
    dialog.showModal();
    stop.focus();
  });
}

// A button that copies what `text()` returns.
export function copyButton(label, text, properties = {}) {
  return h("button", { type: "button", ...properties, onclick: async () => {
    try {
      await navigator.clipboard.writeText(text());
      announce(`${label}: copied`, { visible: true });
    } catch {
      announce("The browser refused to copy; select the text and copy it yourself.", { urgent: true, visible: true });
    }
  } }, label);
}

const DAY = new Intl.DateTimeFormat(undefined, { year: "numeric", month: "short", day: "numeric" });

// An ISO time as its day, with the full time on hover; nothing for null.
export function day(iso) {
  if (!iso) return null;
  const moment = new Date(iso);
  return h("time", { datetime: iso, title: iso }, Number.isNaN(moment.getTime()) ? iso : DAY.format(moment));
}

// "acme / jane": a scope as text.
export function scopeText(scope) {
  const agent = scope.agent ? `agent ${scope.agent}` : null;
  return [scope.tenant, scope.user, agent].filter(Boolean).join(" / ");
}


