// "Copy as command" and "as JSON": to the clipboard, or without one, to a window with the text.
import { h } from "./dom.js";
import { openDialog } from "./dialog.js";
import { plain, replaceHidden } from "./safe.js";

let timer;

/** Shows in a corner, and tells screen readers, that something was done. */
function notify(text) {
  const place = document.getElementById("notice");
  place.textContent = text;
  place.classList.add("seen");
  clearTimeout(timer);
  timer = setTimeout(() => place.classList.remove("seen"), 4000);
}

async function copy(text, name) {
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
  openDialog({ title: `Copy ${name}`, content: [h("p", {}, "The browser does not let this page use the clipboard. Copy the text yourself."), area] });
  area.select();
}

/** An argument for a POSIX shell, quoted unless it has only plain characters. */
export function quoted(argument) {
  const text = String(argument);
  // `$(…)` would drop it, and the command would select something else.
  if (text.endsWith("\n")) throw new Error("A value ends with a line break, which a command cannot contain.");
  if (/^[A-Za-z0-9_@%+=:,./-]+$/.test(text)) return text;
  // A hidden character would affect the terminal where the command is pasted. So printf creates it in the
  // shell from digits. In printf's format, bash would expand a '!', and a leading '-' would be an option.
  if (plain(text) !== text) {
    const digits = (characters) => [...new TextEncoder().encode(characters)].map((byte) => `\\${byte.toString(8).padStart(3, "0")}`).join("");
    const format = replaceHidden(text.replace(/[\\%]/g, "$&$&").replace(/!|^-/g, digits), digits);
    return `"$(printf '${format.replaceAll("'", "'\\''")}')"`;
  }
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** An option with its value, which may begin with '-'. */
export function option(name, value) {
  return `${name}${String(value).startsWith("-") ? "=" : " "}${quoted(value)}`;
}

/** Copies the command that `make` returns, or shows why there is none. */
export async function copyCommand(make) {
  let command;
  try {
    command = make();
  } catch (error) {
    notify(`Nothing was copied. ${error.message}`);
    return;
  }
  await copy(command, "the command");
}

/** The two buttons of a table. `command` and `value` are functions, called on a click. */
export function copyButtons(name, command, value) {
  return h(
    "span",
    { class: "copies", role: "group", "aria-label": `Copy ${name}` },
    h("button", { type: "button", class: "quiet", on: { click: () => copyCommand(command) } }, "Copy as command"),
    h("button", { type: "button", class: "quiet", on: { click: () => copy(JSON.stringify(value(), null, 2), "JSON") } }, "as JSON"),
  );
}
