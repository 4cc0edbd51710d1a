"""Words that answer and ask for nothing: yes, no, and thanks, in the languages that are known here.

English has them among its stop words. In other languages they are words like any other in a text, since one
of them alone does not tell the language; they only count for nothing where a turn has nothing else.
"""

import re

from quire.memory.words.folding import composed, folded
from quire.memory.words.indexing import terms

# Folded, as they are compared: without accents, in lower case.
_WORDS = {
    "german": "ja jawohl nein danke dankeschon dank vielen besten herzlichen schon bitte gern gerne hallo",
    "french": "oui si non merci beaucoup mille bien d'accord s'il te vous plait svp stp de rien bonjour",
    "spanish": "si no gracias muchas mil por favor de nada vale claro hola",
    "italian": "si no grazie mille tante prego per favore piacere va bene d'accordo certo ciao",
    "portuguese": "sim nao obrigado obrigada muito por favor de nada claro certo ola oi",
    "dutch": "ja nee bedankt dank dankjewel dankuwel je u wel alstublieft alsjeblieft graag gedaan oke hallo",
    "swedish": "ja jo nej tack tackar sa mycket snalla okej visst hej",
    "polish": "tak nie dziekuje dzieki bardzo prosze dobrze",
    "turkish": "evet hayir tesekkur tesekkurler ederim lutfen tamam",
    "vietnamese": "vang da khong cam on",
    "greek": "ναι οχι ευχαριστω παρακαλω πολυ ενταξει",  # noqa: RUF001
    "russian": "да нет спасибо большое пожалуйста хорошо ладно привет",
    "ukrainian": "так ні дякую будь ласка добре",
    "arabic": "نعم لا شكرا جزيلا من فضلك حسنا",
    "persian": "بله نه ممنون مرسی",
    "hebrew": "כן לא תודה רבה בבקשה בסדר",
    "hindi": "हाँ हां नहीं धन्यवाद शुक्रिया",
    "bengali": "হ্যাঁ না ধন্যবাদ",
    "korean": "네 예 아니요 아니오 감사합니다 고마워요 고마워 고맙습니다 알겠습니다",
    "thai": "ใช่ ครับ ค่ะ ไม่ ไม่ใช่ ขอบคุณ ขอบคุณครับ ขอบคุณค่ะ",
}
# Where no spaces part words, one may follow the other.
_UNSPACED = """
はい いいえ うん ええ ありがとう ありがとうございます ありがとうございました どうも お願いします
了解 了解です 了解しました わかりました 分かりました
是的 是 对 對 不 好的 好 谢谢 謝謝 谢谢你 謝謝你 谢谢您 多谢 多謝 嗯
"""
_COURTESIES = frozenset(folded(word) for words in _WORDS.values() for word in words.split())
_longest_first = sorted(_UNSPACED.split(), key=len, reverse=True)
_UNSPACED_ONE = re.compile("|".join(_longest_first))
_APART = re.compile(r"[\s!-&(-/:-@\[-`{-~\u00a1\u00bf\u3001-\u3003\u3008-\u3011\u060c\u061f]+")
_LONGEST = 200
"""Characters; nobody gives thanks at such length and says nothing else."""


def asks_for_nothing(text: str) -> bool:
    """Whether a turn says yes or no or thanks, and nothing that could be looked for."""
    if len(text) > _LONGEST:
        return False
    said = [word for part in _APART.split(composed(text)) if (word := part.strip("'"))]
    rest = [word for word in said if folded(word) not in _COURTESIES and _UNSPACED_ONE.sub("", word)]
    return not rest or (len(rest) < len(said) and not terms(" ".join(rest)))
