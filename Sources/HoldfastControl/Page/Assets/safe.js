// Shows untrusted text: URLs, field values, tags. Characters that are invisible or that change the text's
// direction are replaced by their names, and each part of a URL keeps its position.
import { h } from "./dom.js";

// Controls (C0, C1), directional marks, zero-width and other invisible characters, line and
// paragraph separators, tags, private use, and unpaired surrogates.
const hidden = new RegExp(
  "[\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u034f\\u061c\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f" +
    "\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\u3164\\ufe00-\\ufe0f\\ufeff\\uffa0\\ufff0-\\ufffb" +
    "\\ue000-\\uf8ff\\u{1bca0}-\\u{1bca3}\\u{1d173}-\\u{1d17a}\\u{e0000}-\\u{e0fff}\\ud800-\\udfff]",
  "gu",
);

const foldAt = 400;

function nameOf(character) {
  return `U+${character.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}`;
}

/** Returns the text with each hidden character replaced by `act(character)`. */
export const replaceHidden = (text, act) => String(text).replace(hidden, act);

/** Returns the text with each hidden character replaced by its name, for titles, labels and the clipboard. */
export const plain = (text) => replaceHidden(text, (character) => `⟨${nameOf(character)}⟩`);

/** Splits the text into pieces. Every hidden character becomes a visible mark with its name. */
function pieces(text) {
  const result = [];
  let from = 0;
  for (const match of text.matchAll(hidden)) {
    if (match.index > from) result.push(text.slice(from, match.index));
    result.push(h("span", { class: "mark", title: `hidden character ${nameOf(match[0])}` }, nameOf(match[0])));
    from = match.index + match[0].length;
  }
  if (from < text.length) result.push(text.slice(from));
  return result;
}

/** Returns an element with untrusted text, isolated from the direction of the surrounding text. */
export function shown(text) {
  return h("bdi", { class: "foreign" }, pieces(String(text)));
}

/** Returns an element with untrusted text. Long text is folded, and a button unfolds it in a scrolling box. */
export function folded(text) {
  const whole = String(text);
  if (whole.length <= foldAt) return shown(whole);
  const box = h("span", { class: "folded" }, shown(whole.slice(0, foldAt)), "… ");
  const count = whole.length.toLocaleString("en-GB");
  const button = h("button", { type: "button", class: "quiet", on: { click: open } }, `Show all ${count} characters`);
  function open() {
    const all = h("span", { class: "scrolls", tabindex: "0", role: "region", "aria-label": "The whole value" }, shown(whole));
    box.replaceChildren(all);
    all.focus();
  }
  box.append(button);
  return box;
}

/** Returns an element with a URL for a table row. The middle of a long URL is left out. */
export function shortURL(text, longest = 110) {
  const whole = String(text);
  if (whole.length <= longest) return url(whole);
  const end = Math.floor(longest * 0.35);
  const short = [url(whole.slice(0, longest - end)), h("span", { class: "cut" }, "…"), url(whole.slice(-end))];
  return h("span", { title: plain(whole.slice(0, 2000)) }, short);
}

/**
 * Returns an element with a URL. It is shown from left to right, and each part is isolated, so that
 * right-to-left letters cannot change the positions of host, path and query.
 */
export function url(text) {
  const parts = String(text).split(/([/?#&=.:@]+)/);
  const needsIsolation = /[^\u0000-\u024f]/u.test(text);
  const content = needsIsolation
    ? parts.map((part, at) => (at % 2 || part === "" ? part : h("bdi", {}, pieces(part))))
    : pieces(String(text));
  return h("bdi", { class: "url", dir: "ltr", title: plain(String(text).slice(0, 2000)) }, content);
}
