// Anybody's history: files and folders that are dropped on the page, and what a provider would refuse in
// them.

import { html, useEffect, useRef, useState } from "preact";
import { get, go, loadSources, needsServer, openFile, snapshot, sourceShown, useData } from "quire/api.js";
import {
  Button,
  Copy,
  Empty,
  Loaded,
  Panel,
  Segmented,
  Table,
  Tag,
  number,
  plural,
  readable,
} from "quire/parts.js";

const HISTORY = /\.(json|jsonl|ndjson)$/i;

// The dropped files, each with its path: every file that was dropped itself, and the files in dropped folders
// whose names end like those of histories.
async function filesIn(transfer) {
  const entries = [...transfer.items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
  if (!entries.length) return [...transfer.files].map((file) => [file.name, file]);
  const files = [];
  const visit = async (entry, path, isDropped) => {
    if (entry.isFile && (isDropped || HISTORY.test(entry.name)))
      files.push([path + entry.name, await new Promise((take, fail) => entry.file(take, fail))]);
    if (!entry.isDirectory) return;
    const reader = entry.createReader();
    let batch;
    do {
      batch = await new Promise((take, fail) => reader.readEntries(take, fail));
      for (const inner of batch) await visit(inner, `${path}${entry.name}/`, false);
    } while (batch.length);
  };
  for (const entry of entries) await visit(entry, "", true);
  return files;
}

// Open files as one source, and go to it: to the conversation, if there is only one.
async function open(files, setProgress) {
  if (!files.length) throw new Error("There is no history here: no file ends with .json, .jsonl or .ndjson.");
  let source = "",
    refused = null;
  for (const [index, [name, file]] of files.entries()) {
    setProgress(`Reading ${number(index + 1)} of ${plural(files.length, "file")}`);
    try {
      source = await openFile(file, name, source);
    } catch (error) {
      refused = error;
    }
  }
  if (!source) throw refused;
  await loadSources();
  const { rows } = await get("conversations", {}, source);
  if (rows.length === 1) go(rows[0].address, "faults", {}, source);
  else go("", "", {}, source);
}

export function Drop() {
  const [isOver, setOver] = useState(false);
  const [progress, setProgress] = useState("");
  const [error, setError] = useState(null);
  const take = async (files) => {
    setError(null);
    setProgress("Reading");
    try {
      await open(await files, setProgress);
    } catch (fault) {
      setError(fault);
    } finally {
      setProgress("");
    }
  };
  useEffect(() => {
    if (snapshot) return undefined;
    let depth = 0;
    const hasFiles = (event) => [...(event.dataTransfer?.types ?? [])].includes("Files");
    const move = (step) => (event) => {
      if (hasFiles(event)) {
        event.preventDefault();
        depth = Math.max(depth + step, 0);
        setOver(depth > 0);
      }
    };
    const drop = (event) => {
      if (hasFiles(event)) {
        event.preventDefault();
        depth = 0;
        setOver(false);
        take(filesIn(event.dataTransfer));
      }
    };
    const chosen = (event) => take(event.detail);
    const listeners = {
      dragenter: move(1),
      dragover: move(0),
      dragleave: move(-1),
      drop,
      "quire-files": chosen,
    };
    for (const [name, listener] of Object.entries(listeners)) addEventListener(name, listener);
    return () => {
      for (const [name, listener] of Object.entries(listeners)) removeEventListener(name, listener);
    };
  }, []);
  if (isOver)
    return html`
      <div class="veil drop">
        <p class="drop-target">
          Drop a history, a log or a folder of logs
          <span class="muted">It is read on this machine and opens read-only.</span>
        </p>
      </div>
    `;
  if (progress) return html`<div class="toast" role="status">${progress}…</div>`;
  return (
    error &&
    html`
      <div class="toast is-bad" role="alert">
        <span>${readable(error.message)}</span>
        <button
          type="button"
          class="button is-quiet"
          aria-label="Dismiss"
          onClick=${() => setError(null)}
        >
          ✕
        </button>
      </div>
    `
  );
}

export function OpenFiles() {
  const input = useRef(null);
  if (snapshot) return null;
  const choose = (event) => {
    dispatchEvent(
      new CustomEvent("quire-files", { detail: [...event.target.files].map((file) => [file.name, file]) }),
    );
    event.target.value = "";
  };
  return html`
    <button
      type="button"
      class="button"
      title="A history or a log of another program; or drop it anywhere on the page"
      onClick=${() => input.current.click()}
    >
      Open files…
    </button>
    <input type="file" multiple hidden ref=${input} aria-label="files" onChange=${choose} />
  `;
}

// What was read from files, and what could not be.
export function Notes() {
  const notes = sourceShown()?.notes ?? [];
  return (
    notes.length > 0 &&
    html`
      <details class="panel notes" open=${notes.length < 4}>
        <summary>${plural(notes.length, "note")} on what was read</summary>
        <ul class="what-if-list">
          ${notes.map((note, index) => html`<li key=${index}>${readable(note)}</li>`)}
        </ul>
      </details>
    `
  );
}

export function Faults({ address, params, setParams }) {
  const state = useData("faults", { address, provider: params.provider, model: params.model });
  const loadRepaired = async () => {
    const { provider, model } = params;
    return JSON.stringify((await get("faults", { address, provider, model, whole: 1 })).payload, null, 2);
  };
  return html`
    <${Loaded} state=${state}>
      ${(data) => html`
        <div class="stack">
          <${Panel}
            title="Faults"
            note=${data.count ? `${plural(data.count, "thing")} that ${data.provider} would refuse` : ""}
            actions=${html`<${Segmented}
                ...${needsServer}
                label="check as"
                options=${data.providers.map((name) => [name, name])}
                value=${data.provider}
                onChange=${(provider) => setParams({ provider })}
              />`}
          >
            ${
              !data.count
                ? html`
                  <${Empty} title="No fault">
                    ${
                      data.provider === "items"
                        ? "These are items of Quire. Choose the provider that they are for."
                        : `The rules of ${data.provider} find nothing to refuse.`
                    }
                  </${Empty}>
                `
                : html`
                  <${Table}
                    label="faults"
                    rows=${data.faults}
                    columns=${[
                      {
                        name: "place",
                        head: "Place",
                        cell: (row) => html`
                          <code class="fault-place">
                            ${row.place === "$" ? "the history" : readable(row.place)}
                          </code>
                        `,
                      },
                      { name: "text", head: "Fault", cell: (row) => readable(row.text) },
                      {
                        name: "rule",
                        head: "Rule",
                        cell: (row) => html`<${Tag} tone="bad">${row.rule}</${Tag}>`,
                      },
                    ]}
                  />
                `
            }
          </${Panel}>
          ${
            data.unrepaired &&
            html`
              <${Panel} title="Repair">
                <${Empty} title="It cannot be repaired as it is">${readable(data.unrepaired)}</${Empty}>
              </${Panel}>
            `
          }
          ${data.changes && html`<${Repair} data=${data} loadRepaired=${loadRepaired} />`}
        </div>
      `}
    </${Loaded}>
  `;
}

function Repair({ data, loadRepaired }) {
  const [text, setText] = useState("");
  const action = text
    ? html`<${Copy} text=${text} label="Copy" />`
    : html`
      <${Button} ...${needsServer} onClick=${async () => setText(await loadRepaired())}>
        Show the repaired history
      </${Button}>
    `;
  const isAt = (fault, change) => {
    const index = Number(/^\w+\[(\d+)\]/.exec(fault.place)?.[1] ?? -1);
    if (change.at === null) return fault.place.startsWith(change.place);
    return change.before.length
      ? index >= change.at && index < change.at + change.before.length
      : index === change.at - 1; // what follows a message
  };
  const remaining = data.left.length ? `${plural(data.left.length, "fault")} left` : "no fault left";
  return html`
    <${Panel}
      title="Repair"
      note="${plural(data.changed, "change")}, ${remaining}"
      actions=${action}
    >
      ${
        text
          ? html`<pre class="code">${readable(text)}</pre>`
          : html`
            <ol class="plain" aria-label="repair">
              ${data.changes.map(
                (change) => html`
                  <li key=${change.place}>
                    <div class="row wrap repair-head">
                      <code class="fault-place">${readable(change.place)}</code>
                      ${[
                        ...new Set(
                          data.faults.filter((fault) => isAt(fault, change)).map((fault) => fault.rule),
                        ),
                      ].map((rule) => html`<${Tag} key=${rule} tone="bad">${rule}</${Tag}>`)}
                    </div>
                    <div class="repair">
                      <${Side}
                        texts=${change.before}
                        others=${change.after}
                        label="before"
                        none="nothing was here"
                      />
                      <${Side}
                        texts=${change.after}
                        others=${change.before}
                        label="after"
                        none="it is left out"
                      />
                    </div>
                  </li>
                `,
              )}
            </ol>
          `
      }
      ${
        data.changed > data.changes.length &&
        html`<p class="panel-body muted">and ${number(data.changed - data.changes.length)} more</p>`
      }
    </${Panel}>
  `;
}

// The messages of one side; the lines that the other side does not have are marked.
function Side({ texts, others, label, none }) {
  const known = new Set(others.flatMap((text) => text.split("\n")));
  const lines = (text) =>
    text.split("\n").map(
      (line, index) => html`
        <span key=${index} class=${known.has(line) ? "" : "is-new"}>${readable(line)}</span>
      `,
    );
  return html`
    <div class="repair-side is-${texts.length ? label : "empty"}" aria-label=${label} role="group">
      ${
        texts.length
          ? texts.map((text, index) => html`<pre key=${index} class="code">${lines(text)}</pre>`)
          : html`<p class="muted">${none}</p>`
      }
    </div>
  `;
}
