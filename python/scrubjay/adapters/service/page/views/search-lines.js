// Lines between columns: from a memory's rank in one ranking to its rank in another.

// Draws a line for every memory that is in the column `.fused` and in a neighbour. Coordinates are relative to `element`.
export function drawLines(lines, element, svg, middle = ".fused") {
  const box = element.getBoundingClientRect();
  const places = (selector) => new Map([...element.querySelectorAll(`${selector} [data-key]`)].map((item) => [item.dataset.key, item.getBoundingClientRect()]));
  const centre = places(`.column${middle}`);
  const paths = [];
  for (const column of element.querySelectorAll(`.column:not(${middle})`)) {
    const kind = column.dataset.kind ?? (column.classList.contains("words") ? "words" : "meaning");
    for (const item of column.querySelectorAll("[data-key]")) {
      const to = centre.get(item.dataset.key);
      if (!to) continue;
      const from = item.getBoundingClientRect();
      if (from.right > to.left && from.left < to.right) continue; // stacked columns in a narrow window
      const leftwards = from.left > to.right;
      const [x1, x2] = leftwards ? [from.left, to.right] : [from.right, to.left];
      const [y1, y2] = [anchor(from), anchor(to)];
      const bend = (x2 - x1) / 2;
      const d = `M${f(x1 - box.left)} ${f(y1 - box.top)}C${f(x1 + bend - box.left)} ${f(y1 - box.top)} ${f(x2 - bend - box.left)} ${f(y2 - box.top)} ${f(x2 - box.left)} ${f(y2 - box.top)}`;
      paths.push(svg("path", { d, class: kind, dataset: { key: item.dataset.key } }));
    }
  }
  lines.replaceChildren(...paths);
}

// The height of the rank on a card.
const anchor = (box) => box.top + Math.min(box.height / 2, 24);
const f = (number) => number.toFixed(1);
