// Dialogs. They trap the focus, close with Escape, and restore the focus.
import { h, put } from "./dom.js";
import { Problem } from "./api.js";
import { shown } from "./safe.js";

/** Opens a dialog with a button that closes it. Returns `{close, body, foot}`. */
export function openDialog({ title, content, buttons = [], kind = "" }) {
  const head = h("h2", { id: "dialog-title", tabindex: "-1" }, title);
  const body = h("div", { class: "dialog-body" }, content);
  const dialog = h("dialog", { class: kind, "aria-labelledby": "dialog-title" });
  const close = () => dialog.close();
  const foot = h("div", { class: "dialog-foot" }, buttons, h("button", { type: "button", on: { click: close } }, buttons.length ? "Cancel" : "Close"));
  put(dialog, head, body, foot);
  // The browser restores the focus, unless the control that had it was redrawn in the meantime.
  const giveBack = heldFocus(document.getElementById("main"));
  dialog.addEventListener("close", () => {
    dialog.remove();
    giveBack();
  });
  document.body.append(dialog);
  dialog.showModal();
  return { dialog, close, body, foot };
}

/** Moves the focus to the view's heading. */
function focusHeading() {
  const heading = document.querySelector("main h1") ?? document.getElementById("main");
  heading.setAttribute("tabindex", "-1");
  heading.focus({ preventScroll: true });
}

/** Remembers which control in `place` has the focus. Returns a function that focuses its replacement. */
export function heldFocus(place) {
  const held = document.activeElement;
  if (!place.contains(held)) return () => {};
  const nameOf = (each) => [each.id, each.getAttribute("aria-label"), each.getAttribute("href"), each.textContent].join("|");
  const alike = () => [...place.querySelectorAll(held.tagName)].filter((each) => nameOf(each) === name);
  const name = nameOf(held);
  const at = alike().indexOf(held);
  return () => {
    if (held.isConnected) return;
    const next = alike();
    const control = next[Math.min(at, next.length - 1)];
    if (control) control.focus({ preventScroll: true });
    else focusHeading();
  };
}

/** Closes all dialogs, because they belong to a view that is no longer shown. */
export function closeDialogs() {
  for (const dialog of document.querySelectorAll("dialog")) dialog.close();
}

/**
 * Asks for confirmation of a change. `preview()` returns the effects to show, from a dry run. `act(values)`
 * performs the change. The preview's `mustAgree` is a sentence with a box that must be checked. Its `counts`
 * are counted again when the change is confirmed. If a count has grown, the question is asked again.
 */
export function ask({ title, verb, preview, act, fields = [], isDangerous = false }) {
  const result = h("div", { class: "ask-result", role: "status" }, h("p", { class: "muted" }, "Counting …"));
  const consent = h("div", {});
  const button = h("button", { type: "button", class: isDangerous ? "danger" : "primary", disabled: true }, verb);
  const window = openDialog({ title, content: [result, fields, consent], buttons: [button], kind: "ask" });
  let isAgreed = true;
  let asked;
  const enable = (isReady) => (button.disabled = !isReady || !isAgreed);

  function question({ content, mustAgree, counts }, note) {
    asked = counts;
    isAgreed = !mustAgree;
    put(result, note && h("p", { class: "ask-warning" }, note), content);
    const box = h("input", { type: "checkbox", id: "consent", on: { change: () => enable((isAgreed = box.checked) || true) } });
    put(consent, mustAgree && h("label", { class: "consent", for: "consent" }, box, ` ${mustAgree}`));
    enable(true);
  }

  async function load() {
    try {
      question(await preview());
    } catch (error) {
      const again = h("button", { type: "button", on: { click: load } }, "Count again");
      put(result, problem(error), again);
    }
  }

  /** Returns whether a count has grown since the question. If so, asks again. */
  async function hasGrown() {
    if (!asked) return false;
    const now = await preview();
    if (!now.counts.some((count, at) => count > asked[at])) return false;
    question(now, "More responses match than when you were asked. Nothing was changed yet.");
    return true;
  }

  button.addEventListener("click", async () => {
    enable(false);
    try {
      if (await hasGrown()) return;
      const content = await act();
      put(result, content);
      put(consent);
      window.foot.replaceChildren(h("button", { type: "button", class: "primary", on: { click: window.close } }, "Close"));
      window.foot.firstChild.focus();
    } catch (error) {
      put(result, problem(error));
      enable(true);
    }
  });
  load();
  return window;
}

/** Returns an error in words, with the time of the next attempt if it is known. */
export function problem(error) {
  const words = [h("strong", {}, error instanceof Problem ? shown(error.body.title ?? `Status ${error.status}`) : "Failed"), " ", shown(error.message)];
  if (error.retryAfter) words.push(` Try again in ${error.retryAfter} s.`);
  return h("p", { class: "problem", role: "alert" }, h("span", { class: "shape", "aria-hidden": "true" }, "✕"), h("span", {}, words));
}
