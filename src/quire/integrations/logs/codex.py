"""Sessions of Codex: `~/.codex/sessions/<year>/<month>/<day>/rollout-*.jsonl`.

The format is not documented; it was learned from `codex-rs/protocol` in openai/codex, public files of 2025
and 2026, and from what version 0.169 resumes. Each line has a time, a type and a payload. The payloads of
`response_item` are the items of a request; `event_msg` repeats them for the screen. `compacted` has what
stands for all before it.
"""

from collections import Counter
from collections.abc import Sequence

from quire.integrations.logs.conversation import (
    Conversation,
    Entry,
    Json,
    Log,
    Record,
    Target,
    Used,
    Window,
    Written,
    moment,
    timestamp,
)
from quire.integrations.logs.windows import conversation_of
from quire.items import Item
from quire.providers import entries_in, fields_in, text_in, usage_from

_CODEX = ("session_meta", "response_item", "turn_context", "event_msg", "compacted")
_CODEX_OWN = ("internal_chat_message_metadata_passthrough", "metadata")
"""Fields of an item that Codex keeps for itself."""


# Reading


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


# Writing

_EVENTS = {"user": "user_message", "assistant": "agent_message"}
"""What shows a message on the screen of a session that is resumed."""


def write_codex(items: Sequence[Item], target: Target) -> Written:
    """A session that `codex resume` takes up; instructions at the start are those of the session."""
    one, lost = conversation_of(items, "openai-responses", target)
    session = target.session_id
    time = timestamp(next((entry.time for window in one.windows for entry in window.entries), None))
    meta: Json = {"id": session, "timestamp": time, "cwd": target.folder, "originator": "quire"}
    meta |= {"cli_version": "0.0.0", "source": "cli"}
    if text := one.head.get("instructions"):
        meta["base_instructions"] = {"text": text}
    lines = [_line(time, "session_meta", meta)]
    if model := one.head.get("model"):
        settings = {"approval_policy": "on-request", "sandbox_policy": {"type": "read-only"}}
        context = {"cwd": target.folder, **settings, "model": model, "summary": "auto"}
        lines.append(_line(time, "turn_context", context))
    for window in one.windows:
        messages = [_stored(entry.message) for entry in window.entries]
        if window.replacing:
            history = messages[: window.replacing]
            time = timestamp(window.entries[window.replacing - 1].time)
            lines.append(_line(time, "compacted", {"message": "", "replacement_history": history}))
        for entry, message in list(zip(window.entries, messages, strict=True))[window.replacing :]:
            time = lines[-1]["timestamp"] if entry.time is None else timestamp(entry.time)
            lines.append(_line(time, "response_item", message))
            text = "\n".join(
                text_in(fields_in(part).get("text")) for part in entries_in(message.get("content"))
            )
            if event := _EVENTS.get(text_in(message.get("role"))):
                lines.append(_line(time, "event_msg", {"type": event, "message": text}))
    name = f"{lines[0]['timestamp'][:10].replace('-', '/')}/rollout-{_named(lines[0])}-{session}.jsonl"
    hint = f"put it at ~/.codex/sessions/{name}, then run: codex resume {session}"
    return Written(lines, lost, hint, has_lines=True)


def _named(line: Json) -> str:
    return str(line["timestamp"])[:19].replace(":", "-")


def _line(time: str, kind: str, payload: Json) -> Json:
    return {"timestamp": time, "type": kind, "payload": payload}


def _stored(message: Json) -> Json:
    """An item of a request as Codex stores it: the content of a message is a list of parts."""
    content = message.get("content")
    if message.get("role") == "system":
        message = {**message, "role": "developer"}  # the API has both, and Codex this one
    if not isinstance(content, str) or "role" not in message:
        return {"type": "message", **message} if "role" in message else message
    kind = "output_text" if message["role"] == "assistant" else "input_text"
    return {"type": "message", **message, "content": [{"type": kind, "text": content}]}
