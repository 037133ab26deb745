"""Nothing secret is kept, nothing ordinary is lost, and neither costs much."""

from __future__ import annotations

import random
import re
import time
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from cases import each, examples
from hardwon import Fix, Issue, Step, Trajectory
from hardwon.trust.redact import (
    KEYS,
    NAMED,
    SECRET_FORMS,
    _kind,
    names_secret,
    redact,
    redact_json,
    without_secrets,
)
from secrets_corpus import ORDINARY, SECRETS, jwt, made_up, pem

FORMS = [*KEYS.all, *SECRET_FORMS.all, *NAMED.all]
GITHUB = "gh" + "p_" + made_up(36)
ANTHROPIC = "sk" + "-ant-" + made_up(40)


def placeholder(label: str) -> str:
    return f"[REDACTED:{label}]"


def left_behind(secret: str, clean: str) -> list[str]:
    """The pieces of a secret, eight characters long, that are still in the text."""
    rest = re.sub(r"\[REDACTED:[a-z-]+\]", "", clean)
    # the first and last line of a key block are no secret
    secret = re.sub(r"-----[A-Z ]+-----", "", secret)
    pieces = {secret[i : i + 8] for i in range(max(1, len(secret) - 7))}
    return sorted(piece for piece in pieces if piece in rest)


def test_corpus_is_large_and_has_no_doubles() -> None:
    assert len({text for _, text, _ in SECRETS}) == len(SECRETS) >= 90
    assert len(set(ORDINARY)) == len(ORDINARY) >= 120


@each(("label", "text", "secret"), SECRETS)
def test_secret_is_replaced_whole_and_nothing_else(label: str, text: str, secret: str) -> None:
    clean, labels = redact(text)
    assert left_behind(secret, clean) == []
    assert labels == (label,)
    assert clean == text.replace(secret, placeholder(label))


@each("text", ORDINARY)
def test_ordinary_text_is_the_same_object(text: str) -> None:
    clean, labels = redact(text)
    assert clean is text
    assert labels == ()


@each(
    "text",
    [
        "\x1b[32mpassword\x1b[0m: \x1b[33mhunter2x\x1b[0m", "password=\x1b[1mhunter2x\x1b[0m",
        r"\u001b[32mpassword\u001b[39m: \u001b[33mhunter2x\u001b[39m", "pass\u200bword=hunter2x",
        "password\uff1dhunter2x", "\uff50assword: hunter2x",
    ],
)  # fmt: skip
def test_what_nobody_sees_hides_no_secret(text: str) -> None:
    clean, labels = redact(text)
    assert "hunter2x" not in clean
    assert labels == ("password",)


def test_every_rule_of_the_table_has_a_case() -> None:
    assert {form.row["label"] for form in FORMS} <= {label for label, _, _ in SECRETS}
    assert all(form.row["triggers"] and all(form.row["triggers"]) for form in FORMS)


_PIECES = [text for _, text, _ in SECRETS] + ORDINARY
_WORDS = r"""
    password token = : " ' \ \n :// @ eyJ sk- [REDACTED: ] x1y2z3 Bearer -- , ( ) & secret API_KEY ${ }
    hunter2 [REDACTED:jwt] İ é -u curl PRIVATE a:b [ ] * DB_PASSWORD="""
_TEXTS = st.lists(st.sampled_from([*_PIECES, *_WORDS.split(), " ", "\n"]), max_size=12)
_BETWEEN = st.sampled_from(["", " ", "\n", ", ", "\t", " | "])


@settings(max_examples=examples(400))
@given(_TEXTS, _BETWEEN)
def test_redacting_twice_is_redacting_once(pieces: list[str], between: str) -> None:
    clean, labels = redact(between.join(pieces))
    assert redact(clean) == (clean, ())
    assert list(labels) == sorted(set(labels))


@settings(max_examples=examples(200))
@given(st.text())
def test_any_text_comes_back(text: str) -> None:
    clean, labels = redact(text)
    assert (clean is text) == (labels == ())


# Keys with a mark of their own are found wherever they stand; a value under a name needs its name.
_WITHOUT_MARK = "api-key access-key private-key bearer-token url-token azure-key access-token okta-token".split()
_MARKED = [
    (label, secret)
    for label, _, secret in SECRETS
    if label not in _WITHOUT_MARK and (label.endswith(("-key", "-token")) or label == "jwt")
]
_SEPARATORS = (
    " ", "\n", "\t", ", ", "; ", " | ", "\r\n", "\\n", '", "', "' '", ")(", "><", " - ", "\n\n", "。", "→",
)  # fmt: skip


@each("seed", range(30))
def test_keys_among_ordinary_texts_with_any_separator(seed: int) -> None:
    rng = random.Random(seed)
    chosen = rng.sample(_MARKED, 6)
    text = ""
    for _, secret in chosen:
        text += rng.choice(ORDINARY) + rng.choice(_SEPARATORS) + secret + rng.choice(_SEPARATORS)
    clean, labels = redact(text)
    assert {label for label, _ in chosen} <= set(labels)
    for _, secret in chosen:
        assert [piece for piece in left_behind(secret, clean) if not piece.isdigit()] == []


def test_several_secrets_in_one_text() -> None:
    body = pem("EC PRIVATE KEY")
    clean, labels = redact(f"a {GITHUB} b {ANTHROPIC}\npassword: hunter2x\n{body}\nc {GITHUB}")
    assert clean == (
        "a [REDACTED:github-token] b [REDACTED:anthropic-key]\npassword: [REDACTED:password]\n"
        "[REDACTED:private-key]\nc [REDACTED:github-token]"
    )
    assert labels == ("anthropic-key", "github-token", "password", "private-key")


@each(
    ("text", "clean", "labels"),
    [
        (f'password = "a {GITHUB} z"', 'password = "[REDACTED:password]"', "github-token password"),
        (
            "before\n" + pem("OPENSSH PRIVATE KEY", end=False) + "\nmore of it\n",
            "before\n[REDACTED:private-key]",
            "private-key",
        ),
        (f"token = {'Ab-' * 2000} end", "token = [REDACTED:token] end", "token"),
        # a letter that grows when it is lowered does not shift the places
        ("İİİ password=hunter2x İ", "İİİ password=[REDACTED:password] İ", "password"),
        (jwt(), "[REDACTED:jwt]", "jwt"),
    ],
)
def test_what_is_replaced_is_the_whole_secret(text: str, clean: str, labels: str) -> None:
    assert redact(text) == (clean, tuple(labels.split()))
    two_parts_of_three = jwt().rpartition(".")[0]
    assert redact(two_parts_of_three)[0] is two_parts_of_three


def test_json_is_walked_and_the_original_stays() -> None:
    env = {"DB_PASSWORD": "correcthorse", "HOME": "/root"}
    value = {"steps": [{"cmd": f"push {GITHUB}", "n": 3}, "ok"], "env": env}
    clean, labels = redact_json(value)
    assert clean == {
        "steps": [{"cmd": "push [REDACTED:github-token]", "n": 3}, "ok"],
        "env": {"DB_PASSWORD": "[REDACTED:password]", "HOME": "/root"},
    }
    assert labels == {"github-token", "password"}
    assert env == {"DB_PASSWORD": "correcthorse", "HOME": "/root"}
    assert redact_json(clean) == (clean, frozenset())
    plain = {"a": [1, 2.5, None, True, {"text": "plain", "token_count": 12}], "key": "value"}
    assert redact_json(plain) == (plain, frozenset())
    assert redact_json(plain)[0] is plain


SECRET_NAMES = """
    password passwd pwd passphrase secret token api_key apikey apiKey access_key private_key client_secret
    authorization Authorization credential credentials DB_PASSWORD openaiApiKey X-Api-Key x-auth-token
    accessToken refresh_token secret_key SECRET_KEY_BASE password2 new_password password_confirmation db_pass
    SMTP_PASS githubToken aws_secret_access_key AccountKey dbpassword stripe.api_key TOKEN_PROD id_token
    _authToken bot-token signingKey SecretString"""
ORDINARY_NAMES = """
    key name token_count tokens max_tokens maxTokens tokenizer token_type token_limit password_policy
    passwords password_length secret_name secretary keyboard monkey public_key key_id access_key_id
    private_key_path api_key_env pad_token eos_token next_page_token nextToken has_password forgot_password
    PWD author passing pass compass token_usage tokenization password_hint passwordless description"""


@each("name", SECRET_NAMES.split())
def test_json_value_under_a_name_of_a_secret(name: str) -> None:
    assert names_secret(name)
    clean, labels = redact_json({name: "Value here", "other": "some value"})
    assert isinstance(clean, dict)
    assert clean[name].startswith("[REDACTED:")
    assert clean["other"] == "some value"
    assert len(labels) == 1
    assert redact_json(clean) == (clean, frozenset())


@each("name", ORDINARY_NAMES.split())
def test_json_value_under_an_ordinary_name(name: str) -> None:
    value = {name: "Value here"}
    assert not names_secret(name)
    assert redact_json(value)[0] is value


PLACEHOLDERS: list[object] = [
    "", "abc", "***", "xxxxxxxx", "${DB_PASSWORD}", "$TOKEN", "<your-api-key>", "...", "{{ secret }}",
    "your-api-key", "changeme", "[REDACTED:password]", "Bearer [REDACTED:jwt]", "null", None,
    "required", "/run/secrets/db", "sk-...", True,
]  # fmt: skip


@each("value", PLACEHOLDERS)
def test_json_placeholder_under_a_secret_name_stays(value: object) -> None:
    record = {"password": value}
    assert redact_json(record)[0] is record


def test_json_numbers_and_nested_values_under_a_secret_name() -> None:
    clean, labels = redact_json(
        {"password": 12345678, "secret": {"deep": ["hunter4hunter4"]}, "token": 50256, "pin": 1234}
    )
    assert clean == {
        "password": "[REDACTED:password]", "secret": {"deep": ["[REDACTED:secret]"]}, "token": 50256, "pin": 1234,
    }  # fmt: skip
    assert labels == {"password", "secret"}


def test_json_lists_under_a_secret_name_and_a_key_given_from_outside() -> None:
    found = frozenset({"password"})
    nested = {"password": ["[REDACTED:password]", "***", 3]}
    assert redact_json({"password": ["hunter2x", "***", 3]}) == (nested, found)
    assert redact_json("hunter2x", "password") == ("[REDACTED:password]", found)
    assert redact_json(("hunter2x", 1), "pwd") == (("[REDACTED:password]", 1), found)
    assert redact_json("hunter2x") == ("hunter2x", frozenset())


def test_json_names_the_maker_where_it_can() -> None:
    assert redact_json({"api_key": ANTHROPIC})[0] == {"api_key": "[REDACTED:anthropic-key]"}
    clean, labels = redact_json({"Authorization": f"Bearer {GITHUB}"})
    assert clean == {"Authorization": "Bearer [REDACTED:github-token]"}
    assert labels == {"github-token"}
    assert redact_json({"password": f"{GITHUB} and more"})[0] == {"password": "[REDACTED:password]"}


def test_no_cache_keeps_a_value() -> None:
    redact("password = new_secret_password2\ndb_password: 'OTHER_TOKEN'")
    hits = _kind.cache_info().hits
    _kind("new_secret_password2")
    _kind("OTHER_TOKEN")
    assert _kind.cache_info().hits == hits


def test_json_keys_that_are_secrets_stay_apart() -> None:
    clean, labels = redact_json({GITHUB: 1, "gh" + "p_" + made_up(36): 2, 3: "x"})
    assert isinstance(clean, dict)
    assert sorted(map(str, clean.values())) == ["1", "2", "x"]
    assert "gh" + "p_" not in str(clean)
    assert labels == {"github-token"}


def test_ordinary_text_costs_little() -> None:
    """The bound is generous, for slow machines: about 6 µs where it was written."""
    text = "The build failed because the cache did not include the lock file; adding it fixed it. "
    redact(text * 2)
    started = time.process_time()
    for _ in range(2000):
        redact(text * 2)
    assert (time.process_time() - started) / 2000 < 100e-6


@each(("label", "text"), [(label, text) for label, text, _ in SECRETS])
def test_a_record_is_cleaned_wherever_the_secret_stands(label: str, text: str) -> None:
    """All its texts are searched in one go; that must find what is found field by field."""
    clean = redact(text)[0]
    done: Any = {"issue": Issue(description="d"), "fix_success": True, "verification_success": True}
    fix = Fix(**done, analysis="an analysis", notes=text, system_info={"env": [{"line": text}]})
    cleaned = without_secrets(fix)
    assert label in (cleaned.redacted or ())
    assert (cleaned.notes, cleaned.system_info) == (clean, {"env": [{"line": clean}]})
    steps = [Step(action="a", observation=text), Step(action="b")]
    walked = without_secrets(Trajectory(task="t", steps=steps, final_reward=0.0))
    assert [step.observation for step in walked.steps] == [clean, ""]
    assert without_secrets(walked) == walked, "cleaning twice is cleaning once"


@each("text", ORDINARY)
def test_a_record_without_secrets_is_the_same_object(text: str) -> None:
    record = Trajectory(task=text, steps=[], final_reward=1.0)
    assert without_secrets(record) is record
