// The shell: the address of the page, its header and tabs, and the view that is shown.
// An address is #/SOURCE/SCOPE%2FCONVERSATION/VIEW?params, so every view can be linked to.

import { html, render, useEffect, useState } from "preact";
import { can, follow, go, link, loadSources, selection, snapshot, sourceShown, useData } from "quire/api.js";
import { Export } from "quire/export.js";
import {
  Button,
  Cost,
  Dialog,
  Dot,
  Fault,
  Skeleton,
  Tag,
  isForPage,
  number,
  plural,
  readable,
} from "quire/parts.js";
import { Drop } from "quire/files.js";
import { VIEWS, Conversations } from "quire/views.js";

function readAddress() {
  const [path, query = ""] = location.hash.replace(/^#\/?/, "").split("?");
  const [source = "", address = "", view = ""] = path.split("/").map(decodeURIComponent);
  return {
    source,
    address: address || snapshot?.address || "",
    view: view || "transcript",
    params: Object.fromEntries(new URLSearchParams(query)),
  };
}

function tabs() {
  const source = sourceShown();
  return VIEWS.filter((view) => view.tab && (!view.isFor || view.isFor(source)));
}

function App() {
  const [address, setAddress] = useState(readAddress());
  const [sources, setSources] = useState({ rows: null, error: null });
  const [isHelping, setHelping] = useState(false);
  useEffect(() => {
    const move = () => setAddress(readAddress());
    addEventListener("hashchange", move);
    loadSources().then(
      (rows) => setSources({ rows, error: null }),
      (error) => setSources({ rows: null, error }),
    );
    return () => removeEventListener("hashchange", move);
  }, []);
  useEffect(() => {
    const press = (event) => {
      if (event.key === "Escape" && event.target.matches("input, textarea")) event.target.blur();
      if (!isForPage(event)) return;
      if (event.key === "?") setHelping(true);
      if (event.key === "/") {
        event.preventDefault();
        document.querySelector("[type=search]")?.focus();
      }
      const { address: shown, view } = readAddress();
      if (!shown) return;
      const above = VIEWS.find((each) => each.name === view)?.under;
      if (event.key === "Escape") go(above ? shown : "", above);
      const tab = /^[1-9]$/.test(event.key) && tabs()[event.key - 1];
      if (tab) go(shown, tab.name);
    };
    document.addEventListener("keydown", press);
    return () => document.removeEventListener("keydown", press);
  }, []);
  if (sources.error)
    return html`
      <main class="main">
        <${Fault} error=${sources.error} />
      </main>
    `;
  if (!sources.rows)
    return html`
      <main class="main">
        <${Skeleton} />
      </main>
    `;
  const names = selection.sources.map((source) => source.name);
  selection.source = names.includes(address.source) ? address.source : (names[0] ?? "");
  const setParams = (params) => go(address.address, address.view, { ...address.params, ...params });
  const key = `${selection.source}/${address.address}`;
  return html`
    ${
      address.address
        ? html`<${Conversation} key=${key} ...${address} setParams=${setParams} />`
        : html`
          <${Header} />
          <main class="main">
            <${Conversations}
              key=${key}
              params=${address.params}
              setParams=${setParams}
              sources=${selection.sources}
            />
          </main>
        `
    }
    <${Drop} />
    ${isHelping && html`<${Help} onClose=${() => setHelping(false)} />`}
  `;
}

const Header = ({ children, actions }) => html`
  <header class="top">
    <a class="brand" href=${link("")} aria-label="All conversations">
      <svg viewBox="0 0 16 16" width="18" height="18" aria-hidden="true">
        <rect width="16" height="16" rx="4" class="tone-accent" />
        <path d="M4 4.5h8M4 8h8M4 11.5h4.5" class="brand-lines" />
      </svg>
      <span>Quire</span>
    </a>
    ${children}
    <div class="grow" />
    ${actions}
    ${
      snapshot
        ? html`<${Tag}>export of ${new Date(snapshot.at * 1000).toISOString().slice(0, 10)}</${Tag}>`
        : !can.write && html`<${Tag} title=${can.reason}>read-only</${Tag}>`
    }
  </header>
`;

function Conversation({ source, address, view, params, setParams }) {
  const [isLive, setLive] = useState(false);
  const [isExporting, setExporting] = useState(false);
  const { data: head, error } = useData("conversation", { address });
  useEffect(() => {
    let timer;
    const stop = follow({ address }, () => {
      setLive(true);
      clearTimeout(timer);
      timer = setTimeout(() => setLive(false), 5000);
    });
    return () => {
      stop();
      clearTimeout(timer);
    };
  }, [source, address]);
  const shown = VIEWS.find((each) => each.name === view) ?? VIEWS[0];
  const [scope, name] = address.split("/").map((part) => {
    try {
      return decodeURIComponent(part);
    } catch {
      return part;
    }
  });
  return html`
    <${Header}
      actions=${
        !snapshot &&
        head &&
        html`
          <${Button} title="Save this conversation as one file" onClick=${() => setExporting(true)}>
            Export
          </${Button}>
        `
      }
    >
      <nav class="crumbs" aria-label="address">
        <span class="muted crumb">${readable(scope || "no scope")}</span>
        <span class="muted">/</span>
        <h1 dir="auto">${readable(name ?? "")}</h1>
        ${isLive && html`<${Dot} label="changed just now" />`}
      </nav>
      ${
        head &&
        html`
          <div class="crumb-figures muted">
            <span title="entries of the log">version ${number(head.version)}</span>
            <span>${plural(head.spending.tokens, "token")} spent</span>
            <span title="requests, and the writing of summaries"><${Cost} spent=${head.spending} /></span>
          </div>
        `
      }
    </${Header}>
    <nav class="tabs" aria-label="views">
      ${tabs().map(
        (tab) => html`
          <a
            key=${tab.name}
            href=${link(address, tab.name)}
            aria-current=${tab === shown || tab.name === shown.under ? "page" : undefined}
          >
            ${tab.tab}
            ${
              head?.counts?.[tab.name]
                ? html`<span class="count">${number(head.counts[tab.name])}</span>`
                : ""
            }
          </a>
        `,
      )}
    </nav>
    <main class="main">
      ${
        error
          ? html`<${Fault} error=${error} />`
          : html`
            <${shown.view}
              key=${shown.name}
              address=${address}
              params=${params}
              setParams=${setParams}
              head=${head}
            />
          `
      }
    </main>
    ${
      isExporting &&
      html`
        <${Export}
          address=${address}
          view=${shown.name}
          params=${params}
          head=${head}
          onClose=${() => setExporting(false)}
        />
      `
    }
  `;
}

const KEYS = [
  ["/", "search"],
  ["j  k", "next, previous row"],
  ["Enter", "open the row"],
  ["1 … 6", "tabs of a conversation"],
  ["← →", "earlier, later version on the time slider"],
  ["Esc", "back"],
  ["?", "this list"],
];

const Help = ({ onClose }) => html`
  <${Dialog} label="Keys" onClose=${onClose}>
    <h2>Keys</h2>
    <dl class="keys">
      ${KEYS.map(
        ([key, text]) => html`
          <div key=${key}>
            <dt>
              <kbd>${key}</kbd>
            </dt>
            <dd>${text}</dd>
          </div>
        `,
      )}
    </dl>
    <button type="button" class="button is-plain" onClick=${onClose}>Close</button>
  </${Dialog}>
`;

render(html`<${App} />`, document.getElementById("page"));
