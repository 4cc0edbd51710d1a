"""Answers that are to be values of a type: one that is not is shown its fault, and asked again."""

from quire.agent.loop import Loop
from quire.agent.reply import Reply
from quire.agent.shapes import Shape
from quire.errors import InvalidValue, ModelFailed
from quire.items import Message

_TRIES = 3


async def in_shape(loop: Loop, shape: Shape | None, reply: Reply) -> Reply:
    """The reply with the value that was asked for; `ModelFailed` where none came of several tries."""
    if shape is None or reply.stop != "done":
        return reply
    for _ in range(_TRIES - 1):
        try:
            return reply._replace(output=shape.read(reply.text))
        except InvalidValue as fault:
            words = f"That is not what was asked for: {fault}. Give it again, as JSON and nothing else."
            await loop.session.say(Message("user", words, extras={"correction": True}))
            reply = await loop.run()
            if reply.stop != "done":
                return reply
    try:
        return reply._replace(output=shape.read(reply.text))
    except InvalidValue as fault:
        raise ModelFailed(f"{loop.speaker.model.name} gave no {shape.name} in {_TRIES} tries") from fault
