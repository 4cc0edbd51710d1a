"""The commands `check`, `convert` and `tokens`."""

from typing import Annotated, Any

import typer

from quire.cli.histories import is_log, note_downgrades, read_histories, unwritten, write_payloads
from quire.cli.options import COUNTED_AS, AsJson, File, KeyFile, Model, Output, Source
from quire.cli.phrases import kind, plural, title
from quire.cli.terminal import errors_reported, note, say, table, write_json
from quire.cli.transfer import check_store
from quire.errors import InvalidValue
from quire.integrations.logs.histories import OWN, History, other_format
from quire.integrations.logs.repair import converted, repaired, shape_remark
from quire.providers import Fault, provider_for
from quire.tokens import counter_for, schema_tokens

_OTHER_FORMAT = "other_format"
"""The rule of a history in the format of another provider."""


def check(
    file: Annotated[str, typer.Argument(help="a history, or a store by its path or URL", show_default=False)],
    provider: Annotated[
        str | None, typer.Option(help="for a history: openai, openai-responses, anthropic or gemini")
    ] = None,
    model: Model = None,
    fix: Annotated[bool, typer.Option("--fix", help="write the history with its faults repaired")] = False,
    output: Output = None,
    salvage: Annotated[
        str | None, typer.Option(help="write everything readable of a damaged store to this new store")
    ] = None,
    key_file: KeyFile = None,
    json: AsJson = False,
) -> None:
    """Validate a history against a provider's rules, or verify a store.

    Without --provider, a .json file is a history of the provider that it looks like, and any other file is a
    store. The exit status is 1 if anything is found, or with --fix if a fault is left.
    """
    if provider is None and not file.endswith(".json") and not is_log(file):
        check_store(file, key_file, salvage, json)
        return
    with errors_reported():
        histories = read_histories(file)
        if provider is None:  # no store is a .json file
            wires = list(dict.fromkeys(history.format() for history in histories))
            if OWN in wires:
                raise InvalidValue(f"{file} has items of Quire: give the --provider that they are for")
            note(f"{file} looks like a history of {' and '.join(wires)}, and is checked as one")
        targets = [(history, provider or history.format()) for history in histories]
        checked = [(history, _faults(history, file, wire, model)) for history, wire in targets]
        to_errors = fix and output in (None, "-")  # standard output is for the repaired history
        if json:
            rows = [{"line": row.line, **fault._asdict()} for row, faults in checked for fault in faults]
            write_json(rows, to_errors=to_errors)
        else:
            _print_faults(checked, file, to_errors)
        mismatches = [faults[0].text for _, faults in checked if faults and faults[0].rule == _OTHER_FORMAT]
        if fix and mismatches:
            raise InvalidValue(f"nothing is repaired: {mismatches[0]}")
        has_faults = _fix(targets, model, output) if fix else any(faults for _, faults in checked)
    raise typer.Exit(1 if has_faults else 0)


def convert(
    file: File,
    to: Annotated[str, typer.Option(help="the format to write: a provider, or items")],
    source: Source = None,
    output: Output = None,
) -> None:
    """Write a history in another format. What the format cannot carry is reported on standard error."""
    with errors_reported():
        histories = read_histories(file, source)
        written = [converted(history, source, to) for history in histories]
        write_payloads([payload for payload, _ in written], histories, output)
        for history, (_, downgrades) in zip(histories, written, strict=True):
            remark = unwritten(history, history.format(source), to)
            note_downgrades(history, downgrades, remark)


def tokens(
    file: File,
    model: Annotated[
        str | None,
        typer.Option(help=f"count as this model does [default: as the file says, or {COUNTED_AS}]"),
    ] = None,
    source: Source = None,
    json: AsJson = False,
) -> None:
    """Count the tokens of a history, by kind of item and in all."""
    with errors_reported():
        rows = [_counted(history, source, model) for history in read_histories(file, source)]
        if json:
            write_json(rows if len(rows) > 1 else rows[0])
            return
        for row in rows:
            say(title(file, row["line"]), bold=True)
            kinds = [(name, f"{items:,}", f"{count:,}") for name, (items, count) in row["kinds"].items()]
            total = ("all, as a request", f"{row['items']:,}", f"{row['tokens']:,}")
            table([("what", "items", "tokens"), *kinds, total])


def _counted(history: History, source: str | None, model: str | None) -> dict[str, Any]:
    """Items and tokens of each kind, and of all as one request."""
    counted_as = model or history.model or COUNTED_AS
    counter, items = counter_for(counted_as), history.items(source)
    sizes = [(kind(item), 1, counter.count(item)) for item in items]
    if history.tools:
        sizes.append(("tool definition", len(history.tools), schema_tokens(history.tools, counter)))
    kinds: dict[str, tuple[int, int]] = {}
    for name, number, size in sizes:
        before = kinds.get(name, (0, 0))
        kinds[name] = (before[0] + number, before[1] + size)
    return {
        "line": history.line,
        "model": counted_as,
        "counter": counter.key,
        "items": len(items),
        "kinds": kinds,
        "tokens": counter.total(sum(size for _, _, size in sizes)),
    }


def _faults(history: History, file: str, provider: str, model: str | None) -> list[Fault]:
    """The faults of a history; if it is in another format, only that fault."""
    faults = provider_for(provider).check(history.payload, model)
    other = other_format(history.payload, provider) if faults else None
    if other is None:
        return faults
    words = f"this looks like a history of {other}, not of {provider}; quire convert {file} --to {provider} "
    if other != OWN:
        words += f"converts it, and quire check {file} --provider {other} checks it as it is"
    return [Fault("$", _OTHER_FORMAT, words.strip())]


def _print_faults(checked: list[tuple[History, list[Fault]]], file: str, to_errors: bool) -> None:
    for history, faults in checked:
        if faults and history.line is not None:
            say(title(file, history.line), to_errors=to_errors, bold=True)
        for fault in faults:
            place = "the history" if fault.place == "$" else fault.place
            say(f"{place}  {fault.text}  {fault.rule}", to_errors=to_errors)
    count = sum(len(faults) for _, faults in checked)
    histories = f" in {len(checked)} histories" if len(checked) > 1 else ""
    say(f"{plural(count, 'fault') if count else 'no fault'}{histories}", to_errors=to_errors)


# Repairs


def _fix(targets: list[tuple[History, str]], model: str | None, output: str | None) -> bool:
    """Write the histories with their faults repaired, and return whether a fault is left."""
    fixed = [repaired(history, provider, model) for history, provider in targets]
    write_payloads([payload for payload, _ in fixed], [history for history, _ in targets], output)
    has_faults = False
    for (history, provider), (payload, downgrades) in zip(targets, fixed, strict=True):
        note_downgrades(history, downgrades, shape_remark(payload, history.payload))
        for fault in provider_for(provider).check(payload, model):
            note(f"{history.place}not repaired: {fault}")
            has_faults = True
    return has_faults
