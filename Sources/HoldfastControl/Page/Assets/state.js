// The latest overview, and its listeners.
import { get } from "./api.js";
import { clock, tick } from "./format.js";
import { LiveStream } from "./events.js";

const firstPollPause = 5000;
const longestPollPause = 30_000;
const listeners = new Set();
const stateListeners = new Set();
let stream;
let timer;
let pollPause = firstPollPause;
let isFollowed = false;

export const state = { overview: undefined, link: "waiting" };

/** Calls `act(overview)` for the latest overview and every later one. Returns a function that ends the calls. */
export function follow(act) {
  listeners.add(act);
  if (state.overview) act(state.overview);
  return () => listeners.delete(act);
}

/** Calls `act(word)` when the stream starts or ends. */
export function followLink(act) {
  stateListeners.add(act);
}

function receive(overview) {
  state.overview = overview;
  clock.set(overview.at);
  for (const act of listeners) act(overview);
  tick();
}

function setLink(word, error) {
  if (state.link === word) return;
  state.link = word;
  for (const act of stateListeners) act(word, error);
}

/** Polls the overview while the gateway has too many streams. */
async function poll() {
  clearTimeout(timer);
  if (document.hidden) return;
  try {
    receive(await get("/v1/overview"));
    pollPause = firstPollPause;
    if (isFollowed) setLink("polling");
  } catch (error) {
    pollPause = Math.min(pollPause * 2, longestPollPause);
    if (isFollowed) setLink("broken", error);
  }
  clearTimeout(timer);
  if (isFollowed) timer = setTimeout(poll, pollPause);
}

export function startLive() {
  isFollowed = true;
  if (stream) return stream.start();
  stream = new LiveStream("/v1/events", {
    event(name, value) {
      if (name === "overview") receive(value);
    },
    state(word, error) {
      if (error?.status === 503 && error.code === "too-many-streams") {
        poll();
      } else {
        // If there are too many streams, polling reports failures instead of the stream.
        clearTimeout(timer);
        setLink(word, error);
      }
    },
  });
  setInterval(() => !document.hidden && tick(), 1000);
  return stream.start();
}

export function endLive() {
  isFollowed = false;
  clearTimeout(timer);
  stream?.end();
  setLink("ended");
}
