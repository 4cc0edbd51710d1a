// The requests of a conversation, and how much of each a cache could serve and did serve.

import { html } from "preact";
import { link, needsServer, useData } from "quire/api.js";
import {
  Empty,
  Figures,
  Loaded,
  Panel,
  Table,
  Tag,
  Tokens,
  When,
  money,
  number,
  percent,
  plural,
  readable,
  useKeys,
} from "quire/parts.js";
import { nameOfRequest } from "quire/why.js";

export const CAUSES = {
  edit: "edit",
  undo: "undo",
  cut: "cut moved",
  tools: "tools changed",
  instructions: "instructions changed",
  section: "section changed",
  volatile: "changes each call",
  model: "other model",
  "time-out": "time-out",
  "not served": "not served",
  short: "too short",
};
const TONES = { "time-out": "warn", "not served": "warn", cut: "warn", short: "plain" };
export const toneOf = (cause) => TONES[cause.name] ?? "bad";
export const isBreak = (row) => Boolean(row.cause && row.cause.name !== "short");

export const Cause = ({ cause }) => html`
  <${Tag} tone=${toneOf(cause)} title=${cause.reason}>${CAUSES[cause.name] ?? cause.name}</${Tag}>
`;

export const Price = ({ row }) => html`
  ${plural(row.again, "token")} written again
  ${
    row.again_cost
      ? html`, <span title="more than from the cache, at list prices">${money(row.again_cost)}</span>`
      : ""
  }
`;

const costTitle = (head) =>
  head && `what these requests cost, of ${money(head.spending.cost)} with the writing of summaries`;
const total = (rows, name) => rows.reduce((all, row) => all + (row[name] ?? 0), 0);

export function Requests({ address, params, setParams, head }) {
  const skip = Number(params.skip ?? 0);
  const state = useData("requests", { address, skip: skip || undefined });
  return html`
    <${Loaded} state=${state}>
      ${(data) =>
        data.rows.length === 0
          ? html`
            <${Empty} title="No requests yet">
              A receipt is kept of every request that is sent through a session. None was sent here.
            </${Empty}>
          `
          : html`
            <div class="stack">
              <${Panel} title="Cache" note="list prices of ${data.prices_of}">
                <div class="panel-body stack">
                  <${Figures}
                    rows=${[
                      ["requests", `${number(data.rows.length)}${data.has_more || skip ? " shown" : ""}`],
                      ["cost", money(total(data.rows, "cost")), costTitle(head)],
                      [
                        "served from caches",
                        percent(data.reported),
                        "share of the input, as providers reported it",
                      ],
                      ["breaks", number(data.rows.filter(isBreak).length)],
                      [
                        "written again",
                        plural(total(data.rows, "again"), "token"),
                        "tokens behind a break that had been sent before",
                      ],
                      [
                        "that cost",
                        money(total(data.rows, "again_cost")),
                        "more than from a cache, at list prices; a part of the cost",
                      ],
                    ]}
                  />
                  <${Strip} rows=${data.rows} address=${address} />
                </div>
              </${Panel}>
              <${List} data=${data} address=${address} skip=${skip} setParams=${setParams} />
            </div>
          `}
    </${Loaded}>
  `;
}

// A column for each request: the share that a cache could serve, before it the share that it served, and a
// mark if the beginning broke.
function Strip({ rows, address }) {
  const width = 1000 / Math.max(rows.length, 12);
  const gap = width * 0.3;
  return html`
    <figure class="strip">
      <div class="strip-scale muted" aria-hidden="true">
        <span>100 %</span>
        <span>50 %</span>
        <span>0 %</span>
      </div>
      <svg
        viewBox="0 0 1000 132"
        preserveAspectRatio="none"
        role="group"
        aria-label="Share of each request that caches served"
      >
        ${[12, 62, 112].map(
          (y) => html`<line key=${y} class="strip-line" x1="0" x2="1000" y1=${y} y2=${y} />`,
        )}
        ${rows.map((row, index) => {
          const x = index * width + gap / 2;
          const bar = (share, name) =>
            share !== null &&
            share !== undefined &&
            html`
              <rect
                class=${name}
                x=${x}
                width=${width - gap}
                y=${112 - 100 * share}
                height=${Math.max(100 * share, 0.6)}
              />
            `;
          return html`
            <a
              key=${row.version}
              href=${link(address, "request", { version: row.version })}
              aria-label=${described(row)}
              class="strip-column"
            >
              <title>${described(row)}</title>
              <rect class="strip-hit" x=${index * width} width=${width} y="0" height="132" />
              ${bar(row.predicted, "strip-can")}
              ${bar(row.reported, "strip-did")}
              ${
                row.predicted !== undefined &&
                html`
                  <line
                    class="strip-top"
                    x1=${x}
                    x2=${x + width - gap}
                    y1=${112 - 100 * row.predicted}
                    y2=${112 - 100 * row.predicted}
                  />
                `
              }
              ${
                isBreak(row) &&
                html`
                  <rect
                    class="strip-break is-${toneOf(row.cause)}"
                    x=${x}
                    width=${width - gap}
                    y="120"
                    height="8"
                    rx="2"
                  />
                `
              }
            </a>
          `;
        })}
      </svg>
      <figcaption class="strip-legend muted">
        <span>
          <i class="swatch strip-can" />
          same beginning (predicted)
        </span>
        <span>
          <i class="swatch strip-did" />
          served from the cache (reported)
        </span>
        <span>
          <i class="swatch strip-break is-bad" />
          broken by a change
        </span>
        <span>
          <i class="swatch strip-break is-warn" />
          cut, time-out, not served
        </span>
      </figcaption>
    </figure>
  `;
}

function described(row) {
  const cause = row.cause ? `; ${CAUSES[row.cause.name]}: ${row.cause.reason}` : "";
  const shares = [percent(row.predicted), percent(row.reported)];
  return `Request ${nameOfRequest(row)}: ${shares[0]} begins the same, ${shares[1]} was cached${cause}`;
}

function List({ data, address, skip, setParams }) {
  const root = useKeys("a.row-link");
  const columns = [
    {
      name: "request",
      head: "Request",
      cell: (row) => html`
        <a class="row-link" href=${link(address, "request", { version: row.version })} dir="auto">
          ${nameOfRequest(row)}
        </a>
      `,
    },
    { name: "when", head: "Sent", cell: (row) => html`<${When} at=${row.at} />` },
    {
      name: "model",
      head: "Model",
      cell: (row) => html`
        <span class="cut" title=${row.provider}>${readable(row.model ?? row.provider)}</span>
      `,
    },
    {
      name: "tokens",
      head: "Tokens",
      isNumber: true,
      cell: (row) => html`
        <${Tokens} count=${row.tokens} />
        <span class="faint of"> / ${number(row.available)}</span>
      `,
    },
    { name: "can", head: "Predicted", isNumber: true, cell: (row) => percent(row.predicted) },
    { name: "did", head: "Reported", isNumber: true, cell: (row) => percent(row.reported) },
    { name: "cost", head: "Cost", isNumber: true, cell: (row) => money(row.cost) },
    {
      name: "break",
      head: "Break",
      cell: (row) =>
        row.cause &&
        html`
          <div class="row wrap">
            <${Cause} cause=${row.cause} />
            ${
              isBreak(row) &&
              html`
                <span class="muted break-price">
                  <${Price} row=${row} />
                </span>
              `
            }
          </div>
        `,
    },
  ];
  return html`
    <${Panel} title="Requests" note="newest first">
      <div class="requests" ref=${root}>
        <${Table}
          label="requests"
          columns=${columns}
          rows=${data.rows.toReversed()}
          rowKey=${(row) => row.version}
        />
      </div>
      ${
        (data.has_more || skip > 0) &&
        html`
          <footer class="panel-foot">
            <button
              type="button"
              class="button"
              disabled=${!skip}
              ...${needsServer}
              onClick=${() => setParams({ skip: Math.max(skip - 100, 0) || undefined })}
            >
              Newer
            </button>
            <button
              type="button"
              class="button"
              disabled=${!data.has_more}
              ...${needsServer}
              onClick=${() => setParams({ skip: skip + 100 })}
            >
              Older
            </button>
          </footer>
        `
      }
    </${Panel}>
  `;
}
