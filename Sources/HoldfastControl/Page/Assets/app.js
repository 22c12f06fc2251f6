// The page's frame: session, views, theme, and connection state.
import { hasToken, setToken, whenRejected } from "./api.js";
import { responsesFrom } from "./badges.js";
import { put } from "./dom.js";
import { endSession, exchange, loginView, takeCode } from "./session.js";
import { endLive, follow, followLink, startLive, state } from "./state.js";
import { closeDialogs, problem } from "./dialog.js";
import { settledTime } from "./events.js";
import { moment } from "./format.js";
import { plain } from "./safe.js";
import * as configuration from "./view-configuration.js";
import * as nodes from "./view-nodes.js";
import * as notStored from "./view-notstored.js";
import * as origins from "./view-origins.js";
import * as outages from "./view-outages.js";
import * as overview from "./view-overview.js";
import * as purges from "./view-purges.js";
import * as response from "./view-response.js";
import * as rules from "./view-rules.js";
import * as stored from "./view-stored.js";

const views = {
  "": overview,
  stored,
  response,
  origins,
  "not-stored": notStored,
  outages,
  purges,
  nodes,
  rules,
  configuration,
};

const main = document.getElementById("main");
const navigation = document.getElementById("views");
const leaveButton = document.getElementById("leave");
let current;
let isOpen = false;

/** Parses an address such as `#/stored?tag=news` into the view, the rest of the path, and the parameters. */
function readAddress() {
  const [path, query] = location.hash.replace(/^#\/?/, "").split("?");
  const [name, ...rest] = path.split("/").map(decode);
  return { name, rest, query: new URLSearchParams(query ?? "") };
}

function decode(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

function show(isMove) {
  const address = readAddress();
  const view = views[address.name] ?? overview;
  current?.leave?.();
  for (const link of navigation.querySelectorAll("a")) {
    const name = link.hash.replace(/^#\/?/, "");
    const isCurrent = name === address.name || (name === "stored" && address.name === "response");
    if (isCurrent) {
      link.setAttribute("aria-current", "page");
      // On a phone, the row of views scrolls sideways. The page itself must not.
      navigation.scrollLeft = link.offsetLeft - navigation.clientWidth / 2 + link.offsetWidth / 2;
    } else link.removeAttribute("aria-current");
  }
  current = view.open(address);
  put(main, current.element);
  setTitle();
  if (!isMove) return;
  scrollTo(0, 0);
  // Screen readers announce the new view's name.
  const heading = main.querySelector("h1");
  heading?.setAttribute("tabindex", "-1");
  (heading ?? main).focus({ preventScroll: true });
}

function setTitle() {
  const { overview: now, link } = state;
  const sign = isOpen && link === "broken" ? "✕ Not connected · " : now && isOpen ? `${responsesFrom(now.responsesFrom).shape} ${responsesFrom(now.responsesFrom).title} · ` : "";
  const title = `${sign}${current?.title ?? ""} · Holdfast`;
  if (document.title !== title) document.title = title;
}

function open() {
  isOpen = true;
  navigation.hidden = false;
  leaveButton.hidden = false;
  startLive();
  show(false);
}

function closed(error) {
  isOpen = false;
  endLive();
  setToken(undefined);
  current?.leave?.();
  current = undefined;
  closeDialogs();
  navigation.hidden = true;
  leaveButton.hidden = true;
  document.title = "Holdfast";
  put(main, loginView(error, open));
}

const liveWords = {
  waiting: "Connecting",
  live: "Live",
  polling: "Every 5 s",
  hidden: "Paused",
  broken: "Not connected",
  ended: "No session",
};

function showLink(word, error) {
  const element = document.getElementById("live");
  element.dataset.state = word;
  const isOld = word === "broken";
  const figures = isOld && state.overview ? `; data from ${moment(state.overview.at, true)}` : "";
  document.getElementById("live-words").textContent = (liveWords[word] ?? word) + figures;
  element.title = plain(error?.message ?? "");
  document.body.classList.toggle("is-old", isOld);
  announceLink(isOld, `Not connected${figures}.`);
  setTitle();
}

/** Tells screen readers when the connection is lost, and when it has been back for a while. */
let isLost = false;
let settling;
function announceLink(isOld, words) {
  clearTimeout(settling);
  const say = (text) => (document.getElementById("announcement").textContent = text);
  if (isOld && !isLost) say(words);
  if (isOld) isLost = true;
  else if (isLost) {
    settling = setTimeout(() => {
      isLost = false;
      say("Reconnected.");
    }, settledTime);
  }
}

/** Tells screen readers when the state changes. Changed numbers are not announced. */
let announced;
function announce(now) {
  const facts = [now.responsesFrom, now.mode?.mode, now.unreachableCount].join(" ");
  if (announced !== undefined && announced !== facts) {
    document.getElementById("announcement").textContent = `${responsesFrom(now.responsesFrom).title}. ${plain(now.summary)}`;
  }
  announced = facts;
}

async function begin() {
  const theme = document.getElementById("theme");
  theme.value = globalThis.holdfastTheme.get();
  theme.addEventListener("change", () => globalThis.holdfastTheme.set(theme.value));
  leaveButton.addEventListener("click", async () => {
    await endSession();
    closed();
  });
  document.getElementById("skip").addEventListener("click", (event) => {
    event.preventDefault();
    main.focus();
  });
  addEventListener("hashchange", async () => {
    const code = takeCode();
    if (code) await enter(code);
    else if (isOpen) show(true);
  });
  whenRejected(closed);
  followLink(showLink);
  follow((now) => {
    setTitle();
    announce(now);
  });
  const code = takeCode();
  if (code) await enter(code);
  else if (hasToken()) open();
  else closed();
}

async function enter(code) {
  try {
    await exchange(code);
    open();
  } catch (error) {
    closed(error);
  }
}

begin().catch((error) => put(main, problem(error)));
