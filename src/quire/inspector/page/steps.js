// Tools and steps: calls that wait for a person, figures of each tool, and every call with its timing.

import { html, useState } from "preact";
import { can, post, useData } from "quire/api.js";
import {
  Button,
  Empty,
  Fault,
  Item,
  Loaded,
  Panel,
  Table,
  Tag,
  Tokens,
  When,
  number,
  pretty,
  readable,
  seconds,
  useKeys,
} from "quire/parts.js";
import { Jobs } from "quire/work.js";

const STATUS = {
  done: ["good", "The result is recorded."],
  failed: ["bad", "The result is an error."],
  running: ["accent", "A process runs it now."],
  uncertain: [
    "warn",
    "It was begun by a process that is gone: it may have been done. Look before it is done again.",
  ],
  waiting: ["accent", "It waits for a person."],
  approved: ["good", "It runs with the agent's next turn."],
  refused: ["plain", "It was refused: the model reads the reason with the agent's next turn."],
  held: ["plain", "Its result is kept until its turn comes."],
  foreign: ["warn", "No agent of this conversation made it: it may have run elsewhere."],
};
const Status = ({ status }) => html`
  <${Tag} tone=${STATUS[status][0]} title=${STATUS[status][1]}>${status}</${Tag}>
`;

export function Steps({ address, params, setParams }) {
  const state = useData("steps", { address, start: params.start });
  const keys = useKeys("button.row-link");
  return html`
    <div class="stack">
    <${Jobs} address=${address} />
    <${Loaded} state=${state}>
      ${(data) =>
        data.length === 0
          ? html`
            <${Empty} title="No tool was called">
              Calls appear here with what they were given, what they returned and how long they took.
            </${Empty}>
          `
          : html`
            <div class="stack">
              ${data.open.map(
                (step) => html`<${Approval} key=${step.call.id} step=${step} address=${address} />`,
              )}
              <${Panel} title="Tools" id="tools">
                <${Table} label="Tools" columns=${COLUMNS} rows=${data.tools} rowKey=${(tool) => tool.name} />
              </${Panel}>
              <${Panel} title="Calls" note="newest first">
                <div class="table-frame" ref=${keys}>
                  <table class="table steps" aria-label="Calls">
                    <thead>
                      <tr>
                        <th>Tool</th>
                        <th>Status</th>
                        <th class="col-given">Given</th>
                        <th class="col-time" colspan="2">Time</th>
                        <th class="number">Tokens</th>
                        <th class="number col-made">Made</th>
                      </tr>
                    </thead>
                    <tbody>
                      ${data.rows.map(
                        (step) => html`
                          <${Call}
                            key=${step.call.id}
                            step=${step}
                            longest=${Math.max(...data.rows.map((row) => row.seconds ?? 0))}
                            address=${address}
                            isOpen=${params.call === step.call.id}
                            onOpen=${(call) => setParams({ call })}
                          />
                        `,
                      )}
                    </tbody>
                  </table>
                </div>
              </${Panel}>
              <${Pages} data=${data} onGo=${(start) => setParams({ start })} />
            </div>
          `}
    </${Loaded}>
    </div>
  `;
}

const Pages = ({ data, onGo }) => {
  const [size, end] = [data.rows.length, data.start + data.rows.length];
  if (!data.start && end >= data.length) return null;
  return html`
    <nav class="row pages" aria-label="Pages">
      <${Button}
        disabled=${!data.start}
        onClick=${() => onGo(Math.max(data.start - size, 0) || undefined)}
      >
        Newer
      </${Button}>
      <span class="muted number">
        ${number(data.start + 1)}–${number(end)} of ${number(data.length)}
      </span>
      <${Button} disabled=${end >= data.length} onClick=${() => onGo(end)}>Older</${Button}>
    </nav>
  `;
};

const COLUMNS = [
  { name: "name", head: "Tool", cell: (tool) => html`<code>${readable(tool.name)}</code>` },
  { name: "calls", head: "Calls", isNumber: true, cell: (tool) => number(tool.calls) },
  {
    name: "failed",
    head: "Failed",
    isNumber: true,
    cell: (tool) => (tool.failed ? html`<span class="is-bad">${number(tool.failed)}</span>` : "0"),
  },
  {
    name: "uncertain",
    head: "Uncertain",
    isNumber: true,
    cell: (tool) => (tool.uncertain ? html`<span class="is-warn">${number(tool.uncertain)}</span>` : "0"),
  },
  { name: "median", head: "Median time", isNumber: true, cell: (tool) => seconds(tool.median) },
  { name: "tokens", head: "Tokens", isNumber: true, cell: (tool) => number(tool.tokens) },
];

function Call({ step, longest, address, isOpen, onOpen }) {
  const { call, result } = step;
  return html`
    <tr class=${step.status === "uncertain" ? "is-warn-row" : ""}>
      <td>
        <button
          type="button"
          class="row-link link"
          aria-expanded=${isOpen}
          onClick=${() => onOpen(isOpen ? undefined : call.id)}
        >
          <code>${readable(call.name)}</code>
        </button>
      </td>
      <td>
        <${Status} status=${step.status} />
      </td>
      <td class="col-given">
        <code class="cut">${readable(call.text.slice(0, 200))}</code>
      </td>
      <td class="col-time">
        <${Duration} value=${step.seconds} longest=${longest} />
      </td>
      <td class="number">${seconds(step.seconds)}</td>
      <td class="number">
        <${Tokens} count=${step.tokens} />
      </td>
      <td class="number col-made">
        <${When} at=${step.call.at} />
      </td>
    </tr>
    ${
      isOpen &&
      html`
        <tr class="step-detail">
          <td colspan="7">
            <${Item} item=${call} address=${address} />
            ${
              result
                ? html`<${Item} item=${result} address=${address} />`
                : html`<p class="item muted">${STATUS[step.status][1]}</p>`
            }
            ${
              step.begun_at &&
              html`
                <p class="item muted">
                  Begun ${seconds(step.begun_at - step.call.at)} after the call was made
                  ${result ? `, done after ${seconds(step.seconds)}` : ""}.
                </p>
              `
            }
          </td>
        </tr>
      `
    }
  `;
}

const Duration = ({ value, longest }) =>
  value !== null &&
  longest > 0 &&
  html`
    <svg
      class="duration"
      viewBox="0 0 100 6"
      preserveAspectRatio="none"
      role="img"
      aria-label=${seconds(value)}
    >
      <rect
        class="tone-accent"
        x="0"
        y="0"
        width=${Math.max((100 * value) / longest, 1)}
        height="6"
        rx="1"
      />
    </svg>
  `;

const TITLES = {
  waiting: "waits for a person",
  foreign: "waits for a person",
  approved: "is approved",
  uncertain: "may have been done",
};

// A call that a person decides, or should look after. The agent acts on it with its next turn, in whichever
// process.
function Approval({ step, address }) {
  const [reason, setReason] = useState("");
  const [error, setError] = useState(null);
  const { call, status } = step;
  const decide = (verdict) => async () => {
    setError(null);
    try {
      await post("decide", { address, id: call.id, verdict });
    } catch (fault) {
      setError(fault);
    }
  };
  const title = can.write ? undefined : can.reason;
  const isDecidable = status !== "uncertain";
  return html`
    <section class="panel approval is-${STATUS[status][0]}" aria-label="${call.name} ${status}">
      <header class="panel-head">
        <h2>
          <code>${readable(call.name)}</code> ${TITLES[status]}
        </h2>
        ${status !== "waiting" && html`<span class="muted">${STATUS[status][1]}</span>`}
        <div class="grow" />
        <${When} at=${step.call.at} />
      </header>
      <div class="panel-body stack">
        <pre class="code approval-given">${readable(pretty(call.text))}</pre>
        ${error && html`<${Fault} error=${error} />`}
        ${
          isDecidable &&
          html`
            <form class="row wrap" onSubmit=${(event) => event.preventDefault()}>
              <input
                class="grow"
                type="text"
                aria-label="Reason"
                placeholder="Reason, if refused"
                value=${reason}
                disabled=${!can.write}
                onInput=${(event) => setReason(event.target.value)}
              />
              <${Button}
                tone="bad"
                disabled=${!can.write}
                title=${title}
                onClick=${decide(reason.trim() || false)}
              >
                Refuse
              </${Button}>
              ${
                status !== "approved" &&
                html`
                  <${Button} tone="primary" disabled=${!can.write} title=${title} onClick=${decide(true)}>
                    Approve
                  </${Button}>
                `
              }
            </form>
          `
        }
        ${isDecidable && !can.write && html`<p class="muted">${can.reason}</p>`}
      </div>
    </section>
  `;
}
