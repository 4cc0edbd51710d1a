"""Arguments and options that several commands share."""

from typing import Annotated

import typer

COUNTED_AS = "gpt-5.6"
"""The model whose tokenizer is used if neither the user nor the file names one."""

File = Annotated[str, typer.Argument(help="JSON or JSON lines; - is standard input", show_default=False)]
Model = Annotated[str | None, typer.Option(help="apply the rules and the tokenizer of this model")]
Output = Annotated[str | None, typer.Option("--output", "-o", help="write to this file")]
AsJson = Annotated[bool, typer.Option("--json", help="print JSON and nothing else")]
Source = Annotated[
    str | None, typer.Option("--from", help="the format to read, or the kind of log; guessed by default")
]
BudgetTokens = Annotated[int, typer.Option("--budget", min=1, help="tokens that the request may take")]
Reserve = Annotated[int, typer.Option(min=0, help="tokens of the budget to keep free for the answer")]

Address = Annotated[
    str, typer.Argument(help="scope/conversation; write a slash within a part as %2F", show_default=False)
]
StoreUrl = Annotated[
    str | None,
    typer.Option("--store", envvar="QUIRE_STORE", help="path or URL of the store; quire.db by default"),
]
KeyFile = Annotated[
    str | None, typer.Option("--key-file", help="key of a sealed store: 32 bytes, or 64 hex digits")
]
Transcript = Annotated[str, typer.Option(help="transcript of the conversation")]
Scope = Annotated[str, typer.Option(help="the scope", show_default=False)]
