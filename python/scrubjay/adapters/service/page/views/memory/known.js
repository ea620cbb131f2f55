// The part "Known": policies, preferences, facts and episodes in force at the chosen time.

import { stepScale, strip } from "./drawing.js";
import { dayText, endOf, short, spanText, statusBadge, textOf } from "./words.js";

const MOST_PAGES = 5;

export function makeKnown(view, time) {
  const { api, state, dom, widgets } = view;
  const { h, show } = dom;
  const filter = h("input", { type: "search", placeholder: "Filter what is known", "aria-label": "Filter what is known", autocomplete: "off" });
  const facts = h("section", { class: "facts", "aria-label": "Facts" });
  const rules = h("section", { class: "rules", "aria-label": "Preferences, policies and episodes" });
  const answer = h("div", { class: "known" }, facts, rules);
  const element = h("div", {}, h("div", { class: "filter" }, filter), answer);
  const more = h("div", { class: "actions" });
  const scale = stepScale(view.overview.changed);
  const statements = []; // all facts of any status, for the strips
  let drawn = []; // [fact, the element of its strip]
  let asked = 0;
  let last = null; // the key of what is shown
  let timer = null;
  let alive = true;

  const page = (cursor) => api.post("v1/memory/list", { scope: state.scope(), kinds: ["fact", "episode"], limit: view.most, cursor, ...time.asked() });

  async function load() {
    const mine = ++asked;
    try {
      const [known, first] = await Promise.all([api.post("v1/memory/known", { scope: state.scope(), ...time.asked() }), page(null)]);
      if (mine !== asked) return;
      render(known, first.records, first.next_cursor);
      if (last.isFirst) readStatements();
      last.isFirst = false;
    } catch (error) {
      if (mine === asked) show(answer, widgets.failed(error, load));
    }
  }

  // Reads all statements in the background, page by page; the strips grow.
  async function readStatements() {
    try {
      for await (const records of pages(view, { kinds: ["fact"], hidden: true })) {
        if (!alive) return;
        statements.push(...records);
        drawStrips();
      }
    } catch {
      // Without them each strip shows only its own fact.
    }
  }

  function drawStrips() {
    const { as_of: so, known_at: then } = time.days();
    const slots = grouped(statements, slotOf);
    for (const [fact, place] of drawn) {
      const some = slots.get(slotOf(fact)) ?? [];
      show(place, strip(dom, some.includes(fact) || some.some((other) => other.id === fact.id) ? some : [...some, fact], fact.id, scale, so && Date.parse(endOf(so))));
      place.hidden = Boolean(then); // the strips show everything known now
    }
  }

  function render(known, records, cursor) {
    const of = (kind) => records.filter((record) => record.kind === kind && record.status !== "provisional"); // provisional records are shown in "Review"
    const groups = grouped(of("fact"), (fact) => fact.subject);
    drawn = [];
    show(more, cursor !== null && h("button", { type: "button", onclick: async () => {
      const mine = asked;
      try {
        const next = await page(cursor);
        if (mine === asked) render(known, [...records, ...next.records], next.next_cursor);
      } catch (error) {
        view.announce(error.message, { urgent: true, visible: true });
      }
    } }, "Show more"));
    show(facts, h("h2", {}, "Facts", n(of("fact"), cursor)),
      groups.size === 0 && nothing("No facts then. Move the time, or tell it something."),
      [...groups].map(([subject, some]) => h("section", { class: "subject" }, h("h3", {}, subject || "Without a subject"),
        h("ul", { class: "rows" }, [...grouped(some, (fact) => fact.predicate).values()].flat().map((fact) => row(fact, stripOf(fact)))))),
      time.days().known_at && groups.size > 0 && h("p", { class: "hint" }, "Open a fact to see its timeline as it was believed then."), more);
    show(rules,
      part("Preferences", known.preferences, "No preferences: nobody has said how they want it."),
      part("Policies", known.policies, "No policies in force."),
      part("Episodes", of("episode"), "No task was completed by then.", cursor));
    show(answer, facts, rules);
    drawStrips();
    sift();
  }

  function stripOf(fact) {
    const place = h("span", { class: "strips" });
    drawn.push([fact, place]);
    return place;
  }

  const n = (records, cursor = null) => h("span", { class: "badge number" }, records.length, cursor !== null && "+");
  const nothing = (text) => h("p", { class: "muted nothing" }, text);
  const part = (title, records, otherwise, cursor = null) => h("section", {}, h("h2", {}, title, n(records, cursor)),
    records.length ? h("ul", { class: "rows" }, records.map((record) => row(record))) : nothing(otherwise));

  function row(record, drawn) {
    return h("li", { class: record.kind }, h("button", { type: "button", class: "entry", onclick: () => state.set({ record: record.id }, { push: true }) },
      h("span", { class: "says" }, h("span", { class: "key" }, record.key ?? record.predicate ?? record.title ?? ""), h("span", { class: "wording" }, short(textOf(record), 300)), h("span", { class: "hint" }, about(view, record))),
      drawn));
  }

  // Hides the rows that lack a word of the filter.
  function sift() {
    const words = filter.value.toLocaleLowerCase().split(/\s+/).filter(Boolean);
    for (const item of answer.querySelectorAll(".rows > li")) {
      const text = item.textContent.toLocaleLowerCase();
      item.hidden = !words.every((word) => text.includes(word));
    }
    for (const section of answer.querySelectorAll(".subject")) section.hidden = !section.querySelector("li:not([hidden])");
  }
  filter.addEventListener("input", sift);

  return {
    element,
    isTimed: true,
    follow() {
      const key = JSON.stringify(time.days());
      if (key === last?.key) return;
      clearTimeout(timer);
      timer = setTimeout(load, last === null ? 0 : 60); // debounces a moving slider
      last = { key, isFirst: last?.isFirst ?? true };
    },
    leave() {
      alive = false;
      clearTimeout(timer);
      asked += 1;
    },
  };
}

// When a record holds, its owner, and other important properties.
function about({ dom, state }, record) {
  const { h } = dom;
  const scope = record.kind === "policy" ? { tenant: record.tenant } : record.scope;
  const mine = state.scope();
  const shared = record.kind !== "policy" && (scope.user ?? null) !== (mine.user ?? null);
  return [
    when(record),
    record.kind === "policy" && h("span", { class: "badge" }, record.tenant === null ? "all tenants" : `version ${record.version}`),
    shared && h("span", { class: "badge" }, `shared by ${scope.tenant}`),
    record.status !== "active" && statusBadge(dom, record.status),
    record.sensitivity && h("span", { class: "badge bad" }, record.sensitivity),
    record.relation === "plans" && h("span", { class: "badge accent" }, "a plan"),
    record.confidence < 1 && h("span", { class: "badge" }, `confidence ${record.confidence}`),
  ];
}

function when(record) {
  if (record.holds) return spanText(record.holds.length ? record.holds : [[record.valid_from ?? record.said_at ?? record.created_at, record.valid_until]]);
  if (record.kind === "policy") return record.effective_until ? `${dayText(record.effective_from)} to ${dayText(record.effective_until)}` : `since ${dayText(record.effective_from)}`;
  return record.kind === "episode" ? `${dayText(record.completed_at ?? record.created_at)} · ${record.outcome}` : `since ${dayText(record.created_at)}`;
}

// The records of a list, page by page, up to a limit.
export async function* pages(view, body) {
  let cursor = null;
  for (let page = 0; page < MOST_PAGES; page += 1) {
    const given = await view.api.post("v1/memory/list", { scope: view.scope(), limit: view.most, ...body, cursor });
    yield given.records;
    cursor = given.next_cursor;
    if (cursor === null) return;
  }
}

const slotOf = (fact) => (fact.predicate ? JSON.stringify([fact.scope, fact.subject, fact.predicate]) : fact.id);

function grouped(facts, key) {
  const groups = new Map();
  for (const fact of facts) groups.set(key(fact), [...(groups.get(key(fact)) ?? []), fact]);
  return groups;
}
