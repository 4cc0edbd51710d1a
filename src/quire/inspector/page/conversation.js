// A conversation: the transcript with its edits in place, a slider over its versions, its branches, and two
// versions or branches side by side. At most 200 rows are in the page: scrolling moves that window.

import { html, useEffect, useLayoutEffect, useRef, useState } from "preact";
import { asking, can, get, go, link, post, useData } from "quire/api.js";
import {
  Button,
  Empty,
  Fate,
  Fault,
  Field,
  Item,
  Kind,
  Loaded,
  Panel,
  Tag,
  When,
  isForPage,
  money,
  number,
  plural,
  readable,
  useKeys,
} from "quire/parts.js";
import { Why, nameOfRequest } from "quire/why.js";

const WINDOW = 200,
  STEP = 100;

export const Transcript = (given) =>
  given.params.transcript ? html`<${OfName} ...${given} />` : html`<${Talk} ...${given} />`;

function OfName(given) {
  const head = useData("conversation", { address: given.address, transcript: given.params.transcript });
  return html`<${Talk} ...${given} head=${head.data} />`;
}

// The rows are asked for at once; the head is not waited for.
function Talk({ address, params, setParams, head }) {
  const [dragged, setDragged] = useState(null);
  const at = dragged ?? (params.at === undefined ? undefined : Number(params.at));
  const given = { address, head, at, params, setParams };
  return html`
    <div class="talk">
      ${
        head
          ? html`<${Timeline} ...${given} onDrag=${setDragged} />`
          : html`<div class="panel talk-time is-waiting" />`
      }
      ${
        params.other !== undefined
          ? html`<${Comparison} ...${given} />`
          : html`
            <div class="talk-body">
              <${Rows} key=${params.transcript} ...${given} />
              ${head && html`<${Branches} head=${head} />`}
            </div>
          `
      }
    </div>
  `;
}

// The slider over versions

const MARKS = [
  ["requests", "request", 8],
  ["users", "user message", 14],
  ["edits", "edit", 20],
];

function Timeline({ address, head, at, params, setParams, onDrag }) {
  const [isForking, setForking] = useState(false);
  const last = head.version,
    version = Math.min(at ?? last, last),
    isNow = version === last;
  const tokens = useData("tokens", {
    address,
    transcript: params.transcript,
    at: isNow ? undefined : version,
  });
  const move = (to) => {
    onDrag(null);
    setParams({ at: to >= last ? undefined : Math.max(to, 0) });
  };
  const marks = Object.values(head.marks).flat(),
    earlier = (all) => Math.max(-1, ...all.filter((mark) => mark < version));
  const before = earlier(marks),
    after = Math.min(...marks.filter((mark) => mark > version));
  useLayoutEffect(() => {
    const press = (event) => {
      const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (!step || !isForPage(event) || asking.disabled) return;
      move(version + step);
    };
    document.addEventListener("keydown", press);
    return () => document.removeEventListener("keydown", press);
  }, [version, last, params]);
  // A comparison begins with what was shown before the last edit, or before what happened last.
  const then = earlier(head.marks.edits.length ? head.marks.edits : marks);
  const compare = () =>
    setParams({ other: head.address, other_at: isNow ? undefined : version, at: Math.max(then - 1, 0) });
  return html`
    <section class="panel talk-time" aria-label="Versions">
      <div class="row wrap">
        <h2>Version</h2>
        <${Field}
          type="number"
          class="version"
          aria-label="version"
          min="0"
          max=${last}
          value=${version}
          ...${asking}
          onTake=${(value) => move(Number(value))}
        />
        <span class="muted">of ${number(last)}</span>
        ${
          isNow
            ? html`<${Tag} tone="good">now</${Tag}>`
            : html`<button type="button" class="link" onClick=${() => move(last)}>Back to now</button>`
        }
        <span class="muted talk-figures">
          ${
            tokens.data &&
            `${number(tokens.data.shown)} of ${plural(tokens.data.recorded, "entry", "entries")} shown, ` +
              plural(tokens.data.tokens, "token")
          }
        </span>
        <div class="grow" />
        ${
          head.transcripts.length > 1 &&
          html`
            <select
              aria-label="transcript"
              value=${params.transcript ?? "main"}
              onChange=${(event) => setParams({ transcript: event.target.value, at: undefined })}
            >
              ${head.transcripts.map(
                (name) => html`<option key=${name} value=${name}>${readable(name)}</option>`,
              )}
            </select>
          `
        }
        ${
          params.other === undefined
            ? html`<${Button} ...${asking} onClick=${compare}>Compare</${Button}>`
            : html`
              <${Button} onClick=${() => setParams({ other: undefined, other_at: undefined })}>
                Stop comparing
              </${Button}>
            `
        }
        <${Button}
          disabled=${!can.write}
          title=${can.write ? undefined : can.reason}
          onClick=${() => setForking(!isForking)}
        >
          Branch here
        </${Button}>
      </div>
      <div class="talk-slider">
        <button
          type="button"
          class="button is-quiet"
          aria-label="previous mark"
          disabled=${before < 0}
          ...${asking}
          onClick=${() => move(before)}
        >
          ‹
        </button>
        <div class="talk-track">
          <input
            type="range"
            aria-label="time slider"
            min="0"
            max=${last}
            value=${version}
            aria-valuetext="version ${version} of ${last}"
            ...${asking}
            onInput=${(event) => onDrag(Number(event.target.value))}
            onChange=${(event) => move(Number(event.target.value))}
          />
          <svg
            class="talk-marks"
            viewBox="0 0 1000 20"
            preserveAspectRatio="none"
            role="img"
            aria-label="marks: user messages, requests and edits"
          >
            ${MARKS.map(
              ([sort, , height]) => html`
                <path
                  key=${sort}
                  class="mark-${sort}"
                  d=${head.marks[sort]
                    .map((mark) => `M${((1000 * mark) / Math.max(last, 1)).toFixed(1)} 0v${height}`)
                    .join("")}
                />
              `,
            )}
          </svg>
        </div>
        <button
          type="button"
          class="button is-quiet"
          aria-label="next mark"
          disabled=${after > last}
          ...${asking}
          onClick=${() => move(after)}
        >
          ›
        </button>
      </div>
      <div class="row talk-legend">
        ${MARKS.toReversed().map(
          ([sort, one]) => html`<span key=${sort} class="legend-${sort}">${one}</span>`,
        )}
      </div>
      ${
        isForking &&
        html`<${Fork} address=${address} at=${isNow ? undefined : version} transcript=${params.transcript} />`
      }
    </section>
  `;
}

function Fork({ address, at, transcript }) {
  const [name, setName] = useState("");
  const [error, setError] = useState(null);
  const create = async () => {
    try {
      go(
        (
          await post("fork", {
            address,
            name,
            ...(at === undefined ? {} : { at }),
            ...(transcript ? { transcript } : {}),
          })
        ).address,
      );
    } catch (fault) {
      setError(fault);
    }
  };
  return html`
    <form
      class="row wrap talk-fork"
      onSubmit=${(event) => {
        event.preventDefault();
        create();
      }}
    >
      <input
        type="text"
        aria-label="name of the branch"
        placeholder="name of the branch"
        value=${name}
        onInput=${(event) => setName(event.target.value)}
      />
      <${Button} tone="primary" disabled=${!name} onClick=${create}>Create branch</${Button}>
      <span class="muted">
        It begins with what this conversation had${" "}
        ${at === undefined ? "until now" : `at version ${number(at)}`}.
      </span>
      ${error && html`<${Fault} error=${error} />`}
    </form>
  `;
}

// Branches: all on one scale of items, dotted where the past is shared

const nameOfPlace = (place) => decodeURIComponent(place.split("/")[1]);

function Branches({ head }) {
  const address = head.address;
  const branches = head.branches.map((one) => ({
    ...one,
    name: nameOfPlace(one.place),
    is_here: one.place === address,
  }));
  const longest = Math.max(...branches.map((one) => one.length), 1),
    x = (items) => (1000 * items) / longest;
  const depth = (one) => (one?.parent ? 1 + depth(branches.find((other) => other.name === one.parent)) : 0);
  return html`
    <aside class="talk-side ${branches.length > 1 ? "" : "is-alone"}">
      <${Panel} title="Branches" note=${branches.length > 1 ? number(branches.length - 1) : undefined}>
        ${
          branches.length < 2 &&
          html`
            <p class="panel-body muted">
              None yet. A branch is a conversation of its own that begins with this past.
            </p>
          `
        }
        <ul class="branches">
          ${
            branches.length > 1 &&
            branches.map(
              (one) => html`
                <li key=${one.place} class=${one.is_here ? "is-here" : ""}>
                  <div class="row" style=${{ paddingLeft: `${12 * Math.min(depth(one), 6)}px` }}>
                    ${one.parent && html`<span class="faint" aria-hidden="true">└</span>`}
                    <a
                      class="cut"
                      dir="auto"
                      href=${link(one.place)}
                      aria-current=${one.is_here ? "page" : undefined}
                    >
                      ${readable(one.parent ? one.name.slice(one.parent.length + 1) : one.name)}
                    </a>
                    <div class="grow" />
                    ${
                      !one.is_here &&
                      !asking.disabled &&
                      html`
                        <a
                          class="link"
                          href=${link(address, "transcript", { other: one.place })}
                          aria-label="compare with ${one.name}"
                        >
                          Compare
                        </a>
                      `
                    }
                  </div>
                  <svg viewBox="0 0 1000 12" preserveAspectRatio="none" aria-hidden="true">
                    <path class="branch-past" d="M0 6H${x(one.began)}" />
                    <path
                      class="branch-own"
                      d="M${x(one.began)} 6H${Math.max(x(one.length), x(one.began) + 12)}"
                    />
                  </svg>
                  <p class="muted">
                    ${
                      one.parent
                        ? html`
                          ${readable(one.parent.split("/").at(-1))} at version ${number(one.version)},
                          then ${plural(one.length - one.began, "item")}
                        `
                        : plural(one.length, "item")
                    }
                  </p>
                </li>
              `,
            )
          }
        </ul>
      </${Panel}>
    </aside>
  `;
}

// The rows

function Rows({ address, head, at, params, setParams }) {
  const [start, setStart] = useState(undefined);
  const { transcript, flat, item, request = "last" } = params;
  const state = useData("transcript", { address, transcript, at, start, limit: WINDOW, flat, item, request });
  const list = useKeys(".talk-line"),
    isAtEnd = useRef(!item);
  useEffect(() => setStart(undefined), [at, flat, item]);
  useEffect(() => {
    const look = () => {
      isAtEnd.current = innerHeight + scrollY >= document.documentElement.scrollHeight - 80;
    };
    addEventListener("scroll", look, { passive: true });
    return () => removeEventListener("scroll", look);
  }, []);
  // What is read stays where it is when rows before or after it come and go.
  const kept = useRef(null);
  const move = (to) => {
    const element = [...list.current.children].find(
      (one) => one.matches(".talk-line") && one.getBoundingClientRect().bottom > innerHeight / 3,
    );
    kept.current = element && { element, top: element.getBoundingClientRect().top };
    setStart(to);
  };
  useLayoutEffect(() => {
    if (kept.current?.element.isConnected)
      scrollBy(0, kept.current.element.getBoundingClientRect().top - kept.current.top);
    else if (start === undefined && isAtEnd.current) scrollTo(0, document.documentElement.scrollHeight);
    kept.current = null;
  }, [state.data, Boolean(head)]);
  return html`
    <${Loaded} state=${state} rows=${8}>
      ${(data) => {
        const end = data.start + data.rows.length;
        const lines = joined(data.rows);
        const own =
          data.inherited > 0 &&
          lines.find(({ row }) => row.sort !== "summary" && row.position >= data.inherited);
        const later = () => move(data.start + STEP + WINDOW >= data.length ? undefined : data.start + STEP);
        return html`
          <${Panel}
            title="Transcript"
            note=${plural(data.length, "row")}
            actions=${html`<${Seen} address=${address} request=${data.request} setParams=${setParams} />
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
                line === own &&
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
                html`<${More} onReach=${later}>${plural(data.length - end, "later row")}</${More}>`
              }
            </div>
          </${Panel}>
        `;
      }}
    </${Loaded}>
  `;
}

// Which request it is that the messages were seen in.
function Seen({ address, request, setParams }) {
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
          ...${asking}
          onChange=${(event) => setParams({ request: event.target.value })}
        >
          ${rows.map(
            (one) => html`
              <option key=${one.version} value=${one.version}>
                ${nameOfRequest(one)} ·${" "}
                ${new Date(one.at * 1000).toLocaleTimeString([], { timeStyle: "short" })} ·${" "}
                ${money(one.cost)}
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
  const made = [];
  let calls = new Map();
  for (const row of rows) {
    const kind = row.sort === "item" ? row.item.kind : "";
    const call = kind === "tool_result" && calls.get(row.item.call_id);
    if (call && !call.results.length) {
      call.results.push(row);
      continue;
    }
    const one = { row, results: [] };
    if (!kind.startsWith("tool") && kind !== "reasoning") calls = new Map();
    if (kind === "tool_call") calls.set(row.item.call_id, one);
    made.push(one);
  }
  return made;
}

const toCentre = (element) => element?.scrollIntoView({ block: "center" });

function Row({ row, results, item = null, ...given }) {
  const isFound =
    item !== null &&
    [row, ...results].some((one) => one.position <= item && item < (one.stop ?? one.position + 1));
  const body =
    row.sort === "fold"
      ? html`<${Fold} row=${row} item=${item} isFound=${isFound} ...${given} />`
      : row.sort === "edit"
        ? html`<${Edit} row=${row} ...${given} />`
        : row.sort === "summary"
          ? html`
            <${Shown} row=${row} ...${given} className="is-summary">
              <${EditActions} row=${row} ...${given}>
                ${`Stands for ${plural(row.count, "item")}.`}
              </${EditActions}>
            </${Shown}>
          `
          : html`
            <${Shown} row=${row} ...${given}>
              ${results.map((one) => html`<${Shown} key=${one.position} row=${one} ...${given} />`)}
            </${Shown}>
          `;
  const isMarked = isFound && row.sort !== "fold";
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

// An item as it is shown; of a masked one the stub, and the original on request.
function Shown({ row, address, at, request, setParams, className = "", children }) {
  const [isOriginal, setOriginal] = useState(false);
  const [isAsked, setAsked] = useState(false);
  const isStub = row.stub && !isOriginal;
  const unseen = row.seen === false ? "is-unseen" : "";
  const side = html`
    ${
      row.seen !== undefined &&
      html`
        <button
          type="button"
          class="seen ${unseen}"
          aria-expanded=${isAsked}
          title="Why? What request ${request} did with it"
          ...${asking}
          onClick=${() => setAsked(!isAsked)}
        >
          ${row.seen ? "seen" : "not seen"}
        </button>
      `
    }
    ${row.state !== "shown" && row.state !== "edit" && html`<${Fate} fate=${row.state} />`}
    ${
      row.version &&
      html`
        <button
          type="button"
          class="talk-at"
          title="show the conversation as it was at this version"
          ...${asking}
          onClick=${() => setParams({ at: row.version })}
        >
          v${number(row.version)}
        </button>
      `
    }
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
function Fold({ row, isFound, ...given }) {
  const [isOpen, setOpen] = useState(isFound);
  const { address, at } = given;
  const what = row.count
    ? `${plural(row.count, "item")} ${row.state}`
    : plural(row.stop - row.position, "edit");
  return html`
    <div class="talk-fold state-${row.state}">
      <div class="row">
        <button type="button" class="link" aria-expanded=${isOpen} onClick=${() => setOpen(!isOpen)}>
          ${isOpen ? "▾" : "▸"} ${what}
        </button>
        ${row.state === "hidden" && html`<${Act} address=${address} at=${at} id=${row.by}>Undo hide</${Act}>`}
      </div>
      ${isOpen && html`<${Sources} row=${row} ...${given} />`}
    </div>
  `;
}

function Sources({ row, item, ...given }) {
  const { address, at, transcript, request } = given;
  const [start, setStart] = useState(
    Math.max(row.position, (item ?? 0) < row.stop ? (item ?? 0) - STEP / 2 : 0),
  );
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
          (line) => html`<${Row} key=${line.row.position} ...${line} item=${item} ...${given} />`,
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
      ${
        row.version &&
        html`
          <button
            type="button"
            class="talk-at"
            title="show the conversation as it was at this version"
            ...${asking}
            onClick=${() => setParams({ at: row.version })}
          >
            v${number(row.version)}
          </button>
        `
      }
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

// What is undone is undone now: at an earlier version there is nothing to press.
function Act({ address, at, id, children }) {
  const [error, setError] = useState(null);
  if (!can.write || at !== undefined) return null;
  const act = () => post("undo", { address, id }).then(() => setError(null), setError);
  return html`
    <${Button} tone="quiet" onClick=${act}>${children}</${Button}>
    ${error && html`<span class="bad" role="alert">${error.message}</span>`}
  `;
}

// Two versions or branches side by side

function Comparison({ address, head, at, params, setParams }) {
  const { transcript, other, other_at } = params;
  const [start, setStart] = useState(0);
  const asked = { address, transcript, at, other, other_at };
  const state = useData("compare", { ...asked, start, limit: STEP });
  useEffect(() => setStart(0), [at, other, other_at]);
  const choose =
    head &&
    html`
      <select
        aria-label="compare with"
        value=${other}
        onChange=${(event) => setParams({ other: event.target.value, other_at: undefined })}
      >
        ${head.branches.map(
          (one) => html`
            <option key=${one.place} value=${one.place}>${readable(nameOfPlace(one.place))}</option>
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
              <span class="cut">${head && readable(nameOfPlace(head.address))}</span>${" "}
              <span class="muted">
                version ${number(data.left.version)}, ${plural(data.left.shown, "item")}
              </span>
            </div>
            <div>
              <h3>Right</h3>
              ${choose}${" "}
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
              <${Pair} key=${start + index} row=${row} address=${address} other=${other} asked=${asked} />
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

function Pair({ row, address, other, asked }) {
  const [rows, setRows] = useState(null);
  if (rows)
    return rows.map(
      (one, index) => html`
        <${Pair} key=${index} row=${one} address=${address} other=${other} asked=${asked} />
      `,
    );
  if (row.count) {
    const open = async () =>
      setRows(
        (await get("compare", { ...asked, flat: 1, start: row.start, limit: Math.min(row.count, WINDOW) }))
          .rows,
      );
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
