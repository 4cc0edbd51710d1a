"""Copies of a content: found however they are spelt, and nothing is taken for one that only shares words."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, strategies as st

from quire.stores.copies import Sought, Told, contents_of

ANA = {"name": "Ana Novak", "iban": 4111111111111111, "pin": "9988-77", "is_known": True}
BOB = {"name": "Bob Ray", "plan": "enterprise", "country": "United Kingdom", "support": "premium"}
MARIA = {"name": "Maria Lopez", "diagnosis": "epilepsy", "ward": "B", "doctor": "Dr. Stein"}
BERN = {"city": "Bern", "country": "Switzerland"}
FOUND: dict[str, tuple[Any, Any]] = {
    "within a text": ("My card is 4000 1234.", "Ana said: My card is 4000 1234. And more."),
    "as JSON": ('She said "no" to\nall of it.', {"said": json.dumps('She said "no" to\nall of it.')}),
    "as a name": ("the blue house", {"the blue house": 1}),
    "everyday words, by themselves": ("Good morning", ["Good morning", "Eve"]),
    "a record": (ANA, dict(ANA)),
    "a record as JSON": (ANA, json.dumps(ANA)),
    "a record as JSON with blanks": (ANA, json.dumps(ANA, indent=2)),
    "a record that is printed": (ANA, f"found {ANA}"),
    "a record in words": (ANA, "Ana Novak pays from 4111111111111111, PIN 9988-77"),
    "a record in another order": (ANA, {"rows": [dict(reversed(ANA.items()))]}),
    "a record among others": (ANA, json.dumps([{**ANA, "city": "Bern"}, {"name": "Bob"}])),
    "a record with a short value": (
        {**BOB, "id": 1001, "n": 21},
        f"It gave { ({**BOB, 'id': 1001, 'n': 21}) }",
    ),
    "JSON with other blanks": (json.dumps(ANA, indent=2), json.dumps(ANA)),
    "JSON as a record": (json.dumps(ANA), ANA),
    "a number": ({"card": 4111111111111111}, "It is 4111111111111111."),
    "everyday words as one value of JSON": (
        "Jonathan Q. Miller",
        '{"name": "Jonathan Q. Miller", "plan": "gold"}',
    ),
    "an address": ("anna@acme.com", "Customer: anna@acme.com"),
    "a record of everyday words in JSON": (BERN, json.dumps([BERN, {"city": "Chur"}])),
    "a decimal at the end of a sentence": ("My salary is 4900.50", "You said: My salary is 4900.50. Thanks."),
    "what is coloured": ("My passport is X4711 0815", "\x1b[1mMy passport is X4711 0815\x1b[0m"),
    "a text that was written as JSON": (
        json.dumps("The word is swordfish-0815"),
        "The word is swordfish-0815",
    ),
    "the numbers of another language": (
        '{"rate": 0.00005, "of": 1e3, "id": 778899}',
        '{"id":778899,"rate":0.00005,"of":1e3}',
    ),
    "a text without blanks around it": (
        "\u6211\u7684\u5bc6\u7801\u662f\u56db\u4e03\u4e00\u4e00\u516b\u516b\u4e8c\u4e8c\u4e5d\u4e5d\u516d\u516d\u4e94\u4e94\u56db",
        "\u4ed6\u8bf4\u6211\u7684\u5bc6\u7801\u662f\u56db\u4e03\u4e00\u4e00\u516b\u516b\u4e8c\u4e8c\u4e5d\u4e5d\u516d\u516d\u4e94\u4e94\u56db\u4e86",
    ),
    "letters in another form": (
        "Jo\u0308rg wohnt in der Stra\u00dfe 5",
        "J\u00f6rg wohnt in der Stra\u00dfe 5",
    ),
    "a record of everyday words, alone": (BERN, json.dumps(BERN)),
    "a row of a table": (
        {"name": "Margarete Quillfeather", "born": "1985-03-12", "visits": 4100},
        "name,born,visits\r\nMargarete Quillfeather,1985-03-12,4100\r\n",
    ),
    "a text in a table": (
        "My IBAN is DE89370400440532013000",
        "2026-01-02,My IBAN is DE89370400440532013000,1",
    ),
    "JSON without blanks": (
        {"name": "Margarete Quillfeather", "home": [59.91, 10.75]},
        'found: {"rows":[{"name":"Margarete Quillfeather","home":[59.91,10.75]}]}',
    ),
    "a number with zeros": (
        '{"name":"Margarete Quillfeather","paid":49.90}',
        {"name": "Margarete Quillfeather", "paid": 49.9},
    ),
    "a number without zeros": (
        {"name": "Margarete Quillfeather", "paid": 1020.0},
        'x {"name":"Margarete Quillfeather","paid":1020.00}',
    ),
    "bytes": (b"a picture", [b"a picture"]),
    "a record of words, verbatim": (MARIA, f"1 hit:\n{json.dumps(MARIA)}"),
    "a record of words, with more": (MARIA, json.dumps({**MARIA, "updated": "2026-11-16"})),
    "a record of words, in a table": (MARIA, "| Maria Lopez | epilepsy | B | Dr. Stein |"),
    "a name and a date": ({"name": "Jo Lee", "born": "1984-03-02"}, "Jo Lee, born on 1984-03-02, was here."),
    "a number with dashes": ({"phone": "0795-555-0123"}, "It is 0795-555-0123."),
    "a phone number": ({"phone": "+41 79 555 01 23"}, "call +41 79 555 01 23 today"),
    "what is not JSON": ("{this is not JSON at all}", "It said {this is not JSON at all}!"),
}
NOT_FOUND: dict[str, tuple[Any, Any]] = {
    "everyday words in a text": ("Good morning", "Good morning, the contract is signed."),
    "one value of a record": (
        {"name": "Ana Lee", "country": "United Kingdom"},
        {"country": "United Kingdom"},
    ),
    "a record of other values": (ANA, {**ANA, "name": "Bob Ray", "iban": 5222222222222222}),
    "a record with another name": (BOB, {**BOB, "name": "Eva Lunt"}),
    "a record with another number": (
        {"status": "success", "message": "Order created", "id": 17345},
        {"status": "success", "message": "Order created", "id": 17346},
    ),
    "a record with another short value": (
        {"city": "London", "unit": "celsius", "temp": 21},
        {"city": "London", "unit": "celsius", "temp": 14, "at": "2021"},
    ),
    "nearly all of a record": ({**ANA, "city": "Bern"}, json.dumps(ANA)),
    "a number within another": (
        {"city": "London", "unit": "celsius", "temp": 1.5},
        {"city": "London", "unit": "celsius", "temp": 11.5},
    ),
    "a number that another begins with": (
        {"customer": "Ana Lee", "status": "open", "amount": 1200},
        {"customer": "Ana Lee", "status": "open", "amount": 12000},
    ),
    "a text that another begins with": ("Created task 1", "Created task 10"),
    "a name that another begins with": (
        {"name": "Anna", "city": "Hamburg", "age": 31},
        {"name": "Annabel", "city": "Hamburg", "age": 31},
    ),
    "a record of everyday words, in a text": (BERN, "From Bern in Switzerland we went on to Chur."),
    "a record of everyday words, among others": (BERN, {**BERN, "name": "Eve"}),
    "a few words and a small number": (
        {"query": "refund policy", "limit": 5},
        "The refund policy stays as it is for 5 months",
    ),
    "other bytes": (b"a picture", [b"another"]),
    "JSON of everyday words within others": (
        '{"status": "success"}',
        '12:01 PUT /a {"status": "success"} 1200 left',
    ),
    "JSON of small values within others": ('{"a":1,"b":2}', 'It gave {"a":1,"b":2}.'),
    "a word and a number": ({"status": "success", "rows": 10000}, "It was a success: 10000 rows"),
    "a number that is a part of the date": (
        {"customer": "Ana Souza", "date": "2026-11-16", "visits": 11},
        {"customer": "Ana Souza", "date": "2026-11-16", "visits": 3},
    ),
    "a number that is a part of the time": (
        {"slot": "2026-11-16T14:30", "room": 14, "of": "Ana Souza"},
        {"slot": "2026-11-16T14:30", "room": 15, "of": "Ana Souza"},
    ),
    "a time alone": ("2026-11-16T10:15:00Z", {"order": "Lamp for Bob", "at": "2026-11-16T10:15:00Z"}),
    "a record of a time": ({"now": "2026-11-16T10:15:00Z"}, {"order": "Lamp", "at": "2026-11-16T10:15:00Z"}),
    "a stretch of time": (
        {"from": "2026-11-01T00:00:00Z", "to": "2026-12-01T00:00:00Z"},
        "Revenue from 2026-11-01T00:00:00Z to 2026-12-01T00:00:00Z was 4.2 M.",
    ),
    "a date and small values": (
        {"date": "2026-11-16", "time": "19:00", "guests": 4},
        "Free on 2026-11-16: tables 2, 4 and 7 at 18:30, 19:00 and 21:15.",
    ),
    "names alone": (ANA, dict.fromkeys(ANA)),
    "too short": ("9988-77", "the PIN is 9988-77"),
    "small values": ({"a": 1, "b": 2, "c": 3}, {"a": 1, "b": 2, "c": 3}),
    "what is cut": ("My card is 4000 1234.", "My card is 4000..."),
    "nothing": ("", ""),
}


def is_found(content: Any, value: Any) -> bool:
    sought = Sought()
    sought.add(contents_of(content))
    return sought.are_in(Told([value]))


@pytest.mark.parametrize("case", FOUND.values(), ids=FOUND)
def test_a_copy_is_found(case: tuple[Any, Any]) -> None:
    assert is_found(*case)


@pytest.mark.parametrize("case", NOT_FOUND.values(), ids=NOT_FOUND)
def test_what_only_shares_words_is_none(case: tuple[Any, Any]) -> None:
    assert not is_found(*case)


TEXT = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=20, max_size=60)
SPELLED: list[Callable[[str], str]] = [
    str,
    json.dumps,
    repr,
    lambda text: json.dumps({"said": json.dumps(text)}),
]


@pytest.mark.laws
@given(st.lists(TEXT, min_size=1, max_size=8), st.data())
def test_each_of_many_is_found_wherever_it_stands(texts: list[str], data: st.DataObject) -> None:
    sought = Sought()
    sought.add(content for text in texts for content in contents_of(text))
    text = data.draw(st.sampled_from(texts).filter(lambda one: any(contents_of(one))))
    spelling, around = (
        data.draw(st.sampled_from(SPELLED)),
        data.draw(
            st.sampled_from(["{}", "It is {}", "«{}», they said", "It is {}.", "({}); so", "{}!", "{}\n- {}"])
        ),
    )
    assert sought.are_in(Told([around.replace("{}", spelling(text))]))


@pytest.mark.laws
@given(st.lists(TEXT, max_size=8), TEXT)
def test_what_is_found_is_there(texts: list[str], text: str) -> None:
    plain = [one for one in texts if one.isalnum()]
    sought = Sought()
    sought.add(content for one in plain for content in contents_of(one))
    assert any(one in text for one in plain) or not sought.are_in(Told([text]))


def test_what_was_there_before_is_no_copy_where_it_is_told_when() -> None:
    sought, text = Sought(), "Process finished with exit code 0"
    sought.add(contents_of(text), 1_000_000.0)
    assert sought.are_in(Told([text])) and sought.are_in(Told([text]), 1_000_001.0)
    assert sought.are_in(Told([text]), 999_999.5) and not sought.are_in(Told([text]), 990_000.0)
    sought.add(contents_of(text), 980_000.0)
    assert sought.are_in(Told([text]), 990_000.0)
