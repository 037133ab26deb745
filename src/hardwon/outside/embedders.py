"""What turns texts into vectors: a model in this process, an OpenAI-compatible endpoint, or any
function.

An `Embedder` is one method with a name and a dimension, which are stamped on what it wrote: vectors
of two embedders must never be compared. Nobody else's array is trusted; `as_vectors` is the one way
in, and checks everything.

NumPy and the packages of the models are imported where they are used: most programs need none of
them.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn, Protocol

from hardwon import limits
from hardwon.errors import EmbeddingError, HardwonError, InvalidInputError, MissingExtraError
from hardwon.outside.llm import Api, Endpoint

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

INSTALL: Final = 'pip install "hardwon[embeddings]"'
FASTEMBED_MODEL: Final = "BAAI/bge-small-en-v1.5"
_FLOAT_MAX: Final = sys.float_info.max
_EMBEDDINGS: Final = Api(
    "embedding", "/embeddings", "is the base URL that of an embeddings API?", EmbeddingError
)


class Embedder(Protocol):
    """Whatever turns texts into vectors. `embed` returns what `numpy.asarray` makes an array of
    shape (texts, dimension) of, in the order of the texts. The name changes whenever the vectors
    do.
    """

    @property
    def name(self) -> str: ...

    @property
    def dimension(self) -> int: ...

    def embed(self, texts: Sequence[str]) -> object: ...


def as_vectors(embedder: Embedder, texts: Sequence[str]) -> NDArray[numpy.float32]:
    """One row of length 1 for each text; a zero vector, which says that a text means nothing to the
    embedder, stays zero.

    Texts are cut to `EMBED_TEXT_CHARS_MAX`. Raises `EmbeddingError` when the embedder fails, or
    returns anything but finite numbers in the shape that is wanted.
    """
    np = _package("numpy")
    name, dimension = _checked_name(embedder.name), _checked_dimension(embedder.dimension)
    fitted = [_fitted(text) for text in _checked_texts(texts)]
    vectors: NDArray[numpy.float32] = np.zeros((len(fitted), dimension), dtype=np.float32)
    for start in range(0, len(fitted), limits.EMBED_BATCH_TEXTS):
        batch = fitted[start : start + limits.EMBED_BATCH_TEXTS]
        wanted = _Wanted(name, len(batch), dimension)
        vectors[start : start + wanted.count] = _unit_rows(_answer(embedder, batch, wanted), wanted)
    different = len({text for text in fitted if text.strip()})
    # one text may mean nothing to an embedder; if none does, it is broken
    if different > 1 and not vectors.any():
        raise _Wanted(name, len(fitted), dimension).error(
            f"nothing but zeros for {different} different texts"
        )
    return vectors


# --- embedders ---


class WordLlamaEmbedder:
    """The small model that comes inside the wordllama package: nothing is downloaded, and a text
    takes half a millisecond.

    Loaded here, which takes a few tenths of a second. Safe to share between threads.
    """

    def __init__(self) -> None:
        with _root_logger_kept():
            package: Any = _package("wordllama")
        self.dimension: Final = 256
        self.name: Final = _checked_name(f"wordllama-{self.dimension}-{package.__version__}")
        # It looks for its tokenizer in a folder of the wrong name, and would download it, unless
        # told its own folder.
        folder = Path(package.__file__).parent
        try:
            self._model = package.WordLlama.load(
                cache_dir=folder, dim=self.dimension, disable_download=True
            )
        except Exception as error:
            raise EmbeddingError(
                f"{_named(self.name)} could not load the model of its package: {_said(error)}"
            ) from error

    def __repr__(self) -> str:
        return "WordLlamaEmbedder()"

    def embed(self, texts: Sequence[str]) -> object:
        """A vector for each text, in their order. `EmbeddingError` where the model fails."""
        try:
            return self._model.embed(list(texts), batch_size=limits.EMBED_MODEL_TEXTS)
        except Exception as error:
            raise _failed(self.name, error) from error


class FastembedEmbedder:
    """A model of the fastembed package. The first use on a machine downloads it from Hugging Face
    (the default: 70 MB).

    Downloaded and loaded here; without a network that fails after 40 seconds of attempts.
    `cache_dir` is where models are kept, by default a folder of the user's: fastembed's own default
    is shared with everybody on the machine.
    """

    def __init__(
        self, model: str = FASTEMBED_MODEL, *, cache_dir: str | Path | None = None
    ) -> None:
        package: Any = _package("fastembed")
        self.model: Final = model
        self.dimension: Final = _checked_dimension(_fastembed_dimension(package, model))
        # Its version is a part of the name, because releases have changed how the same model's
        # vectors are made.
        self.name: Final = _checked_name(f"fastembed-{package.__version__}:{model}")
        folder = Path(cache_dir) if cache_dir else _model_folder()
        try:
            self._model = package.TextEmbedding(model_name=model, cache_dir=str(folder))
        except Exception as error:
            problem = (
                f"{_named(self.name)} could not load its model: {_said(error)}; it is downloaded "
                f"once, from Hugging Face to "
                f"{folder}: check the network and the disk, or use WordLlamaEmbedder, which "
                f"downloads nothing"
            )
            raise EmbeddingError(problem) from error

    def __repr__(self) -> str:
        return f"FastembedEmbedder({self.model!r})"

    def embed(self, texts: Sequence[str]) -> object:
        """A vector for each text, in their order. `EmbeddingError` where the model fails."""
        try:
            return list(self._model.embed(list(texts), batch_size=limits.EMBED_MODEL_TEXTS))
        except Exception as error:
            raise _failed(self.name, error) from error


class EndpointEmbedder:
    """A model at an endpoint that speaks OpenAI's embeddings. Safe to share between threads; keeps
    nothing open.

    As safe as a `ChatModel`: https, or http to this machine; no redirects; the key goes to no other
    host and into no error. An address, model or key that cannot be used is refused here, before
    anything is sent. A dimension that is not given is learned from one short question when it is
    first needed. Blank texts, which many endpoints refuse, are not sent.
    """

    def __init__(
        self,
        base_url: str,
        model: str,
        api_key: str = "",
        dimension: int | None = None,
        *,
        timeout_s: float = limits.LLM_TIMEOUT_S,
    ) -> None:
        self._endpoint = Endpoint(_EMBEDDINGS, base_url, model, api_key, timeout_s)
        self._dimension = None if dimension is None else _checked_dimension(dimension)
        self.name: Final = _checked_name(f"endpoint:{model}")

    def __repr__(self) -> str:
        return f"EndpointEmbedder({self._endpoint.base_url!r}, model={self._endpoint.model!r})"

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "an EndpointEmbedder holds a key and is neither pickled nor copied; make a new one"
        )

    @property
    def dimension(self) -> int:
        """Asks the endpoint the first time, where it was not given."""
        if self._dimension is None:
            (row,) = self._ask(["dimension"], None)
            self._dimension = len(row)
        return self._dimension

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """A vector for each text, in their order. `EmbeddingError` where the endpoint fails."""
        dimension = self.dimension
        rows = [[0.0] * dimension for _ in texts]
        sent = [place for place, text in enumerate(texts) if text.strip()]
        # 8 more, for what is around it
        fitting = limits.LLM_REPLY_BYTES_MAX // ((dimension + 8) * limits.EMBED_NUMBER_BYTES)
        size = max(1, min(fitting, limits.EMBED_BATCH_TEXTS))
        for start in range(0, len(sent), size):
            places = sent[start : start + size]
            answers = self._ask([texts[place] for place in places], dimension)
            for place, answer in zip(places, answers, strict=True):
                rows[place] = answer
        return rows

    def _ask(self, texts: list[str], dimension: int | None) -> list[list[float]]:
        try:
            return self._vectors(texts, dimension)
        except EmbeddingError as error:
            problem = str(error)
        # Raised anew, and out here, for the reason that ChatModel gives.
        raise EmbeddingError(f"{_named(self.name)}: {problem}")

    def _vectors(self, texts: list[str], dimension: int | None) -> list[list[float]]:
        """The vectors of the texts, in their order; without a dimension, of any that is allowed."""
        match self._endpoint.ask({"model": self._endpoint.model, "input": texts}):
            case {"data": list(items)}:
                pass
            case _:
                raise self._endpoint.error(f"sent JSON without data; {_EMBEDDINGS.is_it}")
        found: dict[int, list[Any]] = {}
        for item in items:
            match item:
                case {"index": int(index), "embedding": list(row)}:
                    found[index] = row
                case _:
                    raise self._endpoint.error(
                        "sent data of which one has no index, or no embedding that is a list"
                    )
        count = len(texts)
        if len(items) != count or found.keys() != set(range(count)):
            wanted = f"{count}, with each index from 0 to {count - 1} once"
            raise self._endpoint.error(f"sent {len(items)} vectors; wanted: {wanted}")
        for row in found.values():
            if dimension is None and not 1 <= len(row) <= limits.EMBED_DIMENSION_MAX:
                wanted = f"1 to {limits.EMBED_DIMENSION_MAX}"
                raise self._endpoint.error(f"sent a vector of {len(row)} numbers; wanted: {wanted}")
            if dimension is not None and len(row) != dimension:
                raise self._endpoint.error(
                    f"sent a vector of {len(row)} numbers; wanted: {dimension}"
                )
            if not all(
                type(number) in (int, float) and -_FLOAT_MAX <= number <= _FLOAT_MAX
                for number in row
            ):
                raise self._endpoint.error(
                    "sent a vector with something in it that is no finite number"
                )
        return [found[index] for index in range(count)]


class CallableEmbedder:
    """Any function from a list of texts to their vectors. Give it another name when it begins to
    return other vectors.
    """

    def __init__(self, function: Callable[[list[str]], object], name: str, dimension: int) -> None:
        if not callable(function):
            raise InvalidInputError.one(
                "function", function, "a function that takes a list of texts"
            )
        self._function = function
        self.name: Final = _checked_name(name)
        self.dimension: Final = _checked_dimension(dimension)

    def __repr__(self) -> str:
        return f"CallableEmbedder(name={self.name!r}, dimension={self.dimension})"

    def embed(self, texts: Sequence[str]) -> object:
        """What the function gives for the texts."""
        return self._function(list(texts))


# --- packages ---


def _package(name: str) -> Any:
    from importlib import import_module

    try:
        return import_module(name)
    except ImportError as error:
        raise MissingExtraError(
            f"{name} cannot be imported ({_said(error)}); install it with: {INSTALL}"
        ) from error


@contextmanager
def _root_logger_kept() -> Iterator[None]:
    """Importing wordllama sets up logging for the whole program, unless somebody did so before;
    that is not ours to do.
    """
    handler, root = logging.NullHandler(), logging.getLogger()
    root.addHandler(handler)
    try:
        yield
    finally:
        root.removeHandler(handler)


def _model_folder() -> Path:
    from platformdirs import user_cache_path

    return user_cache_path("hardwon") / "fastembed"


def _fastembed_dimension(package: Any, model: str) -> object:
    # Looked up first: a model that fastembed does not know should not be reported as a failed
    # download.
    for known in package.TextEmbedding.list_supported_models():
        if known["model"].lower() == model.lower():
            return known["dim"]
    raise InvalidInputError.one(
        "model", model, "one that fastembed.TextEmbedding.list_supported_models() names"
    )


# --- what comes in and out ---


class _Wanted:
    """What an embedder was asked for, to be told where it returned something else."""

    def __init__(self, name: str, count: int, dimension: int) -> None:
        self.name, self.count, self.dimension = name, count, dimension

    def error(self, returned: str) -> EmbeddingError:
        shape = f"an array of finite numbers of shape ({self.count}, {self.dimension})"
        return EmbeddingError(
            f"{_named(self.name)} returned {returned}; wanted: {shape}, one row for each text"
        )


def _answer(embedder: Embedder, batch: list[str], wanted: _Wanted) -> Any:
    """What the embedder returned, as an array of whatever it is."""
    np = _package("numpy")
    try:
        answer = embedder.embed(batch)
    except HardwonError:
        raise
    except Exception as error:
        raise _failed(wanted.name, error) from error
    try:
        array = np.asarray(answer)
    except Exception as error:
        raise wanted.error(
            f"a {type(answer).__name__} that is no array ({_said(error)})"
        ) from error
    if array.dtype.kind not in "fiu":
        raise wanted.error(f"a {type(answer).__name__} that is no array of real numbers")
    return array


def _unit_rows(array: Any, wanted: _Wanted) -> Any:
    np = _package("numpy")
    if array.shape != (wanted.count, wanted.dimension):
        raise wanted.error(f"an array of shape {array.shape}")
    with np.errstate(all="ignore"):  # numbers beyond 64 bits become infinite, and are refused below
        rows = array.astype(np.float64)
    bad = np.flatnonzero(~np.isfinite(rows).all(axis=1))
    if bad.size:
        raise wanted.error(f"NaN or infinity in row {bad[0]}")
    # By the largest number first: the squares of very large or small ones are infinite or zero.
    rows /= _not_zero(np.abs(rows).max(axis=1, keepdims=True))
    rows /= _not_zero(np.linalg.norm(rows, axis=1, keepdims=True))
    return rows.astype(np.float32)


def _not_zero(divisors: Any) -> Any:
    divisors[divisors == 0] = 1
    return divisors


def _checked_texts(texts: Sequence[str]) -> list[str]:
    given: object = texts
    if isinstance(given, str | bytes) or not isinstance(given, Sequence):
        raise InvalidInputError.one("texts", given, "a list of texts")
    for place, text in enumerate(given):
        if not isinstance(text, str):
            raise InvalidInputError.one(f"texts.{place}", text, "text")
    return list(given)


def _fitted(text: str) -> str:
    """Cut, and without half characters, which no tokenizer and no endpoint takes."""
    return text[: limits.EMBED_TEXT_CHARS_MAX].encode(errors="replace").decode()


def _checked_name(name: object) -> str:
    if (
        not isinstance(name, str)
        or not name.strip()
        or not name.isprintable()
        or len(name) > limits.NAME_CHARS_MAX
    ):
        allowed = f"1 to {limits.NAME_CHARS_MAX} characters on one line"
        raise InvalidInputError.one("the embedder's name", name, allowed)
    return name


def _checked_dimension(dimension: object) -> int:
    if type(dimension) is not int or not 1 <= dimension <= limits.EMBED_DIMENSION_MAX:
        allowed = f"a whole number from 1 to {limits.EMBED_DIMENSION_MAX}"
        raise InvalidInputError.one("the embedder's dimension", dimension, allowed)
    return dimension


def _named(name: str) -> str:
    return f'the embedder "{name}"'


def _failed(name: str, error: Exception) -> EmbeddingError:
    return EmbeddingError(f"{_named(name)} failed: {_said(error)}")


def _said(error: Exception) -> str:
    """An error of somebody else's code on one line: it may be a page, or fail to say anything."""
    try:
        said = " ".join(str(error).split())
    except Exception:  # noqa: BLE001  # a foreign __str__ may fail in any way, and must not hide the problem
        said = ""
    if len(said) > limits.LLM_SAID_CHARS_MAX:
        said = said[: limits.LLM_SAID_CHARS_MAX - 1] + "…"
    return f"{type(error).__name__}: {said}" if said else type(error).__name__
