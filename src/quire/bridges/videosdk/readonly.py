"""A context that is looked at and not changed."""

from collections.abc import Sequence
from typing import Any, NoReturn

from quire.bridges.videosdk.context import ChatContext
from quire.bridges.videosdk.items import ChatItem
from quire.bridges.videosdk.keeping import ShownItems
from quire.state import Transcript


class ReadOnlyChatContext(ChatContext):
    """Another context as it is at any time, also after it was shortened or emptied.

    What would change it raises `RuntimeError`; copies and forks are ordinary contexts. It is made of a
    context or of its `items`; a list that no context showed makes one that never changes.
    """

    def __init__(self, items: ChatContext | Sequence[ChatItem]) -> None:
        if isinstance(items, ChatContext):
            self._kept = items._kept
        elif isinstance(items, ShownItems):
            self._kept = items.kept
        else:
            super().__init__(items)

    @property
    def transcript(self) -> Transcript:
        """Not given away: it can be written to."""
        self._refuse()

    def _refuse(self, *_args: Any, **_kwargs: Any) -> NoReturn:
        raise RuntimeError("this chat context is read-only; change a copy or a fork of it")

    async def _refuse_later(self, *_args: Any, **_kwargs: Any) -> NoReturn:
        self._refuse()

    add_message = add_function_call = add_function_output = add_handoff = add_config_update = _refuse
    insert = insert_many = truncate = cleanup = _refuse
    merge = merge_result = merge_with_summary = summarize = _refuse_later
