"""The functions that a program calls: tools and models of its task, run here and put on the record."""

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any

from quire.agent import Outcome, Tool
from quire.agent.calls import Approver, Ran, approval_of, not_run, run_call, uncertain, write
from quire.agent.run import shield
from quire.agent.tools import Misfit, failed
from quire.errors import CapReached, Conflict, Forgotten, ModelFailed, StoreError
from quire.items import Item, Message, ToolCall, ToolResult, new_id
from quire.models import AnyModel, answer_text
from quire.programs.asked_schemas import checked_schema
from quire.programs.asking import Asking, unfinished
from quire.programs.events import Asked, Called, Gave, Tell
from quire.programs.fitting import Steps, fitted
from quire.programs.recording import INTERMEDIATE, PROGRAM, Deeds, begin, doing_within
from quire.programs.replaying import Made, MadeCalls
from quire.programs.spelling import key_of
from quire.programs.task import ASKING, Task
from quire.programs.values import as_text, by_name
from quire.programs.watching import Watched
from quire.session import Session
from quire.stores.threads import COMPUTING

_BREAKING = (StoreError, Conflict, Forgotten, CapReached)
"""What no program may go on after: nothing can be recorded any more, or nothing may be spent."""

_STOPPED = "the program was stopped"
_BROKEN = "the program cannot go on"


class Calls:
    """The calls of one run. They are recorded in a transcript as they happen, where there is one.

    Calls that were `made` for the same answer before are not made again; those of this run are added.
    """

    def __init__(
        self,
        task: Task,
        session: Session,
        transcript: str | None,
        approver: Approver | None,
        tell: Tell,
        made: MadeCalls | None = None,
    ) -> None:
        self._session = session
        self._transcript = transcript
        self._name = transcript or task.name
        self._approver = approver
        self._tell = tell
        self._made = MadeCalls() if made is None else made
        self._replays = self._made.for_a_run()
        self._steps = Steps()
        self.deeds = Deeds()
        self.broken: BaseException | None = None
        """Why the run cannot go on, though the program may not have noticed."""
        self.functions: Mapping[str, Callable[..., Awaitable[Any]]] = {
            **{name: partial(self._guarded, self._call, tool) for name, tool in task.tools.items()},
            **{name: partial(self._guarded, self._ask, model) for name, model in task.models.items()},
        }

    async def _guarded(self, function: Callable[..., Awaitable[Any]], /, *args: Any, **given: Any) -> Any:
        if self.broken is not None:
            raise self.broken
        try:
            return await function(*args, **given)
        except _BREAKING as fault:
            self.broken = self.broken or fault
            raise

    async def _call(self, tool: Tool, /, *args: Any, **given: Any) -> Any:
        """Call a tool as a model would, and give what it gave."""
        arguments = as_text(by_name(tool.definition["parameters"], args, given))
        call = ToolCall(f"call_{new_id()}", tool.name, arguments, agent_id=PROGRAM)
        deed = self.deeds.begin()
        key = await key_of(tool, arguments)
        earlier = self._replays.next(key)
        if earlier is None:
            return (await self._run(call, Watched(tool, key), deed)).given()
        self._made.handed += earlier.size
        deed += await self._recorded(call, result := earlier.result_for(call))
        deed += earlier.within
        self._tell(Called(self._name, call))
        self._tell(Gave(self._name, result))
        return earlier.given()

    async def _run(self, call: ToolCall, watched: Watched, deed: list[Item]) -> Made:
        cases: list[Made] = []

        async def record(ran: Ran) -> ToolResult:
            # What was asked within it is in a transcript of its own.
            called = tuple(item for item in within if not isinstance(item, Message))
            recorded = await self._written(call, ran._replace(others=(*ran.others, *called)))
            result = recorded[0]
            assert isinstance(result, ToolResult)
            fault = None if result.id == ran.result.id else RuntimeError(result.text)
            made = Made(self._name, call, result, watched.key, within=tuple(within), fault=fault)
            outcome = ran.outcome
            assert outcome is not None
            cases.append(self._noted(made, watched, outcome))
            deed.extend((*recorded[: 1 + len(ran.others)], *within))
            return result

        try:
            deed += await self._recorded(call)
            self._tell(Called(self._name, call))
            with doing_within() as within:
                result = await self._made_call(call, watched, record)
        except BaseException:
            deed += await shield(self._closed(call, watched))
            raise
        self._tell(Gave(self._name, result))
        return cases[0]

    async def _made_call(self, call: ToolCall, watched: Watched, record: Any) -> ToolResult:
        why_not = await self._refusal(call, watched.tool)
        if why_not is None and self.broken is not None:
            why_not = _BROKEN
        if why_not is not None:
            result = not_run(call, why_not)
            return await shield(record(Ran(result, outcome=failed(result.text, "refused"))))
        try:
            tool, arguments = await watched.ready(call.arguments)
        except Misfit as fault:
            outcome = failed(f"The call of {call.name} was not run: {fault}.")
            result = ToolResult(call.call_id, call.name, outcome.content, is_error=True)
            return await shield(record(Ran(result, outcome=outcome)))
        return await run_call(self._session, call, tool, record, arguments=arguments, to=self._transcript)

    async def _written(self, call: ToolCall, ran: Ran) -> tuple[Item, ...]:
        if self._transcript is not None:
            return await write(partial(self._session.steps.answer, [call], to=self._transcript), ran)
        if ran.pooled:
            await self._session.aio.pool.keep_all(ran.pooled)
        return (ran.result, *ran.others)

    def _noted(self, made: Made, watched: Watched, outcome: Outcome) -> Made:
        """A call with what a program is given of it, noted where the tool was run."""
        try:
            made = made if made.fault is not None else made._replace(value=watched.value(outcome))
        except Exception as fault:
            made = made._replace(fault=fault)
        if watched.has_run and outcome.stop_reason != "refused":
            self._made.add(watched.tool, made, may_be_repeated=not watched.has_acted(outcome))
        return made

    async def _refusal(self, call: ToolCall, tool: Tool) -> str | None:
        """Why a call may not be run: a program cannot wait until a person comes by."""
        if tool.asks_person:
            return "a person answers it, and a program cannot wait for one"
        verdict = await approval_of(call, tool, self._approver)
        if verdict is None:
            return "a person has to approve of it, and nobody was there to ask"
        return None if verdict is True else verdict

    async def _recorded(self, *items: Item) -> tuple[Item, ...]:
        if self._transcript is None:
            return items
        return await self._session.aio.append(*items, to=self._transcript)

    async def _closed(self, call: ToolCall, watched: Watched) -> tuple[Item, ...]:
        """The result of a call that was broken off, if it is on the record without one."""
        if self._transcript is None or self._transcript not in self._session.transcripts:
            return ()
        if all(call.id != one.id for one in self._session.view(self._transcript).pending()):
            return ()
        result = uncertain(call, _STOPPED)
        if watched.has_run:
            made = Made(self._name, call, result, watched.key, fault=RuntimeError(result.text))
            self._made.add(watched.tool, made, may_be_repeated=False)
        return await self._session.aio.append(result, to=self._transcript)

    async def _ask(self, model: AnyModel, /, *args: Any, **given: Any) -> Any:
        """Ask a model in a transcript of its own."""
        said = by_name(ASKING, args, given)
        prompt = said["prompt"] if isinstance(said.get("prompt"), str) else as_text(said.get("prompt"))
        schema = checked_schema(said.get("output_schema"))
        question, deed = Message("user", prompt), self.deeds.begin()
        name, asked = await begin(self._session, INTERMEDIATE, question)
        deed += asked
        self._tell(Asked(self._name, name, model.name))
        asking = Asking(self._session, model, name)
        parsed = await asking.answer(schema, asked[0].created_at)
        words = answer_text(parsed)
        self._made.handed += len(prompt) + len(words)
        if not words.strip():
            raise ModelFailed(f"{model.name} said nothing ({parsed.finish})")
        if (why := unfinished(parsed)) is not None:
            raise ModelFailed(f"the answer of {model.name} is not whole: {why}")
        deed += [item for item in parsed.items if isinstance(item, Message)]
        if schema is None:
            return words
        # The schema is the program's, and may take its time: beside the loop it holds up nobody.
        return await COMPUTING.do(fitted, words, schema, self._steps)
