// Starts and ends a session, with a code from `holdfast inspect` or a token typed by hand.
import { change, get, hasToken, send, setToken } from "./api.js";
import { h, put } from "./dom.js";
import { problem } from "./dialog.js";

const scopes = ["read", "purge", "operate"];
const scopeKey = "holdfast.scope";
let scope = read() ?? "operate";

function read() {
  try {
    return sessionStorage.getItem(scopeKey) ?? undefined;
  } catch {
    return undefined;
  }
}

function keep(value) {
  scope = scopes.includes(value) ? value : "operate";
  try {
    sessionStorage.setItem(scopeKey, scope);
  } catch {
    // Without session storage, a reload loses the scope. The gateway enforces it anyway.
  }
}

/** Returns whether the session's scope includes the scope `needed`. */
export function may(needed) {
  return scopes.indexOf(scope) >= scopes.indexOf(needed);
}

/** Returns the code in the address, and removes it immediately so that the browser's history does not keep it. */
export function takeCode() {
  const match = /^#code=([0-9a-f]{32})$/.exec(location.hash);
  if (location.hash.startsWith("#code=")) history.replaceState(null, "", "/");
  return match?.[1];
}

export async function exchange(code) {
  const session = await change("POST", "/v1/sessions", { code }, { isLogin: true });
  setToken(session.token);
  keep(session.scope);
}

/** Tries a token that was typed by hand. */
async function tryToken(token) {
  setToken(token);
  try {
    await get("/v1/overview");
    const session = await get("/v1/sessions").catch(() => undefined);
    keep(session?.scope);
  } catch (error) {
    setToken(undefined);
    throw error;
  }
}

export async function endSession() {
  if (hasToken()) await send("/v1/sessions", { method: "DELETE", isLogin: true }).catch(() => {});
  setToken(undefined);
}

/** Returns the view that is shown without a session. */
export function loginView(error, begin) {
  const message = h("div", {});
  if (error) put(message, problem(error));
  const field = h("input", { id: "token", type: "password", autocomplete: "off", spellcheck: "false", required: true, "aria-describedby": "token-note" });
  const submit = async (event) => {
    event.preventDefault();
    try {
      await tryToken(field.value.trim());
      begin();
    } catch (failure) {
      put(message, problem(failure));
      field.select();
    }
  };
  return h(
    "section",
    { class: "login" },
    h("h1", {}, "Open this page with a session"),
    h("p", {}, "Run this command on the gateway's machine. It prints an address that works once, within one minute."),
    h("pre", {}, "holdfast inspect"),
    message,
    h(
      "form",
      { on: { submit } },
      h("label", { for: "token" }, "Or use a control-plane token"),
      h("div", { class: "row" }, field, h("button", { type: "submit", class: "primary" }, "Open")),
      h("p", { class: "muted", id: "token-note" }, "The token is kept only in this tab."),
    ),
  );
}
