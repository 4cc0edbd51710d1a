// The compactions as a timeline: each edit beside its sources, what it saved and what it cost; and a preview
// of what a compactor would do now.

import { html, useState } from "preact";
import { can, get, needsServer, post, useData } from "quire/api.js";
import {
  Bar,
  Button,
  Dot,
  Empty,
  Fault,
  Figures,
  Item,
  Loaded,
  Panel,
  Tag,
  Text,
  When,
  money,
  number,
  percent,
  plural,
  readable,
  seconds,
} from "quire/parts.js";

const STATES = {
  "in force": ["good", "in force"],
  undone: ["plain", "undone"],
  folded: ["plain", "folded into a later one"],
  "partly undone": ["plain", "partly undone"],
  discarded: ["warn", "discarded"],
  failed: ["bad", "failed"],
  abandoned: ["warn", "broken off"],
  running: ["accent", "running"],
};
const wordsOf = (kind, count) =>
  ({ hide: "Items hidden", summary: "Summary" })[kind] ??
  `${plural(count, "result")} replaced by ${count === 1 ? "a stub" : "stubs"}`;

// The edits of a compaction in words, from their counts by kind.
const editsInWords = (kinds) =>
  Object.entries(kinds)
    .map(([kind, count]) => wordsOf(kind, count))
    .join(", ");
const fateOf = ({ attempt }) => (attempt ? (attempt.fate ?? "running") : "kept");

function stateOf(row) {
  if (fateOf(row) !== "kept") return fateOf(row);
  const states = new Set(row.edits.map((edit) => edit.state));
  return states.size === 1 ? [...states][0] : "partly undone";
}

export function Compactions({ address, params, setParams }) {
  const state = useData("compactions", { address });
  return html`
    <${Loaded} state=${state} rows=${5}>
      ${(data) => html`
        <div class="stack">
          <${Try} address=${address} policies=${data.policies} figures=${figuresOf(data)} />
          ${
            data.length === 0 &&
            html`
              <${Panel}>
                <${Empty} title="Nothing was compacted">
                  A compactor takes over when the history outgrows its room. Preview shows what one
                  would do now.
                </${Empty}>
              </${Panel}>
            `
          }
          <ol class="past" aria-label="Compactions, newest first">
            ${data.rows.map(
              (row) => html`
                <${Row}
                  key=${row.edits[0]?.id ?? row.attempt.began_at}
                  row=${row}
                  address=${address}
                  open=${params.open ?? newestSummary(data.rows)}
                  onOpen=${(id) => setParams({ open: id })}
                />
              `,
            )}
          </ol>
          ${
            data.length > data.rows.length &&
            html`<p class="muted">These are the newest of ${number(data.length)}.</p>`
          }
        </div>
      `}
    </${Loaded}>
  `;
}

const newestSummary = (rows) =>
  rows.flatMap((row) => row.edits).find((edit) => edit.kind === "summary" && edit.state === "in force")?.id;

function figuresOf({ length, rows }) {
  const missed = rows.filter((row) => !["kept", "running"].includes(fateOf(row))).length;
  const priced = rows.map((row) => row.attempt?.cost).filter((cost) => cost !== undefined && cost !== null);
  const cost = priced.length ? priced.reduce((sum, price) => sum + price, 0) : null;
  return [
    ["Compactions", number(length)],
    ["Not kept", number(missed), "discarded, failed or broken off"],
    ["Price of writing", money(cost)],
  ];
}

function authorOf({ attempt, edits }) {
  if (!attempt) return "by hand, or where it was forked from";
  const words = [edits.length && `by ${attempt.by}`, attempt.model && `with ${attempt.model}`];
  return readable(words.filter(Boolean).join(" "));
}

function Row({ row, address, open, onOpen }) {
  const [error, setError] = useState(null);
  const [tone, label] = STATES[stateOf(row)];
  const { by, reason } = row.attempt ?? {};
  const undoable = row.edits.filter((edit) => edit.state === "in force"),
    redoable = row.edits.filter((edit) => edit.undo);
  const undo = (ids) => async () => {
    setError(null);
    try {
      for (const id of ids) await post("undo", { address, id });
    } catch (fault) {
      setError(fault);
    }
  };
  const title = can.write ? undefined : can.reason;
  return html`
    <li class="past-row is-${tone}">
      <article class="panel" aria-label=${editsInWords(row.kinds) || `${by} ${label}`}>
        <header class="panel-head">
          <${Dot} tone=${tone} label=${label} />
          <h2>${editsInWords(row.kinds) || readable(by)}</h2>
          <${Tag} tone=${tone}>${label}</${Tag}>
          ${
            row.attempt?.is_forced &&
            html`
              <${Tag}
                tone="warn"
                title="An undo had shown some of it again, and nothing else made the history fit."
              >
                forced
              </${Tag}>
            `
          }
          ${
            row.regrets > 0 &&
            html`
              <${Tag}
                tone="warn"
                title="Items that the summary should have kept: they were needed, and are shown again."
              >
                ${row.regrets} regretted
              </${Tag}>
            `
          }
          <span class="muted cut">${authorOf(row)}</span>
          <div class="grow" />
          <${When}
            at=${row.attempt ? (row.attempt.ended_at ?? row.attempt.began_at) : row.edits[0].at}
          />
          ${
            undoable.length > 0 &&
            html`
              <${Button}
                disabled=${!can.write}
                title=${title}
                onClick=${undo(undoable.map((edit) => edit.id))}
              >
                Undo
              </${Button}>
            `
          }
          ${
            redoable.length > 0 &&
            html`
              <${Button}
                disabled=${!can.write}
                title=${title}
                onClick=${undo(redoable.map((edit) => edit.undo))}
              >
                Redo
              </${Button}>
            `
          }
        </header>
        <div class="panel-body stack">
          ${error && html`<${Fault} error=${error} />`}
          ${reason && html`<p class="compaction-reason">${readable(reason)}</p>`}
          <${Savings} attempt=${row.attempt} />
          ${row.edits.map(
            (edit) => html`
              <${Edit}
                key=${edit.id}
                edit=${edit}
                address=${address}
                isOpen=${edit.id === open}
                onOpen=${onOpen}
              />
            `,
          )}
        </div>
      </article>
    </li>
  `;
}

// The tokens of the history before and after a compaction; those that it planned if it was not kept.
function Savings({ attempt }) {
  if (!attempt) return null;
  const { before, after } = attempt;
  const [isKept, saved, usage] = [attempt.fate === "kept", before - after, attempt.usage ?? {}];
  const parts = [
    { label: "left", value: after, tone: isKept ? "accent" : "muted" },
    { label: "saved", value: Math.max(saved, 0), tone: "free" },
  ];
  return html`
    <div class="savings">
      <${Bar} parts=${parts} label="${number(before)} tokens before, ${number(after)} after" />
      <${Figures}
        rows=${[
          [isKept ? "Before" : "Planned before", plural(before, "token")],
          ["after", plural(after, "token")],
          [isKept ? "saved" : "to be saved", `${plural(saved, "token")} (${percent(saved / before)})`],
          usage.input && [
            "Read and written",
            `${number(usage.input)} + ${plural(usage.output ?? 0, "token")}`,
            "tokens of the model that wrote the summary",
          ],
          attempt.model && [
            "Price",
            money(attempt.cost),
            attempt.cost === undefined ? "The price of this model is not known." : undefined,
          ],
          attempt.model && attempt.ended_at && ["Took", seconds(attempt.ended_at - attempt.began_at)],
        ]}
      />
    </div>
  `;
}

// The text of an edit; when it is open, with its sources.
function Edit({ edit, address, isOpen, onOpen }) {
  const words =
    edit.text &&
    html`
      <div class="edit-words">
        <h3>${edit.kind === "summary" ? `Summary, ${number(edit.tokens)} tokens` : "Stub"}</h3>
        <${Text} item=${edit} address=${address} isFolded=${true} />
      </div>
    `;
  const toggle = html`
    <button
      type="button"
      class="link"
      aria-expanded=${isOpen}
      onClick=${() => onOpen(isOpen ? "none" : edit.id)}
    >
      ${isOpen ? "Hide" : "Show"} ${plural(edit.sources, "source")}
    </button>
  `;
  return html`
    <div class="edit ${edit.state === "undone" ? "is-undone" : ""}">
      ${words}
      <div>${toggle}</div>
      ${isOpen && html`<${Sources} edit=${edit} address=${address} />`}
    </div>
  `;
}

function Sources({ edit, address }) {
  const state = useData("sources", { address, id: edit.id });
  const [more, setMore] = useState([]);
  return html`
    <${Loaded} state=${state} rows=${3}>
      ${(data) => {
        const rows = [...data.rows, ...more];
        const load = async () =>
          setMore([...more, ...(await get("sources", { address, id: edit.id, start: rows.length })).rows]);
        return html`
          <div class="sources" role="region" aria-label="Sources">
            ${rows.map((item) => html`<${Item} key=${item.id} item=${item} address=${address} />`)}
            ${
              rows.length < data.length &&
              html`
                <div class="item">
                  <button type="button" class="link" onClick=${load}>
                    Show more: ${number(rows.length)} of ${number(data.length)}
                  </button>
                </div>
              `
            }
          </div>
        `;
      }}
    </${Loaded}>
  `;
}

// The policies to choose from, and a preview of what one of them would do now.
function Try({ address, policies, figures }) {
  const [by, setBy] = useState(policies[0]);
  const [isOpen, setOpen] = useState(false);
  return html`
    <${Panel}
      title="Compactions"
      actions=${html`<div class="row wrap">
          <select
            aria-label="Policy"
            value=${by}
            onChange=${(event) => {
              setBy(event.target.value);
              setOpen(false);
            }}
          >
            ${policies.map((name) => html`<option key=${name} value=${name}>${name}</option>`)}
          </select>
          <${Button} ...${needsServer} onClick=${() => setOpen(true)}>Preview</${Button}>
        </div>`}
    >
      <div class="panel-body stack">
        <${Figures} rows=${figures} />
        ${isOpen && html`<${Preview} address=${address} by=${by} onClose=${() => setOpen(false)} />`}
      </div>
    </${Panel}>
  `;
}

function Preview({ address, by, onClose }) {
  const state = useData("preview", { address, by });
  const [error, setError] = useState(null);
  const compact = async () => {
    setError(null);
    try {
      await post("compact", { address, by });
      onClose();
    } catch (fault) {
      setError(fault);
    }
  };
  const outcome = ({ before, after, kinds }) =>
    `${by} would leave ${number(after)} of ${number(before)} tokens: ${editsInWords(kinds).toLowerCase()}`;
  const price = ({ model, usage: { input, output }, cost }) =>
    ` ${model} would read ${number(input)} tokens and write at most ${number(output)}, for ${money(cost)}.`;
  return html`
    <${Loaded} state=${state} rows=${3}>
      ${({ plan, reason }) => html`
        <section class="preview stack" aria-label="Preview">
          ${error && html`<${Fault} error=${error} />`}
          <div class="row wrap">
            <h3>${plan ? outcome(plan) : "Nothing would change"}</h3>
            <div class="grow" />
            ${
              plan &&
              html`
                <${Button}
                  tone="primary"
                  disabled=${!can.write || plan.request}
                  title=${
                    plan.request
                      ? "A model writes summaries, and the inspector asks none."
                      : can.write
                        ? undefined
                        : can.reason
                  }
                  onClick=${compact}
                >
                  Compact now
                </${Button}>
              `
            }
            <${Button} tone="quiet" onClick=${onClose}>Close</${Button}>
          </div>
          <p class="muted">
            ${readable(reason)}.
            ${plan?.request ? price(plan.request) : ""}${" "}
            Nothing is sent or written by a preview.
          </p>
          ${
            plan &&
            html`
              <${Bar}
                parts=${[
                  { label: "left", value: plan.after, tone: "accent" },
                  { label: "saved", value: plan.before - plan.after, tone: "free" },
                ]}
                label="what would be left"
              />
              <div class="sources" role="region" aria-label="What it would take out">
                ${plan.rows.map((item) => html`<${Item} key=${item.id} item=${item} address=${address} />`)}
                ${
                  plan.count > plan.rows.length &&
                  html`<div class="item muted">and ${number(plan.count - plan.rows.length)} more</div>`
                }
              </div>
            `
          }
        </section>
      `}
    </${Loaded}>
  `;
}
