// Tables, which can be sorted by their headers, and copied as a command or as JSON. On a phone, each row is
// a card. Roles are explicit, because that layout would remove the implicit roles.
import { h, put } from "./dom.js";
import { copyButtons } from "./copy.js";
import { heldFocus, problem } from "./dialog.js";
import { plain, shown } from "./safe.js";

/**
 * Returns a table with a title. A column has `name` and `cell(row)`, and optionally `kind` ("number", "wide").
 * `by(row)` enables sorting on the page; `href` with `sorted` enables sorting by the gateway.
 */
export function table({ title, level = 2, note, columns, rows, empty, command, json, tools, foot }) {
  const order = { column: undefined, isDescending: false };
  const head = h("thead", { role: "rowgroup" });
  const body = h("tbody", { role: "rowgroup" });
  const element = h("table", { role: "table", "aria-label": plain(title) }, head, body);

  function draw() {
    put(head, h("tr", { role: "row" }, columns.map(headCell)));
    put(body, sorted().map((row) => h("tr", { role: "row" }, columns.map((column) => cell(column, row)))));
  }

  function headCell(column) {
    const isSorted = order.column === column;
    const direction = isSorted ? (order.isDescending ? "descending" : "ascending") : column.sorted;
    const mark = h("span", { class: "sort", "aria-hidden": "true" }, direction === "descending" ? "▼" : direction === "ascending" ? "▲" : "↕");
    let content = column.name;
    if (column.by) content = h("button", { type: "button", on: { click: () => sortBy(column) } }, column.name, mark);
    else if (column.href) content = h("a", { href: column.href }, column.name, mark);
    return h("th", { role: "columnheader", scope: "col", class: column.kind, "aria-sort": direction }, content);
  }

  function sortBy(column) {
    order.isDescending = order.column === column ? !order.isDescending : column.kind === "number";
    order.column = column;
    draw();
    [...head.querySelectorAll("th")][columns.indexOf(column)].querySelector("button").focus();
  }

  function sorted() {
    if (!order.column) return rows;
    const sign = order.isDescending ? -1 : 1;
    const value = order.column.by;
    return [...rows].sort((one, other) => sign * compare(value(one), value(other)));
  }

  draw();
  const copies = command && copyButtons(plain(title).toLowerCase(), command, json ?? (() => rows));
  return h(
    "section",
    { class: "panel" },
    h("div", { class: "panel-head" }, h(`h${level}`, {}, shown(title)), tools, copies),
    note && h("p", { class: "muted panel-note" }, note),
    rows.length ? h("div", { class: "table-box" }, element) : h("p", { class: "empty" }, empty),
    foot,
  );
}

function cell(column, row) {
  return h("td", { role: "cell", class: column.kind, "data-label": column.name }, h("div", { class: "cell" }, column.cell(row)));
}

function compare(one, other) {
  if (one === other) return 0;
  if (one === undefined || one === null) return -1;
  if (other === undefined || other === null) return 1;
  return one < other ? -1 : 1;
}

/** Loads and draws a part of the page. It first shows that the part is loading, and then the part or an error. */
export function loaded(place, load, draw) {
  const stop = new AbortController();
  const run = async () => {
    const isFirst = !place.hasChildNodes();
    if (isFirst) put(place, h("p", { class: "loading", role: "status" }, "Loading"));
    place.setAttribute("aria-busy", "true");
    try {
      const value = await load(stop.signal);
      if (stop.signal.aborted) return;
      const giveBack = heldFocus(place);
      put(place, draw(value));
      // An open dialog has the focus, and restores it when it closes.
      giveBack();
    } catch (error) {
      if (stop.signal.aborted) return;
      const again = h("button", { type: "button", on: { click: run } }, "Try again");
      put(place, h("div", { class: "panel failed" }, problem(error), again));
    } finally {
      place.removeAttribute("aria-busy");
    }
  };
  run();
  return { reload: run, end: () => stop.abort() };
}
