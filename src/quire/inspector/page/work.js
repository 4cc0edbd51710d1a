// Open work: the jobs of a service that wait or run, and the calls that wait for a person, as they happen.

import { html, useState } from "preact";
import { can, link, post, useData } from "quire/api.js";
import { Button, Panel, Tag, When, dateOf, nameOfPlace, number, plural, readable } from "quire/parts.js";

const JOBS = {
  waiting: ["plain", "It waits for its turn."],
  running: ["accent", "A process does it now."],
  cancelled: ["warn", "It was cancelled: a running job ends before its next request or call."],
  failed: ["bad", "It ended with an error."],
  ended: ["good", "Its turn has ended."],
};
const CALLS = {
  waiting: ["accent", "waits for a person"],
  foreign: ["warn", "waits for a person"],
  approved: ["good", "approved: it runs with the agent's next turn"],
  uncertain: ["warn", "may have been done"],
};
const State = ({ sort, name }) => {
  const [tone, title] = (sort === "call" ? CALLS : JOBS)[name];
  return html`<${Tag} tone=${tone} title=${title}>${sort} ${name}</${Tag}>`;
};

// Buttons that change something, and the error of the last press. A read-only source disables them. Verbs are
// [text of the button, tone, name of the request, its body].
function Verbs({ verbs }) {
  const [error, setError] = useState(null);
  const title = can.write ? undefined : can.reason;
  const press = (name, body) => () => post(name, body).then(() => setError(null), setError);
  return html`
    <span class="row work-verbs">
      ${verbs.map(
        ([text, tone, name, body]) => html`
          <${Button}
            key=${text}
            tone=${tone}
            disabled=${!can.write}
            title=${title}
            onClick=${press(name, body)}
          >
            ${text}
          </${Button}>
        `,
      )}
    </span>
    ${error && html`<span class="bad work-error" role="alert">${readable(error.message)}</span>`}
  `;
}

const cancelOf = (address, { job, state }) =>
  ["waiting", "running"].includes(state) ? [["Cancel", "plain", "cancel", { address, job }]] : [];
const beginsLater = ({ not_before }) => not_before > Date.now() / 1000;
const beginning = (job) => (beginsLater(job) ? `begins ${dateOf(job.not_before)}` : "");

// On the first page: what is open in all conversations. If nothing is open, nothing is shown.
export function OpenWork() {
  const { data } = useData("open");
  if (!data || !(data.jobs.length || data.calls.length)) return null;
  const { jobs, calls } = data;
  const note = [calls.length && plural(calls.length, "call"), jobs.length && plural(jobs.length, "job")];
  return html`
    <${Panel} title="Now" note=${note.filter(Boolean).join(", ")} id="now">
      <ul class="plain" aria-label="open work">
        ${calls.map((step) => html`<${OpenCall} key=${step.call.id} step=${step} />`)}
        ${jobs.map((job) => html`<${OpenJob} key=${`${job.address}~${job.job}`} job=${job} />`)}
      </ul>
      ${data.has_more && html`<p class="panel-body muted">and more</p>`}
    </${Panel}>
  `;
}

const Where = ({ address }) => html`
  <a class="link cut" dir="auto" href=${link(address, "steps")}>
    ${nameOfPlace(address)}
  </a>
`;

function OpenCall({ step: { address, call, status } }) {
  const decide = (verdict) => ["decide", { address, id: call.id, verdict }];
  const verbs = { approved: [["Refuse", "bad", ...decide(false)]], uncertain: [] }[status] ?? [
    ["Refuse", "bad", ...decide(false)],
    ["Approve", "primary", ...decide(true)],
  ];
  return html`
    <li class="work">
      <${State} sort="call" name=${status} />
      <${Where} address=${address} />
      <span class="cut work-text" dir="auto">
        <code>${readable(call.name)}</code>${" "}
        <code class="muted">${readable(call.text.slice(0, 200))}</code>
      </span>
      <${When} at=${call.at} />
      <${Verbs} verbs=${verbs} />
    </li>
  `;
}

const OpenJob = ({ job }) => html`
  <li class="work">
    <${State} sort="job" name=${job.state} />
    <${Where} address=${job.address} />
    <span class="cut work-text" dir="auto">
      ${readable(job.question) || html`<span class="muted">goes on with what is decided</span>`}
      <span class="muted"> ${beginning(job)}</span>
    </span>
    <${When} at=${job.at} />
    <${Verbs} verbs=${cancelOf(job.address, job)} />
  </li>
`;

// In a conversation: its jobs, the open ones first, then those that ended, newest first.
export function Jobs({ address }) {
  const { data } = useData("jobs", { address });
  if (!data?.jobs.length) return null;
  return html`
    <${Panel} title="Jobs" note=${data.next ? `the newest ${number(data.jobs.length)}` : ""}>
      <ul class="plain" aria-label="jobs">
        ${data.jobs.map(
          (job) => html`
            <li key=${job.job} class="work">
              <${State} sort="job" name=${job.state} />
              <code class="cut">${readable(job.job)}</code>
              <span class="cut work-text">
                ${readable(job.error || job.stop || beginning(job))}
              </span>
              ${
                job.version &&
                html`
                  <a class="link" href=${link(address, "transcript", { at: job.version })}>
                    version ${number(job.version)}
                  </a>
                `
              }
              <${Verbs} verbs=${cancelOf(address, job)} />
            </li>
          `,
        )}
      </ul>
    </${Panel}>
  `;
}
