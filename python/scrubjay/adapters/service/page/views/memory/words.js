// The display texts of kinds, statuses, events and days.

export const KINDS = { policy: "policy", preference: "preference", fact: "fact", episode: "episode" };
const PLURAL = { policy: "policies", preference: "preferences", fact: "facts", episode: "episodes" };

// The text of a status, and its look.
export const STATUS = {
  active: ["in force", "good"],
  provisional: ["waits for confirmation", "words"],
  planned: ["planned", "accent"],
  ended: ["over", ""],
  superseded: ["superseded", ""],
  revoked: ["revoked", "bad"],
};

export const EVENTS = {
  written: "Written", proposed: "Proposed", superseded: "Superseded", limited: "Cut short by a later fact", resumed: "In force again",
  confirmed: "Confirmed", promoted: "Promoted: a second source said it", revoked: "Revoked", updated: "Edited", restated: "Said again",
  faded: "Faded: not used for long", revived: "Used again", expired: "Expired", forgotten: "Forgotten",
};

export const DROPPED = {
  below_floor: ["Not relevant enough", "Nothing speaks for these in this question, or the best of them is below the floor."],
  over_budget: ["Over the budget", "They fit the question, but the tokens were used up by more relevant ones."],
  over_item_cap: ["Too long", "One record may have so many tokens and no more, and no part of this one would say anything within them."],
};

export const BLOCKS = { policies: "Policies", preferences: "Preferences", memories: "Memories", turns: "Recent turns" };

// "4 policies · 13 facts in force · 1 recorded run · 9 of the past".
export function counted(overview) {
  const said = Object.entries(PLURAL).flatMap(([kind, many]) => {
    const n = overview.in_force[kind] ?? 0;
    return n ? [`${n} ${n === 1 ? KINDS[kind] : many}`] : [];
  });
  const past = Object.values(overview.counts).reduce((sum, of) => sum + (of.superseded ?? 0) + (of.ended ?? 0) + (of.revoked ?? 0), 0);
  return [
    said.length > 0 && `${said.join(", ")} in force`, past > 0 && `${past} of the past`,
    overview.runs > 0 && `${overview.runs} recorded ${overview.runs === 1 ? "run" : "runs"}`,
  ].filter(Boolean).join(" · ");
}

// The day of a time in UTC, as the service counts: "2025-10-02".
export const dayOf = (iso) => {
  const moment = new Date(iso);
  return Number.isNaN(moment.getTime()) ? String(iso).slice(0, 10) : moment.toISOString().slice(0, 10);
};

const DAY = new Intl.DateTimeFormat(undefined, { year: "numeric", month: "short", day: "numeric", timeZone: "UTC" });

// "2 Oct 2025": a day or a time in the reader's format.
export function dayText(iso) {
  const moment = new Date(iso);
  return Number.isNaN(moment.getTime()) ? String(iso) : DAY.format(moment);
}

// The day in a URL parameter, or null.
export function dayIn(state, name) {
  const text = state.get(name) ?? "";
  return /^\d{4}-\d{2}-\d{2}$/.test(text) && !Number.isNaN(Date.parse(text)) ? text : null;
}

// The end of a day, as in requests, to include what was told on it.
export const endOf = (day) => `${day}T23:59:59Z`;

export const today = () => new Date().toISOString().slice(0, 10);

// "since 2 Oct 2025", "1 May 2018 to 1 Mar 2021": when a record holds; "" if never.
export function spanText(holds) {
  return holds.map(([from, until]) => (until ? `${dayText(from)} to ${dayText(until)}` : `since ${dayText(from)}`)).join(", ");
}

// The text of a record of any kind.
export const textOf = (record) => record.content ?? record.summary ?? record.text ?? "";

export const short = (text, most = 120) => (text.length > most ? `${text.slice(0, most).trimEnd()} ...` : text);

// A badge with the status, except for records in force.
export function statusBadge({ h }, status) {
  const [text, look] = STATUS[status] ?? [status, ""];
  return h("span", { class: `badge ${look}` }, text);
}
