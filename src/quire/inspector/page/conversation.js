// A conversation: the transcript with its edits in place. At most 200 rows are in the page: scrolling moves
// that window.

import { html, useEffect, useLayoutEffect, useRef, useState } from "preact";
import { can, needsServer, post, useData } from "quire/api.js";
import { Comparison } from "quire/comparison.js";
import {
  Button,
  Empty,
  Fate,
  Item,
  Kind,
  Loaded,
  Panel,
  Tag,
  When,
  money,
  number,
  plural,
  useKeys,
} from "quire/parts.js";
import { Branches, Timeline } from "quire/versions.js";
import { Why, nameOfRequest } from "quire/why.js";

const WINDOW = 200,
  STEP = 100;

export const Transcript = (props) =>
  props.params.transcript ? html`<${OfName} ...${props} />` : html`<${Talk} ...${props} />`;

function OfName(props) {
  const head = useData("conversation", { address: props.address, transcript: props.params.transcript });
  return html`<${Talk} ...${props} head=${head.data} />`;
}

// The rows are asked for before the head has arrived.
function Talk({ address, params, setParams, head }) {
  const [dragged, setDragged] = useState(null);
  const at = dragged ?? (params.at === undefined ? undefined : Number(params.at));
  const props = { address, head, at, params, setParams };
  return html`
    <div class="talk">
      ${
        head
          ? html`<${Timeline} ...${props} onDrag=${setDragged} />`
          : html`<div class="panel talk-time is-waiting" />`
      }
      ${
        params.other !== undefined
          ? html`<${Comparison} ...${props} />`
          : html`
            <div class="talk-body">
              <${Rows} key=${params.transcript} ...${props} />
              ${head && html`<${Branches} head=${head} />`}
            </div>
          `
      }
    </div>
  `;
}

// The rows

function Rows({ address, head, at, params, setParams }) {
  const [start, setStart] = useState(undefined);
  const { transcript, flat, item, request = "last" } = params;
  const state = useData("transcript", { address, transcript, at, start, limit: WINDOW, flat, item, request });
  const list = useKeys(".talk-line"),
    isAtEnd = useRef(!item);
  useEffect(() => {
    setStart(undefined);
    if (item) isAtEnd.current = false; // an item that is asked for is scrolled to
  }, [at, flat, item]);
  useEffect(() => {
    const look = () => {
      isAtEnd.current = innerHeight + scrollY >= document.documentElement.scrollHeight - 80;
    };
    addEventListener("scroll", look, { passive: true });
    return () => removeEventListener("scroll", look);
  }, []);
  // The row in the upper third of the window stays where it is when rows before or after it come and go.
  const anchor = useRef(null);
  const move = (to) => {
    const element = [...list.current.children].find(
      (child) => child.matches(".talk-line") && child.getBoundingClientRect().bottom > innerHeight / 3,
    );
    anchor.current = element && { element, top: element.getBoundingClientRect().top };
    setStart(to);
  };
  useLayoutEffect(() => {
    if (anchor.current?.element.isConnected)
      scrollBy(0, anchor.current.element.getBoundingClientRect().top - anchor.current.top);
    else if (start === undefined && isAtEnd.current) scrollTo(0, document.documentElement.scrollHeight);
    anchor.current = null;
  }, [state.data, Boolean(head)]);
  return html`
    <${Loaded} state=${state} rows=${8}>
      ${(data) => {
        const end = data.start + data.rows.length;
        const lines = joined(data.rows);
        const firstOwn =
          data.inherited > 0 &&
          lines.find(({ row }) => row.sort !== "summary" && row.position >= data.inherited);
        const showLater = () =>
          move(data.start + STEP + WINDOW >= data.length ? undefined : data.start + STEP);
        return html`
          <${Panel}
            title="Transcript"
            note=${plural(data.length, "row")}
            actions=${html`<${SeenIn} address=${address} request=${data.request} setParams=${setParams} />
              <label class="check">
                <input
                  type="checkbox"
                  checked=${flat === "1"}
                  onChange=${(event) => setParams({ flat: event.target.checked ? 1 : undefined })}
                />
                Everything recorded
              </label>`}
          >
            ${
              data.length === 0 &&
              html`
                <${Empty} title="Nothing was recorded yet">
                  At this version the transcript is empty.
                </${Empty}>
              `
            }
            <div class="talk-lines" ref=${list}>
              ${
                data.start > 0 &&
                html`
                  <${More} onReach=${() => move(Math.max(data.start - STEP, 0))}>
                    ${plural(data.start, "earlier row")}
                  </${More}>
                `
              }
              ${lines.flatMap((line) => [
                line === firstOwn &&
                  html`
                    <div class="talk-border" key="fork">
                      <span>branched off here</span>
                    </div>
                  `,
                html`<${Row}
                    key=${`${line.row.sort}${line.row.position}`}
                    ...${line}
                    item=${data.item}
                    address=${address}
                    at=${at}
                    transcript=${transcript}
                    request=${data.request}
                    setParams=${setParams}
                  />`,
              ])}
              ${
                end < data.length &&
                html`<${More} onReach=${showLater}>${plural(data.length - end, "later row")}</${More}>`
              }
            </div>
          </${Panel}>
        `;
      }}
    </${Loaded}>
  `;
}

// Chooses the request of which each row says whether the model saw it there.
function SeenIn({ address, request, setParams }) {
  const state = useData("requests", { address, limit: WINDOW, brief: 1 });
  const rows = (state.data?.rows ?? []).toReversed();
  return (
    rows.length > 0 &&
    html`
      <label class="check seen-in">
        Seen in
        <select
          aria-label="request"
          value=${request ?? ""}
          ...${needsServer}
          onChange=${(event) => setParams({ request: event.target.value })}
        >
          ${rows.map(
            (row) => html`
              <option key=${row.version} value=${row.version}>
                ${nameOfRequest(row)} ·${" "}
                ${new Date(row.at * 1000).toLocaleTimeString([], { timeStyle: "short" })} ·${" "}
                ${money(row.cost)}
              </option>
            `,
          )}
        </select>
      </label>
    `
  );
}

// A button that is also pressed by scrolling to it.
function More({ onReach, children }) {
  const button = useRef(null),
    reach = useRef(onReach);
  reach.current = onReach;
  useEffect(() => {
    const seen = new IntersectionObserver(
      ([entry]) => {
        if (entry.isIntersecting) reach.current();
      },
      { rootMargin: "200px" },
    );
    seen.observe(button.current);
    return () => seen.disconnect();
  }, []);
  return html`
    <button type="button" class="talk-more link" ref=${button} onClick=${onReach}>
      ${children}
    </button>
  `;
}

// A result is attached to its call, if only calls, results and reasoning are between them.
function joined(rows) {
  const lines = [];
  let calls = new Map();
  for (const row of rows) {
    const kind = row.sort === "item" ? row.item.kind : "";
    const call = kind === "tool_result" && calls.get(row.item.call_id);
    if (call && !call.results.length) {
      call.results.push(row);
      continue;
    }
    const line = { row, results: [] };
    if (!kind.startsWith("tool") && kind !== "reasoning") calls = new Map();
    if (kind === "tool_call") calls.set(row.item.call_id, line);
    lines.push(line);
  }
  return lines;
}

const toCentre = (element) => element?.scrollIntoView({ block: "center" });

function Row({ row, results, item = null, ...props }) {
  const isSought = // it has the item that the address of the page asks for
    item !== null &&
    [row, ...results].some((shown) => shown.position <= item && item < (shown.stop ?? shown.position + 1));
  let body = html`
    <${Shown} row=${row} ...${props}>
      ${results.map((result) => html`<${Shown} key=${result.position} row=${result} ...${props} />`)}
    </${Shown}>
  `;
  if (row.sort === "edit") body = html`<${Edit} row=${row} ...${props} />`;
  if (row.sort === "fold") body = html`<${Fold} row=${row} item=${item} isSought=${isSought} ...${props} />`;
  if (row.sort === "summary")
    body = html`
      <${Shown} row=${row} ...${props} className="is-summary">
        <${EditActions} row=${row} ...${props}>
          ${`Stands for ${plural(row.count, "item")}.`}
        </${EditActions}>
      </${Shown}>
    `;
  const isMarked = isSought && row.sort !== "fold";
  return html`
    <div
      class="talk-line ${isMarked ? "is-found" : ""}"
      tabindex="-1"
      ref=${isMarked ? toCentre : null}
    >
      ${body}
    </div>
  `;
}

const AtVersion = ({ row, setParams }) =>
  row.version > 0 &&
  html`
    <button
      type="button"
      class="talk-at"
      title="show the conversation as it was at this version"
      ...${needsServer}
      onClick=${() => setParams({ at: row.version })}
    >
      v${number(row.version)}
    </button>
  `;

// An item as it is shown; for a masked item its stub, and the original on request.
function Shown({ row, address, at, request, setParams, className = "", children }) {
  const [isOriginal, setOriginal] = useState(false);
  const [isAsked, setAsked] = useState(false);
  const isStub = row.stub && !isOriginal;
  const unseen = row.seen === false ? "is-unseen" : "";
  const isLater = request !== null && row.state !== "edit"; // what the request could not have shown
  const side = html`
    ${
      row.seen === undefined
        ? isLater && html`<span class="seen is-later" title="recorded after the request">later</span>`
        : html`
          <button
            type="button"
            class="seen ${unseen}"
            aria-expanded=${isAsked}
            title="Why? What request ${request} did with it"
            ...${needsServer}
            onClick=${() => setAsked(!isAsked)}
          >
            ${row.seen ? "seen" : "not seen"}
          </button>
        `
    }
    ${row.state !== "shown" && row.state !== "edit" && html`<${Fate} fate=${row.state} />`}
    <${AtVersion} row=${row} setParams=${setParams} />
  `;
  return html`
    <${Item}
      item=${isStub ? row.stub : row.item}
      address=${address}
      side=${side}
      className="state-${row.state} ${isStub ? "is-stub" : ""} ${unseen} ${className}"
    >
      ${isAsked && html`<${Why} address=${address} item=${row.item.id} request=${request} />`}
      ${
        row.stub &&
        html`
          <div class="row edit-actions">
            <button
              type="button"
              class="link"
              aria-expanded=${isOriginal}
              onClick=${() => setOriginal(!isOriginal)}
            >
              ${isOriginal ? "Show the stub" : `Show the original, ${plural(row.item.length, "character")}`}
            </button>
            <${Act} address=${address} at=${at} id=${row.by}>Undo mask</${Act}>
          </div>
        `
      }
      ${children}
    </${Item}>
  `;
}

// A stretch that is not shown; it opens to its items.
function Fold({ row, isSought, ...props }) {
  const [isOpen, setOpen] = useState(isSought);
  const { address, at } = props;
  const label = row.count
    ? `${plural(row.count, "item")} ${row.state}`
    : plural(row.stop - row.position, "edit");
  return html`
    <div class="talk-fold state-${row.state}">
      <div class="row">
        <button type="button" class="link" aria-expanded=${isOpen} onClick=${() => setOpen(!isOpen)}>
          ${isOpen ? "▾" : "▸"} ${label}
        </button>
        ${row.state === "hidden" && html`<${Act} address=${address} at=${at} id=${row.by}>Undo hide</${Act}>`}
      </div>
      ${isOpen && html`<${Sources} row=${row} ...${props} />`}
    </div>
  `;
}

function Sources({ row, item, ...props }) {
  const { address, at, transcript, request } = props;
  const isSought = item !== null && item < row.stop; // then begin a little before it
  const [start, setStart] = useState(Math.max(row.position, isSought ? item - STEP / 2 : 0));
  const limit = Math.min(WINDOW / 2, row.stop - start);
  const state = useData("transcript", { address, at, transcript, flat: 1, start, limit, request });
  return html`
    <${Loaded} state=${state} rows=${Math.min(limit, 4)}>
      ${(data) => html`
        ${
          start > row.position &&
          html`
            <button
              type="button"
              class="talk-more link"
              onClick=${() => setStart(Math.max(start - STEP, row.position))}
            >
              ${plural(start - row.position, "earlier item")}
            </button>
          `
        }
        ${joined(data.rows).map(
          (line) => html`<${Row} key=${line.row.position} ...${line} item=${item} ...${props} />`,
        )}
        ${
          start + limit < row.stop &&
          html`
            <button type="button" class="talk-more link" onClick=${() => setStart(start + STEP)}>
              ${plural(row.stop - start - limit, "later item")}
            </button>
          `
        }
      `}
    </${Loaded}>
  `;
}

// Edits

const nameOf = (kind) => ({ tool_result: "result", tool_call: "call" })[kind] ?? kind;

// A line where an edit was made.
function Edit({ row, address, at, setParams }) {
  const about = ["summary", "hide"].includes(row.item.kind)
    ? `of ${plural(row.count, "item")}`
    : `of a ${nameOf(row.of)}`;
  return html`
    <div class="edit-line ${row.undo ? "is-undone" : ""}">
      <${EditActions} row=${row} address=${address} at=${at}>
        <${Kind} item=${row.item} /> <span class="edit-about">${about}</span>
      </${EditActions}>
      <div class="grow" />
      <${AtVersion} row=${row} setParams=${setParams} />
      <${When} at=${row.item.at} />
    </div>
  `;
}

// What an edit is, and undoing it or, if it is undone, applying it again. A summary that is shown is undone
// where it stands.
const EditActions = ({ row, address, at, children }) => html`
  <div class="row edit-actions">
    <span>${children}</span>
    ${row.undo && html`<${Tag}>undone</${Tag}>`}
    ${
      row.undo
        ? html`<${Act} address=${address} at=${at} id=${row.undo}>Redo ${row.item.kind}</${Act}>`
        : (row.sort === "summary" || row.state !== "shown") &&
          row.item.kind !== "undo" &&
          html`<${Act} address=${address} at=${at} id=${row.item.id}>Undo ${row.item.kind}</${Act}>`
    }
  </div>
`;

// Undoes an edit at the newest version; an earlier version has no such button.
function Act({ address, at, id, children }) {
  const [error, setError] = useState(null);
  if (!can.write || at !== undefined) return null;
  const act = () => post("undo", { address, id }).then(() => setError(null), setError);
  return html`
    <${Button} tone="quiet" onClick=${act}>${children}</${Button}>
    ${error && html`<span class="bad" role="alert">${error.message}</span>`}
  `;
}
