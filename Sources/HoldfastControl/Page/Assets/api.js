// Requests to the control plane. The token is kept in memory, and in the tab's session storage so that it
// survives a reload.

const key = "holdfast.token";
let token = readToken();

function readToken() {
  try {
    return sessionStorage.getItem(key) ?? undefined;
  } catch {
    return undefined;
  }
}

export function hasToken() {
  return token !== undefined;
}

export function setToken(value) {
  token = value;
  try {
    if (value === undefined) sessionStorage.removeItem(key);
    else sessionStorage.setItem(key, value);
  } catch {
    // Without session storage, the token is lost when the tab reloads.
  }
}

/** An error response: a problem (RFC 9457), or only a status. */
export class Problem extends Error {
  constructor(status, body, retryAfter) {
    super(body?.detail ?? body?.title ?? `The gateway responded with status ${status}.`);
    this.status = status;
    this.body = body ?? {};
    this.code = String(this.body.type ?? "").split(":").pop();
    this.retryAfter = retryAfter;
  }
}

/** The gateway did not respond. */
class Unreachable extends Error {
  constructor() {
    super("The gateway does not respond.");
  }
}

let onRejected = () => {};

/** Calls `act` when a token is missing, wrong or expired. */
export function whenRejected(act) {
  onRejected = act;
}

/** Sends a request with the token. Returns a response with status 2xx, or throws. */
export async function send(path, options = {}) {
  const headers = { ...options.headers };
  if (token !== undefined) headers.Authorization = `Bearer ${token}`;
  if (options.json !== undefined) headers["Content-Type"] = "application/json";
  let response;
  try {
    response = await fetch(path, {
      method: options.method ?? "GET",
      headers,
      body: options.json === undefined ? undefined : JSON.stringify(options.json),
      signal: options.signal,
      cache: "no-store",
      credentials: "omit",
      redirect: "error",
      referrerPolicy: "no-referrer",
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Unreachable();
  }
  if (response.ok) return response;
  const body = await response.json().catch(() => undefined);
  const problem = new Problem(response.status, body, response.headers.get("Retry-After"));
  if (problem.status === 401 && !options.isLogin) onRejected(problem);
  throw problem;
}

/** Sends a GET and returns the JSON. Members of `query` without a value are left out. */
export async function get(path, query, signal) {
  return (await send(path + text(query), { signal })).json();
}

/** Sends a request that changes something, and returns the JSON. */
export async function change(method, path, json = {}, options = {}) {
  const body = method === "DELETE" ? undefined : json;
  return (await send(path, { ...options, method, json: body })).json();
}

/** The query string; empty if no member has a value. */
function text(query) {
  const given = Object.entries(query ?? {}).filter(([, value]) => value !== undefined && value !== "");
  if (given.length === 0) return "";
  return `?${given.map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join("&")}`;
}
