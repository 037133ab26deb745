"""The default counter against tokenizers with trained vocabularies: right on average."""

from __future__ import annotations

import ctypes
import random
import re
from collections.abc import Callable
from importlib.metadata import files
from itertools import pairwise
from pathlib import Path

import blingfire  # type: ignore[import-untyped,import-not-found,unused-ignore]
import pytest
import tokenizers  # type: ignore[import-untyped,import-not-found,unused-ignore]

from hardwon.text.tokens import count_tokens, cut_to_tokens

Counted = Callable[[str], int]
# Not our own source, which changes with every commit.
_SOURCES = sorted(Path(random.__file__).parent.glob("*.py"))
_OTHER_SCRIPTS = [
    "データベースの接続が切れたので、再試行しました。",
    "我们在使用向量数据库来存储经验，并且在失败时重试。",  # noqa: RUF001
    "데이터베이스 연결이 끊어져서 다시 시도했습니다.",
    "ระบบล้มเหลวและเราลองใหม่อีกครั้ง",
    "فشل الاتصال بقاعدة البيانات وأعدنا المحاولة مرة أخرى",
    "Соединение с базой данных прервано, мы повторили попытку.",  # noqa: RUF001
    "La connexion à la base de données a été interrompue; nous avons réessayé.",
]


def _blingfire(name: str) -> Counted:
    model = blingfire.load_model(str(Path(blingfire.__file__).parent / f"{name}.bin"))

    def count(text: str) -> int:
        data = text.encode("utf-8", "replace")
        room = 4 * len(data) + 16
        ids = (ctypes.c_int32 * room)()
        text_and_length = ctypes.c_char_p(data), ctypes.c_int(len(data))
        take = blingfire.blingfire.TextToIds
        return int(take(ctypes.c_void_p(model), *text_and_length, ids, ctypes.c_int(room), 0))

    return count


def _llama() -> Counted:
    name = "l2_supercat_tokenizer_config.json"
    found = [file for file in files("wordllama") or [] if file.name == name]
    tokenizer = tokenizers.Tokenizer.from_file(str(found[0].locate()))
    assert tokenizer.get_vocab_size() >= 30_000
    return lambda text: len(tokenizer.encode(text, add_special_tokens=False).ids)


TOKENIZERS: dict[str, Counted] = {
    "bert, WordPiece, 30,522": _blingfire("bert_base_tok"), "xlnet, Unigram, 32,000": _blingfire("xlnet"),
    "xlm-roberta, Unigram, 250,002": _blingfire("xlm_roberta_base"), "gpt-2, BPE of bytes, 50,257": _blingfire("gpt2"),
    "llama, BPE with bytes for the rest, 32,000": _llama(),
}  # fmt: skip


def _ratios(texts: list[str]) -> list[float]:
    """Of each text, what we count against the mean of what they count."""
    means = [sum(count(text) for count in TOKENIZERS.values()) / len(TOKENIZERS) for text in texts]
    return [count_tokens(text) / mean for text, mean in zip(texts, means, strict=True)]


def _read_sources() -> list[str]:
    return [path.read_text(errors="replace") for path in _SOURCES]


def _prose() -> list[str]:
    text = " ".join(re.findall(r'"""([A-Z][^"]{80,})"""', "".join(_read_sources())))
    prose = " ".join(text.split())
    return [prose[start : start + 1_000] for start in range(0, len(prose) - 1_000, 1_000)]


def _code() -> list[str]:
    """Without its indentation, of which the oldest of them take a token for every blank."""
    return [
        re.sub(r"^ +", " ", text[start : start + 1_000], flags=re.MULTILINE)
        for text in _read_sources()
        for start in range(0, min(len(text), 20_000) - 1_000, 1_000)
    ]


@pytest.mark.parametrize("read_texts", [_prose, _code], ids=["prose", "code"])
def test_it_is_right_on_average_and_never_far_under(read_texts: Callable[[], list[str]]) -> None:
    ratios = _ratios(read_texts())
    assert len(ratios) > 300
    assert sum(ratios) / len(ratios) == pytest.approx(1.0, abs=0.1)
    assert sorted(ratios)[len(ratios) // 20] > 0.8, "tables of data aside"


def test_other_scripts_are_not_taken_for_a_word() -> None:
    for text in _OTHER_SCRIPTS:
        assert count_tokens(text) > 0.4 * min(count(text) for count in TOKENIZERS.values()), text


def test_nothing_costs_nothing_and_more_text_never_less() -> None:
    assert count_tokens("") == 0
    text = _code()[0]
    counts = [count_tokens(text[:end]) for end in range(0, len(text), 7)]
    assert all(after >= before - 1 for before, after in pairwise(counts))


def test_what_is_cut_stays_within_the_budget_and_ends_with_a_word() -> None:
    text = _prose()[0]
    for budget in (1, 5, 40, 150):
        cut = cut_to_tokens(text, budget)
        assert count_tokens(cut) <= budget
        assert text.startswith(cut)
        assert not cut or text[len(cut)] == " "
