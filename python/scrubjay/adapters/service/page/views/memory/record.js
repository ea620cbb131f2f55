// The dialog of one record: its timeline, its provenance, and its actions. The parameter `record` opens it.

import { spansOf, timeline } from "./drawing.js";
import { pages } from "./known.js";
import { mayChange, mayConfirm } from "./rights.js";
import { confirmRecord, editRecord, removeRecord, revoke } from "./writing.js";
import { EVENTS, KINDS, dayIn, dayText, endOf, statusBadge, textOf } from "./words.js";

// {follow(), close()}: opens, changes and closes the dialog according to the URL.
export function followRecord(view) {
  const { state } = view;
  let dialog = null;
  let id = null;

  function follow() {
    const wanted = state.get("record");
    if (wanted === id) return;
    if (!wanted) return close();
    id = wanted;
    if (!dialog) {
      dialog = view.dom.h("dialog", { class: "record", "aria-label": "A record of the memory" });
      dialog.addEventListener("close", () => {
        dialog.remove();
        dialog = null;
        id = null;
        state.set({ record: null });
      });
      dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog?.close(); });
      document.body.append(dialog);
      dialog.showModal();
    }
    fill(dialog, wanted);
  }

  const close = () => dialog?.close();

  async function fill(place, wanted) {
    const { api, dom: { h, show }, widgets } = view;
    const closing = h("button", { type: "button", class: "icon quiet close", "aria-label": "Close", onclick: close }, "✕");
    show(place, closing, h("p", { class: "muted", role: "status" }, "Looking ..."));
    try {
      const scope = view.scope();
      const { why } = await api.get(`${api.path`v1/memory/records/${wanted}`}/why`, scope);
      const lanes = await lanesOf(view, why.record);
      if (wanted !== id) return;
      show(place, closing, ...content(view, why, lanes, async (done) => {
        if (!done) return;
        if (done === "gone") close();
        else fill(place, wanted);
        view.reload();
      }));
      place.setAttribute("aria-label", `${KINDS[why.record.kind]}: ${textOf(why.record)}`);
      place.scrollTop = 0;
      place.querySelector("h2").focus();
    } catch (error) {
      if (wanted === id) show(place, closing, error.status === 404
        ? widgets.empty("It is not here", "This record was deleted, or it belongs to another scope. Choose the scope that has it, or close this.")
        : widgets.failed(error, () => fill(place, wanted)));
    }
  }

  return { follow, close };
}

function content(view, why, lanes, changed) {
  const { dom } = view;
  const { h } = dom;
  const record = why.record;
  const [as_of, known_at] = ["as_of", "known_at"].map((name) => dayIn(view.state, name));
  return [
    h("header", {}, h("div", { class: "badges" }, h("span", { class: `badge kind ${record.kind}` }, KINDS[record.kind]), statusBadge(dom, record.status),
      record.predicate && h("span", { class: "muted" }, `${record.subject} · ${record.predicate}`), record.key && h("span", { class: "muted" }, record.key)),
    h("h2", { tabindex: "-1" }, record.title || textOf(record)), record.title && h("p", {}, textOf(record))),
    record.kind !== "episode" && h("section", {}, h("h3", {}, "Timeline", record.kind === "fact" && known_at && `, as it was believed on ${dayText(known_at)}`),
      lanes.length > 0 ? timeline(view, lanes, record.id, { as_of }) : h("p", { class: "muted" }, "Nothing of it was known then: it was told later.")),
    h("section", {}, h("h3", {}, "Why"), provenance(view, why), events(view, why.events)),
    details(view, record),
    actions(view, record, changed),
  ];
}

// The provenance in a sentence.
function provenance(view, { record, observed_in }) {
  const { dom: { h }, state } = view;
  const source = record.provenance;
  const run = (name) => h("a", { href: state.href("memory", { part: "runs", run: name, record: null }) }, name);
  return [
    h("p", {}, source.author ? [h("strong", {}, source.author), " said it"] : "It was said", " in ", run(source.run), source.turn !== null && `, turn ${source.turn}`,
      source.place && `, read at ${source.place}`, source.at && [", on ", h("time", { datetime: source.at, title: source.at }, dayText(source.at))], "."),
    record.evidence && h("blockquote", {}, record.evidence),
    observed_in.length > 1 && h("p", { class: "hint" }, "Observed in ", observed_in.flatMap((name, i) => [i > 0 && ", ", run(name)]), "."),
  ];
}

function events(view, list) {
  const { dom: { h }, state } = view;
  const isRecord = (text) => /^(fact|policy|preference|episode)_[0-9a-f]{32}$/.test(text ?? "");
  return h("ol", { class: "events" }, list.map((event) => h("li", {},
    h("time", { datetime: event.at, title: event.at }, dayText(event.at)),
    h("span", {}, h("strong", {}, EVENTS[event.action] ?? event.action), event.by && ` by ${event.by}`,
      isRecord(event.detail) ? [" · ", h("button", { type: "button", class: "link", onclick: () => state.set({ record: event.detail }) }, "show the other")] : event.detail && `: ${event.detail}`))));
}

function details({ dom: { h }, widgets }, record) {
  const rows = [
    ["Value", record.value !== null && record.value !== textOf(record) && JSON.stringify(record.value)], ["Type", record.type], ["Outcome", record.outcome],
    ["Steps", record.steps?.length > 0 && h("ol", {}, record.steps.map((step) => h("li", {}, step)))],
    ["Artifacts", record.artifacts && Object.keys(record.artifacts).length > 0 && JSON.stringify(record.artifacts)], ["Confidence", record.confidence],
    ["Used", record.uses > 0 && `${record.uses} times, last on ${dayText(record.last_used_at)}`], ["Names", record.entities?.join(", ")],
    ["Sensitivity", record.sensitivity], ["Metadata", record.metadata && Object.keys(record.metadata).length > 0 && JSON.stringify(record.metadata)],
    ["Decided by", record.decided_by], ["Scope", record.scope ? widgets.scopeText(record.scope) : record.tenant ?? "all tenants"], ["Id", h("code", {}, record.id)],
  ].filter(([, value]) => value);
  return h("details", {}, h("summary", {}, "Everything that is stored"), h("dl", {}, rows.map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)])));
}

function actions(view, record, changed) {
  const { dom: { h }, who } = view;
  const change = mayChange(who, record);
  const confirming = record.status === "provisional" ? mayConfirm(who, record) : null;
  const button = (label, reason, work, look) => h("button", { type: "button", class: look, disabled: reason !== null, "aria-describedby": reason !== null ? "why-not" : null, onclick: async () => changed(await work(view, record)) }, label);
  const reasons = [...new Set([confirming, change].filter(Boolean))];
  return h("footer", {}, h("div", { class: "actions" },
    record.status === "provisional" && button("Confirm ...", confirming, confirmRecord, "primary"),
    record.kind !== "policy" && record.status !== "revoked" && button("Edit ...", change, editRecord),
    record.status !== "revoked" && button("Revoke ...", change, revoke),
    button("Delete ...", change, removeRecord, "danger")),
  reasons.length > 0 && h("p", { class: "hint", id: "why-not" }, reasons.join(" ")));
}

// The related records: the slot of a fact, the versions of a policy, the preferences of a key.
async function lanesOf(view, record) {
  if (record.kind === "episode") return [];
  if (record.kind === "fact") {
    if (!record.subject || !record.predicate) return [factLane(record, new Map())];
    const known = dayIn(view.state, "known_at");
    const { facts } = await view.api.post("v1/memory/history", { scope: view.scope(), subject: record.subject, predicate: record.predicate, known_at: known && endOf(known) });
    const byId = new Map(facts.map((fact) => [fact.id, fact]));
    return (known || byId.has(record.id) ? facts : [...facts, record]).map((fact) => factLane(fact, byId));
  }
  const records = [];
  for await (const some of pages(view, { kinds: [record.kind], hidden: true })) records.push(...some);
  const some = records.filter((other) => other.key === record.key && (other.tenant ?? null) === (record.tenant ?? null) && other.scope?.user === record.scope?.user);
  return record.kind === "policy" ? policyLanes(some) : some.map((wish) => wishLane(wish, some));
}

const factLane = (fact, byId) => ({ record: fact, spans: spansOf(fact), told: fact.recorded_at ?? fact.created_at, by: byId.get(fact.superseded_by) });

// A confirmed version holds until the next confirmed one begins.
function policyLanes(versions) {
  return versions.map((version, i) => {
    const next = versions.slice(i + 1).find((later) => later.status === "active");
    const until = [version.effective_until, next?.effective_from].filter(Boolean).sort((one, other) => Date.parse(one) - Date.parse(other))[0] ?? null;
    const spans = version.status === "active" && (until === null || Date.parse(until) > Date.parse(version.effective_from)) ? [[version.effective_from, until]] : [];
    return { record: version, spans, told: version.provenance.at ?? version.effective_from, by: spans.length && until === next?.effective_from ? next : null };
  });
}

function wishLane(wish, all) {
  const by = all.find((other) => other.id === wish.superseded_by);
  return { record: wish, spans: wish.status === "revoked" ? [] : [[wish.created_at, by?.created_at ?? wish.expires_at]], told: wish.created_at, by };
}
