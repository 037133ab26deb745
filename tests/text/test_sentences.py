"""Sentences that stand alone, and what is said about those that do not."""

from __future__ import annotations

from hypothesis import given

from cases import each
from hardwon.text.sentences import RELATIVE_DATE, lint
from strategies import texts

TIMES = {
    "CI broke the day before yesterday.": "the day before yesterday",
    "Two days ago the index was dropped.": "Two days ago", "The quota will grow next month.": "next month",
    "The backup failed last night.": "last night", "The API changed recently.": "recently",
    "A few days ago the disk was full.": "A few days ago",
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
    "- It needs root.": "It",
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
