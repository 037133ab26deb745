"""What a sentence names: found where it is named, and nothing where there is only prose."""

from __future__ import annotations

import time

from hypothesis import given
from hypothesis import strategies as st

from cases import each
from hardwon import limits
from hardwon.records.kinds import Entities
from hardwon.text.entities import Named, added, find, read_part
from strategies import texts


def named(files: str = "", functions: str = "", libraries: str = "", codes: str = "") -> Named:
    """Names with spaces between; error codes, some of which have one inside, with bars."""
    return Named(
        tuple(files.split()),
        tuple(functions.split()),
        tuple(libraries.split()),
        tuple(filter(None, codes.split("|"))),
    )


CORPUS: dict[str, Named] = {
    # files
    "The parser in src/auth/login.py drops empty headers.": named("src/auth/login.py"),
    "Edit pyproject.toml before setup.cfg.": named("pyproject.toml setup.cfg"),
    "The stack ends at app/main.rs:42:7, not before.": named("app/main.rs"),
    "Windows keeps the settings in C:\\Users\\ann\\app.ini.": named("C:\\Users\\ann\\app.ini"),
    "The share \\\\nas\\builds\\nightly.zip is read-only.": named("\\\\nas\\builds\\nightly.zip"),
    "Sources\\Core\\Engine.cs has mixed line ends.": named("Sources\\Core\\Engine.cs"),
    "A missing .env.local breaks the dev server.": named(".env.local"),
    "The Makefile calls the linker twice.": named("Makefile"),
    "Both Dockerfile and .dockerignore must list the cache.": named("Dockerfile .dockerignore"),
    "Tokens are kept in ~/.netrc, mode 600.": named("~/.netrc"),
    "The resolver reads /etc/hosts first.": named("/etc/hosts"),
    "Run ./configure again after an upgrade.": named("./configure"),
    "See `tests/data/broken.jsonl` (line 3).": named("tests/data/broken.jsonl"),
    "backup.tar.gz was cut at 2 GB.": named("backup.tar.gz"),
    "The job passes --config=deploy.yaml to both.": named("deploy.yaml"),
    "index.html's cache header is wrong.": named("index.html"),
    "a.py,b.py and a.py again import each other.": named("a.py b.py"),
    "Größe.py cannot be imported on old file systems.": named("Größe.py"),
    ".github/workflows/ci.yml runs on every push.": named(".github/workflows/ci.yml"),
    "The link https://example.org/docs/setup.md is dead.": named(),
    "Mail ann@example.com or clone git@example.com:team/app.git.": named(),
    # functions
    "parse_config() returns None for an empty file.": named(functions="parse_config"),
    "Calling Session.execute twice deadlocks.": named(functions="Session.execute"),
    "The loop in worker.Pool.drain() never ends.": named(functions="worker.Pool.drain"),
    "std::sort is not stable.": named(functions="std::sort"),
    "tokio::time::sleep() needs a runtime.": named(functions="tokio::time::sleep"),
    "The function `flush` returns too early.": named(functions="flush"),
    "`retry_all` is called before the lock is held.": named(functions="retry_all"),
    "Use the method fetchRows for large results.": named(functions="fetchRows"),
    "open(path, mode) follows links.": named(functions="open"),
    "SELECT count(*) locks the table.": named(functions="count"),
    "obj->reset() frees it twice.": named(functions="obj->reset"),
    "tests/test_auth.py::TestLogin::test_expired hangs.": named(
        "tests/test_auth.py", "TestLogin::test_expired"
    ),
    "console.log() blocks when the pipe is full.": named(functions="console.log"),
    "The macro println!() locks stdout.": named(functions="println"),
    # libraries
    "numpy 1.26 removed the alias.": named(libraries="numpy"),
    "react@18 renders twice in strict mode.": named(libraries="react"),
    "Pin urllib3==1.26.18 or botocore breaks.": named(libraries="urllib3"),
    "@babel/core@7.22 drops comments.": named(libraries="@babel/core"),
    "The build needs pip install left-pad first.": named(libraries="left-pad"),
    "`npm install --save-dev vitest` fixes the runner.": named(libraries="vitest"),
    "cargo add serde_json fails offline.": named(libraries="serde_json"),
    "from google.cloud import storage takes a second.": named(libraries="google"),
    "`import yaml` loads the C parser.": named(libraries="yaml"),
    "const x = require('node-fetch') fails in ESM.": named(
        functions="require", libraries="node-fetch"
    ),
    "Use the Requests library with a timeout.": named(libraries="Requests"),
    "The `tabulate` package pads wide characters.": named(libraries="tabulate"),
    "Redis 7 drops idle clients after 300 s.": named(libraries="Redis"),
    "Django 4.2 and django 5.0 differ here.": named(libraries="Django"),
    # error codes
    "rustc stops with E0599 on the trait.": named(codes="E0599"),
    "tsc reports TS2345 for the callback.": named(codes="TS2345"),
    "Node exits with ERR_MODULE_NOT_FOUND.": named(codes="ERR_MODULE_NOT_FOUND"),
    "The gateway answers HTTP 503 at night.": named(codes="HTTP 503"),
    "The proxy sent 502 Bad Gateway.": named(codes="HTTP 502"),
    "The API answers status code 429 after ten calls.": named(codes="HTTP 429"),
    "open() fails with ENOENT on the first run.": named(functions="open", codes="ENOENT"),
    "Postgres raises SQLSTATE 42P01 for the view.": named(codes="SQLSTATE 42P01"),
    "A KeyError in the cache hides the real fault.": named(codes="KeyError"),
    "java.lang.NullPointerException comes from the pool.": named(codes="NullPointerException"),
    "CVE-2024-3094 is in the base image.": named(codes="CVE-2024-3094"),
    "[Errno 13] is raised for the socket.": named(codes="errno 13"),
    "The installer ends with 0x80070005.": named(codes="0x80070005"),
    # all of them
    "load() in src/io.py raises OSError with pandas 2.1.": named(
        "src/io.py", "load", "pandas", "OSError"
    ),
}

PROSE = [
    "The build is slow when the cache is cold.",
    "Read and/or write access is needed, e.g. for logs, i.e. at 5 a.m. or 6 p.m.",
    "Version 1.2.3 is older than v2.0.",
    "The client/server split made TCP/IP and I/O simpler; yes/no is not enough.",
    "Check the file(s) and the class(es) before you restart.",
    "The standard library has no such thing, and the new package neither.",
    "Use the shared library of the operating system.",
    "Pip install fails behind a proxy.",
    "We import data from the warehouse every night.",
    "Node.js is single-threaded.",
    "Complexity is O(n) and f(x) grows.",
    "ETL AND ECHO ARE NOT ERRORS, NOR IS EARLY EXIT.",
    "HTTP 200 means that everything went well.",
    "The function fails and the method works.",
    "Requests 20 times an hour are too many.",
    "We met Mr.smith of example.com in the U.S. at 10.30.",
    "A 500 page manual helps nobody.",
    "Errors and Exceptions are rare; an Error or Warning is shown.",
    "It costs 3.50 per GB/month, 1,000 at most.",
    "The team (all of it) agreed: no more meetings.",
    "[REDACTED:github-token] was found in a log.",
    "The API route /api/v1/users is public, /help is not.",
    "Say \"yes\" or 'no'.",
    "*.py and .py are patterns.",
    "The value is self.log or process.env in most languages.",
    "",
    "日本語の文にはファイルがありません。",
]


@each("sentence", CORPUS)
def test_what_is_named_is_found(sentence: str) -> None:
    assert find(sentence) == CORPUS[sentence]


@each("sentence", PROSE)
def test_prose_names_nothing(sentence: str) -> None:
    assert find(sentence) == Named()


def test_the_corpus_is_large_enough_to_say_something() -> None:
    assert len(CORPUS) >= 60


def test_order_of_appearance_and_no_doubles() -> None:
    found = find(
        "b.py calls zip() and f(), a.py calls abs() and zip(); b.py fails with ValueError, "
        "KeyError, ValueError."
    )
    assert found == named("b.py a.py", "zip abs", "", "ValueError|KeyError"), (
        "one letter names nothing"
    )


def test_what_the_caller_names_stays_first() -> None:
    given = Entities(files=["z.py"], libraries=["redis", "redis"], functions=["main"])
    joined = added(
        given,
        find("Redis 7 and numpy 1.26 break main() and load() of a.py and z.py with KeyError."),
    )
    assert joined == Entities(
        files=["z.py", "a.py"],
        functions=["main", "load"],
        libraries=["redis", "redis", "numpy"],
        error_codes=["KeyError"],
    )
    assert added(given, find("Nothing is named here.")) is given
    assert added(Entities(error_codes=[]), find("a.py is old.")).error_codes == []


def test_counts_and_lengths_are_bounded() -> None:
    many = " ".join(f"file{number}.py" for number in range(300))
    assert find(many).files == tuple(
        f"file{number}.py" for number in range(limits.ENTITIES_FOUND_MAX)
    )
    full = Entities(files=[f"given{number}.py" for number in range(limits.ITEMS_MAX)])
    assert added(full, find(many)).files == full.files
    long = "/".join(["folder"] * 60) + "/a.py"
    assert find(f"See {long} and b.py.") == named("b.py"), "no name that a record could not hold"


def test_a_long_text_is_read_up_to_a_whole_word() -> None:
    text = "word " * (limits.FACT_READ_CHARS_MAX // 5 - 1) + "path/to/module.pyc is cut"
    assert len(read_part(text)) <= limits.FACT_READ_CHARS_MAX
    assert read_part(text).endswith("word ")
    assert find(text).files == ()
    assert read_part("short") == "short"


HOSTILE = r"""a a. a/ a\ a( a:: `a "a 'a import_a, from_a_ a@ a- 1. E AError the_a_ pip_install_-x_ ( [ ] . / \ `` ```
    www. a:// a@a. require(' import_{a}_from_'a SQLSTATE_ HTTP_ A 0x8 .a ..a ~/ a->a @a/a a==1.""".split()


@each("unit", HOSTILE)
def test_time_grows_with_the_text_alone(unit: str) -> None:
    unit = unit.replace("_", " ")
    took = []
    for chars in (limits.FACT_READ_CHARS_MAX // 4, limits.FACT_READ_CHARS_MAX):
        text = (unit * chars)[:chars]
        start = time.process_time()  # of this process alone: others wait for the same cores
        find(text)
        took.append(time.process_time() - start)
    assert took[1] < 20 * took[0] + 0.1, (
        "four times the text; the square would be sixteen times the time, and a power forever"
    )
    assert took[1] < 1


@given(texts | st.text(alphabet="aZ_0.1/\\:()`'\"@=[]{}- \nE", max_size=300))
def test_whatever_is_found_can_be_kept(text: str) -> None:
    found = find(text)
    joined = added(Entities(), found)
    assert Entities.model_validate(joined.model_dump()) == joined
    assert added(joined, found) == joined, "what is there already is not added again"
    assert all(name in text for name in found.files)
