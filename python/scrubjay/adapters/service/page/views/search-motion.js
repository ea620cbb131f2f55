// Animates cards to their new places, so that the eye can follow a change.

const MILLISECONDS = 220;

// The position of each card, by column and key.
export function placesOf(element) {
  const places = new Map();
  for (const item of element.querySelectorAll("li[data-key]")) places.set(nameOf(item), item.getBoundingClientRect().top);
  return places;
}

// Moves the cards from their old to their new positions; `drawn` is called for every frame.
export function moveFrom(before, element, drawn) {
  if (matchMedia("(prefers-reduced-motion: reduce)").matches || before.size === 0) return;
  const moves = [];
  for (const item of element.querySelectorAll("li[data-key]")) {
    const from = before.get(nameOf(item));
    if (from === undefined) moves.push([item, [{ opacity: 0 }, { opacity: 1 }]]);
    else {
      const by = from - item.getBoundingClientRect().top;
      if (Math.abs(by) > 1) moves.push([item, [{ transform: `translateY(${by}px)` }, { transform: "none" }]]);
    }
  }
  for (const [item, frames] of moves) item.animate(frames, { duration: MILLISECONDS, easing: "cubic-bezier(.2, .8, .2, 1)" });
  if (moves.length === 0) return;
  const end = performance.now() + MILLISECONDS + 30;
  const frame = (now) => {
    if (!element.isConnected) return;
    drawn();
    if (now < end) requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
}

const nameOf = (item) => `${item.closest("ol, ul").className} ${item.dataset.key}`;
