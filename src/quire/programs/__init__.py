"""Programs: a model answers with code that is checked, priced, run in a sandbox, and kept."""

from quire.programs.attempts import Checks, Prices, ProgramFailed, Tried, Writes
from quire.programs.check import Program, check
from quire.programs.coder import Answer, Coder
from quire.programs.events import (
    Answered,
    Asked,
    Called,
    Checked,
    Event,
    Faulted,
    Found,
    Gave,
    NotKept,
    Printed,
    SetAside,
    Started,
    Tell,
    Written,
)
from quire.programs.faults import ProgramFault
from quire.programs.keeping import KeptProgram
from quire.programs.pricing import Cost, Price
from quire.programs.sandbox import Bounds, HostFunction, Ran, Sandbox, shared_sandbox
from quire.programs.task import Task

__all__ = [
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
    "Found",
    "Gave",
    "HostFunction",
    "KeptProgram",
    "NotKept",
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
    "shared_sandbox",
]
