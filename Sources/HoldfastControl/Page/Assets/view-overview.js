// The first view: do responses come from the origins or from the store?
import { get } from "./api.js";
import { badge, responsesFrom } from "./badges.js";
import { chart } from "./chart.js";
import { controlArguments, curl, modeDialog } from "./changes.js";
import { copyButtons } from "./copy.js";
import { h, put, svg, update, unseen } from "./dom.js";
import { problem } from "./dialog.js";
import { at, bytes, clock, count, counted, dash, latency, length, moment, rate, relative, share } from "./format.js";
import { plain, shown, url } from "./safe.js";
import { may } from "./session.js";
import { follow, state } from "./state.js";

const missingWords = {
  "not-stored": "not stored",
  "must-revalidate": "'must-revalidate' forbids it",
  "proxy-revalidate": "'proxy-revalidate' forbids it",
  "no-cache": "'no-cache' forbids it",
  "s-maxage": "'s-maxage' forbids it",
  "no-store": "'no-store' forbids it",
  private: "'private' forbids it",
  invalidated: "the resource has changed",
  credentials: "shared only because of a directive that a rule overrides",
  cookie: "the request has a cookie, and the response is not marked as shareable",
  limit: "exceeds its staleness limit",
};

/** Returns a bar for a value from 0 to 1. Screen readers skip it, because it repeats the number next to it. */
function bar(value, tone = "") {
  const filled = `${Math.max(0, Math.min(1, value ?? 0)) * 100}%`;
  return svg("svg", { class: `bar ${tone}`, height: 6, "aria-hidden": "true" }, svg("rect", { class: "bar-all", width: "100%", height: 6, rx: 3 }), value > 0 && svg("rect", { class: "bar-part", width: filled, height: 6, rx: 3 }));
}

function banner(now) {
  const { shape, tone, title } = responsesFrom(now.responsesFrom);
  return [
    h("span", { class: `source-shape ${tone}`, "aria-hidden": "true" }, shape),
    h("div", { class: "source-words" }, h("p", { class: `source-title ${tone}` }, title), h("p", { class: "sentence" }, shown(now.summary))),
  ];
}

// The mode of one origin or route.
function narrower({ origin, route, mode: inForce, until, reason, by, noEffect }) {
  const subject = origin === undefined ? ["route ", shown(route)] : shown(origin);
  return h("p", { class: "muted" }, h("strong", {}, inForce), " for ", subject, ", ends ", at(until), " (", relative("in", until), "), ", reason && [shown(reason), ", "], "by ", shown(by), noEffect && `; no effect: ${noEffect}`);
}

function mode(now) {
  const { mode: inForce, configured, until, reason, by } = now.mode;
  const isSet = until !== undefined || inForce !== configured;
  const extension = now.staleness?.until;
  return [
    h("p", {}, h("span", { class: "muted" }, "Mode "), h("strong", {}, inForce)),
    isSet
      ? h("p", { class: "muted" }, "ends ", at(until), " (", relative("in", until), "), then ", configured)
      : h("p", { class: "muted" }, "as configured"),
    isSet && (reason || by) && h("p", { class: "muted" }, reason && [shown(reason), ", "], by && ["by ", shown(by)]),
    (now.mode.switches ?? []).map(narrower),
    extension && h("p", { class: "muted" }, `staleness limit extended to ${now.staleness.staleness} until `, at(extension)),
  ];
}

function tile(name, value, below, extra) {
  return h("div", { class: "tile" }, h("h2", {}, name), h("p", { class: "tile-value" }, value), extra, h("p", { class: "tile-below" }, below));
}

function tiles(now) {
  // In a gateway's first second, no period has been recorded.
  const { recent = {}, hour = {} } = now;
  return [
    tile("Hit ratio", share(recent.hitRatio), ["last minute · ", h("b", {}, share(hour.hitRatio)), " ", past(hour)], bar(recent.hitRatio)),
    tile(
      "Requests",
      rate(recent.requestsPerSecond),
      [h("b", {}, count(recent.originRequests)), " to origins · ", h("b", {}, count(recent.staleServed)), " served stale · ", h("b", {}, count(recent.refused)), " rejected, last minute"],
    ),
    tile(
      "Response time",
      [h("span", { class: "unit" }, "p50 "), latency(recent.p50Seconds), h("span", { class: "unit second" }, "p99 "), latency(recent.p99Seconds)],
      ["last minute · p50 ", h("b", {}, latency(hour.p50Seconds)), ", p99 ", h("b", {}, latency(hour.p99Seconds)), " ", past(hour)],
    ),
    readiness(now.offlineAnswerable),
  ];
}

const past = ({ seconds = 0 }) => (seconds >= 3590 ? "last hour" : `last ${length(seconds * 1000)}`);

function readiness(answerable) {
  const rows = [
    ["now", answerable?.now],
    ["for 1 h", answerable?.hour],
    ["for 1 d", answerable?.day],
  ];
  const missing = answerable?.missing?.[0];
  return h(
    "div",
    { class: "tile" },
    h("h2", {}, "Available without origins"),
    h("dl", { class: "readiness" }, rows.map(([name, value]) => h("div", {}, h("dt", {}, unseen("unreachable "), name), h("dd", {}, bar(value, value < 0.95 ? "warn" : ""), h("b", {}, share(value)))))),
    h("p", { class: "tile-below" }, missing ? ["main reason for misses: ", missingWords[missing.reason] ?? missing.reason, ` (${share(missing.share)})`] : `of the requests of the ${answerable ? past(answerable) : "last hour"}`),
  );
}

function originRows(now) {
  if (now.origins.length === 0) return h("p", { class: "empty" }, "No origin is configured or has received a request yet.");
  const rows = now.origins.slice(0, 6).map((origin) =>
    h(
      "li",
      {},
      h("p", { class: "origin-name" }, url(origin.origin)),
      origin.state === "reachable"
        ? h("p", { class: "muted" }, badge(origin.state), ` · ${count(origin.inFlight)} in flight, ${count(origin.waiting)} waiting`)
        : h("p", { class: "muted" }, badge(origin.state), " for ", relative("for", origin.since), " · next probe ", relative("in", origin.nextProbe)),
      origin.reason ? h("p", { class: "muted" }, `${plain(origin.reason)}: ${plain(origin.message)}`) : "",
    ),
  );
  const more = now.originCount - rows.length;
  return [h("ul", { class: "origins" }, rows), more > 0 && h("p", { class: "more" }, h("a", { href: "#/origins" }, `${counted(more, "more origin")}`))];
}

function budget(name, used, all, below) {
  const part = all ? used / all : undefined;
  return h("div", { class: "budget" }, h("p", {}, h("b", {}, name), h("span", { class: "budget-value" }, `${bytes(used)} of ${bytes(all)}`)), bar(part, part > 0.95 ? "warn" : ""), h("p", { class: "muted" }, below));
}

const conditions = { readOnly: "read-only", notWritable: "not writable", full: "full", evicting: "full", fullOfPins: "full of pins", replaced: "replaced by another folder; restart to use it", unreadable: "unreadable" };

function budgets({ store, memory }) {
  const condition = store.condition && store.condition !== "usable" ? [badge("damaged", conditions[store.condition] ?? store.condition), " "] : "";
  return [
    budget("Store", store.bytes, store.budget, [condition, `${counted(store.responses, "response")}, ${count(store.stale)} stale, ${count(store.pinned)} pinned, ${count(store.damaged)} damaged, ${count(store.evicted)} evicted; counted `, relative("ago", store.countedAt)]),
    budget("Memory", memory.bytes, memory.budget, `responses in memory; the process uses ${bytes(memory.processBytes)}`),
  ];
}

function footLine(now) {
  const reload = now.configuration?.lastReload;
  const failed = reload && reload.outcome !== "reloaded";
  return [
    `Version ${now.version}, up for ${length(now.uptimeSeconds * 1000)}, listening on ${now.listening ?? dash}. `,
    failed && h("a", { href: "#/configuration", class: "warn-text" }, `▲ The last reload was rejected: ${counted(reload.findings, "finding")}.`),
  ];
}

const charts = () => [
  chart({
    title: "Requests per second",
    format: (value) => rate(value).replace(" /s", ""),
    series: [
      { name: "all", key: "requestsPerSecond", line: "one", area: true },
      { name: "to origins", key: "originRequestsPerSecond", line: "two" },
      { name: "stale", key: "stalePerSecond", line: "three" },
      { name: "rejected", key: "refusedPerSecond", line: "four" },
    ],
  }),
  chart({
    title: "Hit ratio and availability without origins",
    scale: "share",
    format: share,
    tick: (value) => `${Math.round(value * 1000) / 10} %`,
    series: [
      { name: "hit ratio", key: "hitRatio", line: "one" },
      { name: "answerable", key: "offlineAnswerable", line: "three" },
    ],
  }),
  chart({
    title: "Response time",
    scale: "power",
    format: latency,
    series: [
      { name: "p50", key: "p50Seconds", line: "one" },
      { name: "p99", key: "p99Seconds", line: "two" },
    ],
  }),
  chart({
    title: "Store",
    base: 1024,
    format: bytes,
    series: [{ name: "bytes stored", key: "storeBytes", line: "one", area: true }],
  }),
];

/** Returns the charts of the last hour or day. They are reloaded after each step. */
function curves() {
  const drawn = charts();
  const message = h("div", {});
  let window = "hour";
  let history;
  let isLoading = false;
  // The time of the next reload. After a failure, it is in 30 s.
  let next = 0;
  const radio = (value, words) => {
    const field = h("input", { type: "radio", name: "window", value, id: `window-${value}`, checked: value === window, on: { change: () => load((window = value)) } });
    return [field, h("label", { for: field.id }, words)];
  };
  async function load() {
    isLoading = true;
    const wanted = window;
    try {
      const value = await get("/v1/history", { window: wanted });
      if (wanted !== window) return;
      history = value;
      next = Date.parse(history.end) + history.stepSeconds * 1000;
      put(message);
      for (const each of drawn) each.draw(history);
    } catch (error) {
      next = clock.now() + 30_000;
      put(message, problem(error));
    } finally {
      isLoading = false;
    }
  }
  const choice = h("fieldset", { class: "segments" }, h("legend", { class: "unseen" }, "Time range"), radio("hour", "Hour"), radio("day", "Day"));
  const copies = copyButtons("curves", () => curl("/v1/history", { window }), () => history);
  const element = h("section", { class: "curves" }, h("div", { class: "panel-head bare" }, h("h2", {}, "History"), choice, copies), message, h("div", { class: "charts" }, drawn.map((each) => each.element)));
  load();
  return {
    element,
    step(now) {
      if (!isLoading && Date.parse(now) >= next) load();
    },
    end: () => drawn.forEach((each) => each.end()),
  };
}

export function open() {
  const parts = {
    banner: h("div", { class: "source" }),
    mode: h("div", {}),
    tiles: h("div", { class: "tiles" }),
    origins: h("div", {}),
    budgets: h("div", {}),
    foot: h("p", { class: "muted foot" }),
  };
  const lines = curves();
  const change = may("operate") && h("button", { type: "button", class: "quiet", on: { click: () => modeDialog(state.overview) } }, "Change mode");
  const originCopies = copyButtons("origins", () => `holdfast origins ${controlArguments()}`, () => state.overview?.origins);
  const content = h(
    "div",
    { class: "overview" },
    h("section", { class: "panel source-panel", "aria-label": "State" }, parts.banner, h("div", { class: "source-mode" }, parts.mode, change)),
    h("section", { "aria-label": "Metrics" }, parts.tiles),
    h(
      "div",
      { class: "columns" },
      h("div", { class: "side" }, h("section", { class: "panel" }, h("div", { class: "panel-head" }, h("h2", {}, "Origins"), originCopies), parts.origins), h("section", { class: "panel" }, h("div", { class: "panel-head" }, h("h2", {}, "Budgets")), parts.budgets)),
      lines.element,
    ),
    parts.foot,
  );
  const waiting = h("p", { class: "loading", role: "status" }, "Loading");
  const element = h("div", {}, h("h1", { class: "unseen" }, "Overview"), waiting);
  const stop = follow((now) => {
    if (waiting.isConnected || !content.isConnected) {
      waiting.remove();
      element.append(content);
    }
    update(parts.banner, banner(now));
    update(parts.mode, mode(now));
    update(parts.tiles, tiles(now));
    update(parts.origins, originRows(now));
    update(parts.budgets, budgets(now));
    update(parts.foot, footLine(now));
    parts.foot.title = `recorded since ${moment(now.recordedSince)}`;
    lines.step(now.at);
  });
  return {
    title: "Overview",
    element,
    leave() {
      stop();
      lines.end();
    },
  };
}
