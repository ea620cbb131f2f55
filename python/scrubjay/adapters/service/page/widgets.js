// What several views are made of: empty and error states, confirmation, copying, dates.

import { h, show } from "./dom.js";

// Says something to screen readers, and shows it for a while with `visible`. `urgent` interrupts.
export function announce(text, { urgent = false, visible = false } = {}) {
  const place = document.getElementById(urgent ? "warned" : "said");
  place.textContent = "";
  setTimeout(() => { place.textContent = text; }, 30); // the same text twice is news, too
  if (!visible) return;
  const toast = h("div", { class: urgent ? "toast bad" : "toast", "aria-hidden": "true" }, text);
  document.getElementById("toasts").append(toast);
  setTimeout(() => toast.remove(), 5000);
}

// A place where nothing is to be shown, and what to do about it.
export function empty(title, text, ...actions) {
  return h("div", { class: "empty" }, h("h2", {}, title), h("p", {}, text), actions.length > 0 && h("div", { class: "actions" }, actions));
}

// What failed, in words that say what to do.
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

// Asks before something is done; resolves to whether it may be done. `body`: texts or nodes.
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

// An ISO time as the day that it names, with the whole time on hover; nothing for null.
export function day(iso) {
  if (!iso) return null;
  const moment = new Date(iso);
  return h("time", { datetime: iso, title: iso }, Number.isNaN(moment.getTime()) ? iso : DAY.format(moment));
}

// "acme / jane": a scope in words.
export function scopeText(scope) {
  const agent = scope.agent ? `agent ${scope.agent}` : null;
  return [scope.tenant, scope.user, agent].filter(Boolean).join(" / ");
}


