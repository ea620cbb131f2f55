// Drawings of times: strips with one step for each change, and timelines to scale.

import { dayText, endOf, spanText, statusBadge, textOf } from "./words.js";

const DAY_MS = 86_400_000;
const MOST_LANES = 40;

// A scale from 0 to 1 with equal room between consecutive changes, so that last week remains visible beside ten years.
export function stepScale(times) {
  const edges = [...new Set([...times.map((time) => Date.parse(time)), Date.now()])].sort((one, other) => one - other);
  const n = Math.max(1, edges.length - 1);
  return (time) => {
    if (time <= edges[0]) return 0;
    let i = 0;
    while (i + 1 < edges.length && edges[i + 1] <= time) i += 1;
    return i + 1 < edges.length ? (i + (time - edges[i]) / (edges[i + 1] - edges[i])) / n : 1;
  };
}

// The statements of a slot as bars in one strip, that of `own` highlighted. Decorative: the text beside it says the same.
export function strip({ h }, facts, own, scale, moment) {
  const isOwn = (fact) => fact.id === own;
  const ordered = [...facts.filter((fact) => !isOwn(fact)), ...facts.filter(isOwn)]; // the last one is painted on top
  const bars = ordered.flatMap((fact) => spansOf(fact).map(([from, until, look]) => bar(h, isOwn(fact), scale(Date.parse(from)), until ? scale(Date.parse(until)) : 1, look)));
  return h("span", { class: "strip", "aria-hidden": "true" }, bars, moment && h("i", { class: "line chosen", style: { "--at": percent(scale(moment)) } }));
}

// The spans in which a fact holds, with the time before a plan begins as a span of its own: [from, until or null, look].
export function spansOf(fact) {
  const begins = fact.relation === "plans" && fact.valid_from ? Date.parse(fact.valid_from) : null;
  return fact.holds.flatMap(([from, until]) => {
    if (begins === null || Date.parse(from) >= begins) return [[from, until]];
    if (until && Date.parse(until) <= begins) return [[from, until, "planned"]];
    return [[from, fact.valid_from, "planned"], [fact.valid_from, until]];
  });
}

const bar = (h, strong, from, until, look) =>
  h("i", { class: ["hold", strong && "own", look].filter(Boolean).join(" "), style: { "--from": percent(from), "--width": percent(Math.max(0, until - from)) } });

const percent = (share) => `${(100 * Math.min(1, Math.max(0, share))).toFixed(2)}%`;

// Lanes to scale, one for each statement: {record, spans: [[from, until or null]], told, by: the record that superseded it}.
export function timeline(view, lanes, own, days) {
  const { dom: { h } } = view;
  const marks = [[Date.now(), "now", "now"]];
  if (days.as_of) marks.push([Date.parse(endOf(days.as_of)), "as-of", dayText(days.as_of)]);
  const times = lanes.flatMap((lane) => [...lane.spans.flatMap((span) => span.slice(0, 2)), lane.told]).filter(Boolean).map((time) => Date.parse(time));
  const first = Math.min(...times);
  const last = Math.max(...times, ...marks.map(([time]) => time));
  const pad = Math.max((last - first) * 0.03, DAY_MS);
  const scale = (time) => (time - first + pad) / (last - first + 2 * pad);
  const lines = marks.map(([time, look]) => h("i", { class: `line ${look}`, style: { "--at": percent(scale(time)) } }));
  const shown = lanes.slice(-MOST_LANES);
  return h("div", { class: "timeline" },
    lanes.length > shown.length && h("p", { class: "hint" }, `The last ${shown.length} of ${lanes.length} statements.`),
    h("ol", { class: "lanes" }, shown.map((lane) => h("li", { class: lane.record.id === own ? "lane own" : "lane" },
      h("div", { class: "said" }, words(view, lane, own), h("span", { class: "hint" }, whenText(lane))),
      h("div", { class: "rail", "aria-hidden": "true" },
        lane.spans.map(([from, until, look]) => bar(h, lane.record.id === own, scale(Date.parse(from)), until ? scale(Date.parse(until)) : 1, look)),
        h("i", { class: "told", style: { "--at": percent(scale(Date.parse(lane.told))) } }), lines.map((line) => line.cloneNode()))))),
    h("div", { class: "scale", "aria-hidden": "true" }, h("span"), h("div", { class: "rail" }, ticks(first, last).map(([time, label]) =>
      h("span", { style: { "--at": percent(scale(time)) } }, label)))),
    h("p", { class: "hint key-line", "aria-hidden": "true" },
      [["hold own", "holds"], lanes.some((lane) => lane.spans.some((span) => span[2])) && ["hold planned", "is planned"], ["told", "when it was told"], ...marks.map(([, look, label]) => [`line ${look}`, label])]
        .filter(Boolean).map(([look, label]) => h("span", {}, h("i", { class: look }), label))));
}

function words({ dom, state }, lane, own) {
  const text = textOf(lane.record);
  const badge = statusBadge(dom, lane.record.status);
  if (lane.record.id === own) return dom.h("strong", {}, text, " ", badge);
  return dom.h("span", {}, dom.h("button", { type: "button", class: "link", onclick: () => state.set({ record: lane.record.id }) }, text), " ", badge);
}

function whenText(lane) {
  const held = lane.spans.length ? spanText(lane.record.holds ?? lane.spans) : "holds at no time";
  const taken = lane.by ? `; then "${textOf(lane.by)}"` : "";
  return `${held}${taken} · told ${dayText(lane.told)}`;
}

// Up to about six days, months or years as ticks of a timeline: [time, label].
function ticks(first, last) {
  const days = (last - first) / DAY_MS;
  const from = new Date(first);
  const made = [];
  const add = (time, options) => {
    if (time >= first && time <= last) made.push([time, new Intl.DateTimeFormat(undefined, { ...options, timeZone: "UTC" }).format(time)]);
  };
  if (days > 900) {
    const step = Math.ceil(days / 365 / 6);
    for (let year = from.getUTCFullYear(); Date.UTC(year) <= last; year += step) add(Date.UTC(year), { year: "numeric" });
  } else if (days > 75) {
    const step = Math.ceil(days / 30 / 6);
    for (let month = from.getUTCMonth(); Date.UTC(from.getUTCFullYear(), month) <= last; month += step) add(Date.UTC(from.getUTCFullYear(), month), { month: "short", year: "2-digit" });
  } else {
    const step = Math.max(1, Math.ceil(days / 6));
    for (let day = Math.ceil(first / DAY_MS); day * DAY_MS <= last; day += step) add(day * DAY_MS, { month: "short", day: "numeric" });
  }
  return made;
}
