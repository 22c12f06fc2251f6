// Charts, drawn as SVG at their actual size. The pointer and the arrow keys select a step, whose values are
// shown. Each curve has its own dash pattern, so that color is never the only difference.
import { h, put, svg } from "./dom.js";
import { moment } from "./format.js";

const height = 132;
const margin = { top: 8, right: 10, bottom: 20, left: 52 };

/** Returns round numbers for the marks of an axis, from 0 to at least `top`. */
function marks(top, base = 10) {
  if (!(top > 0)) return [0, 1];
  const raw = top / 3;
  const power = base ** Math.floor(Math.log(raw) / Math.log(base));
  const steps = base === 1024 ? [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024] : [1, 2, 2.5, 5, 10];
  const step = power * steps.find((factor) => factor * power >= raw * 0.999);
  const result = [0];
  while (result.at(-1) < top * 0.999) result.push(result.at(-1) + step);
  return result;
}

/** Scales of an axis: linear from 0, a ratio up to 1 (zoomed if all values are near 1), or powers of ten. */
const scales = {
  linear: (values, base) => {
    const ticks = marks(Math.max(...values, 0), base);
    return { ticks, place: (value) => value / ticks.at(-1) };
  },
  share: (values) => {
    const low = [0.99, 0.9, 0.8, 0.5].find((floor) => Math.min(...values, 1) >= floor) ?? 0;
    return { ticks: [low, (1 + low) / 2, 1], place: (value) => (value - low) / (1 - low) };
  },
  power: (values) => {
    const positive = values.filter((value) => value > 0);
    const low = Math.floor(Math.log10(Math.min(...positive, 0.001)));
    const high = Math.max(low + 2, Math.ceil(Math.log10(Math.max(...positive, 0.01))));
    const ticks = [];
    for (let power = low; power <= high; power += 1) ticks.push(10 ** power);
    return { ticks, place: (value) => (Math.log10(Math.max(value, 10 ** low)) - low) / (high - low) };
  },
};

function path(values, x, y) {
  let text = "";
  let isDrawing = false;
  values.forEach((value, at) => {
    if (value === null || value === undefined) {
      isDrawing = false;
      return;
    }
    const alone = !isDrawing && (values[at + 1] ?? null) === null;
    text += `${isDrawing ? "L" : "M"}${x(at).toFixed(1)} ${y(value).toFixed(1)}${alone ? "h2" : ""}`;
    isDrawing = true;
  });
  return text;
}

/** Returns the area below a curve: one shape for each part without a gap. */
function area(values, x, y) {
  const floor = y(0).toFixed(1);
  let text = "";
  let from = -1;
  values.concat(null).forEach((value, at) => {
    const isKnown = value !== null && value !== undefined;
    if (isKnown && from < 0) from = at;
    if (!isKnown && from >= 0) {
      const line = path(values.slice(from, at), (step) => x(step + from), y);
      text += `${line}V${floor}H${x(from).toFixed(1)}Z`;
      from = -1;
    }
  });
  return text;
}

const minute = 60_000;
const timeSteps = [1, 2, 5, 10, 15, 30, 60, 120, 360].map((minutes) => minutes * minute);

/** Returns the times to mark on the time axis: at most six round times. */
function timeMarks(start, end) {
  const step = timeSteps.find((each) => (end - start) / each <= 6) ?? timeSteps.at(-1);
  const zone = new Date(start).getTimezoneOffset() * minute;
  const result = [];
  for (let time = Math.ceil((start - zone) / step) * step + zone; time <= end; time += step) result.push(time);
  return result;
}

/** Returns the number of steps to draw. A gateway that just started has few, so only part of the window is drawn. */
function drawnSteps(known, { window, stepSeconds }) {
  const whole = Math.round((window === "day" ? 86_400 : 3600) / stepSeconds);
  return [whole / 12, whole / 6, whole / 2].map(Math.floor).find((part) => known <= part) ?? Math.max(known, whole);
}

/**
 * Creates a chart. `draw(history)` shows new values. A series has a `name`, a `key`, a `line` (its class), and
 * optionally an `area`.
 */
export function chart({ title, series, scale = "linear", base, format, tick = format, limit }) {
  const drawing = svg("svg", { class: "chart", height, role: "slider", tabindex: "0", "aria-label": title, "aria-orientation": "horizontal", "aria-valuemin": 0, "aria-valuemax": 0, "aria-valuenow": 0, "aria-valuetext": "no data yet" });
  const legend = h("ul", { class: "legend" });
  const time = h("span", { class: "chart-time muted" });
  const figure = h("figure", { class: "panel chart-panel" }, h("figcaption", { class: "chart-head" }, h("h3", {}, title), time), legend, drawing);
  let history;
  let chosen;
  let geometry;

  const valueAt = (entry, at) => history.series[entry.key]?.[at];
  const instantAt = (at) => history.startTime + at * history.stepSeconds * 1000;

  function layout() {
    const width = Math.max(220, drawing.clientWidth || figure.clientWidth - 32 || 480);
    const length = Math.max(2, history.length);
    const values = series.flatMap((entry) => history.series[entry.key] ?? []).filter((value) => typeof value === "number");
    const top = limit?.(history);
    if (top) values.push(top);
    const { ticks, place } = scales[scale](values, base);
    const inner = { width: width - margin.left - margin.right, height: height - margin.top - margin.bottom };
    const x = (at) => margin.left + (at / (length - 1)) * inner.width;
    const y = (value) => margin.top + (1 - Math.min(1, place(value))) * inner.height;
    return { width, length, ticks, x, y, top, inner };
  }

  function render() {
    if (!history) return;
    geometry = layout();
    const { width, ticks, x, y, top, length } = geometry;
    drawing.setAttribute("viewBox", `0 0 ${width} ${height}`);
    const grid = ticks.map((value) => [
      svg("line", { class: "grid", x1: margin.left, x2: width - margin.right, y1: y(value), y2: y(value) }),
      svg("text", { class: "axis", x: margin.left - 8, y: y(value) + 4, "text-anchor": "end" }, tick(value)),
    ]);
    const span = instantAt(length - 1) - history.startTime || 1;
    const times = timeMarks(history.startTime, instantAt(length - 1)).map((instant) => {
      const place = margin.left + ((instant - history.startTime) / span) * geometry.inner.width;
      if (place < margin.left + 16 || place > width - margin.right - 16) return undefined;
      return svg("text", { class: "axis", x: place, y: height - 4, "text-anchor": "middle" }, moment(instant).slice(-5));
    });
    const lines = series.map((entry) => {
      const values = history.series[entry.key] ?? [];
      return [
        entry.area && svg("path", { class: `area ${entry.line}`, d: area(values, x, y) }),
        svg("path", { class: `line ${entry.line}`, d: path(values, x, y) }),
      ];
    });
    const bound = top && svg("line", { class: "bound", x1: margin.left, x2: width - margin.right, y1: y(top), y2: y(top) });
    put(drawing, grid, times, lines, bound, svg("line", { class: "cross", y1: margin.top, y2: height - margin.bottom, visibility: "hidden" }));
    choose(chosen);
  }

  function newest() {
    for (let at = history.length - 1; at >= 0; at -= 1) {
      if (series.some((entry) => typeof valueAt(entry, at) === "number")) return at;
    }
    return history.length - 1;
  }

  function choose(at) {
    if (!history?.length) {
      put(legend, h("li", {}, "Data will appear in a moment."));
      return;
    }
    chosen = at;
    const shown = at ?? newest();
    const cross = drawing.querySelector(".cross");
    cross?.setAttribute("visibility", at === undefined ? "hidden" : "visible");
    cross?.setAttribute("x1", geometry.x(shown));
    cross?.setAttribute("x2", geometry.x(shown));
    const words = series.map((entry) => [entry, format(valueAt(entry, shown))]);
    put(legend, words.map(([entry, value]) =>
      h("li", {}, svg("svg", { class: "key", width: 18, height: 8, "aria-hidden": "true" }, svg("line", { class: `line ${entry.line}`, x1: 0, x2: 18, y1: 4, y2: 4 })), h("span", {}, entry.name), " ", h("b", {}, value))));
    time.textContent = at === undefined ? "" : moment(instantAt(shown), history.window === "hour");
    drawing.setAttribute("aria-valuemin", 0);
    drawing.setAttribute("aria-valuemax", history.length - 1);
    drawing.setAttribute("aria-valuenow", shown);
    drawing.setAttribute("aria-valuetext", `${moment(instantAt(shown))}: ${words.map(([entry, value]) => `${entry.name} ${value}`).join(", ")}`);
  }

  drawing.addEventListener("pointermove", (event) => {
    if (!history?.length) return;
    const box = drawing.getBoundingClientRect();
    const place = ((event.clientX - box.left) / box.width) * geometry.width;
    const at = Math.round(((place - margin.left) / geometry.inner.width) * (geometry.length - 1));
    choose(Math.max(0, Math.min(history.length - 1, at)));
  });
  drawing.addEventListener("pointerleave", () => choose(undefined));
  drawing.addEventListener("blur", () => choose(undefined));
  drawing.addEventListener("keydown", (event) => {
    if (!history?.length) return;
    const at = chosen ?? newest();
    const step = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -10, PageUp: 10, Home: -1e6, End: 1e6 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    choose(Math.max(0, Math.min(history.length - 1, at + step)));
  });
  const observer = new ResizeObserver(render);
  observer.observe(figure);

  return {
    element: figure,
    draw(value) {
      // If there are only a few values, they appear at the end, after a gap.
      const known = Math.max(0, ...Object.values(value.series).map((values) => values.length));
      const length = known ? drawnSteps(known, value) : 0;
      const padded = Object.entries(value.series).map(([key, values]) => [key, [...Array(length - values.length).fill(null), ...values]]);
      history = { ...value, series: Object.fromEntries(padded), length, startTime: Date.parse(value.end) - (length - 1) * value.stepSeconds * 1000 };
      if (chosen >= length) chosen = undefined;
      render();
    },
    end: () => observer.disconnect(),
  };
}
