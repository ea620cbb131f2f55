// Texts of memories are put into the page as text, never as markup: element() is the only way in.
"use strict";

const find = (id) => document.getElementById(id);

function element(name, className, text) {
  const made = document.createElement(name);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}

function say(text, failed = false) {
  find("said").textContent = text;
  find("said").classList.toggle("failed", failed);
}

async function call(path, body) {
  const headers = {};
  const token = find("token").value;
  if (token) headers.Authorization = `Bearer ${token}`;
  const options = { headers, cache: "no-store", credentials: "omit" };
  if (body !== undefined) {
    headers["Content-Type"] = "application/json";
    Object.assign(options, { method: "POST", body: JSON.stringify(body) });
  }
  const answer = await fetch(path, options);
  const given = await answer.json();
  if (!answer.ok) throw new Error(given.error ? given.error.message : `status ${answer.status}`);
  return given;
}

const number = (value, digits) => (value === null || value === undefined ? "-" : value.toFixed(digits));
const ordinal = (n) => `${n}${["th", "st", "nd", "rd"][n % 100 > 10 && n % 100 < 14 ? 0 : Math.min(n % 10, 4) % 4]}`;

// Why a memory is among the fused: what each ranking says of it.
function why(hit) {
  const reasons = [];
  if (hit.identifier) reasons.push("holds a rare identifier of the query verbatim, so it comes first");
  if (hit.lexical_rank !== null) {
    const terms = hit.matched_terms && hit.matched_terms.length ? `, matched ${hit.matched_terms.join(", ")}` : "";
    reasons.push(`${ordinal(hit.lexical_rank)} by words (BM25 ${number(hit.bm25, 2)}${terms})`);
  } else if (hit.bm25 !== null && hit.bm25 !== undefined) {
    reasons.push(`words match, but not among the candidates (BM25 ${number(hit.bm25, 2)})`);
  } else {
    reasons.push("no word in common");
  }
  if (hit.vector_rank !== null) {
    reasons.push(`${ordinal(hit.vector_rank)} by meaning (similarity ${number(hit.similarity, 3)})`);
  } else if (hit.similarity !== null && hit.similarity !== undefined) {
    reasons.push(`not among the nearest (similarity ${number(hit.similarity, 3)})`);
  }
  return reasons.join("; ");
}

const keyOf = (hit) => JSON.stringify([hit.scope.tenant, hit.scope.user, hit.scope.agent, hit.id]);

function card(hit, place, figure, reason) {
  const item = element("li");
  const key = keyOf(hit);
  item.dataset.key = key;
  item.tabIndex = 0;
  const head = element("div", "head");
  head.append(element("span", "id", `${place}. ${hit.id}`), element("span", "figure", figure));
  item.append(head, element("div", "text", hit.text));
  const scope = [hit.scope.tenant, hit.scope.user, hit.scope.agent].filter((part) => part !== null);
  item.append(element("div", "scope", scope.join(" / ")));
  if (reason) item.append(element("div", "why", reason));
  // The same memory in the other columns.
  const mark = (on) => () => {
    for (const other of document.querySelectorAll("li")) {
      if (other.dataset.key === key) other.classList.toggle("same", on);
    }
  };
  for (const event of ["mouseenter", "focus"]) item.addEventListener(event, mark(true));
  for (const event of ["mouseleave", "blur"]) item.addEventListener(event, mark(false));
  return item;
}

function show(given) {
  const ranked = (id, hits, figure, reason) => {
    const items = hits.map((hit, i) => card(hit, i + 1, figure(hit), reason ? reason(hit) : ""));
    find(id).replaceChildren(...(items.length ? items : [element("li", "none", "nothing")]));
  };
  ranked("lexical", given.lexical, (hit) => number(hit.score, 3));
  ranked("vector", given.vector, (hit) => number(hit.score, 3));
  ranked("hits", given.hits, (hit) => number(hit.score, 4), why);
  const share = given.lexical_share;
  find("fused-note").textContent =
    share === null ? `mode ${given.mode}` : `mode ${given.mode}; words weighed ${(share * 100).toFixed(0)}%`;
  const most = Math.max(...given.stages.map((stage) => stage.us));
  find("stages").tBodies[0].replaceChildren(
    ...given.stages.map((stage) => {
      const row = element("tr");
      const meter = element("meter");
      meter.max = most;
      meter.value = stage.us;
      const bar = element("td");
      bar.append(meter);
      row.append(element("td", "", stage.name), element("td", "number", `${stage.us.toFixed(1)} µs`), bar);
      return row;
    }),
  );
  const degraded = given.degraded.length ? `; degraded: ${given.degraded.join("; ")}` : "";
  say(`${given.hits.length} found in ${given.took_us.toFixed(0)} µs${degraded}`);
  find("answer").hidden = false;
}

let asked = 0; // an answer to an older question is dropped

find("ask").addEventListener("submit", async (event) => {
  event.preventDefault();
  const scope = {};
  for (const part of ["tenant", "user", "agent"]) if (find(part).value) scope[part] = find(part).value;
  const mine = ++asked;
  say("searching ...");
  try {
    const given = await call("v1/explain", {
      text: find("text").value,
      k: Number(find("k").value),
      fusion: find("fusion").value,
      scope,
    });
    if (mine === asked) show(given);
  } catch (error) {
    if (mine !== asked) return;
    find("answer").hidden = true;
    say(error.message, true);
  }
});

// What the token, or the service without tokens, is bound to needs no typing.
async function introduce() {
  const before = asked;
  try {
    const who = await call("v1/whoami");
    for (const part of ["tenant", "user", "agent"]) {
      find(part).disabled = who[part] !== null;
      if (who[part] !== null) find(part).value = who[part];
    }
    if (who.tenant === null) find("tenant").placeholder = "required";
    if (before === asked) say("");
  } catch (error) {
    for (const part of ["tenant", "user", "agent"]) find(part).disabled = false;
    if (before === asked) say(error.message, true);
  }
}

find("token").addEventListener("change", introduce);
introduce();
