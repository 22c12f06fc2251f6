// The stream of server-sent events. EventSource cannot send a token, so this code reads the stream itself.
// The stream ends when the page is hidden, and starts again when the page is visible.
import { Problem, send } from "./api.js";

const firstPause = 500;
const longestPause = 30_000;
// A stream that lasted this long was healthy. A draining gateway ends a stream immediately.
export const settledTime = 5000;
// The gateway sends an event every second. After this time without an event, the connection counts as broken.
const longestSilence = 5000;

/** Splits a stream's text into events. `feed(chunk)` returns the events that are complete. */
class EventParser {
  #rest = "";

  feed(chunk) {
    const blocks = (this.#rest + chunk).replace(/\r\n?/g, "\n").split("\n\n");
    this.#rest = blocks.pop();
    return blocks.map(read).filter((event) => event.data !== "");
  }
}

function read(block) {
  const event = { name: "message", data: "" };
  const data = [];
  for (const line of block.split("\n")) {
    const colon = line.indexOf(":");
    if (colon === 0) continue;
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (name === "event") event.name = value;
    if (name === "data") data.push(value);
  }
  event.data = data.join("\n");
  return event;
}

/** Follows `path` while the page is visible. `listener` has `event(name, value)` and `state(word, error)`. */
export class LiveStream {
  #path;
  #listener;
  #stop;
  #timer;
  #pause = firstPause;
  #isWanted = false;

  constructor(path, listener) {
    this.#path = path;
    this.#listener = listener;
    document.addEventListener("visibilitychange", () => (document.hidden ? this.#pauseAs("hidden") : this.#begin()));
    addEventListener("pagehide", () => this.#pauseAs("hidden"));
    addEventListener("pageshow", (event) => event.persisted && this.#begin());
  }

  start() {
    this.#isWanted = true;
    this.#begin();
  }

  #begin() {
    if (!this.#isWanted || document.hidden || this.#stop) return;
    clearTimeout(this.#timer);
    this.#stop = new AbortController();
    this.#follow(this.#stop.signal);
  }

  end() {
    this.#pauseAs("ended");
    this.#isWanted = false;
  }

  #pauseAs(state) {
    if (!this.#isWanted) return;
    clearTimeout(this.#timer);
    this.#stop?.abort();
    this.#stop = undefined;
    this.#listener.state(state);
  }

  async #follow(signal) {
    const began = performance.now();
    let failure;
    let hadEvents = false;
    try {
      hadEvents = await this.#read(signal);
    } catch (error) {
      failure = error;
    }
    if (signal.aborted) return;
    this.#stop = undefined;
    if (performance.now() - began > settledTime) this.#pause = firstPause;
    // The gateway ends each stream after a while, which is not a failure.
    if (failure || !hadEvents || this.#pause > firstPause) this.#listener.state("broken", failure);
    // The token is wrong, or the gateway has no such stream. Retrying would not help.
    if (failure instanceof Problem && [401, 403, 404].includes(failure.status)) return;
    // The pause is random, so that a gateway's pages do not all reconnect at the same moment.
    const pause = Math.max(this.#pause, Math.min(Number(failure?.retryAfter) * 1000 || 0, longestPause));
    this.#timer = setTimeout(() => this.#begin(), pause * (0.75 + Math.random() / 2));
    this.#pause = Math.min(this.#pause * 2, longestPause);
  }

  async #read(signal) {
    const connection = new AbortController();
    const end = () => connection.abort();
    signal.addEventListener("abort", end);
    let silence;
    const listen = () => {
      clearTimeout(silence);
      silence = setTimeout(end, longestSilence);
    };
    try {
      listen();
      return await this.#events(connection.signal, listen);
    } finally {
      clearTimeout(silence);
      signal.removeEventListener("abort", end);
    }
  }

  async #events(signal, listen) {
    const response = await send(this.#path, { signal, headers: { Accept: "text/event-stream" } });
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    const parser = new EventParser();
    let hadEvents = false;
    for (;;) {
      const { value, done } = await reader.read();
      if (done || signal.aborted) return hadEvents;
      listen();
      for (const event of parser.feed(value)) {
        hadEvents = true;
        this.#listener.state("live");
        this.#listener.event(event.name, JSON.parse(event.data));
      }
    }
  }
}
