// Dialogs for changes. Each shows the effects of a change, and asks for confirmation.
import { change, get } from "./api.js";
import { copyCommand, option, quoted } from "./copy.js";
import { ask } from "./dialog.js";
import { h } from "./dom.js";
import { at, bytes, count, counted, share } from "./format.js";
import { shown } from "./safe.js";
import { state } from "./state.js";

/** Returns the arguments with which a command finds this gateway: its socket or its configuration file. */
export function controlArguments() {
  const control = state.overview?.control;
  const file = state.overview?.configuration?.file;
  if (control?.socket) return `--socket ${quoted(control.socket)}`;
  return file ? `--config ${quoted(file)}` : "--socket control.sock";
}

/** Returns a `curl` command for a path of the control plane, with a query. */
export function curl(path, query = {}) {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== "");
  const data = given.map(([name, value]) => ` --data-urlencode ${quoted(`${name}=${value}`)}`).join("");
  return `curl -s${given.length ? "G" : ""} ${curlPlace(path)}${data}`;
}

/** Returns the arguments of `curl` for a path: the socket, or this page's own address and a token. */
function curlPlace(path) {
  const socket = state.overview?.control?.socket;
  if (socket) return `--unix-socket ${quoted(socket)} ${quoted(`http://localhost${path}`)}`;
  return `-H "Authorization: Bearer $HOLDFAST_TOKEN" ${quoted(location.origin + path)}`;
}

/** Returns a `curl` command that sends JSON to a path. */
export function curlJSON(path, json) {
  return `curl -s --json ${quoted(JSON.stringify(json))} ${curlPlace(path)}`;
}

/** Returns the selectors of a purge as arguments of `holdfast purge` and `holdfast pin`. */
function selectors(select) {
  if (select.all) return "--all";
  const options = { prefixes: "--prefix", tags: "--tag", hosts: "--host" };
  const urls = (select.urls ?? []).map(quoted);
  const rest = Object.entries(options).flatMap(([name, flag]) => (select[name] ?? []).map((value) => option(flag, value)));
  return [...urls, ...rest].join(" ");
}

/** Returns the selection in words. */
function selectionWords(select) {
  if (select.all) return h("p", {}, "All stored responses.");
  const names = { urls: "URL", prefixes: "Prefix", tags: "Tag", hosts: "Host" };
  const rows = Object.entries(names).flatMap(([key, name]) => (select[key] ?? []).map((value) => [key, name, value]));
  return h("ul", { class: "selection" }, rows.slice(0, 20).map(([key, name, value]) => h("li", {}, h("span", { class: "muted" }, `${name} `), shown(value.slice(0, 400)), key === "urls" && h("span", { class: "muted" }, ", every variant"))), rows.length > 20 && h("li", {}, `and ${rows.length - 20} more`));
}

function reasonField() {
  return h("input", { id: "reason", type: "text", maxlength: 300, autocomplete: "off" });
}

const labelled = (field, words) => h("p", { class: "field" }, h("label", { for: field.id }, words), field);

function about({ responses, bytes: size, exact }) {
  return `${exact ? "" : "about "}${counted(responses, "response")}, ${bytes(size)}`;
}

/** Opens the dialog for a purge. `action` is `expire` or `remove`. `refresh` fetches expired responses again. */
export function purgeDialog({ select, action = "expire", refresh, title, done }) {
  const reason = reasonField();
  const isRemoval = action === "remove";
  const keyOf = keys();
  const verb = isRemoval ? "Remove" : refresh ? "Fetch again" : "Expire";
  const command = () => {
    const options = [isRemoval && "--remove", refresh && `--refresh ${refresh.perSecond}/s`, reason.value && option("--reason", reason.value)].filter(Boolean);
    return ["holdfast purge", selectors(select), ...options, controlArguments()].join(" ");
  };
  const body = () => ({ select, action, ...(refresh && { refresh }), ...(reason.value && { reason: reason.value }) });
  return ask({
    title: title ?? `${verb} stored responses`,
    verb,
    isDangerous: isRemoval,
    fields: [labelled(reason, "Reason, for the log and other operators"), h("p", {}, h("button", { type: "button", class: "quiet", on: { click: () => copyCommand(command) } }, "Copy as command"))],
    async preview() {
      const { matched } = await change("POST", "/v1/purges", { select, action, dryRun: true });
      return {
        content: [selectionWords(select), effect(matched, action, refresh)],
        mustAgree: isRemoval && matched.responses > 0 && `I know that ${lost(matched)}.`,
        counts: [matched.responses, matched.onlyOfflineCopies, matched.onlyWhileFresh ?? 0],
      };
    },
    async act() {
      const result = await change("POST", "/v1/purges", body(), { headers: { "Idempotency-Key": keyOf(body()) } });
      done?.();
      return purged(result);
    },
  });
}

/** Returns the same key for the same request, so that a repeated request is performed only once. */
function keys() {
  let sent;
  let key;
  return (body) => {
    const text = JSON.stringify(body);
    if (sent !== text) key = [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
    sent = text;
    return key;
  };
}

function lost({ responses, onlyOfflineCopies: copies, exact }) {
  const number = `${exact ? "" : "about "}${count(copies)} of ${count(responses)}`;
  if (copies === 0) return `${counted(responses, "stored response")} ${responses === 1 ? "is" : "are"} deleted`;
  return `${number} ${copies === 1 ? "is the only offline copy, and that it is" : "are the only offline copies, and that they are"} lost`;
}

function effect(matched, action, refresh) {
  if (matched.responses === 0) return h("p", { class: "ask-main" }, "No stored response matches.");
  const { onlyOfflineCopies: copies, responses } = matched;
  const part = copies > 0 && warning(`${count(copies)} of ${count(responses)} ${copies === 1 ? "is the only offline copy" : "are the only offline copies"} (${share(copies / responses)}).`);
  if (action === "remove") {
    return [h("p", { class: "ask-main" }, `Deletes ${about(matched)}. `, "They cannot be served again, even offline, until the origin sends them."), part];
  }
  const next = refresh ? `Each is then fetched again, ${refresh.perSecond} per second.` : "Each is validated with its origin before its next use.";
  const only = matched.onlyWhileFresh ?? 0;
  return [
    h("p", { class: "ask-main" }, `Expires ${about(matched)}. ${next}`),
    only > 0
      ? warning(`${count(only)} of ${count(responses)} may be served only while fresh, so ${only === 1 ? "it cannot" : "they cannot"} be served until validated with the origin. The others stay available offline.`)
      : h("p", { class: "muted" }, "Offline copies stay, so nothing is lost while an origin is unreachable."),
  ];
}

function warning(text) {
  return h("p", { class: "ask-warning" }, h("span", { class: "shape", "aria-hidden": "true" }, "▲ "), text);
}

function inForce(...words) {
  return h("p", { class: "ask-main" }, h("span", { class: "shape good", "aria-hidden": "true" }, "● "), words);
}

function purged({ action, durable, matched, sequence, refreshing, nodes, reached }) {
  return [
    inForce(`${action === "remove" ? "Removed" : "Expired"} ${about(matched)}. Sequence ${sequence}.`),
    durable === false && warning("Not on disk, which is full or read-only: a restart may bring the responses back. Free some space, then repeat it."),
    refreshing !== undefined && h("p", {}, `Fetching ${counted(refreshing, "response")} again.`, " ", h("a", { href: "#/purges" }, "Show progress")),
    reached && h("p", { class: "muted" }, `Reached: ${reached}${nodes ? `; ${counted(nodes.applied, "node")} applied it, ${count(nodes.behind)} behind` : ""}.`),
  ];
}

/** Opens the dialog for pinning or unpinning. */
export function pinDialog({ select, pinned, done }) {
  const verb = pinned ? "Pin" : "Unpin";
  const reason = reasonField();
  return ask({
    title: `${verb} stored responses`,
    verb,
    fields: [labelled(reason, "Reason, for the log and other operators"), h("p", {}, h("button", { type: "button", class: "quiet", on: { click: () => copyCommand(() => `holdfast ${verb.toLowerCase()} ${selectors(select)} ${controlArguments()}`) } }, "Copy as command"))],
    async preview() {
      const { matched, pins } = await change("POST", "/v1/pins", { select, pinned, dryRun: true });
      const effectWords = pinned ? "They are not evicted, even if no client requests them." : "They may be evicted again when the store is full.";
      return {
        content: [
          selectionWords(select),
          h("p", { class: "ask-main" }, `${verb}s ${about(matched)}; ${count(matched.pinned)} of them ${matched.pinned === 1 ? "is" : "are"} already pinned. ${effectWords}`),
          h("p", { class: "muted" }, `All pins use ${bytes(pins.bytes)} of the ${bytes(pins.limit)} limit.`),
        ],
      };
    },
    async act() {
      const { changed, pins } = await change("POST", "/v1/pins", { select, pinned, ...(reason.value && { reason: reason.value }) });
      done?.();
      return inForce(`Changed ${counted(changed, "response")}. All pins use ${bytes(pins.bytes)}.`);
    },
  });
}

const modeWords = {
  automatic: "Like online, but stored responses are served while an origin is unreachable.",
  online: "Stored responses are served as HTTP allows; origins get all other requests.",
  preferStored: "Stored responses are served, even stale ones. Origins get only misses, and requests whose responses must not be stale.",
  offline: "No requests are sent to origins. Requests that the store cannot serve get 504.",
};

/** Opens the dialog for a temporary mode. */
export function modeDialog(now) {
  const { mode: inForce, configured } = now.mode;
  const choice = h("select", { id: "mode" }, Object.keys(modeWords).map((name) => h("option", { value: name }, name === configured ? `${name} (configured)` : name)));
  choice.value = inForce;
  const span = h("select", { id: "span" }, [["15m", "15 minutes"], ["1h", "1 hour"], ["2h", "2 hours"], ["8h", "8 hours"], ["1d", "1 day"]].map(([value, words]) => h("option", { value }, words)));
  const reason = reasonField();
  const words = h("p", { class: "ask-main", role: "status" });
  const describe = () => {
    words.textContent = modeWords[choice.value];
    span.disabled = choice.value === configured;
  };
  choice.addEventListener("change", describe);
  describe();
  const command = () => ["holdfast mode", choice.value, !span.disabled && `--for ${span.value}`, reason.value && option("--reason", reason.value), controlArguments()].filter(Boolean).join(" ");
  return ask({
    title: "Change the mode",
    verb: "Change",
    fields: [labelled(choice, "Mode"), words, labelled(span, "Ends after"), labelled(reason, "Reason, for the log and other operators"), h("p", {}, h("button", { type: "button", class: "quiet", on: { click: () => copyCommand(command) } }, "Copy as command"))],
    async preview() {
      const { offlineAnswerable: answerable } = await get("/v1/overview");
      const ready = answerable?.now === undefined ? "" : ` ${share(answerable.now)} of the last hour's requests could be served without origins.`;
      return { content: h("p", { class: "muted" }, `The mode is ${inForce}.${ready}`) };
    },
    async act() {
      const body = { mode: choice.value, ...(!span.disabled && { for: span.value }), ...(reason.value && { reason: reason.value }) };
      const result = await change("PUT", "/v1/mode", body);
      return inForce(`The mode is ${result.mode}`, result.until ? [", until ", at(result.until), "."] : ", as configured.");
    },
  });
}
