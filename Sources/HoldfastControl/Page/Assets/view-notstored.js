// Why responses were not stored: reasons, counts and examples.
import { get } from "./api.js";
import { curl } from "./changes.js";
import { h } from "./dom.js";
import { at, count, dash } from "./format.js";
import { plain, shortURL, shown } from "./safe.js";
import { loaded, table } from "./table.js";

function examples({ examples: list = [] }) {
  if (list.length === 0) return dash;
  return h(
    "details",
    {},
    h("summary", {}, shortURL(list[0].url, 80)),
    h("ul", { class: "examples" }, list.map((example) => h("li", {}, at(example.at), ` ${example.status ?? ""} `, shortURL(example.url), example.route && h("span", { class: "muted" }, ` route ${plain(example.route)}`)))),
  );
}

export function open() {
  const place = h("div", {});
  const { end } = loaded(
    place,
    (signal) => get("/v1/not-stored", {}, signal),
    ({ since, reasons }) =>
      table({
        title: "Reasons",
        note: ["Responses sent to clients but not stored, since ", at(since), ". ", h("code", {}, "holdfast explain"), " shows which rule would change that."],
        columns: [
          { name: "Reason", by: (row) => row.reason, cell: (row) => [shown(row.words ?? row.reason), h("div", { class: "muted code" }, plain(row.reason))] },
          { name: "Responses", kind: "number", by: (row) => row.count, cell: (row) => count(row.count) },
          { name: "Latest examples", kind: "wide", cell: examples },
        ],
        rows: reasons,
        empty: "Every response was stored.",
        command: () => curl("/v1/not-stored"),
      }),
  );
  return { title: "Why not stored", element: h("div", {}, h("h1", {}, "Why not stored"), place), leave: end };
}
