// The search field, the timing, the slider from words to meaning, and the search as code.

import { asCurl, asPython } from "../code.js";
import { chooseScope, packed } from "../scopes.js";

const N_TIMES = 200;

// `asked()` returns the current question.
export function makeControls(context, { asked }) {
  const { api, state, dom: { h, show }, widgets, who, about } = context;
  const times = [];

  const input = h("input", {
    type: "search", id: "q", name: "q", autocomplete: "off", autocapitalize: "off", spellcheck: "false", enterkeyhint: "search", maxlength: 20_000,
    placeholder: "Ask the memories ...", "aria-label": "Question", oninput: () => state.set({ q: input.value }),
  });
  const number = h("span", { class: "figure" }, "–");
  const unit = h("span", { class: "unit" }, "");
  const detail = h("p", { class: "hint number", id: "times" }, " ");
  const counter = h("div", { class: "counter", title: "One whole search inside the service, the embedding of the question included" }, number, unit);

  const slider = h("input", {
    type: "range", id: "weight", min: 0, max: 100, step: 5, value: 50, "aria-label": "From words to meaning",
    oninput: () => state.set({ w: String(100 - Number(slider.value)) }),
  });
  const auto = h("button", { type: "button", class: "small auto", onclick: () => state.set({ w: null }) }, "Auto");
  auto.title = "Let the engine weigh them, for each question anew";
  const share = h("output", { class: "hint number", for: "weight" });
  const k = h("input", { type: "number", id: "k", min: 1, max: about.max_k, value: 10, inputmode: "numeric", onchange: () => state.set({ k: k.value === "10" ? null : k.value }) });

  const compare = h("button", { type: "button", class: "small", onclick: async () => {
    if (state.get("vs")) {
      state.set({ vs: null });
      return;
    }
    const other = await chooseScope({ title: "What would another see?", hint: "The same question from a second scope, side by side.", current: null, who });
    if (other) state.set({ vs: packed(other) });
  } }, "What would another see?");
  const taken = () => ({ ...asked() });
  const take = h("div", { class: "take", role: "group", "aria-label": "Take this search along" },
    widgets.copyButton("Copy link", () => state.link(), { class: "small" }),
    widgets.copyButton("Copy Python", () => asPython(taken()), { class: "small" }),
    widgets.copyButton("Copy curl", () => asCurl(taken(), api.hasToken()), { class: "small" }));

  // On a phone the answer comes first, and this is collapsed.
  const more = h("details", { class: "more", open: matchMedia("(min-width: 40.01rem)").matches }, h("summary", {}, "More"),
    h("div", { class: "tools" }, h("label", { class: "hits" }, "Hits", k), compare, take));

  const element = h("form", { class: "controls", role: "search", onsubmit: (event) => event.preventDefault() },
    h("div", { class: "ask" }, input, counter),
    detail,
    h("div", { class: "row" },
      h("div", { class: "mix" }, h("span", { class: "end words", "aria-hidden": "true" }, "words"), slider, h("span", { class: "end meaning", "aria-hidden": "true" }, "meaning"), auto, share),
      more));

  // "/" focuses the field, as on many sites, unless something is being typed.
  const slash = (event) => {
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    if (event.target.closest("input, textarea, select")) return;
    event.preventDefault();
    input.focus();
    input.select();
  };
  document.addEventListener("keydown", slash);
  if (matchMedia("(hover: hover)").matches) setTimeout(() => input.focus(), 0); // on a phone focus would open the keyboard

  function place(words, chosen) {
    if (document.activeElement !== slider || !chosen) slider.value = String(Math.round((1 - words) * 100));
    const text = `${Math.round(words * 100)} % words, ${Math.round((1 - words) * 100)} % meaning`;
    share.textContent = `${Math.round(words * 100)} % words`;
    slider.setAttribute("aria-valuetext", chosen ? text : `${text}, chosen for this question`);
    auto.setAttribute("aria-pressed", String(!chosen));
  }

  return {
    element,
    // Shows a question that did not come from these controls.
    follow({ text, k: hits, weight, other }) {
      if (input.value.trim() !== text) input.value = text;
      if (document.activeElement !== k) k.value = hits;
      if (weight !== null) place(weight, true);
      else auto.setAttribute("aria-pressed", "true");
      compare.textContent = other ? "End the comparison" : "What would another see?";
      compare.classList.toggle("primary", Boolean(other));
      for (const button of take.children) button.disabled = !text;
    },
    // Shows the time of an answer; `roundTripMs` includes HTTP, as measured by the browser.
    answered(found, roundTripMs) {
      times.push(found.took_us);
      if (times.length > N_TIMES) times.shift();
      const [figure, of] = parts(found.took_us);
      number.textContent = figure;
      unit.textContent = of;
      const median = [...times].sort((one, other) => one - other)[Math.floor(times.length / 2)];
      const embedding = found.embed_us === null ? "" : `embedding alone ${parts(found.embed_us).join(" ")} · `;
      show(detail, `${embedding}median of ${times.length} ${times.length === 1 ? "search" : "searches"} ${parts(median).join(" ")} · explained and over HTTP ${roundTripMs.toFixed(0)} ms`);
      if (asked().weight === null) {
        if (found.lexical_share === null) share.textContent = found.mode === "hybrid" ? "" : `mode ${found.mode}`;
        else place(found.lexical_share, false);
      }
    },
    // Resets the timing before a question.
    rest() {
      number.textContent = "–";
      unit.textContent = "";
      show(detail, matchMedia("(pointer: coarse)").matches ? "Type: every keystroke is a search." : "Type: every keystroke is a search. Press / to come back to the field.");
    },
    leave: () => document.removeEventListener("keydown", slash),
  };
}

const parts = (us) => (us < 1 ? [us.toFixed(1), "µs"] : us < 1000 ? [us.toFixed(0), "µs"] : [(us / 1000).toFixed(1), "ms"]);
