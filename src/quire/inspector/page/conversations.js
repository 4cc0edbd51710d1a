// The list of conversations, the latest first; and what recall finds in those of one scope.

import { html, useEffect, useRef, useState } from "preact";
import { announceChange, follow, go, link, selection, useData } from "quire/api.js";
import { Notes, OpenFiles } from "quire/files.js";
import { Words } from "quire/why.js";
import { OpenWork } from "quire/work.js";
import {
  Button,
  Cost,
  Dot,
  Empty,
  Loaded,
  NONE,
  Segmented,
  Tag,
  When,
  number,
  plural,
  readable,
  useKeys,
} from "quire/parts.js";

const PAGE = 50,
  MOST_OTHERS = 8;
const PAUSE = { name: 150, said: 400, words: 400 }; // milliseconds after the last key
const SEARCHES = [
  ["name", "Names"],
  ["said", "What was said"],
  ["words", "What the model saw"],
];
const HINTS = {
  name: "Filter by name; Enter searches what the model saw",
  said: "Ask what was said, by whom, when",
  words: "Words of a message or a result",
};
const nameOf = (scope) => (scope ? readable(scope) : "no scope");

export function Conversations({ params, sources }) {
  const [asked, setAsked] = useState(params);
  const [typed, setTyped] = useState(params.q ?? "");
  const [trail, setTrail] = useState([]); // the cursors of the pages before
  useEffect(() => {
    setAsked(params);
    setTyped(params.q ?? "");
  }, [JSON.stringify(params)]);
  useEffect(() => follow({}), [selection.source]);
  const ask = (next) => {
    const all = { ...asked, ...next };
    if (next.q !== undefined) setTyped(next.q); // else the field would ask for its words again
    setTrail([]);
    history.replaceState(null, "", link("", "", all));
    setAsked(all);
  };
  useEffect(() => {
    const timer = setTimeout(() => typed !== (asked.q ?? "") && ask({ q: typed }), PAUSE[asked.by || "name"]);
    return () => clearTimeout(timer);
  }, [typed, asked]);
  const by = asked.by || "name",
    isSearch = by !== "name";
  const page = useData("conversations", {
    within: asked.within,
    named: isSearch ? "" : asked.q,
    after: trail.at(-1),
  });
  const isLive = page.data?.rows.some((row) => row.is_live);
  useEffect(() => {
    const timer = isLive && setInterval(announceChange, 5000);
    return () => clearInterval(timer);
  }, [isLive]);
  const latest = useRef(null); // the scope of the latest conversation, as it was first seen
  latest.current ??= page.data?.scopes.find((scope) => scope.scope === page.data.rows[0]?.scope)?.within;
  const within = asked.within || (isSearch ? latest.current : "");
  return html`
    <div class="list-head">
      <h1>Conversations</h1>
      ${
        page.data &&
        html`
          <span class="muted">
            ${number(page.data.count.conversations)} in ${plural(page.data.count.scopes, "scope")}
          </span>
        `
      }
      <div class="grow" />
      ${
        sources.length > 1 &&
        html`
          <${Segmented}
            label="source"
            options=${sources.map((source) => [source.name, source.label])}
            value=${selection.source}
            onChange=${(name) => go("", "", {}, name)}
          />
        `
      }
      <${OpenFiles} />
    </div>
    <${Notes} />
    ${by === "name" && !asked.q && html`<${OpenWork} />`}
    <div class="list-tools">
      <input
        type="search"
        aria-label="search"
        placeholder=${HINTS[by]}
        value=${typed}
        onInput=${(event) => setTyped(event.target.value)}
        onKeyDown=${(event) => event.key === "Enter" && by === "name" && ask({ q: typed, by: "words" })}
      />
      <${Segmented}
        label="search in"
        options=${SEARCHES}
        value=${by}
        onChange=${(name) => ask({ by: name === "name" ? "" : name })}
      />
      ${
        page.data?.count.scopes > 1 &&
        html`
          <select
            aria-label="scope"
            value=${(by === "words" ? asked.within : within) ?? ""}
            onChange=${(event) => ask({ within: event.target.value })}
          >
            ${by !== "said" && html`<option value="">All scopes</option>`}
            ${page.data.scopes.map(
              (scope) => html`
                <option key=${scope.within} value=${scope.within}>
                  ${nameOf(scope.scope)} (${number(scope.conversations)})
                </option>
              `,
            )}
          </select>
        `
      }
    </div>
    ${
      by === "words" && asked.q?.trim()
        ? html`<${Words} words=${asked.q} within=${asked.within} />`
        : isSearch
          ? html`
            <${Recalled}
              question=${asked.q ?? ""}
              within=${within}
              scopes=${page.data?.scopes ?? []}
              ask=${ask}
            />
          `
          : html`
            <${Loaded} state=${page} rows=${12}>
              ${(data) => html`<${Rows} data=${data} ask=${ask} trail=${trail} setTrail=${setTrail} />`}
            </${Loaded}>
          `
    }
  `;
}

function Rows({ data, ask, trail, setTrail }) {
  const root = useKeys("a.row-link");
  if (!data.count.conversations)
    return html`
      <div class="panel">
        <${Empty} title="No conversations yet">
          They appear here as soon as something writes to this store, for example${" "}
          <code>Session.open("ana/q3", store=…)</code>.
        </${Empty}>
      </div>
    `;
  if (!data.rows.length)
    return html`
      <div class="panel">
        <${Empty} title="No conversation has this name">
          <${Button} onClick=${() => ask({ q: "", within: "" })}>Show all</${Button}>
        </${Empty}>
      </div>
    `;
  const start = trail.length * PAGE;
  return html`
    <div class="panel" ref=${root}>
      <div class="conversation is-head" aria-hidden="true">
        <span />
        <span>Conversation</span>
        <span />
        <span class="number">Items</span>
        <span class="number">Tokens spent</span>
        <span class="number">Cost</span>
        <span class="number">Active</span>
      </div>
      <ul class="plain" aria-label="conversations">
        ${data.rows.map(
          (row) => html`
            <li key=${row.address}>
              <${Row} row=${row} />
            </li>
          `,
        )}
      </ul>
    </div>
    ${
      data.length > PAGE &&
      html`
        <nav class="pager" aria-label="pages">
          <${Button} disabled=${!start} onClick=${() => setTrail(trail.slice(0, -1))}>
            Newer
          </${Button}>
          <span class="muted number">
            ${number(start + 1)}–${number(start + data.rows.length)} of ${number(data.length)}
          </span>
          <${Button} disabled=${!data.next} onClick=${() => setTrail([...trail, data.next])}>
            Older
          </${Button}>
        </nav>
      `
    }
  `;
}

function Row({ row }) {
  const parts = row.conversation.split("/");
  const name = row.parent ? parts.pop() : row.conversation;
  const above = [nameOf(row.scope), ...(row.parent ? [readable(parts.join("/"))] : [])];
  return html`
    <a class="conversation row-link" href=${link(row.address)}>
      ${row.is_live ? html`<${Dot} label="live" />` : html`<span />`}
      <span class="conversation-name" dir="auto">
        <span class="muted">${above.join(" / ")} /</span>${" "}
        ${row.parent && html`<span class="muted" title="a branch">└</span>`}${" "}
        <strong>${readable(name) || "(no name)"}</strong>
      </span>
      <span class="conversation-title">
        ${
          row.fault
            ? html`<${Tag} tone="bad">cannot be read</${Tag}> <span class="cut muted">${row.fault}</span>`
            : html`<span class="cut muted" dir="auto">${readable(row.title)}</span>`
        }
        ${row.open_calls > 0 && html`<${Tag} tone="warn">${plural(row.open_calls, "open call")}</${Tag}>`}
      </span>
      <span class="number figure is-items">${row.items ? number(row.items) : NONE}</span>
      <span class="number figure" title="tokens spent">
        ${row.tokens ? number(row.tokens) : NONE}
      </span>
      <span class="number figure">
        <${Cost} spent=${row} />
      </span>
      <span class="number conversation-when">
        <${When} at=${row.at} />
      </span>
    </a>
  `;
}

function Recalled({ question, ...rest }) {
  if (!question.trim())
    return html`
      <div class="panel">
        <${Empty} title="What was said?">
          Recall searches one scope: words, names and times, as an agent's memory does.
        </${Empty}>
      </div>
    `;
  return html`<${Quotes} question=${question} ...${rest} />`;
}

function Quotes({ question, within, scopes, ask }) {
  const state = useData("search", { question, within });
  const root = useKeys("a.row-link");
  const others = scopes.filter((scope) => scope.within !== within).slice(0, MOST_OTHERS);
  return html`
    <${Loaded} state=${state}>
      ${(data) => html`
        <div class="panel" ref=${root}>
          ${
            !data.found.length
              ? html`
                <${Empty} title="Nothing answers that">
                  Nothing in ${nameOf(data.scope)} shares words, names or times with it.
                  ${
                    others.length > 0 &&
                    html`
                      ${" "}
                      Ask in another scope:${" "}
                      ${others.map(
                        (scope) => html`
                          <button
                            key=${scope.within}
                            type="button"
                            class="link"
                            onClick=${() => ask({ within: scope.within })}
                          >
                            ${nameOf(scope.scope)}
                          </button>${" "}
                        `,
                      )}
                    `
                  }
                </${Empty}>
              `
              : html`
                <ul class="plain" aria-label="quotes">
                  ${data.found.map(
                    (hit, index) => html`
                      <li key=${index}>
                        <${Hit} hit=${hit} />
                      </li>
                    `,
                  )}
                </ul>
              `
          }
        </div>
      `}
    </${Loaded}>
  `;
}

function Hit({ hit }) {
  const body = html`
    <span class="row">
      <strong class="cut">${readable(hit.source)}</strong>
      ${!hit.address && html`<${Tag}>document</${Tag}>`}
      <span class="grow" />
      <${When} at=${hit.at} />
    </span>
    <span class="text" dir="auto">${readable(hit.text)}</span>
    <span class="muted">${readable(hit.reason)}</span>
  `;
  return hit.address
    ? html`
      <a class="quote row-link" href=${link(hit.address, "transcript", { item: hit.item })}>
        ${body}
      </a>
    `
    : html`<div class="quote">${body}</div>`;
}
