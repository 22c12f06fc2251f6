// Creates elements. Text becomes text nodes only, so the page never parses text as HTML.

const svgNamespace = "http://www.w3.org/2000/svg";

// Attributes that could run a script, load a resource or set a style. Links may lead only to views of this page.
const forbidden = /^(on.+|style|src|srcset|srcdoc|action|formaction|data|xlink:href)$/i;

function fill(element, properties, children) {
  for (const [name, value] of Object.entries(properties ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (forbidden.test(name) || (name === "href" && !String(value).startsWith("#"))) throw new Error(`'${name}' is not allowed`);
    if (name === "on") {
      for (const [event, act] of Object.entries(value)) element.addEventListener(event, act);
    } else if (name === "value" && "value" in element) {
      element.value = value;
    } else {
      element.setAttribute(name, value === true ? "" : String(value));
    }
  }
  append(element, children);
  return element;
}

function append(element, children) {
  for (const child of children.flat(Infinity)) {
    if (child === undefined || child === null || child === false) continue;
    element.append(child instanceof Node ? child : String(child));
  }
}

/** Creates an HTML element: `h("p", {class: "note", on: {click: act}}, "text", other)`. */
export function h(name, properties, ...children) {
  return fill(document.createElement(name), properties, children);
}

/** Creates an SVG element. Its geometry is in attributes, because the page's policy forbids inline styles. */
export function svg(name, properties, ...children) {
  return fill(document.createElementNS(svgNamespace, name), properties, children);
}

/** Replaces an element's children. */
export function put(element, ...children) {
  const fragment = document.createDocumentFragment();
  append(fragment, children);
  element.replaceChildren(fragment);
  return element;
}

/**
 * Changes only the parts of `old` that differ from `fresh`. Focus, selection and scroll position are kept, so a
 * live view can be redrawn every second. The listeners of `fresh` are lost, so use links there.
 */
function morph(old, fresh) {
  if (old.nodeType !== fresh.nodeType || old.nodeName !== fresh.nodeName) {
    old.replaceWith(fresh);
    return;
  }
  if (old.nodeType !== Node.ELEMENT_NODE) {
    if (old.nodeValue !== fresh.nodeValue) old.nodeValue = fresh.nodeValue;
    return;
  }
  for (const { name } of [...old.attributes]) {
    if (!fresh.hasAttribute(name)) old.removeAttribute(name);
  }
  for (const { name, value } of [...fresh.attributes]) {
    if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  }
  const before = [...old.childNodes];
  const after = [...fresh.childNodes];
  after.forEach((node, at) => (at < before.length ? morph(before[at], node) : old.append(node)));
  before.slice(after.length).forEach((node) => node.remove());
}

/** Updates the content of `element` to `children`, by changing only the differences. */
export function update(element, ...children) {
  const fresh = element.cloneNode(false);
  append(fresh, children);
  morph(element, fresh);
}

/** Returns text for screen readers only. */
export function unseen(text) {
  return h("span", { class: "unseen" }, text);
}
