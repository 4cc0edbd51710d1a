"""Sessions of coding agents: Claude Code and Codex.

Neither format is documented; both were learned from public files and readers of 2025 and 2026, and from
`codex-rs/protocol` in openai/codex.
"""

from collections import Counter

from quire.integrations.logs.conversation import (
    Conversation,
    Entry,
    Json,
    Log,
    Record,
    Used,
    Window,
    moment,
)
from quire.providers import entries_in, fields_in, text_in, usage_from

# Claude Code: ~/.claude/projects/<project>/<session>.jsonl
#
# A line has a `uuid` and the `parentUuid` before it, so the lines are a tree: an edited question begins a
# branch. A compaction is a line without a parent, `compact_boundary`, followed by a summary. The lines of a
# sub-agent are marked `isSidechain`; newer versions keep them in files of their own.


def is_claude_code(records: list[Record]) -> bool:
    """Whether these are lines of Claude Code."""
    return any("message" in record and "uuid" in record for _, record in records)


def read_claude_code(records: list[Record]) -> Log:
    """The session as one conversation, and each sub-agent in it as another."""
    left_out, chains, chain_of = Counter[str](), dict[str, list[Record]](), dict[str, str]()
    for number, record in records:
        own_id, parent = text_in(record.get("uuid")), text_in(record.get("parentUuid"))
        agent = text_in(record.get("agentId")) or chain_of.get(parent) or own_id
        chain = agent if record.get("isSidechain") else ""
        chain_of[own_id] = chain
        if record.get("type") in ("user", "assistant") or record.get("subtype") == "compact_boundary":
            chains.setdefault(chain, []).append((number, record))
        else:
            left_out[f"of type {record.get('type')}"] += 1
    found = [_claude_chain(chain, left_out) for chain in chains.values()]
    return Log(
        "claude-code", "a log of Claude Code", [one for one in found if one.windows[-1].entries], left_out
    )


def _claude_chain(records: list[Record], left_out: Counter[str]) -> Conversation:
    path, head, windows = _claude_path(records), Json(), [Window([])]
    ends, is_compacted, used = dict[str, int](), False, dict[str, Used]()
    for _, record in records:
        message, entries = fields_in(record.get("message")), windows[-1].entries
        own_id, time = text_in(record.get("uuid")), moment(record.get("timestamp"))
        model, answer = text_in(message.get("model")), text_in(message.get("id"))
        if usage := usage_from("anthropic", fields_in(message.get("usage"))):
            used[answer or own_id] = Used(model, usage, time)  # each line of an answer has all so far
        if own_id not in path:
            left_out["on an abandoned branch"] += 1
        elif record.get("isApiErrorMessage"):
            left_out["of an API error"] += 1
        elif record.get("subtype") == "compact_boundary":
            is_compacted = True
        else:
            if entries and (is_compacted or record.get("isCompactSummary")):
                entries, ends = [], {}
                windows.append(Window(entries, 1))
            is_compacted = False
            head |= {"model": model} if model and model != "<synthetic>" else {}
            plain = {"role": message.get("role"), "content": message.get("content")}
            # The blocks of one answer are on lines of their own, between which results may stand.
            at = ends.get(answer, len(entries)) if answer else len(entries)
            entries.insert(at, Entry(plain, own_id, time))
            ends[answer] = at + 1
    return Conversation("anthropic", windows, head, records[0][0], used=[*used.values()])


def _claude_path(records: list[Record]) -> set[str]:
    """The ids of the lines from the last one back to the first, and of all parts of the answers on the way.

    The results of parallel calls are siblings: the parents alone lead past all but one of them.
    """
    by_id = {text_in(record.get("uuid")): record for _, record in records}
    path, current = set[str](), list(by_id)[-1]
    while current in by_id and current not in path:
        path.add(current)
        line = by_id[current]
        current = text_in(line.get("parentUuid")) or text_in(line.get("logicalParentUuid"))
    messages = {own_id: fields_in(record.get("message")) for own_id, record in by_id.items()}
    answers = {text_in(messages[own_id].get("id")) for own_id in path} - {""}
    calls = set[str]()
    for own_id, message in messages.items():
        blocks = [fields_in(block) for block in entries_in(message.get("content"))]
        if own_id in path or text_in(message.get("id")) in answers:
            calls |= {text_in(block.get("id")) for block in blocks if block.get("type") == "tool_use"}
            path.add(own_id)
        elif any(text_in(block.get("tool_use_id")) in calls for block in blocks if "tool_use_id" in block):
            path.add(own_id)
    return path


# Codex: ~/.codex/sessions/<year>/<month>/<day>/rollout-*.jsonl
#
# Each line has a time, a type and a payload. The payloads of `response_item` are the items of a request;
# `event_msg` repeats them for the screen. `compacted` holds what stands for all before it.

_CODEX = ("session_meta", "response_item", "turn_context", "event_msg", "compacted")
_CODEX_OWN = ("internal_chat_message_metadata_passthrough", "metadata", "phase")
"""Fields of an item that Codex keeps for itself."""


def is_codex(records: list[Record]) -> bool:
    """Whether these are lines of Codex."""
    return any(record.get("type") in _CODEX and "payload" in record for _, record in records)


def read_codex(records: list[Record]) -> Log:
    """The session as one conversation."""
    windows, head, left_out, used = [Window([])], Json(), Counter[str](), list[Used]()
    for _, record in records:
        kind, payload = record.get("type"), fields_in(record.get("payload"))
        entries, time = windows[-1].entries, moment(record.get("timestamp"))
        if kind == "session_meta":
            told = fields_in(payload.get("base_instructions")).get("text") or payload.get("instructions")
            head = {"instructions": told, **head} if told else head
        elif kind == "turn_context":
            head |= {"model": model} if (model := text_in(payload.get("model"))) else {}
        elif kind == "response_item" and payload.get("type") != "ghost_snapshot":
            entries.append(Entry(_codex_item(payload), None, time))
        elif kind == "compacted":
            summary = {"type": "message", "role": "user", "content": payload.get("message")}
            items = entries_in(payload.get("replacement_history")) or [summary]
            kept = [Entry(_codex_item(fields_in(item)), None, time) for item in items]
            windows.append(Window(kept, len(kept)))
        elif payload.get("type") == "thread_rolled_back":
            turns, count = [], payload.get("num_turns")
            if isinstance(count, int) and count > 0:
                turns = [at for at, entry in enumerate(entries) if _is_question(entry.message)][-count:]
            start = turns[0] if turns else len(entries)
            left_out["rolled back"] += len(entries) - start
            del entries[start:]
        else:
            last = fields_in(fields_in(payload.get("info")).get("last_token_usage"))
            if usage := usage_from("openai-responses", last):
                used.append(Used(text_in(head.get("model")), usage, time))
            left_out[f"of type {payload.get('type') if kind == 'response_item' else kind}"] += 1
    conversation = Conversation("openai-responses", windows, head, used=used)
    return Log("codex", "a log of Codex", [conversation] if windows[-1].entries else [], +left_out)


def _codex_item(payload: Json) -> Json:
    item = {name: value for name, value in payload.items() if value is not None and name not in _CODEX_OWN}
    output = fields_in(item.get("output"))
    return {**item, "output": output.get("content", "")} if output else item


def _is_question(message: Json) -> bool:
    """Whether the user wrote a message; Codex adds others, which begin with a tag or a title."""
    texts = [str(fields_in(part).get("text")) for part in entries_in(message.get("content"))]
    return message.get("role") == "user" and not "".join(texts).startswith(("<", "# AGENTS"))
