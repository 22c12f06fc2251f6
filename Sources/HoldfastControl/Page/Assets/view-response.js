// One response: its timeline, the outcome of a request for it, and its variants, tags and fields.
import { change, get } from "./api.js";
import { badge } from "./badges.js";
import { curl, curlJSON, pinDialog, purgeDialog } from "./changes.js";
import { h, put } from "./dom.js";
import { problem } from "./dialog.js";
import { at, bytes, count, dash, relative } from "./format.js";
import { folded, plain, shown, url } from "./safe.js";
import { may } from "./session.js";
import { loaded, table } from "./table.js";
import { lifeOf, timeline } from "./timeline.js";
import { address } from "./view-stored.js";

function facts(variant) {
  const rows = [
    ["Status", variant.status ?? dash],
    ["Type", variant.contentType ? shown(variant.contentType.slice(0, 200)) : dash],
    ["Body", bytes(variant.bodyLength)],
    ["Stored", [at(variant.storedAt, true), " (", relative("ago", variant.storedAt), ")"]],
    ["Expires", variant.expiresAt ? [at(variant.expiresAt, true), " (", relative("ago", variant.expiresAt), ")"] : dash],
    ["Last used", [at(variant.lastUsedAt, true), " (", relative("ago", variant.lastUsedAt), ")"]],
    ["Partition", shown(variant.partition ?? dash)],
    ["Key", h("code", {}, variant.id)],
  ];
  return h("dl", { class: "facts" }, rows.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))));
}

function life(variant, explanation) {
  const line = lifeOf(variant, explanation);
  const forbidden = line.forbiddenBy && h("p", { class: "muted" }, "Stale use is forbidden by ", h("code", {}, plain(line.forbiddenBy)), ".");
  return h("section", { class: "panel" }, h("div", { class: "panel-head" }, h("h2", {}, "Freshness")), timeline(line), forbidden);
}

function variantList(variants, current) {
  if (variants.length < 2) return undefined;
  return table({
    title: "Variants",
    columns: [
      { name: "Selected by", kind: "wide", cell: (row) => h("a", { href: `#/response/${row.id}?entry=${row.entry}`, "aria-current": row === current ? "true" : undefined }, selecting(row)) },
      { name: "State", cell: (row) => badge(row.state) },
      { name: "Status", kind: "number", cell: (row) => row.status ?? dash },
      { name: "Size", kind: "number", by: (row) => row.bodyLength, cell: (row) => bytes(row.bodyLength) },
      { name: "Stored", kind: "number", by: (row) => row.storedAt, cell: (row) => relative("ago", row.storedAt) },
    ],
    rows: variants,
    empty: "",
    command: () => curl(`/v1/responses/${current.id}`),
  });
}

function selecting(row) {
  if (!row.selectingFields?.length) return "any request";
  return row.selectingFields.map(([name, value], index) => [index > 0 && ", ", h("span", { class: "muted" }, `${plain(name)}: `), shown(String(value).slice(0, 120))]);
}

function fields(variant) {
  return table({
    title: "Fields",
    columns: [
      { name: "Name", by: ([name]) => name.toLowerCase(), cell: ([name]) => h("span", { class: "field-name" }, shown(name)) },
      { name: "Value", kind: "wide", cell: ([, value]) => h("span", { class: "field-value" }, folded(value)) },
    ],
    rows: variant.fields ?? [],
    empty: "The response has no fields.",
    command: () => curl(`/v1/responses/${variant.id}`),
  });
}

function tags(variant) {
  const list = variant.tags ?? [];
  const content = list.length
    ? h("ul", { class: "tags" }, list.slice(0, 200).map((tag) => h("li", {}, h("a", { href: address({ tag }) }, shown(tag.slice(0, 120))))))
    : h("p", { class: "empty" }, "No tags. Rules and origins set tags.");
  return h("section", { class: "panel" }, h("div", { class: "panel-head" }, h("h2", {}, "Tags")), content);
}

const cases = [
  ["now", "a client requests it"],
  ["unreachable", "the origin is unreachable"],
  ["failing", "the origin responds with 503"],
  ["offline", "the mode is 'offline'"],
];

function verdict(found) {
  if (!found) return dash;
  const state = found.answer === "stored" ? "done" : "never";
  const words = { stored: "from the store", validated: "validated", forwarded: "from the origin", refused: "rejected" }[found.answer] ?? found.answer;
  return h("span", { class: "verdict" }, badge(state, words), h("span", {}, shown(found.summary)));
}

/** Returns the table "What happens if …", for now and for each time at which the outcome changes. */
function explanation({ explanation: all, notes = [] }, variant) {
  const others = variant.selectingFields?.length ? ["for a request without the fields that select variants"] : [];
  const words = [...notes, ...others].join("; ");
  const rows = cases.map(([key, words]) => ({ words, found: all[key] }));
  for (const later of all.changes ?? []) {
    for (const [key, words] of cases) if (later[key]) rows.push({ when: later.at, words, found: later[key] });
  }
  return table({
    title: "What happens if …",
    note: words && plain(words),
    columns: [
      { name: "When", cell: (row) => (row.when ? ["from ", at(row.when, true)] : "now") },
      { name: "If", cell: (row) => row.words },
      { name: "Then", kind: "wide", cell: (row) => verdict(row.found) },
    ],
    rows: rows.slice(0, 24),
    empty: "",
    command: () => curl("/v1/explain", { url: variant.url }),
    json: () => all,
  });
}

/** Returns the response's timeline and, with the scope `operate`, its explanation. */
function explained(variant) {
  const place = h("div", {}, life(variant));
  if (!may("operate") || !variant.url) return { element: place, end() {} };
  const draw = (found) => [life(variant, found.explanation), explanation(found, variant)];
  const { end } = loaded(place, (signal) => get("/v1/explain", { url: variant.url }, signal), draw);
  return { element: place, end };
}

/** Compares the stored response with the origin's current response, and shows the differences. */
function comparison(variant) {
  const place = h("div", { class: "comparison", role: "status" });
  const run = async () => {
    put(place, h("p", { class: "loading" }, "Fetching from the origin"));
    try {
      const [path, json] = [`/v1/responses/${variant.id}/comparison`, { entry: variant.entry }];
      put(place, difference(await change("POST", path, json), () => curlJSON(path, json)));
    } catch (error) {
      put(place, problem(error));
    }
  };
  return { place, run };
}

function difference({ status, fields = [], body }, command) {
  const sizes = `${bytes(body?.stored)} stored, ${bytes(body?.origin)} from the origin`;
  const same = body?.isSame ? "is the same" : body?.isSame === false ? `differs: ${sizes}` : `could not be compared, because it is too long or could not be read completely: ${sizes}`;
  return table({
    title: "Compared with the origin",
    note: `Status ${status?.stored ?? dash} stored, ${status?.origin ?? dash} from the origin. The body ${same}.`,
    columns: [
      { name: "Field", cell: (row) => h("span", { class: "field-name" }, shown(row.name)) },
      { name: "Stored", kind: "wide", cell: (row) => h("span", { class: "field-value" }, row.stored === undefined ? dash : folded(row.stored)) },
      { name: "Origin", kind: "wide", cell: (row) => h("span", { class: "field-value" }, row.origin === undefined ? dash : folded(row.origin)) },
    ],
    rows: fields,
    empty: "No field differs.",
    command,
  });
}

function actions(variant, reload, compare, removed) {
  if (!variant.url || variant.url.includes("REDACTED")) return undefined;
  const select = { urls: [variant.url] };
  return h(
    "div",
    { class: "tools" },
    may("operate") && h("button", { type: "button", on: { click: () => pinDialog({ select, pinned: !variant.pinned, done: reload }) } }, variant.pinned ? "Unpin" : "Pin"),
    may("purge") && h("button", { type: "button", on: { click: () => purgeDialog({ select, refresh: { perSecond: 20, atMost: 5000 }, title: "Fetch this response again", done: reload }) } }, "Fetch again"),
    may("operate") && h("button", { type: "button", on: { click: compare } }, "Compare with the origin"),
    may("purge") && h("button", { type: "button", on: { click: () => purgeDialog({ select, title: "Expire this response", done: reload }) } }, "Expire"),
    may("purge") && h("button", { type: "button", class: "danger", on: { click: () => purgeDialog({ select, action: "remove", title: "Remove this response", done: removed }) } }, "Remove"),
  );
}

export function open({ rest: [id], query }) {
  const place = h("div", { class: "response" });
  let part;
  const { reload, end } = loaded(
    place,
    (signal) => variantsOf(id, signal),
    ({ variants }) => {
      part?.end();
      const variant = variants.find((each) => String(each.entry) === query.get("entry")) ?? variants[0];
      if (!variant) return gone();
      const compared = comparison(variant);
      part = explained(variant);
      return [
        h("div", { class: "panel response-head" }, h("p", { class: "response-url" }, h("span", { class: "method" }, variant.method ?? "GET"), " ", variant.url ? longURL(variant.url) : dash), h("p", { class: "response-badges" }, badge(variant.state), variant.pinned && badge("pinned"), variant.usableStale && badge("offline"), variants.length > 1 && h("span", { class: "muted" }, `one of ${count(variants.length)} variants`)), facts(variant), actions(variant, reload, compared.run, () => put(place, gone()))),
        compared.place,
        part.element,
        variantList(variants, variant),
        tags(variant),
        fields(variant),
      ];
    },
  );
  return {
    title: "One response",
    element: h("div", {}, h("p", { class: "crumb" }, h("a", { href: "#/stored" }, "Stored"), " ›"), h("h1", {}, "One response"), place),
    leave() {
      end();
      part?.end();
    },
  };
}

/** Returns the variants of a key; none if they were evicted or removed. */
async function variantsOf(id, signal) {
  try {
    return await get(`/v1/responses/${encodeURIComponent(id ?? "")}`, {}, signal);
  } catch (error) {
    if (error.status === 404) return { variants: [] };
    throw error;
  }
}

const gone = () => h("div", { class: "panel" }, h("p", { class: "empty" }, "Nothing is stored under this key, or the response was removed. ", h("a", { href: "#/stored" }, "Show stored responses")));

const longURL = (text) => (text.length > 600 ? folded(text) : url(text));
