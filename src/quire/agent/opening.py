"""What a turn begins with, on the record: what the user says, or what is decided of calls that wait."""

from collections.abc import Awaitable, Callable, Mapping, Sequence

from quire.agent.acting import Acting
from quire.agent.loop import Loop
from quire.agent.recovering import check_forgotten, check_tools, decided, heard, last_answer, left_behind
from quire.items import Message, ToolCall

Opening = Callable[[Loop, Acting], Awaitable[Sequence[ToolCall] | None]]
"""Puts on the record what a turn begins with; the calls to be run first, or none where all is done."""

Decisions = Mapping[str, bool | str]
"""Of calls that wait, by their ids, whether they may be run; a text refuses with the reason."""


def hearing(message: Message) -> Opening:
    """Begin with what the user says."""

    async def opening(loop: Loop, acting: Acting) -> Sequence[ToolCall]:
        return await heard(loop.session, loop.speaker, message)

    return opening


def deciding(decisions: Decisions) -> Opening:
    """Begin with what was left, and with what is decided of it."""

    async def opening(loop: Loop, acting: Acting) -> Sequence[ToolCall] | None:
        if decisions:
            await loop.session.aio.refresh()
            check_forgotten(loop.session, decisions)
            check_tools(loop.session, loop.speaker, decisions)
        left = await left_behind(loop.session, loop.speaker)
        acting.decided.update(decided(left, decisions, loop.speaker))
        answer = None if left else last_answer(loop.session.view())
        if answer is not None:
            loop.items.append(answer)
            return None
        return left

    return opening
