// Formats numbers, sizes and times. Every value has a unit, and numbers have few digits.
import { h } from "./dom.js";

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

/** The gateway's clock, which may differ from the browser's. */
export const clock = {
  offset: 0,
  now: () => Date.now() + clock.offset,
  set(instant) {
    const time = millis(instant);
    if (time !== undefined) clock.offset = time - Date.now();
  },
};

/** Returns milliseconds since 1970, from RFC 3339 text, a number, or `{milliseconds}`. */
export function millis(instant) {
  if (instant === undefined || instant === null) return undefined;
  if (typeof instant === "number") return instant;
  if (typeof instant === "object") return instant.milliseconds;
  const time = Date.parse(instant);
  return Number.isNaN(time) ? undefined : time;
}

export const dash = "–";

export function count(value) {
  if (value === undefined || value === null) return dash;
  return Math.round(value).toLocaleString("en-GB");
}

/** Returns a number with its noun: `3,410 responses`, `1 response`. */
export function counted(value, one, many = `${one}s`) {
  return `${count(value)} ${value === 1 ? one : many}`;
}

/** Formats a ratio as a percentage: 100 % only for exactly 1, and 0 % only for exactly 0. */
export function share(value) {
  if (value === undefined || value === null) return dash;
  const cent = value * 100;
  if (value > 0 && cent < 0.1) return "< 0.1 %";
  if (value < 1 && cent > 99.9) return "> 99.9 %";
  const digits = value === 0 || value === 1 ? 0 : 1;
  return `${cent.toFixed(digits)} %`;
}

export function bytes(value) {
  if (value === undefined || value === null) return dash;
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let size = value;
  let at = 0;
  // Show 0.99 GiB instead of 1,014 MiB, which looks like a thousand units.
  while (size >= 1000 && at < units.length - 1) {
    size /= 1024;
    at += 1;
  }
  const digits = at === 0 || size >= 100 ? 0 : size < 1 ? 2 : 1;
  return `${Number.isInteger(size) ? size : size.toFixed(digits)} ${units[at]}`;
}

/** Formats a rate per second. */
export function rate(value) {
  if (value === undefined || value === null) return dash;
  if (value > 0 && value < 0.1) return "< 0.1 /s";
  return `${value < 10 ? (Math.round(value * 10) / 10).toString() : count(value)} /s`;
}

/** Formats a request's duration, given in seconds. */
export function latency(seconds) {
  if (seconds === undefined || seconds === null) return dash;
  const time = seconds * 1000;
  if (time === 0) return "0 ms";
  if (time < 1) return `${Math.max(1, Math.round(time * 1000))} µs`;
  if (time < 10) return `${time.toFixed(1).replace(/\.0$/, "")} ms`;
  if (time < 1000) return `${Math.round(time)} ms`;
  return `${(time / 1000).toFixed(1)} s`;
}

/** Formats a duration in milliseconds: in one unit (`12 min`), or in two from hours to days (`2 h 5 min`). */
export function length(milliseconds) {
  if (milliseconds === undefined || milliseconds === null) return dash;
  const time = Math.max(0, milliseconds);
  if (time < minute) return `${Math.floor(time / second)} s`;
  if (time < hour) return `${Math.floor(time / minute)} min`;
  if (time < day) return pair(time, hour, "h", minute, "min");
  if (time < 10 * day) return pair(time, day, "d", hour, "h");
  return `${Math.floor(time / day).toLocaleString("en-GB")} d`;
}

function pair(time, large, largeName, small, smallName) {
  const rest = Math.floor((time % large) / small);
  const whole = `${Math.floor(time / large)} ${largeName}`;
  return rest ? `${whole} ${rest} ${smallName}` : whole;
}

const two = (value) => String(value).padStart(2, "0");

/** Formats a time of day in the viewer's time zone, with the date unless it is today. */
export function moment(instant, withSeconds = false) {
  const time = millis(instant);
  if (time === undefined) return dash;
  const date = new Date(time);
  const today = new Date(clock.now());
  const text = `${two(date.getHours())}:${two(date.getMinutes())}${withSeconds ? `:${two(date.getSeconds())}` : ""}`;
  if (date.toDateString() === today.toDateString()) return text;
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ${text}`;
}

/** Formats a complete date and time in UTC, for tooltips. */
export function full(instant) {
  const time = millis(instant);
  return time === undefined ? "" : new Date(time).toISOString().replace(/\.\d+Z$/, "Z");
}

/** Returns an element with a time: `13:04`, or `2026-11-24 13:04`. */
export function at(instant, withSeconds = false) {
  if (millis(instant) === undefined) return dash;
  return h("time", { datetime: full(instant), title: full(instant) }, moment(instant, withSeconds));
}

function words(kind, time) {
  const now = clock.now();
  if (kind === "for") return length(now - time);
  if (kind === "in") return time <= now ? "now" : `in ${length(time - now)}`;
  if (Math.abs(time - now) < second) return "now";
  return time > now ? `in ${length(time - now)}` : `${length(now - time)} ago`;
}

/** Returns an element that follows the clock. `kind` is `for` (12 min), `in` (4 s) or `ago` (past or future). */
export function relative(kind, instant) {
  const time = millis(instant);
  if (time === undefined) return dash;
  return h("time", { datetime: full(time), title: full(time), "data-kind": kind, "data-at": time }, words(kind, time));
}

/** Updates every relative time on the page. */
export function tick() {
  for (const element of document.querySelectorAll("time[data-kind]")) {
    const text = words(element.dataset.kind, Number(element.dataset.at));
    if (element.textContent !== text) element.firstChild.nodeValue = text;
  }
}
