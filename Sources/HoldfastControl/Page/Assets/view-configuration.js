// Configuration: the values in effect, with their lines in the file, and the last reload.
import { Problem, change, get } from "./api.js";
import { badge } from "./badges.js";
import { controlArguments, curl } from "./changes.js";
import { ask } from "./dialog.js";
import { h } from "./dom.js";
import { at, counted, dash } from "./format.js";
import { shown } from "./safe.js";
import { may } from "./session.js";
import { loaded, table } from "./table.js";

function reloadDialog(done) {
  return ask({
    title: "Reload the configuration file",
    verb: "Reload",
    async preview() {
      return { content: h("p", { class: "ask-main" }, "The new file applies from the next request, and no connection is closed. An invalid file changes nothing.") };
    },
    async act() {
      try {
        const result = await change("POST", "/v1/reload");
        done();
        return reloaded(result);
      } catch (error) {
        if (!(error instanceof Problem) || !error.body.findings) throw error;
        return [h("p", { class: "problem" }, h("span", { class: "shape", "aria-hidden": "true" }, "✕"), h("span", {}, error.message)), findings(error.body.findings)];
      }
    },
  });
}

function reloaded({ changed = [], changedFiles = [], kept = [] }) {
  const row = (each) => h("li", {}, h("code", {}, shown(each.setting ?? each.name ?? "")), " ", shown(String(each.from ?? dash)), " → ", shown(String(each.to ?? dash)));
  return [
    h("p", { class: "ask-main" }, h("span", { class: "shape good", "aria-hidden": "true" }, "● "), `The file is in force, with ${counted(changed.length + changedFiles.length, "change")}.`),
    changed.length > 0 && h("ul", { class: "examples" }, changed.map(row)),
    changedFiles.length > 0 && [h("p", {}, "Files with other content:"), h("ul", { class: "examples" }, changedFiles.map((path) => h("li", {}, h("code", {}, shown(path)))))],
    kept.length > 0 && [h("p", {}, "Needs a restart:"), h("ul", { class: "examples" }, kept.map(row))],
  ];
}

function findings(list) {
  return h("ul", { class: "examples" }, list.map((each) => h("li", {}, each.line && `line ${each.line}: `, each.setting && h("code", {}, shown(each.setting)), " ", shown(each.message ?? each.detail ?? each.fault ?? JSON.stringify(each)))));
}

function head(status) {
  const { configuration = {} } = status;
  const last = configuration.lastReload;
  const isGood = last?.outcome === "reloaded";
  const rows = [
    ["File", h("code", {}, shown(configuration.file ?? dash))],
    ["In force since", at(configuration.loadedAt, true)],
    ["Last reload", last ? [badge(isGood ? "done" : "failed", last.outcome), " ", at(last.at, true), " by ", shown(last.by ?? dash), last.findings > 0 && `, ${counted(last.findings, "finding")}`] : "none since startup"],
    last?.kept?.length > 0 && ["Needs a restart", last.kept.map((each) => shown(each.setting ?? String(each))).flatMap((each) => [each, " "])],
  ].filter(Boolean);
  return h("dl", { class: "facts" }, rows.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))));
}

const source = (row) => (row.line ? (row.file ? `${shown(row.file)}:${row.line}` : `line ${row.line}`) : row.isDefault ? h("span", { class: "muted" }, "default") : h("span", { class: "muted" }, "command line"));
const text = (value) => (value === undefined || value === null ? h("span", { class: "muted" }, "not set") : h("code", {}, shown(String(value))));

function settings(title, rows, empty, line) {
  return table({
    title,
    level: title === "Settings" ? 2 : 3,
    note: line && `line ${line}`,
    columns: [
      { name: "Setting", by: (row) => row.name, cell: (row) => h("code", { class: row.isDefault ? "muted" : undefined }, shown(row.name)) },
      { name: "Value", kind: "wide", cell: (row) => text(row.value) },
      { name: "Set by", by: (row) => row.line ?? (row.isDefault ? 1e9 : 1e8), cell: source },
    ],
    rows,
    empty,
    command: () => curl("/v1/configuration"),
  });
}

function parts(title, list, empty) {
  return [h("h2", { class: "group" }, title), list.length ? list.map((each) => settings(each.name, [...each.conditions, ...each.settings], empty, each.line)) : h("p", { class: "empty" }, empty)];
}

export function open() {
  const place = h("div", {});
  const { reload, end } = loaded(
    place,
    async (signal) => Promise.all([get("/v1/configuration", {}, signal), get("/v1/status", {}, signal)]),
    ([configuration, status]) => [
      h(
        "section",
        { class: "panel" },
        h("div", { class: "panel-head" }, h("h2", {}, "File"), may("operate") && h("button", { type: "button", on: { click: () => reloadDialog(reload) } }, "Reload")),
        head(status),
        h("p", { class: "muted panel-note" }, shown(configuration.precedence ?? "")),
      ),
      settings("Settings", configuration.settings ?? [], "No settings."),
      parts("Routes", configuration.routes ?? [], "The configuration has no routes."),
      parts("Rules", configuration.rules ?? [], "The configuration has no rules."),
      h("p", { class: "muted foot" }, "The same in a terminal: ", h("code", {}, `holdfast status ${controlArguments()}`)),
    ],
  );
  return { title: "Configuration", element: h("div", {}, h("h1", {}, "Configuration"), place), leave: end };
}
