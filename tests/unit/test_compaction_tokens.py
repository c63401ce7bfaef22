"""Token estimates per script against counts of a public tokenizer (IN-01)."""

from __future__ import annotations

import pytest
from fakes.loop_fakes import assistant, user

from geode.loop.tokens import estimate_message, estimate_text
from geode.messages import Text, ToolCall

# Sample, its tokens, and the tokens of the sample repeated to 10,000 characters, both counted
# with cl100k_base.
SAMPLES = {
    "japanese sentence": (
        "明日の午前中に東京駅で会議の資料を受け取ってください",
        28,
        10773,
    ),
    "han": (
        "人工智能正在改变我们的生活方式。今天早上，他在图书馆里读了一本关于历史的"
        "书，然后写了一篇很长的文章，讨论城市发展与环境保护之间的关系。政府计划明"
        "年投资建设新的铁路和医院，专家认为这将提高居民的生活质量。",
        112,
        11089,
    ),
    "kana": (
        "きょうはとてもいいてんきですね。あしたはともだちといっしょにこうえんへい"
        "って、おべんとうをたべるつもりです。コンピューターのプログラムをつくるの"
        "はたのしいです。",
        79,
        9875,
    ),
    "hangul": (
        "인공지능은 우리의 생활 방식을 바꾸고 있습니다. 어제 그는 도서관에서 역사"
        "에 관한 책을 읽고 도시의 발전과 환경 보호의 관계를 다룬 긴 글을 썼습니다. "
        "정부는 내년에 새로운 철도와 병원을 건설할 계획입니다.",
        108,
        9391,
    ),
    "english": (
        "Artificial intelligence is changing the way we live. Yesterday he read a "
        "book about history in the library and wrote a long article about the relation "
        "between the growth of cities and the protection of the environment. The government "
        "plans to build new railways and hospitals next year.",
        52,
        1784,
    ),
    "emoji": (
        "😀🎉🚀❤\ufe0f👍🏽👨\u200d👩\u200d👧\u200d👦🇩🇪🔥✨🙏🐍📈🧪🛠\ufe0f🌍🥳🤖💡🎂🐙",
        79,
        26332,
    ),
    "russian": (
        "Искусственный интеллект меняет наш образ жизни. Вчера он читал книгу по истории "
        "в библиотеке и написал длинную статью о связи развития городов и охраны окружающей "
        "среды.",
        84,
        4971,
    ),
    "german": (
        "Künstliche Intelligenz verändert unsere Lebensweise. Gestern las er in der "
        "Bibliothek ein Buch über Geschichte und schrieb einen langen Artikel über "
        "die Beziehung zwischen Stadtentwicklung und Umweltschutz.",
        49,
        2332,
    ),
    "code": (
        'def add(a, b):\n    """Return the sum."""\n    result = a + b\n    for index '
        'in range(10):\n        print(f"{index}: {result}")\n    return result\n',
        40,
        2819,
    ),
    "mixed": (
        "Please check 明日の会議 and 서울의 날씨, then write the result to report.md "
        "🚀. Größe: 12 kB, 人工智能 is fine.",
        47,
        4790,
    ),
}


@pytest.mark.parametrize(("sample", "short", "long"), SAMPLES.values(), ids=SAMPLES.keys())
def test_estimate_is_near_the_count_in_each_script(sample: str, short: int, long: int) -> None:
    repeated = (sample * (10_000 // len(sample) + 1))[:10_000]

    assert 0.8 <= estimate_text(sample) / short <= 1.8
    assert 0.8 <= estimate_text(repeated) / long <= 1.8


@pytest.mark.parametrize(
    ("char", "per_char"), [("漢", 0.8), ("か", 0.74), ("한", 0.6), ("한", 0.96), ("e", 0.25)]
)
def test_estimate_is_near_the_published_rates_per_character(char: str, per_char: float) -> None:
    assert 0.8 <= estimate_text(char * 10_000) / (per_char * 10_000) <= 1.8


def test_estimate_of_nothing_is_nothing() -> None:
    assert estimate_text("") == 0


@pytest.mark.parametrize("text", ["\ud800 lone", "\x00\x01", "﷽" * 10])
def test_estimate_takes_any_text(text: str) -> None:
    assert estimate_text(text) > 0


def test_calls_results_and_hidden_reasoning_count() -> None:
    plain = estimate_message(user("hi"))
    called = estimate_message(assistant(ToolCall("c", "look", {"path": "x" * 400})))
    reasoned = estimate_message(assistant(Text("hi"), opaque=b"x" * 4_000))

    assert called > plain + 100
    assert reasoned > plain + 800
