// What the page knows of the server: reads, writes, and the events that say that something changed.
// A page that was exported has no server: it finds the answers in its snapshot.

import { useEffect, useRef, useState } from "preact";

const element = document.getElementById("snapshot");
export const snapshot = element ? JSON.parse(element.textContent) : null;
const dataByKey = new Map(snapshot?.answers.map(([name, params, data]) => [unpaged(name, params)[0], data]));

// The sources that the server has, and the name of the one that is shown.
export const selection = { source: "store", sources: [] };
export const sourceShown = () => selection.sources.find((source) => source.name === selection.source);

function filled(params) {
  return Object.entries(params).filter(([, value]) => value !== undefined && value !== null && value !== "");
}

export function keyOf(name, params = {}) {
  const query = new URLSearchParams(filled(params));
  query.sort();
  return `${name}?${query}`;
}

// The key and the parameters of an answer in an export. It has all pages in one, but each stretch of a text.
export function unpaged(name, { start, limit: _limit, ...rest }) {
  const params = ["item", "bytes"].includes(name) ? { ...rest, start } : rest;
  return [keyOf(name, params), params];
}

function exported(name, params) {
  const data = dataByKey.get(unpaged(name, params)[0]);
  if (data === undefined)
    throw new Error("This was not exported: open the conversation with `quire inspect`.");
  if (!data?.rows || params.limit === undefined) return data;
  const start = Math.min(params.start ?? data.start, data.rows.length);
  return { ...data, start, rows: data.rows.slice(start, start + params.limit) };
}

let recording = null,
  openRequests = 0;

// Returns the requests made while `work` runs, with their answers. `work` is given a function that returns
// those made by then.
export async function recordAnswers(work) {
  const answers = (recording = new Map());
  const list = () => [...answers.values()];
  try {
    await work(list);
  } finally {
    recording = null;
  }
  return list();
}

// Waits until all is rendered and answered: no request was open at three looks in a row.
export async function waitForAnswers() {
  for (let quietLooks = 0; quietLooks < 3; quietLooks = openRequests ? 0 : quietLooks + 1)
    await new Promise((done) => setTimeout(done, 40));
}

async function answer(path, options) {
  const response = await fetch(`api/${path}`, options).catch(() => {
    throw new Error("The inspector does not answer. Is it still running?");
  });
  const data = await response
    .json()
    .catch(() => ({ error: `The inspector answered with status ${response.status}.` }));
  if (!response.ok) throw new Error(data.error ?? `status ${response.status}`);
  return data;
}

export async function get(name, params = {}, source = selection.source) {
  if (snapshot) return exported(name, params);
  const key = keyOf(name, params);
  openRequests += 1;
  try {
    const data = await answer(`${source}/${key}`);
    recording?.set(key, [name, params, data]);
    return data;
  } finally {
    openRequests -= 1;
  }
}

export async function post(name, body) {
  const headers = { "content-type": "application/json" };
  const path = `${selection.source}/${name}`;
  const data = await answer(path, { method: "POST", headers, body: JSON.stringify(body) });
  announceChange();
  return data;
}

export async function openFile(file, name, into = "") {
  const opened = await answer(keyOf("files", { name, into }), { method: "POST", body: file });
  return opened?.source ?? into;
}

export async function loadSources() {
  selection.sources = snapshot ? snapshot.sources : await answer("sources");
  return selection.sources;
}

// Whether the source that is shown can be changed, and why not.
export const can = {
  get write() {
    return !snapshot && Boolean(sourceShown()?.is_writable);
  },
  get reason() {
    return snapshot
      ? "This is an export: open the conversation with `quire inspect`."
      : "Read-only: start the inspector with --write.";
  },
};

// The attributes of a control that needs the server: in an export it is off, and says why.
export const needsServer = snapshot ? { disabled: true, title: can.reason } : {};

// Addresses of views within the page

export function link(address, view = "transcript", params = {}, source = selection.source) {
  const pairs = filled(params);
  const query = pairs.length ? `?${new URLSearchParams(pairs)}` : "";
  const parts = address ? [source, address, view] : [source];
  return `#/${parts.map(encodeURIComponent).join("/")}${query}`;
}

export function go(...to) {
  location.hash = link(...to);
}

// Events: every view that shows data asks again when the conversation has changed.

const listeners = new Set();
let changeCount = 0;

export function announceChange() {
  changeCount += 1;
  for (const listener of listeners) listener(changeCount);
}

export function follow(params, onChange) {
  if (snapshot) return () => {};
  const events = new EventSource(`api/${selection.source}/${keyOf("events", params)}`);
  let isFirst = true; // the first event says how things are, not that they changed
  events.addEventListener("message", () => {
    if (!isFirst) {
      announceChange();
      onChange?.();
    }
    isFirst = false;
  });
  return () => events.close();
}

// The data of a view. While it is asked for again, the old data stays; `isLoading` is true until the first.
export function useData(name, params = {}, source = selection.source) {
  const [state, setState] = useState({ data: null, error: null, isLoading: true });
  const [tick, setTick] = useState(changeCount);
  const latest = useRef(0);
  const key = `${source}/${keyOf(name, params)}`;
  useEffect(() => {
    listeners.add(setTick);
    return () => listeners.delete(setTick);
  }, []);
  useEffect(() => {
    const request = ++latest.current;
    const take = (next) => {
      if (request === latest.current) setState(next); // a later request has not overtaken this one
    };
    get(name, params, source).then(
      (data) => take({ data, error: null, isLoading: false }),
      (error) => take({ data: null, error, isLoading: false }),
    );
  }, [key, tick]);
  return state;
}
