// The service's HTTP interface. The token is kept only in this module: in no storage, no URL, no cookie.

// An answer other than 2xx, or no answer (status 0). `code` is for programs, `message` for people.
export class ApiError extends Error {
  constructor(status, code, message) {
    super(message);
    this.name = "ApiError";
    this.status = status;
    this.code = code;
  }
}

let token = "";

export const api = {
  get: (path, query) => send("GET", path + asked(query)),
  // `signal` of an AbortController cancels a request; the promise then rejects with an AbortError.
  post: (path, body, { signal } = {}) => send("POST", path, body, signal),
  put: (path, body) => send("PUT", path, body),
  patch: (path, body) => send("PATCH", path, body),
  delete: (path, query) => send("DELETE", path + asked(query)),
  // A path with encoded ids: api.path`v1/memories/${id}`.
  path: (parts, ...ids) => parts.reduce((path, part, i) => path + encodeURIComponent(ids[i - 1]) + part),
  hasToken: () => token !== "",
  setToken: (given) => { token = given.trim(); },
};

function asked(query = {}) {
  const given = Object.entries(query).filter(([, value]) => value !== null && value !== undefined);
  return given.length ? `?${new URLSearchParams(given)}` : "";
}

async function send(method, path, body, signal) {
  const headers = {};
  if (token) headers.Authorization = `Bearer ${token}`;
  if (body !== undefined) headers["Content-Type"] = "application/json";
  const options = { method, headers, signal, cache: "no-store", credentials: "omit", redirect: "error" };
  if (body !== undefined) options.body = JSON.stringify(body);
  let answer;
  try {
    answer = await fetch(path, options);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError(0, "unreachable", "The service does not answer. Is `scrubjay serve` still running?");
  }
  if (answer.status === 204) return null;
  let given = null;
  try {
    given = await answer.json();
  } catch (error) {
    if (error.name === "AbortError") throw error;
  }
  if (answer.ok && given !== null) return given;
  const told = given?.error;
  throw new ApiError(answer.status, told?.code ?? "unreadable", told?.message ?? `The service answered ${answer.status}.`);
}
