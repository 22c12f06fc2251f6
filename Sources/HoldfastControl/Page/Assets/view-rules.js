// Rules and routes, and how often each matched.
import { get } from "./api.js";
import { badge } from "./badges.js";
import { curl } from "./changes.js";
import { h } from "./dom.js";
import { at, count, dash } from "./format.js";
import { shown } from "./safe.js";
import { loaded, table } from "./table.js";

const list = (texts) => h("ul", { class: "settings" }, [texts ?? []].flat().map((text) => h("li", {}, h("code", {}, shown(String(text).slice(0, 300))))));

function rulesTable({ since, rules }) {
  return table({
    title: "Rules",
    note: ["Matches since ", at(since), ", when the gateway started or last reloaded. Hits are sampled 1 in 64, so small numbers are estimates."],
    columns: [
      { name: "Rule", by: (row) => row.name, cell: (row) => [h("strong", {}, shown(row.name ?? dash)), h("div", { class: "muted" }, `line ${row.line ?? dash}`)] },
      { name: "Matches", kind: "wide", cell: (row) => list(row.match) },
      { name: "Decides", kind: "wide", cell: (row) => list(row.settings) },
      { name: "Matched", kind: "number", by: (row) => row.matched, cell: (row) => (row.matched ? count(row.matched) : badge("never")) },
    ],
    rows: rules,
    empty: "The configuration has no rules. Responses are handled by their own fields.",
    command: () => curl("/v1/rules"),
  });
}

function routesTable({ routes }) {
  return table({
    title: "Routes",
    columns: [
      { name: "Route", kind: "wide", by: (row) => row.name, cell: (row) => shown(row.name) },
      { name: "Requests", kind: "number", by: (row) => row.requests, cell: (row) => (row.requests ? count(row.requests) : badge("never")) },
    ],
    rows: routes ?? [],
    empty: "The configuration has no routes.",
    command: () => curl("/v1/rules"),
  });
}

export function open() {
  const place = h("div", {});
  const { end } = loaded(place, (signal) => get("/v1/rules", {}, signal), (found) => [rulesTable(found), routesTable(found)]);
  return { title: "Rules", element: h("div", {}, h("h1", {}, "Rules"), place), leave: end };
}
