"""Who answers: models by name, one that follows a script, and one that runs on this machine."""

from quire.models.aliases import ALIASES, Alias
from quire.models.answering import Answering, Delta
from quire.models.chat import ChatReply
from quire.models.local import Local
from quire.models.model import AnyModel, Asks
from quire.models.named import Model
from quire.models.patience import Patience, Retries
from quire.models.replies import Reply
from quire.models.scripted import Script, Scripted
from quire.models.summarizing import asking, compact, summarized
from quire.models.terms import Terms

__all__ = [
    "ALIASES",
    "Alias",
    "Answering",
    "AnyModel",
    "Asks",
    "ChatReply",
    "Delta",
    "Local",
    "Model",
    "Patience",
    "Reply",
    "Retries",
    "Script",
    "Scripted",
    "Terms",
    "asking",
    "compact",
    "summarized",
]
