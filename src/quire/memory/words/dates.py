"""The names that a date goes by, as terms: one form for what is written and for when it was written."""

from quire.memory.words.english import stem

MONTHS = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")


def date_terms(year: int, month: int, day: int) -> list[str]:
    """The terms of a date, as its words would give them: year, month and day."""
    return [str(year), stem(MONTHS[month - 1]), str(day)]


def weekday_term(weekday: int) -> str:
    """The term of a day of the week; Monday is 0."""
    return stem(WEEKDAYS[weekday])
