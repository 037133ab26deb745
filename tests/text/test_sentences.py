"""Sentences that stand alone, and what is said about those that do not."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta, timezone

from hypothesis import given
from hypothesis import strategies as st

from cases import each
from hardwon import limits
from hardwon.text.sentences import RELATIVE_DATE, Flaw, lint
from strategies import texts, times

AT = datetime(2026, 11, 15, 12, 30, tzinfo=UTC)  # a Sunday

RESOLVED = {
    "The build broke yesterday.": "The build broke yesterday (2026-11-14).",
    "Today the cache was cleared.": "Today (2026-11-15) the cache was cleared.",
    "The release is due tomorrow": "The release is due tomorrow (2026-11-16)",
    "CI broke the day before yesterday.": "CI broke the day before yesterday (2026-11-13).",
    "The freeze will end the day after tomorrow.": "The freeze will end the day after tomorrow "
    "(2026-11-17).",
    "Two days ago the index was dropped.": "Two days ago (2026-11-13) the index was dropped.",
    "The disk filled up 3 weeks ago.": "The disk filled up 3 weeks ago (2026-10-25).",
    "A month ago the key was rotated.": "A month ago (2026-10) the key was rotated.",
    "The API changed two years ago.": "The API changed two years ago (2024).",
    "The node rebooted 5 hours ago.": "The node rebooted 5 hours ago (2026-11-15T07:30Z).",
    "The node rebooted half an hour ago.": "The node rebooted half an hour ago (2026-11-15T12:00Z).",
    "The team moved about 3 weeks ago.": "The team moved about 3 weeks ago (about 2026-10-25).",
    "The team moved more than a year ago.": "The team moved more than a year ago (about 2025).",
    "Last week the queue stalled.": "Last week (2026-11-02 to 2026-11-08) the queue stalled.",
    "This week nothing was deployed.": "This week (2026-11-09 to 2026-11-15) nothing was deployed.",
    "The quota will grow next month.": "The quota will grow next month (2026-12).",
    "Support will end next year.": "Support will end next year (2027).",
    "The audit is scheduled for next Monday.": "The audit is scheduled for next Monday "
    "(2026-11-16).",
    "The audit was last Sunday.": "The audit was last Sunday (2026-11-08).",
    "The audit was planned for this Friday.": "The audit was planned for this Friday (2026-11-13).",
    "The proxy is slow since yesterday.": "The proxy is slow since yesterday (2026-11-14).",
    "Yesterday, CI was down.": "Yesterday (2026-11-14), CI was down.",
    "Every day the job runs; yesterday it failed.": "Every day the job runs; yesterday "
    "(2026-11-14) it failed.",
    "This morning the queue was empty.": "This morning (2026-11-15) the queue was empty.",
    "The backup failed last night.": "The backup failed last night (night to 2026-11-15).",
    "The backup will run tonight.": "The backup will run tonight (2026-11-15).",
    "Yesterday evening the router failed.": "Yesterday evening (2026-11-14) the router failed.",
    "Yesterday's build failed.": "Yesterday's (2026-11-14) build failed.",
    "The switch will be replaced in 3 hours.": "The switch will be replaced in 3 hours "
    "(2026-11-15T15:30Z).",
    "The licence is due in two weeks.": "The licence is due in two weeks (2026-11-29).",
    "CI broke yesterday and works today.": "CI broke yesterday (2026-11-14) and works today "
    "(2026-11-15).",
}

UNTOUCHED = [
    "yesterday.py holds the fixtures.",
    "Run `git log --since yesterday` first.",
    "Run git log --since yesterday first.",
    "The flag --since=yesterday is slow.",
    'The button says "today" in every language.',
    "The button says 'tomorrow' in English.",
    "The button says \u201ctoday\u201d in English.",
    "The variable today_utc is naive, and so is get-yesterday.",
    "The path logs/today/errors.txt is empty, as is /var/yesterday.",
    "```\nlast week\n```",
    "Tests run in 3 minutes.",
    "The client retries when a call will not answer in 3 hours.",
    "The lease will always be renewed in 2 days.",
    "The job ran 2-3 days ago or 1.5 hours ago.",
    "The last week of December is quiet.",
    "Every last Monday the logs are rotated.",
    "The next year is shown in the footer.",
    "As soon as the queue is empty, workers stop.",
    "The report of 2026-11-14 is complete.",
    "Three days before the release the branch is cut.",
    "The holiday and the birthday are days.",
    "Yesterdays are over.",
    "The job runs on Mondays and daily.",
    "The event ends 3 days later.",
    "Tokens expire in 3 hours.",
    "The session expires in 30 minutes.",
    "In 2 days the cert expires.",
    "The job failed:\n\n    x = yesterday",
    "The job failed:\n\tprint(today)",
    "The job failed.\n> we fixed that yesterday",
]

UNSURE = [
    "Each morning the job copies data of yesterday to S3.",
    "Every Monday the job mails last week's numbers.",
    "The cron job archived yesterday every night.",
    "The daily report was sent for yesterday.",
    "The enum has the values today, tomorrow.",
    "The enum was given the values today, tomorrow and yesterday.",
    "The enum accepted today and tomorrow.",
    "SELECT yesterday FROM totals is slow.",
    "SELECT id, yesterday FROM totals failed.",
    "CREATE TABLE today (id int) failed.",
    "The release called Yesterday broke.",
    "The release Yesterday broke.",
    "The table today was dropped.",
    "The label reads Last week in the UI.",
    "The job deletes rows created a week ago.",
    "Retry jobs that failed yesterday.",
    "Users who logged in yesterday are counted as active.",
    "The cached copy of yesterday is stale.",
    "Logs of today are compressed.",
    "The report shows all changes since yesterday.",
    "The dashboard compares this week with last week.",
    "Caches are valid until tomorrow.",
    "The release is tomorrow.",
    "The quota grows next month.",
    "The deploy failed tomorrow.",
    "The certificate will expire in 3 hours.",
    "It rained last Friday the 13th.",
    "THE BUILD BROKE YESTERDAY!",
    "The function yesterday returned None.",
    "The default was changed to yesterday.",
    "When asked for today, the bot crashed.",
    "The line x = today - 1 failed.",
    "The job failed if day == today: it raised.",
]

NOT_FLAGGED = [
    "It is raining.",
    "It's raining in the data centre.",
    "It is possible to restart the pool.",
    "It is not easy to restart the pool.",
    "It is known that the cache leaks.",
    "It seems that the cache leaks.",
    "It turns out that the cache leaks.",
    "It takes five minutes to build the image.",
    "It was the proxy that dropped the header.",
    "It is worth checking the clock first.",
    "It's better to pin the version.",
    "It is unclear whether the index is used.",
    "This function returns a list.",
    "That function returns a list.",
    "These tests need a network.",
    "Those two flags exclude each other.",
    "That it fails is known.",
    "That the server restarts is known.",
    "Which port it uses depends on the file.",
    "How it works is documented.",
    "The server restarts when it is idle.",
    "The tests fail because they share a port.",
    "When it starts, the daemon binds port 80.",
    "If they overlap, the newer lock wins.",
    "Ann said that she owns the module.",
    "The build failed. It ran out of memory.",
    "Its",
    "Iteration is slow.",
    "Theory and practice differ.",
    "Hear the alarm before you act.",
    "Thesis: caches lie.",
    "`it` blocks are run in order.",
    "IT staff rotate keys.",
    "Use the pool and close it.",
    "There is no index on the table.",
    "What it returns is a list.",
    "Does the pool close it?",
    "Restart the pool when they ask.",
]

PRONOUNS = {
    "It fails on empty input.": "It",
    "It is broken since the upgrade.": "It",
    "It's slow.": "It",
    "But it returns 404.": "it",
    "This is slow.": "This",
    "This breaks the build.": "This",
    "That was fixed in the proxy.": "That",
    "These are ignored.": "These",
    "That one is faster.": "That one",
    "Those ones are deprecated.": "Those ones",
    "They said that the disk is full.": "They",
    "He owns the module.": "He",
    "She'll merge the branch.": "She",
    "Its default port is 8080.": "Its",
    "Their token expired.": "Their",
    "Note: it needs root.": "it",
    "- It needs root.": "It",
    "After that, the pool must be restarted.": "that",
    "Because of this, nothing is cached.": "this",
    "If it fails, retry.": "it",
    "Restart it after every upgrade.": "it",
    "Never delete them by hand.": "them",
}


@each("sentence", RESOLVED)
def test_times_get_their_date(sentence: str) -> None:
    linted = lint(sentence, AT)
    assert linted.text == RESOLVED[sentence]
    assert linted.left == ()
    assert all(flaw.kind == "relative_date" for flaw in linted.findings)
    assert lint(linted.text, AT + timedelta(days=40)) == type(linted)(linted.text), (
        "what has its date keeps it"
    )


@each("sentence", UNTOUCHED)
def test_what_is_no_time_from_now_stays(sentence: str) -> None:
    linted = lint(sentence, AT)
    assert (linted.text, [flaw for flaw in linted.findings if flaw.kind == "relative_date"]) == (
        sentence,
        [],
    )


@each(
    ("sentence", "words"),
    [
        ("The API changed recently.", "recently"),
        ("The switch will soon be replaced.", "soon"),
        ("The other day the disk was full.", "The other day"),
        ("A few days ago the disk was full.", "A few days ago"),
        ("A while ago the disk was full.", "A while ago"),
        ("The disk was replaced 9999 years ago.", "9999 years ago"),
    ],
)
def test_a_time_that_nobody_can_tell_is_named(sentence: str, words: str) -> None:
    linted = lint(sentence, AT)
    assert linted.text == sentence
    assert [(flaw.kind, flaw.words, sentence.index(words)) for flaw in linted.left] == [
        ("relative_date", words, linted.left[0].start)
    ]


@each("sentence", UNSURE)
def test_a_time_in_what_reports_no_event_is_named_and_stays(sentence: str) -> None:
    linted = lint(sentence, AT)
    assert linted.text == sentence
    times_left = [str(flaw) for flaw in linted.left if flaw.kind == "relative_date"]
    assert times_left
    assert all(
        left.startswith(RELATIVE_DATE) and "if a certain one is meant" in left
        for left in times_left
    )


@each("sentence", NOT_FLAGGED)
def test_pronouns_that_stand_for_something_are_left_alone(sentence: str) -> None:
    assert lint(sentence, AT).findings == ()


@each("sentence", PRONOUNS)
def test_pronouns_that_stand_for_nothing_are_named(sentence: str) -> None:
    linted = lint(sentence, AT)
    assert linted.text == sentence
    flaw = linted.left[0]
    assert (flaw.kind, flaw.words) == ("pronoun", PRONOUNS[sentence])
    assert sentence[flaw.start :].startswith(flaw.words)
    assert flaw.what_to_do


def test_what_is_said_elsewhere_is_named() -> None:
    assert [str(flaw) for flaw in lint("As mentioned above, the pool leaks.", AT).left] == [
        'reference "As mentioned above": say here what is said there'
    ]
    assert lint("The value is above the limit, as noted.", AT).findings == ()


def test_a_finding_says_what_where_and_what_to_do() -> None:
    linted = lint("It broke yesterday.", AT)
    assert linted.text == "It broke yesterday (2026-11-14)."
    assert linted.findings == (
        Flaw("pronoun", "It", 0, "name what it stands for"),
        Flaw("relative_date", "yesterday", 9, "it is 2026-11-14", "2026-11-14"),
    )
    assert str(linted.findings[1]) == 'relative date "yesterday": it is 2026-11-14'


def test_days_are_those_of_utc() -> None:
    late = datetime(2026, 11, 15, 1, 0, tzinfo=timezone(timedelta(hours=9)))
    assert lint("The build broke today.", late).text == "The build broke today (2026-11-14)."


def test_the_first_and_the_last_day_of_all() -> None:
    first, last = datetime(1, 1, 1, tzinfo=UTC), datetime.max.replace(tzinfo=UTC)
    for at, words in (
        (first, "yesterday"),
        (first, "last month"),
        (last, "tomorrow"),
        (last, "next year"),
    ):
        linted = lint(f"The end came {words}.", at)
        assert (linted.text, len(linted.left)) == (f"The end came {words}.", 1)


def test_a_leap_day_and_the_turn_of_the_year() -> None:
    assert "2024-02-29" in lint("The build broke yesterday.", datetime(2024, 3, 1, tzinfo=UTC)).text
    assert (
        "(2025-12)" in lint("The build broke last month.", datetime(2026, 1, 31, tzinfo=UTC)).text
    )
    assert (
        "(2026-01)"
        in lint("The build will break next month.", datetime(2025, 12, 31, tzinfo=UTC)).text
    )


def test_findings_are_bounded() -> None:
    assert len(lint("yesterday " * 500, AT).left) == limits.SCREEN_ITEMS
    linted = lint("The pool broke yesterday. " * 100, AT)
    assert len(linted.findings) == limits.SCREEN_ITEMS
    assert linted.text.count("(2026-11-14)") == limits.SCREEN_ITEMS


HOSTILE = """a yesterday_ half_a_ a_day_ago_ in_1_ will_in_3_days_ ` " ' \u201c \u2018 ```
    --a_ it_ this_ last_ It_is_ and_ never_ as_mentioned_ the_
    above_ 1_ failed_ is_failed_yesterday_ that_ .\ntoday_ day ' \u00ab ( recently_""".split()


@each("unit", HOSTILE)
def test_time_grows_with_the_text_alone(unit: str) -> None:
    unit = unit.replace("_", " ")
    took = []
    for chars in (limits.FACT_READ_CHARS_MAX // 4, limits.FACT_READ_CHARS_MAX):
        text = ("today " + unit * chars)[:chars]
        start = time.process_time()  # of this process alone: others wait for the same cores
        lint(text, AT)
        took.append(time.process_time() - start)
    assert took[1] < 20 * took[0] + 0.1
    assert took[1] < 1


words = st.sampled_from(
    "broke every , and yesterday today two days ago last week in 3 hours will it this is the build "
    "' \" ` ( ) 2026 . , next Monday half an hour I\u0307".split(" ")
)


@given(texts | st.lists(words, max_size=30).map(" ".join), times)
def test_linting_twice_is_linting_once(text: str, at: datetime) -> None:
    once = lint(text, at)
    if len(once.findings) < limits.SCREEN_ITEMS:
        assert lint(once.text, at).text == once.text
    for flaw in once.findings:
        assert text[flaw.start :].startswith(flaw.words)
    without = once.text
    for flaw in once.findings:
        if flaw.resolved:
            without = without.replace(f" ({flaw.resolved})", "", 1)
    assert len(without) <= len(text)
