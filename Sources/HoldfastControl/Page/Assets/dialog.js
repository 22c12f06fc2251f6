// Dialogs: they hold the focus, end with Escape, and give the focus back.
import { h, put } from "./dom.js";
import { Problem } from "./api.js";
import { shown } from "./safe.js";

/** Opens a dialog with a button that closes it. It gives `{close, body, foot}`. */
export function openDialog({ title, content, buttons = [], kind = "" }) {
  const head = h("h2", { id: "dialog-title", tabindex: "-1" }, title);
  const body = h("div", { class: "dialog-body" }, content);
  const dialog = h("dialog", { class: kind, "aria-labelledby": "dialog-title" });
  const close = () => dialog.close();
  const foot = h("div", { class: "dialog-foot" }, buttons, h("button", { type: "button", on: { click: close } }, buttons.length ? "Cancel" : "Close"));
  put(dialog, head, body, foot);
  // The browser gives the focus back to what had it.
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
  return { dialog, close, body, foot };
}

/**
 * Asks before a change. `preview()` gives what to say of what it would do, from a dry run; `act(values)`
 * performs it; `needsConsent` adds a box that must be ticked.
 */
export function ask({ title, verb, preview, act, fields = [], isDangerous = false }) {
  const result = h("div", { class: "ask-result", role: "status" }, h("p", { class: "muted" }, "Counting …"));
  const consent = h("div", {});
  const button = h("button", { type: "button", class: isDangerous ? "danger" : "primary", disabled: true }, verb);
  const window = openDialog({ title, content: [result, fields, consent], buttons: [button], kind: "ask" });
  let isAgreed = true;
  const enable = (isReady) => (button.disabled = !isReady || !isAgreed);

  async function load() {
    try {
      const { content, mustAgree } = await preview();
      put(result, content);
      if (mustAgree) {
        isAgreed = false;
        const box = h("input", { type: "checkbox", id: "consent", on: { change: () => enable((isAgreed = box.checked) || true) } });
        put(consent, h("label", { class: "consent", for: "consent" }, box, ` ${mustAgree}`));
      }
      enable(true);
    } catch (error) {
      put(result, problem(error));
    }
  }

  button.addEventListener("click", async () => {
    enable(false);
    try {
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

/** An error in words, with what to do if it is known. */
export function problem(error) {
  const words = [h("strong", {}, error instanceof Problem ? shown(error.body.title ?? `Status ${error.status}`) : "It failed"), " ", shown(error.message)];
  if (error.retryAfter) words.push(` Try again in ${error.retryAfter} s.`);
  return h("p", { class: "problem", role: "alert" }, h("span", { class: "shape", "aria-hidden": "true" }, "✕"), h("span", {}, words));
}
