// "Copy as command" and "as JSON". The text is copied to the clipboard, or shown in a dialog if there is none.
import { h } from "./dom.js";
import { openDialog } from "./dialog.js";
import { plain, replaceHidden } from "./safe.js";

let timer;

/** Shows a message in a corner, and announces it to screen readers. */
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

/** Returns an argument for a POSIX shell, quoted unless it consists only of plain characters. */
export function quoted(argument) {
  const text = String(argument);
  // `$(…)` would drop the line break, so the command would select something else.
  if (text.endsWith("\n")) throw new Error("A value ends with a line break, which a command cannot contain.");
  if (/^[A-Za-z0-9_@%+=:,./-]+$/.test(text)) return text;
  // A hidden character could affect the terminal where the command is pasted, so printf creates it from
  // digits in the shell. In printf's format, bash would expand a '!', and a leading '-' would be an option.
  if (plain(text) !== text) {
    const digits = (characters) => [...new TextEncoder().encode(characters)].map((byte) => `\\${byte.toString(8).padStart(3, "0")}`).join("");
    const format = replaceHidden(text.replace(/[\\%]/g, "$&$&").replace(/!|^-/g, digits), digits);
    return `"$(printf '${format.replaceAll("'", "'\\''")}')"`;
  }
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** Returns an option with its value, which may begin with '-'. */
export function option(name, value) {
  return `${name}${String(value).startsWith("-") ? "=" : " "}${quoted(value)}`;
}

/** Copies the command that `make` returns, or shows the error that it throws. */
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

/** Returns the two buttons of a table. The functions `command` and `value` are called on a click. */
export function copyButtons(name, command, value) {
  return h(
    "span",
    { class: "copies", role: "group", "aria-label": `Copy ${name}` },
    h("button", { type: "button", class: "quiet", on: { click: () => copyCommand(command) } }, "Copy as command"),
    h("button", { type: "button", class: "quiet", on: { click: () => copy(JSON.stringify(value(), null, 2), "JSON") } }, "as JSON"),
  );
}
