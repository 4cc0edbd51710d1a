"""Yes, no and thanks ask for nothing, in whatever language; whatever else is said with them is looked for."""

import pytest
from hypothesis import given, strategies as st

from quire.memory.index import InProcess, Question
from quire.memory.words import asks_for_nothing, terms
from quire.memory.words.courtesies import _COURTESIES, _UNSPACED  # pyright: ignore[reportPrivateUsage]
from tests.memory.index.leaves import NOW, said

TURNS = [
    *("Danke!", "Ja.", "Nein, danke.", "Vielen Dank 😊", "Danke, das war es"),
    *("Merci !", "Oui, merci beaucoup", "D\u2019accord.", "Gracias", "¡Muchas gracias!", "Sí, por favor"),
    *("Grazie mille", "Não, obrigado", "Ja, dank je wel", "Nej tack", "Dziękuję", "Teşekkürler"),
    *("Да, спасибо!", "شكرا", "תודה רבה", "ขอบคุณครับ", "धन्यवाद", "네, 감사합니다"),
    *("はい", "はい、ありがとうございます。", "好的\uff0c谢谢", "好的谢谢你", "ok gracias", "Yes.", ""),
]  # fmt: skip
ASKED = [
    "Danke für die Pumpe",
    "Who said gracias?",
    "Oui, continue",
    "谢谢老师的合同",
    "はい、契約書",
    "vale la pena?",
]


@pytest.mark.parametrize("turn", TURNS)
def test_a_turn_that_asks_for_nothing_brings_nothing_back(turn: str) -> None:
    index = InProcess()
    index.put([said(text, 9 * nth) for nth, text in enumerate(TURNS)], vectors=[(1.0, 0.0)] * len(TURNS))
    assert index.search(Question.of(turn, NOW)).hits == ()
    assert index.search(Question.of(turn, NOW, (1.0, 0.0))).hits == ()


@pytest.mark.parametrize("turn", ASKED)
def test_what_is_said_beside_it_is_looked_for(turn: str) -> None:
    assert set(Question.of(turn, NOW).terms) == set(terms(turn)) != set()


@pytest.mark.laws
@given(st.lists(st.sampled_from(sorted(_COURTESIES) + _UNSPACED.split()), min_size=1, max_size=20))
def test_any_number_of_courtesies_ask_for_nothing(words: list[str]) -> None:
    assert asks_for_nothing(", ".join(words)[:200].rpartition(",")[0] or words[0])


@pytest.mark.laws
@given(st.text(max_size=250))
def test_what_asks_for_something_has_terms(text: str) -> None:
    assert asks_for_nothing(text + " heliotrope") is False
