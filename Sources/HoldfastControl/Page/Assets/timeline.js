// A timeline of a stored response: when it was stored, how long it is fresh, and how long it is usable
// offline. All parts have the same length. Otherwise, a minute would be invisible next to a week.
import { h, svg } from "./dom.js";
import { clock, full, length, millis, moment } from "./format.js";

const height = 34;

/**
 * Returns the times until which a stored response is fresh and usable. They are from its explanation, which is
 * only for the selected variant. For other variants, only the listing is known.
 */
export function lifeOf(variant, explanation) {
  const line = { storedAt: variant.storedAt, now: clock.now(), freshUntil: variant.expiresAt, usableOffline: variant.usableStale ? "unknown" : "never" };
  const isSelected = explanation?.variants?.some((each) => each.isSelected && each.id === variant.entry);
  if (isSelected) {
    const { unreachable, changes = [] } = explanation;
    line.freshUntil = explanation.freshness?.freshUntil ?? variant.expiresAt;
    line.usableOffline = "never";
    line.forbiddenBy = unreachable.forbiddenBy;
    if (unreachable.answer === "stored") {
      const end = changes.find((change) => change.unreachable && change.unreachable.answer !== "stored");
      line.usableOffline = end ? "until" : "always";
      line.usableOfflineUntil = end?.at;
      line.forbiddenBy = end?.unreachable.forbiddenBy;
    }
  }
  // A purge ends freshness early.
  if (variant.state === "invalidated") line.freshUntil = undefined;
  return line;
}

/** Returns the parts of the timeline. */
function stretches(line) {
  const stored = millis(line.storedAt);
  const fresh = millis(line.freshUntil);
  const { now } = line;
  const result = [];
  const freshEnd = fresh === undefined ? stored : Math.max(stored, fresh);
  if (freshEnd > stored) result.push({ kind: "fresh", name: "fresh", from: stored, to: freshEnd });
  if (line.usableOffline === "always") {
    result.push({ kind: "offline", name: "usable offline, with no limit", from: freshEnd, to: undefined });
  } else if (line.usableOffline === "unknown") {
    result.push({ kind: "offline", name: "usable offline, if rules allow it", from: freshEnd, to: undefined });
  } else if (line.usableOffline === "until") {
    const usable = millis(line.usableOfflineUntil);
    if (usable > freshEnd) result.push({ kind: "offline", name: "usable offline", from: freshEnd, to: usable });
    result.push({ kind: "over", name: "not usable offline", from: Math.max(usable, freshEnd), to: undefined });
  } else {
    result.push({ kind: "over", name: "not usable offline", from: freshEnd, to: undefined });
  }
  return { stored, now, parts: result };
}

/** Returns the position of a time on the line, from 0 to 1. The position is proportional within its part. */
function place({ parts }, instant) {
  const each = 1 / parts.length;
  for (const [at, part] of parts.entries()) {
    if (part.to === undefined) {
      // In a part without an end, the position starts near the beginning and never reaches the end.
      const passed = Math.max(0, instant - part.from);
      return (at + 0.08 + 0.84 * (passed / (passed + 3600_000))) * each;
    }
    if (instant < part.to) return (at + Math.max(0, instant - part.from) / (part.to - part.from)) * each;
  }
  return 1;
}

/** Returns the timeline as a sentence, for screen readers. */
function sentence(line, { now, parts }) {
  const words = parts.map((part) => (part.to === undefined ? part.name : `${part.name} until ${moment(part.to)}`));
  const current = parts.find((part) => part.to === undefined || now < part.to);
  return `Stored ${moment(line.storedAt)}; ${words.join("; ")}. Now it is ${current.name}.`;
}

export function timeline(line) {
  const life = stretches(line);
  const each = 100 / life.parts.length;
  const bars = life.parts.map((part, at) => svg("rect", { class: `life ${part.kind}`, x: `${at * each}%`, y: 12, width: `${each}%`, height: 10 }));
  const now = `${(place(life, life.now) * 100).toFixed(2)}%`;
  const mark = [svg("line", { class: "now", x1: now, x2: now, y1: 4, y2: 30 }), svg("circle", { class: "now", cx: now, cy: 17, r: 6 })];
  const drawing = svg("svg", { class: "timeline", height, role: "img", "aria-label": sentence(line, life) }, bars, mark);
  const names = life.parts.map((part) =>
    h(
      "li",
      { class: part.kind },
      h("b", {}, h("span", { class: `life-key ${part.kind}`, "aria-hidden": "true" }), part.name),
      h("span", { class: "muted" }, part.to === undefined ? `from ${moment(part.from)}` : `${moment(part.from)} to ${moment(part.to)}, ${length(part.to - part.from)}`),
    ),
  );
  const current = life.parts.find((part) => part.to === undefined || life.now < part.to);
  const left = current.to === undefined ? `for ${length(life.now - current.from)}` : `for another ${length(current.to - life.now)}`;
  return h(
    "div",
    { class: "life-box", title: `now: ${full(life.now)}` },
    h("p", { class: "life-now" }, "Now ", h("strong", {}, current.name), `, ${left}. Stored ${length(life.now - life.stored)} ago.`),
    drawing,
    h("ol", { class: `life-names n${life.parts.length}` }, names),
  );
}
