"""Results that hooks refuse: neither the record nor the program has anything of them."""

import pytest

from quire import Session, ToolResult
from quire.agent import tool
from quire.models import Scripted
from quire.programs import Coder, Task
from quire.session import Adding, hook
from quire.stores import MemoryStore
from tests.programs.coding import assert_whole, fenced, run, said

WORDS = "The result of this call was refused by a hook: ValueError."
CAUGHT = "try:\n    output = await pay(card)\nexcept Exception as error:\n    output = f'failed: {error}'"
UNCAUGHT = "output = await pay(card)"


@pytest.mark.parametrize("programs", [[CAUGHT], [UNCAUGHT, CAUGHT]], ids=["caught", "by the next program"])
@pytest.mark.parametrize("fails", [False, True])
def test_the_program_hears_that_it_was_refused_and_the_call_is_made_once(
    programs: list[str], fails: bool
) -> None:
    paid: list[str] = []

    @tool
    async def pay(card: str) -> str:
        """Pay."""
        paid.append(card)
        if fails:
            raise RuntimeError("no money on 4111")
        return "paid with 4111"

    @hook(Adding)
    async def refuse_cards(event: Adding) -> None:
        if any(isinstance(item, ToolResult) and "4111" in item.text for item in event.items):
            raise ValueError("it was 4111")

    async def work() -> None:
        session = Session.open("ana/one", store=MemoryStore(), hooks=[refuse_cards])
        coder = Coder(Scripted([fenced(one) for one in programs]), session=session, candidates=1)
        task = Task("pay", input={"card": str}, output=str, tools=[pay])
        assert (await coder.answer(task, card="x")).value == f"failed: {WORDS}"
        assert fails or paid == ["x"]
        for name in session.transcripts:
            shown = said(session, name)
            assert all("4111" not in text and "uncertain" not in text for _, text in shown)
            assert ("error", WORDS) in shown
            assert_whole(session, name)

    run(work)
