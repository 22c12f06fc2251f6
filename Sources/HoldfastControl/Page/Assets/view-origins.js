// Origins: their states, servers, and next probes.
import { get } from "./api.js";
import { badge } from "./badges.js";
import { controlArguments } from "./changes.js";
import { h } from "./dom.js";
import { at, count, counted, dash, relative } from "./format.js";
import { plain, url } from "./safe.js";
import { follow } from "./state.js";
import { loaded, table } from "./table.js";
import { address } from "./view-stored.js";

const refreshEvery = 5;

export function open() {
  const place = h("div", {});
  const { reload, end } = loaded(place, (signal) => get("/v1/origins", {}, signal), draw);
  let seen = 0;
  let last;
  const stop = follow(({ unreachableCount, originCount }) => {
    // Reload immediately after a change of state. Otherwise, reload every few seconds, unless the view has the focus.
    const facts = `${unreachableCount} ${originCount}`;
    const isChanged = last !== undefined && last !== facts;
    last = facts;
    seen += 1;
    if (isChanged || (seen % refreshEvery === 0 && !place.contains(document.activeElement))) reload();
  });
  return {
    title: "Origins",
    element: h("div", {}, h("h1", {}, "Origins"), place),
    leave() {
      stop();
      end();
    },
  };
}

function host(origin) {
  try {
    return new URL(origin).hostname;
  } catch {
    return undefined;
  }
}

// Why the last request to an origin or a server failed, and the next step.
function cause({ reason, message }) {
  return reason ? h("p", { class: "muted" }, `${plain(reason)}: ${plain(message)}`) : "";
}

// Until when an operator keeps requests away from a server, and why.
function drain({ drained }) {
  return drained ? h("p", { class: "muted" }, "until ", at(drained.until), " (", relative("in", drained.until), "), by ", plain(drained.by), drained.reason && [": ", plain(drained.reason)]) : "";
}

function serverState(row, origin) {
  if (row.drained || row.aside) return row.drained ? "drained" : "aside";
  return row.reason && origin.state === "unreachable" ? "failing" : "inUse";
}

// The origin's addresses and mirrors, in the order of the configuration.
function servers(origin) {
  if (!origin.servers) return dash;
  const items = origin.servers.map((row) =>
    h("li", {}, badge(serverState(row, origin)), " ", url(row.server), row.failures ? `, ${counted(row.failures, "failure")}` : "", drain(row), cause(row)),
  );
  return h("ul", { "aria-label": `Servers of ${plain(origin.origin)}` }, items);
}

function draw({ origins, more }) {
  return table({
    title: "Known origins",
    note: "Confirming: another request will show whether it is reachable. Unreachable: stored responses are served. Unresolved: no outage.",
    columns: [
      { name: "Origin", kind: "wide", by: (row) => row.origin, cell: (row) => url(row.origin) },
      { name: "Breaker", by: (row) => row.state, cell: (row) => [badge(row.state), cause(row)] },
      { name: "Servers", cell: servers },
      { name: "Since", by: (row) => row.since, cell: (row) => (row.since ? [at(row.since), " (", relative("for", row.since), ")"] : dash) },
      { name: "Next probe", by: (row) => row.nextProbe, cell: (row) => relative("in", row.nextProbe) },
      { name: "Failed probes", kind: "number", by: (row) => row.failedProbes, cell: (row) => count(row.failedProbes) },
      { name: "In flight", kind: "number", by: (row) => row.inFlight, cell: (row) => count(row.inFlight) },
      { name: "Waiting", kind: "number", by: (row) => row.waiting, cell: (row) => count(row.waiting) },
      { name: "Stored", cell: (row) => (host(row.origin) ? h("a", { href: address({ host: host(row.origin) }), "aria-label": `Stored responses of ${host(row.origin)}` }, "show") : dash) },
    ],
    rows: origins,
    empty: "No origin is configured or has received a request yet.",
    command: () => `holdfast origins ${controlArguments()}`,
    foot: more && h("p", { class: "more" }, "There are more than 1,000 origins; unreachable ones come first."),
  });
}
