// One request: what filled the budget, what became of every candidate, what changed, and the exact bytes.

import { html, useMemo, useState } from "preact";
import { get, link, needsServer, useData } from "quire/api.js";
import {
  BudgetBar,
  Empty,
  Fate,
  Figures,
  Kind,
  Loaded,
  Panel,
  Segmented,
  Table,
  Tag,
  Tokens,
  When,
  money,
  number,
  percent,
  overheadOf,
  plural,
  readable,
  sizesOf,
} from "quire/parts.js";
import { Cause, Price, isBreak } from "quire/cache.js";
import { nameOfRequest } from "quire/why.js";

const AT_ONCE = 100;

export function Request({ address, params, setParams }) {
  const state = useData("request", { address, version: params.version });
  return html`
    <${Loaded} state=${state} rows=${10}>
      ${(data) => html`
        <div class="stack">
          <${Head} data=${data} address=${address} />
          <${Budget} data=${data} />
          ${data.before && html`<${Difference} data=${data} address=${address} />`}
          ${
            data.is_bare
              ? html`
                <${Panel}>
                  <${Empty} title="Only sizes are kept">
                    What this request showed was forgotten, or belongs to a draft that was not merged.
                  </${Empty}>
                </${Panel}>
              `
              : html`<${Details} data=${data} address=${address} params=${params} setParams=${setParams} />`
          }
        </div>
      `}
    </${Loaded}>
  `;
}

function Head({ data, address }) {
  const requestLink = (version, text) =>
    version
      ? html`<a class="button" href=${link(address, "request", { version })}>${text}</a>`
      : html`<span class="button is-off" aria-disabled="true">${text}</span>`;
  return html`
    <div class="row wrap">
      <h2 class="request-title" dir="auto">Request ${nameOfRequest(data)}</h2>
      <span class="muted">
        ${readable(data.model ?? "")}
        ${data.model ? " · " : ""}
        ${data.provider}
      </span>
      <${When} at=${data.at} />
      <span class="muted number">${money(data.cost)}</span>
      ${
        data.fault
          ? html`<${Tag} tone="bad">${data.fault}</${Tag}>`
          : !data.is_bare && html`<${Tag} tone="good" title="SHA-256 ${data.digest}">bytes as sent</${Tag}>`
      }
      <div class="grow" />
      ${requestLink(data.before?.version, "← Before")}
      ${requestLink(data.next, "After →")}
    </div>
  `;
}

function Budget({ data }) {
  const free = data.available - data.tokens;
  const error = data.count_error === null ? "not known" : `± ${(100 * data.count_error).toFixed(1)} %`;
  const errorTokens = number(Math.round(data.count_error * data.tokens));
  const overhead = overheadOf(data);
  const note =
    overhead > 0
      ? "framing, and calibration by reported usage"
      : "the provider reports fewer tokens than are counted here";
  const rows = data.is_bare
    ? []
    : [
        ...sizesOf(data),
        ...(overhead ? [{ section: "overhead", tokens: overhead, note }] : []),
        { section: "in all", tokens: data.tokens, note: `of ${number(data.available)}`, isSum: true },
      ];
  const columns = [
    {
      name: "name",
      head: "Section",
      cell: (row) => html`
        <span class="row">
          ${row.tone !== undefined && html`<i class="swatch section-${row.tone}" />`}
          <span class=${row.isSum ? "strong" : ""} dir="auto">${readable(row.section)}</span>
        </span>
      `,
    },
    { name: "tokens", head: "Tokens", isNumber: true, cell: (row) => number(row.tokens) },
    {
      name: "shown",
      head: "Shown",
      isNumber: true,
      cell: (row) => row.shown !== undefined && number(row.shown),
    },
    {
      name: "left-out",
      head: "Left out",
      isNumber: true,
      cell: (row) => row.left_out !== undefined && number(row.left_out),
    },
    {
      name: "note",
      head: "",
      cell: (row) => row.note && html`<span class="muted">${readable(row.note)}</span>`,
    },
  ];
  return html`
    <${Panel} title="Budget" note="${number(data.tokens)} of ${plural(data.available, "token")}">
      <div class="panel-body stack">
        <${Figures}
          rows=${[
            ["free", plural(free, "token")],
            ["reserve for the answer", data.reserve === null ? "not known" : plural(data.reserve, "token")],
            [
              "error of the count",
              error,
              data.count_error === null
                ? "no usage was reported before this request"
                : `how far off the last counts were at most: ${errorTokens} tokens`,
            ],
            data.usage && ["reported input", plural(data.usage.input ?? 0, "token")],
            data.usage && ["served from the cache", percent(data.reported), cached(data.usage)],
            ["cost", money(data.cost), "input and output, as recorded"],
          ]}
        />
        <div class="budget">
          <${BudgetBar} request=${data} />
        </div>
        ${data.advice.map((text) => html`<p key=${text} class="advice">${readable(text)}</p>`)}
      </div>
      <div class="sections">
        <${Table} label="sections" columns=${columns} rows=${rows} />
      </div>
    </${Panel}>
  `;
}

const cached = ({ cache_read = 0, cache_write = 0 }) =>
  `${number(cache_read)} read, ${plural(cache_write, "token")} written`;

// The difference to the request before, priced.

function Difference({ data, address }) {
  const { before } = data;
  const first = before.first;
  return html`
    <${Panel}
      title="Since request ${number(before.version)}"
      note=${data.predicted === undefined ? "" : `${percent(data.predicted)} begins the same`}
    >
      <div class="panel-body stack">
        ${before.fault && html`<p class="muted">${before.fault}</p>`}
        ${
          data.cause
            ? html`
              <p class="row wrap">
                <${Cause} cause=${data.cause} />
                <span dir="auto">${readable(data.cause.reason)}</span>
                ${
                  isBreak(data) &&
                  html`
                    <span class="muted">→</span>
                    <strong>
                      <${Price} row=${data} />
                    </strong>
                  `
                }
                ${
                  data.cause.edit &&
                  html`
                    <a class="link" href=${link(address, "transcript", { item: data.cause.edit })}>
                      Show the edit
                    </a>
                  `
                }
              </p>
            `
            : !before.fault &&
              html`
                <p class="row wrap">
                  <${Tag} tone="good">shared</${Tag}>The beginning is the same: only the end is new.
                </p>
              `
        }
        ${
          first &&
          html`
            <div class="change">
              <p class="muted">
                First changed byte <strong class="number">${number(first.byte)}</strong> at${" "}
                <code>${readable(first.path)}</code>
                ${first.is_growth && ", where the request before ended"}
              </p>
              ${first.was && html`<pre class="code is-removed" dir="auto">${readable(first.was)}</pre>`}
              <pre class="code is-added" dir="auto">${readable(first.now)}</pre>
            </div>
          `
        }
        <div class="columns-3">
          ${["added", "removed", "changed"].map(
            (name) =>
              before[name]?.count > 0 &&
              html`<${Changes} key=${name} name=${name} changes=${before[name]} address=${address} />`,
          )}
        </div>
        ${
          before.parameters?.length > 0 &&
          html`
            <p class="muted">
              Parameters changed:${" "}
              ${before.parameters.map((name) => html`<code key=${name}>${readable(name)} </code>`)}
            </p>
          `
        }
      </div>
    </${Panel}>
  `;
}

// The beginning of an item, as a link to its place in the transcript if it is there.
function ItemLink({ item, address }) {
  const id = item.item_id ?? item.id;
  const words = html`
    ${item.name && html`<code>${readable(item.name)} </code>`}
    ${readable(item.text ?? "") || (!item.name && html`<code>${readable(id)}</code>`)}
  `;
  return item.is_recorded
    ? html`
      <a class="cut candidate" dir="auto" title=${id} href=${link(address, "transcript", { item: id })}>
        ${words}
      </a>
    `
    : html`<span class="cut candidate" dir="auto" title=${id}>${words}</span>`;
}

function Changes({ name, changes, address }) {
  return html`
    <details class="changes" open=${changes.count <= 6}>
      <summary>${plural(changes.count, "item")} ${name}</summary>
      <ul>
        ${changes.items.map(
          (item) => html`
            <li key=${item.id} class="row">
              <${Kind} item=${item} />
              <${ItemLink} item=${item} address=${address} />
            </li>
          `,
        )}
      </ul>
    </details>
  `;
}

// Candidates, bytes, parameters

function Details({ data, address, params, setParams }) {
  const tab = params.tab ?? "candidates";
  const tabs = [
    ["candidates", `Candidates ${number(data.entries.length)}`],
    ["bytes", "Bytes"],
    ["parameters", "Parameters"],
  ];
  return html`
    <section class="panel" aria-label="Details">
      <header class="panel-head">
        <${Segmented}
          label="details"
          options=${tabs}
          value=${tab}
          onChange=${(name) => setParams({ tab: name })}
        />
      </header>
      ${tab === "bytes" && html`<${Bytes} data=${data} address=${address} />`}
      ${tab === "parameters" && html`<${Parameters} parameters=${data.parameters} />`}
      ${
        tab === "candidates" &&
        html`<${Candidates} data=${data} address=${address} params=${params} setParams=${setParams} />`
      }
    </section>
  `;
}

function Candidates({ data, address, params, setParams }) {
  const [limit, setLimit] = useState(AT_ONCE);
  const [words, setWords] = useState("");
  const fates = useMemo(() => countFates(data.entries), [data.entries]);
  const sections = useMemo(() => [...new Set(data.entries.map((entry) => entry.section))], [data.entries]);
  const wanted = words.toLowerCase();
  const matching = data.entries.filter(
    (entry) =>
      (!params.fate || entry.fate === params.fate) &&
      (!params.section || entry.section === params.section) &&
      (!wanted ||
        `${entry.text ?? ""} ${entry.name ?? ""} ${entry.item_id} ${entry.reason} ${entry.rule}`
          .toLowerCase()
          .includes(wanted)),
  );
  const columns = [
    { name: "fate", head: "Fate", cell: (entry) => html`<${Fate} fate=${entry.fate} />` },
    {
      name: "item",
      head: "Item",
      cell: (entry) => html`
        <div class="row">
          <${Kind} item=${entry} />
          <${ItemLink} item=${entry} address=${address} />
        </div>
      `,
    },
    {
      name: "section",
      head: "Section",
      cell: (entry) => html`<span class="cut" dir="auto">${readable(entry.section)}</span>`,
    },
    {
      name: "tokens",
      head: "Tokens",
      isNumber: true,
      cell: (entry) => html`<${Tokens} count=${entry.tokens} />`,
    },
    {
      name: "reason",
      head: "Rule and reason",
      cell: (entry) => html`
        ${
          entry.edit
            ? html`
              <a class="link" href=${link(address, "transcript", { item: entry.edit })}>
                by this edit
              </a>
            `
            : html`<span>${readable(entry.rule)}</span>`
        }
        <span class="muted" dir="auto">
          ${" "}
          · ${readable(entry.reason)}
          ${entry.source ? ` (from ${readable(entry.source)})` : ""}
        </span>
      `,
    },
  ];
  return html`
    <div class="filters">
      <${Segmented}
        label="fate"
        value=${params.fate ?? ""}
        onChange=${(fate) => setParams({ fate: fate || undefined })}
        options=${[["", "All"], ...[...fates].map(([fate, count]) => [fate, `${fate} ${number(count)}`])]}
      />
      ${
        sections.length > 1 &&
        html`
          <select
            aria-label="section"
            value=${params.section ?? ""}
            onChange=${(event) => setParams({ section: event.target.value || undefined })}
          >
            <option value="">All sections</option>
            ${sections.map((name) => html`<option key=${name} value=${name}>${readable(name)}</option>`)}
          </select>
        `
      }
      <input
        type="search"
        placeholder="Search text, id or reason"
        aria-label="search candidates"
        value=${words}
        onInput=${(event) => setWords(event.target.value)}
      />
      <span class="muted number">
        ${plural(matching.length, "candidate")},${" "}
        ${plural(
          matching.reduce((all, entry) => all + entry.tokens, 0),
          "token",
        )}
      </span>
    </div>
    ${
      matching.length === 0
        ? html`<${Empty} title="Nothing matches">No candidate has this fate, section and text.</${Empty}>`
        : html`
          <div class="candidates">
            <${Table} label="candidates" columns=${columns} rows=${matching.slice(0, limit)} />
          </div>
        `
    }
    ${
      matching.length > limit &&
      html`
        <footer class="panel-foot">
          <button type="button" class="button" onClick=${() => setLimit(limit + 500)}>
            Show ${number(Math.min(matching.length - limit, 500))} more
          </button>
        </footer>
      `
    }
  `;
}

function countFates(entries) {
  const counts = new Map();
  for (const { fate } of entries) counts.set(fate, (counts.get(fate) ?? 0) + 1);
  return counts;
}

function Parameters({ parameters }) {
  if (!parameters)
    return html`
      <${Empty} title="Not known">
        No parameters were recorded with this request: give them to context.sent or session.record.
      </${Empty}>
    `;
  if (Object.keys(parameters).length === 0)
    return html`<${Empty} title="None">Nothing was sent beside the payload.</${Empty}>`;
  return html`<pre class="code">${readable(JSON.stringify(parameters, null, 2))}</pre>`;
}

// The bytes in segments, the first changed byte marked.

function Bytes({ data, address }) {
  const byte = data.before?.first?.byte;
  const [start, setStart] = useState(0); // `null`: at the first changed byte
  const [copied, setCopied] = useState("");
  const state = useData("bytes", { address, version: data.version, byte, start: start ?? undefined });
  const colours = useMemo(
    () => new Map(sizesOf(data).map((row) => [row.section, row.tone])),
    [data.sections],
  );
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(
        (await get("bytes", { address, version: data.version, whole: 1 })).text,
      );
      setCopied("Copied");
    } catch (error) {
      setCopied(error.message);
    }
  };
  return html`
    <${Loaded} state=${state}>
      ${(page) => html`
        <div class="filters">
          <span class="muted number">
            ${plural(page.bytes, "byte")}, ${plural(page.total, "segment")}
          </span>
          ${
            byte !== undefined &&
            html`
              <button type="button" class="button" ...${needsServer} onClick=${() => setStart(null)}>
                Go to the first change
              </button>
            `
          }
          ${
            page.start > 0 &&
            html`
              <button type="button" class="button" onClick=${() => setStart(0)}>
                From the start
              </button>
            `
          }
          <div class="grow" />
          <span class="muted" role="status">${copied}</span>
          <button type="button" class="button" ...${needsServer} onClick=${copy}>Copy all</button>
        </div>
        <ol class="segments">
          ${page.rows.map(
            (row) => html`
              <li key=${row.path} class="segment ${row.changed === null ? "" : "has-change"}">
                <div class="segment-head">
                  <code>${readable(row.path)}</code>
                  <span class="faint number" title="bytes from, bytes">
                    ${number(row.start)} + ${number(row.size)}
                  </span>
                  ${row.items.map(
                    (item) => html`
                      <span key=${item.id} class="row" title=${item.id}>
                        <i class="swatch section-${colours.get(item.section) ?? "none"}" />
                        <span class="cut" dir="auto">${readable(item.section)}</span>
                        <span class="faint number">${plural(item.tokens, "token")}</span>
                      </span>
                    `,
                  )}
                </div>
                <div class="segment-text">
                  ${
                    row.cut[0] > 0 &&
                    html`
                      <p class="segment-cut">
                        ${plural(row.cut[0], "character")} before this: <i>Copy all</i> has them …
                      </p>
                    `
                  }
                  <pre class="code" dir="auto">
                    ${readable(row.text)}
                    ${
                      row.changed !== null &&
                      html`<mark title="first changed byte">${readable(row.changed)}</mark>`
                    }
                  </pre>
                  ${
                    row.cut[1] > 0 &&
                    html`
                      <p class="segment-cut">
                        … and ${plural(row.cut[1], "more character")}: <i>Copy all</i> has them
                      </p>
                    `
                  }
                </div>
              </li>
            `,
          )}
        </ol>
        ${
          page.start + page.rows.length < page.total &&
          html`
            <footer class="panel-foot">
              <button
                type="button"
                class="button"
                ...${needsServer}
                onClick=${() => setStart(page.start + page.rows.length)}
              >
                Next ${number(Math.min(page.total - page.start - page.rows.length, 100))} segments
              </button>
            </footer>
          `
        }
      `}
    </${Loaded}>
  `;
}
