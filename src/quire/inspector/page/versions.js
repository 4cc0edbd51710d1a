// The versions of a conversation: the slider over them, a branch that begins at one, and the tree of
// branches.

import { html, useLayoutEffect, useState } from "preact";
import { can, go, link, needsServer, post, useData } from "quire/api.js";
import { Button, Fault, Field, Panel, Tag, isForPage, number, plural, readable } from "quire/parts.js";

// The slider over versions

const MARKS = [
  ["requests", "request", 8],
  ["users", "user message", 14],
  ["edits", "edit", 20],
];

export function Timeline({ address, head, at, params, setParams, onDrag }) {
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
    lastBefore = (positions) => Math.max(-1, ...positions.filter((position) => position < version));
  const before = lastBefore(marks),
    after = Math.min(...marks.filter((mark) => mark > version));
  useLayoutEffect(() => {
    const press = (event) => {
      const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (!step || !isForPage(event) || needsServer.disabled) return;
      move(version + step);
    };
    document.addEventListener("keydown", press);
    return () => document.removeEventListener("keydown", press);
  }, [version, last, params]);
  // A comparison begins with what was shown before the last edit, or before what happened last.
  const changedAt = lastBefore(head.marks.edits.length ? head.marks.edits : marks);
  const compare = () =>
    setParams({ other: head.address, other_at: isNow ? undefined : version, at: Math.max(changedAt - 1, 0) });
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
          ...${needsServer}
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
            ? html`<${Button} ...${needsServer} onClick=${compare}>Compare</${Button}>`
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
          ...${needsServer}
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
            ...${needsServer}
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
          ...${needsServer}
          onClick=${() => move(after)}
        >
          ›
        </button>
      </div>
      <div class="row talk-legend">
        ${MARKS.toReversed().map(
          ([sort, label]) => html`<span key=${sort} class="legend-${sort}">${label}</span>`,
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
      const branch = await post("fork", { address, name, at, transcript }); // JSON has no undefined fields
      go(branch.address);
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

export const conversationIn = (place) => decodeURIComponent(place.split("/")[1]);

export function Branches({ head }) {
  const address = head.address;
  const branches = head.branches.map((branch) => ({
    ...branch,
    name: conversationIn(branch.place),
    isHere: branch.place === address,
  }));
  const longest = Math.max(...branches.map((branch) => branch.length), 1),
    x = (items) => (1000 * items) / longest;
  const depth = (branch) =>
    branch?.parent ? 1 + depth(branches.find((other) => other.name === branch.parent)) : 0;
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
              (branch) => html`
                <li key=${branch.place} class=${branch.isHere ? "is-here" : ""}>
                  <div class="row" style=${{ paddingLeft: `${12 * Math.min(depth(branch), 6)}px` }}>
                    ${branch.parent && html`<span class="faint" aria-hidden="true">└</span>`}
                    <a
                      class="cut"
                      dir="auto"
                      href=${link(branch.place)}
                      aria-current=${branch.isHere ? "page" : undefined}
                    >
                      ${readable(branch.parent ? branch.name.slice(branch.parent.length + 1) : branch.name)}
                    </a>
                    <div class="grow" />
                    ${
                      !branch.isHere &&
                      !needsServer.disabled &&
                      html`
                        <a
                          class="link"
                          href=${link(address, "transcript", { other: branch.place })}
                          aria-label="compare with ${branch.name}"
                        >
                          Compare
                        </a>
                      `
                    }
                  </div>
                  <svg viewBox="0 0 1000 12" preserveAspectRatio="none" aria-hidden="true">
                    <path class="branch-past" d="M0 6H${x(branch.inherited)}" />
                    <path
                      class="branch-own"
                      d="M${x(branch.inherited)} 6H${Math.max(x(branch.length), x(branch.inherited) + 12)}"
                    />
                  </svg>
                  <p class="muted">
                    ${
                      branch.parent
                        ? html`
                          ${readable(branch.parent.split("/").at(-1))} at version ${number(branch.version)},
                          then ${plural(branch.length - branch.inherited, "item")}
                        `
                        : plural(branch.length, "item")
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
