// The same history under another budget, compactor, provider or model, beside the request that was sent.

import { html, useEffect, useState } from "preact";
import { link, needsServer, useData } from "quire/api.js";
import {
  BudgetBar,
  Button,
  Empty,
  Fate,
  Fault,
  Field,
  Loaded,
  Panel,
  Skeleton,
  Table,
  Tag,
  money,
  number,
  overheadOf,
  percent,
  plural,
  readable,
  sizesOf,
} from "quire/parts.js";

const VARIED = ["window", "reserve", "compactor", "provider", "model"];
const LEAST = 100; // tokens at the left end of the slider, which is logarithmic
const STEPS = 400;

export function WhatIf({ address, params, setParams }) {
  const asked = Object.fromEntries(["request", ...VARIED].map((name) => [name, params[name] ?? ""]));
  const state = useData("what-if", { address, ...asked });
  const [latest, setLatest] = useState(null); // stays while other values cannot be tried
  useEffect(() => {
    if (state.data) setLatest(state.data);
  }, [state.data]);
  const isVaried = VARIED.some((name) => asked[name]);
  const reset = () => setParams(Object.fromEntries(VARIED.map((name) => [name, ""])));
  if (!latest) return html`<${Loaded} state=${state} rows=${8}>${() => html`<${Skeleton} />`}</${Loaded}>`;
  return html`
    <div class="stack">
      <${Panel}
        title="What if"
        note="Nothing is sent or written."
        actions=${html`<${Button} disabled=${!isVaried} onClick=${reset}>
            Reset
          </${Button}>`}
      >
        <${Controls} latest=${latest} asked=${asked} setParams=${setParams} />
      </${Panel}>
      ${
        state.error
          ? html`<${Fault} error=${state.error} />`
          : html`
            <div class="columns">
              <${FittedRequest}
                title=${latest.version === null ? "As it is" : "As it was sent"}
                fit=${latest.present}
                note=${
                  latest.version === null
                    ? "the whole history"
                    : html`
                      <a class="link" href=${link(address, "request", { version: latest.version })}>
                        request ${number(latest.version)}
                      </a>
                    `
                }
              />
              <${FittedRequest}
                title="Tried"
                fit=${latest.tried}
                before=${latest.present}
                note=${isVaried ? "" : "change something above"}
              />
            </div>
            <${FallsOut} latest=${latest} address=${address} isVaried=${isVaried} />
            <div class="columns">
              ${!latest.tried.error && html`<${Findings} fit=${latest.tried} />`}
              <${Bill} params=${{ address, ...asked }} />
            </div>
          `
      }
    </div>
  `;
}

function Controls({ latest, asked, setParams }) {
  const { window, reserve, compactor, provider, model } = latest.tried;
  const [typed, setTyped] = useState(window);
  useEffect(() => setTyped(window), [window]);
  const largest = Math.max(latest.largest, window);
  const stepOf = (tokens) =>
    Math.round((STEPS * Math.log(Math.max(tokens, LEAST) / LEAST)) / Math.log(largest / LEAST));
  const tokensAt = (step) =>
    Number(step) === STEPS ? largest : Number((LEAST * (largest / LEAST) ** (step / STEPS)).toPrecision(2));
  const set = (name, value, usual) => setParams({ [name]: String(value) === String(usual) ? "" : value });
  const choose = (name, value, options) => html`
    <label>
      ${name[0].toUpperCase() + name.slice(1)}
      <select
        value=${value}
        onChange=${(event) => set(name, event.target.value, latest.present[name])}
      >
        ${options.map((option) => html`<option key=${option} value=${option}>${option}</option>`)}
      </select>
    </label>
  `;
  return html`
    <fieldset class="panel-body what-if-controls" ...${needsServer}>
      <label class="what-if-budget">
        Budget, up to the ${number(latest.largest)} tokens of ${readable(model)}
        <span class="row">
          <input
            type="range"
            aria-label="budget"
            min="0"
            max=${STEPS}
            value=${stepOf(typed)}
            onInput=${(event) => setTyped(tokensAt(event.target.value))}
            onChange=${(event) => set("window", tokensAt(event.target.value), latest.present.window)}
          />
          <input
            type="number"
            aria-label="tokens of the budget"
            min="1"
            value=${typed}
            onInput=${(event) => setTyped(event.target.value)}
            onChange=${(event) => set("window", event.target.value, latest.present.window)}
          />
        </span>
      </label>
      <label>
        Reserve for the answer
        <${Field}
          type="number"
          aria-label="reserve"
          min="0"
          value=${reserve}
          onTake=${(value) => set("reserve", value, latest.present.reserve)}
        />
      </label>
      ${choose("compactor", compactor, latest.compactors)}
      ${choose("provider", provider, latest.providers)}
      <label>
        Model
        <${Field}
          type="text"
          aria-label="model"
          list="models"
          value=${asked.model || model}
          onTake=${(value) => set("model", value.trim(), latest.present.model)}
        />
      </label>
      <datalist id="models">
        ${latest.models.map((name) => html`<option key=${name} value=${name} />`)}
      </datalist>
    </fieldset>
  `;
}

function FittedRequest({ title, fit, before, note }) {
  if (fit.error)
    return html`
      <${Panel} title=${title}>
        <div class="panel-body stack">
          <div class="row">
            <${Tag} tone="bad">does not fit</${Tag}>
          </div>
          <p>${readable(fit.error)}</p>
        </div>
      </${Panel}>
    `;
  const overhead = overheadOf(fit);
  const sizes = [...sizesOf(fit), ...(overhead ? [{ section: "overhead", tokens: overhead }] : [])];
  const sizesBefore =
    before && !before.error
      ? Object.fromEntries(sizesOf(before).map((row) => [row.section, row.tokens]))
      : {};
  const change = before && !before.error && fit.tokens !== before.tokens ? fit.tokens - before.tokens : 0;
  return html`
    <${Panel} title=${title} note=${note}>
      <div class="panel-body stack">
        <div class="row wrap">
          <strong class="what-if-size">${number(fit.tokens)}</strong>
          <span class="muted">of ${plural(fit.available, "token")} for ${readable(fit.model)}</span>
          ${
            change !== 0 &&
            html`
              <${Tag} tone=${change > 0 ? "warn" : "good"}>
                ${change > 0 ? "+" : "−"}
                ${number(Math.abs(change))}
              </${Tag}>
            `
          }
        </div>
        <${BudgetBar} request=${fit} />
      </div>
      <${Table}
        label="sections, ${title.toLowerCase()}"
        rows=${sizes}
        rowKey=${(row) => row.section}
        columns=${[
          {
            name: "section",
            head: "Section",
            cell: (row) => html`
              <span class="row">
                ${row.tone !== undefined && html`<span class="swatch section-${row.tone}" />`}
                ${readable(row.section)}
              </span>
            `,
          },
          {
            name: "tokens",
            head: "Tokens",
            isNumber: true,
            cell: (row) => html`
              <span
                class=${row.section in sizesBefore && sizesBefore[row.section] !== row.tokens ? "strong" : ""}
              >
                ${number(row.tokens)}
              </span>
            `,
          },
          { name: "shown", head: "Shown", isNumber: true, cell: (row) => number(row.shown) },
          { name: "left", head: "Left out", isNumber: true, cell: (row) => number(row.left_out) },
        ]}
      />
      ${
        fit.not_shown.length > 0 &&
        html`
          <ul class="plain what-if-groups" aria-label="not shown, ${title.toLowerCase()}">
            ${fit.not_shown.map(
              (group) => html`
                <li key=${group.fate + group.reason}>
                  <span class="row">
                    <${Fate} fate=${group.fate} />
                    <span class="muted">
                      ${plural(group.items, "item")} of ${readable(group.section)}
                    </span>
                  </span>
                  <span class="muted">${readable(group.reason)}</span>
                </li>
              `,
            )}
          </ul>
        `
      }
    </${Panel}>
  `;
}

function FallsOut({ latest, address, isVaried }) {
  const { gone, back } = latest;
  if (!isVaried || latest.tried.error) return null;
  const note = [
    gone.items ? `${plural(gone.items, "item")}, ${plural(gone.tokens, "token")}` : "nothing",
    back ? `${plural(back, "item")} shown that ${back === 1 ? "was" : "were"} not` : "",
  ]
    .filter(Boolean)
    .join("; ");
  return html`
    <${Panel} title="What falls out" note=${note}>
      ${
        gone.items > 0 &&
        html`
          <div class="falls-out"><${Table}
            label="what falls out"
            rows=${gone.rows}
            rowKey=${(row) => row.item_id}
            columns=${[
              {
                name: "kind",
                head: "Item",
                cell: (row) => html`
                  <a class="link" href=${link(address, "transcript", { item: row.item_id })}>
                    ${row.kind.replace("_", " ")}
                  </a>
                `,
              },
              {
                name: "text",
                head: "Says",
                cell: (row) => html`<span class="what-if-text" dir="auto">${readable(row.text)}</span>`,
              },
              {
                name: "reason",
                head: "Why",
                cell: (row) => html`<span class="muted">${readable(row.reason)}</span>`,
              },
              { name: "tokens", head: "Tokens", isNumber: true, cell: (row) => number(row.tokens) },
            ]}
          /></div>
          ${
            gone.items > gone.rows.length &&
            html`<p class="panel-body muted">and ${number(gone.items - gone.rows.length)} more</p>`
          }
        `
      }
    </${Panel}>
  `;
}

const Findings = ({ fit }) => html`
  <${Panel} title="Validator" note="the rules of ${fit.provider}">
    <div class="panel-body stack">
      <div class="row">
        <${Tag} tone=${fit.faults.length ? "bad" : "good"}>
          ${fit.faults.length ? plural(fit.faults.length, "fault") : "no fault"}
        </${Tag}>
        <span class="muted">
          ${
            fit.downgrades.length
              ? `${plural(fit.downgrades.length, "change")} on the way`
              : "nothing had to be changed"
          }
        </span>
      </div>
      ${
        (fit.faults.length > 0 || fit.downgrades.length > 0) &&
        html`
          <ul class="what-if-list">
            ${[...fit.faults, ...fit.downgrades].map(
              (finding, index) => html`<li key=${index}>${readable(finding)}</li>`,
            )}
          </ul>
        `
      }
    </div>
  </${Panel}>
`;

const FIGURES = [
  ["Cost of input and summaries", (bill) => money(bill.cost)],
  ["Served by the cache", (bill) => percent(bill.cached_share)],
  ["Largest request", (bill) => number(bill.peak)],
  ["Compactions", (bill) => number(bill.compactions)],
  ["Calls that fit", (bill) => number(bill.calls)],
];

function Bill({ params }) {
  const state = useData("bill", params);
  return html`
    <${Panel} title="Simulated bill" note="every call so far, replayed">
      <${Loaded} state=${state} rows=${4}>
        ${({ present, tried }) => html`
          ${
            !present.calls && !present.refused
              ? html`
                <${Empty} title="No call to replay">No message here is followed by an answer.</${Empty}>
              `
              : html`
                <${Table}
                  label="simulated bill"
                  rows=${FIGURES}
                  rowKey=${(row) => row[0]}
                  columns=${[
                    { name: "figure", head: "", cell: (row) => row[0] },
                    { name: "present", head: "Now", isNumber: true, cell: (row) => row[1](present) },
                    {
                      name: "tried",
                      head: "Tried",
                      isNumber: true,
                      cell: (row) =>
                        row === FIGURES[0] && tried.refused
                          ? html`<span class="muted">${row[1](tried)}</span>`
                          : html`<strong>${row[1](tried)}</strong>`,
                    },
                  ]}
                />
              `
          }
          ${
            tried.refused > 0 &&
            html`
              <p class="panel-body what-if-warning">
                ${plural(tried.refused, "call")} would not fit. The bill is without${" "}
                ${tried.refused === 1 ? "it" : "them"}.
              </p>
            `
          }
          ${
            present.items > 10000 &&
            html`
              <p class="panel-body muted">
                Of ${number(present.items)} items the first 10,000 are replayed.
              </p>
            `
          }
        `}
      </${Loaded}>
    </${Panel}>
  `;
}
