"""Dates and times, in figures and in words: much happens at each, so by itself it is nobody's."""

import re

_CLOCK = r"\d{1,2}:\d\d(?::\d\d(?:\.\d+)?)?(?:z|[+-]\d\d:?\d\d)?"
_HOUR = r"\d{1,2}(?::\d\d)?\s?(?:am|pm|a\.m\.?|p\.m\.?|uhr|h)"
_DAY = r"\d{4}-\d\d(?:-\d\d)?|\d{4}/\d\d?/\d\d?|\d{1,2}[./-]\d{1,2}[./-](?:\d{4}|\d\d)?"
_COUNTED = r"\d{1,4}\s?[年月日時时分秒]"
_ZONE = r"(?:africa|america|asia|atlantic|australia|europe|indian|pacific)/[a-z_/]+"
_NUMBER = r"(?:[0-2]?\d|3[01])(?:st|nd|rd|th|\.|er|º)?|(?:19|20)\d\d"

_MONTHS = """
    january february march april may june july august september october november december
    jan feb mar apr jun jul aug sep sept oct nov dec
    januar februar märz mai juni juli oktober dezember
    janvier février mars avril juin juillet août septembre octobre novembre décembre
    enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre
"""
_WEEKDAYS = """
    monday tuesday wednesday thursday friday saturday sunday
    mon tue tues wed thu thur thurs fri sat sun
    montag dienstag mittwoch donnerstag freitag samstag sonnabend sonntag
    lundi mardi mercredi jeudi vendredi samedi dimanche
    lunes martes miércoles jueves viernes sábado domingo
"""
_FROM_NOW = """
    now today tonight tomorrow yesterday noon midnight morning afternoon evening night
    minute minutes hour hours day days week weeks weekend month months year years
    heute morgen gestern übermorgen mittags
    minuten stunde stunden tag tage woche wochen monat monate jahr jahre
    aujourd'hui demain hier midi heure heures jour jours semaine semaines mois
    hoy mañana ayer mediodía hora horas día días semana semanas mes meses
"""
_BESIDE = """
    at on from to until till through and or between in of the by around about after before next last this
    coming ago for utc gmt z cet cest est edt cst cdt mst mdt pst pdt bst o'clock um am vom von bis zum und
    der den dem im nach vor nächste nächsten letzte letzten diese dieser à a le la les du au de des et ou
    jusqu'au vers prochain prochaine dernier dernière el los las y o del al hasta desde próximo próxima
    pasado pasada i l
"""


def _any_of(words: str) -> str:
    return "|".join(map(re.escape, sorted(words.split(), key=len, reverse=True)))


_NAMED = rf"(?:{_any_of(_MONTHS + _WEEKDAYS)})\.?|{_any_of(_FROM_NOW)}"
_TELLING = rf"(?:{_DAY})(?:t{_CLOCK})?|{_CLOCK}|{_HOUR}|(?:{_COUNTED})+|{_NAMED}"
_BETWEEN = "(?:[\\s,;/()\u2013\u2014-]+|$)"  # with dashes of both lengths
# Each word is read in one way: there are more ways to read a long row of hours than there is time for.
_SAID = re.compile(rf"(?>(?:{_TELLING}|{_NUMBER}|{_ZONE}|{_any_of(_BESIDE)}){_BETWEEN})++", re.IGNORECASE)
_TOLD = re.compile(rf"(?<!\w)(?:{_TELLING})(?!\w)", re.IGNORECASE)


def is_moment(text: str) -> bool:
    """Whether a text is a date, a time or a stretch of it, and nothing else."""
    return _SAID.fullmatch(text) is not None and _TOLD.search(text) is not None
