// Stored responses. The gateway's store does the searching, sorting and paging.
import { get } from "./api.js";
import { badge } from "./badges.js";
import { curl, pinDialog, purgeDialog } from "./changes.js";
import { h, unseen } from "./dom.js";
import { bytes, count, dash, relative } from "./format.js";
import { plain, shortURL } from "./safe.js";
import { may } from "./session.js";
import { loaded, table } from "./table.js";

const filters = ["prefix", "host", "tag", "state", "pinned"];
const pageSize = 50;
const orders = {
  stored: "stored, oldest first",
  "-stored": "stored, newest first",
  "-used": "used, most recent first",
  used: "used, least recent first",
  expires: "expires, soonest first",
  "-expires": "expires, latest first",
  "-size": "size, largest first",
  size: "size, smallest first",
};
const defaultOrder = "-stored";

/** Returns the address of a search. */
export function address(query) {
  const given = Object.entries(query).filter(([, value]) => value);
  return `#/stored${given.length ? `?${given.map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join("&")}` : ""}`;
}

function select(id, value, options) {
  const element = h("select", { id }, options.map(([key, words]) => h("option", { value: key }, words)));
  element.value = value;
  return element;
}

function form(query) {
  const fields = {
    prefix: h("input", { id: "prefix", type: "text", placeholder: "https://api.example.com/v1/", spellcheck: "false", autocomplete: "off", inputmode: "url", value: query.prefix ?? "" }),
    host: h("input", { id: "host", type: "text", placeholder: "api.example.com", spellcheck: "false", autocomplete: "off", value: query.host ?? "" }),
    tag: h("input", { id: "tag", type: "text", placeholder: "news", spellcheck: "false", autocomplete: "off", value: query.tag ?? "" }),
    state: select("state", query.state ?? "", [["", "any"], ...["fresh", "stale", "expired", "invalidated", "damaged"].map((name) => [name, name])]),
    pinned: select("pinned", query.pinned ?? "", [["", "any"], ["true", "pinned"], ["false", "not pinned"]]),
    order: select("order", query.order ?? defaultOrder, Object.entries(orders)),
  };
  const words = { prefix: "URL begins with", host: "Host", tag: "Tag", state: "State", pinned: "Pins", order: "Order" };
  const go = (event) => {
    event?.preventDefault();
    const wanted = Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, field.value.trim()]));
    if (wanted.order === defaultOrder) delete wanted.order;
    location.hash = address(wanted);
  };
  for (const name of ["state", "pinned", "order"]) fields[name].addEventListener("change", go);
  const boxes = Object.entries(fields).map(([name, field]) => h("div", { class: `search-${name}` }, h("label", { for: name }, words[name]), field));
  const isSearch = filters.some((name) => query[name]);
  return h(
    "form",
    { class: "panel search", role: "search", "aria-label": "Stored responses", on: { submit: go } },
    boxes,
    h("div", { class: "search-buttons" }, h("button", { type: "submit", class: "primary" }, "Search"), isSearch && h("a", { class: "button", href: address({ order: query.order }) }, "Clear")),
  );
}

/** Returns a selection that matches this search, or `undefined` if none does, as in a search by state. */
function selection(query) {
  const kinds = [query.prefix && { prefixes: [query.prefix] }, query.host && { hosts: [query.host] }, query.tag && { tags: [query.tag] }].filter(Boolean);
  if (kinds.length !== 1 || query.state || query.pinned) return undefined;
  return kinds[0];
}

const shorter = (text) => (text.length > 32 ? `${text.slice(0, 31)}…` : text);

function columns(query) {
  const order = query.order ?? defaultOrder;
  const sortable = (name, first) => {
    const other = first.startsWith("-") ? first.slice(1) : `-${first}`;
    return {
      href: address({ ...query, after: undefined, page: undefined, order: order === first ? other : first }),
      sorted: order === name ? "ascending" : order === `-${name}` ? "descending" : undefined,
    };
  };
  return [
    { name: "URL", kind: "wide", cell: (row) => h("a", { href: `#/response/${row.id}?entry=${row.entry}`, "aria-label": plain(row.url ?? row.id).slice(0, 300) }, row.url ? shortURL(row.url) : h("span", { class: "muted" }, row.id)) },
    { name: "State", cell: (row) => [badge(row.state), row.pinned && [" ", badge("pinned")]] },
    { name: "Response", cell: (row) => h("span", { class: "kept" }, row.method && row.method !== "GET" ? `${row.method} ` : "", row.status ?? dash, " ", h("span", { class: "muted" }, plain(shorter(row.contentType ?? "")))) },
    { name: "Size", kind: "number", cell: (row) => bytes(row.bodyLength), ...sortable("size", "-size") },
    { name: "Stored", kind: "number", cell: (row) => relative("ago", row.storedAt), ...sortable("stored", "-stored") },
    { name: "Expires", kind: "number", cell: (row) => relative("ago", row.expiresAt), ...sortable("expires", "expires") },
    { name: "Used", kind: "number", cell: (row) => relative("ago", row.lastUsedAt), ...sortable("used", "-used") },
    { name: "Offline", cell: (row) => (row.usableStale ? badge("offline", "usable") : h("span", { class: "muted kept" }, row.state === "fresh" ? "only while fresh" : "no longer usable")) },
  ];
}

function pages(query, answer, number) {
  const first = address({ ...query, after: undefined, page: undefined });
  const next = answer.next && address({ ...query, after: String(answer.next), page: String(number + 1) });
  const looked = answer.examined > answer.responses.length ? `, of ${count(answer.examined)} examined` : "";
  return h(
    "nav",
    { class: "pages", "aria-label": "Pages" },
    h("p", { class: "muted" }, `Page ${count(number)}: ${count(answer.responses.length)} shown${looked}${answer.next ? "" : "; this is the last page"}`),
    h(
      "div",
      {},
      number > 1 && h("a", { class: "button", href: first }, "First"),
      number > 1 && h("button", { type: "button", on: { click: () => history.back() } }, "Previous"),
      next && h("a", { class: "button", href: next }, "Next", unseen(" page")),
    ),
  );
}

export function open({ query: given }) {
  const query = Object.fromEntries(given);
  const number = Number(query.page) || 1;
  const place = h("div", {});
  const asked = { ...query, page: undefined, order: query.order ?? defaultOrder, limit: pageSize };
  const { reload, end } = loaded(
    place,
    (signal) => get("/v1/responses", asked, signal),
    (answer) => {
      const select = selection(query);
      const buttons = select && [
        may("operate") && h("button", { type: "button", on: { click: () => pinDialog({ select, pinned: true, done: reload }) } }, "Pin all matches"),
        may("purge") && h("button", { type: "button", on: { click: () => purgeDialog({ select, done: reload }) } }, "Expire all matches"),
        may("purge") && h("button", { type: "button", class: "danger", on: { click: () => purgeDialog({ select, action: "remove", done: reload }) } }, "Remove all matches"),
      ];
      const isSearch = filters.some((name) => query[name]);
      return table({
        title: "Responses",
        columns: columns(query),
        rows: answer.responses,
        empty: answer.next
          ? `None of the ${count(answer.examined ?? 10_000)} examined responses match. The next page examines more.`
          : isSearch ? "No stored response matches this search." : "Nothing is stored yet. Responses appear here as clients request them.",
        command: () => curl("/v1/responses", asked),
        json: () => answer,
        tools: h("span", { class: "tools" }, h("button", { type: "button", class: "quiet", on: { click: reload } }, "Refresh list"), buttons),
        foot: pages(query, answer, number),
      });
    },
  );
  return { title: "Stored", element: h("div", {}, h("h1", {}, "Stored"), form(query), place), leave: end };
}
