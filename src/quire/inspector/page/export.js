// One file: a conversation as this page shows it, to be opened without a server.
// Every view is rendered once where nobody sees it, and what it asks for goes into the file.

import { html, render, useState } from "preact";
import { get, recordAnswers, sourceShown, unpaged, waitForAnswers } from "quire/api.js";
import { Button, Dialog, Fault } from "quire/parts.js";
import { VIEWS } from "quire/views.js";

const MOST_ROWS = 10000,
  MOST_REQUESTS = 100,
  AT_ONCE = 10;

// Fields whose texts are no content. A file without content has the sizes of all other texts.
const PLAIN = new Set(
  (
    "advice agent by call_id compactor compactors edit edits fate fault faults id item_id kind model " +
    "models name note of part path place policies prices_of provider providers role rule section sort " +
    "spans state status stop target transcript transcripts type undo"
  ).split(" "),
);
const OWN = new Set(["attempt", "cause", "faults"]); // their sentences are those of Quire, and quote nothing
const SEALED = new Set(["media", "parameters"]); // every text in them is content
// Rules whose reasons quote nothing. A section that chooses its items writes reasons of its own.
const FIXED = /^(in full|oldest left out|not chosen|shown elsewhere|edit .*)$/;

export function Export({ address, view, params, head, onClose }) {
  const [isBare, setBare] = useState(false);
  const [error, setError] = useState(null);
  const [isBusy, setBusy] = useState(false);
  const save = async () => {
    setBusy(true);
    setError(null);
    const top = scrollY;
    try {
      const answers = await answersFor(address, view, params, head);
      if (isBare) download(await fileOf(...withoutContent(answers, address, head)), "conversation");
      else
        download(
          await fileOf([...answers, ...(await restsOf(answers, address))], address, sourceShown()),
          decodeURIComponent(address),
        );
      onClose();
    } catch (fault) {
      setError(fault);
    } finally {
      setBusy(false);
      scrollTo(0, top);
    }
  };
  return html`
    <${Dialog} label="Export" onClose=${onClose}>
      <h2>Export as one file</h2>
      <p class="muted">
        An HTML file with all views of this conversation. It opens without a server and asks for
        nothing.
      </p>
      <label class="check">
        <input
          type="checkbox"
          checked=${isBare}
          onChange=${(event) => setBare(event.target.checked)}
        />
        Without content: sizes in place of texts, arguments and payloads, numbers in place of the
        names of conversations
      </label>
      ${error && html`<${Fault} error=${error} />`}
      <div class="row">
        <${Button} tone="primary" onClick=${save}>${isBusy ? "Exporting…" : "Save file"}</${Button}>
        <${Button} onClick=${onClose}>Cancel</${Button}>
      </div>
    </${Dialog}>
  `;
}

async function answersFor(address, view, params, head) {
  const recorded = await recordAnswers(async (answersByNow) => {
    await get("conversation", { address });
    await visit(address, head, [
      [view, params],
      ["transcript", { flat: 1 }],
      ...VIEWS.filter((each) => each.tab).map((each) => [each.name, {}]),
    ]);
    const rows = (name) =>
      answersByNow()
        .filter(([asked]) => asked === name)
        .flatMap(([, , data]) => data.rows ?? []);
    await visit(address, head, [
      ...rows("requests")
        .slice(-MOST_REQUESTS)
        .flatMap(({ version }) => [
          ["request", { version }],
          ["request", { version, tab: "bytes" }],
        ]),
      ...rows("compactions")
        .flatMap((row) => row.edits)
        .map((edit) => ["compactions", { open: edit.id }]),
    ]);
  });
  const answers = new Map();
  for (const [name, sent, data] of recorded) {
    const [key, query] = unpaged(name, sent);
    if (!answers.has(key)) answers.set(key, [name, query, await allRows(name, query, data)]);
  }
  return [...answers.values()];
}

// Renders views, each with its parameters, where nobody sees them.
async function visit(address, head, places) {
  const unseen = document.createElement("div");
  const setParams = () => {};
  for (let start = 0; start < places.length; start += AT_ONCE) {
    const views = places
      .slice(start, start + AT_ONCE)
      .map(([name, params]) => [VIEWS.find((each) => each.name === name), params]);
    render(
      html`${views
        .filter(([shown]) => shown && (!shown.isFor || shown.isFor(sourceShown())))
        .map(
          ([shown, params]) => html`
            <${shown.view} address=${address} params=${params} setParams=${setParams} head=${head} />
          `,
        )}`,
      unseen,
    );
    await waitForAnswers();
    render(null, unseen);
  }
}

// An answer that is one page of many, with the rows of all.
async function allRows(name, params, data) {
  if (!data?.rows || !(data.length > data.rows.length)) return data;
  if (data.length > MOST_ROWS)
    throw new Error(`A file has at most ${MOST_ROWS} rows of a view; ${name} has ${data.length}.`);
  const rows = [];
  for (let page = []; rows.length < data.length; rows.push(...page)) {
    page = (await get(name, { ...params, start: rows.length, limit: 200 })).rows;
    if (!page.length) break;
  }
  return { ...data, rows };
}

// The rest of each text that an answer has only in part.
async function restsOf(answers, address) {
  const nextById = new Map(),
    rests = [];
  JSON.stringify(answers, (_, value) => {
    if (value?.id && value.next && value.text) nextById.set(value.id, value.next);
    return value;
  });
  for (const [id, first] of nextById) {
    for (let next = first; next;) {
      const params = { address, id, start: next };
      const data = await get("item", params);
      rests.push(["item", params, data]);
      next = data.next;
    }
  }
  return rests;
}

// The arguments of `fileOf` for a file without content.
function withoutContent(answers, address, head) {
  const names = numbered(head),
    renamed = (place) => `export/${encodeURIComponent(names.get(nameIn(place)) ?? "another conversation")}`;
  const paramsOf = ({ other, ...params }) => ({
    ...params,
    address: renamed(params.address),
    ...(other ? { other: renamed(other) } : {}),
  });
  const dataOf = (name, data) =>
    name !== "conversation"
      ? bare(data)
      : {
          ...bare(data),
          address: renamed(data.address),
          branches: data.branches.map((branch) => ({
            ...branch,
            place: renamed(branch.place),
            parent: names.get(branch.parent) ?? null,
          })),
        };
  return [
    answers.map(([name, params, data]) => [name, paramsOf(params), dataOf(name, data)]),
    renamed(address),
    { ...sourceShown(), label: "", scope: null, notes: [] },
  ];
}

// A value with lengths in place of the texts that are content; `isPlain` says that a text is none.
function bare(value, field = "", isPlain = PLAIN.has(field)) {
  if (typeof value === "string") return isPlain || value === "" ? value : `[${value.length} characters]`;
  if (Array.isArray(value)) return value.map((element) => bare(element, field, isPlain));
  if (value === null || typeof value !== "object") return value;
  const isPlainField = (name) =>
    name === "reason" ? isFixed(value, field) : OWN.has(field) || PLAIN.has(name);
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name]) => name !== "next")
      .map(([name, inner]) => [
        name,
        SEALED.has(field) ? bare(inner, field) : bare(inner, name, isPlainField(name)),
      ]),
  );
}

// Whether a reason is a sentence of Quire: not the words of a model that failed, or of a section that
// chooses.
const isFixed = ({ fate, rule }, field) =>
  OWN.has(field) ? fate !== "failed" : Boolean(fate && FIXED.test(rule));

const nameIn = (address) => decodeURIComponent(address.split("/")[1]);

// Names for the conversations of a family: numbers, and a branch begins with the name of its parent.
function numbered(head) {
  const names = new Map();
  head.branches.forEach((branch, index) => {
    const parent = names.get(branch.parent);
    names.set(nameIn(branch.place), parent ? `${parent}/branch ${index}` : `conversation ${index + 1}`);
  });
  return names;
}

async function fileOf(answers, address, source) {
  const snapshot = { at: Date.now() / 1000, address, source: source.name, sources: [source], answers };
  const text = (path) => fetch(path).then((response) => response.text());
  const { imports } = JSON.parse(document.querySelector("script[type=importmap]").textContent);
  for (const name of Object.keys(imports))
    imports[name] = `data:text/javascript;charset=utf-8,${encodeURIComponent(await text(imports[name]))}`;
  const nonce = Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) =>
    byte.toString(16).padStart(2, "0"),
  ).join("");
  const policy =
    `default-src 'none'; script-src 'nonce-${nonce}' 'strict-dynamic'; style-src 'nonce-${nonce}'; ` +
    "img-src data:; base-uri 'none'; form-action 'none'";
  const json = (value) => JSON.stringify(value).replaceAll("<", "\\u003c");
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="content-security-policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Quire inspector</title>
<style nonce="${nonce}">${await text(document.querySelector("link[rel=stylesheet]").href)}</style>
<script type="importmap" nonce="${nonce}">${json({ imports })}</script>
<script type="application/json" id="snapshot">${json(snapshot)}</script>
</head>
<body><div id="page"></div><script type="module" nonce="${nonce}">import("quire/app.js");</script></body>
</html>
`;
}

function download(text, name) {
  const url = URL.createObjectURL(new Blob([text], { type: "text/html" }));
  Object.assign(document.createElement("a"), {
    href: url,
    download: `${name.replace(/[^\p{L}\p{N}]+/gu, "-").slice(0, 80)}.html`,
  }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}
