// The stream of server-sent events. EventSource cannot send a token, so the stream is read by hand.
// It ends when the page is hidden, and begins again when it is seen.
import { Problem, send } from "./api.js";

const firstPause = 500;
const longestPause = 10_000;

/** Splits a stream's text into events: `feed(chunk)` gives those that are complete. */
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

  constructor(path, listener) {
    this.#path = path;
    this.#listener = listener;
    document.addEventListener("visibilitychange", () => (document.hidden ? this.#end("hidden") : this.start()));
    addEventListener("pagehide", () => this.#end("hidden"));
    addEventListener("pageshow", (event) => event.persisted && this.start());
  }

  start() {
    if (document.hidden || this.#stop) return;
    clearTimeout(this.#timer);
    this.#stop = new AbortController();
    this.#follow(this.#stop.signal);
  }

  end() {
    this.#end("ended");
  }

  #end(state) {
    clearTimeout(this.#timer);
    this.#stop?.abort();
    this.#stop = undefined;
    this.#listener.state(state);
  }

  async #follow(signal) {
    let failure;
    let hadEvents = false;
    try {
      hadEvents = await this.#read(signal);
    } catch (error) {
      failure = error;
    }
    if (signal.aborted) return;
    this.#stop = undefined;
    // The gateway ends each stream after a while; the next one follows at once.
    if (hadEvents) {
      this.start();
      return;
    }
    this.#listener.state("broken", failure);
    // A wrong token, or a gateway without the stream: trying again would change nothing.
    if (failure instanceof Problem && [401, 403, 404].includes(failure.status)) return;
    this.#timer = setTimeout(() => this.start(), this.#pause);
    this.#pause = Math.min(this.#pause * 2, longestPause);
  }

  async #read(signal) {
    const response = await send(this.#path, { signal, headers: { Accept: "text/event-stream" } });
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    const parser = new EventParser();
    let hadEvents = false;
    for (;;) {
      const { value, done } = await reader.read();
      if (done || signal.aborted) return hadEvents;
      for (const event of parser.feed(value)) {
        this.#pause = firstPause;
        hadEvents = true;
        this.#listener.state("live");
        this.#listener.event(event.name, JSON.parse(event.data));
      }
    }
  }
}
