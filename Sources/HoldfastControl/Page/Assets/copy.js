// "Copy as command" and "as JSON": the clipboard if there is one, else a window with the text.
import { h } from "./dom.js";
import { openDialog } from "./dialog.js";

let timer;

/** Says in a corner, and to screen readers, that something was done. */
function notify(text) {
  const place = document.getElementById("notice");
  place.textContent = text;
  place.classList.add("seen");
  clearTimeout(timer);
  timer = setTimeout(() => place.classList.remove("seen"), 4000);
}

export async function copy(text, name) {
  try {
    await navigator.clipboard.writeText(text);
    const line = text.split("\n", 1)[0];
    notify(`Copied ${name}: ${line.length > 70 ? `${line.slice(0, 70)}…` : line}`);
  } catch {
    showText(name, text);
  }
}

function showText(name, text) {
  const area = h("textarea", { readonly: true, rows: 12, "aria-label": name, spellcheck: "false" });
  area.value = text;
  openDialog({ title: `Copy ${name}`, content: [h("p", {}, "This browser keeps the clipboard from the page. Copy the text by hand."), area] });
  area.select();
}

/** An argument for a shell. Anything but plain characters is quoted. */
export function quoted(argument) {
  const text = String(argument);
  if (/^[A-Za-z0-9_@%+=:,./-]+$/.test(text)) return text;
  // Control characters would act in a terminal, so they are written as escapes of $'…'.
  if (/[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/.test(text)) {
    const escape = (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
    const safe = text
      .replace(/[\\']/g, "\\$&")
      .replace(/[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g, escape);
    return `$'${safe}'`;
  }
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** The two buttons of a table. `command` and `value` are functions, called when they are used. */
export function copyButtons(name, command, value) {
  return h(
    "span",
    { class: "copies", role: "group", "aria-label": `Copy ${name}` },
    h("button", { type: "button", class: "quiet", on: { click: () => copy(command(), "the command") } }, "Copy as command"),
    h("button", { type: "button", class: "quiet", on: { click: () => copy(JSON.stringify(value(), null, 2), "JSON") } }, "as JSON"),
  );
}
