"""What one record teaches, as things to count.

Knowledge is kept as tallies: how often something was seen, per UTC day and author, at each level of outcome. Counting
commutes, so any order of arrival, any merge and any rebuild give the same knowledge, and whatever is shown (shares, decay,
thresholds, the best, the latest) is worked out when it is read.

scope            key                item        level                        asked by
tool             tool               task or ""  outcome                      odds(tool=…, task=…)
fix              ""                 fixer       outcome                      odds(), odds(fixer=…)
fix.type         issue type         fixer       outcome                      odds, patterns
fix.model        model              type, fixer outcome                      odds, patterns, model_insights
fix.subject      subject            type, fixer outcome                      odds
fix.signature    signature          fixer       outcome                      odds, patterns
fix.words        issue type         degree      outcome                      advise
fix.hour         issue type         hour (UTC)  outcome                      temporal patterns
strategy.type    issue type         strategy    outcome                      strategies, best fix
strategy.model   model              type, strategy  outcome                  model_insights, best fix
strategy.signature  signature       strategy    outcome                      best fix
episode          ""                 ""          0                            when to consolidate
score            task               ""          level of the score           score history, thresholds
works, avoid     task               text        level of the score           rules
card             task               type, card  level of the score           cards
card.foreign     task               type, card  level of the score           cards that an episode of another task reported
pair             failure hash       action      HELPED or NOT_HELPED         solutions
pair.task        task, failure hash action      HELPED or NOT_HELPED         solutions for a task
act.all          ""                 ""          FAILED, WORKED, SOLVED or DONE  advise
act.situation    situation          ""          FAILED, WORKED, SOLVED or DONE  advise
act.kind         kind of action     ""          FAILED, WORKED, SOLVED or DONE  advise
act.task         task               ""          FAILED, WORKED, SOLVED or DONE  advise
act.action       shape              ""          FAILED, WORKED, SOLVED or DONE  advise
act.same         task, action       ""          FAILED, WORKED, SOLVED or DONE  advise
act.word         word               ""          FAILED, WORKED, SOLVED or DONE  advise
credit           recalled record    ""          HELPED or NOT_HELPED         recall; taught by any kind

Beside what it counts for, a record has keys by which it is found exactly; an issue's signature is one of them.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from functools import lru_cache, partial
from itertools import islice
from typing import Any, Final, Literal, NamedTuple

from hardwon import limits
from hardwon.errors import InvalidInputError
from hardwon.learn.actions import ANY_FAILURE, judge_steps, outcomes_of, pairs_of, task_key
from hardwon.records.kinds import (
    VOUCHED_STATUSES,
    Cleaned,
    Decision,
    Episode,
    Experience,
    Fix,
    Issue,
    MistakeCard,
    Record,
    Status,
    Trajectory,
    sources_named,
)
from hardwon.text.failures import failure_hash
from hardwon.text.sentences import fact_key
from hardwon.text.terms import canonical, key_of, same_action, share_of_words, spelled

FAILED, APPLIED, SUCCEEDED = 0, 1, 2  # levels of an outcome
NOT_HELPED, HELPED = 0, 1
# Levels of a score are twentieths: 0.50 and 0.85, the thresholds of training memory, begin one
# each.
LEVELS: Final = 20

_DEGREES_OF_WORDS: Final = (0.1, 0.2, 0.4)  # few, some, many words in common

MILLIONTHS: Final = 1_000_000
BETWEEN_NAMES: Final = "\n"  # no name contains it

TEACHING_STATUSES: Final[tuple[Status, ...]] = ("hypothesis", "verified", "published")


class Increment(NamedTuple):
    """One thing to count. `value` is a score in millionths, 0 where there is none."""

    scope: str
    key: str
    item: str
    level: int
    value: int


class Tally(NamedTuple):
    """How often a lesson was taught on one day by one author, at each level. `best` is the greatest
    value; `last_us` and `last_id` are of the newest record that taught it.
    """

    scope: str
    key: str
    item: str
    day: int
    author: str
    vouched: int
    total: int
    best: int
    last_us: int
    last_id: str
    levels: tuple[int, ...]

    @property
    def times(self) -> int:
        return sum(self.levels)


ACTION_SCOPES: Final = tuple(
    f"act.{what}" for what in ("all", "situation", "kind", "task", "action", "same", "word")
)

# Which kind of record teaches in a scope; each scope is taught by one kind.
KIND_OF_SCOPE: Final[Mapping[str, str]] = {
    "tool": "experience",
    **dict.fromkeys(("pair", "pair.task", *ACTION_SCOPES), "trajectory"),
    **dict.fromkeys(("episode", "score", "works", "avoid", "card", "card.foreign"), "episode"),
    **dict.fromkeys(
        (
            "fix",
            "fix.type",
            "fix.model",
            "fix.subject",
            "fix.signature",
            "fix.words",
            "fix.hour",
        ),
        "fix",
    ),
    **dict.fromkeys(("strategy.type", "strategy.model", "strategy.signature"), "fix"),
}


# Counted without their newest record: nobody asks for it, and taking one back need not look for the
# next.
ANONYMOUS_SCOPES: Final = frozenset(
    {
        "tool",
        "fix",
        "fix.subject",
        "fix.words",
        "fix.hour",
        "episode",
        *ACTION_SCOPES,
        "credit",
    }
)


SCORED_SCOPES: Final = frozenset({"score", "works", "avoid", "card", "card.foreign"})


def level_of_score(score: float) -> int:
    return min(round(score * MILLIONTHS) * LEVELS // MILLIONTHS, LEVELS - 1)


def tallies_of(record: Record) -> tuple[Increment, ...]:
    """Everything the record teaches. What it is worth (its status, its author, its day) is counted
    with it.
    """
    teach = _TEACHERS.get(record.kind)
    own = teach(record) if teach else ()
    if not record.recalled or record.turned_out_well is None:
        return own
    # What was recalled before an attempt helped, or did not, as the attempt turned out.
    recalled = [each for each in dict.fromkeys(record.recalled) if each != record.id]
    level = HELPED if record.turned_out_well else NOT_HELPED
    return (
        *own,
        *(
            Increment("credit", each, "", level, 0)
            for each in recalled[: limits.LESSONS_PER_RECORD_MAX]
        ),
    )


# How every context begins (`brief.fence`). What repeats one teaches nothing: recalled text that
# comes back is no new evidence.
OUR_FENCE: Final = "<hardwon-memory"


# --- experiences ---


def count_experience(record: Experience) -> tuple[Increment, ...]:
    well, extra = record.turned_out_well, record.__pydantic_extra__
    if well is None or OUR_FENCE in record.content:
        return ()
    task = extra.get("task_id") or extra.get("task_type")
    return count_tool(record.tool or "", task if isinstance(task, str) else "", well)


@lru_cache(maxsize=1024)  # few tools and tasks come again and again
def count_tool(tool: str, task: str, succeeded: bool) -> tuple[Increment, ...]:
    task = " ".join(task.split())[: limits.NAME_CHARS_MAX]
    level = SUCCEEDED if succeeded else FAILED
    return tuple(Increment("tool", tool, item, level, 0) for item in dict.fromkeys(("", task)))


# --- fixes ---


def count_fix(fix: Fix) -> tuple[Increment, ...]:
    issue, fixer = fix.issue, fix.fixer_type
    level = level_of_fix(fix)
    signature = generate_issue_signature(issue)
    counted = [
        ("fix", "", fixer),
        ("fix.type", issue.issue_type, fixer),
        ("fix.model", issue.model, issue.issue_type + BETWEEN_NAMES + fixer),
        ("fix.signature", signature, fixer),
        ("fix.hour", issue.issue_type, f"{fix.metadata.context.timestamp.astimezone(UTC).hour:02}"),
    ]
    if subject := issue_subject(issue):
        counted.append(("fix.subject", subject, issue.issue_type + BETWEEN_NAMES + fixer))
    if degree := degree_of_words("\n".join(fix.fix_commands).strip() or fix.analysis, issue):
        counted.append(("fix.words", issue.issue_type, degree))
    if strategy := strategy_key(fix):
        counted += [
            ("strategy.type", issue.issue_type, strategy),
            ("strategy.model", issue.model, issue.issue_type + BETWEEN_NAMES + strategy),
            ("strategy.signature", signature, strategy),
        ]
    return tuple(Increment(scope, key, item, level, 0) for scope, key, item in counted)


def level_of_fix(fix: Fix) -> int:
    return SUCCEEDED if fix.succeeded else APPLIED if fix.fix_success else FAILED


def degree_of_words(done: str, issue: Issue) -> str:
    """How much what is done about an issue speaks of what the issue describes; empty where one of
    them says next to nothing.
    """
    shared = share_of_words(done, issue.description)
    return "" if shared is None else str(sum(shared >= least for least in _DEGREES_OF_WORDS))


def strategy_key(fix: Fix) -> str:
    """What was done about the issue: the commands, else the analysis. Empty where the fix tells
    neither.
    """
    commands = [" ".join(command.split()) for command in fix.fix_commands if command.strip()]
    if commands:
        return key_of("commands", *commands)
    analysis = canonical(fix.analysis)
    return key_of("analysis", analysis) if analysis else ""


# --- episodes ---


def count_episode(episode: Episode) -> tuple[Increment, ...]:
    cards = (text for card in episode.mistake_cards for text in (card.lesson, card.evidence))
    said = (episode.trajectory_summary, *episode.successes, *episode.mistakes, *cards)
    if any(OUR_FENCE in text for text in said):
        return ()
    task, value = episode.task_id, round(episode.score * MILLIONTHS)
    most, level = limits.LESSONS_PER_RECORD_MAX, level_of_score(episode.score)
    counted = [("score", task, "")]
    for scope, texts in (("works", episode.successes), ("avoid", episode.mistakes)):
        counted += [(scope, task, item) for text in texts[:most] if (item := rule_key(text, scope))]
    for card in episode.mistake_cards[:most]:
        about = card.task_id or task
        counted += [("card" if about == task else "card.foreign", about, card_key(card, task))]
    episodes = Increment("episode", "", "", 0, 0)
    return (episodes, *(Increment(*each, level, value) for each in dict.fromkeys(counted)))


def rule_key(text: str, kind: str = "") -> str:
    """The same for texts that say the same. Of something that works, or that is to be avoided, the
    marks under which a memory hands just that out make no difference: a lesson that comes back as
    somebody's own observation is the same lesson.
    """
    said = canonical(text)
    while mark := next((mark for mark in _MARKS.get(kind, ()) if said.startswith(mark)), None):
        said = canonical(said[len(mark) :])
    return key_of("rule", said) if said else ""


_MARKS: Final[Mapping[str, tuple[str, ...]]] = {
    "works": ("[works]", "[consolidated]"),
    "avoid": ("[avoid]", "[consolidated]", "avoid:"),
}


def card_key(card: MistakeCard, task_id: str) -> str:
    """Cards of the same mistake by the same worker with the same right decision are one card.
    Begins with the type.
    """
    rest = key_of(
        "card", card.task_id or task_id, card.worker_id or "", card.correct_decision or ""
    )
    return card.mistake_type + BETWEEN_NAMES + rest


# --- trajectories ---


def count_trajectory(trajectory: Trajectory) -> tuple[Increment, ...]:
    pairs = []
    for pair, _ in pairs_of(trajectory):
        level = HELPED if pair.helped else NOT_HELPED
        pairs.append(Increment("pair", pair.diagnosis, pair.action, level, 0))
        if trajectory.task.strip():
            pairs += [
                Increment("pair.task", task_key(trajectory.task, failure), pair.action, level, 0)
                for failure in (pair.diagnosis, ANY_FAILURE)
            ]
    acts = [
        Increment(f"act.{counted.what}", counted.which, "", level, 0)
        for counted, level in outcomes_of(trajectory)
    ]
    return (*dict.fromkeys(pairs), *acts)


_TEACHERS: Final[Mapping[str, Callable[..., tuple[Increment, ...]]]] = {
    "experience": count_experience,
    "fix": count_fix,
    "cleaned": lambda cleaned: tuple(map(Increment._make, cleaned.lessons)),
    "episode": count_episode,
    "trajectory": count_trajectory,
}


# --- exact keys ---


def keys_of(record: Record) -> tuple[str, ...]:
    """What a record can be found by exactly: both signatures of a fix, the hash of every failure in
    it, its session, what a fact says, and the keys of an experience that do not route it.
    """
    own = _OWN_KEYS.get(record.kind)
    keys = set(own(record) if own else ())
    if session := record.metadata.source.id:
        keys.add(session_key(session))
    if failure := record.metadata.validation.failure_hash:
        keys.add(f"failure:{failure}")
    return tuple(sorted(keys))


# Where an experience keeps keys of the caller's that a record has a meaning of its own for, such as
# `id`.
OWN_KEYS: Final = "own_keys"


def keys_of_fix(fix: Fix) -> Iterator[str]:
    yield from signature_keys(fix.issue)
    if had := recorded_signature(fix):
        yield f"signature:{had}"
    if strategy := strategy_key(fix):
        yield exact_key("strategy", strategy)
    if fix.issue.error_output and fix.issue.error_output.strip():
        yield f"failure:{failure_hash(fix.issue.error_output)}"
    yield from (
        attempt_key(command) for command in fix.fix_commands[: limits.LESSONS_PER_RECORD_MAX]
    )


def keys_of_trajectory(trajectory: Trajectory) -> Iterator[str]:
    steps = trajectory.steps[-limits.STEPS_LEARNED_MAX :]
    outcomes = judge_steps(trajectory.steps)[-limits.STEPS_LEARNED_MAX :]
    found = dict.fromkeys(outcome.failures for outcome in outcomes if outcome.failures)
    for failures in list(found)[: limits.LESSONS_PER_RECORD_MAX]:
        yield from map("failure:{}".format, failures)
    tried = dict.fromkeys(attempt_key(step.action) for step in steps)
    yield from list(tried)[-limits.LESSONS_PER_RECORD_MAX :]
    if trajectory.task.strip():
        yield key_of_task(trajectory.task)


def keys_of_cleaned(cleaned: Cleaned) -> Iterator[str]:
    yield exact_key("tidied", cleaned.decision)
    yield exact_key("cleaned", cleaned.signature)
    if cleaned.strategy:
        yield exact_key("strategy", cleaned.strategy)


def caller_keys(record: Experience) -> dict[str, Any]:
    """Keys of the caller's own, also those that a record has a meaning of its own for."""
    given = dict(record.extra)
    own = given.pop(OWN_KEYS, None)
    return given | own if isinstance(own, dict) else given


def keys_of_experience(record: Experience) -> Iterator[str]:
    given = caller_keys(record)
    if record.unrouted or record.own_schema:
        given |= {"outcome": record.outcome, "tool": record.tool}
    elif record.route:
        del given[record.route[0]]
    yield from (given_key(name, value) for name, value in given.items() if value is not None)


def keys_of_decision(decision: Decision) -> list[str]:
    if decision.action == "rollback":
        return [f"rollback:{source}" for source in sources_named(decision.target)]
    return [decision_key(decision)]


_OWN_KEYS: Final[Mapping[str, Callable[..., Iterable[str]]]] = {
    "fix": keys_of_fix,
    "fact": lambda fact: [fact_key(fact)],
    "trajectory": keys_of_trajectory,
    "decision": keys_of_decision,
    "adopted": lambda adopted: [exact_key("adopted", adopted.origin)],
    "cleaned": keys_of_cleaned,
    "experience": keys_of_experience,
}


def given_key(name: str, value: object) -> str:
    """Of experiences whose caller gave this key with this value, and that no folder of the tree
    tells so.
    """
    text = spelled(value)
    if text is None:
        try:
            text = json.dumps(value, sort_keys=True, default=str)
        except (
            TypeError,
            ValueError,
            RecursionError,
        ):  # no record holds it, so no record is found by it
            text = repr(type(value))
    return f"given:{key_of(name, text)}"


def attempt_key(action: str) -> str:
    """Of records in which this very action was taken."""
    return f"action:{same_action(action)}"


def key_of_task(task: str) -> str:
    """Of trajectories at this very task."""
    return f"task:{task_key(task)}"


def session_key(session: str) -> str:
    """Of records that came from one trace, run or conversation (`source.id`)."""
    return f"session:{session}"


def signature_keys(issue: Issue) -> list[str]:
    """Ours and the fix-history document's: an exact match is a match of either."""
    return [
        f"signature:{sign(issue)}" for sign in (generate_issue_signature, fix_history_signature)
    ]


def recorded_signature(fix: Fix) -> str | None:
    """The signature of a fix in the older database that it was adopted from, where what was adopted
    no longer tells it.
    """
    had = (fix.other or {}).get(RECORDED_SIGNATURE)
    return had if isinstance(had, str) and _SIGNATURE.fullmatch(had) else None


RECORDED_SIGNATURE: Final = "issue_signature"
_SIGNATURE: Final = re.compile(r"[0-9a-f]{16}")


def exact_key(what: Literal["strategy", "tidied", "cleaned", "adopted"], which: str) -> str:
    """Of fixes that tried the same `strategy`; of what one cleanup, or one compression, `tidied`
    away; of fixes that were `cleaned` out of the history, by the signature they had there; of what
    was `adopted` without records from one sort of store, and teaches no lessons: like rules that
    somebody wrote down, it is read as it is (`learn.support`).
    """
    return f"{what}:{which}"


VERDICTS: Final = ("right", "wrong")


def verdict_key(lesson_id: str) -> str:
    """Of what people said about a lesson."""
    return f"verdict:{lesson_id}"


def decision_key(decision: Decision) -> str:
    """Two decisions of the same key decide the same."""
    if decision.action in VERDICTS:
        return verdict_key(decision.target)
    if decision.action == "rollback":
        return f"rollback:{decision.target}"
    text = rule_key(decision.text) if decision.action == "rule" else ""
    pair = sorted((decision.target, decision.replacement))
    return f"{decision.action}:{key_of(decision.task_id, text, *pair, *decision.tasks)}"


# --- adding up ---


class RecordCounts(NamedTuple):
    """What a record adds to the tallies, with what it is counted under."""

    project_id: str
    author: str
    at_us: int
    id: str
    status: str
    increments: tuple[Increment, ...]


# project, scope, key, item, day, author
TallyKey = tuple[str, str, str, str, int, str]

_NONE: Final = [0] * LEVELS
_NOBODY: Final = (0, "")
_FIRST_LEVEL: Final = 5  # where the levels begin among a tally's figures


def sum_counts(taught: Iterable[RecordCounts]) -> dict[TallyKey, list[Any]]:
    """The tallies of some records: under each key [vouched, total, best, last_us, last_id, times at
    level 0, at level 1 …].
    """
    tallies: dict[TallyKey, list[Any]] = {}
    for project, author, at_us, record_id, status, lessons in taught:
        if not lessons or status not in TEACHING_STATUSES:
            continue
        vouched = int(status in VOUCHED_STATUSES)
        day = at_us // limits.DAY_US
        for scope, key, item, level, value in lessons:
            place = (project, scope, key, item, day, author)
            last = _NOBODY if scope in ANONYMOUS_SCOPES else (at_us, record_id)
            known = tallies.get(place)
            if known is None:
                known = tallies[place] = [vouched, value, value, *last, *_NONE]
            else:
                known[0] += vouched
                known[1] += value
                if value > known[2]:
                    known[2] = value
                if last > (known[3], known[4]):
                    known[3:_FIRST_LEVEL] = last
            known[_FIRST_LEVEL + level] += 1
    return tallies


# --- signatures ---

_PROMPT_CHARS: Final = 50
_REMEMBERED_CHARS: Final = 2_000  # of a prompt: a thousand of them take little room
# a few hundred characters more or less are the same answer
_LENGTH_BUCKETS: Final = (0, 32, 128, 512, 2_048, 8_192)
_VARIANT: Final = re.compile(
    r"[-_.](?:v?\d+(?:\.\d+)?[bm]|v\d+(?:\.\d+)*|\d+x\d+b|latest|instruct|chat|preview|base|it|gguf|awq|gptq|fp\d+|bf\d+|int\d+|q\d(?:_\w+)?"
    r"|\d{4}-?\d{2}-?\d{2}|\d{4})$"
)


@lru_cache(maxsize=1_024)
def model_family(name: str) -> str:
    """`Qwen/Qwen2.5-7B-Instruct` and `qwen2.5:7b` are both `qwen2.5`: without maker, tag, size,
    date and packaging.
    """
    family = " ".join(name.casefold().split()).rsplit("/", 1)[-1].split(":", 1)[0]
    while shorter := _VARIANT.sub("", family):
        if shorter == family:
            break
        family = shorter
    return family


def generate_issue_signature(issue: Issue | Mapping[str, Any]) -> str:
    """16 hex characters that are the same for the same kind of issue: its type, the model's family,
    how the prompt begins and how long the response was, roughly. Case, white space and missing keys
    make no difference.
    """
    given = _fields(issue)
    prompt, length = _text(given, "test_prompt"), len(_text(given, "actual_response").strip())
    bucket = sum(length > bound for bound in _LENGTH_BUCKETS)
    sign = _signed if len(prompt) <= _REMEMBERED_CHARS else _signed.__wrapped__
    return sign(_text(given, "issue_type"), _text(given, "model"), prompt, bucket)


# a record's signature is asked for several times, and the same issues come again
@lru_cache(maxsize=1_024)
def _signed(issue_type: str, model: str, prompt: str, bucket: int) -> str:
    beginning = " ".join(canonical(prompt)[:_PROMPT_CHARS].split())
    return key_of(
        "issue", canonical(issue_type) or "custom", model_family(model), beginning, bucket
    )


def fix_history_signature(issue: Issue | Mapping[str, Any]) -> str:
    """The signature by the fix-history document's own formula, for data that was written with it.
    It joins the parts with a separator they may contain and takes the exact length, so use it only
    to find what carries it already.
    """
    given = _fields(issue)
    parts = (
        _text(given, "issue_type"),
        _text(given, "model").split(":")[0],
        _text(given, "test_prompt")[:_PROMPT_CHARS],
        str(len(_text(given, "actual_response"))),
    )
    return hashlib.md5(
        "|".join(parts).encode(errors="surrogatepass"), usedforsecurity=False
    ).hexdigest()[:16]


def issue_subject(issue: Issue) -> str | None:
    """What the issue is about, whatever went wrong with it: the prompt, else the description. None
    where neither tells.
    """
    read = partial(canonical, chars_max=limits.TEXT_CHARS_MAX)
    about = read(issue.test_prompt or "") or read(issue.description)
    return key_of("subject", about) if about else None


def _fields(issue: Issue | Mapping[str, Any]) -> Mapping[str, Any]:
    if isinstance(issue, Issue):
        return issue.__dict__
    if not isinstance(issue, Mapping):
        raise InvalidInputError.one("issue", issue, "an object (a mapping) or an Issue")
    return issue


def _text(given: Mapping[str, Any], name: str) -> str:
    value = given.get(name)
    return "" if value is None else str(value)


# --- a fix as the tables of fix history show it, and what they count of it ---

_NO_SYSTEM_INFO: Final = "{}"


class FixRow(NamedTuple):
    """The columns of `fix_history`, in their order. Commands and system information are JSON."""

    id: int
    timestamp: str
    model_name: str
    issue_type: str
    issue_signature: str
    description: str
    fixer_type: str
    claude_analysis: str
    fix_commands: str
    fix_success: int
    verification_success: int
    execution_time_seconds: float | None
    system_info: str
    notes: str | None


class FixEntry(NamedTuple):
    """What the tables need of one fix. `shown` is its row but for the id; None where only its
    counts are left.
    """

    shown: tuple[str | int | float | None, ...] | None
    pattern: str
    signature: str
    model: str
    issue_type: str
    strategy: str
    level: int
    timestamp: str


def entry_of(record: Record) -> FixEntry | None:
    """None for what is no fix."""
    if isinstance(record, Fix):
        signature = document_signature(record)
        at, issue = text_of(record.metadata.context.timestamp), record.issue
        return FixEntry(
            shown=(
                at,
                issue.model,
                issue.issue_type,
                signature,
                issue.description,
                record.fixer_type,
                record.analysis,
                json.dumps(record.fix_commands, ensure_ascii=False),
                int(record.fix_success),
                int(record.verification_success),
                record.execution_time_seconds,
                json.dumps(record.system_info, ensure_ascii=False)
                if record.system_info
                else _NO_SYSTEM_INFO,
                record.notes,
            ),
            pattern=pattern_name(record, signature),
            signature=signature,
            model=issue.model,
            issue_type=issue.issue_type,
            strategy=strategy_key(record),
            level=level_of_fix(record),
            timestamp=at,
        )
    if isinstance(record, Cleaned):
        at = text_of(record.metadata.context.timestamp)
        return FixEntry(
            None,
            record.pattern,
            record.signature,
            record.model,
            record.issue_type,
            record.strategy,
            record.level,
            at,
        )
    return None


def document_signature(fix: Fix) -> str:
    """By the fix-history document's formula; of a fix from an older database the one it had
    there.
    """
    return recorded_signature(fix) or fix_history_signature(fix.issue)


def pattern_name(fix: Fix, signature: str) -> str:
    """For people, and for every signature another."""
    family = fix.issue.model.split(":")[0]
    return f"{fix.issue.issue_type}{f' on {family}' if family else ''} [{signature}]"


def shortened(entry: FixEntry) -> FixEntry:
    """As it is shown when its details were packed away."""
    if entry.shown is None:
        return entry
    row = FixRow(0, *entry.shown)  # type: ignore[arg-type]  # the values are those of a row
    most = limits.BEGINNING_CHARS
    short = row._replace(
        description=row.description[:most],
        claude_analysis=row.claude_analysis[:most],
        fix_commands=row.fix_commands
        if len(row.fix_commands) <= most
        else json.dumps([json.loads(row.fix_commands)[0][:most]]),
        system_info=_NO_SYSTEM_INFO,
        notes=None if row.notes is None else row.notes[:most],
    )
    return entry._replace(shown=tuple(short)[1:])


def summary_of(fix: Fix) -> str:
    """What a fix is still found by when its details were packed away."""
    said = (fix.issue.description, fix.analysis, *fix.fix_commands[:1])
    return "\n".join(
        (
            fix.issue.model,
            fix.issue.issue_type,
            fix.fixer_type,
            *(text[: limits.BEGINNING_CHARS] for text in said),
        )
    )


def did(said: Mapping[str, Any]) -> tuple[list[str], str]:
    """What a fix did, as far as its strategy tells it from others: its commands, else its analysis.
    `said` are its fields, as JSON has them.
    """
    most = limits.LESSON_CHARS_MAX
    given = (" ".join(command.split())[:most] for command in said.get("fix_commands", ()))
    commands = list(islice(filter(None, given), limits.FIXES_LISTED_MAX))
    return commands, "" if commands else " ".join(said.get("analysis", "").split())[:most]


def strategy_text(commands: list[str], analysis: str) -> str:
    """What was done, on one line: the commands, else the analysis."""
    said = " && ".join(
        " ".join(command.split()) for command in commands if command.strip()
    ) or " ".join(analysis.split())
    return said[: limits.LESSON_CHARS_MAX]


def text_of(at: datetime) -> str:
    """Always as long, and in UTC, so that times sort as text."""
    return at.astimezone(UTC).isoformat(timespec="microseconds")
