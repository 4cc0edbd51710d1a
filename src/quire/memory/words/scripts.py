"""Terms of scripts other than Latin: runs of characters where no space parts words, light forms elsewhere."""

from collections.abc import Iterator

from quire.memory.words.folding import folded
from quire.memory.words.snowball import stemmer

_ARABIC_LETTERS = str.maketrans(
    {**dict.fromkeys("أإآٱ", "ا"), **dict.fromkeys("ىیئ", "ي"), "ة": "ه", "ؤ": "و", "ک": "ك"}  # noqa: RUF001
)
_ARABIC_MARKS = dict.fromkeys((0x0640, 0x0670, *range(0x0610, 0x061B), *range(0x064B, 0x0660)))
_ARABIC_PREFIXES = ("وال", "بال", "كال", "فال", "لل", "ال")
_ARABIC_SUFFIXES = ("ات", "ون", "ين", "ها", "ه")  # noqa: RUF001
_ARABIC = "في من على الى عن مع هذا هذه ذلك التي الذي ما هل هو هي انا كان كانت او ان لا لم لن قد"
_ARABIC_LITTLE = frozenset(_ARABIC.split())
_HEBREW_FINALS = str.maketrans("ךםןףץ", "כמנפצ")
_HEBREW_MARKS = dict.fromkeys(range(0x0591, 0x05C8))
_HEBREW_PREFIXES = frozenset("הובלמשכ")
_HEBREW = "של את על עם זה זאת הוא היא אני לא כנ מה מי או גמ אבל כי אמ יש"
_HEBREW_LITTLE = frozenset(_HEBREW.split())
_RUSSIAN = """
и в во не что он на я с со как а то все она так его но да ты к у же вы за бы по только ее мне было вот от
меня еще нет о из ему теперь когда даже ну ли если или ни быть был него до вас нибудь уж вам ведь там
потом себя ничего ей они тут где есть надо ней для мы тебя их чем была сам чтоб без будто кто этот того
потому этого какой им этом мой тем чтобы нее были куда зачем всех при два об эта это
"""  # noqa: RUF001
_RUSSIAN_LITTLE = frozenset(_RUSSIAN.split())
_HAN_LITTLE = frozenset(
    "的地得之了着著过過是我你您他她它们們自己这這那哪此其在有和与與及跟或而且但就也都还還又再才已经經正很太最更只"
    "不没沒未无無非吗嗎呢吧啊呀么麼什甚谁誰怎样樣为為因所以把被让讓给給对對从從到向往于於由如果若则則即可能会會要想"
    "应應该該个個些每各某上下里裡中内內外前后後来來去出起时時候多少几幾一说說做"
    "私僕俺君彼何誰事物方様達今"
)
_LIGHTENED = 3


def runs(text: str, width: int) -> Iterator[str]:
    """Overlapping runs of a few characters; a text that is shorter is one."""
    if len(text) <= width:
        yield text
    else:
        yield from (text[at : at + width] for at in range(len(text) - width + 1))


def unspaced(text: str) -> Iterator[str]:
    """Pairs of characters, and by itself each that is a word: in Chinese and Japanese many are."""
    yield from runs(text, 2)
    if len(text) > 1:
        yield from (one for one in text if one not in _HAN_LITTLE and not _is_kana(one))


def _is_kana(character: str) -> bool:
    return "\u3000" <= character < "\u3400"  # with the marks beside them


def arabic(word: str) -> Iterator[str]:
    """A word without vowel marks, article and commonest endings."""
    plain = word.translate(_ARABIC_MARKS).translate(_ARABIC_LETTERS)
    if plain and plain not in _ARABIC_LITTLE:
        yield _without_suffix(_without_prefix(plain))


def _without_prefix(word: str) -> str:
    for prefix in _ARABIC_PREFIXES:
        if word.startswith(prefix) and len(word) - len(prefix) >= _LIGHTENED:
            return _without_prefix(word[len(prefix) :])
    return word


def _without_suffix(word: str) -> str:
    for suffix in _ARABIC_SUFFIXES:
        if word.endswith(suffix) and len(word) - len(suffix) >= _LIGHTENED:
            return _without_suffix(word[: -len(suffix)])
    return word


def hebrew(word: str) -> Iterator[str]:
    """A word without points, and once more without the little word that is written onto it."""
    plain = word.translate(_HEBREW_MARKS).translate(_HEBREW_FINALS)
    if plain and plain not in _HEBREW_LITTLE:
        yield plain
        if plain[0] in _HEBREW_PREFIXES and len(plain) > _LIGHTENED:
            yield plain[1:]


def cyrillic(word: str) -> Iterator[str]:
    """A word, and its stem where there is a stemmer: Russian, which others of the script bear well."""
    plain = folded(word)
    if plain not in _RUSSIAN_LITTLE:
        yield plain
        stem = stemmer("russian")
        if stem and (shorter := stem(plain)) != plain:
            yield shorter


def other(word: str) -> Iterator[str]:
    yield folded(word)
