"""Programs: a model answers with code that is checked, priced, run in a sandbox, and kept."""

from quire.programs.calls import INTERMEDIATE, PROGRAM, Finished
from quire.programs.check import Program, check
from quire.programs.coder import Answer, Checks, Coder, Prices, ProgramFailed, Tried, Writes
from quire.programs.events import (
    Answered,
    Asked,
    Called,
    Checked,
    Event,
    Faulted,
    Found,
    Gave,
    Printed,
    SetAside,
    Started,
    Tell,
    Written,
)
from quire.programs.faults import ProgramFault
from quire.programs.kept import KeptProgram
from quire.programs.price import Cost, Price, estimate, price_of
from quire.programs.replay import REPLAYED
from quire.programs.sandbox import Bounds, Ran, Sandbox, shared_sandbox
from quire.programs.task import Task

__all__ = [
    "INTERMEDIATE",
    "PROGRAM",
    "REPLAYED",
    "Answer",
    "Answered",
    "Asked",
    "Bounds",
    "Called",
    "Checked",
    "Checks",
    "Coder",
    "Cost",
    "Event",
    "Faulted",
    "Finished",
    "Found",
    "Gave",
    "KeptProgram",
    "Price",
    "Prices",
    "Printed",
    "Program",
    "ProgramFailed",
    "ProgramFault",
    "Ran",
    "Sandbox",
    "SetAside",
    "Started",
    "Task",
    "Tell",
    "Tried",
    "Writes",
    "Written",
    "check",
    "estimate",
    "price_of",
    "shared_sandbox",
]
