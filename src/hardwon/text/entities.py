"""What a sentence is about: the files, functions, libraries and error codes that it names. No I/O.

It would rather miss one than see one where there is none: facts are told apart by what they name.
Whatever a pattern repeats is bounded, so that time grows with the text alone.

At the end: the words of a text that look like paths. Whether there are such files is for others to
see.
"""

from __future__ import annotations

import errno
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Final, NamedTuple

from hardwon import limits
from hardwon.records.kinds import Entities


class _Mention(NamedTuple):
    at: int
    name: str


class Named(NamedTuple):
    """The names found in a text, each in the order in which they appear and without doubles."""

    files: tuple[str, ...] = ()
    functions: tuple[str, ...] = ()
    libraries: tuple[str, ...] = ()
    error_codes: tuple[str, ...] = ()


def find(text: str) -> Named:
    """What the text names, as far as it is read (`FACT_READ_CHARS_MAX`)."""
    text = read_part(text)
    if _PROSE.fullmatch(text):  # the usual case, at a third of the price
        files = _distinct(_files(text)) if "file" in text else ()
        may_have_codes = "tatus " in text or "rrno " in text or _STATUS.search(text)
        return Named(
            files,
            (),
            _distinct(_libraries(text), fold=True),
            _distinct(_error_codes(text)) if may_have_codes else (),
        )
    if any(mark in text for mark in ("://", "www.", "@", "[REDACTED:")):
        text = _ADDRESS.sub(lambda found: " " * (found.end() - found.start()), text)
    codes = _distinct(_error_codes(text))
    functions = (
        place for place in _functions(text) if place.name not in codes and not _is_file(place.name)
    )
    return Named(
        _distinct(_files(text)), _distinct(functions), _distinct(_libraries(text), fold=True), codes
    )


def added(given: Entities, found: Named) -> Entities:
    """What the caller names stays, and comes first; what is found is added."""
    if not any(found):
        return given
    codes = _joined(given.error_codes or [], found.error_codes)
    return given.altered(
        files=_joined(given.files, found.files),
        functions=_joined(given.functions, found.functions),
        libraries=_joined(given.libraries, found.libraries, fold=True),
        error_codes=codes or given.error_codes,
    )


def read_part(text: str) -> str:
    """What is looked at of a text: its beginning, without a word that would be cut."""
    if len(text) <= limits.FACT_READ_CHARS_MAX:
        return text
    head = text[: limits.FACT_READ_CHARS_MAX]
    cut = max(head.rfind(" "), head.rfind("\n"))
    return head[: cut + 1]


def _joined(given: list[str], found: Iterable[str], *, fold: bool = False) -> list[str]:
    known = {_folded(name, fold) for name in given}
    new = [name for name in found if _folded(name, fold) not in known]
    return [*given, *new][: max(limits.ITEMS_MAX, len(given))]


def _distinct(places: Iterable[_Mention], *, fold: bool = False) -> tuple[str, ...]:
    names: dict[str, str] = {}
    for place in sorted(places):
        if len(place.name) <= limits.NAME_CHARS_MAX:
            names.setdefault(_folded(place.name, fold), place.name)
    return tuple(names.values())[: limits.ENTITIES_FOUND_MAX]


def _folded(name: str, fold: bool) -> str:
    """Libraries are the same in any letter case, and with either dash; files and functions are
    not.
    """
    return name.casefold().replace("_", "-") if fold else name


_STATUS: Final = re.compile(r"[45]\d\d [A-Z]")
# Nothing but words, in the letters of English, and numbers. Every step takes a space: there is one
# way to match.
_PROSE: Final = re.compile(
    r"(?:(?:[A-Z]?[a-z]*(?:['\u2019-][a-z]+)?|\d{1,9}(?:\.\d{1,3})?%?)[,;:.!?]?(?:[ "
    r"\n]|\Z)){0,10000}"
)

_ADDRESS: Final = re.compile(
    r"\b[A-Za-z][A-Za-z0-9+.]{1,15}://[^\s<>\"'`]{1,2000}"  # a URL
    r"|\bwww\.[^\s<>\"'`]{1,2000}"
    # mail, git
    r"|(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){0,5}\.[A-Za-z][\w-]{1,20}(?::[^\s<>\"'`]{1,500})?"
    r"|\[REDACTED:[a-z0-9-]{1,40}\]"
)


# --- files ---

_EXTENSIONS: Final = frozenset(
    """py pyi pyx ipynb js jsx ts tsx mjs cjs vue svelte c h cc cpp cxx hpp hh rs go java kt kts swift m mm cs fs vb rb php
    pl pm lua r jl scala clj ex exs erl hs ml zig nim dart sh bash zsh fish ps1 bat cmd sql html htm css scss sass less
    xml xsl xsd json jsonl json5 ndjson yaml yml toml ini cfg conf env properties lock md mdx rst txt log csv tsv parquet
    avro proto graphql tf tfvars gradle cmake mk db sqlite sqlite3 pdf png jpg jpeg gif svg ico webp zip tar gz tgz bz2 xz
    zst 7z whl jar war so dll dylib exe bin pem crt cer pub patch diff tex bib service spec plist csproj sln vcxproj props
    wasm map snap docx xlsx pptx npy npz pkl pt onnx ckpt safetensors gguf""".split()
)
_BARE_FILES: Final = frozenset(
    """Makefile Dockerfile Jenkinsfile Vagrantfile Procfile Gemfile Rakefile Pipfile Brewfile Caddyfile CODEOWNERS README
    LICENSE go.mod go.sum .env .gitignore .gitattributes .gitmodules .dockerignore .npmignore .npmrc .nvmrc .editorconfig
    .eslintrc .prettierrc .babelrc .bashrc .zshrc .profile .bash_profile .vimrc .netrc .htaccess .flake8 .pylintrc
    .coveragerc .python-version .tool-versions .pypirc""".split()
)
# What stands before a dot in code whose last word only looks like an extension: `console.log`,
# `process.env`.
_NOT_STEMS: Final = frozenset(
    """self this cls super console math np numpy torch tf pd df logger log os sys re window document process module object
    request response res req resp app.config string system""".split()
)

_ROOTS: Final = "etc|usr|var|home|opt|tmp|root|bin|sbin|lib|lib64|dev|proc|sys|mnt|srv|run|boot|Users|Library|Applications"
_SEGMENT: Final = r"[\w.@+~$%-]{1,100}"
_TOKEN: Final = re.compile(r"[^\s,;|()<>\[\]{}\"'`=*?!\u2018\u2019\u201c\u201d]{1,1000}")
_WINDOWS: Final = re.compile(
    rf"(?:[A-Za-z]:\\|\\\\|\.{{1,2}}\\)?(?:{_SEGMENT}\\){{0,30}}{_SEGMENT}"
)
_POSIX: Final = re.compile(rf"(?:[A-Za-z]:/|~/|/)?(?:{_SEGMENT}/{{1,2}}){{0,30}}{_SEGMENT}")
_ANCHORED: Final = re.compile(rf"/(?:{_ROOTS})/\w|~/[.\w]|\.{{1,2}}/[\w.]|[A-Za-z]:[\\/]\w")
_LINE: Final = re.compile(r"(?::\d{1,7}){1,2}\Z|#L\d{1,7}(?:-L?\d{1,7})?\Z")
_MAY_BE_FILE: Final = re.compile(r"[/\\]|\.\w|file\b|README|LICENSE|CODEOWNERS")


def _files(text: str) -> Iterator[_Mention]:
    if not _MAY_BE_FILE.search(text):
        return
    for found in _TOKEN.finditer(text):
        token = found[0]
        if "." in token or "/" in token or "\\" in token or token.strip(":") in _BARE_FILES:
            name = token.partition("::")[0].rstrip(".:")
            # Without what a sentence, a compiler or a traceback puts behind a path.
            line = _LINE.search(name) if ":" in name or "#" in name else None
            name = name[: line.start()] if line else name
            if name and _is_file(name):
                yield _Mention(found.start(), name)


def _is_file(name: str) -> bool:
    if not name[-1:].isalnum():
        return False
    pattern = _WINDOWS if "\\" in name else _POSIX
    if not pattern.fullmatch(name) or ("//" in name and not name.startswith("//")):
        return False
    last = re.split(r"[\\/]", name)[-1]
    if last in _BARE_FILES or (last.startswith(".env.") and last.count(".") == 2):
        return True
    stem, _, extension = last.rpartition(".")
    if (
        extension.islower() or extension.isupper() or extension.isdigit()
    ) and extension.lower() in _EXTENSIONS:
        letters = sum(char.isalpha() for char in stem)
        in_folder = len(last) < len(name)
        if stem.lower() in _NOT_STEMS or (not in_folder and last.lower() in _DOTTED_NAMES):
            return False
        return letters >= (2 if len(extension) == 1 else 1) or (in_folder and bool(stem))
    return bool(_ANCHORED.match(name)) and len(last) > 1


# --- functions ---

_NAME: Final = r"[A-Za-z_$][\w$]{0,99}"
_DOTTED: Final = rf"{_NAME}(?:(?:\.|::|->){_NAME}){{0,8}}"
_CALL: Final = re.compile(rf"(?<![\w$.])({_DOTTED})!?\Z")
_INSIDE: Final = re.compile(r"\(([^()\n]{0,200})(\)?)")
_SCOPED: Final = re.compile(rf"(?<![\w$:])({_NAME}(?:::~?{_NAME}){{1,8}})(?![\w:])")
_TEST_ID: Final = re.compile(rf"\.py::({_NAME}(?:::{_NAME}){{0,3}})")
_METHOD: Final = re.compile(
    r"(?<![\w$./\\@:#-])([A-Z][A-Za-z0-9]{1,60}\.[a-z_][\w]{1,60})(?![\w(/\\@]|\.\w|::)"
)
_TICKED: Final = re.compile(rf"`(\.?{_DOTTED}|@{_DOTTED})`")
_SAID_BEFORE: Final = re.compile(
    r"\b(?:functions?|methods?|calls?|calling|called|invokes?|invoking|invoked|decorators?|hook|helper|constructor)\s{1,3}\Z",
    re.IGNORECASE,
)
_SAID_AFTER: Final = re.compile(
    r"\s{1,3}(?:functions?|methods?|hook|helper|decorator|coroutine|callback|returns|returned|raises|raised|throws|threw|yields|"
    r"accepts|takes\s(?:a|an|the|no|two|one|three)\b|calls|(?:is|was|gets|got|must\sbe|should\sbe)\s(?:never\s|not\s)?(?:called|invoked))\b"
)
_PLAIN_SAID: Final = re.compile(rf"\b(?:function|method|func|fn|def)\s{{1,3}}({_DOTTED})(?![\w(])")
_NO_CALL: Final = frozenset(
    "if for while switch return and or not in elif catch with print_ when see is".split()
)
_PLURALS: Final = frozenset(("s", "es", "ies", "er", "ed", "d", "r", "n", "en", "ren"))
_HOSTS: Final = frozenset("com org net io dev ai app co edu gov de uk js".split())
_SHORT_FORMS: Final = frozenset(
    "No Mr Mrs Ms Dr St Vs Fig Eq Sec Ch Vol Ref Approx Etc Art Nr Eg Ie Cf Inc Ltd Jr".split()
)


def _functions(text: str) -> Iterator[_Mention]:
    if "(" in text:
        yield from _calls(text)
    if "::" in text:
        yield from (
            _Mention(found.start(1), found[1])
            for found in _SCOPED.finditer(text)
            if not found[1].startswith("py::")
        )
        yield from (_Mention(found.start(1), found[1]) for found in _TEST_ID.finditer(text))
    if _DOT_INSIDE.search(text):
        for found in _METHOD.finditer(text):
            owner, _, method = found[1].partition(".")
            if (
                method not in _HOSTS
                and owner not in _SHORT_FORMS
                and any(char.islower() for char in owner)
            ):
                yield _Mention(found.start(), found[1])
    if "`" in text:
        yield from _ticked(text)
    if any(word in text for word in ("function ", "method ", "func ", "fn ", "def ")):
        for found in _PLAIN_SAID.finditer(text):
            if _looks_like_code(found[1]):
                yield _Mention(found.start(1), found[1])


def _calls(text: str) -> Iterator[_Mention]:
    for found in _INSIDE.finditer(text):
        before = text[max(0, found.start() - limits.NAME_CHARS_MAX) : found.start()]
        called = (
            _CALL.search(before.rsplit(None, 1)[-1])
            if before and not before[-1].isspace()
            else None
        )
        if called and _is_call(called[1], found[1].strip(), closed=bool(found[2])):
            yield _Mention(found.start() - len(called[0]), called[1])


def _is_call(name: str, inside: str, *, closed: bool) -> bool:
    """Whether what stands before a bracket is called, rather than explained by what is in it:
    `file(s)`, `HTTP(S)`.
    """
    if len(name) < 2 or name.lower() in _NO_CALL or inside.lower() in _PLURALS or name in _LABELS:
        return False
    if not inside:
        return closed
    if name.isupper() and not _looks_like_code(name):  # an abbreviation, or SQL
        return inside == "*"
    return (
        inside == "*" or _looks_like_code(name) or (closed and bool(_ARGUMENTS.fullmatch(inside)))
    )


_ARGUMENTS: Final = re.compile(
    r"[\w.$'\"-]{1,60}(?:\s?[,=:+*/<>-]\s?[\w.$'\"\[\]-]{1,60}){0,10}|\.\.\.|\u2026"
)
_LABELS: Final = frozenset(("SQLSTATE", "CVE", "HTTP", "Errno", "errno", "WinError"))


def _ticked(text: str) -> Iterator[_Mention]:
    for found in _TICKED.finditer(text):
        before, after = (
            text[max(0, found.start() - 20) : found.start()],
            text[found.end() : found.end() + 40],
        )
        if _SAID_BEFORE.search(before) or _SAID_AFTER.match(after):
            yield _Mention(found.start(), found[1].lstrip(".@"))


def _looks_like_code(name: str) -> bool:
    """No word of prose has an underscore, a dot, or a capital letter in the middle."""
    return "_" in name or "." in name or ":" in name or "->" in name or bool(_HUMP.search(name))


_HUMP: Final = re.compile(r"[a-z0-9][A-Z]")
_DOT_INSIDE: Final = re.compile(r"\.\w")


# --- libraries ---

_LIBRARIES: Final = frozenset(
    """aiohttp airflow ajv alembic angular ansible antd apollo apsw argon2 asyncpg attrs axios babel bcrypt beautifulsoup4
    bokeh bootstrap boto3 botocore bullmq cassandra celery chai chart.js click cmake cryptography curl cypress cython d3
    d3.js dask dayjs django docker dotenv ejs elasticsearch ember electron esbuild eslint ethers expo express express.js
    fastapi fastify ffmpeg flask flink folly gin gradle grpc grpcio gunicorn guzzle handlebars helm hibernate httpx
    hypothesis immer ioredis istio jackson jasmine jest jinja2 joblib joi jquery junit kafka keras knex kubernetes lapack
    laravel libcurl libpng libssl lightgbm llvm lodash log4j lombok lxml mariadb markdown-it marshmallow matplotlib maven
    mkdocs mocha mockito mongodb mongoose moment msgpack mui mypy mysql mysqlclient nats nestjs netty next.js nginx ninja
    nltk node-fetch node-sass nodemon nokogiri numba numpy nuxt nx openblas opencv openssl opentelemetry orjson paramiko
    pandas passport peewee phoenix pika pillow pip playwright plotly pnpm polars poetry postcss postgres postgresql
    prettier prisma prometheus protobuf psutil psycopg psycopg2 puppeteer pyarrow pydantic pygments pyjwt pylint pymongo
    pyopenssl pyparsing pyqt5 pyside6 pytest pytorch pyyaml qt rabbitmq rails ray react react-dom react-native react.js
    redis redis-py redux reqwest requests rich rollup rspec ruff rxjs scikit-learn scipy seaborn selenium sequelize serde
    setuptools sidekiq sinatra six sklearn socket.io solr spacy spark sphinx spring sqlalchemy sqlite starlette storybook
    supabase svelte swagger swr symfony tailwind tailwindcss tensorflow terraform three.js tokenizers tokio torch
    torchaudio torchvision tornado tqdm traefik transformers tsup turborepo typeorm typer typescript ujson undici urllib3
    uvicorn uvloop vite vitest vllm vue vue.js vuex webpack werkzeug wheel winston xgboost yarn zlib zod zustand""".split()
)
_NO_LIBRARIES: Final = frozenset(
    """python java javascript rust go c ruby php perl scala kotlin swift haskell elixir debian ubuntu linux windows macos npm
    pypi nuget conda node node.js github gitlab api url http https json xml yaml css html sql ui id cli gui os cpu gpu ci
    cd standard third-party open-source""".split()
)
_DOTTED_NAMES: Final = frozenset(name for name in _LIBRARIES | _NO_LIBRARIES if "." in name)
_VERSION: Final = r"\d{0,4}(?:\.\d{1,5}){0,4}(?:\.?(?:x|a|b|rc|alpha|beta|dev|post)\d{0,4})?"
_VERSION_AT: Final = re.compile(rf"(?<![\w.])v?\d{_VERSION}(?![\w%]|\.\d)")
_BEFORE_VERSION: Final = re.compile(
    r"(?<![\w@/.-])(@[a-z0-9][\w.-]{0,60}/[a-z0-9][\w.-]{0,60}|[A-Za-z][\w.-]{0,60})"
    r"(?:\[[\w,-]{1,60}\])?(\s|@[\^~]?|[=~><!]=\s?|-)\Z"
)
_CALLED: Final = re.compile(
    r"\b(?:the|a|an|of|using|with|by|from|in)\s{1,3}(`?)(@?[A-Za-z][\w./-]{1,60})\1\s{1,3}"
    r"(?:librar(?:y|ies)|packages?|frameworks?|crates?|gems?|SDK|sdk)\b",
    re.IGNORECASE,
)
_INSTALL: Final = re.compile(
    r"\b(?:pip3?|uv|uv\spip|pipx|conda|mamba|npm|pnpm|yarn|bun|cargo|gem|brew|poetry|apt|apt-get|dnf|yum|composer|go|dotnet)\s{1,3}"
    r"(?:install|i|add|get|require|add\spackage)\s{1,3}(?:-{1,2}[\w-]{1,30}\s{1,3}){0,5}"
    r"(@?[A-Za-z][\w./-]{0,80})(?:\[[\w,-]{1,60}\])?((?:[=~><!@^]{1,3}[\w.*^~-]{1,30})?)(?=[\s`'\",.;:)!?]|\Z)"
)
_FROM_IMPORT: Final = re.compile(
    r"(?<![\w.-])from\s{1,3}([A-Za-z_]\w{0,60})(?:\.\w{1,60}){0,8}\s{1,3}import\s{1,3}(?:\(|\*|[A-Za-z_]\w)"
)
_IMPORT: Final = re.compile(
    r"(?:^|`|\"|')[ \t]{0,20}import\s{1,3}(\w{1,60}(?:\.\w{1,60}){0,8}(?:\s{1,3}as\s{1,3}\w{1,60})?"
    r"(?:,\s{0,3}\w{1,60}(?:\.\w{1,60}){0,8}){0,20});?[ \t]{0,20}(?:$|`|\"|')",
    re.MULTILINE,
)
_REQUIRE: Final = re.compile(
    r"(?:\brequire\(\s{0,3}|\bimport\(\s{0,3}|\bimport\s{1,3}(?:[\w*{},\s$]{1,200}\sfrom\s{1,3})?)"
    r"(['\"])(@[\w.-]{1,60}/[\w.-]{1,60}|[a-z][\w.-]{0,60})(?:/[\w./-]{1,100})?\1"
)
_AFTER_INSTALL: Final = frozenset(
    """fails failed fail failing hangs hung of the a an is was are and or in on with for command commands step steps it them
    from does did works worked takes took needs needed to again requires required breaks broke runs ran cannot can could
    will would should must if when while because but then succeeds succeeded exits exited errors error as at by into after
    before this that these those not no all any some everything script scripts phase stage has had may might target job
    jobs""".split()
)


def _libraries(text: str) -> Iterator[_Mention]:
    if _DIGIT.search(text):
        yield from _with_versions(text)
    if any(word in text for word in ("install ", " add ", " get ", " i ", "require ")):
        for found in _INSTALL.finditer(text):
            if found[1].lower() not in _AFTER_INSTALL and not _is_file(found[1]):
                yield _Mention(found.start(1), found[1].rstrip("."))
    if any(
        word in text for word in ("librar", "package", "framework", "crate", " gem", "SDK", " sdk")
    ):
        for found in _CALLED.finditer(text):
            if _names_library(found[2], ticked=bool(found[1])):
                yield _Mention(found.start(2), found[2])
    if "import" in text or "require(" in text:
        yield from (_Mention(found.start(1), found[1]) for found in _FROM_IMPORT.finditer(text))
        for found in _IMPORT.finditer(text):
            yield from (
                _Mention(found.start(1), part.split()[0].partition(".")[0])
                for part in found[1].split(",")
            )
        yield from (_Mention(found.start(2), found[2]) for found in _REQUIRE.finditer(text))


_DIGIT: Final = re.compile(r"[0-9]")


def _with_versions(text: str) -> Iterator[_Mention]:
    for version in _VERSION_AT.finditer(text):
        begin = max(0, version.start() - _NAME_CHARS_BEFORE)
        before = text[begin : version.start()]
        word = before.split()[-1:]
        found = _BEFORE_VERSION.search(word[0] + before[len(before.rstrip()) :]) if word else None
        if not found:
            continue
        name, sign = found.groups()
        known = name.lower().replace("_", "-") in _LIBRARIES
        certain = name.startswith("@") or (len(name) > 1 and version[0].count(".") >= 2)
        specified = sign[0] in "@=~><!"
        # After a space a plain number is a version where the name is not countable: `Redis 7`, not
        # `requests 20 times`.
        of_name = "." in version[0] or name.lower() not in _COUNTABLE
        if (known and (specified or sign == "-" or of_name)) or (specified and certain):
            yield _Mention(begin + before.rindex(word[0]) + found.start(1), name)


_NAME_CHARS_BEFORE: Final = 140


_COUNTABLE: Final = frozenset(
    """requests six click rich express moment spark ray expo wheel passport ember gin helm phoenix chai ninja spring
    transformers tokenizers attrs bootstrap""".split()
)


def _names_library(name: str, *, ticked: bool) -> bool:
    plain = name.lower()
    if plain in _NO_LIBRARIES or plain in _GENERIC:
        return False
    if plain in _LIBRARIES or ticked:
        return True
    odd = (
        any(char.isdigit() for char in name)
        or "_" in name
        or name.startswith("@")
        or bool(_HUMP.search(name))
    )
    proper = name[0].isupper() and name[1:].islower()
    return odd or (proper and len(name) > 2)


_GENERIC: Final = frozenset(
    "new old same other whole shared internal client server core latest missing entire".split()
)


# --- error codes ---

_ERRNO_NAMES: Final = frozenset(errno.errorcode.values()) | {
    "EAI_AGAIN",
    "ERESOLVE",
    "EINTEGRITY",
    "ELIFECYCLE",
    "EUSAGE",
}
_CODE: Final = re.compile(
    r"(?<![\w$])(?:"
    r"(?P<word>[A-Z][A-Za-z0-9]{1,80}(?:Error|Exception|Warning|Interrupt|Iteration)"
    r"|ERR_[A-Z0-9_]{2,60}|CVE-\d{4}-\d{4,7}|GHSA(?:-[23456789cfghjmpqrvwx]{4}){3}"
    r"|(?:TS|CS|LNK|MSB|NU|NETSDK)\d{4,5}|[EC]\d{4}|ORA-\d{5}|0x8[0-9A-Fa-f]{7}|SystemExit)(?![\w-])"
    r"|(?P<errno_name>E[A-Z0-9_]{2,20})(?![\w-])"
    r"|SQLSTATE\s?[\[(:=]?\s?(?P<state>[0-9A-Z]{5})(?!\w)"
    r"|HTTP(?:S|/\d(?:\.\d)?)?\s(?:status\s|error\s|code\s|status\scode\s)?(?P<http>[45]\d\d)(?!\w|\.\d)"
    r"|[Ss]tatus(?:\scode)?\s(?P<status>[45]\d\d)(?!\w|\.\d)"
    r"|(?P<phrase>[45]\d\d)\s(?:Bad\sRequest|Unauthorized|Forbidden|Not\sFound|Conflict|Gone|Too\sMany\sRequests|"
    r"Internal\sServer\sError|Bad\sGateway|Service\sUnavailable|Gateway\sTime-?out)(?!\w)"
    r"|\[?[Ee]rrno\s(?P<errno>\d{1,3})(?!\w)"
    r"|WinError\s(?P<winerror>\d{1,5})(?!\w))"
)
_SAID_AS: Final = {
    "state": "SQLSTATE",
    "http": "HTTP",
    "status": "HTTP",
    "phrase": "HTTP",
    "errno": "errno",
    "winerror": "WinError",
}
_NO_CODES: Final = frozenset(("BaseException", "Exception"))


def _error_codes(text: str) -> Iterator[_Mention]:
    for found in _CODE.finditer(text):
        kind = found.lastgroup or ""
        name = found["word"] or found["errno_name"]
        if kind in _SAID_AS:
            yield _Mention(found.start(), f"{_SAID_AS[kind]} {found[kind]}")
        elif name not in _NO_CODES and (kind != "errno_name" or name in _ERRNO_NAMES):
            yield _Mention(found.start(), name)


# --- paths ---

_WORD: Final = r"[\w@+~-]"
# most sentences have nothing like it, and this finds out in no time
_LOOKS_LIKE_ONE: Final = re.compile(rf"[./]{_WORD}")
_PATH: Final = re.compile(
    # Possessive throughout: no word is read twice, however long it is. Two dots in a row, which
    # lead upward, never match.
    rf"(?<![\w@+~./-])(?:\./)?+{_WORD}*+(?:/\.?{_WORD}++|\.{_WORD}++)++"
)
_SECRET_ENDINGS: Final = tuple(
    """.pem .key .p8 .p12 .pfx .pkcs12 .ppk .keystore .jks .kdbx .gpg .ovpn .tfvars .tfstate .env credential credentials
    .npmrc .yarnrc .yarnrc.yml .pypirc .htpasswd .s3cfg .boto .dockercfg .pgpass .my.cnf .netrc _netrc .vault-token""".split()
)
_MAY_BE_SECRET: Final = re.compile(
    r"/\.(?:aws|ssh|gnupg|kube|azure|docker)/|env|credential|secret|\.tfstate\.|service.?account|/id_"
)
# Files that hold secrets and little else: not even their hash is kept unasked.
_SECRET: Final = re.compile(
    r"""/(?:\.env[^/]* | [^/]*\.env\.[^/]* | id_[a-z0-9]+ | service[-_]?account[^/]*\.json | [^/]*\.tfstate\.[^/]*
        | [^/]*(?:credential|secret)s?(?:[._-][^/]*)?\.(?:json|ya?ml|toml|ini|cfg|conf|xml|properties|csv|txt|enc))$
    | /\.(?:aws|ssh|gnupg|kube|azure)/ | /\.docker/config\.json$""",
    re.VERBOSE,
)


def path_words(text: str) -> list[str]:
    """Words of a text that may be paths, in their order, each once: with a slash or a dot inside,
    and never upward. Only the beginning of a long text is looked at.
    """
    beginning = text[: limits.PATHS_SOUGHT_CHARS_MAX]
    if not _LOOKS_LIKE_ONE.search(beginning):
        return []
    found: dict[str, None] = {}
    for said in beginning.split():
        if "/" in said or "." in said:  # the pattern costs ten times what this does
            for word in _PATH.findall(said):
                if len(word) <= limits.PATH_CHARS_MAX and _may_be_named(word):
                    found[word.removeprefix("./")] = None
            if len(found) >= limits.PATHS_TRIED_MAX:
                break
    return list(found)[: limits.PATHS_TRIED_MAX]


# the same few files are named again and again
@lru_cache(maxsize=limits.FOUND_FILES_REMEMBERED_MAX)
def _may_be_named(word: str) -> bool:
    return ".git" not in word.lower().split("/") and not holds_secrets(word)


def holds_secrets(path: str) -> bool:
    """Whether a file of that name holds secrets and little else. Whoever meets a link asks about
    where it leads, too.
    """
    named = f"/{path.lower()}"
    if named.endswith(_SECRET_ENDINGS):
        return True
    return _MAY_BE_SECRET.search(named) is not None and _SECRET.search(named) is not None
