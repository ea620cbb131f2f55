// The two times of a memory: when something was so (as_of), and when it was believed (known_at). Both are days in the URL; a day
// means its end in UTC, so that it includes what was told on it.

import { dayIn, dayOf, dayText, endOf, today } from "./words.js";

const AXES = [
  ["as_of", "What was so", "changed", "When it was so"],
  ["known_at", "What was believed", "learned", "When it was believed"],
];

// {element, follow(), asked(), days()}: `asked` returns the chosen days as request parameters.
export function makeTime(view) {
  const { state, dom: { h, show }, overview } = view;
  const sentence = h("p", { class: "sentence", "aria-live": "polite" });
  const rows = AXES.map(([name, label, list, said]) => row(view, name, label, said, stops(overview[list], name)));
  const element = h("section", { class: "panel time", "aria-label": "The time that is asked for" }, rows.map((one) => one.element), sentence);

  const days = () => Object.fromEntries(AXES.map(([name]) => [name, dayIn(state, name)]));

  return {
    element,
    days,
    asked() {
      return Object.fromEntries(Object.entries(days()).flatMap(([name, day]) => (day ? [[name, endOf(day)]] : [])));
    },
    follow() {
      const { as_of, known_at } = days();
      for (const one of rows) one.follow();
      const so = as_of ? `What was so on ${dayText(as_of)}` : known_at ? `What was believed on ${dayText(known_at)} to be so then` : "What is so now";
      const by = known_at ? (as_of ? `, by what was believed on ${dayText(known_at)}` : "") : ", by all that is known";
      const text = `${so}${by}.`;
      if (sentence.textContent !== text) show(sentence, text);
    },
  };
}

// The days of changes, and now (null), sorted. Days in the future are excluded for known_at.
function stops(times, name) {
  const days = [...new Set(times.map(dayOf))].sort();
  const past = days.filter((day) => day < today());
  const future = name === "known_at" ? [] : days.filter((day) => day > today());
  return [...past, null, ...future];
}

function row({ state, dom: { h } }, name, label, said, stops) {
  const now = stops.indexOf(null);
  const range = h("input", { type: "range", min: 0, max: stops.length - 1, step: 1, "aria-label": `${label}: steps from change to change` });
  const date = h("input", { type: "date", "aria-label": said, max: name === "known_at" ? today() : null });
  const reset = h("button", { type: "button", class: "small", "aria-label": `${label}: now` }, "Now");
  const step = (by) => h("button", { type: "button", class: "small icon", "aria-label": `${label}: ${by < 0 ? "one change back" : "one change on"}`, onclick: () => choose(stops[Math.min(stops.length - 1, Math.max(0, Number(range.value) + by))]) }, by < 0 ? "‹" : "›");
  const choose = (day) => state.set({ [name]: day });
  range.addEventListener("input", () => choose(stops[Number(range.value)]));
  date.addEventListener("change", () => choose(date.value || null));
  reset.addEventListener("click", () => choose(null));
  const ticks = h("div", { class: "ticks", "aria-hidden": "true" }, stops.length <= 60 && stops.map((day) => h("i", { class: day === null ? "now" : null })));
  return {
    element: h("div", { class: `axis ${name}`, role: "group", "aria-label": label },
      h("span", { class: "label" }, label), step(-1), h("div", { class: "rail" }, range, ticks), step(1), date, reset),
    follow() {
      const day = dayIn(state, name);
      range.value = day === null ? now : placeOf(stops, day);
      range.setAttribute("aria-valuetext", day === null ? "now" : dayText(day));
      if (date.value !== (day ?? "")) date.value = day ?? "";
      reset.disabled = day === null;
    },
  };
}

// The last stop on or before a day.
function placeOf(stops, day) {
  const order = stops.map((stop) => stop ?? today());
  let place = 0;
  while (place + 1 < order.length && order[place + 1] <= day) place += 1;
  return place;
}
