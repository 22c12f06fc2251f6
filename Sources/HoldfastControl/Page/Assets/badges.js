// Badges for states. Each state has a word and a shape, so that color is never the only sign.
import { h } from "./dom.js";
import { shown } from "./safe.js";

const shapes = {
  fresh: ["●", "good", "fresh"],
  stale: ["◐", "warn", "stale"],
  expired: ["○", "warn", "expired"],
  invalidated: ["⊘", "warn", "invalidated"],
  damaged: ["✕", "bad", "damaged"],
  reachable: ["●", "good", "reachable"],
  confirming: ["◐", "warn", "confirming"],
  unreachable: ["▲", "bad", "unreachable"],
  unresolved: ["○", "plain", "unresolved"],
  aside: ["▲", "warn", "set aside"],
  failing: ["▲", "bad", "failing"],
  drained: ["◇", "warn", "drained"],
  inUse: ["●", "good", "in use"],
  pinned: ["◆", "accent", "pinned"],
  offline: ["◇", "plain", "usable offline"],
  following: ["●", "good", "following"],
  connecting: ["◐", "warn", "connecting"],
  behind: ["▲", "warn", "behind"],
  applied: ["●", "good", "up to date"],
  never: ["○", "warn", "never"],
  done: ["●", "good", "in force"],
  failed: ["✕", "bad", "failed"],
  running: ["◐", "accent", "running"],
};

const notes = {
  offline: "May be served stale while its origin is unreachable, if rules allow it.",
};

/** Returns the badge of a state. An unknown state is shown by its name. */
export function badge(state, words) {
  const [shape, tone, name] = shapes[state] ?? ["○", "plain", state];
  return h("span", { class: `badge ${tone}`, title: notes[state] }, h("span", { class: "shape", "aria-hidden": "true" }, shape), h("span", {}, shown(words ?? name)));
}

const responseSources = {
  origin: { shape: "●", tone: "good", title: "Serving normally" },
  mixed: { shape: "▲", tone: "warn", title: "Serving partly from the store" },
  store: { shape: "▲", tone: "bad", title: "Serving from the store" },
  starting: { shape: "◐", tone: "plain", title: "Starting" },
  ending: { shape: "◐", tone: "plain", title: "Stopping" },
};

export function responsesFrom(name) {
  return responseSources[name] ?? { shape: "○", tone: "plain", title: name };
}
