// Purges: a new purge, the history, and refreshes.
import { get } from "./api.js";
import { badge } from "./badges.js";
import { curl, purgeDialog } from "./changes.js";
import { h } from "./dom.js";
import { at, bytes, count, dash } from "./format.js";
import { shown } from "./safe.js";
import { may } from "./session.js";
import { loaded, table } from "./table.js";

const kinds = { urls: "URLs", prefixes: "URLs that begin with", tags: "Tags", hosts: "Hosts", all: "Everything" };

function form(done) {
  const kind = h("select", { id: "kind" }, Object.entries(kinds).map(([value, words]) => h("option", { value }, words)));
  const values = h("textarea", { id: "values", rows: 2, spellcheck: "false", required: true, "aria-describedby": "values-note" });
  const action = h("select", { id: "action" }, h("option", { value: "expire" }, "expire: keep offline copies"), h("option", { value: "refresh" }, "expire and fetch again"), h("option", { value: "remove" }, "remove: also delete offline copies"));
  kind.addEventListener("change", () => {
    values.disabled = kind.value === "all";
    values.required = !values.disabled;
  });
  const submit = (event) => {
    event.preventDefault();
    const lines = values.value.split("\n").map((line) => line.trim()).filter(Boolean);
    const select = kind.value === "all" ? { all: true } : { [kind.value]: lines };
    const isRefresh = action.value === "refresh";
    purgeDialog({ select, action: isRefresh ? "expire" : action.value, refresh: isRefresh ? { perSecond: 20, atMost: 5000 } : undefined, done });
  };
  return h(
    "form",
    { class: "panel purge-form", "aria-label": "A new purge", on: { submit } },
    h("div", { class: "panel-head" }, h("h2", {}, "Purge")),
    h(
      "div",
      { class: "purge-fields" },
      h("div", {}, h("label", { for: "kind" }, "Select"), kind),
      h("div", { class: "grows" }, h("label", { for: "values" }, "Values"), values),
      h("div", {}, h("label", { for: "action" }, "Action"), action),
      h("button", { type: "submit", class: "primary" }, "Preview"),
    ),
    h("p", { class: "muted panel-note", id: "values-note" }, "One value per line. URLs and hosts are the origin's, as the Stored view shows them. Nothing changes until you confirm the preview."),
  );
}

function selected({ select }) {
  if (select.all) return h("strong", {}, "everything");
  const all = Object.entries(kinds).flatMap(([key]) => (Array.isArray(select[key]) ? select[key].map((value) => [key, value]) : []));
  const names = { urls: "URL", prefixes: "prefix", tags: "tag", hosts: "host" };
  const list = all.slice(0, 3).map(([key, value]) => h("div", {}, h("span", { class: "muted" }, `${names[key]} `), shown(value.slice(0, 160))));
  return [list, all.length > 3 && h("div", { class: "muted" }, `and ${count(all.length - 3)} more`)];
}

function historyTable({ since, purges, failed = [], more }) {
  const rows = [...purges, ...failed].sort((one, other) => other.at - one.at);
  return table({
    title: "History",
    note: `Kept in memory. Complete since sequence ${since}.`,
    columns: [
      { name: "Sequence", kind: "number", cell: (row) => String(row.sequence ?? dash) },
      { name: "When", by: (row) => row.at, cell: (row) => at(row.at, true) },
      { name: "Who", by: (row) => row.by, cell: (row) => shown(row.by ?? dash) },
      { name: "Selected", kind: "wide", cell: selected },
      { name: "Action", by: (row) => row.action, cell: (row) => (row.problem ? badge("failed", `${row.action} failed: ${row.problem}`) : row.action) },
      { name: "Responses", kind: "number", by: (row) => row.matched?.responses, cell: (row) => (row.matched ? `${row.matched.exact ? "" : "~"}${count(row.matched.responses)}` : dash) },
      { name: "Bytes", kind: "number", by: (row) => row.matched?.bytes, cell: (row) => bytes(row.matched?.bytes) },
      { name: "Only offline copies", kind: "number", by: (row) => row.matched?.onlyOfflineCopies, cell: (row) => count(row.matched?.onlyOfflineCopies) },
      { name: "Reason", cell: (row) => (row.reason ? shown(row.reason.slice(0, 300)) : dash) },
    ],
    rows,
    empty: "No purges since startup.",
    command: () => curl("/v1/purges", newest),
    foot: more && h("p", { class: "more" }, "More purges are not shown; the command lists all of them."),
  });
}

function refreshTable({ refreshes }) {
  const states = { running: "running", completed: "done", finished: "done", done: "done" };
  return table({
    title: "Fetched again",
    columns: [
      { name: "Sequence", kind: "number", cell: (row) => String(row.sequence ?? dash) },
      { name: "State", by: (row) => row.state, cell: (row) => badge(states[row.state] ?? "never", row.state) },
      { name: "Who", kind: "wide", cell: (row) => shown(row.client ?? dash) },
      { name: "Pace", kind: "number", cell: (row) => `${count(row.pace?.perSecond)} /s` },
      { name: "Requested", kind: "number", by: (row) => row.requested, cell: (row) => count(row.requested) },
      { name: "Refreshed", kind: "number", cell: (row) => count(row.refreshed) },
      { name: "Failed", kind: "number", cell: (row) => count(row.failed) },
      { name: "Unreachable", kind: "number", cell: (row) => count(row.unreachable) },
      { name: "Skipped", kind: "number", cell: (row) => count(row.skipped) },
    ],
    rows: refreshes,
    empty: "No purge has fetched its responses again.",
    command: () => curl("/v1/refreshes"),
  });
}

export function open() {
  const history = h("div", {});
  const refreshes = h("div", {});
  const first = loaded(history, newestPurges, historyTable);
  const second = loaded(refreshes, (signal) => get("/v1/refreshes", {}, signal), refreshTable);
  const reload = () => {
    first.reload();
    second.reload();
  };
  return {
    title: "Purges",
    element: h("div", {}, h("h1", {}, "Purges"), may("purge") && form(reload), history, refreshes),
    leave() {
      first.end();
      second.end();
    },
  };
}

/** The query for the last 100 purges. */
const newest = { last: 100 };
const newestPurges = (signal) => get("/v1/purges", newest, signal);
