// Components and functions that the views share.

import { html, useEffect, useLayoutEffect, useRef, useState } from "preact";
import { get } from "quire/api.js";

// Numbers, times and money

const numbers = new Intl.NumberFormat("en");
const dates = new Intl.DateTimeFormat("en", { dateStyle: "medium", timeStyle: "medium" });
const days = new Intl.DateTimeFormat("en", { day: "numeric", month: "short" });

export const number = (value) => (value === null || value === undefined ? "–" : numbers.format(value));
export const percent = (share) =>
  share === null || share === undefined ? "–" : `${Math.round(share * 100)} %`;
export const plural = (count, one, many = `${one}s`) => `${number(count)} ${count === 1 ? one : many}`;

export function money(usd) {
  if (usd === null || usd === undefined) return "–";
  if (usd === 0) return "$0";
  return usd < 0.01 ? `$${usd.toPrecision(2)}` : `$${usd.toFixed(usd < 10 ? 3 : 2)}`;
}

export function seconds(value) {
  if (value === null || value === undefined) return "–";
  if (value < 1) return `${Math.round(value * 1000)} ms`;
  if (value < 90) return `${value.toFixed(value < 10 ? 1 : 0)} s`;
  return value < 5400 ? `${Math.round(value / 60)} min` : `${(value / 3600).toFixed(1)} h`;
}

export const dateOf = (time) => dates.format(time * 1000);

export function When({ at }) {
  if (!at) return html`<span class="muted">–</span>`;
  const passed = Date.now() / 1000 - at;
  let text = days.format(at * 1000);
  if (passed < 45) text = "just now";
  else if (passed < 3600) text = `${Math.round(passed / 60)} min ago`;
  else if (passed < 86400) text = `${Math.round(passed / 3600)} h ago`;
  return html`
    <time class="when" datetime=${new Date(at * 1000).toISOString()} title=${dateOf(at)}>
      ${text}
    </time>
  `;
}

// An address as words: the scope and the name of a conversation.
export function nameOfPlace(address) {
  const names = address.split("/").map((part) => readable(decodeURIComponent(part).replace(/\/$/, "")));
  return names.filter(Boolean).join(" / ");
}

export const NONE = html`<span class="faint">–</span>`;

// What was spent; at least that, if some of the models have no known price.
export function Cost({ spent }) {
  const unpriced = spent.unpriced
    ? `${plural(spent.unpriced, "request")} of models without a known price`
    : undefined;
  if (!spent.tokens || (unpriced && !spent.cost)) return html`<span title=${unpriced}>${NONE}</span>`;
  return html`
    <span title=${unpriced}>
      ${unpriced ? "≥ " : ""}
      ${money(spent.cost)}
    </span>
  `;
}

// States of a view

export const Empty = ({ title, children }) => html`
  <div class="state">
    <p class="state-title">${title}</p>
    <p class="muted">${children}</p>
  </div>
`;
export const Fault = ({ error }) => html`
  <div class="state is-bad" role="alert">
    <p class="state-title">This cannot be shown</p>
    <p>${error.message}</p>
  </div>
`;
export const Skeleton = ({ rows = 6 }) => html`
  <div class="skeleton" aria-label="loading" aria-busy="true">
    ${Array.from({ length: rows }, (_, row) => html`<div key=${row} />`)}
  </div>
`;

// The body of a view once its data is there: `children` is a function of the data.
export function Loaded({ state, rows, children }) {
  if (state.error) return html`<${Fault} error=${state.error} />`;
  if (!state.data) return html`<${Skeleton} rows=${rows} />`;
  return children(state.data);
}

// Marks

const KINDS = {
  message: "message",
  tool_call: "call",
  tool_result: "result",
  reasoning: "reasoning",
  handoff: "handoff",
  config_change: "config",
  note: "note",
  summary: "summary",
  mask: "mask",
  hide: "hide",
  pin: "pin",
  distrust: "distrust",
  undo: "undo",
};
const ORIGIN_TONES = { system: "accent", user: "good", model: "plain", tool: "warn", external: "bad" };
export const kindOf = (item) => (item.kind === "message" ? item.role : (KINDS[item.kind] ?? item.kind));
export const Kind = ({ item }) => html`
  <span class="kind kind-${KINDS[item.kind] ?? "other"} role-${item.role ?? "none"}">
    ${kindOf(item)}
  </span>
`;
export const Fate = ({ fate }) => html`<span class="fate fate-${fate.replace(" ", "-")}">${fate}</span>`;
export const Tag = ({ tone = "plain", children, title }) => html`
  <span class="tag is-${tone}" title=${title}>${children}</span>
`;
export const Tokens = ({ count }) => html`
  <span class="number" title=${plural(count ?? 0, "token")}>${number(count)}</span>
`;
export const Dot = ({ tone = "good", label }) => html`
  <span class="dot is-${tone}" role="img" aria-label=${label} title=${label} />
`;

// Controls

export function Button({ children, onClick, tone = "plain", disabled = false, title }) {
  const [isBusy, setBusy] = useState(false);
  const press = async () => {
    const work = onClick();
    if (!work) return;
    setBusy(true);
    try {
      await work;
    } finally {
      setBusy(false);
    }
  };
  return html`
    <button
      type="button"
      class="button is-${tone}"
      disabled=${disabled || isBusy}
      title=${title}
      onClick=${press}
    >
      ${children}
    </button>
  `;
}

export const Segmented = ({ options, value, onChange, label, disabled, title }) => html`
  <div class="segmented" role="group" aria-label=${label} title=${title}>
    ${options.map(
      ([name, text]) => html`
        <button
          key=${name}
          type="button"
          aria-pressed=${name === value}
          disabled=${disabled}
          onClick=${() => onChange(name)}
        >
          ${text}
        </button>
      `,
    )}
  </div>
`;

export function Copy({ text, label = "Copy" }) {
  const [isDone, setDone] = useState(false);
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    setDone(true);
    setTimeout(() => setDone(false), 1500);
  };
  return html`
    <button type="button" class="button is-quiet" onClick=${copy}>
      ${isDone ? "Copied" : label}
    </button>
  `;
}

// An input whose text stays while data arrives. `onTake` is called when the text is complete.
export function Field({ value, onTake, ...attributes }) {
  const [typed, setTyped] = useState(value);
  useEffect(() => setTyped(value), [value]);
  return html`
    <input
      ...${attributes}
      value=${typed}
      onInput=${(event) => setTyped(event.target.value)}
      onChange=${(event) => onTake(event.target.value)}
    />
  `;
}

// A dialog takes the focus and gives it back; what is behind it cannot be reached.
export function Dialog({ label, onClose, children }) {
  const dialog = useRef(null);
  useLayoutEffect(() => {
    const { current } = dialog;
    current.showModal();
    return () => current.close();
  }, []);
  const cancel = (event) => {
    event.preventDefault();
    onClose();
  };
  return html`
    <dialog
      ref=${dialog}
      aria-label=${label}
      aria-modal="true"
      onCancel=${cancel}
      onClick=${(event) => event.target === dialog.current && onClose()}
    >
      <div class="dialog">${children}</div>
    </dialog>
  `;
}

// Panels and tables

export const Panel = ({ title, note, actions, children, id }) => html`
  <section class="panel" id=${id} aria-label=${title}>
    ${
      title &&
      html`
        <header class="panel-head">
          <h2>${title}</h2>
          ${note && html`<span class="muted">${note}</span>`}
          <div class="grow" />
          ${actions}
        </header>
      `
    }
    ${children}
  </section>
`;

// Figures in a row: [label, value, title].
export const Figures = ({ rows }) => html`
  <dl class="figures">
    ${rows.filter(Boolean).map(
      ([label, value, title]) => html`
        <div key=${label} title=${title}>
          <dt>${label}</dt>
          <dd>${value}</dd>
        </div>
      `,
    )}
  </dl>
`;

// Columns are {name, head, isNumber, cell(row)}; a row that can be opened is a button of its first cell.
export const Table = ({ columns, rows, rowKey, rowClass, label }) => html`
  <div class="table-frame">
    <table class="table" aria-label=${label}>
      <thead>
        <tr>
          ${columns.map(
            (column) => html`
              <th key=${column.name} class="col-${column.name} ${column.isNumber ? "number" : ""}">
                ${column.head}
              </th>
            `,
          )}
        </tr>
      </thead>
      <tbody>
        ${rows.map(
          (row, index) => html`
            <tr key=${rowKey ? rowKey(row) : index} class=${rowClass?.(row)}>
              ${columns.map(
                (column) => html`
                  <td key=${column.name} class="col-${column.name} ${column.isNumber ? "number" : ""}">
                    ${column.cell(row)}
                  </td>
                `,
              )}
            </tr>
          `,
        )}
      </tbody>
    </table>
  </div>
`;

// A bar of parts in proportion: parts are {label, value, tone}. A band {start, stop, label} lies over them.
export function Bar({ parts, label, band }) {
  const unit =
    1000 /
    Math.max(
      parts.reduce((all, part) => all + part.value, 0),
      1,
    );
  let x = 0;
  return html`
    <svg class="bar" role="img" aria-label=${label} viewBox="0 0 1000 10" preserveAspectRatio="none">
      ${parts.map((part, index) => {
        const width = unit * part.value;
        const start = x;
        x += width;
        return html`
          <rect
            key=${index}
            class="tone-${part.tone}"
            x=${start}
            y="0"
            width=${Math.max(width - 1, 0.5)}
            height="10"
          >
            <title>${readable(part.label)}: ${number(part.value)}</title>
          </rect>
        `;
      })}
      ${
        band &&
        html`
          <rect
            class="tone-band"
            x=${unit * band.start}
            y="3.5"
            width=${Math.max(unit * (band.stop - band.start), 2)}
            height="3"
          >
            <title>${band.label}</title>
          </rect>
        `
      }
    </svg>
  `;
}

// What fills the budget of a request: its sections, and what is beside them, such as tool definitions. Rows
// are {section, tokens, tone}; those of sections have all their other fields, too.
export const sizesOf = ({ sections, beside }) =>
  [...sections, ...Object.entries(beside).map(([section, tokens]) => ({ section, tokens }))].map(
    (row, index) => ({ ...row, tone: index % 8 }),
  );

// The tokens of a request that its sections do not count: framing and calibration.
export const overheadOf = (request) =>
  request.tokens - sizesOf(request).reduce((sum, row) => sum + row.tokens, 0);

// The budget: what fills it, what is free, the reserve, and a band where the count may end.
export function BudgetBar({ request }) {
  const { tokens, available, reserve, error } = request;
  const overhead = overheadOf(request);
  const parts = [
    ...sizesOf(request).map((row) => ({ label: row.section, value: row.tokens, tone: row.tone })),
    { label: "overhead", value: Math.max(overhead, 0), tone: "muted" },
    { label: "free", value: Math.max(available - tokens + Math.min(overhead, 0), 0), tone: "free" },
    { label: "kept free for the answer", value: reserve ?? 0, tone: "reserve" },
  ].filter((part) => part.value > 0);
  const off = Math.round((error ?? 0) * tokens);
  const band =
    off > 0
      ? { start: tokens - off, stop: tokens + off, label: `the count may be off by ${plural(off, "token")}` }
      : null;
  return html`
    <${Bar} parts=${parts} band=${band} label="${number(tokens)} of ${number(available)} tokens" />
  `;
}

// Texts

// A long text: its beginning, and the rest in stretches as it is asked for.
export function Text({ item, address, isFolded = false, className = "" }) {
  const [{ text, next }, setRead] = useState(item);
  const [isOpen, setOpen] = useState(!isFolded);
  useEffect(() => {
    setRead(item);
  }, [item.id, item.text]);
  const limit = 600;
  const isLong = isFolded && text.length > limit;
  const shown = isLong && !isOpen ? `${text.slice(0, limit)}…` : text;
  const more = async () => {
    const part = await get("item", { address, id: item.id, start: next });
    setRead({ text: text + part.text, next: part.next });
  };
  return html`
    <div class="text ${className}" dir="auto">${readable(shown)}</div>
    ${
      (isLong || (isOpen && next)) &&
      html`
        <div class="text-more">
          ${
            isLong &&
            html`
              <button
                type="button"
                class="link"
                aria-expanded=${isOpen}
                onClick=${() => setOpen(!isOpen)}
              >
                ${isOpen ? "Show less" : `Show all ${number(item.length)} characters`}
              </button>
            `
          }
          ${
            isOpen &&
            next &&
            html`
              <button type="button" class="link" onClick=${more}>
                Show ${number(Math.min(item.length - next, 100000))} more of ${number(item.length)}${" "}
                characters
              </button>
            `
          }
        </div>
      `
    }
  `;
}

// Characters that cannot be seen, or that change how others are read, are shown as pictures or by their
// numbers: the escapes of a terminal and overrides of the direction have no effect here.
// oxlint-disable-next-line no-control-regex
const UNSEEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b\u2028-\u202e\u2060-\u2069\ufeff]/g;

function picture(character) {
  const code = character.charCodeAt(0);
  return code < 0x20
    ? String.fromCharCode(0x2400 + code)
    : `⟨${code.toString(16).toUpperCase().padStart(4, "0")}⟩`;
}

export const readable = (text) => (text ?? "").replace(/\r\n/g, "\n").replace(UNSEEN, picture);

export function pretty(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

export function Media({ media }) {
  return media.map(
    (file, index) => html`
      <${Tag} key=${index}>
        ${file.part}
        ${file.name ? ` ${file.name}` : ""}
        ${file.type ? `, ${file.type}` : ""}
        ${file.bytes ? `, ${number(file.bytes)} bytes` : ""}
      </${Tag}>
    `,
  );
}

// An item: who, what, how many tokens; `side` is put at its right, `children` below its text.
export const Item = ({ item, address, side, children, isFolded = true, className = "" }) => html`
  <article
    class="item item-${item.kind} role-${item.role ?? "none"} ${className}"
    data-id=${item.id}
  >
    <header class="item-head">
      <${Kind} item=${item} />
      ${item.origin && html`<${Dot} tone=${ORIGIN_TONES[item.origin]} label=${`words of: ${item.origin}`} />`}
      ${item.name && html`<code class="item-name">${readable(item.name)}</code>`}
      ${item.agent && html`<${Tag}>${readable(item.agent)}</${Tag}>`}
      ${item.is_error && html`<${Tag} tone="bad">error</${Tag}>`}
      ${item.interrupted && html`<${Tag} tone="warn">interrupted</${Tag}>`}
      ${item.forgotten && html`<${Tag}>forgotten</${Tag}>`}
      <div class="grow" />
      ${side}
      ${item.tokens !== undefined && html`<span class="muted number">${plural(item.tokens, "token")}</span>`}
      <${When} at=${item.at} />
    </header>
    ${
      item.text &&
      html`
        <${Text}
          item=${item.kind === "tool_call" ? { ...item, text: pretty(item.text) } : item}
          address=${address}
          isFolded=${isFolded}
          className=${item.kind.startsWith("tool") || item.kind === "note" ? "is-code" : ""}
        />
      `
    }
    ${
      item.media &&
      html`
        <div class="item-media">
          <${Media} media=${item.media} />
        </div>
      `
    }
    ${children}
  </article>
`;

// Whether a key is for the page: not typed into a field, no shortcut of the browser, not behind a dialog.
export const isForPage = (event) =>
  !(
    event.target.closest("input, textarea, select") ||
    event.ctrlKey ||
    event.metaKey ||
    event.altKey ||
    document.querySelector("dialog")
  );

// j and k move through the elements that match, Enter opens: for lists.
export function useKeys(selector) {
  const root = useRef(null);
  useLayoutEffect(() => {
    const press = (event) => {
      if (!isForPage(event)) return;
      const step = { j: 1, k: -1 }[event.key];
      if (!step || !root.current) return;
      const all = [...root.current.querySelectorAll(selector)];
      const next = all[all.indexOf(document.activeElement) + step] ?? all[step > 0 ? 0 : all.length - 1];
      next?.focus();
      next?.scrollIntoView({ block: "nearest" });
    };
    document.addEventListener("keydown", press);
    return () => document.removeEventListener("keydown", press);
  }, [selector]);
  return root;
}
