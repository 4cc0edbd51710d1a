"""What several commands are asked with, in the same words."""

from typing import Annotated

import typer

File = Annotated[str, typer.Argument(help="JSON or JSON lines; - is standard input", show_default=False)]
Model = Annotated[str | None, typer.Option(help="apply the rules and the tokenizer of this model")]
Output = Annotated[str | None, typer.Option("--output", "-o", help="write here, not to standard output")]
AsJson = Annotated[bool, typer.Option("--json", help="print JSON and nothing else")]
Wire = Annotated[str, typer.Option(help="openai, openai-responses, anthropic or gemini")]
Source = Annotated[str | None, typer.Option("--from", help="the format to read; guessed if left out")]
BudgetTokens = Annotated[int, typer.Option("--budget", min=1, help="tokens that the request may take")]
Reserve = Annotated[int, typer.Option(min=0, help="tokens of the budget that are kept free for the answer")]

Address = Annotated[
    str, typer.Argument(help="scope/conversation; a slash within a part is %2F", show_default=False)
]
StoreUrl = Annotated[
    str | None,
    typer.Option("--store", envvar="QUIRE_STORE", help="a path or a URL; quire.db if left out"),
]
KeyFile = Annotated[
    str | None, typer.Option("--key-file", help="the key of a sealed store: 32 bytes, or 64 hex digits")
]
Transcript = Annotated[str, typer.Option(help="which transcript of the conversation")]
