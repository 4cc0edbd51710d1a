"""Sessions of Claude Code: `~/.claude/projects/<folder>/<session id>.jsonl`.

The format is not documented. Sources: public files and readers of 2025 and 2026, and tests with version 2.1.
A line has a `uuid` and the `parentUuid` of the line before it, so the lines are a tree: an edited question
begins a branch. A compaction is a line `compact_boundary` without a parent, followed by a summary. The lines
of a sub-agent are marked `isSidechain`; newer versions write them to files of their own.
"""

from collections import Counter
from collections.abc import Sequence
from re import sub

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
from quire.items import Item, instructions_in_turn
from quire.providers import Downgrade, entries_in, fields_in, text_in, usage_from

_NO_MODEL = "<synthetic>"
"""The model name in messages written by Claude Code itself; the session continues with the user's model."""

# Reading


def is_claude_code(records: list[Record]) -> bool:
    """Whether these are lines of Claude Code."""
    return any("message" in record and "uuid" in record for _, record in records)


def read_claude_code(records: list[Record]) -> Log:
    """The session as one conversation, and each sub-agent in it as another."""
    # The key of the main agent is the empty text.
    left_out, records_by_agent, agent_by_id = Counter[str](), dict[str, list[Record]](), dict[str, str]()
    parent_by_id = dict[str, str]()  # also for lines that are no messages, such as attachments
    for number, record in records:
        own_id, parent = text_in(record.get("uuid")), text_in(record.get("parentUuid"))
        parent_by_id[own_id] = parent or text_in(record.get("logicalParentUuid"))
        sub_agent = text_in(record.get("agentId")) or agent_by_id.get(parent) or own_id
        agent = agent_by_id[own_id] = sub_agent if record.get("isSidechain") else ""
        if record.get("type") in ("user", "assistant") or record.get("subtype") == "compact_boundary":
            records_by_agent.setdefault(agent, []).append((number, record))
        else:
            left_out[f"of type {record.get('type')}"] += 1
    conversations = [_read_agent(lines, parent_by_id, left_out) for lines in records_by_agent.values()]
    filled = [conversation for conversation in conversations if conversation.windows[-1].entries]
    return Log("claude-code", "a log of Claude Code", filled, left_out)


def _read_agent(records: list[Record], parent_by_id: dict[str, str], left_out: Counter[str]) -> Conversation:
    branch_ids, head, windows = _current_branch(records, parent_by_id), Json(), [Window([])]
    end_by_answer, is_compacted, used_by_answer = dict[str, int](), False, dict[str, Used]()
    for _, record in records:
        message, entries = fields_in(record.get("message")), windows[-1].entries
        own_id, time = text_in(record.get("uuid")), moment(record.get("timestamp"))
        model, answer = text_in(message.get("model")), text_in(message.get("id"))
        if usage := usage_from("anthropic", fields_in(message.get("usage"))):
            used_by_answer[answer or own_id] = Used(model, usage, time)  # the last line has the whole usage
        if own_id not in branch_ids:
            left_out["on an abandoned branch"] += 1
        elif record.get("isApiErrorMessage"):
            left_out["of an API error"] += 1
        elif record.get("subtype") == "compact_boundary":
            is_compacted = True
        else:
            if entries and (is_compacted or record.get("isCompactSummary")):
                entries, end_by_answer = [], {}
                windows.append(Window(entries, 1))
            is_compacted = False
            head |= {"model": model} if model and model != _NO_MODEL else {}
            plain = {"role": message.get("role"), "content": message.get("content")}
            # Each block of an answer has a line of its own; lines of results may be between them.
            index = end_by_answer.get(answer, len(entries)) if answer else len(entries)
            entries.insert(index, Entry(plain, own_id, time))
            end_by_answer[answer] = index + 1
    return Conversation("anthropic", windows, head, records[0][0], used=[*used_by_answer.values()])


def _current_branch(records: list[Record], parent_by_id: dict[str, str]) -> set[str]:
    """The ids of the last line, its ancestors, all lines of their answers, and the results of their calls.

    Results of parallel calls are siblings in the tree, so only one of them is an ancestor.
    """
    record_by_id = {text_in(record.get("uuid")): record for _, record in records}
    branch_ids, current = set[str](), list(record_by_id)[-1]
    while current and current in parent_by_id and current not in branch_ids:
        branch_ids.add(current)
        current = parent_by_id[current]
    messages = {own_id: fields_in(record.get("message")) for own_id, record in record_by_id.items()}
    answers = {text_in(messages[own_id].get("id")) for own_id in branch_ids & messages.keys()} - {""}
    calls = set[str]()
    for own_id, message in messages.items():
        blocks = [fields_in(block) for block in entries_in(message.get("content"))]
        if own_id in branch_ids or text_in(message.get("id")) in answers:
            calls |= {text_in(block.get("id")) for block in blocks if block.get("type") == "tool_use"}
            branch_ids.add(own_id)
        elif any(text_in(block.get("tool_use_id")) in calls for block in blocks if "tool_use_id" in block):
            branch_ids.add(own_id)
    return branch_ids


# Writing


def write_claude_code(items: Sequence[Item], target: Target) -> Written:
    """A session for `claude --resume`."""
    conversation, downgrades = conversation_of(items, "anthropic", target)
    writer = _Lines(target, conversation.head.get("model") or _NO_MODEL)
    for number, window in enumerate(conversation.windows):
        if number and window.entries:
            writer.add_boundary(window)
        for index, entry in enumerate(window.entries):
            writer.add(entry, is_summary=bool(number and index == 0))
    reason = "Claude Code leaves out a call without a result when it resumes"
    downgrades += [Downgrade(own_id, "call_left_out", reason) for own_id in writer.open_calls.values()]
    project, session = sub("[^A-Za-z0-9]", "-", target.folder), target.session_id
    hint = f"put it at ~/.claude/projects/{project}/{session}.jsonl, then run: claude --resume {session}"
    return Written(writer.lines, downgrades, hint, has_lines=True)


class _Lines:
    """Builds the lines of a session. `open_calls` has, by call id, the ids of items with an open call."""

    def __init__(self, target: Target, model: str) -> None:
        self.lines, self.open_calls = list[Json](), dict[str, str | None]()
        self._model, self._answer_id = model, ""
        self._common: Json = {"isSidechain": False, "userType": "external", "cwd": target.folder}
        self._common |= {"sessionId": target.session_id, "version": "2.1.0"}

    def add_boundary(self, window: Window) -> None:
        """Add the line of a compaction. Claude Code reads only the lines after it."""
        first = window.entries[0]
        parent = self.lines[-1]["uuid"] if self.lines else None
        self._add(
            "system",
            Entry({}, f"{first.id or parent}-compaction", first.time),
            parentUuid=None,
            logicalParentUuid=parent,
            subtype="compact_boundary",
            content="Conversation compacted",
            level="info",
            compactMetadata={"trigger": "auto"},
        )

    def add(self, entry: Entry, *, is_summary: bool) -> None:
        """Add a message; the lines of one answer share its id."""
        role, content = text_in(entry.message["role"]), entries_in(entry.message["content"])
        blocks = [fields_in(block) for block in content]
        for block in blocks:
            if block.get("type") == "tool_use":
                self.open_calls[text_in(block.get("id"))] = entry.id
            self.open_calls.pop(text_in(block.get("tool_use_id")), None)
        message: Json = {"role": role, "content": content}
        if role == "assistant":
            self._answer_id = self._answer_id or f"msg_{entry.id or len(self.lines)}"
            message = {"id": self._answer_id, "type": "message", "model": self._model, **message}
            self._add(role, entry, message=message)
            return
        if len(blocks) == 1 and (text := text_in(blocks[0].get("text"))):
            message["content"] = text if role == "user" else instructions_in_turn(text)
        self._answer_id = ""
        flags = {"isCompactSummary": True, "isVisibleInTranscriptOnly": True} if is_summary else {}
        self._add("user", entry, message=message | {"role": "user"}, **flags)

    def _add(self, kind: str, entry: Entry, **fields: object) -> None:
        parent = self.lines[-1]["uuid"] if self.lines else None
        own_id = entry.id or f"{parent or self._common['sessionId']}-{len(self.lines)}"
        line = {"parentUuid": parent, **self._common, "type": kind, "uuid": own_id, **fields}
        self.lines.append(line | {"timestamp": timestamp(entry.time)})
