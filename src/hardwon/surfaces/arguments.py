"""What each operation takes, as callers from outside say it: every field with its meaning, its bounds and an example.

A caller names neither an author nor a project: both come with the token. Files are named with their hash: the server does not
look at its own.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from pydantic import Field

from hardwon import limits
from hardwon.errors import InvalidInputError
from hardwon.learn.rules import RuleState
from hardwon.records.fields import (
    Count,
    Finite,
    Flag,
    JsonObject,
    Model,
    Name,
    Names,
    RecordId,
    Scalar,
    Seconds,
    Text,
    Texts,
    Time,
    Unit,
)
from hardwon.records.kinds import (
    Action,
    Entities,
    Episode,
    Experience,
    Fact,
    FactType,
    Fix,
    Issue,
    Kind,
    Metadata,
    MistakeCard,
    Moment,
    Outcome,
    Record,
    RelatedFile,
    Source,
    SourceType,
    Status,
    Step,
    Trajectory,
    Validation,
    Verifier,
)

EXAMPLE_ID = "0198c0de-0000-7000-8000-000000000001"
_ISSUE = {"model": "gpt-4", "issue_type": "TIMEOUT", "description": "the test took longer than 30 seconds"}

Id = Annotated[RecordId, Field(description="The id of a record.", examples=[EXAMPLE_ID])]
Ids = Annotated[list[RecordId], Field(max_length=limits.ITEMS_MAX, description="Ids of records.", examples=[[EXAMPLE_ID]])]
Limit = Annotated[int, Field(ge=1, le=limits.SHOWN_MAX, description="How many at most.")]
TaskId = Annotated[Name | None, Field(description="Of this task.", examples=["parse_dates"])]
Days = Annotated[float, Field(ge=0, le=limits.DAYS_MAX)]
AsOf = Annotated[
    Time | None, Field(description="As it was believed then: a time with a zone.", examples=["2026-11-01T00:00:00Z"])
]


def as_in(record: type[Model], field: str, **more: Any) -> Any:
    """A field that means what a record's field of that name means."""
    return Field(description=record.model_fields[field].description, **more)


IssueArg = Annotated[Issue, as_in(Fix, "issue", examples=[_ISSUE])]


class Arguments(Model):
    """What an operation takes. `given` are the keywords for `Memory`."""

    in_path: ClassVar[tuple[str, ...]] = ()

    def given(self) -> dict[str, Any]:
        """What the caller said, under the names that `Memory` has for it."""
        return {name: getattr(self, name) for name in type(self).model_fields if name in self.model_fields_set}


class Nothing(Arguments):
    """Takes nothing."""


# --- recording --------------------------------------------------------------------------------------------------------


class NamedSource(Model):
    """Where it came from; the author is the token's name."""

    type: Annotated[SourceType, as_in(Source, "type")] = "agent_execution"
    id: Annotated[Name, as_in(Source, "id")] = ""


class Enveloped(Arguments):
    """What every record may have besides its own fields."""

    tags: Annotated[Names, as_in(Metadata, "tags", examples=[["uploads"]])] = []
    source: Annotated[NamedSource, as_in(Metadata, "source")] = NamedSource()
    timestamp: Annotated[Time | None, Field(description="When it happened, with a zone; now where nobody says.")] = None
    related_files: Annotated[list[RelatedFile], as_in(Moment, "related_files", max_length=limits.ITEMS_MAX)] = []
    git_commit: Annotated[Name, as_in(Moment, "git_commit")] = ""
    git_branch: Annotated[Name, as_in(Moment, "git_branch")] = ""
    failure_hash: Annotated[Name | None, as_in(Validation, "failure_hash")] = None
    recalled: Annotated[Ids | None, as_in(Record, "recalled")] = None

    def given(self) -> dict[str, Any]:
        said = super().given()
        if said.get("timestamp", "") is None:
            del said["timestamp"]
        if "source" in said:
            said["source"] = said["source"].model_dump()
        return said


class Remember(Enveloped):
    """An experience."""

    content: Annotated[Text, as_in(Experience, "content", examples=["KeyError 'id' in login.py: the row was empty"])]
    outcome: Annotated[Outcome, as_in(Experience, "outcome", examples=["failure"])]
    tool: Annotated[Name | None, as_in(Experience, "tool", examples=["code_interpreter"])] = None
    summary: Annotated[Text | None, as_in(Experience, "summary")] = None
    task_type: Annotated[
        Name | None, Field(description="Of a success of code_interpreter: write, debug, refactor, explain.")
    ] = None
    domain: Annotated[Name | None, Field(description="Of a success of web_search: technical, research, general.")] = None
    error_type: Annotated[
        Name | None,
        Field(description="Of a failure of code_interpreter: syntax, runtime, logic, timeout.", examples=["runtime"]),
    ] = None
    reason: Annotated[Name | None, Field(description="Of a failure of web_search: no_results, blocked, irrelevant.")] = None
    insight_type: Annotated[Name | None, Field(description="Of a learning: pattern, correction, preference, fact.")] = None
    sentiment: Annotated[Name | None, Field(description="Of an interaction: positive, neutral, negative.")] = None
    keys: Annotated[dict[Name, Scalar], Field(max_length=limits.ITEMS_MAX, description="Keys of your own.")] = {}

    def given(self) -> dict[str, Any]:
        for name in self.keys:
            if name == "author" or name in type(self).model_fields:
                raise InvalidInputError.one(f"keys.{name}", self.keys[name], "keys that no record has already")
        said = super().given()
        return {**said.pop("keys", {}), **{name: value for name, value in said.items() if value is not None}}


class RecordFact(Enveloped):
    """One self-contained sentence."""

    content: Annotated[Text, as_in(Fact, "content", examples=["Uploads over 2 GB fail with HTTP 413."])]
    fact_type: Annotated[FactType, as_in(Fact, "fact_type", examples=["error"])]
    confidence: Annotated[Unit, as_in(Fact, "confidence")] = 0.5
    entities: Annotated[Entities, as_in(Fact, "entities")] = Entities()
    restate: Annotated[
        bool, Field(description="Have the LLM that the operator set up write it anew, so that it stands alone.")
    ] = False


class RecordTrajectory(Enveloped):
    """What was done step by step."""

    task: Annotated[Text, as_in(Trajectory, "task", examples=["make the login test pass"])]
    steps: Annotated[
        list[Step],
        as_in(
            Trajectory,
            "steps",
            max_length=limits.ITEMS_MAX,
            examples=[[{"action": "pytest tests/test_login.py", "observation": "1 failed", "reward": 0.0}]],
        ),
    ]
    final_reward: Annotated[Finite, as_in(Trajectory, "final_reward", examples=[0.0])]


class RecordEpisode(Enveloped):
    """One scored attempt at a task."""

    task_id: Annotated[Name, as_in(Episode, "task_id", examples=["parse_dates"])]
    score: Annotated[Unit, as_in(Episode, "score", examples=[0.4])]
    steps: Annotated[Count, as_in(Episode, "steps")] = 0
    trajectory_summary: Annotated[Text, as_in(Episode, "trajectory_summary")] = ""
    mistakes: Annotated[Texts, as_in(Episode, "mistakes", examples=[["Forgot time zones"]])] = []
    successes: Annotated[Texts, as_in(Episode, "successes")] = []
    mistake_cards: Annotated[list[MistakeCard], as_in(Episode, "mistake_cards", max_length=limits.ITEMS_MAX)] = []


class RecordFix(Enveloped):
    """One attempt to fix an issue."""

    issue: IssueArg
    fix_success: Annotated[Flag, as_in(Fix, "fix_success", examples=[True])]
    verification_success: Annotated[Flag, as_in(Fix, "verification_success", examples=[True])]
    analysis: Annotated[Text, as_in(Fix, "analysis")] = ""
    fix_commands: Annotated[Texts, as_in(Fix, "fix_commands", examples=[["raise the timeout to 60 s"]])] = []
    execution_time_seconds: Annotated[Seconds | None, as_in(Fix, "execution_time_seconds")] = None
    system_info: Annotated[JsonObject, as_in(Fix, "system_info")] = {}
    notes: Annotated[Text | None, as_in(Fix, "notes")] = None
    fixer_type: Annotated[Name, as_in(Fix, "fixer_type", examples=["claude"])] = "claude"
    confidence: Annotated[Unit | None, as_in(Fix, "confidence")] = None


_AnyRecordJson = Annotated[JsonObject, Field(description="A record as the documentation of records has it, with its kind.")]


class Add(Arguments):
    """A whole record."""

    record: Annotated[
        _AnyRecordJson,
        Field(examples=[{"kind": "fact", "content": "Uploads over 2 GB fail with HTTP 413.", "fact_type": "error"}]),
    ]


class AddMany(Arguments):
    """Whole records, which are kept together or not at all."""

    records: Annotated[
        list[_AnyRecordJson],
        Field(
            min_length=1,
            max_length=limits.RECORDS_AT_ONCE_MAX,
            description="Records.",
            examples=[[{"kind": "fact", "content": "Uploads over 2 GB fail with HTTP 413.", "fact_type": "error"}]],
        ),
    ]


class Credit(Arguments):
    """What was recalled helped, or did not."""

    ids: Ids
    outcome: Annotated[Flag, Field(description="True: it helped. False: it did not.", examples=[True])]

    def given(self) -> dict[str, Any]:
        return {"context_or_ids": self.ids, "outcome": self.outcome}


# --- asking -----------------------------------------------------------------------------------------------------------


class Filtered(Arguments):
    """What a question may be narrowed by; all that are given must hold."""

    kind: Annotated[Kind | None, Field(description="experience, fact, trajectory, episode or fix.")] = None
    outcome: Annotated[Outcome | None, Field(description="Of experiences: success, failure, learning or interaction.")] = None
    tool: Annotated[Name | None, Field(description="Of experiences with this tool.")] = None
    task_id: Annotated[Name | None, Field(description="Of this task's episodes.")] = None
    model: Annotated[Name | None, Field(description="Of this model's fixes.")] = None
    issue_type: Annotated[Name | None, Field(description="Of fixes of this issue type.")] = None
    key: Annotated[
        Name | None, Field(description="Of experiences with this key and value.", examples=["error_type=runtime"])
    ] = None
    status: Annotated[Status | None, Field(description="hypothesis, verified, published or archived.")] = None
    tag: Annotated[Name | None, Field(description="With this tag.")] = None
    author: Annotated[Name | None, Field(description="By this author.")] = None
    since: Annotated[Time | None, Field(description="From this time on, with a zone.")] = None
    until: Annotated[Time | None, Field(description="Before this time.")] = None
    path: Annotated[Text | None, Field(description="About files whose path matches this glob.", examples=["src/*.py"])] = None


class Recall(Filtered):
    """A question."""

    query: Annotated[Text, Field(description="What it is about: an error, a task, a few words.", examples=["login KeyError"])]
    k: Annotated[int, Field(ge=1, le=limits.RECALL_K_MAX, description="How many.")] = 5
    as_of: AsOf = None


class GetContext(Arguments):
    """What is about to be done."""

    query: Annotated[Text | None, Field(description="The task or the error, in words.", examples=["uploads time out"])] = None
    task_id: TaskId = None
    issue: Annotated[Issue | None, Field(description="An issue that is to be fixed.")] = None
    budget_tokens: Annotated[
        int, Field(ge=1, le=limits.CONTEXT_TOKENS_MAX, description="The text has at most so many tokens.")
    ] = limits.CONTEXT_TOKENS


class Advise(Arguments):
    """An action that is about to be taken."""

    action: Annotated[Text, Field(description="The very command or change.", examples=["pip install foo"])]
    task: Annotated[Text | None, Field(description="What it is for.")] = None
    error: Annotated[Text | None, Field(description="The error that is to be got rid of.")] = None
    issue: Annotated[Issue | None, Field(description="An issue that is to be fixed.")] = None
    steps: Annotated[list[Step], Field(max_length=limits.ITEMS_MAX, description="The current attempt so far.")] = []


class GetRecord(Arguments):
    """A record."""

    in_path = ("record_id",)
    record_id: Id
    as_of: AsOf = None


class OfRecord(Arguments):
    """A record."""

    in_path = ("record_id",)
    record_id: Id


class GetPage(Filtered):
    """A page of records."""

    limit: Annotated[int, Field(ge=1, le=limits.PAGE_RECORDS_MAX, description="How many.")] = limits.PAGE_RECORDS
    cursor: Annotated[Text | None, Field(description="What the page before gave as its next.")] = None


class SimilarTo(Arguments):
    """An issue."""

    issue: IssueArg
    limit: Limit = 5


class GetOdds(Arguments):
    """What is to be tried: a fix for an issue; fixes of a model, an issue type or both; or a tool, at a task."""

    issue: Annotated[Issue | None, Field(description="An issue.")] = None
    model: Annotated[Name | None, Field(description="Fixes of this model.")] = None
    issue_type: Annotated[Name | None, Field(description="Fixes of this issue type.", examples=["TIMEOUT"])] = None
    fixer: Annotated[Name | None, Field(description="Fixes by this fixer.")] = None
    tool: Annotated[Name | None, Field(description="Experiences with this tool.")] = None
    task: Annotated[Text | None, Field(description="The task, beside a tool.")] = None


class Limited(Arguments):
    """How many."""

    limit: Limit = 20


class GetHelpful(Arguments):
    """Of which status."""

    status: Annotated[Status, Field(description="How far it is believed.")] = "hypothesis"
    limit: Limit = 20


class GetBestStrategies(Arguments):
    """How many of each issue type."""

    limit: Limit = 5


class GetStrategies(Arguments):
    """An issue type."""

    issue_type: Annotated[Name, Field(description="The issue type.", examples=["TIMEOUT"])]
    limit: Limit = 10


class OfModel(Arguments):
    """A model."""

    name: Annotated[Name, Field(description="The model.", examples=["gpt-4"])]


class LastDays(Arguments):
    """How far back."""

    days: Annotated[int, Field(ge=1, le=limits.FIX_DAYS_MAX, description="The last so many days.")] = limits.FIX_DAYS


class OfLastDays(Arguments):
    """How far back, if not all the way."""

    days: Annotated[
        int | None, Field(ge=1, le=limits.FIX_DAYS_MAX, description="The last so many days; ever where nobody says.")
    ] = None


class Since(Arguments):
    """A time."""

    since: Annotated[Time, Field(description="From this time on, with a zone.", examples=["2026-11-01T00:00:00Z"])]


class Between(Arguments):
    """From when to when."""

    since: Annotated[Time | None, Field(description="From the day of this time on.", examples=["2026-11-01T00:00:00Z"])] = None
    until: Annotated[Time | None, Field(description="To the day of this time; today where nobody says.")] = None


class GetSolutions(Arguments):
    """An error."""

    error: Annotated[Text | None, Field(description="The error, as it was seen; any where none is given.")] = None
    limit: Limit = 10


class GetRules(Arguments):
    """A task."""

    task_id: TaskId = None
    state: Annotated[RuleState | None, Field(description="candidate, active or retired.")] = None
    limit: Limit = 10


class GetCards(Arguments):
    """A task."""

    task_id: TaskId = None
    limit: Limit = 10


class OfTask(Arguments):
    """A task."""

    task_id: Annotated[Name, Field(description="The task.", examples=["parse_dates"])]


class Compare(Filtered):
    """Which episodes to compare."""

    tag: Annotated[
        Name | None, Field(description="Episodes with this tag had the memory; without one, those that recalled.")
    ] = None
    by_run: Annotated[bool, Field(description="Whether the episodes of a run count as one.")] = False


class GetDecisions(Arguments):
    """Which decisions."""

    action: Annotated[
        Action | None,
        Field(description="rule, merge, promote, retire, contradiction, rollback, cleanup or compress."),
    ] = None
    task_id: TaskId = None
    limit: Limit = 100


class GetAdopted(Arguments):
    """From where."""

    origin: Annotated[Name, Field(description="The sort of store it came from.", examples=["training_memory"])]
    limit: Limit = 100


class GetHotspots(Arguments):
    """What counts as one."""

    share: Annotated[Unit, Field(description="At least this share of what lies above it.")] = limits.HOTSPOT_SHARE
    limit: Annotated[int, Field(ge=1, le=limits.SHOWN_MAX, description="How many at most.")] = limits.HOTSPOTS_SHOWN_MAX


# --- deciding ---------------------------------------------------------------------------------------------------------


class Verify(OfRecord):
    """Who or what confirmed it."""

    by: Annotated[Verifier, Field(description="What confirmed it.", examples=["human_approval"])]
    verification_id: Annotated[Name | None, Field(description="Which run, approval or build it was.")] = None


class Archive(OfRecord):
    """Why it is no longer true."""

    reason: Annotated[Text, Field(description="Why.", examples=["the service is gone"])]


class Supersede(Arguments):
    """What replaces it, and why."""

    in_path = ("old_id",)
    old_id: Id
    new_id: Annotated[
        RecordId, Field(description="The record that replaces it.", examples=["0198c0de-0000-7000-8000-000000000002"])
    ]
    reason: Annotated[Text, Field(description="Why.", examples=["the limit was raised"])]


class Consolidate(Arguments):
    """How."""

    llm: Annotated[bool, Field(description="Also ask the LLM that the operator set up, if there is one, for rules.")] = False


class Rollback(Arguments):
    """Whose teaching is to be undone."""

    source: Annotated[Name, Field(description="The author.", examples=["agent-7"])]
    reason: Annotated[Text, Field(description="Why.")] = ""


class Undo(Arguments):
    """Which decision."""

    in_path = ("decision_id",)
    decision_id: Annotated[
        RecordId,
        Field(description="The id of a decision, or of an event that changed a status.", examples=[EXAMPLE_ID]),
    ]


# --- looking after it -------------------------------------------------------------------------------------------------


class Forget(Filtered):
    """What is to be erased for good: ids, or filters; not both."""

    ids: Annotated[Ids | None, Field(description="Ids of records.")] = None
    dry_run: Annotated[bool, Field(description="Only say what would go.")] = False

    def given(self) -> dict[str, Any]:
        said = {name: value for name, value in super().given().items() if value is not None}
        ids = said.pop("ids", None)
        return said if ids is None else {"ids_or_filters": ids, **said}


class Cleanup(Arguments):
    """What is old."""

    older_than_days: Annotated[Days, Field(description="Fixes older than this leave the history.")] = limits.CLEANUP_DAYS
    successes_days: Annotated[Days | None, Field(description="Successful ones: three times that where nobody says.")] = None
    dry_run: Annotated[bool, Field(description="Only say what would go.")] = True


class Compress(Arguments):
    """What is old."""

    older_than_days: Annotated[Days, Field(description="Fixes older than this have their details packed away.")] = (
        limits.COMPRESS_DAYS
    )
    dry_run: Annotated[bool, Field(description="Only say what would be packed.")] = True


class Load(Arguments):
    """How."""

    dry_run: Annotated[bool, Field(description="Only say what would happen.")] = False
