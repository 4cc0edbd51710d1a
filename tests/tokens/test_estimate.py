"""The estimate keeps within a tenth of o200k on texts of our own; none of them was used to fit it."""

import argparse
import base64
import inspect
import json
import random
import textwrap
import uuid

import pytest
from hypothesis import given, strategies as st

from quire.errors import InvalidLimit
from quire.items import Message
from quire.tokens import Estimate, estimate
from quire.tokens.exact import exact

ENGLISH = """
The harbour master kept two books. In the first he wrote what the captains told him: the name of the
ship, the cargo, the port it had left and the day it hoped to leave again. In the second, which
nobody was allowed to read, he wrote what he thought of the captains. Over thirty years the second
book had grown thicker than the first, and when he retired he did not know which of the two he ought
to hand to his successor.

He decided to ask his daughter, who had never shown the slightest interest in ships. She read both
books in one evening, by the stove, with the window open so that she could hear the halyards
knocking against the masts. "Give them the first," she said at last. "It says what happened. The
other one only says what you were afraid of." He thought this was unkind, and then, walking home
along the quay, he thought that it was probably true.

Most of the captains had been honest. A few had lied about small things: how much salt was in the
hold, whether the pilot had been sober, why a crate of oranges had gone missing between one island
and the next. Only one had lied about something large, and on that page the ink had run, as if the
book had been left out in the rain.
"""

CHINESE = """
港口的老站长有两本登记册。第一本记录船长们告诉他的事情:船名、货物、出发的港口,以及他们希望再次启航的日期。
第二本从来不给别人看,里面写的是他对每一位船长的看法。三十年过去,第二本比第一本还要厚。退休的那一年,
他不知道应该把哪一本交给接替他的人。他去问女儿,女儿对船从来没有兴趣。她坐在炉子旁边,用一个晚上读完了两本书,
然后说:把第一本给他们吧,它写的是发生过的事情;另一本只写了你害怕的事情。他觉得这句话有些无情,可是沿着码头
走回家的时候,他又觉得女儿说得对。大多数船长都很诚实,只有少数人在小事上说过谎,比如船舱里到底有多少盐,
领航员当天有没有喝酒,一箱橙子为什么在两座岛之间不见了。我们的系统会保存所有的消息,并且在预算之内选择模型需要看到的内容。
如果工具的输出太长,就用一段简短的说明来代替它;如果对话已经超过上限,就把比较早的部分写成摘要。
"""

MINIFIED = (
    "(function(e,t){'use strict';var n=e.document,r=[],i=r.slice,o={};function a(e,t){return null==e?"
    "t:e}function s(e){var t=typeof e;return'function'===t||'object'===t&&!!e}o.each=function(e,t){if"
    "(!e)return o;for(var n=0,r=e.length;n<r;n++)if(!1===t.call(e[n],e[n],n))break;return o};o.on=fun"
    "ction(e,t,n){if(!s(n))throw new TypeError('listener must be a function');return(r[t]||(r[t]=[]))"
    ".push({el:e,fn:n}),e.addEventListener?e.addEventListener(t,n,!1):e.attachEvent('on'+t,n),o};o.cs"
    "s=function(e,t){return t?(e.style[t.replace(/-([a-z])/g,function(e,t){return t.toUpperCase()})]="
    "arguments[2],o):getComputedStyle(e)};var l=/^#([\\w-]+)$/,c=/^\\.([\\w-]+)$/;o.find=function(e,t){t"
    "=t||n;var r;return l.test(e)?(r=t.getElementById(e.slice(1)))?[r]:[]:c.test(e)?i.call(t.getEleme"
    "ntsByClassName(e.slice(1))):i.call(t.querySelectorAll(e))};o.extend=function(e){for(var t=1;t<ar"
    "guments.length;t++)for(var n in arguments[t])Object.prototype.hasOwnProperty.call(arguments[t],n"
    ")&&(e[n]=arguments[t][n]);return e};e.$q=o})(window);"
)

RUSSIAN = """
Начальник порта вёл две книги. В первую он записывал то, что говорили ему капитаны: название судна,
груз, порт отправления и день, когда они надеялись выйти в море. Во вторую, которую никому не
позволялось читать, он записывал, что думает о самих капитанах. За тридцать лет вторая книга стала
толще первой.
"""  # noqa: RUF001

JAPANESE = """
港の責任者は二冊の帳簿をつけていました。一冊目には船長たちから聞いたことを書きました。船の名前、積み荷、出発した港、
そして再び出航したい日です。二冊目は誰にも見せませんでしたが、そこには船長たちについて自分が思ったことを書きました。
三十年の間に、二冊目は一冊目よりも厚くなりました。
"""


def a_record(rng: random.Random) -> dict[str, object]:
    return {
        "id": str(uuid.UUID(int=rng.getrandbits(128))),
        "customer_name": rng.choice(["Ana Torres", "Li Wei", "Noor Haddad", "Sam Okafor"]),
        "created_at": f"2026-0{rng.randint(1, 9)}-1{rng.randint(0, 9)}T0{rng.randint(0, 9)}:30:00Z",
        "status": rng.choice(["pending", "shipped", "returned"]),
        "total": round(rng.uniform(5, 500), 2),
        "items": [{"sku": f"BK-{rng.randint(100, 999)}", "quantity": rng.randint(1, 5)} for _ in range(3)],
        "notes": rng.choice(["leave at the front desk", "customer asked for a refund", ""]),
        "verified": rng.random() < 0.5,
    }


def texts() -> dict[str, str]:
    rng = random.Random(20_260)
    records = [a_record(rng) for _ in range(12)]
    blob = base64.b64encode(rng.randbytes(3000)).decode()
    log = "\n".join(
        f"2026-11-15 02:{n:02} INFO request={uuid.UUID(int=rng.getrandbits(128))}" for n in range(40)
    )
    return {
        "english": ENGLISH,
        "python": inspect.getsource(textwrap) + inspect.getsource(argparse)[:20_000],
        "json": json.dumps(records, indent=2),
        "compact json": json.dumps(records, separators=(",", ":")),
        "base64": blob,
        "minified": MINIFIED,
        "chinese": CHINESE,
        "russian": RUSSIAN,
        "japanese": JAPANESE,
        "log": log,
        "csv": "\n".join(f"{rng.randint(1, 9999)},{rng.random():.4f},north,{n % 2}" for n in range(200)),
        "mixed": ENGLISH[:600] + "\n" + blob[:900] + "\n" + CHINESE[:300] + json.dumps(records[:2]),
        "indented": textwrap.indent(inspect.getsource(textwrap), " " * 12),
    }


WIDER = {"japanese": 0.15, "csv": 0.15}


@pytest.mark.parametrize("name", texts())
def test_within_a_tenth_of_the_exact_count(name: str) -> None:
    text = texts()[name]
    assert estimate(text) == pytest.approx(exact("o200k_base")(text), rel=WIDER.get(name, 0.10))


@pytest.mark.parametrize("name", ["base64", "chinese", "minified", "log"])
def test_better_than_four_characters_to_a_token(name: str) -> None:
    text = texts()[name]
    true = exact("o200k_base")(text)
    assert abs(estimate(text) - true) < abs(len(text) / 4 - true) / 2


def hard_kinds() -> dict[str, str]:
    """Texts that an estimate by classes of characters finds hard: no words, or the same over and over."""
    rng = random.Random(7_071)
    digests = [{"path": f"data/{n}.bin", "sha256": rng.randbytes(32).hex().upper()} for n in range(30)]
    spots = [[round(rng.uniform(-180, 180), 6), round(rng.uniform(-90, 90), 6)] for _ in range(60)]
    features = [{"type": "Feature", "geometry": {"type": "Point", "coordinates": spot}} for spot in spots]
    parts = [
        f"{rng.choice('ABCDEFGH')}{rng.choice('KLMXYZ')}-{n * 37 % 9000 + 1000}-X{n % 10}" for n in range(200)
    ]
    return {
        "digests in capitals": json.dumps(digests, indent=2),
        "geojson": json.dumps({"type": "FeatureCollection", "features": features}),
        "hexadecimal": rng.randbytes(1500).hex(),
        "hexadecimal in capitals": rng.randbytes(1500).hex().upper(),
        "part numbers": "\n".join(parts),
        "base64 of zero bytes": base64.b64encode(bytes(3000)).decode(),
        "letters": "".join(rng.choices("ACGT", k=3000)),
        "rules": ("=" * 79 + "\nA heading\n" + "-" * 79 + "\n") * 20,
        "a table": "| name | value |\n|------|-------|\n" + "| north | 12 |\n" * 40,
    }


@pytest.mark.parametrize("name", hard_kinds())
def test_within_a_quarter_on_kinds_that_are_hard(name: str) -> None:
    text = hard_kinds()[name]
    assert estimate(text) == pytest.approx(exact("o200k_base")(text), rel=0.25)


@pytest.mark.parametrize("unit", list("AXax=-#/.~*_"))
def test_a_run_of_one_character_is_as_long_as_the_tokenizer_has_it(unit: str) -> None:
    assert estimate(unit * 4000) == pytest.approx(exact("o200k_base")(unit * 4000), rel=0.1)


@given(st.text(st.characters(exclude_categories=())))
def test_any_text_has_an_estimate_within_its_length(text: str) -> None:
    assert estimate(text) <= 1 + 3 * len(text)
    assert (estimate(text) == 0) == (text == "")
    assert estimate(text) >= 0


def test_characters_of_two_units_are_counted_to_the_end_of_a_long_text() -> None:
    assert estimate("😀 ok " * 8000) == pytest.approx(8000 * estimate("😀 ok " * 100) / 100, rel=0.01)


def test_a_long_text_is_the_sum_of_its_blocks() -> None:
    text = ENGLISH * 60
    assert estimate(text) == pytest.approx(60 * estimate(ENGLISH), rel=0.01)


@pytest.mark.parametrize(("unit", "most"), [(" ", 0.05), ("\n", 0.1), ("-", 0.1), ("x", 0.2), ("7", 0.5)])
def test_long_runs_stay_small_and_never_fall_below_one(unit: str, most: float) -> None:
    assert 1 <= estimate(unit * 40_000) <= 40_000 * most


def test_a_scale_stretches_the_estimate_and_its_key() -> None:
    message = Message(role="user", content=ENGLISH)
    plain, longer = Estimate(), Estimate(1.5)
    assert plain.key != longer.key
    assert longer.text(ENGLISH) == round(1.5 * plain.text(ENGLISH))
    assert longer.count(message) > plain.count(message)


@pytest.mark.parametrize("scale", [0, -1.0, float("inf"), float("nan")])
def test_a_senseless_scale_is_refused(scale: float) -> None:
    with pytest.raises(InvalidLimit):
        Estimate(scale)
