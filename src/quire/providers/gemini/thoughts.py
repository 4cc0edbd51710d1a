"""Gemini: thoughts, and signatures on no words, as items."""

from quire.items import Item, Opaque, Reasoning
from quire.providers.gemini.signing import NAME, sealed, spoken, thought_sign
from quire.providers.gemini.speech import Speech


def thoughts(said: Speech, model: str | None, prefix: str | None) -> list[Item]:
    """Thoughts, each with its signatures; one without says at least whose it is."""
    if said.is_silent():
        signs = [piece.signature for of_part in said.pieces for piece in of_part if piece.signature]
        make = thought_sign if said.thought else _sign
        return [Reasoning("", make(sign, model, prefix)) for sign in signs]
    found: list[Item] = []
    for part, pieces in zip(said.parts, said.pieces, strict=True):
        alone = Speech(said.thought)
        alone.parts, alone.pieces = [part], [pieces]
        if part == "":
            found += thoughts(alone, model, prefix)
            continue
        # It says what it was made after even if nothing is signed: the calls around it are of one answer.
        state = spoken(alone, model, prefix) or Opaque(NAME, model or "", prefix=prefix)
        found.append(Reasoning(part if isinstance(part, str) else "", state))
    return found


def _sign(signature: str, model: str | None, prefix: str | None) -> Opaque | None:
    return sealed([signature], model, prefix)
