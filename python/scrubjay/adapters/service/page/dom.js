// Safe construction of elements: memory content becomes text, never markup. No other module creates elements.

const SVG = "http://www.w3.org/2000/svg";

// h("button", {class: "small", onclick: f, disabled: true}, "Save", icon): an HTML element.
//
// Properties: `class`, `dataset` (an object), `style` (an object of CSS properties, custom ones too), `on...` listeners;
// everything else is an attribute, omitted if null, undefined or false. Children: texts, numbers, nodes, lists of these;
// null and false are skipped.
export function h(name, properties = {}, ...children) {
  return fill(document.createElement(name), properties, children);
}

// svg("path", {d: "..."}): an SVG element, with the same rules.
export function svg(name, properties = {}, ...children) {
  return fill(document.createElementNS(SVG, name), properties, children);
}

// Replaces the children of an element.
export function show(element, ...children) {
  element.replaceChildren(...flat(children));
  return element;
}

function fill(element, properties, children) {
  for (const [name, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "class") element.setAttribute("class", value);
    else if (name === "dataset") Object.assign(element.dataset, value);
    else if (name === "style") for (const [key, given] of Object.entries(value)) element.style.setProperty(key, given);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...flat(children));
  return element;
}

function flat(children) {
  return children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false);
}
