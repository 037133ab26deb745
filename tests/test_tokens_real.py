"""The default counter against tokenizers with trained vocabularies: WordPiece, Unigram and BPE, of
30,000 entries and more.
"""

from __future__ import annotations

import base64
import ctypes
import json
import random
import re
import string
from collections.abc import Callable
from importlib.metadata import files
from pathlib import Path

import blingfire  # type: ignore[import-untyped,import-not-found,unused-ignore]
import pytest
import tokenizers  # type: ignore[import-untyped,import-not-found,unused-ignore]

import hardwon
from cases import TORTURE
from hardwon.text.tokens import _vocabulary, count_tokens

Counted = Callable[[str], int]
_OURS = sorted(Path(hardwon.__file__).parent.rglob("*.py"))
_SOURCES = sorted([*_OURS, *Path(random.__file__).parent.glob("*.py")])
_OTHER_SCRIPTS = [
    "データベースの接続が切れたので、再試行しました。",
    "我们在使用向量数据库来存储经验，并且在失败时重试。",  # noqa: RUF001
    "데이터베이스 연결이 끊어져서 다시 시도했습니다.",
    "ระบบล้มเหลวและเราลองใหม่อีกครั้ง",
    "فشل الاتصال بقاعدة البيانات وأعدنا المحاولة مرة أخرى",
    "Соединение с базой данных прервано, мы повторили попытку.",  # noqa: RUF001
    "La connexion à la base de données a été interrompue; nous avons réessayé.",
    "ﷺ ㍿ ﬃ ½ … ™ ŉ İ ẞ ΐ ¨ é e\u0301 👩\u200d👧 🇩🇪 \ue000 \U0010ffff",
]


def _blingfire(name: str) -> Counted:
    model = blingfire.load_model(str(Path(blingfire.__file__).parent / f"{name}.bin"))

    def count(text: str) -> int:
        data = text.encode("utf-8", "replace")
        room = 4 * len(data) + 16
        ids = (ctypes.c_int32 * room)()
        return int(
            blingfire.blingfire.TextToIds(
                ctypes.c_void_p(model),
                ctypes.c_char_p(data),
                ctypes.c_int(len(data)),
                ids,
                ctypes.c_int(room),
                0,
            )
        )

    return count


def _llama() -> Counted:
    found = [
        file
        for file in files("wordllama") or []
        if file.name == "l2_supercat_tokenizer_config.json"
    ]
    tokenizer = tokenizers.Tokenizer.from_file(str(found[0].locate()))
    assert tokenizer.get_vocab_size() >= 30_000
    return lambda text: len(tokenizer.encode(text, add_special_tokens=False).ids)


TOKENIZERS: dict[str, Counted] = {
    "bert, WordPiece, 30,522": _blingfire("bert_base_tok"),
    "xlnet, Unigram, 32,000": _blingfire("xlnet"),
    "xlm-roberta, Unigram, 250,002": _blingfire("xlm_roberta_base"),
    "gpt-2, BPE of bytes, 50,257": _blingfire("gpt2"),
    "llama, BPE with bytes for the rest, 32,000": _llama(),
}


@pytest.fixture(params=list(TOKENIZERS))
def theirs(request: pytest.FixtureRequest) -> Counted:
    return TOKENIZERS[request.param]


def test_source_files(theirs: Counted) -> None:
    for path in _SOURCES[:: 2 if TORTURE else 6]:
        text = path.read_text(errors="replace")[:20_000]
        assert theirs(text) <= count_tokens(text), path


def test_every_line_of_source_files(theirs: Counted) -> None:
    for path in _SOURCES[::12]:
        for line in path.read_text(errors="replace").splitlines():
            assert theirs(line) <= count_tokens(line), line


def test_other_scripts(theirs: Counted) -> None:
    for text in _OTHER_SCRIPTS:
        assert theirs(text) <= count_tokens(text), text
        for word in [*text.split(), *text]:
            assert theirs(word) <= count_tokens(word), word


def test_data(theirs: Counted) -> None:
    chance = random.Random(11)
    for _ in range(20):
        data = chance.randbytes(900)
        rows = [
            {"id": n, "name": f"user{n}", "score": chance.random(), "ok": None} for n in range(20)
        ]
        noise = "".join(chr(code) for code in data if code < 128)
        wide = "".join(
            chr(chance.randrange(0xE000)) if chance.random() < 0.9 else " " for _ in range(300)
        )
        wide = "".join(c for c in wide if not "\ud800" <= c <= "\udfff")
        for text in (
            base64.b64encode(data).decode(),
            data.hex(),
            json.dumps(rows, separators=(",", ":")),
            noise,
            wide,
        ):
            assert theirs(text) <= count_tokens(text), text


def test_words_in_all_sorts_of_company(theirs: Counted) -> None:
    chance = random.Random(12)
    words = [
        *_vocabulary()[1],
        *string.ascii_letters,
        *string.punctuation,
        "4711",
        "  ",
        "\n",
        "qzx",
        "HTTPServer",
        "naïve",
        "日本",
    ]
    for _ in range(8_000):
        some = chance.choices(words, k=chance.choice((1, 2, 3, 8)))
        some = [chance.choice((str, str, str.title, str.upper))(word) for word in some]
        text = chance.choice((" ", " ", "", "_", ".", "\n", ", ")).join(some)
        assert theirs(text) <= count_tokens(text), text


def test_prose_is_counted_with_moderation(theirs: Counted) -> None:
    text = " ".join(
        re.findall(r'"""([A-Z][^"]{80,})"""', "".join(path.read_text() for path in _OURS))
    )
    prose = " ".join(text.split())
    assert len(prose) > 5_000
    assert count_tokens(prose) < 1.9 * theirs(prose)
