// The fleet's nodes, and how far each is behind.
import { get } from "./api.js";
import { badge } from "./badges.js";
import { controlArguments } from "./changes.js";
import { h } from "./dom.js";
import { count, dash, length } from "./format.js";
import { shown } from "./safe.js";
import { loaded, table } from "./table.js";

function own(fleet) {
  const rows = [
    ["This node", shown(fleet.node ?? dash)],
    ["State", badge(fleet.state)],
    ["Position", h("code", {}, shown(fleet.position ?? dash))],
    ["Last contact", fleet.contactSeconds === undefined ? dash : `${length(fleet.contactSeconds * 1000)} ago`],
    ["Unsent purges", count(fleet.waiting)],
  ];
  return h("section", { class: "panel" }, h("div", { class: "panel-head" }, h("h2", {}, "Fleet log")), h("dl", { class: "facts" }, rows.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value)))));
}

function draw({ fleet }) {
  if (!fleet) {
    return h("section", { class: "panel" }, h("p", { class: "empty" }, "This gateway does not share purges. ", h("code", {}, "fleet.url"), " in the configuration sets the Redis server through which gateways share them."));
  }
  const nodes = fleet.nodes ?? [];
  return [
    own(fleet),
    table({
      title: "Other nodes",
      note: "Behind: entries of the log that the node has not applied yet.",
      columns: [
        { name: "Node", kind: "wide", by: (row) => row.name, cell: (row) => shown(row.name) },
        { name: "State", by: (row) => row.behind, cell: (row) => badge(row.unopened > 0 ? "another secret" : row.behind > 0 ? "behind" : "applied") },
        { name: "Behind", kind: "number", by: (row) => row.behind, cell: (row) => count(row.behind) },
        { name: "Waiting", kind: "number", by: (row) => row.waiting, cell: (row) => count(row.waiting) },
        { name: "Seen", kind: "number", by: (row) => row.seenSeconds, cell: (row) => `${length(row.seenSeconds * 1000)} ago` },
        { name: "Version", by: (row) => row.version, cell: (row) => shown(row.version ?? dash) },
      ],
      rows: nodes,
      empty: "No other node has been seen.",
      command: () => `holdfast status ${controlArguments()}`,
    }),
  ];
}

export function open() {
  const place = h("div", {});
  const { end } = loaded(place, (signal) => get("/v1/status", {}, signal), draw);
  return { title: "Nodes", element: h("div", {}, h("h1", {}, "Nodes"), place), leave: end };
}
