"""The five kinds of record, the decisions made about them, what was adopted without records, and
the envelope that all of them carry. No I/O.

Truth is a log of records. Each record says what was tried or found (its own fields) inside an
envelope (`metadata`): where it came from, when and at which commit, how far it may be believed, and
to which project it belongs. Records never change; what happens to one later (verified, superseded,
forgotten …) is an `Event` of its own, and the status that a reader sees is computed from both
(`trust.lifecycle`).

As JSON, a record is one object with the names below. Times are ISO 8601 in UTC; the metadata
schema's own JSON has whole milliseconds instead, is read as well, and is written by `to_agentdb`.
Absent optional fields are left out.

Annotations are not postponed here: pydantic would have to evaluate each of them before anybody
could use a memory.
"""

import json
import re
import unicodedata
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, ClassVar, Final, Literal, NamedTuple, Self, TypeVar, get_args

from pydantic import (
    BeforeValidator,
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    WithJsonSchema,
    model_validator,
)
from pydantic_core import PydanticCustomError

from hardwon import limits
from hardwon.errors import InvalidInputError, Problem
from hardwon.records.fields import (
    SEVERAL,
    Count,
    Finite,
    Flag,
    Ids,
    JsonObject,
    Model,
    Name,
    Names,
    NotBlank,
    OneLine,
    Prose,
    RecordId,
    RequiredName,
    Scalar,
    Seconds,
    Tabular,
    Text,
    Texts,
    Time,
    Unit,
    check_all,
    check_inside,
    check_keys,
    check_mapping,
    derived_id,
    new_id,
    now,
    open_set,
    refuse,
    say,
    to_us,
)

# What an object says of itself in a debugger or a notebook: a list of them is read at a glance.
REPR_CHARS_MAX: Final = 100

# How much of the content a generated summary is made of, as the BTB tree always did.
SUMMARY_FROM_CONTENT_CHARS: Final = 30

# How much of a given summary is looked at: Unicode's normal form of a long run of accents takes
# time with its square.
SUMMARY_READ_CHARS_MAX: Final = 1_000

Outcome = Literal["success", "failure", "learning", "interaction"]
Status = Literal["hypothesis", "verified", "published", "archived"]
Verifier = Literal["test_runner", "human_approval", "compiler"]
SourceType = Literal["user_interaction", "agent_execution", "test_result", "file_analysis"]
FactType = Literal["error", "solution", "observation", "decision"]
Kind = Literal[
    "experience", "fact", "trajectory", "episode", "fix", "decision", "adopted", "cleaned"
]
Action = Literal[
    "rule",
    "merge",
    "promote",
    "retire",
    "contradiction",
    "rollback",
    "cleanup",
    "arrival",
    "right",
    "wrong",
]
EventKind = Literal[
    "status",
    "superseded",
    "absent",
    "present",
    "stale",
    "fresh",
    "imported",
    "credited",
    "repeated",
    "undone",
    "forgotten",
]

# What happened to a record that is so wherever the record is: somebody decided how far it is believed,
# or it came from elsewhere.
TRAVELLING: Final[tuple[EventKind, ...]] = ("status", "superseded", "present", "imported", "undone")

RuleState = Literal["candidate", "active", "retired"]
RULE_STATES: Final = get_args(RuleState)

OUTCOMES: Final[tuple[str, ...]] = get_args(Outcome)
# How whatever was tried may have turned out: those that a search can ask for.
Ending = Literal["success", "failure", "learning", "interaction", "partial", "unknown"]
ENDINGS: Final[tuple[str, ...]] = get_args(Ending)
# What people and programs call them.
OUTCOME_WORDS: Final[Mapping[str, str]] = {
    word: outcome
    for outcome, words in {
        "success": "ok okay good pass passed passes succeed succeeded successful succeeds works worked "
        "done fixed solved",
        "failure": "fail failed fails failing bad error errored broken crash crashed timeout",
        "learning": "learn learned learnt lesson insight note fact",
        "interaction": "chat conversation feedback",
        "partial": "partly partially",
    }.items()
    for word in words.split()
}


OUTCOMES_TOLD: Final = f"one of {', '.join(OUTCOMES)}"


def plain_outcome(word: object) -> object:
    """The outcome that a word means; what means none stays as it is."""
    return OUTCOME_WORDS.get(word.strip().lower(), word) if isinstance(word, str) else word


# An outcome, by whichever of its words.
OutcomeWord = Annotated[Ending, BeforeValidator(plain_outcome)]

STATUSES: Final = get_args(Status)
# Somebody, or a test, stands behind a record of these.
VOUCHED_STATUSES: Final[tuple[Status, ...]] = ("verified", "published")

# The final reward from which on a trajectory solved its task. What earned nothing, or less, failed.
SOLVED_FROM: Final = 1.0
# Training memory's thresholds of a score: at least 0.85 is good, below 0.50 is bad.
GOOD_SCORE: Final = 0.85
BAD_SCORE_BELOW: Final = 0.5

# Kept, moved and merged like records, but nothing that was tried: they are among them only where
# they are asked for.
INTERNAL_KINDS: Final[tuple[Kind, ...]] = ("decision", "adopted", "cleaned")

ACTIONS: Final[tuple[Action, ...]] = get_args(Action)
# What was decided about one file, and says nothing to others: neither merged nor exported.
LOCAL_ACTIONS: Final[tuple[Action, ...]] = ("cleanup", "arrival")
VERIFIERS: Final = get_args(Verifier)


# Which outcome goes with which tool, and the key (with its values) that the pair requires.
ROUTES: Final[Mapping[tuple[str, str | None], tuple[str, tuple[str, ...]] | None]] = {
    ("success", "code_interpreter"): ("task_type", ("write", "debug", "refactor", "explain")),
    ("success", "web_search"): ("domain", ("technical", "research", "general")),
    ("success", "file_operation"): None,
    ("success", "conversation"): None,
    ("failure", "code_interpreter"): ("error_type", ("syntax", "runtime", "logic", "timeout")),
    ("failure", "web_search"): ("reason", ("no_results", "blocked", "irrelevant")),
    ("failure", "file_operation"): None,
    ("failure", "unknown"): None,
    ("learning", None): ("insight_type", ("pattern", "correction", "preference", "fact")),
    ("interaction", None): ("sentiment", ("positive", "neutral", "negative")),
}
# What each of these keys is for.
ROUTING_KEYS: Final = {
    route[0]: f"Of outcome {outcome}{f', tool {tool}' if tool else ''}: {', '.join(route[1])}."
    for (outcome, tool), route in ROUTES.items()
    if route
}

# The folder of what could not be routed. It is kept and counted, and nothing is concluded from it.
INTAKE: Final = "_intake"


class Source(Model):
    """Where a record came from. `author` is the source that support, influence and rollback are
    counted by.
    """

    type: Annotated[SourceType, say("What sort of source.")] = "agent_execution"
    id: Annotated[Name, say("A session or run: what is of one session is found together.")] = ""
    author: Annotated[
        RequiredName, say("Who says so. Support, influence and rollback are counted by it.")
    ] = "agent"


# Behind the name of an author who said something elsewhere: nobody here has such a name.
VIA_IMPORT: Final = " via import"
# The author of a history that the owner of a memory brought along, unless they name another one.
OWN_HISTORY: Final = "fix history"
NO_ORIGIN: Final = (
    f"a name that does not end in {VIA_IMPORT!r}, which tells of who said it elsewhere, and is not "
    f"{OWN_HISTORY!r}"
)


def name_sources(author: str) -> tuple[str, ...]:
    """Whom a name means: who recorded here under it, and who did elsewhere."""
    return (author,) if author.endswith(VIA_IMPORT) else (author, author + VIA_IMPORT)


class RelatedFile(Model):
    """A file the record is about, with the SHA-1 of its content at that time (empty: there was no
    such file).
    """

    path: Annotated[Text, NotBlank, OneLine, say("From the root of the checkout.")]
    hash: Annotated[Name, say("The SHA-1 of its content; empty: there is no such file.")] = ""


class StaleFile(NamedTuple):
    """What became of a related file. `now` is the path where it is by now; None: nowhere."""

    path: str
    change: Literal["changed", "gone", "appeared", "renamed"]
    now: str | None = None

    @property
    def stale(self) -> bool:
        """Another name alone makes nothing untrue."""
        return self.change != "renamed"

    def __str__(self) -> str:
        moved = f" (now {self.now})" if self.now not in (None, self.path) else ""
        return f"{self.path} {self.change}{moved}"


class Moment(Model):
    """When and at which state of the code (`metadata.context`)."""

    timestamp: Time = Field(default_factory=now, description="When it happened.")
    git_commit: Annotated[Name, say("The commit it happened at.")] = ""
    git_branch: Annotated[Name, say("The branch it happened on.")] = ""
    related_files: Annotated[
        list[RelatedFile], SEVERAL, say("Files it is about, each with the SHA-1 of its content.")
    ] = []


class Validation(Model):
    """How far a record may be believed, and who verified it."""

    status: Annotated[Status, say("How far it is believed.")] = "hypothesis"
    verified_by: Annotated[Verifier | None, say("What confirmed it.")] = None
    verification_id: Annotated[Name | None, say("Which run, approval or build it was.")] = None
    failure_hash: Annotated[Name | None, say("The hash of how a test failed.")] = None


class Metadata(Model):
    """The envelope: the metadata schema, same names and nesting. `project_id` is empty until a
    memory takes the record.
    """

    source: Source = Field(default_factory=Source, description="Where it came from.")
    context: Moment = Field(
        default_factory=Moment, description="When, and at which state of the code."
    )
    validation: Validation = Field(
        default_factory=Validation, description="How far it may be believed, and who verified it."
    )
    tags: Annotated[Names, say("Words to filter by.")] = []
    project_id: Annotated[Name, say("The project; a memory fills in its own.")] = ""

    def to_agentdb(self) -> dict[str, Any]:
        """The metadata schema's own JSON: the time in whole milliseconds."""
        data = self.model_dump(mode="json", exclude_none=True)
        data["context"]["timestamp"] = to_us(self.context.timestamp) // 1000
        return data


def find_place(data: Any, path: str) -> tuple[dict[str, Any], str]:
    """The object in JSON that a path (`metadata.context.x`, `steps.0.x`) ends in, and the name
    there.
    """
    name, _, rest = path.partition(".")
    inside = data[int(name)] if isinstance(data, list) else path not in data and data.get(name)
    return find_place(inside, rest) if rest and isinstance(inside, dict | list) else (data, path)


class Record(Model, Tabular):
    """What all kinds have: an id, the envelope, the labels of secrets that were taken out before
    storage, and the ids of what was recalled before it was tried.
    """

    own_json_leaves_out: ClassVar[frozenset[str]] = frozenset(
        {"id", "kind", "redacted", "recalled", "aside"}
    )

    kind: Annotated[Kind, say("Which of the records it is.")]
    id: RecordId = Field(
        default_factory=new_id, description="A UUIDv7: sorts by time. Made where none is given."
    )
    redacted: Annotated[
        # names of kinds of secrets; nothing that could be one itself
        list[Annotated[str, Field(strict=True, pattern=r"^[a-z0-9-]{1,40}$")]] | None,
        say("The labels of secrets that were taken out."),
    ] = None
    recalled: Annotated[Ids | None, say("Ids of what was recalled before it was tried.")] = None
    aside: Annotated[
        JsonObject | None, say("What a file says beyond the schema, by where it stands there.")
    ] = None
    metadata: Metadata = Field(default_factory=Metadata, description="The envelope.")

    @property
    def at_us(self) -> int:
        return to_us(self.metadata.context.timestamp)

    @property
    def project_id(self) -> str:
        return self.metadata.project_id

    @property
    def said_by(self) -> str:
        """The author, and that it came from elsewhere where it did: `ann via import` is not who
        records here as `ann`.
        """
        # no field: where a record came from is told by an event, never by itself
        source: str | None = self.__dict__.get("source_told")
        return source or self.metadata.source.author

    @property
    def history(self) -> "History | None":
        """What the file that it was read from tells of its life; None where it tells nothing."""
        return self.__dict__.get("history_told")  # no field: a memory keeps events beside records

    @property
    def turned_out_well(self) -> bool | None:
        """Whether what was tried worked; None where it did in part, where nobody knows, and where
        that is no question.
        """
        return {"success": True, "failure": False}.get(judge_record(self))

    def as_row(self) -> dict[str, Any]:
        """For a line of a data frame."""
        record: Any = self
        return {
            "id": self.id,
            "kind": self.kind,
            "outcome": judge_record(self),
            "when": self.metadata.context.timestamp,
            "author": self.said_by,
            "status": self.metadata.validation.status,
            "text": headline(record),
        }

    def __repr__(self) -> str:
        record: Any = self
        text = " ".join(headline(record).split())
        return f"<{type(self).__name__} {self.id}: {text[:REPR_CHARS_MAX]}>"

    def to_agentdb(self) -> dict[str, Any]:
        """As the metadata schema writes it: without what only Hardwon knows, times in
        milliseconds.
        """
        left_out = set(self.own_json_leaves_out)
        data = self.model_dump(mode="json", exclude_none=True, exclude=left_out)
        data["metadata"] = self.metadata.to_agentdb()
        return self._with_aside(data)

    def _with_aside(self, data: dict[str, Any]) -> dict[str, Any]:
        """The schema's JSON with what stood there beyond the schema."""
        for path, value in (self.aside or {}).items():
            place, name = find_place(data, path)
            place[name] = value
        return data


# what `safe_summary` leaves as it is
_SAFE_SUMMARY: Final = re.compile(
    f"[a-z0-9](?:[a-z0-9_-]{{0,{limits.SUMMARY_CHARS_MAX - 2}}}[a-z0-9])?"
)


UNTITLED: Final = "untitled"


def safe_summary(text: str) -> str:
    """Lowercase letters of any script (Latin ones without accents), digits, `_` and `-`, at most 50
    characters, never empty: fit to be part of a file name.
    """
    if _SAFE_SUMMARY.fullmatch(text):
        return text
    plain = unicodedata.normalize("NFKD", text[:SUMMARY_READ_CHARS_MAX].casefold())
    plain = re.sub("(?<![^a-z])[\u0300-\u036f]+", "", plain)
    signs = unicodedata.normalize("NFC", plain).lower()
    is_kept = ((sign in "_-" or unicodedata.category(sign)[0] in "LMN", sign) for sign in signs)
    slug = re.sub(" +", "_", "".join(sign if kept else " " for kept, sign in is_kept))
    slug = slug[: limits.SUMMARY_CHARS_MAX].strip("_-")
    return slug if re.search(r"[^\W_]", slug) else UNTITLED


class Experience(Record):
    """Something that happened. The outcome is one of four, or a word that means one of them; the
    tool is any name. `ROUTES` has the tools and keys that a tree of files knows; keys of your own
    are kept beside them.

    A key given as None counts as not given. `unrouted` says why no route took it: it is kept and
    found, and teaches nothing. `own_schema`: it was routed by a schema of the caller's own, in
    which outcomes and tools are what that schema says.
    """

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, Any]

    kind: Literal["experience"] = "experience"
    content: Annotated[Prose, say("What happened.")]
    outcome: Annotated[
        Name,
        WithJsonSchema({"type": "string", "examples": list(OUTCOMES)}),
        say("How it turned out."),
    ]
    tool: Annotated[Name | None, say("The tool that was used.")] = None
    summary: Annotated[Text, say("A few words; made from the content where there are none.")] = ""
    unrouted: Annotated[Prose | None, say("Why no route took it, where that is so.")] = None
    own_schema: Annotated[Flag | None, say("It was routed by a schema of your own.")] = None

    @model_validator(mode="wrap")
    @classmethod
    def _name_and_check(cls, data: object, make: ModelWrapValidatorHandler[Self]) -> Self:
        if isinstance(data, dict):
            data = {key: value for key, value in data.items() if value is not None}
            outcome = data.get("outcome")
            if outcome not in (None, *OUTCOMES) and not data.keys() & {"unrouted", "own_schema"}:
                data["outcome"] = plain_outcome(outcome)
            summary, content = data.get("summary", ""), data.get("content")
            if isinstance(summary, str) and isinstance(content, str):
                data["summary"] = safe_summary(summary or content[:SUMMARY_FROM_CONTENT_CHARS])
        made = make(data)
        check_keys(made.__pydantic_extra__)
        if made.unrouted is None and not made.own_schema and made.outcome not in OUTCOMES:
            raise refuse(OUTCOMES_TOLD, outcome=made.outcome)
        return made

    @classmethod
    def find_more(cls, data: Mapping[str, Any]) -> Iterator[Problem]:
        """An outcome that is none, and keys that may not be."""
        outcome = data.get("outcome")
        routed = isinstance(outcome, str) and not data.keys() & {"unrouted", "own_schema"}
        if routed and plain_outcome(outcome) not in OUTCOMES:
            yield Problem("outcome", outcome, OUTCOMES_TOLD)
        for key in (name for name in data if name not in cls.model_fields):
            try:
                check_keys({key: data[key]})
            except PydanticCustomError as error:
                yield Problem(key, data[key], error.message())

    @property
    def path(self) -> str | None:
        """Where its file is in the tree, from a memory that has one and has just kept it; else
        None.
        """
        return self.__dict__.get("path_in_tree")  # no field: it is no part of what is kept

    @property
    def extra(self) -> dict[str, Any]:
        """The routing key and every key of the caller's own."""
        return self.__pydantic_extra__

    @property
    def has_route(self) -> bool:
        """Whether its outcome, tool and key are those of `ROUTES`."""
        wanted = ROUTES.get((self.outcome, self.tool), ("", ()))
        return wanted is None or self.extra.get(wanted[0]) in wanted[1]

    @property
    def route(self) -> tuple[str, str] | None:
        """The routing key of the outcome/tool pair with its value, or None where it has none."""
        required = ROUTES.get((self.outcome, self.tool))
        extra = self.__pydantic_extra__
        return (required[0], extra[required[0]]) if required and required[0] in extra else None


class Entities(Model):
    """What a fact is about."""

    files: Annotated[Names, say("Files that it names.")] = []
    functions: Annotated[Names, say("Functions that it names.")] = []
    libraries: Annotated[Names, say("Libraries that it names.")] = []
    error_codes: Annotated[Names | None, say("Error codes that it names.")] = None


class Fact(Record):
    """One self-contained sentence: no pronouns, no "yesterday". `confidence` is the author's own
    estimate; `findings` say what keeps it from standing alone.
    """

    own_json_leaves_out: ClassVar[frozenset[str]] = Record.own_json_leaves_out | {"findings"}

    kind: Literal["fact"] = "fact"
    content: Annotated[Prose, say("A sentence that stands alone.")]
    fact_type: Annotated[FactType, say("What it is about.")]
    confidence: Annotated[Unit, say("How sure it is, 0 to 1.")] = 0.5
    entities: Entities = Field(
        default_factory=Entities,
        description="Names in it; those that are found in the sentence are added.",
    )
    findings: Annotated[Texts | None, say("What keeps it from standing alone.")] = None


def _fit_observation(value: object) -> object:
    """What a program printed is nobody's choice: a run is not refused for it. It is cut between two
    words, so that half a secret is not left to stand there unknown.
    """
    if not isinstance(value, str):
        return value
    text = value.replace("\0", "")
    if len(text) <= limits.TEXT_CHARS_MAX:
        return text
    room = text[: limits.TEXT_CHARS_MAX - len(OBSERVATION_CUT)]
    return room[: max(room.rfind(" "), room.rfind("\n"), 0)] + OBSERVATION_CUT


OBSERVATION_CUT: Final = " [cut: longer than a record holds]"


class Step(Model):
    """Something done, what came of it, and what that was worth."""

    action: Annotated[Text, say("What was done.")]
    observation: Annotated[Text, BeforeValidator(_fit_observation), say("What came of it.")] = ""
    reward: Annotated[Finite, say("What that was worth.")] = 0.0
    ok: Annotated[Flag | None, say("Whether it worked; left out, what came of it tells.")] = None


# How a run is told of which nobody knows whether it solved its task.
OUTCOME_UNKNOWN: Final = "done, outcome unknown"
REWARD_UNKNOWN: Final = "nobody knows"  # where its final reward would stand


class Trajectory(Record):
    """What was done step by step, and how it ended (1.0 solved, 0.0 not, None: nobody knows)."""

    kind: Literal["trajectory"] = "trajectory"
    task: Annotated[Text, say("What was to be done.")] = ""
    steps: Annotated[
        list[Step],
        Field(max_length=limits.STEPS_MAX),
        say("Each with its action, what was observed, and a reward."),
    ]
    final_reward: Annotated[
        Finite | None,
        say(
            "How it ended: 1 or more solved the task, 0 or less failed, between is partial. Left "
            "out: nobody knows."
        ),
    ] = None

    def to_agentdb(self) -> dict[str, Any]:
        """As the metadata schema writes it: the final reward is there also where nobody knows it."""
        data = super().to_agentdb()
        if not self.task:  # the metadata schema has no task; ours is added only when there is one
            del data["task"]
        # It demands a number. Where nobody knows how it ended, any number would claim something.
        return data | {"final_reward": self.final_reward}


CardText = Annotated[
    Text,
    Field(max_length=limits.CARD_TEXT_CHARS_MAX),
    BeforeValidator(
        lambda value: value[: limits.CARD_TEXT_CHARS_MAX] if isinstance(value, str) else value
    ),
]


class MistakeCard(Model):
    """A mistake with the decision that would have been right. Without a task_id it belongs to its
    episode's task.
    """

    mistake_type: Annotated[RequiredName, say("What sort of mistake.")] = "unknown_mistake"
    task_id: Annotated[RequiredName | None, say("Its task, where it is not the episode's.")] = None
    worker_id: Annotated[Scalar, say("Whom it concerned.")] = None
    bad_decision: Annotated[Scalar, say("What was decided.")] = None
    correct_decision: Annotated[Scalar, say("What would have been right.")] = None
    evidence: Annotated[CardText, say("What shows it; longer texts are cut.")] = ""
    lesson: Annotated[CardText, say("What to do next time; longer texts are cut.")] = (
        "Avoid repeating this failure."
    )


class Episode(Record):
    """One attempt at a task that ended with a score."""

    kind: Literal["episode"] = "episode"
    task_id: Annotated[RequiredName, say("The task.")]
    score: Annotated[Unit, say("0 to 1.")]
    steps: Annotated[Count, say("How many it took.")] = 0
    trajectory_summary: Annotated[Text, say("What was done, in short.")] = ""
    mistakes: Annotated[Texts, say("What went wrong.")] = []
    successes: Annotated[Texts, say("What went well.")] = []
    mistake_cards: Annotated[list[MistakeCard], SEVERAL, say("Mistakes in detail.")] = []


class Issue(Model):
    """What was wrong, as the fix-history documents describe an issue; keys of your own are kept."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, Any]

    model: Annotated[Name, say("The model whose output is wrong.")] = ""
    issue_type: Annotated[
        RequiredName,
        open_set(
            "MODEL_NOT_AVAILABLE TIMEOUT UNEXPECTED_RESPONSE NO_OUTPUT ERROR CUSTOM "
            "AUDIO_FRAMEWORK_MISSING"
        ),
        say("What sort of issue, such as TIMEOUT. Any name."),
    ] = "CUSTOM"
    description: Annotated[Text, say("What is wrong, in words.")] = ""
    error_output: Annotated[Text | None, say("What was printed.")] = None
    test_prompt: Annotated[Text | None, say("What the model was asked.")] = None
    expected_pattern: Annotated[Text | None, say("What was to come back.")] = None
    actual_response: Annotated[Text | None, say("What came back.")] = None
    timestamp: Annotated[Text | None, say("When it was noticed, as its reporter wrote it.")] = None
    test_environment: Annotated[JsonObject | None, say("The machine that it was noticed on.")] = (
        None
    )

    @model_validator(mode="before")
    @classmethod
    def _drop_absent(cls, data: object) -> object:
        if not isinstance(data, dict):
            return data
        return {key: value for key, value in data.items() if value is not None}

    @model_validator(mode="after")
    def _check_extra(self) -> Self:
        check_keys(self.__pydantic_extra__)
        return self


class Fix(Record):
    """One attempt to fix an issue. Applied is `fix_success`; a success is applied and verified.
    `other` is what else the fixer's reply, or the row of an older database, had to say.
    """

    kind: Literal["fix"] = "fix"
    issue: Annotated[Issue, say("What is wrong, and where.")]
    analysis: Annotated[Text, say("What was found to be the cause.")] = ""
    fix_commands: Annotated[Texts, say("What was done. Kept as text and never run.")] = []
    fix_success: Annotated[Flag, say("Whether the fix was applied.")]
    verification_success: Annotated[Flag, say("Whether it was verified to work.")]
    execution_time_seconds: Annotated[Seconds | None, say("How long it took.")] = None
    system_info: JsonObject = Field(
        default_factory=dict, description="Whatever may matter of the machine."
    )
    notes: Annotated[Text | None, say("Anything else, in words.")] = None
    fixer_type: Annotated[
        RequiredName, open_set("claude qwen gpt gemini deepseek custom"), say("Who tried.")
    ] = "claude"
    fix_type: Annotated[Name | None, say("What sort of fix, as the fixer calls it.")] = None
    confidence: Annotated[Unit | None, say("How sure the fixer was.")] = None
    verification_steps: Annotated[Texts | None, say("How it was to be verified.")] = None
    expected_outcome: Annotated[Text | None, say("What the fixer expected.")] = None
    other: Annotated[
        JsonObject | None, say("What else the fixer's reply, or an older row, had to say.")
    ] = None

    @property
    def number(self) -> int | None:
        """Its number in the tables of fix history, from a memory that has just kept it; else
        None.
        """
        return self.__dict__.get("number_in_history")  # no field: it is of one file alone

    @property
    def succeeded(self) -> bool:
        """Whether it was applied and verified."""
        return self.fix_success and self.verification_success


class Decision(Record):
    """Something the memory, or whoever keeps it, decided about what it knows. Logged like
    everything else and undone by archiving it. It is in effect while it is verified or published,
    so one that came in from a file is not; a `rule` that is still a hypothesis is a candidate.

    rule           `text` was written down as a rule, from the records in `evidence`
    merge, promote, retire, contradiction
                   what versions before 1.0 decided about lessons; nothing follows from it any more
    rollback       nothing that the source `target` (an author) recorded counts
    cleanup        fixes that were old and of little value left the history; what they taught stays
    arrival        records came in from another memory, `target`, that is not trusted
    right          the lesson `target`, which says `text`, is true: somebody stands behind it
    wrong          the lesson `target`, which says `text`, is false, and is never told again
    """

    kind: Literal["decision"] = "decision"
    action: Annotated[Action, say("What was decided.")]
    task_id: Annotated[
        RequiredName | None, say("The task that it concerns; none: the whole project.")
    ] = None
    target: Annotated[Name, say("The lesson, or source, that it is about.")] = ""
    replacement: Annotated[Name, say("The lesson that takes its place.")] = ""
    text: Annotated[Text, say("A rule that was written down.")] = ""
    tasks: Annotated[Names, say("Tasks that a lesson was learned in.")] = []
    evidence: Annotated[Ids, say("Ids of the records that it rests on.")] = []
    reason: Annotated[Text, say("Why, in words.")] = ""

    @property
    def in_effect(self) -> bool:
        """Whether it counts: somebody vouches for it, and it was not undone."""
        return self.metadata.validation.status in VOUCHED_STATUSES


# The origin of what the metadata schema calls a solution pattern; its `data` is the pattern without
# the envelope.
METADATA_SCHEMA: Final = "metadata schema"


class Adopted(Record):
    """What another store had added up, without the records it was added up from. `origin` names the
    sort of store, and with it what `data` looks like. One source's word: it suggests, until records
    bear it out or somebody verifies it.
    """

    kind: Literal["adopted"] = "adopted"
    origin: Annotated[RequiredName, say("The sort of store it came from.")]
    data: Annotated[JsonObject, say("What that store had added up.")]

    def to_agentdb(self) -> dict[str, Any]:
        """What was a solution pattern is written as one; else as every record is."""
        if self.origin != METADATA_SCHEMA:
            return super().to_agentdb()
        pattern = SolutionPattern.model_validate({**self.data, "metadata": self.metadata})
        return self._with_aside(pattern.to_agentdb())


LessonText = Annotated[str, Field(strict=True, max_length=limits.TEXT_CHARS_MAX)]


class Cleaned(Record):
    """A fix that left the history: who tried what and when, in short, and what it taught, which
    counts as before. `packed` is the fix itself, from which `undo` brings it back; once the memory
    was compacted it is gone.
    """

    kind: Literal["cleaned"] = "cleaned"
    decision: RecordId
    model: Name = ""
    issue_type: RequiredName
    pattern: LessonText
    signature: LessonText
    strategy: LessonText
    fix_commands: Texts = []
    analysis: Text = ""
    level: Annotated[int, Field(strict=True, ge=0, le=2)]
    lessons: Annotated[
        list[tuple[LessonText, LessonText, LessonText, Count]],
        Field(max_length=2 * limits.LESSONS_PER_RECORD_MAX),
    ]
    packed: str | None = None


class SolutionPattern(Model):
    """The metadata schema's deprecated aggregate. Read so that old data can be adopted, and written
    only as what it was.
    """

    diagnosis_id: Annotated[Text, say("What was diagnosed.")]
    strategy: Annotated[Text, say("What was done.")]
    success_rate: Annotated[Unit, say("The share that worked.")]
    usage_count: Annotated[Count, say("How often it was used.")]
    metadata: Metadata = Field(default_factory=Metadata, description="The envelope.")

    def adopt(self) -> Adopted:
        """As a memory keeps it: `memory.care.take_in([pattern.adopt()])`."""
        data = self.model_dump(mode="json", exclude={"metadata"})
        made = Adopted(origin=METADATA_SCHEMA, data=data, metadata=self.metadata)
        return with_own_id(made)

    def to_agentdb(self) -> dict[str, Any]:
        """The metadata schema's own JSON: times in whole milliseconds."""
        data = self.model_dump(mode="json", exclude={"metadata"})
        return data | {"metadata": self.metadata.to_agentdb()}


AgentDBMetadata = Metadata
AtomicFact = Fact
ReasoningTrajectory = Trajectory

AnyRecord = Experience | Fact | Trajectory | Episode | Fix | Decision | Adopted | Cleaned
MODEL_OF_KIND: Final[Mapping[str, type[AnyRecord]]] = {
    "experience": Experience,
    "fact": Fact,
    "trajectory": Trajectory,
    "episode": Episode,
    "fix": Fix,
    "decision": Decision,
    "adopted": Adopted,
    "cleaned": Cleaned,
}


class Event(Model):
    """Something that happened to a record after it was created. Its creation is the record
    itself.
    """

    id: RecordId = Field(default_factory=new_id)
    record_id: RecordId
    kind: EventKind
    at: Time = Field(default_factory=now)
    by: RequiredName
    status: Status | None = None
    verified_by: Verifier | None = None
    verification_id: Name | None = None
    replaced_by: RecordId | None = None
    reason: Text | None = None
    helped: Flag | None = None
    undoes: RecordId | None = None

    @property
    def at_us(self) -> int:
        return to_us(self.at)


class History(Model):
    """The life of an exported record: how far it was believed when it was `written`, and what was
    decided about it since. In a file it stands beside the standing that follows from it.
    """

    written: Validation
    events: list[Event]


R = TypeVar("R", bound=Record)


def with_own_id(record: R) -> R:
    """With the id that follows from what it says. How far it is believed is no part of that, nor is
    the time of a fact, which is as true a day later.
    """
    content = record.model_dump(mode="json", exclude={"id", "redacted", "aside"}, exclude_none=True)
    metadata = content["metadata"]
    metadata["validation"] = {"failure_hash": metadata["validation"].get("failure_hash")}
    if isinstance(record, Fact) or "timestamp" not in record.metadata.context.model_fields_set:
        del metadata["context"]["timestamp"]
    return record.copy_with(id=derived_id("metadata schema", json.dumps(content, sort_keys=True)))


def json_schema(kind: str) -> dict[str, Any]:
    """A JSON Schema for a kind of record, or for `metadata`, `mistake_card`, `solution_pattern` and
    `event`.
    """
    models: dict[str, type[Model]] = {
        **MODEL_OF_KIND,
        "metadata": Metadata,
        "mistake_card": MistakeCard,
        "solution_pattern": SolutionPattern,
        "event": Event,
    }
    if not isinstance(kind, str) or kind not in models:
        raise InvalidInputError.one("kind", kind, ", ".join(models))
    schema = models[kind].model_json_schema()
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    return schema


def parse_issue(issue: Issue | Mapping[str, Any]) -> tuple[Issue, str | None]:
    """The issue, and the fixer that it names under `fixer_type`."""
    checked = issue
    if not isinstance(checked, Issue):
        checked = check_inside("issue", Issue.model_validate, check_mapping("issue", issue))
    fixer = (checked.__pydantic_extra__ or {}).get("fixer_type")
    check_all(**{"issue.fixer_type": fixer})
    return checked, fixer


def headline(record: AnyRecord) -> str:
    """What a record is about, as it says itself."""
    match record:
        case Trajectory():
            ended = record.final_reward
            return f"{record.task} ({OUTCOME_UNKNOWN if ended is None else f'reward {ended:g}'})"
        case Episode():
            return f"{record.task_id} (score {record.score:g}) {record.trajectory_summary}"
        case Fix():
            return f"{record.issue.model} {record.issue.issue_type}: {record.issue.description}"
        case Decision():
            return f"{record.action} {record.target}"
        case Adopted():
            return f"what {record.origin} had added up"
        case Cleaned():
            return f"{record.model} {record.issue_type} (left the history)"
        case _:
            return record.content


def judge_reward(reward: float | None, solved_from: float = SOLVED_FROM) -> Ending:
    """How a run ended that earned this: `success`, `failure`, `partial`, or `unknown` where nobody
    knows.
    """
    if reward is None:
        return "unknown"
    if reward >= solved_from:
        return "success"
    return "failure" if reward <= 0 else "partial"


def judge_record(record: Record, solved_from: float = SOLVED_FROM) -> str:
    """How it turned out, wherever that is asked: an experience as it says; a trajectory by its final
    reward; an episode by its score; a fix is a success where it was applied and verified. Empty
    where it is no question.
    """
    match record:
        case Experience():
            return "" if record.unrouted else record.outcome
        case Trajectory():
            return judge_reward(record.final_reward, solved_from)
        case Episode():
            if record.score >= GOOD_SCORE:
                return "success"
            return "failure" if record.score < BAD_SCORE_BELOW else "partial"
        case Fix():
            return "success" if record.succeeded else "failure"
    return ""
