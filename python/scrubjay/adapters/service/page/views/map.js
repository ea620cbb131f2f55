// The view #/map: the memories of the scope on the two axes along which their vectors differ most.
//
// Parameters: q. Hits of the question are highlighted, and the question is a ring among the memories.

import { given } from "../scopes.js";
import { keyOf } from "./search-cards.js";

const MOST = 1000;
const N_HITS = 8;
const PAUSE_MS = 250;
const SIZE = { width: 1000, height: 640, margin: 40 };
const N_COLOURS = 8;
let ended = null;

export function mount(root, context) {
  const { api, state, dom, widgets, about } = context;
  const { h, svg, show } = dom;
  let alive = true;
  let points = []; // {memory, x, y, dot}
  let drawnFor = "";
  let current = 0;
  let hits = [];
  let query = null;

  const input = h("input", { type: "search", placeholder: "Light up what answers a question ...", "aria-label": "Question", value: state.get("q") ?? "", autocomplete: "off", oninput: () => state.set({ q: input.value }) });
  const dots = svg("g");
  const ring = svg("g", { class: "question", hidden: true }, svg("circle", { r: 13 }), svg("circle", { r: 3, class: "heart" }));
  const rays = svg("g", { class: "rays" });
  const numbers = svg("g", { class: "numbers" });
  const plane = svg("svg", { viewBox: `0 0 ${SIZE.width} ${SIZE.height}`, class: "plane", role: "application", tabindex: 0, "aria-label": "Map of the memories. Arrow keys go from one to the next, Enter asks for the one that is pointed at." }, rays, dots, numbers, ring);
  const pointed = h("div", { class: "panel pointed", "aria-live": "polite" });
  const legend = h("ul", { class: "legend" });
  const list = h("ol", { class: "hits" });
  const note = h("p", { class: "hint" });
  const board = h("div", { class: "map" }, h("div", { class: "panel canvas" }, plane, legend, note), h("div", { class: "side" }, pointed, h("section", {}, h("h2", {}, "Found"), list)));
  const place = h("div");
  show(root, h("h1", { class: "unseen" }, "Map"), h("div", { class: "ask small" }, input), place);

  const toX = (x) => SIZE.width / 2 + x * (SIZE.width / 2 - SIZE.margin);
  const toY = (y) => SIZE.height / 2 - y * (SIZE.height / 2 - SIZE.margin);

  // ------------------------------------------------------------ pointing

  function point(at) {
    current = at;
    const { memory, dot } = points[at];
    dots.querySelector(".pointed")?.classList.remove("pointed");
    dot.classList.add("pointed");
    show(pointed, h("p", { class: "text" }, memory.text, memory.text.length >= 160 && " …"),
      h("div", { class: "meta" }, h("span", { class: "badge plain" }, widgets.scopeText(memory.scope)), memory.category && h("span", { class: "badge plain" }, memory.category), h("span", { class: "muted" }, widgets.day(memory.created_at))),
      h("a", { href: state.href("search", { q: memory.text.slice(0, 160) }) }, "Search for what is like it"));
  }

  // The nearest point in a direction; sideways distance counts double.
  function step(dx, dy) {
    const from = points[current];
    let best = null;
    points.forEach((to, at) => {
      const ahead = (to.x - from.x) * dx + (to.y - from.y) * dy;
      const aside = Math.abs((to.x - from.x) * dy) + Math.abs((to.y - from.y) * dx);
      const cost = ahead + 2 * aside;
      if (at !== current && ahead > 0.5 && (best === null || cost < best[0])) best = [cost, at];
    });
    if (best) point(best[1]);
  }
  plane.addEventListener("keydown", (event) => {
    const way = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    if (points.length === 0 || (!way && event.key !== "Enter")) return;
    event.preventDefault();
    if (way) step(...way);
    else location.hash = state.href("search", { q: points[current].memory.text });
  });
  plane.addEventListener("pointermove", (event) => {
    const dot = event.target.closest?.("[data-at]");
    if (dot) point(Number(dot.dataset.at));
  });
  plane.addEventListener("click", (event) => {
    const dot = event.target.closest?.("[data-at]");
    if (dot) point(Number(dot.dataset.at));
  });

  // ------------------------------------------------------------ drawing

  function draw(drawn) {
    const kinds = kindsOf(drawn.points);
    const colour = (memory) => { const at = kinds.indexOf(kindOf(memory)); return at < 0 ? "other" : `k${at}`; };
    points = drawn.points.map((memory, at) => {
      const [x, y] = [toX(memory.x), toY(memory.y)];
      const dot = svg("circle", { cx: x, cy: y, r: drawn.points.length > 400 ? 4 : 6, class: `dot ${colour(memory)}`, dataset: { at, key: keyOf(memory) } });
      return { memory, x, y, dot };
    });
    dots.replaceChildren(...points.map(({ dot }) => dot));
    const hasOthers = drawn.points.some((memory) => !kinds.includes(kindOf(memory)));
    show(legend, kinds.map((kind, at) => h("li", {}, h("span", { class: `swatch k${at}` }), kind)), hasOthers && h("li", {}, h("span", { class: "swatch other" }), "other"));
    const share = drawn.shares.reduce((sum, one) => sum + one, 0);
    note.textContent = [
      `${drawn.points.length.toLocaleString()} of ${drawn.visible.toLocaleString()} memories, the last written ones, on their two principal axes`,
      `these show ${(share * 100).toFixed(0)} % of how the vectors differ: near is alike, far may be, too`,
      drawn.without_vector ? `${drawn.without_vector} have no vector and no place` : null,
    ].filter(Boolean).join("; ") + ".";
    if (points.length) point(0);
  }

  function light(found) {
    hits = found;
    const places = new Map(hits.map((hit, i) => [keyOf(hit), i]));
    plane.classList.toggle("asked", hits.length > 0);
    for (const { memory, dot } of points) {
      const at = places.get(keyOf(memory));
      dot.classList.toggle("hit", at !== undefined);
      dot.setAttribute("r", at === undefined ? (points.length > 400 ? 4 : 6) : 17 - at);
    }
    const lit = points.filter(({ dot }) => dot.classList.contains("hit"));
    numbers.replaceChildren(...lit.map(({ memory, x, y }) => svg("text", { x, y }, places.get(keyOf(memory)) + 1)));
    rays.replaceChildren(...(query ? lit.map(({ x, y }) => svg("line", { x1: toX(query.x), y1: toY(query.y), x2: x, y2: y })) : []));
    for (const { dot } of lit) dots.append(dot); // paint above the others
    if (query) ring.setAttribute("transform", `translate(${toX(query.x)} ${toY(query.y)})`);
    ring.toggleAttribute("hidden", !query);
    show(list, hits.map((hit, i) => h("li", { class: "hit slim" }, h("button", { type: "button", class: "rank", "aria-label": `Point at ${hit.id}`, onclick: () => {
      const at = points.findIndex(({ memory }) => keyOf(memory) === keyOf(hit));
      if (at >= 0) point(at);
    } }, i + 1), h("div", { class: "text" }, hit.text))), hits.length === 0 && h("li", { class: "hint" }, "Ask something: what is found lights up."));
  }

  // ------------------------------------------------------------ asking

  // Hits are requested with every keystroke; the map, which costs more, when the scope changes or typing pauses.
  const asked = () => ({ scope: state.scope(), text: (state.get("q") ?? "").trim() });
  let waiting = null;
  let n = 0;

  async function search() {
    const mine = ++n;
    const { scope, text } = asked();
    const answer = text ? await api.post("v1/search", { scope, text, k: Math.min(N_HITS, about.max_k) }) : { hits: [] };
    if (alive && mine === n) light(answer.hits);
  }

  async function locate() {
    const { scope, text } = asked();
    const drawn = await api.post("v1/map", { scope, limit: MOST, ...(text ? { text } : {}) });
    const now = asked();
    if (!alive || JSON.stringify(now.scope) !== JSON.stringify(scope)) return;
    if (drawn.points.length === 0) {
      show(place, nothing(drawn, scope));
      drawnFor = "";
      return;
    }
    const made = JSON.stringify([scope, drawn.points.map(({ id, x, y }) => [id, x, y])]);
    if (made !== drawnFor) {
      show(place, board);
      draw(drawn);
      drawnFor = made;
    }
    query = now.text === text ? drawn.query : null;
    light(hits);
  }

  let nRunning = 0;
  async function guarded(work) {
    place.setAttribute("aria-busy", String(++nRunning > 0));
    try {
      await work();
    } catch (error) {
      if (!alive) return;
      drawnFor = "";
      show(place, widgets.failed(error, begin));
      context.announce(error.message, { urgent: true });
    } finally {
      place.setAttribute("aria-busy", String(--nRunning > 0));
    }
  }

  let scopeShown = "";
  function follow() {
    const { scope, text } = asked();
    if (input.value.trim() !== text) input.value = text;
    if (!scope.tenant) return;
    const name = JSON.stringify(scope);
    clearTimeout(waiting);
    if (name !== scopeShown) {
      scopeShown = name;
      hits = [];
      query = null;
      guarded(locate);
    } else {
      query = null;
      waiting = setTimeout(() => guarded(locate), PAUSE_MS);
    }
    guarded(search);
  }

  function begin() {
    scopeShown = "";
    show(place, h("p", { class: "hint" }, "Drawing ..."));
    follow();
  }

  function nothing(drawn, scope) {
    if (drawn.visible > 0) return widgets.empty("No vectors here", `${drawn.visible} memories are in sight, but none has a vector. Start the service with --embedder, and run \`scrubjay.Index.admin.backfill\`.`);
    return widgets.empty("An empty map", `Nothing is in sight from ${widgets.scopeText(scope)}. Choose another scope, or add a memory on the Search page.`, h("a", { class: "button", href: state.href("search", given(scope)) }, "To the search"));
  }

  const stop = state.subscribe(follow);
  ended = () => {
    alive = false;
    clearTimeout(waiting);
    stop();
  };
  begin();
}

export function unmount() {
  ended?.();
  ended = null;
}

const kindOf = (memory) => memory.category ?? memory.scope.user ?? memory.scope.agent ?? "shared";

// The most frequent kinds, which get distinct colours.
function kindsOf(memories) {
  const counts = new Map();
  for (const memory of memories) counts.set(kindOf(memory), (counts.get(kindOf(memory)) ?? 0) + 1);
  return [...counts].sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1)).slice(0, N_COLOURS).map(([kind]) => kind);
}
