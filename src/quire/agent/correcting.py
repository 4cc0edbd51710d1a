"""Answers that are to be values of a type: one that is not is shown its fault, and asked again."""

from quire.agent.answer_types import AnswerType
from quire.agent.loop import Loop
from quire.agent.reply import Reply
from quire.errors import InvalidValue, ModelFailed
from quire.items import Message

_TRIES = 3


async def as_value(loop: Loop, kind: AnswerType | None, reply: Reply) -> Reply:
    """The reply with the value that was asked for; `ModelFailed` where none came of several tries."""
    for left in reversed(range(_TRIES)):
        if kind is None or reply.stop != "done":
            break
        try:
            return reply._replace(output=kind.read(reply.text))
        except InvalidValue as fault:
            if not left:
                model = loop.speaker.model.name
                raise ModelFailed(f"{model} gave no {kind.name} in {_TRIES} tries") from fault
            words = f"That is not what was asked for: {fault}. Give it again, as JSON and nothing else."
            await loop.session.aio.append(Message("user", words, extras={"correction": True}))
            reply = await loop.run()
    return reply
