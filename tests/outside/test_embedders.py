"""Whatever an embedder does, there are sound vectors or an error that names it."""

from __future__ import annotations

import copy
import importlib.metadata
import logging
import pickle
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from cases import each
from embedding_server import PATH, FakeEmbeddings, item, vector_of
from hardwon import HardwonError
from hardwon.errors import EmbeddingError, InvalidInputError, MissingExtraError
from hardwon.outside.embedders import (
    _EMBED_MODEL_TEXTS,
    EMBED_BATCH_TEXTS,
    EMBED_DIMENSION_MAX,
    EMBED_TEXT_CHARS_MAX,
    FASTEMBED_MODEL,
    CallableEmbedder,
    Embedder,
    EndpointEmbedder,
    FastembedEmbedder,
    WordLlamaEmbedder,
    as_vectors,
)
from llm_server import FakeLlm
from secrets_corpus import made_up
from short import run_program

INSTALL = "in a checkout of Hardwon: pip install '.[embeddings]'"
KEY = "gsk" + "_" + made_up(52)


def calling(function: Callable[[list[str]], object], dimension: int = 3) -> CallableEmbedder:
    return CallableEmbedder(function, "mine", dimension)


def python(code: str) -> list[str]:
    return run_program(sys.executable, "-c", code).stdout.split()


def test_rows_have_length_one_and_the_order_of_the_texts() -> None:
    rows = {"a": [1, 0, 0], "": [3, 4, 0], "abc": [3, 0, 0]}
    vectors = as_vectors(calling(lambda texts: [rows[text] for text in texts]), list(rows))
    assert vectors.dtype == np.float32
    assert vectors.tolist() == [[1, 0, 0], [pytest.approx(0.6), pytest.approx(0.8), 0], [1, 0, 0]]


def test_texts_come_in_batches_and_cut() -> None:
    seen: list[list[str]] = []

    def embed(texts: list[str]) -> object:
        seen.append(list(texts))
        rows = [[float(text[:3]), 1.0, 0.0] for text in texts]
        texts.clear()  # its own affair
        return rows

    texts = [f"{number:03}" + "x" * 5000 for number in range(2 * EMBED_BATCH_TEXTS + 1)]
    vectors = as_vectors(calling(embed), texts)
    assert [len(batch) for batch in seen] == [EMBED_BATCH_TEXTS, EMBED_BATCH_TEXTS, 1]
    assert {len(text) for batch in seen for text in batch} == {EMBED_TEXT_CHARS_MAX}
    assert np.allclose(vectors[:, 0] / vectors[:, 1], range(len(texts)), rtol=1e-5)


@each("answer", [
    [[1, 2, 2]], ((1.0, 2.0, 2.0),), [(1, 2.0, 2)], [np.array([1, 2, 2], np.float16)], np.array([[1, 2, 2]], np.uint8),
    np.array([[1, 2, 2]], np.longdouble), np.array([[1, 2, 2]], ">f4"), np.asfortranarray([[1, 2, 2]]),
    [[1e300, 2e300, 2e300]], [[1e-300, 2e-300, 2e-300]], [[5e-324, 1e-323, 1e-323]],
])  # fmt: skip
def test_any_numbers_will_do(answer: object) -> None:
    assert np.allclose(as_vectors(calling(lambda _: answer), ["a"]), [[1 / 3, 2 / 3, 2 / 3]])


def test_nothing_but_zeros_is_an_error() -> None:
    with pytest.raises(EmbeddingError) as caught:
        as_vectors(calling(lambda texts: np.zeros((len(texts), 3))), [str(n) for n in range(50)])
    assert str(caught.value) == (
        'the embedder "mine" returned nothing but zeros for 50 different texts; '
        "wanted: an array of finite numbers of shape (50, 3), one row for each text"
    )


class UnprintableError(Exception):
    def __str__(self) -> str:
        raise RuntimeError


class NoArray:
    def __array__(self, *_: object, **__: object) -> object:
        raise RuntimeError("not on this device")


def raises(error: Exception) -> Callable[[list[str]], object]:
    def fail(_: list[str]) -> object:
        raise error

    return fail


NO_NUMBERS = "that is no array of real numbers"
BAD: list[tuple[Callable[[list[str]], object], str]] = [
    (lambda _: [[1, 2, 3]], "returned an array of shape (1, 3)"),
    (lambda _: [[1, 2], [3, 4]], "returned an array of shape (2, 2)"),
    (lambda _: [[1, 2, 3], [1, 2]], "returned a list that is no array (ValueError: "),
    (lambda _: [[1, 2, 3], [1, float("nan"), 3]], "returned NaN or infinity in row 1"),
    (lambda _: np.array([["1e4000", "1", "1"]] * 2).astype(np.longdouble), "returned NaN or infinity in row 0"),
    (lambda _: [["1", "2", "3"]] * 2, f"returned a list {NO_NUMBERS}"),
    (lambda _: None, f"returned a NoneType {NO_NUMBERS}"),
    (lambda texts: ([1, 2, 3] for _ in texts), f"returned a generator {NO_NUMBERS}"),
    (lambda _: NoArray(), "returned a NoArray that is no array (RuntimeError: not on this device)"),
    (raises(ValueError("out\n of  order")), "failed: ValueError: out of order"),
    (raises(UnprintableError()), "failed: UnprintableError"),
    (raises(RuntimeError("x" * 10_000)), "failed: RuntimeError: " + "x" * 199 + "…"),
]  # fmt: skip


@pytest.mark.parametrize(("function", "problem"), BAD, ids=range(len(BAD)))
def test_whatever_comes_is_checked(function: Callable[[list[str]], object], problem: str) -> None:
    with pytest.raises(EmbeddingError) as caught:
        as_vectors(calling(function), ["a", "b"])
    message = str(caught.value)
    assert isinstance(caught.value, HardwonError)
    assert message.startswith(f'the embedder "mine" {problem}')
    wanted = "; wanted: an array of finite numbers of shape (2, 3), one row for each text"
    assert (wanted in message) == ("returned" in problem)
    assert len(message) < 500


def test_errors_of_our_own_and_interrupts_pass() -> None:
    with pytest.raises(EmbeddingError, match="^mine$"):
        as_vectors(calling(raises(EmbeddingError("mine"))), ["a"])

    def interrupt(_: list[str]) -> object:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        as_vectors(calling(interrupt), ["a"])


@each("texts", ["text", b"text", None, 7, {"a"}, iter(["a"]), ["a", None], ["a", b"b"], [["a"]]])
def test_texts_must_be_texts(texts: Any) -> None:
    with pytest.raises(InvalidInputError, match="^texts"):
        as_vectors(calling(lambda _: [[1, 2, 3]]), texts)


@each("dimension", [0, -1, 3.0, True, None, "3", 8193, float("nan")])
def test_a_dimension_must_be_one(dimension: Any) -> None:
    with pytest.raises(InvalidInputError, match="the embedder's dimension"):
        CallableEmbedder(len, "mine", dimension)
    with pytest.raises(InvalidInputError, match="the embedder's dimension"):
        as_vectors(SimpleNamespace(name="mine", dimension=dimension, embed=len), ["a"])


@pytest.fixture(scope="module")
def wordllama() -> WordLlamaEmbedder:
    return WordLlamaEmbedder()


def test_wordllama_knows_what_is_alike(wordllama: WordLlamaEmbedder) -> None:
    embedder: Embedder = wordllama
    assert embedder.name == "wordllama-256-" + importlib.metadata.version("wordllama")
    assert repr(embedder) == "WordLlamaEmbedder()"
    cat, kitten, database = as_vectors(
        embedder, ["a cat sleeps", "the kitten is asleep", "restart the database server"]
    )
    assert cat.shape == (embedder.dimension,) == (256,)
    assert cat @ kitten > cat @ database + 0.2


def test_wordllama_without_its_files_fails(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import wordllama  # type: ignore[import-untyped]

    missing = tmp_path / "wordllama" / "__init__.py"
    monkeypatch.setattr(wordllama, "__file__", str(missing))
    problem = "could not load the model of its package: FileNotFoundError: .*downloads are dis"
    with pytest.raises(EmbeddingError, match=problem):
        WordLlamaEmbedder()


def test_the_programs_logging_stays_as_it_was() -> None:
    code = (
        "import logging; from hardwon.outside.embedders import WordLlamaEmbedder; "
        "WordLlamaEmbedder();print(len(logging.getLogger().handlers), logging.getLogger().level)"
    )
    assert python(code) == ["0", str(logging.WARNING)]


def test_nothing_is_imported_before_it_is_used() -> None:
    code = "import sys, hardwon, hardwon.outside.embedders; print(' '.join(sys.modules))"
    heavy = {"numpy", "wordllama", "fastembed", "tokenizers", "httpx", "http.client"}
    assert not heavy & set(python(code))


@pytest.mark.parametrize(("package", "use"), [
    ("numpy", lambda: as_vectors(calling(lambda _: [[1, 2, 3]]), ["a"])),
    ("wordllama", WordLlamaEmbedder),
    ("fastembed", FastembedEmbedder),
])  # fmt: skip
def test_a_missing_package_names_the_command(
    package: str, use: Callable[[], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtraError) as caught:
        use()
    assert isinstance(caught.value, HardwonError)
    assert str(caught.value).startswith(f"{package} cannot be imported (ModuleNotFoundError: ")
    assert str(caught.value).endswith(f"; {INSTALL}")


class TextEmbedding:
    """As fastembed 0.9 has it: vectors come one by one from a generator."""

    made: list[dict[str, object]]
    download_fails = False

    def __init__(self, model_name: str, cache_dir: str | None = None) -> None:
        if self.download_fails:
            raise ValueError(f"Could not load model {model_name} from any source.")
        self.made.append({"model_name": model_name, "cache_dir": cache_dir})

    @classmethod
    def list_supported_models(cls) -> list[dict[str, Any]]:
        return [{"model": "other/model", "dim": 7}, {"model": FASTEMBED_MODEL, "dim": 4}]

    def embed(self, documents: list[str], batch_size: int = 256) -> Iterator[Any]:
        assert isinstance(documents, list)
        # its own default takes gigabytes for long texts
        assert batch_size == _EMBED_MODEL_TEXTS
        for text in documents:
            if text == "bad":
                raise RuntimeError("onnx")
            yield np.array(vector_of(text, 4), np.float32)


@pytest.fixture
def fastembed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> type[TextEmbedding]:
    monkeypatch.setattr(TextEmbedding, "made", [], raising=False)
    package = SimpleNamespace(TextEmbedding=TextEmbedding, __version__="0.9.1")
    monkeypatch.setitem(sys.modules, "fastembed", package)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return TextEmbedding


def test_fastembed(fastembed: type[TextEmbedding], tmp_path: Path) -> None:
    embedder: Embedder = FastembedEmbedder()
    assert (embedder.name, embedder.dimension) == ("fastembed-0.9.1:BAAI/bge-small-en-v1.5", 4)
    (made,) = fastembed.made
    cache = str(tmp_path / "hardwon/fastembed")
    assert made == {"model_name": FASTEMBED_MODEL, "cache_dir": cache}
    assert as_vectors(embedder, ["a", "b"] * 30).shape == (60, 4)
    with pytest.raises(EmbeddingError, match='embedder "fastembed-.*" failed: RuntimeError: onnx'):
        as_vectors(embedder, ["a", "bad"])


def test_a_download_that_fails(
    fastembed: type[TextEmbedding], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(fastembed, "download_fails", True)
    with pytest.raises(EmbeddingError) as caught:
        FastembedEmbedder()
    assert str(caught.value) == (
        'the embedder "fastembed-0.9.1:BAAI/bge-small-en-v1.5" could not load its model: '
        "ValueError: Could not load model BAAI/bge-small-en-v1.5 from any source.; it is downloaded "
        f"once, from Hugging Face to {tmp_path}/hardwon/fastembed: check the network and the disk, or "
        "use WordLlamaEmbedder, which downloads nothing"
    )


@pytest.fixture
def server() -> Iterator[FakeEmbeddings]:
    with FakeEmbeddings() as running:
        yield running


def at(server: FakeLlm, dimension: int | None = 4) -> EndpointEmbedder:
    return EndpointEmbedder(server.url, "fake", KEY, dimension, timeout_s=60.0)


def fails(embedder: EndpointEmbedder, texts: Sequence[str] = ("a", "b")) -> str:
    """The message of its error, which leads to no other that could show the key."""
    with pytest.raises(EmbeddingError) as caught:
        as_vectors(embedder, texts)
    assert caught.value.__cause__ is caught.value.__context__ is None
    return str(caught.value)


def test_question_and_answer(server: FakeEmbeddings) -> None:
    embedder: Embedder = EndpointEmbedder(server.url + "/", "fake", KEY)
    assert server.asked == []
    texts = ["Grüße", "zwei\n\U0001f600", "three"]
    rows = np.array([vector_of(text, 4) for text in texts])
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    assert np.allclose(as_vectors(embedder, texts), unit)
    assert (embedder.name, embedder.dimension) == ("endpoint:fake", 4)
    probe, asked = server.asked
    assert probe.body["input"] == ["dimension"]
    assert (asked.method, asked.path) == ("POST", PATH)
    assert asked.body == {"model": "fake", "input": texts}
    assert asked.headers["Authorization"] == f"Bearer {KEY}"
    as_vectors(embedder, texts)
    assert len(server.asked) == 3  # the dimension is known by now


def test_blank_texts_are_not_sent(server: FakeEmbeddings) -> None:
    vectors = as_vectors(at(server), ["", "a", " \n", "b"])
    assert server.inputs == [["a", "b"]]
    assert vectors.any(axis=1).tolist() == [False, True, False, True]
    assert at(server).embed(["", " "]) == [[0.0] * 4] * 2
    assert len(server.asked) == 1


@each(("dimension", "per_request"), [(4, 32), (1536, 16), (EMBED_DIMENSION_MAX, 3)])
def test_as_many_texts_at_once_as_fit_a_reply(dimension: int, per_request: int) -> None:
    number = -1.2345678901234567e-05  # as long as they get
    with FakeEmbeddings(dimension=dimension) as server:
        # An endpoint that writes every number on a line of its own, indented.
        rows = [item(place, [number] * dimension) for place in range(33)]
        server.answer(lambda texts: rows[: len(texts)], indent=3)
        assert len(at(server, dimension=None).embed([f"text {place}" for place in range(33)])) == 33
        sizes = [len(texts) for texts in server.inputs[1:]]
    whole, rest = divmod(33, per_request)
    assert sizes == [per_request] * whole + [rest] * (rest > 0)


GOOD = vector_of("a", 4)
BAD_ANSWERS: list[tuple[Callable[[list[str]], object], str]] = [
    (lambda _: [], "sent 0 vectors; wanted: 2, with each index from 0 to 1 once"),
    (lambda _: [item(0, GOOD), item(0, GOOD)], "sent 2 vectors; wanted: 2, with each index"),
    (lambda _: [item("0", GOOD), item(1, GOOD)], "has no index"),
    (lambda _: [item(0, GOOD), item(1, "AACAPwAAAEA=")], "no embedding that is a list"),
    (lambda _: [None, 7], "has no index"),
    (lambda _: None, "sent JSON without data"),
    (lambda _: [item(0, GOOD), item(1, [*GOOD, 1])], "sent a vector of 5 numbers; wanted: 4"),
    (lambda _: [item(0, GOOD), item(1, [1, 2, 3, float("nan")])], "no finite number"),
    (lambda _: [item(0, GOOD), item(1, [1, 2, 3, 10**400])], "no finite number"),
    (lambda _: [item(0, GOOD), item(1, [1, 2, 3, True])], "no finite number"),
]


@pytest.mark.parametrize(("answer", "problem"), BAD_ANSWERS, ids=range(len(BAD_ANSWERS)))
def test_a_reply_is_checked(
    server: FakeEmbeddings, answer: Callable[[list[str]], object], problem: str
) -> None:
    server.answer(answer)
    message = fails(at(server))
    place = f"the embedding endpoint at http://127.0.0.1:{server.port}"
    assert message.startswith(f'the embedder "endpoint:fake": {place} sent ')
    assert problem in message


def test_neither_repr_nor_pickle_nor_attributes_hold_the_key() -> None:
    embedder = EndpointEmbedder("https://example.org/v1/", "m", KEY)
    assert repr(embedder) == "EndpointEmbedder('https://example.org/v1', model='m')"
    assert KEY not in f"{embedder} {vars(embedder)} {vars(embedder._endpoint)}"
    for leave in (pickle.dumps, copy.deepcopy):
        with pytest.raises(TypeError, match="neither pickled nor copied"):
            leave(embedder)
