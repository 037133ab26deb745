"""Secrets leave a text before it is stored, because what an experience memory keeps it will one day
repeat.

A secret is known in one of two ways. Some carry a mark of their maker (`ghp_…`, `-----BEGIN …
PRIVATE KEY`): those are the rows of `SECRET_RULES`. Others are known only by the name they stand
under (`password = "…"`): there the name is judged first, then whether the value is meant literally
or is code or prose about a secret.

Every pattern is linear on hostile text: a run of characters is scanned from one place only, or up
to a fixed length, or is consumed whenever it was scanned.

At the end stands what does this for a whole record, and for an event.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from itertools import pairwise
from typing import Any, Final, NamedTuple, TypeVar, cast

from pydantic import BaseModel

from hardwon import limits
from hardwon.errors import InvalidInputError
from hardwon.records.kinds import Event, Experience, Metadata, Record, safe_summary


class _Later:
    """A pattern that is compiled when it is first used: an ordinary text needs two of them, and all
    of them take longer to compile than most commands run.
    """

    def __init__(self, pattern: str, flags: int) -> None:
        self.pattern, self.flags = pattern, flags

    def __getattr__(self, name: str) -> object:
        found: object = getattr(re.compile(self.pattern, self.flags), name)
        setattr(self, name, found)
        return found


def _later(pattern: str, flags: int = 0) -> re.Pattern[str]:
    return cast("re.Pattern[str]", _Later(pattern, flags))


_OPEN = "[REDACTED:"
_I = re.IGNORECASE
_ROUNDS = 4  # a replacement may uncover another; as a rule the second round finds nothing
_LONGEST_WORD = 200  # an unbroken run longer than this is no word of code or prose

# What stands for a value without being one: placeholders of ours, variables, template slots,
# fillers.
_SLOT = _later(
    r"\[REDACTED:|[$#]\{[^{}]|\$\(|\{[^{}]*\}\Z|<[^<>]*>\Z|%[sdrv](?!\w)|%\(\w|%\w+%\Z|[@:][A-Za-z_]+\Z"
    r"|\[[^\]]*\]\Z|[*.xX•…:\\_-]+\Z|(\S)\1{3,}\Z|\$(?:[A-Za-z_]+(?:(?:->|::|[.:])\w*)*|[A-Z_][A-Z0-9_]*|\d)\Z"
    r"|.{0,40}(?:\.\.\.|…).{0,8}\Z"
)
_STAND_IN = _later(
    r"(?:(?:your|insert|enter|replace|put|some)[-_ "
    r"].{0,40}(?:key|token|secret|pass|cred|value|here).{0,40}"
    r"|your[-_]?(?:api|pass|key|token|secret).*|arn:.*"
    r"|change[-_ ]?(?:me|this|it)|my[-_](?:[a-z]+[-_]){0,4}(?:password|secret|token|key)"
    r"|(?:example|sample|dummy|fake|placeholder).*|redacted|removed|hidden|masked|filtered|none|null|nil|undefined"
    r"|true|false|required|optional|string|bytes|text|bool(?:ean)?|number|object|unset|empty|missing|invalid"
    r"|incorrect|expired|blank|default|unknown|todo|not set)\Z",
    _I,
)
_MIXED = _later(r"(?:[A-Za-z]{1,12}+[0-9]{1,12}+){3}")  # letters and digits in turn: a machine's


class SecretRule(NamedTuple):
    """One kind of secret; its pattern runs only where one of its triggers occurs, which keeps it
    cheap.

    The group `s` is what is replaced, or the whole match where there is none. If the pattern
    ignores case, the triggers are lower-case and looked for in the lower-cased text.
    """

    label: str
    triggers: tuple[str, ...]
    pattern: re.Pattern[str]
    accept: Callable[[re.Match[str]], bool] | None = None


def _not_slot(match: re.Match[str]) -> bool:
    return not _SLOT.match(match["s"])


def _credential(match: re.Match[str]) -> bool:
    # "Authorization: Basic authentication failed" is prose, "Bearer YOUR_TOKEN" an example.
    plain = re.fullmatch(r"[a-z]+|[A-Z_]+|[A-Z][a-z]+", match["s"])
    return not (plain or _SLOT.match(match["s"]) or _STAND_IN.match(match["s"]))


def _of_curl(match: re.Match[str]) -> bool:
    # `-u` is a user to many programs; that it is user:password is known of curl.
    return "curl" in match.string[max(0, match.start() - 300) : match.start()] and _not_slot(match)


def _machine_made(value: str) -> bool:
    """Whether case and digits change too often for a word that somebody thought of."""
    kinds = [(char.isdigit(), char.isupper()) for char in value[:_LONGEST_WORD] if char.isalnum()]
    changes = sum(a != b for a, b in pairwise(kinds))
    share = changes / len(kinds) if len(kinds) >= 8 else 0
    return _MIXED.search(value) is not None or share >= (0.5 if len(kinds) < 24 else 0.4)


_Accept = Callable[[re.Match[str]], bool] | None


def _rule(
    label: str, triggers: str, pattern: str, accept: _Accept = None, flags: int = 0
) -> SecretRule:
    return SecretRule(label, tuple(triggers.split("|")), _later(pattern, flags), accept)


_PEM_KIND = r"[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)? ?-{4,5}"
_PEM = (  # code that only mentions the first line has no key material after it
    rf"-{{4,5}} ?BEGIN {_PEM_KIND}(?=(?:[ \t]*(?:\\+[nr]|[\r\n]))++[ \t>|#*]*+[\w+/]{{4}}"
    rf"|(?:\\+[nr]|[\s\"'+,>|#])*+[A-Za-z0-9+/]{{16}}).*?(?:-{{4,5}} ?END {_PEM_KIND}|\Z)"
)
# begins only where its run of characters begins, or a row of eyJ would be scanned from each of them
_JWT = (
    r"eyJ(?:(?<![\w-]eyJ)|(?<=\\[nrt]eyJ)|(?<=%[\dA-F]{2}eyJ))"
    r"[\w-]{8,}+\.[\w-]*+\.[\w-]{10,}+(?:\.[\w-]++){0,2}"
)
_OPENAI = (
    r"sk-(?:(?:proj|svcacct|admin|None|or-v1|lf)-[\w-]{20,}|(?=[A-Za-z]{0,60}\d)[A-Za-z0-9]{20,})"
)
_DISCORD = r"[MNO][DTjz][\w-]{20,28}\.[\w-]{6}\.[\w-]{27,45}(?![\w-])"
_HEADER = (
    r"authorization\\{0,7}[\"']?[ \t]*[:=,][ "
    r"\t]*\\{0,7}[\"']?(?:bearer|basic|token|api-?key|digest)[ \t]+(?P<s>[^\s\"'`,;<>\\]{6,})"
)
_URL = (  # an image reference (alpine:3.19@sha256:…) has the same shape
    r":(?://|\\/\\/)[^\s/?#@:\"'`<>\\\[]{0,256}+:(?P<s>[^\s/?#\"'`<>\\]{1,512})@(?!sha\d+:)"
)
_CURL = r"(?<!\S)(?:-u|--user)(?:[ \t]+|=)?\\?[\"']?[^\s:\"'$<{\\]{1,100}:(?P<s>[^\s\"'\\]{3,})"
_COMMAND = (
    r"(?:sshpass\s{1,4}-p ?|mysql(?:dump|admin)?\s(?:\S{1,60}+ ){0,4}?-p"
    r"|(?:IDENTIFIED BY|WITH PASSWORD)\s{1,4}(?=['\"])"
    r"|machine\s\S{1,99}+\s{1,9}login\s\S{1,99}+\s{1,9}password\s{1,9})[\"']?(?P<s>[^\s\"'=-][^\s\"']{3,})"
)

SECRET_RULES: tuple[SecretRule, ...] = (
    _rule("private-key", "PRIVATE KEY", _PEM, flags=re.DOTALL),
    # The same in base64, as Kubernetes keeps it: after BEGIN comes PRIVATE, RSA, EC, OPENSSH or
    # ENCRYPTED.
    _rule(
        "private-key",
        "LS0tLS1CRUdJTi",
        r"LS0tLS1CRUdJTiB(?:QUk|SU0|FQy|PUE|FTk)[A-Za-z0-9+/=]{20,}",
    ),
    _rule("age-key", "AGE-SECRET-KEY-", r"AGE-SECRET-KEY-1[A-Z0-9]{40,}"),
    _rule("jwt", "eyJ", _JWT),
    _rule("anthropic-key", "sk-ant-", r"sk-ant-[\w-]{20,}"),
    _rule("openai-key", "sk-", _OPENAI),
    _rule("github-token", "ghp_|gho_|ghu_|ghs_|ghr_", r"gh[oprsu]_[A-Za-z0-9]{30,}"),
    _rule("github-token", "github_pat_", r"github_pat_\w{30,}"),
    _rule("hardwon-token", "hwt_", r"hwt_[0-9a-f]{12}_[\w-]{30,}"),
    _rule("gitlab-token", "glpat-", r"glpat-[\w.-]{16,}"),
    _rule("groq-key", "gsk_", r"gsk_[A-Za-z0-9]{32,}"),
    _rule("xai-key", "xai-", r"xai-[A-Za-z0-9]{32,}"),
    _rule("perplexity-key", "pplx-", r"pplx-[A-Za-z0-9]{32,}"),
    _rule("tavily-key", "tvly-", r"tvly-[\w-]{20,}"),
    _rule("huggingface-token", "hf_", r"hf_[A-Za-z0-9]{30,}"),
    _rule("replicate-token", "r8_", r"r8_[A-Za-z0-9]{30,}"),
    _rule("aws-key-id", "AKIA|ASIA", r"A[KS]IA[A-Z2-7]{16}(?![A-Za-z0-9])"),
    _rule("google-key", "AIza|ya29.|GOCSPX-", r"AIza[\w-]{33,}|ya29\.[\w-]{20,}|GOCSPX-[\w-]{20,}"),
    _rule("slack-token", "xox|xapp-", r"(?:xox[a-z](?:\.xox[a-z])?|xapp)-[A-Za-z0-9-]{10,}"),
    _rule(
        "slack-webhook",
        "hooks.slack.com/",
        r"hooks\.slack\.com/[a-z]{1,20}/(?P<s>[A-Za-z0-9/]{20,})",
    ),
    _rule("stripe-key", "k_live_|k_test_", r"[rs]k_(?:live|test)_[A-Za-z0-9]{16,}"),
    _rule("stripe-key", "whsec_", r"whsec_[A-Za-z0-9+/=]{20,}"),
    _rule("sendgrid-key", "SG.", r"SG\.[\w-]{16,}+\.[\w-]{16,}"),
    _rule("npm-token", "npm_", r"npm_[A-Za-z0-9]{30,}"),
    _rule("pypi-token", "pypi-AgE", r"pypi-AgE[\w-]{40,}"),
    _rule("digitalocean-token", "_v1_", r"do[opr]_v1_[a-f0-9]{40,}"),
    _rule("shopify-token", "shp", r"shp(?:at|ca|pa|ss)_[A-Fa-f0-9]{30,}"),
    _rule("twilio-key", "SK", r"SK[0-9a-f]{32}(?![A-Za-z0-9])"),
    _rule("mailgun-key", "key-", r"key-(?<![_-]key-)[0-9a-f]{32}(?![A-Za-z0-9-])"),
    _rule("telegram-token", ":AA", r"(?<!\d)\d{8,10}:AA[\w-]{32,}"),
    # It begins with a number in base64, so with one of these pairs: the only literal such a token
    # has.
    _rule("discord-token", "MD|MT|Mj|Mz|ND|NT|Nj|Nz|OD|OT|Oj|Oz", _DISCORD),
    _rule("discord-webhook", "/api/webhooks/", r"/api/webhooks/(?P<s>\d{15,22}/[\w-]{40,})"),
    _rule("notion-token", "ntn_|secret_", r"ntn_[A-Za-z0-9]{36,}|secret_[A-Za-z0-9]{40,}"),
    _rule("linear-key", "lin_api_", r"lin_api_[A-Za-z0-9]{30,}"),
    _rule("figma-token", "figd_", r"figd_[\w-]{30,}"),
    _rule("docker-token", "dckr_pat_", r"dckr_pat_[\w-]{20,}"),
    _rule("grafana-token", "glsa_", r"glsa_[A-Za-z0-9]{30,}+(?:_[0-9a-f]{8})?"),
    _rule("vault-token", "hvs.|hvb.", r"hv[bs]\.[\w-]{20,}"),
    _rule("databricks-token", "dapi", r"dapi[0-9a-f]{32}(?:-\d)?(?![A-Za-z0-9])"),
    _rule(
        "azure-key",
        "AccountKey=|AccessKey=",
        r"(?:Account|SharedAccess)Key=(?P<s>[\w+/]{40,}={0,2})",
    ),
    _rule("azure-sas", "sig=", r"sig=(?P<s>[A-Za-z0-9%+/]{30,}+={0,2})"),
    _rule("authorization", "authorization", _HEADER, _credential, _I),
    _rule(
        "bearer-token",
        "bearer",
        r"bearer[ \t]+(?P<s>(?=[^\d\s]{0,80}\d)[\w.~+/-]{16,}={0,2})",
        flags=_I,
    ),
    _rule("url-password", r"://|:\/\/", _URL, _not_slot),
    _rule(
        "url-token", "://", r"://(?P<s>[\w.~-]{20,512})@", lambda match: _machine_made(match["s"])
    ),
    _rule("basic-auth", "curl", _CURL, _of_curl),
    _rule("password", "sshpass|mysql|machine|IDENTIFIED BY|WITH PASSWORD", _COMMAND, _not_slot),
)

_EXACT = [
    (t, i) for i, r in enumerate(SECRET_RULES) if not r.pattern.flags & _I for t in r.triggers
]
_FOLDED = [(t, i) for i, r in enumerate(SECRET_RULES) if r.pattern.flags & _I for t in r.triggers]
_ESCAPE = _later(r"\\[nrt]\Z|%[0-9A-Fa-f]{2}\Z")


def _redact_rule(rule: SecretRule, text: str, found: set[str]) -> str:
    pieces: list[str] = []
    done = 0
    for match in rule.pattern.finditer(text):
        start = match.start()
        before = text[max(0, start - 3) : start]
        in_word = text[start].isalpha() and before[-1:].isalnum() and before[-1:].isascii()
        if in_word and not _ESCAPE.search(before):
            # "ask-…" is no key: none begins inside a word, unless the letter before is an escape's
            continue
        if rule.accept is None or rule.accept(match):
            first, last = match.span("s" if "s" in rule.pattern.groupindex else 0)
            pieces += (text[done:first], f"{_OPEN}{rule.label}]")
            done = last
    if not pieces:
        return text
    found.add(rule.label)
    return "".join(pieces) + text[done:]


# ---- secrets known by the name they stand under

_NAME_TRIGGERS = ("pass", "pwd", "secret", "token", "key", "credential", "authorization")


# from the most to the least frequent; everything else is rarer still
_COMMON = "etaoinsrhldcumfpgwybvkxjqz"


def _any_of(words: Iterable[str]) -> re.Pattern[str]:
    """One pattern that finds any of the words. It stops only at each word's rarest character and
    looks around from there, which passes over ordinary text several times faster than trying every
    word at every place.
    """
    ways: dict[str, list[str]] = {}
    for word in dict.fromkeys(words):
        at = max(range(len(word)), key=lambda place: _COMMON.find(word[place]) % 99)
        before, after = re.escape(word[: at + 1]), re.escape(word[at + 1 :])
        around = (f"(?={after})" if after else "") + (f"(?<={before})" if at else "")
        ways.setdefault(word[at], []).append(around)
    return _later(
        "|".join(f"{re.escape(char)}(?:{'|'.join(around)})" for char, around in ways.items())
    )


# A text without any trigger is the usual case, and leaves after these two.
_ANY_EXACT = _any_of(trigger for trigger, _ in _EXACT)
_ANY_FOLDED = _later(
    _any_of(
        [*(name for name in _NAME_TRIGGERS if name != "key"), *(trigger for trigger, _ in _FOLDED)]
    ).pattern
    + "|k(?=ey(?!error))"  # a KeyError is in every other traceback and names no secret
)
_NAME_CHARS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"
_STR = r"(?:secret)?(?:str|bytes)|string|any"
_TYPE = rf"&?(?:'static )?(?:{_STR}|optional\[(?:{_STR})\])(?: \| \w+)?"
# Looked for in the lower-cased text. Bounded, or a row of such words would cost the square of its
# length.
_NAMED = _later(
    r"(?:pass|pwd|secret(?:[ _-]?key)?|token|credential|authorization|api[ _-]?key|auth[ _-]?key"
    r"|access[ _-]?key|account[ _-]?key|encryption[ _-]?key|master[ _-]?key|private[ "
    r"_-]?key|shared[ _-]?key|signing[ _-]?key)"
    r"[\w-]{0,40}+(?P<op>[ \t]+(?![ \t]|[?!]?[:=])|(?:\*\*)?(?P<close>\\{0,7}[\"'`]?)\]?[ \t]*"
    rf"(?P<sign>[?!]?:[ \t]*{_TYPE}[ \t]*=(?!=)|===?|!==?|=>|:=|=|[?!]?:(?!:|//))(?:\*\*)?[ \t]*"
    r"(?:secret(?:str|bytes)\()?)"
)
# Between escaped quotes (JSON within JSON) an inner quote has more backslashes than the one that
# closes.
_QUOTED = _later(
    r"(?P<prefix>[bBfFrRuU@]{0,2})(?:(?P<q>\"\"\"|'''|[\"'`])(?P<v>(?:(?!(?P=q))(?:\\[^\n]|[^\\\n]))*+)"
    r"|(?P<eq>\\{1,7}[\"'])(?P<ev>(?:(?!(?P=eq))(?:\\++[^\n]?|[^\\\n]))*+))"
)
_INNER = r"->|&(?![\w.-]{0,40}=|&|amp;)|\\(?![nrt\"'])"
_BARE = _later(
    rf"(?:{_INNER}|[^\s\"'`,;&|()\[\]{{}}<>\\]|\([^\s\"'()]{{0,40}}\)){{1,{_LONGEST_WORD}}}+"
)
# In NAME=value and after a flag, only what a shell would split at is no part of the value.
_SHELL = _later(
    rf"(?:{_INNER}|[^\s\"'`,;&\\]|,(?!\s|\Z)|;(?!\s|\Z|[\w ]{{1,40}}=)|[\"'](?=\w))"
    rf"{{1,{_LONGEST_WORD}}}+"
)
_AFTER_BRACKET = _later(r"(?:[()\[\]{}](?=[\w!@#$%^*+=~?-])[^\s\"'`,;&()\[\]{}<>|\\]*+)*+")
_LINE_END = _later(r"[\r\n]|\\n")
_CLOSES = {")": "(", "]": "[", "}": "{", ".": "", ":": "", ",": ""}
_UNBROKEN = _later(r"[^\s\"'`]*+")

_WORD = _later(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_STEM = _later(
    r"(?:(?P<password>password|passwd|pwd|passphrase|passcode)|(?P<token>token)|(?P<api_key>(?:api|auth)_?key)"
    r"|(?P<secret>secret|(?:encryption|master|secret|shared|signing)_?key)|(?P<authorization>authorization)"
    r"|(?P<access_key>(?:access|account)_?key)|(?P<private_key>private_?key)|(?P<credential>credentials?))\Z"
)


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_HAVE_PASS = _words(
    "admin auth db ftp http login mail mongo my mysql pg postgres proxy redis root smtp user"
)
# password_prod is a password, password_policy is none: only these may follow.
_TAILS = _words("""again admin anthropic aws azure b backup base confirm confirmation current db default dev
    development fallback github gitlab google json live local main new old openai pem plain plaintext prev
    previous primary prod production raw repeat root sandbox secondary slack staging str string stripe test
    user v value val""")
# Parsers, paging and language models have tokens of their own; has_password is answered by yes or
# no.
_NO_TOKEN = _words("""begin bos cached cls completion continuation cur current end eos first image input last
    lookahead mask max min n next num output pad page peek per prev previous prompt sep special start stop
    sync total unk""")
_NO_SECRET = _words(
    "allow disable enable forgot has hide is no require requires show toggle use uses"
)
_SPEAKS_OF_FLAG = _words(
    "again argument first flag here instead option options parameter switch value with"
)

_OURS = _later(r"(?:\b(?:bearer|basic|token)\s+)?\[REDACTED:[a-z0-9-]+\]", _I)
_SCHEME = _later(r"(?:bearer|basic|token|digest|api-?key)\b\s*", _I)
_TEMPLATE = _later(r"\$\{[A-Za-z_]|\{\{[^{}]*\}\}|\{(?:[A-Za-z_][\w.]++|\d?)\}")
_PATH = _later(r"(?:~|\.{1,2}|[A-Za-z]:)?[/\\][\w.][\w.@/\\ -]*\Z")
_RANDOM = _later(r"(?=.*\d)(?=.*[A-Z])(?=.*[a-z]).{16}")
_LEXEME = _later(r"[#@]?[^\W\d]+(?:[ -][^\W\d]+)*\Z|#[0-9a-fA-F]{3,8}\Z|[\d.]+\Z")
_CODE = _later(r"[A-Za-z_$][\w$]*(?:\??(?:\.|->|::)[\w$]+|(?P<call>\([^()]*\)))*+\Z")
_WORDS = _later(r"[^\W\d]+(?:[-./:'][^\W\d]+)*[!?]*\Z")
_NUMBERED = _later(
    r"(?:argon|base|bytes|float|ipv|md|oauth|pbkdf|pkcs|py|sha|u?int|utf|v)[-_]?\d+", _I
)
_NO_VALUE = _later(r"\(|\.[*+]|id=|--|fileb?://")
_NO_BARE_VALUE = _later(r"[\[{<|=^\\]")
_ENDS_COMMAND = ("", *"\n\r-|;&\\\"'`")
_SLUG_PART = _later(r"(?:[^\W\d_]*\d{0,2}|\d+)\Z")
_SYMBOL = _later(r"[!@#$%^*?~+=&]\w")
_ALONE = _later(r"[ \t]*(?:-[ \t]+|export[ \t]+|(?!self|this)(?:[\w-]+\.)+)?\Z")
_PAIRED = _later(r"(?:[?&]|=[^\s;,()]{1,60}[; \t])[ \t]*\Z")


def _judged(name: str) -> str:
    """The label of what a name says its value is; "" when it names no secret."""
    if len(name) > 128 or name in ("PWD", "OLDPWD"):  # a shell's PWD is a directory
        return ""
    words = [word.lower() for word in _WORD.findall(name)]
    while len(words) > 1 and (words[-1] in _TAILS or words[-1].isdigit()):
        words.pop()
    if len(words) > 1 and words[-1] == "pass" and words[-2] in _HAVE_PASS:
        return "password"
    stem = _STEM.search("_".join(words))
    if (
        stem is None
        or words[0] in _NO_SECRET
        or (stem["token"] and not _NO_TOKEN.isdisjoint(words))
    ):
        return ""
    return (stem.lastgroup or "").replace("_", "-")


_kind = lru_cache(maxsize=4096)(_judged)  # for names only: a cache of values would keep the secrets


def names_secret(name: str) -> bool:
    """Whether a value under this name is taken for a secret whatever it looks like."""
    return _kind(name) != ""


def _refers(value: str) -> bool:
    # `password = new_password` passes a variable on; DB_PASSWORD=supersecret is one word, and a
    # value.
    words = [word for word in _WORD.findall(value) if not word.isdigit()]
    return bool(words and _judged(value)) and (
        len(words) > 1 or _STEM.match(words[0].lower()) is not None
    )


def _holds_place(kind: str, name: str, value: str) -> bool:
    """Whether a value only stands where a secret would, or says nothing beside placeholders of our
    own.
    """
    rest = _OURS.sub("", value).strip()
    if kind == "authorization":
        rest = _SCHEME.sub("", rest, count=1)
    if len(rest) < 4 or _SLOT.match(rest) or _STAND_IN.match(rest) or _TEMPLATE.search(rest):
        return True
    if _PATH.match(rest) and not any(map(_RANDOM.match, re.split(r"[/\\.]", rest))):
        return True
    variable = "_" in rest and rest.isupper()  # api_key: "OPENAI_API_KEY"
    return name.lower().endswith(rest.lower()) or (variable and _judged(rest) != "")


def _quoted_literal(kind: str, line: str, quoted: re.Match[str], named_in_quotes: bool) -> bool:
    prefix, quote = quoted["prefix"].lower(), quoted["q"] or quoted["eq"]
    value = quoted["v"] or quoted["ev"] or ""
    # In print("password:", x) the quote after the name closes a string that was opened before it.
    if not named_in_quotes and value[:1] in " \t,);]}+.%" and line.count(quote) % 2:
        return False
    if kind == "token":  # token = "while" is a parser's
        return "r" not in prefix and not (len(value) < 24 and _LEXEME.match(value))
    return not ("f" in prefix and "{" in value)


def _literal_word(kind: str, name: str, op: str, value: str, line: str, after: str) -> bool:
    """Whether a word without digits is meant literally: only where neither code nor prose could
    stand.
    """
    if _refers(value) or not set("./:").isdisjoint(value):
        return False
    end = after.lstrip(" \t")[:1]
    if name.startswith("-"):  # --password correcthorse, but not "the --password option"
        return end in _ENDS_COMMAND and not (value.isupper() or value in _SPEAKS_OF_FLAG)
    alone = _ALONE.match(line) is not None and end in ("", "\n", "\r", "#")
    if name.isupper():  # DB_PASSWORD=correcthorse, or the same in YAML
        return op == "=" or (alone and "_" in name and value.islower() and kind != "token")
    paired = (
        _PAIRED.search(line[-100:])
        and (kind != "token" or line[-1] in "?&")
        and end not in (",", ")")
    )
    return op == "=" and (bool(paired) or (alone and line[:1] not in (" ", "\t")))


def _bare_literal(kind: str, name: str, op: str, value: str, line: str, after: str) -> bool:
    """Whether a value without quotes is meant literally: it may be code, or the next word of a
    sentence.
    """
    code = _CODE.match(value)
    if (code and (code["call"] or after[:1] in ("(", "["))) or _NO_VALUE.match(value):
        return False
    if _machine_made(value):
        # an address on a chain
        return not (kind == "token" and re.fullmatch(r"0x[0-9a-fA-F]+", value))
    if _WORDS.match(value):
        return _literal_word(kind, name, op, value, line, after)
    if name.startswith("-") or (op == "=" and (name.isupper() or line[-1:] in ("?", "&"))):
        return True
    if (
        (code and not value.replace("_", "").isalnum())
        or _NO_BARE_VALUE.match(value)
        or _refers(value)
    ):
        return False
    plain = _NUMBERED.sub("", value)
    digits = sum(map(str.isdigit, plain))
    if kind == "password":  # people choose these, machines make the others
        return len(value) >= 6 and (digits > 0 or _SYMBOL.search(plain) is not None)
    parts = [part for part in re.split(r"[-_./:#@]", plain) if any(map(str.isdigit, part))]
    slug = len(parts) < 2 and all(map(_SLUG_PART.match, parts))  # db-creds-v2, response12
    return len(value) >= 8 and digits > 1 and not slug and any(map(str.isalpha, plain))


def _trim(value: str) -> str:
    # What ends the sentence or closes the bracket around a value is no part of it.
    while value[-1:] in _CLOSES and not (_CLOSES[value[-1:]] and _CLOSES[value[-1:]] in value):
        value = value[:-1]
    return value


def _redact_named(text: str, lower: str, found: set[str]) -> str:
    pieces: list[str] = []
    done = pos = 0
    while match := _NAMED.search(lower, pos):
        start, pos = match.span()
        head, sign = text[max(done, start - 40) : start], match["sign"] or ""
        if not sign and "-" not in head:
            continue  # only after a flag does a space mean "is"
        begin = start - len(head) + len(head.rstrip(_NAME_CHARS))
        if begin and text[begin - 1] == "\\" and text[begin] in "nrt" and begin < start:
            begin += 1  # the letter of an escaped line end
        name = text[begin : match.start("op")]
        kind = _kind(name) if sign or name.startswith("-") else ""
        if not kind or sign == ":" == text[begin - 1 : begin] or text.endswith(_OPEN, 0, begin):
            continue  # arn:…:secret:… is a path, and our own placeholders name what they replaced
        line = _LINE_END.split(text[max(0, begin - 200) : begin])[-1]
        op = text[match.start("op") : pos]
        if quoted := _QUOTED.match(text, pos):
            first, last = quoted.span("v" if quoted["q"] else "ev")
            literal = _quoted_literal(kind, line, quoted, bool(match["close"]))
        else:
            shell = name.startswith("-") or (op == "=" and name.isupper())
            bare = (_SHELL if shell else _BARE).match(text, pos)
            if bare is None or sign[:2] in ("==", "!=", "=>"):
                continue
            first, last = bare.span()
            literal = last - first >= _LONGEST_WORD
            if not literal and (value := _trim(bare.group())):
                last = first + len(value)
                literal = _bare_literal(kind, name, op, value, line, text[last : last + 40])
        if literal and not _holds_place(kind, name, text[first:last]):
            if not quoted:
                more = _UNBROKEN if last - first >= _LONGEST_WORD else _AFTER_BRACKET
                last = rest.end() if (rest := more.match(text, last)) else last
            found.add(kind)
            pieces += (text[done:first], f"{_OPEN}{kind}]")
            done = pos = last
    return "".join(pieces) + text[done:] if pieces else text


def redact(text: str) -> tuple[str, tuple[str, ...]]:
    """The text without its secrets, and the sorted labels of what was replaced.

    The same object comes back if there was nothing: a caller may compare by identity.
    """
    if not _ANY_EXACT.search(text) and not _ANY_FOLDED.search(text.lower()):
        return text, ()
    found: set[str] = set()
    for _ in range(_ROUNDS):
        before, lower = text, text.lower()
        hits = [i for trigger, i in _FOLDED if trigger in lower]
        if _ANY_EXACT.search(text):
            hits += [i for trigger, i in _EXACT if trigger in text]
        for i in sorted(set(hits)) if hits else ():
            text = _redact_rule(SECRET_RULES[i], text, found)
        if text is not before:
            lower = text.lower()
        for trigger in _NAME_TRIGGERS:
            if trigger in lower:
                # One letter becomes two when it becomes small, and the places must agree.
                if len(lower) != len(text):
                    lower = text.replace("\u0130", "i").lower()
                text = _redact_named(text, lower, found)
                break
        if text is before:
            break
    return text, tuple(sorted(found))


def redact_json(value: object, key: str = "") -> tuple[object, frozenset[str]]:
    """A JSON value without its secrets: those in its texts and keys, and any text under a key that
    names one.

    `key` is the name the value stands under; a list passes it on to its items. What holds no secret
    comes back as the same object, so that the usual case copies nothing.
    """
    if isinstance(value, str):
        text, labels = redact(value)
        kind = _kind(key)
        if not kind or _OURS.fullmatch(text) or _holds_place(kind, key, value):
            return text, frozenset(labels)
        return f"{_OPEN}{kind}]", frozenset((kind,))
    found: set[str] = set()
    if isinstance(value, list | tuple):
        cleaned = [redact_json(item, key) for item in value]
        found.update(*(labels for _, labels in cleaned))
        items = [item for item, _ in cleaned]
        return (items if isinstance(value, list) else tuple(items)) if found else value, frozenset(
            found
        )
    if isinstance(value, dict):
        pairs: dict[object, object] = {}
        for name, item in value.items():
            clean_name, in_name = redact(name) if isinstance(name, str) else (name, ())
            while clean_name in pairs:  # two keys that were secrets must not become one
                clean_name = f"{clean_name} {len(pairs)}"
            below = name if isinstance(name, str) and (_kind(name) or not _kind(key)) else key
            pairs[clean_name], in_value = redact_json(item, below)
            found.update(in_name, in_value)
        return (pairs if found else value), frozenset(found)
    if isinstance(value, int | float) and not isinstance(value, bool) and len(str(value)) >= 4:
        kind = _kind(key)
        if kind and kind != "token":  # a token's number is where a model looks it up
            return f"{_OPEN}{kind}]", frozenset((kind,))
    return value, frozenset()


# ---- records without their secrets

R = TypeVar("R", bound=Record)

_KEPT_AS_IT_IS: Final = ("id", "kind", "redacted", "recalled")
# what these may hold is listed, and no secret
_FIXED: Final = frozenset({*_KEPT_AS_IT_IS, "outcome", "fact_type"})
# few, and the same again and again
_NAMES: Final = frozenset({"tool", "task_id", "fixer_type", "issue_type", "model"})
# NUL is in no field: whatever matches across it is looked at again field by field
_BETWEEN_FIELDS: Final = "\n\0\n"


def without_secrets(record: R) -> R:
    """The same record where there is nothing to hide; else one whose secrets are placeholders, and
    that names their labels.
    """
    texts: list[str] = []
    suspicious = _collect(record, texts)
    everything = _BETWEEN_FIELDS.join(texts)
    if len(everything) > limits.RECORD_BYTES_MAX:
        raise InvalidInputError.one(
            "record", f"{len(everything)} characters", f"at most {limits.RECORD_BYTES_MAX} bytes"
        )
    if suspicious or redact(everything)[1]:
        return _cleaned(record)
    return record


def clean_event(event: Event) -> Event:
    """An event without secrets in what somebody wrote into it."""
    texts = {"by": event.by, "reason": event.reason, "verification_id": event.verification_id}
    clean = {name: redact(text)[0] for name, text in texts.items() if text}
    return (
        event.altered(**clean) if any(clean[name] is not texts[name] for name in clean) else event
    )


def _collect(model: BaseModel, texts: list[str]) -> bool:
    """Gathers every text of a model; whether a key of a free-form object in it names a secret."""
    extra = model.__pydantic_extra__
    suspicious = _collect_json(extra, texts) if extra else False
    for name, value in model.__dict__.items():
        if type(value) is str:
            if name in _NAMES:
                suspicious |= _looks_secret(value)
            elif name not in _FIXED:
                texts.append(value)
        elif type(value) is Metadata:
            suspicious |= _collect_envelope(value, texts)
        elif value is not None:
            suspicious |= _collect_json(value, texts)
    return suspicious


def _collect_envelope(metadata: Metadata, texts: list[str]) -> bool:
    source, moment, validation = metadata.source, metadata.context, metadata.validation
    texts += metadata.tags
    for file in moment.related_files:
        texts += (file.path, file.hash)
    if source.id:
        texts.append(source.id)
    if validation.verification_id or validation.failure_hash:
        texts += (validation.verification_id or "", validation.failure_hash or "")
    return (
        _looks_secret(source.author)
        or _looks_secret(moment.git_commit)
        or _looks_secret(moment.git_branch)
    )


class _Known(dict[str, bool]):
    """What was found out about short names. Forgets all of them when it is full, which costs less
    than to choose.
    """

    def __init__(self, find_out: Callable[[str], bool]) -> None:
        self._find_out = find_out

    def __missing__(self, name: str) -> bool:
        if len(self) >= _KNOWN_NAMES_MAX:
            self.clear()
        found = self._find_out(name)
        if len(name) <= limits.NAME_CHARS_MAX:
            self[name] = found
        return found


_KNOWN_NAMES_MAX: Final = 4_096
_looks_secret = _Known(lambda name: bool(redact(name)[1])).__getitem__
_names_or_holds_secret = _Known(lambda key: names_secret(key) or bool(redact(key)[1])).__getitem__


def _collect_json(value: Any, texts: list[str]) -> bool:
    """The same of whatever a field holds. Tuples hold no texts that somebody wrote."""
    suspicious = False
    if isinstance(value, str):
        texts.append(value)
    elif isinstance(value, list):
        for item in value:
            suspicious |= _collect_json(item, texts)
    elif isinstance(value, dict):
        for key, item in value.items():
            suspicious |= _names_or_holds_secret(key) | _collect_json(item, texts)
    elif isinstance(value, BaseModel):
        suspicious = _collect(value, texts)
    return suspicious


def _cleaned(record: R) -> R:
    data = record.model_dump(mode="json", exclude_none=True)
    kept = {name: data.pop(name) for name in _KEPT_AS_IT_IS if name in data}
    project = data["metadata"].pop("project_id")
    if isinstance(record, Experience) and record.summary == safe_summary(
        record.content[: limits.SUMMARY_FROM_CONTENT_CHARS]
    ):
        # it may hold the beginning of the secret: made anew from the cleaned content
        del data["summary"]
    cleaned, labels = redact_json(data)
    if not labels:
        return record
    assert isinstance(cleaned, dict)  # noqa: S101  # for type checkers: an object stays an object
    cleaned["metadata"] = cleaned["metadata"] | {"project_id": project}
    found = sorted({*labels, *(record.redacted or ())})
    return type(record).model_validate({**cleaned, **kept, "redacted": found})
