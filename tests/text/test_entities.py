"""What a sentence names: found where it is named, and nothing where there is only prose."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from cases import each
from hardwon import limits
from hardwon.records.kinds import Entities
from hardwon.text.entities import (
    ENTITIES_FOUND_MAX,
    FACT_READ_CHARS_MAX,
    Named,
    add_names,
    find,
    read_part,
)
from hardwon.text.sentences import RELATIVE_DATE, lint
from strategies import texts


def named(files: str = "", functions: str = "", libraries: str = "", codes: str = "") -> Named:
    """Names with spaces between; error codes, some of which have one inside, with bars."""
    first, second, third = (tuple(text.split()) for text in (files, functions, libraries))
    return Named(first, second, third, tuple(filter(None, codes.split("|"))))


CORPUS: dict[str, Named] = {
    # files
    "The parser in src/auth/login.py drops empty headers.": named("src/auth/login.py"),
    "The stack ends at app/main.rs:42:7, not before.": named("app/main.rs"),
    "Windows keeps the settings in C:\\Users\\ann\\app.ini.": named("C:\\Users\\ann\\app.ini"),
    "Sources\\Core\\Engine.cs has mixed line ends.": named("Sources\\Core\\Engine.cs"),
    "A missing .env.local breaks the dev server.": named(".env.local"),
    "The Makefile calls the linker twice.": named("Makefile"),
    "Tokens are kept in ~/.netrc, mode 600.": named("~/.netrc"),
    "Names are looked up in /etc/hosts by findHost(name).": named("/etc/hosts", "findHost"),
    "Run ./configure again after an upgrade.": named("./configure"),
    "backup.tar.gz was cut at 2 GB.": named("backup.tar.gz"),
    "a.py,b.py and a.py again import each other.": named("a.py b.py"),
    "Größe.py cannot be imported on old file systems.": named("Größe.py"),
    "npm install https://example.org/docs/setup.md fails, as does www.example.org/a.md.": named(),
    "Mail ann@example.com or clone git@example.com:team/app.git.": named(),
    # where a script puts no space behind a name
    "`src/auth.ts의` 널 포인터를 고쳤다": named("src/auth.ts"),
    "src/결제/주문.ts에서 login()을 부르면 TypeError가 난다": named(
        "src/결제/주문.ts", "login", "", "TypeError"
    ),
    "設定ファイルconfig.ymlを直してsrc/auth.ts:12を消した。": named("config.yml src/auth.ts"),
    "在src/auth.ts中\uff0c修改main.go。": named("src/auth.ts main.go"),
    "Das auth.ts-Modul lädt zu spät.": named("auth.ts"),
    # functions
    "parse_config() returns None for an empty file.": named(functions="parse_config"),
    "Calling Session.execute twice deadlocks.": named(functions="Session.execute"),
    "The loop in worker.Pool.drain() never ends.": named(functions="worker.Pool.drain"),
    "std::sort is not stable.": named(functions="std::sort"),
    "SELECT count(*) locks the table.": named(functions="count"),
    "obj->reset() frees it twice.": named(functions="obj->reset"),
    "tests/test_auth.py::TestLogin::test_expired hangs.": named("tests/test_auth.py"),
    # libraries
    "numpy 1.26.4 removed the alias.": named(libraries="numpy"),
    "Pin urllib3==1.26.18 or botocore breaks.": named(libraries="urllib3"),
    "The build needs pip install left-pad first.": named(libraries="left-pad"),
    "from google.cloud import storage takes a second.": named(libraries="google"),
    "A script with `import numpy as np` takes a second.": named(libraries="numpy"),
    "const x = require('node-fetch') fails in ESM.": named(libraries="node-fetch"),
    # error codes
    "rustc stops with E0599 on the trait.": named(codes="E0599"),
    "Node exits with ERR_MODULE_NOT_FOUND.": named(codes="ERR_MODULE_NOT_FOUND"),
    "The gateway answers HTTP 503 at night.": named(codes="HTTP 503"),
    "The proxy sent 502 Bad Gateway.": named(codes="HTTP 502"),
    "open() fails with ENOENT on the first run.": named(functions="open", codes="ENOENT"),
    "A KeyError in the cache hides the real fault.": named(codes="KeyError"),
    "[Errno 13] is raised for the socket.": named(codes="errno 13"),
    # all of them
    "load() in src/io.py raises OSError with pandas==2.1.0.": named(
        "src/io.py", "load", "pandas", "OSError"
    ),
}

PROSE = [
    "Read and/or write access is needed, e.g. for logs, i.e. at 5 a.m. or 6 p.m.", "Version 1.2.3 is older than v2.0.",
    "The client/server split made TCP/IP and I/O simpler; yes/no is not enough.",
    "The standard library has no such thing, and the new package neither.",
    "We import data from the warehouse every night.", "Node.js is single-threaded.",
    "Complexity is O(n) and f(x) grows.", "HTTP 200 means that everything went well.",
    "Requests 20 times an hour are too many.", "We met Mr.smith of example.com in the U.S. at 10.30.",
    "It costs 3.50 per GB/month, 1,000 at most.", "[REDACTED:github-token] was found in a log.",
    "The API route /api/v1/users is public, /help is not.", "The value is self.log or process.env in most languages.",
    "", "日本語の文にはファイルがありません。",
]  # fmt: skip


@each("sentence", CORPUS)
def test_what_is_named_is_found(sentence: str) -> None:
    assert find(sentence) == CORPUS[sentence]


@each("sentence", PROSE)
def test_prose_names_nothing(sentence: str) -> None:
    assert find(sentence) == Named()


def test_order_of_appearance_and_no_doubles() -> None:
    calls = "b.py calls zip() and f(), a.py calls abs() and zip()"
    found = find(f"{calls}; b.py fails with ValueError, KeyError, ValueError.")
    # one letter names nothing
    assert found == named("b.py a.py", "zip abs", "", "ValueError|KeyError")


def test_what_the_caller_names_stays_first() -> None:
    given = Entities(files=["z.py"], libraries=["redis", "redis"], functions=["main"])
    text = "redis==7.0.1 and numpy 1.26.4 break main() and load() of a.py and z.py with KeyError."
    named = {"files": ["z.py", "a.py"], "functions": ["main", "load"], "error_codes": ["KeyError"]}
    assert add_names(given, find(text)) == Entities(**named, libraries=["redis", "redis", "numpy"])
    assert add_names(given, find("Nothing is named here.")) is given
    assert add_names(Entities(error_codes=[]), find("a.py is old.")).error_codes == []


def test_counts_and_lengths_are_bounded() -> None:
    many = " ".join(f"file{number}.py" for number in range(300))
    assert find(many).files == tuple(f"file{number}.py" for number in range(ENTITIES_FOUND_MAX))
    full = Entities(files=[f"given{number}.py" for number in range(limits.ITEMS_MAX)])
    assert add_names(full, find(many)).files == full.files
    long = "/".join(["folder"] * 60) + "/a.py"
    assert find(f"See {long} and b.py.") == named("b.py"), "no name that a record could not hold"


def test_a_long_text_is_read_up_to_a_whole_word() -> None:
    text = "word " * (FACT_READ_CHARS_MAX // 5 - 1) + "path/to/module.pyc is cut"
    assert len(read_part(text)) <= FACT_READ_CHARS_MAX
    assert read_part(text).endswith("word ")
    assert find(text).files == ()
    assert read_part("short") == "short"


@given(texts | st.text(alphabet="aZ_0.1/\\:()`'\"@=[]{}- \nE", max_size=300))
def test_whatever_is_found_can_be_kept(text: str) -> None:
    found = find(text)
    joined = add_names(Entities(), found)
    assert Entities.model_validate(joined.model_dump()) == joined
    assert add_names(joined, found) == joined, "what is there already is not added again"
    assert all(name in text for name in found.files)


TIMES = {
    "CI broke the day before yesterday.": "the day before yesterday",
    "Two days ago the index was dropped.": "Two days ago", "The quota will grow next month.": "next month",
    "The backup failed last night.": "last night", "The API changed recently.": "recently",
    "A few days ago the disk was full.": "A few days ago", "어제 빌드가 깨졌다.": "어제",
    "昨日ビルドが壊れた。": "昨日", "昨天构建失败了。": "昨天", "Gestern brach der Build ab.": "Gestern",
    "Le build a cassé hier soir.": "hier",
}  # fmt: skip

ALONE = [
    "yesterday.py holds the fixtures.", "Run `git log --since yesterday` first.",
    "The flag --since=yesterday is slow.", 'The button says "today" in every language.',
    "The path logs/today/errors.txt is empty, as is /var/yesterday.", "The job failed:\n\n    x = yesterday",
    "The last week of December is quiet.", "Three days before the release the branch is cut.", "It is raining.",
    "It is possible to restart the pool.", "It turns out that the cache leaks.", "This function returns a list.",
    "That it fails is known.", "The server restarts when it is idle.", "Iteration is slow.",
    "`it` blocks are run in order.", "IT staff rotate keys.", "The value is above the limit, as noted.",
]  # fmt: skip

PRONOUNS = {
    "It fails on empty input.": "It", "It's slow.": "It", "But it returns 404.": "it",
    "This breaks the build.": "This", "That was fixed in the proxy.": "That",
    "They said that the disk is full.": "They", "She'll merge the branch.": "She", "Its default port is 8080.": "Its",
    "- It needs root.": "It", "그것은 느리다.": "그것", "それは遅い。": "それ", "它很慢。": "它",
}  # fmt: skip


@each("sentence", TIMES)
def test_a_time_that_counts_from_the_day_it_was_said_is_named(sentence: str) -> None:
    assert lint(sentence) == [f'{RELATIVE_DATE} "{TIMES[sentence]}": say the date']


@each("sentence", ALONE)
def test_what_stands_alone_is_left_alone(sentence: str) -> None:
    assert lint(sentence) == []


@each("sentence", PRONOUNS)
def test_pronouns_that_stand_for_nothing_are_named(sentence: str) -> None:
    assert lint(sentence) == [f'pronoun "{PRONOUNS[sentence]}": name what it stands for']


def test_what_is_said_elsewhere_is_named() -> None:
    assert lint("As mentioned above, the pool leaks.") == [
        'reference "As mentioned above": say here what is said there'
    ]


@given(texts)
def test_every_text_can_be_looked_at(text: str) -> None:
    assert all(": " in finding for finding in lint(text))
