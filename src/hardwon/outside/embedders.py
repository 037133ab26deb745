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
from functools import partial
from pathlib import Path
from traceback import TracebackException
from typing import TYPE_CHECKING, Any, Final, NoReturn, Protocol

from hardwon import errors, limits
from hardwon.first_use import Later
from hardwon.outside.files import user_folder
from hardwon.outside.llm import Api, Endpoint
from hardwon.records.fields import check_that, check_whole_number

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

# How much of a text becomes its vector. Most models read 512 tokens, which is about this much, and
# pass over the rest; an average over more words is about nothing in particular.
EMBED_TEXT_CHARS_MAX: Final = 2_000

# Numbers of one vector. Large models have 4,096; a vector is kept with every record.
EMBED_DIMENSION_MAX: Final = 8_192

# Texts that an embedder gets at once. Common embedding servers refuse more in one request.
EMBED_BATCH_TEXTS: Final = 32

# Texts that a model in this process works on at once: it fills all of them up to the longest, so
# that more are slower, and take a gigabyte where the texts are emoji.
_EMBED_MODEL_TEXTS: Final = 8
# One number of a reply, with the line break and indentation that some endpoints put around it: by
# this, as many texts are sent at once as have replies that stay below LLM_REPLY_BYTES_MAX.
_EMBED_NUMBER_BYTES: Final = 40

np: Any = Later("numpy")
INSTALL: Final = errors.how_to_install("embeddings")
FASTEMBED_MODEL: Final = "BAAI/bge-small-en-v1.5"
_FLOAT_MAX: Final = sys.float_info.max
_EMBEDDINGS: Final = Api(
    "embedding", "/embeddings", "is the base URL that of an embeddings API?", errors.EmbeddingError
)


class Embedder(Protocol):
    """Whatever turns texts into vectors. `embed` returns what `numpy.asarray` makes an array of
    shape (texts, dimension) of, in the order of the texts. The name changes whenever the vectors
    do. A memory embeds what is recorded in a thread of its own: `embed` may be called by several
    threads at once.
    """

    @property
    def name(self) -> str: ...

    @property
    def dimension(self) -> int: ...

    def embed(self, texts: Sequence[str]) -> object:
        """A vector for each text."""
        ...


def as_vectors(embedder: Embedder, texts: Sequence[str]) -> NDArray[numpy.float32]:
    """One row of length 1 for each text; a zero vector, which says that a text means nothing to the
    embedder, stays zero.

    Texts are cut to `EMBED_TEXT_CHARS_MAX`. Raises `EmbeddingError` when the embedder fails, or
    returns anything but finite numbers in the shape that is wanted.
    """
    np = _package("numpy")
    name, dimension = _check_name(embedder.name), _check_dimension(embedder.dimension)
    is_list = isinstance(texts, Sequence) and not isinstance(texts, str | bytes)
    check_that(is_list, "texts", texts, "a list of texts")
    for place, text in enumerate(texts):
        check_that(isinstance(text, str), f"texts.{place}", text, "text")
    # Without half characters, which no tokenizer and no endpoint takes.
    beginnings = (text[:EMBED_TEXT_CHARS_MAX] for text in texts)
    fitted = [text.encode(errors="replace").decode() for text in beginnings]
    vectors: NDArray[numpy.float32] = np.zeros((len(fitted), dimension), dtype=np.float32)
    for start in range(0, len(fitted), EMBED_BATCH_TEXTS):
        batch = fitted[start : start + EMBED_BATCH_TEXTS]
        with _as_embedding_error(f"{_title(name)} failed: "):
            answer = embedder.embed(batch)
        vectors[start : start + len(batch)] = _unit_rows(name, answer, len(batch), dimension)
    different = len({text for text in fitted if text.strip()})
    # one text may mean nothing to an embedder; if none does, it is broken
    if different > 1 and not vectors.any():
        returned = f"nothing but zeros for {different} different texts"
        raise _problem(name, returned, len(fitted), dimension)
    return vectors


def _unit_rows(name: str, answer: object, count: int, dimension: int) -> Any:
    """What an embedder returned, where it is an array of numbers in the shape that is wanted."""
    np = _package("numpy")
    sort = f"a {type(answer).__name__} that is no array"
    before, _, after = str(_problem(name, f"{sort} (\0)", count, dimension)).rpartition("\0")
    with _as_embedding_error(before, after):
        array = np.asarray(answer)
    if array.dtype.kind not in "fiu":
        raise _problem(name, f"{sort} of real numbers", count, dimension)
    if array.shape != (count, dimension):
        raise _problem(name, f"an array of shape {array.shape}", count, dimension)
    with np.errstate(all="ignore"):  # numbers beyond 64 bits become infinite, and are refused below
        rows = array.astype(np.float64)
    bad = np.flatnonzero(~np.isfinite(rows).all(axis=1))
    if bad.size:
        raise _problem(name, f"NaN or infinity in row {bad[0]}", count, dimension)
    # By the largest number first: the squares of very large or small ones are infinite or zero.
    largest = np.abs(rows).max(axis=1, keepdims=True)
    rows /= np.where(largest == 0, 1, largest)
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    return (rows / np.where(length == 0, 1, length)).astype(np.float32)


def _problem(name: str, returned: str, count: int, dimension: int) -> errors.EmbeddingError:
    return errors.EmbeddingError(
        f"{_title(name)} returned {returned}; wanted: an array of finite numbers of shape "
        f"({count}, {dimension}), one row for each text"
    )


# --- embedders ---


class _ModelOfPackage:
    """What embedders of models in this process share: `_vectors` is the model's own function."""

    name: str
    dimension: int
    _vectors: Callable[[list[str]], object]

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    def embed(self, texts: Sequence[str]) -> object:
        """A vector for each text, in their order. `EmbeddingError` where the model fails."""
        with _as_embedding_error(f"{_title(self.name)} failed: "):
            return self._vectors(list(texts))


class WordLlamaEmbedder(_ModelOfPackage):
    """The small model that comes inside the wordllama package: nothing is downloaded, and a text
    takes half a millisecond.

    Loaded here, which takes a few tenths of a second. Safe to share between threads.
    """

    def __init__(self) -> None:
        # Importing wordllama sets up logging for the whole program, unless somebody did so before;
        # that is not ours to do.
        handler, root = logging.NullHandler(), logging.getLogger()
        root.addHandler(handler)
        try:
            package: Any = _package("wordllama")
        finally:
            root.removeHandler(handler)
        self.dimension = 256
        self.name = _check_name(f"wordllama-{self.dimension}-{package.__version__}")
        # It looks for its tokenizer in a folder of the wrong name, and would download it, unless
        # told its own folder.
        folder = Path(package.__file__).parent
        with _as_embedding_error(f"{_title(self.name)} could not load the model of its package: "):
            load = partial(package.WordLlama.load, dim=self.dimension, disable_download=True)
            model = load(cache_dir=folder)
        self._vectors = partial(model.embed, batch_size=_EMBED_MODEL_TEXTS)


class FastembedEmbedder(_ModelOfPackage):
    """A model of the fastembed package. The first use on a machine downloads it from Hugging Face
    (the default: 70 MB).

    Downloaded and loaded here; without a network that fails after 40 seconds of attempts.
    It is kept in a folder of the user's: fastembed's own default is shared with everybody on the
    machine.
    """

    def __init__(self, model: str = FASTEMBED_MODEL) -> None:
        package: Any = _package("fastembed")
        self.model: Final = model
        # Looked up first: a model that fastembed does not know should not be reported as a failed
        # download.
        listed = package.TextEmbedding.list_supported_models()
        known = {one["model"].lower(): one["dim"] for one in listed}
        allowed = "one that fastembed.TextEmbedding.list_supported_models() names"
        check_that(model.lower() in known, "model", model, allowed)
        self.dimension = _check_dimension(known[model.lower()])
        # Its version is a part of the name, because releases have changed how the same model's
        # vectors are made.
        self.name = _check_name(f"fastembed-{package.__version__}:{model}")
        folder = user_folder("cache") / "fastembed"
        with _as_embedding_error(
            f"{_title(self.name)} could not load its model: ",
            f"; it is downloaded once, from Hugging Face to {folder}: check the network and the disk, "
            "or use WordLlamaEmbedder, which downloads nothing",
        ):
            loaded = package.TextEmbedding(model_name=model, cache_dir=str(folder))
        self._vectors = lambda texts: list(loaded.embed(texts, batch_size=_EMBED_MODEL_TEXTS))

    def __repr__(self) -> str:
        return f"FastembedEmbedder({self.model!r})"


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
        self.name: Final = f"endpoint:{model}"
        title = f"{_title(self.name)}: "
        self._endpoint = Endpoint(_EMBEDDINGS, base_url, model, api_key, timeout_s, title)
        self._dimension = None if dimension is None else _check_dimension(dimension)
        _check_name(self.name)

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
        fitting = limits.LLM_REPLY_BYTES_MAX // ((dimension + 8) * _EMBED_NUMBER_BYTES)
        size = max(1, min(fitting, EMBED_BATCH_TEXTS))
        for start in range(0, len(sent), size):
            places = sent[start : start + size]
            answers = self._ask([texts[place] for place in places], dimension)
            for place, answer in zip(places, answers, strict=True):
                rows[place] = answer
        return rows

    def _ask(self, texts: list[str], dimension: int | None) -> list[list[float]]:
        """The vectors of the texts, in their order; without a dimension, of any that is allowed."""
        return self._endpoint.ask(
            {"model": self._endpoint.model, "input": texts},
            lambda reply: self._vectors(reply, len(texts), dimension),
        )

    def _vectors(self, reply: object, count: int, dimension: int | None) -> list[list[float]]:
        items = reply.get("data") if isinstance(reply, dict) else None
        if not isinstance(items, list):
            raise self._endpoint.error(f"sent JSON without data; {_EMBEDDINGS.is_it}")
        rows: dict[int, list[Any]] = {}
        for item in items:
            match item:
                case {"index": int(index), "embedding": list(row)}:
                    rows[index] = row
                case _:
                    problem = "sent data of which one has no index, or no embedding that is a list"
                    raise self._endpoint.error(problem)
        if len(items) != count or rows.keys() != set(range(count)):
            wanted = f"{count}, with each index from 0 to {count - 1} once"
            raise self._endpoint.error(f"sent {len(items)} vectors; wanted: {wanted}")
        least, most = (dimension, dimension) if dimension else (1, EMBED_DIMENSION_MAX)
        for row in rows.values():
            if not least <= len(row) <= most:
                wanted = str(dimension) if dimension else f"1 to {most}"
                raise self._endpoint.error(f"sent a vector of {len(row)} numbers; wanted: {wanted}")
            numbers = (number for number in row if type(number) in (int, float))
            if sum(-_FLOAT_MAX <= number <= _FLOAT_MAX for number in numbers) < len(row):
                problem = "sent a vector with something in it that is no finite number"
                raise self._endpoint.error(problem)
        return [rows[index] for index in range(count)]


class CallableEmbedder:
    """Any function from a list of texts to their vectors. Give it another name when it begins to
    return other vectors.
    """

    def __init__(self, function: Callable[[list[str]], object], name: str, dimension: int) -> None:
        allowed = "a function that takes a list of texts"
        check_that(callable(function), "function", function, allowed)
        self._function = function
        self.name: Final = _check_name(name)
        self.dimension: Final = _check_dimension(dimension)

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
        missing = f"{name} cannot be imported ({_describe(error)}); {INSTALL}"
        raise errors.MissingExtraError(missing) from error


def _check_name(name: object) -> str:
    is_name = isinstance(name, str) and name.strip() and name.isprintable()
    allowed = f"1 to {limits.NAME_CHARS_MAX} characters on one line"
    is_short = len(str(name)) <= limits.NAME_CHARS_MAX
    check_that(is_name and is_short, "the embedder's name", name, allowed)
    return str(name)


def _check_dimension(dimension: object) -> int:
    return check_whole_number("the embedder's dimension", dimension, 1, EMBED_DIMENSION_MAX)


def _title(name: str) -> str:
    return f'the embedder "{name}"'


@contextmanager
def _as_embedding_error(before: str, after: str = "") -> Iterator[None]:
    """Whatever somebody else's code raises becomes an EmbeddingError, with these words before and
    after what was raised.
    """
    try:
        yield
    except errors.HardwonError:
        raise
    except Exception as error:  # a foreign model or function may fail in any way
        raise errors.EmbeddingError(f"{before}{_describe(error)}{after}") from error


def _describe(error: Exception) -> str:
    """On one line: what somebody else's error says may be a page, or fail to say anything, which
    must not hide the problem.
    """
    words = " ".join(str(TracebackException(type(error), error, None)).split())
    if len(words) > limits.BEGINNING_CHARS:
        words = words[: limits.BEGINNING_CHARS - 1] + "…"
    return f"{type(error).__name__}: {words}" if words else type(error).__name__
