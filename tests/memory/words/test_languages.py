"""Other languages: a text and a question meet in the same terms, whichever language was detected."""

import unicodedata
from importlib.util import find_spec

import pytest
from hypothesis import given, strategies as st

from quire.memory.words import dialect, terms
from quire.memory.words.languages import FUNCTION_WORDS, language_of
from quire.memory.words.snowball import stemmer

SENTENCES = {
    "german": [
        "Wo wohnt Anna jetzt?",
        "Was hat sie gestern gekauft?",
        "Die Kinder spielen im Garten und lachen.",
    ],
    "french": [
        "Où habite-t-elle maintenant ?",
        "Où est la clé ?",
        "Nous avons mangé avec eux.",
    ],
    "spanish": [
        "¿Dónde vive Ana ahora?",
        "¿En qué hospital trabaja?",
        "Los niños juegan en el jardín.",
    ],
    "italian": [
        "Dove abita lei adesso?",
        "Che cosa hai comprato?",
        "I bambini giocano nel giardino della scuola.",
    ],
    "portuguese": [
        "Onde você mora?",
        "O que ela não comprou?",
        "As crianças brincam no jardim com eles.",
    ],
    "dutch": ["Waar woont hij nu?", "Wat heeft zij gekocht?", "De kinderen spelen niet in het park."],
    "swedish": [
        "Var bor hon och vem är det?",
        "Jag har inte köpt något.",
        "Barnen leker och jag tittar på.",
    ],
    "english": [
        "Where does Ben live?",
        "fetch_report failed",
        "She moved to Los Angeles.",
        "",
        "Ella",
        "de facto",
        "comment",
        "TODO: fix CI",
        "var io = dir.com",
        "Dan",
        "Los Angeles",
        "5pm EST",
    ],
}
WORDS = [
    "Häuser",
    "mangé",
    "jardín",
    "criança",
    "köpt",
    "perché",
    "Straße",
    "naïve",
    "Łódź",
    "Δόνος",
]


@pytest.mark.parametrize(
    ("language", "text"), [(language, text) for language, texts in SENTENCES.items() for text in texts]
)
def test_a_language_is_told_by_its_little_words(language: str, text: str) -> None:
    assert language_of(text) == language
    assert language_of(text.upper()) == language


def test_a_stray_little_word_makes_no_language() -> None:
    listed = "deploy failed node pool restart pod image build cache token retry worker shard"
    assert language_of(f"{listed} und") == language_of(listed) == "english"


@pytest.mark.laws
@given(st.sampled_from(sorted(FUNCTION_WORDS)), st.sampled_from(WORDS))
def test_a_word_meets_itself_whatever_stands_around_it(language: str, word: str) -> None:
    for sentence in SENTENCES[language]:
        assert set(terms(word)) <= set(terms(f"{sentence} {word}"))


@pytest.mark.parametrize("word", WORDS)
def test_accents_do_not_matter(word: str) -> None:
    bare = "".join(c for c in unicodedata.normalize("NFD", word) if not unicodedata.combining(c))
    assert terms(word) == terms(bare) == terms(unicodedata.normalize("NFD", word)) == terms(word.upper())


@pytest.mark.parametrize("text", ["Wo ist das?", "qui est-ce ?", "que es esto", "wie is dat", "vem är du"])
def test_little_words_of_a_language_are_no_terms_of_it(text: str) -> None:
    assert terms(text) == []


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("我喜欢吃苹果", "谁吃苹果\uff1f"),
        ("私の車はトヨタのプリウスです。", "私はどんな車に乗っていますか"),
        ("猫を飼っています。", "うちの猫の名前は"),
        ("我家的狗三岁了。", "我有没有养狗"),
        ("我在北京买了房。", "房子在哪里"),
        ("学校に行きました", "学校はどこ"),
        ("학교에서 만났다", "학교가"),
        ("แมวชอบกินปลา", "แมว"),
        (
            "قرأت الكتاب في المدرسة",
            "كتاب",
        ),
        ("ראיתי את הבית", "בית"),
        (
            "Книга лежит",
            "Где книга?",
        ),
        ("δρόμος", "δρόμοσ"),
        (
            "हिन्दी लिखो",
            "हिन्दी",
        ),
        ("\uff28\uff45\uff4c\uff4c\uff4f\uff57\uff4f\uff52\uff4c\uff44", "helloworld"),
        ("I like 寿司 a lot", "寿司"),
        ("١٢٣", "123"),
    ],
)
def test_other_scripts_meet(text: str, question: str) -> None:
    assert set(terms(question)) & set(terms(text))


def test_scripts_without_spaces_are_cut_in_runs() -> None:
    assert terms("我喜欢猫") == ["我喜", "喜欢", "欢猫", "喜", "欢", "猫"]
    assert terms("猫がいる") == ["猫が", "がい", "いる", "猫"]
    assert terms("猫") == ["猫"]
    assert "的" not in terms("我的猫在哪里") and "私" not in terms("私は何と言った")
    assert terms("แมวด") == ["แมว", "มวด"]
    assert terms("GPT模型 v2") == ["gpt", "模型", "模", "型", "v2"]


@pytest.mark.skipif(find_spec("snowballstemmer") is None, reason="needs snowballstemmer")
@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("Die Häuser sind nicht neu", "Wo ist ein Haus?"),
        ("Nous avons mangé avec eux", "Que veux-tu manger ?"),
        ("Los niños no están aquí", "¿Dónde está el niño?"),
        ("Ela trabalhava com eles", "Onde eles trabalham?"),
        (
            "Книги лежали",
            "Где книга?",
        ),
    ],
)
def test_with_the_library_inflections_meet_in_other_languages(text: str, question: str) -> None:
    assert set(terms(question)) & set(terms(text))


def test_an_index_can_tell_which_terms_it_holds() -> None:
    assert dialect() == ("4" if stemmer("german") is None else "4+snowball")
    assert stemmer("klingon") is None


def test_where_terms_change_so_does_the_dialect() -> None:
    """Else an index on a disk goes on with those it was made with, and nothing of it is found by the new."""
    told = terms("Danielle cancelled the installation that quickly moved nineteen dialled photographs.")
    assert (dialect()[0], told) == (
        "4",
        ["danielle", "cancel", "instal", "quick", "move", "19", "dial", "photo"],
    )
