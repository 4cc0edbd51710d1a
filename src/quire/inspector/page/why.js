// Why the model saw an item or did not, in one request and in all; and the items of a scope with some words.

import { html } from "preact";
import { link, useData } from "quire/api.js";
import {
  Empty,
  Fate,
  Kind,
  Loaded,
  Tag,
  When,
  nameOfPlace,
  number,
  plural,
  readable,
  useKeys,
} from "quire/parts.js";

const LONGEST = 60;
const cut = (text) => (text.length > LONGEST ? `${text.slice(0, LONGEST - 1)}…` : text);

// A request is named by the question that it answers.
export const nameOfRequest = ({ version, question }) =>
  `${number(version)}${question ? ` “${cut(readable(question))}”` : ""}`;

const RequestLink = ({ address, request }) => html`
  <a class="link" dir="auto" href=${link(address, "request", { version: request.version })}>
    request ${nameOfRequest(request)}
  </a>
`;

const SeenCount = ({ address, why }) =>
  !why.requests
    ? "no request of this conversation was sent since"
    : why.seen_in
      ? html`
        seen in ${number(why.seen_in)} of ${plural(why.requests, "request")}, the last${" "}
        ${html`<${RequestLink} address=${address} request=${why.last} />`}
        ${why.since && html`; not since ${html`<${RequestLink} address=${address} request=${why.since} />`}`}
      `
      : html`seen in none of ${plural(why.requests, "request")} of this conversation`;

export function Why({ address, item, request }) {
  const state = useData("why", { address, item, request });
  return html`
    <${Loaded} state=${state} rows=${2}>
      ${(why) => html`
        <div class="why" role="note" aria-label="why">
          ${
            why.entry
              ? html`
                <p class="row wrap">
                  <${Fate} fate=${why.entry.fate} />
                  <span dir="auto">${readable(why.entry.reason)}</span>
                  <span class="muted">
                    in <${RequestLink} address=${address} request=${why.request} />, section${" "}
                    ${readable(why.entry.section)}
                  </span>
                </p>
              `
              : html`<p class="muted">${readable(why.fault)}</p>`
          }
          <p class="muted">
            <${SeenCount} address=${address} why=${why} />
          </p>
          ${why.elsewhere.map(
            (other) => html`
              <p class="muted" key=${other.address}>
                seen in ${plural(other.seen_in, "request")} of ${nameOfPlace(other.address)}, the last${" "}
                <${RequestLink} address=${other.address} request=${other.last} />
              </p>
            `,
          )}
        </div>
      `}
    </${Loaded}>
  `;
}

// The requests of another conversation that quoted an item.
const elsewhereWords = ({ address, seen_in, last }) =>
  `seen in ${plural(seen_in, "request")} of ${nameOfPlace(address)}, the last request ${nameOfRequest(last)}`;

// The requests in which the model saw an item: those of its conversation, then those of others.
const seenWords = (why) => [ownWords(why), ...why.elsewhere.map(elsewhereWords)].join("; ");

function ownWords({ seen_in, requests, first, last, since }) {
  if (!requests) return "no request of this conversation was sent since";
  if (!seen_in) return `seen in none of ${plural(requests, "request")} of this conversation`;
  const ends = [...new Set([first, last].map((request) => `request ${nameOfRequest(request)}`))];
  const from = ends.length > 1 ? `from ${ends.join(" to ")}` : ends[0];
  const until = since ? `; not since request ${nameOfRequest(since)}` : "";
  return `seen in ${number(seen_in)} of ${plural(requests, "request")}: ${from}${until}`;
}

export function Words({ words, within }) {
  const state = useData("words", { words, within });
  const root = useKeys("a.row-link");
  if (state.error)
    return html`
      <div class="panel">
        <${Empty} title="Nothing has these words">${state.error.message}</${Empty}>
      </div>
    `;
  return html`
    <${Loaded} state=${state}>
      ${(rows) => html`
        <div class="panel" ref=${root}>
          <ul class="plain" aria-label="items">
            ${rows.map(
              (why) => html`
                <li key=${why.item.id}>
                  <a
                    class="quote row-link"
                    href=${link(why.address, "transcript", {
                      item: why.item.id,
                      request: why.request?.version,
                    })}
                  >
                    <span class="row">
                      <${Kind} item=${why.item} />
                      <strong class="cut">
                        ${nameOfPlace(why.address)}
                      </strong>
                      ${
                        why.is_seen === null
                          ? ""
                          : html`
                            <${Tag} tone=${why.is_seen ? "good" : "warn"}>
                              ${why.is_seen ? "in the last request" : "not in the last request"}
                            </${Tag}>
                          `
                      }
                      <span class="grow" />
                      <${When} at=${why.item.at} />
                    </span>
                    <span class="text" dir="auto">${readable(why.item.text)}</span>
                    <span class="muted">${seenWords(why)}</span>
                  </a>
                </li>
              `,
            )}
          </ul>
        </div>
      `}
    </${Loaded}>
  `;
}
