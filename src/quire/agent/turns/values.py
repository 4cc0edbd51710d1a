"""What the tool of a turn gives, as it is: nothing is turned into words for a model."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import Any

from quire.agent.tools import Tool
from quire.agent.tools.injecting import values_for
from quire.agent.tools.shapes import Misfit
from quire.agent.tools.signature import Bound
from quire.agent.tools.values import Given, Raised, turn_of, values_of
from quire.errors import InvalidValue
from quire.session import Session
from quire.state import Pool


def bound_to(tool: Tool, arguments: Mapping[str, Any], session: Session | None, pool: Pool | None) -> Bound:
    """The arguments of a turn as the function takes them.

    Other than a model, code may hand in a pool or a session itself; of a pool the tool gets a copy.
    """
    signature = tool.signature
    own = {name: value for name, value in arguments.items() if name in signature.injected}
    try:
        read = signature.read({name: value for name, value in arguments.items() if name not in own})
    except Misfit as fault:
        raise InvalidValue(f"the turn of {tool.name} was not run: {fault}") from None
    wanted = {name: kind for name, kind in signature.injected.items() if name not in own}
    copies = {name: value.fork() if isinstance(value, Pool) else value for name, value in own.items()}
    return signature.bind({**read, **signature.fixed, **values_for(wanted, session, pool), **copies})


async def given_by(tool: Tool, bound: Bound) -> AsyncGenerator[Given, None]:
    """Call a tool, one at a time where it says so, and give what it returns or all that it yields."""
    async with turn_of(tool) as strand, aclosing(values_of(tool, bound, strand)) as values:
        try:
            async for given in values:
                yield given
        except Raised as raised:
            raise raised.fault from None
