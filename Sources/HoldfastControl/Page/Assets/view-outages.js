// Outages: when origins were unreachable, and how many clients the store served in the meantime.
import { get } from "./api.js";
import { badge } from "./badges.js";
import { curl } from "./changes.js";
import { h } from "./dom.js";
import { at, count, dash, length } from "./format.js";
import { url } from "./safe.js";
import { loaded, table } from "./table.js";

export function open() {
  const place = h("div", {});
  const { end } = loaded(
    place,
    (signal) => get("/v1/outages", {}, signal),
    ({ since, outages }) =>
      table({
        title: "Since startup",
        note: ["The last 100 since ", at(since), ". Counts cover the whole gateway during the outage."],
        columns: [
          { name: "Origin", kind: "wide", by: (row) => row.origin, cell: (row) => url(row.origin) },
          { name: "From", by: (row) => row.since, cell: (row) => at(row.since) },
          { name: "Until", by: (row) => row.until, cell: (row) => (row.until ? at(row.until) : badge("unreachable", "still unreachable")) },
          { name: "Length", kind: "number", by: (row) => row.seconds, cell: (row) => length(row.seconds * 1000) },
          { name: "From the store", kind: "number", by: (row) => row.fromStore, cell: (row) => count(row.fromStore) },
          { name: "Rejected", kind: "number", by: (row) => row.refused, cell: (row) => h("span", { class: row.refused > 0 ? "warn-text" : undefined }, count(row.refused)) },
          { name: "Oldest served", kind: "number", by: (row) => row.oldestSeconds, cell: (row) => (row.oldestSeconds === undefined || row.oldestSeconds === null ? dash : length(row.oldestSeconds * 1000)) },
        ],
        rows: outages,
        empty: "No origin has been unreachable since startup.",
        command: () => curl("/v1/outages"),
      }),
  );
  return { title: "Outages", element: h("div", {}, h("h1", {}, "Outages"), place), leave: end };
}
