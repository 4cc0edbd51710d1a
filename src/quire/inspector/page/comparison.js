// Two versions or branches side by side.

import { html, useEffect, useState } from "preact";
import { get, useData } from "quire/api.js";
import { Empty, Item, Loaded, Panel, Tag, number, plural, readable } from "quire/parts.js";
import { conversationIn } from "quire/versions.js";

const STEP = 100,
  MOST_EQUAL = 200; // rows of a page, and of a stretch that is opened

export function Comparison({ address, head, at, params, setParams }) {
  const { transcript, other, other_at } = params;
  const [start, setStart] = useState(0);
  const query = { address, transcript, at, other, other_at };
  const state = useData("compare", { ...query, start, limit: STEP });
  useEffect(() => setStart(0), [at, other, other_at]);
  const branchSelect =
    head &&
    html`
      <select
        aria-label="compare with"
        value=${other}
        onChange=${(event) => setParams({ other: event.target.value, other_at: undefined })}
      >
        ${head.branches.map(
          ({ place }) => html`
            <option key=${place} value=${place}>${readable(conversationIn(place))}</option>
          `,
        )}
      </select>
    `;
  return html`
    <${Loaded} state=${state} rows=${8}>
      ${(data) => html`
        <${Panel}
          title="Side by side"
          note=${data.differences ? plural(data.differences, "difference") : undefined}
        >
          <div class="pair pair-head">
            <div>
              <h3>Left</h3>
              <span class="cut">${head && readable(conversationIn(head.address))}</span>${" "}
              <span class="muted">
                version ${number(data.left.version)}, ${plural(data.left.shown, "item")}
              </span>
            </div>
            <div>
              <h3>Right</h3>
              ${branchSelect}${" "}
              <input
                type="number"
                class="version"
                aria-label="version on the right"
                min="0"
                value=${data.right.version}
                onChange=${(event) => setParams({ other_at: event.target.value })}
              />${" "}
              <span class="muted">${plural(data.right.shown, "item")}</span>
            </div>
          </div>
          ${
            data.differences === 0 &&
            html`
              <${Empty} title="Both sides show the same">
                Move the slider, or choose another branch or version on the right.
              </${Empty}>
            `
          }
          ${
            start > 0 &&
            html`
              <button
                type="button"
                class="talk-more link"
                onClick=${() => setStart(Math.max(start - STEP, 0))}
              >
                ${plural(start, "earlier row")}
              </button>
            `
          }
          ${data.rows.map(
            (row, index) => html`
              <${Pair} key=${start + index} row=${row} address=${address} other=${other} query=${query} />
            `,
          )}
          ${
            start + data.rows.length < data.length &&
            html`
              <button type="button" class="talk-more link" onClick=${() => setStart(start + STEP)}>
                ${plural(data.length - start - data.rows.length, "later row")}
              </button>
            `
          }
        </${Panel}>
      `}
    </${Loaded}>
  `;
}

function Pair({ row, address, other, query }) {
  const [rows, setRows] = useState(null);
  if (rows)
    return rows.map(
      (pair, index) => html`
        <${Pair} key=${index} row=${pair} address=${address} other=${other} query=${query} />
      `,
    );
  if (row.count) {
    const open = async () => {
      const limit = Math.min(row.count, MOST_EQUAL);
      const data = await get("compare", { ...query, flat: 1, start: row.start, limit });
      setRows(data.rows);
    };
    return html`
      <div class="talk-fold">
        <button type="button" class="link" aria-expanded="false" onClick=${open}>
          ▸ ${plural(row.count, "equal item")}
        </button>
      </div>
    `;
  }
  if (row.state === "same")
    return html`
      <div class="is-same">
        <${Item} item=${row.left} address=${address} />
      </div>
    `;
  const side = (name, item, at) => html`
    <div class="pair-side is-${name} ${item ? "" : "is-empty"}">
      ${
        item &&
        html`
          <${Item}
            item=${item}
            address=${at}
            side=${row.state === "changed" && html`<${Tag} tone="warn">changed</${Tag}>`}
          />
        `
      }
    </div>
  `;
  return html`
    <div class="pair">
      ${side("left", row.left, address)}
      ${side("right", row.right, other || address)}
    </div>
  `;
}
