"""Models by name over the official SDKs, a scripted one for tests, and one that runs on this machine."""

from quire.models.answers import Answering, Delta, answer_text as answer_text
from quire.models.clients import PerLoop as PerLoop, Retries, Timeouts, noting_retries as noting_retries
from quire.models.local import Local
from quire.models.model import AnyModel, Asked, Asks, ChatReply, asking, shape_of as shape_of, summarized
from quire.models.named import ALIASES, LOCAL as LOCAL, Model, model_of as model_of, read_name as read_name
from quire.models.requests import (
    AnswerShape as AnswerShape,
    Terms,
    schema_message as schema_message,
    shape_for as shape_for,
)
from quire.models.scripted import Reply, Script, Scripted, scripted_answer as scripted_answer

__all__ = [
    "ALIASES",
    "Answering",
    "AnyModel",
    "Asked",
    "Asks",
    "ChatReply",
    "Delta",
    "Local",
    "Model",
    "Reply",
    "Retries",
    "Script",
    "Scripted",
    "Terms",
    "Timeouts",
    "asking",
    "summarized",
]
