// The part "Review": records that wait for confirmation, past records, and rejected candidates.

import { mayChange, mayConfirm } from "./rights.js";
import { confirmRecord, revoke } from "./writing.js";
import { KINDS, dayText, short, spanText, statusBadge, textOf } from "./words.js";

const PAST = ["superseded", "ended", "revoked"];

export function makeReview(view) {
  const { api, state, dom, widgets, who } = view;
  const { h, show } = dom;
  const element = h("div", { class: "review" });
  let asked = 0;
  let loaded = false;

  const list = (statuses, cursor = null) => api.post("v1/memory/list", { scope: state.scope(), hidden: true, statuses, limit: Math.min(50, view.most), cursor });

  async function load() {
    const mine = ++asked;
    show(element, h("p", { class: "muted", role: "status" }, "Looking ..."));
    try {
      const [waiting, past, refused] = await Promise.all([list(["provisional"]), list(PAST), api.post("v1/memory/rejections", { scope: state.scope(), limit: Math.min(20, view.most) })]);
      if (mine === asked) render(waiting, past, refused.rejections);
    } catch (error) {
      if (mine === asked) show(element, widgets.failed(error, load));
    }
  }

  function render(waiting, past, refused) {
    show(element, h("div", { class: "beside" },
      section("Waiting", "Proposed, and not in force: a policy or a fact of the tenant needs somebody who confirms it, or a second source.", waiting, ["provisional"], "Nothing waits for a confirmation.", waitingItem),
      h("section", {}, h("h2", {}, "Refused by the gate"), refused.length === 0 && h("p", { class: "muted nothing" }, "The gate refused nothing here."),
        h("ul", { class: "rows" }, refused.map((one) => h("li", {}, h("div", { class: "entry" }, h("span", { class: "says" },
          h("span", { class: "wording" }, short(one.content, 300)), h("span", { class: "hint" }, `${one.reason} · ${dayText(one.at)}${one.run ? ` · in ${one.run}` : ""}`)))))))),
      section("Past", "Superseded by what was said later, over, or revoked. It stays, with its time.", past, PAST, "Nothing was superseded or revoked yet.", pastItem));
  }

  // A list that is extended by its cursor.
  function section(title, hint, first, statuses, otherwise, item) {
    const rows = h("ul", { class: "rows" });
    const more = h("div", { class: "actions" });
    const take = ({ records, next_cursor: cursor }) => {
      rows.append(...records.map(item));
      show(more, cursor !== null && h("button", { type: "button", onclick: async () => {
        try {
          take(await list(statuses, cursor));
        } catch (error) {
          view.announce(error.message, { urgent: true, visible: true });
        }
      } }, "Show more"));
    };
    take(first);
    return h("section", {}, h("h2", {}, title), h("p", { class: "hint" }, hint), first.records.length === 0 && h("p", { class: "muted nothing" }, otherwise), rows, more);
  }

  const open = (record) => state.set({ record: record.id }, { push: true });
  const words = (record, ...more) => h("button", { type: "button", class: "entry", onclick: () => open(record) }, h("span", { class: "says" },
    h("span", { class: "key" }, [KINDS[record.kind], record.key ?? record.predicate].filter(Boolean).join(" · ")),
    h("span", { class: "wording" }, short(textOf(record), 300)), h("span", { class: "hint" }, more)));

  function waitingItem(record) {
    const confirming = mayConfirm(who, record);
    const change = mayChange(who, record);
    const source = record.provenance;
    const act = (work) => async () => { if (await work(view, record)) view.reload(); };
    const reasons = [...new Set([confirming, change].filter(Boolean))];
    const id = `why-not-${record.id}`;
    return h("li", { class: "waits" }, words(record, `${source.author ?? "somebody"} in ${source.run}`), h("div", { class: "actions" },
      h("button", { type: "button", class: "small primary", disabled: confirming !== null, "aria-describedby": reasons.length ? id : null, "aria-label": `Confirm: ${short(textOf(record), 80)}`, onclick: act(confirmRecord) }, "Confirm ..."),
      h("button", { type: "button", class: "small", disabled: change !== null, "aria-describedby": reasons.length ? id : null, "aria-label": `Revoke: ${short(textOf(record), 80)}`, onclick: act(revoke) }, "Revoke ..."),
      reasons.length > 0 && h("span", { class: "hint", id }, reasons.join(" "))));
  }

  const pastItem = (record) => h("li", {}, words(record, statusBadge(dom, record.status), record.holds ? spanText(record.holds) || "holds at no time" : ""));

  return {
    element,
    isTimed: false,
    follow() {
      if (!loaded) load();
      loaded = true;
    },
    leave() {
      asked += 1;
    },
  };
}
