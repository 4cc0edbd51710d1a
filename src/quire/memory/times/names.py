"""The words for times, without accents: months, days, seasons and small numbers."""

from collections.abc import Iterable

from quire.memory.words import MONTHS, WEEKDAYS

_MONTHS_ELSEWHERE = (
    "januar februar marz april mai juni juli august september oktober november dezember",
    "janvier fevrier mars avril mai juin juillet aout septembre octobre novembre decembre",
    "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
    "jan feb mar apr may jun jul aug sep oct nov dec",
)
_WEEKDAYS_ELSEWHERE = (
    "montag dienstag mittwoch donnerstag freitag samstag sonntag",
    "lundi mardi mercredi jeudi vendredi samedi dimanche",
    "lunes martes miercoles jueves viernes sabado domingo",
)


def _numbered(first: tuple[str, ...], others: tuple[str, ...], start: int) -> dict[str, int]:
    lists = (first, *(names.split() for names in others))
    return {name: number for names in lists for number, name in enumerate(names, start)}


MONTH_NUMBERS = {**_numbered(MONTHS, _MONTHS_ELSEWHERE, 1), "sept": 9}
WEEKDAY_NUMBERS = _numbered(WEEKDAYS, _WEEKDAYS_ELSEWHERE, 0)
SEASON_STARTS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}
_ONES = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
_TEENS = "ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen"
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
SMALL_NUMBERS = {
    **{word: number for number, word in enumerate((*_ONES, *_TEENS.split()), 1)},
    **{word: 10 * number for number, word in enumerate(_TENS, 2)},
    **{"a": 1, "an": 1, "couple": 2, "a couple": 2, "a couple of": 2, "couple of": 2},
    **{"few": 3, "a few": 3, "several": 4, "some": 3},
}
_VAGUE_ELSEWHERE = ("ein paar", "einigen", "quelques", "unos", "unas", "algunos", "algunas")
VAGUE = frozenset(
    ("couple", "a couple", "a couple of", "couple of", "few", "a few", "several", "some", *_VAGUE_ELSEWHERE)
)
_COUNTING_ELSEWHERE = (
    "einem zwei drei vier funf sechs sieben acht neun zehn elf zwolf",
    "einer",
    "un deux trois quatre cinq six sept huit neuf dix onze douze",
    "une",
    "una dos tres cuatro cinco seis siete ocho nueve diez once doce",
)
NUMBERS_ELSEWHERE = {**_numbered((), _COUNTING_ELSEWHERE, 1), **dict.fromkeys(_VAGUE_ELSEWHERE, 3)}
UNITS_ELSEWHERE = {
    **dict.fromkeys(("minuten", "minute", "minutes", "minuto", "minutos"), "minute"),
    **dict.fromkeys(("stunde", "stunden", "heure", "heures", "hora", "horas"), "hour"),
    **dict.fromkeys(("tag", "tage", "tagen", "jour", "jours", "dia", "dias"), "day"),
    **dict.fromkeys(("woche", "wochen", "semaine", "semaines", "semana", "semanas"), "week"),
    **dict.fromkeys(("monat", "monate", "monaten", "monats", "mois", "mes", "meses"), "month"),
    **dict.fromkeys(
        ("jahr", "jahre", "jahren", "jahres", "an", "ans", "annee", "annees", "ano", "anos"), "year"
    ),
}

# Said of one back, or of two, in other languages; "this" ones are rarer and left.
BACK_ELSEWHERE = {
    **dict.fromkeys(("letzte woche", "vorige woche", "vergangene woche", "la semana pasada"), ("week", 1)),
    **dict.fromkeys(("la semaine derniere", "la semaine passee"), ("week", 1)),
    **dict.fromkeys(("letzten monat", "vorigen monat", "vergangenen monat", "el mes pasado"), ("month", 1)),
    **dict.fromkeys(("le mois dernier", "le mois passe"), ("month", 1)),
    **dict.fromkeys(("letztes jahr", "voriges jahr", "vergangenes jahr", "el ano pasado"), ("year", 1)),
    **dict.fromkeys(("l'annee derniere", "l'an dernier", "l'annee passee", "l'an passe"), ("year", 1)),
    **dict.fromkeys(("vorletzte woche", "la semana antepasada"), ("week", 2)),
    **dict.fromkeys(("la semaine avant la derniere", "l'avant-derniere semaine"), ("week", 2)),
    **dict.fromkeys(("vorletzten monat", "el mes antepasado"), ("month", 2)),
    **dict.fromkeys(("le mois avant le dernier", "l'avant-dernier mois"), ("month", 2)),
    **dict.fromkeys(("vorletztes jahr", "el ano antepasado"), ("year", 2)),
    **dict.fromkeys(("l'annee avant la derniere", "l'avant-derniere annee"), ("year", 2)),
}
UNTIL_NOW = (
    r"(?:(?:in|wahrend|innerhalb)\s+(?:der|des)|im)\s+(?:letzten|vergangenen)"
    r"|(?:dans|pendant|durant|au\s+cours\s+de)\s+(?:la\s+derniere|le\s+dernier)|au\s+cours\s+du\s+dernier"
    r"|(?:en|durante)\s+(?:la\s+ultima|el\s+ultimo)"
)
"""What stands before a unit that ends now, in other languages: the last one of something is another."""

OF_ELSEWHERE = "der|des|vom|von|vor|de|du|del|avant|antes"

YEARS_AWAY = {
    **dict.fromkeys(("last year", "previous year", "past year", "letztes jahr", "letzten jahres"), -1),
    **dict.fromkeys(("vergangenen jahres", "l'annee passee", "l'an passe"), -1),
    **dict.fromkeys(("vorigen jahres", "l'annee derniere", "l'an dernier", "ano pasado"), -1),
    **dict.fromkeys(("this year", "dieses jahr", "dieses jahres", "cette annee", "este ano"), 0),
    **dict.fromkeys(("next year", "nachstes jahr", "l'annee prochaine", "l'an prochain"), 1),
    **dict.fromkeys(("nachsten jahres", "proximo ano", "ano proximo"), 1),
}

DOUBTFUL_MONTHS = frozenset(("may", "march", "mar", "mars"))
"""Words of their own as well: a number beside them is not enough."""

NAMED_AFTER_MONTHS = frozenset(("april", "june", "may", "august", "jan", "avril", "mai", "julio", "abril"))
"""People have these names too."""


def either(names: "Iterable[str]") -> str:
    """A pattern for one of some names, the longest first."""
    return "|".join(sorted(names, key=len, reverse=True))


_TENS_AND_ONES = rf"(?:{either(_TENS)})(?:-|\s+)(?:{either(_ONES)})"
_BELOW_HUNDRED = rf"{_TENS_AND_ONES}|{either((*_ONES, *_TEENS.split(), *_TENS))}"
_HUNDREDS = rf"(?:a|{either(_ONES)})\s+hundred(?:\s+(?:and\s+)?(?:{_BELOW_HUNDRED}))?"
_REST = "".join(rf"(?<!{more} )(?<!{more} and )" for more in ("hundred", "thousand", "million"))
COUNTED = rf"{_REST}(?:{_HUNDREDS}|{_TENS_AND_ONES}|{either(SMALL_NUMBERS)})"
"""A number in words, up to nine hundred and ninety-nine, and not the rest of a larger one."""

DIGITS = r"(?<![0-9][.,/])[0-9]{1,4}(?:\.[0-9]{1,2})?"
"""A number as it is written, and not the rest of a longer one: 3, 1.5."""

_NTHS = (
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth"
)
_NTHS_ON = "fifteenth sixteenth seventeenth eighteenth nineteenth twentieth"
_TENTHS = {"twenty": 20, "thirty": 30}
NTH_DAYS = {
    **{word: number for number, word in enumerate((*_NTHS.split(), *_NTHS_ON.split()), 1)},
    **{
        f"{ten}{mark}{word}": number + nth
        for ten, number in _TENTHS.items()
        for nth, word in enumerate(_NTHS.split()[:9], 1)
        for mark in ("-", " ")
        if number + nth <= 31
    },
    "thirtieth": 30,
}
"""The days of a month in words."""

_SHORT_WEEKDAYS = ("mon", "tue", "tues", "wed", "thu", "thur", "thurs", "fri", "sat", "sun")
ARTICLE = r"(?:\s+(?:the|dem|den|le|la|el))?"
OF_WEEK = rf"(?:{either((*WEEKDAY_NUMBERS, *_SHORT_WEEKDAYS))})\b\.?,?"
"""A day of the week that stands before a date."""

THE = rf"{ARTICLE}(?:\s+{OF_WEEK}{ARTICLE})?"
"""An article and a day of the week that may stand before a date."""

TO = r"(?:to|until|till|through|up\s+to|bis|bis\s+zum|au|jusqu'au|jusqu'en|al|hasta)"
"""What stands between the two ends of a stretch of time."""

NOW = r"now|today|present|jetzt|heute|maintenant|aujourd'hui|ahora|hoy"

TALK = (
    r"talk(?:ed|ing)?|speak(?:ing)?|spoken?|discuss(?:ed|ing)?|chat(?:ted|ting)?|say|said|tell|told|ask(?:ed)?"
    r"|mention(?:ed)?|happen(?:ed|ing)?|remember|remind|recall|recap|summar(?:y|i[sz]e)|conversations?|topics?|things?"
    r"|gesprochen|besprochen|sprachen|besprachen|geredet|gesagt|sagten?|erzahlten?|erzahlt|gefragt|passiert|geschah"
    r"|geschehen|parle|parlions|discute|dit|raconte|demande|passe|hablamos|hablado|hablaste|dijimos|dije|dijiste"
    r"|dicho|conte|contaste|pregunte|preguntaste|comentamos|discutimos|paso|ocurrio"
)
"""Words with which somebody asks what was said, or what happened."""

PAST = {
    "english": ("did", "was", "were", "had", "been"),
    "german": ("war", "waren", "hatte", "hatten", "gemacht", "getan", "machte", "machten"),
    "french": ("fait", "faisais", "faisions", "etait", "avais", "avions"),
    "spanish": ("hice", "hiciste", "hicimos", "hecho", "hizo", "fue", "hubo"),
}
"""Words with which somebody asks what was, and not what is planned. By language: some mean more in others."""
