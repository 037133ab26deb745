"""What was tried and found goes in."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Unpack

from hardwon import limits
from hardwon.errors import HardwonError, InvalidInputError, LlmError
from hardwon.memory import intake
from hardwon.memory.core import NO_LLM, Core, R
from hardwon.memory.intake import Envelope
from hardwon.memory.project import batches, done_again
from hardwon.records.fields import new_id
from hardwon.records.kinds import (
    MODEL_OF_KIND,
    Adopted,
    AnyRecord,
    Cleaned,
    Decision,
    Entities,
    Episode,
    Experience,
    Fact,
    FactType,
    Fix,
    Issue,
    Kind,
    MistakeCard,
    Step,
    Trajectory,
)
from hardwon.trust.redact import redact, redact_json

if TYPE_CHECKING:
    from hardwon.memory.context import Context
    from hardwon.tree.mirror import Planting


_log = logging.getLogger("hardwon")
_NOT_EXTRA_KEYS: Final = ("id", "kind", "metadata", "redacted", "unrouted", "own_schema")
_RECORDED_KINDS: Final = ("fact", "trajectory", "episode", "fix")
_FILLED_IN: Final = "keywords, which a memory does not fill in itself: load and add take whole records"
_MADE_ELSEWHERE: Final = (
    "records of other kinds: decisions are made by rollback, consolidate and undo, what was adopted is brought by take_in"
)


class Recording(Core):
    """Keeps what was tried, and how it turned out."""

    def add(self, record: AnyRecord) -> str:
        """Keeps a record and returns its id once it is on disk. Adding the same record again changes nothing. `ConflictError`
        where its id is kept with other content, or was forgotten."""
        return self.keep(record).id

    def add_many(self, records: Iterable[AnyRecord]) -> list[str]:
        """Keeps all of the records or, when one is refused, none; returns their ids. One transaction."""
        given = intake.items("records", records)
        self._keep_all(given, returned=False)
        return [record.id for record in given]

    @done_again
    def keep(self, record: R) -> R:
        """As `add`, and returns the record as it was kept: with its defaults, without its secrets."""
        prepared = self._prepare(recordable(record), self._head())
        made = self._vectors_of([prepared])
        with self._writing(alone=not self._only_appends([prepared])) as writer:
            planted = self._append(writer, [prepared], [record])
            self._keep_vectors(writer, made)
            number = writer.number_of(self.project, prepared.id) if type(prepared) is Fix else None
        self._put_in_tree(planted)
        if type(prepared) is Episode:
            self._consolidate_when_due()
        kept = self._placed([prepared], planted)[0]
        return kept if number is None else kept.altered(number_in_history=number)

    def keep_many(self, records: Iterable[R]) -> list[R]:
        """As `add_many`, and returns the records as they were kept."""
        # All of them first: no code of the caller's runs while others wait.
        return self._keep_all(intake.items("records", records), returned=True)

    @done_again
    def _keep_all(self, given: list[R], *, returned: bool) -> list[R]:
        """Nothing is `returned` to whoever only wants ids: Python's collector would look through the copies of a hundred
        thousand records again and again, which takes a sixth of the time."""
        kept: list[R] = []
        head = self._head()
        ready = given
        if self._embedder:  # before anybody waits for us: a model takes its time
            ready = [self._prepare(recordable(record), head) for record in given]
        made = self._vectors_of(ready)
        planted: list[Planting] = []
        fits = len(given) <= limits.ADD_BATCH_ROWS
        with self._writing(alone=not (fits and self._only_appends(given))) as writer:
            for batch in batches(zip(ready, given, strict=True), limits.ADD_BATCH_ROWS):
                prepared = [self._prepare(recordable(record), head) for record, _ in batch]
                planted += self._append(writer, prepared, [record for _, record in batch])
                kept += prepared if returned else ()
            self._keep_vectors(writer, made)
        self._put_in_tree(planted)
        if any(type(record) is Episode for record in given):
            self._consolidate_when_due()
        return self._placed(kept, planted)

    def _only_appends(self, records: Sequence[object]) -> bool:
        """Whether nothing but new rows comes of keeping them: no vectors, and no other record that proves itself by them. What
        is no record is told so later."""
        return not self._embedder and not any(getattr(record, "recalled", None) for record in records)

    def remember(
        self,
        /,
        content: str,
        outcome: str,
        tool: str | None = None,
        summary: str | None = None,
        **keys: Any,
    ) -> Experience:
        """Keeps an experience. `content` says what happened, `outcome` is success, failure, learning or interaction, `tool`
        what was used; without a `summary` the content makes one. `keys` are the key that the outcome and tool require, keys of
        your own, and the envelope's."""
        envelope = {name: keys.pop(name) for name in intake.ENVELOPE_KEYWORDS if name in keys}
        for name in _NOT_EXTRA_KEYS:
            if name in keys:
                raise InvalidInputError.one(name, keys[name], "keys that no record has already")
        if isinstance(summary, str):
            summary = redact(summary)[0]  # before it is made filename-safe: afterwards a secret would not be recognised
        own = {"content": content, "outcome": outcome, "tool": tool, "summary": summary, **keys}
        return self._keep(Experience, own, envelope)

    def record_fact(
        self,
        content: str,
        fact_type: FactType,
        confidence: float = 0.5,
        entities: Entities | Mapping[str, Any] | None = None,
        restate: bool = False,
        **envelope: Unpack[Envelope],
    ) -> Fact:
        """Keeps one self-contained sentence, the `content`. `fact_type` is error, solution, observation or decision,
        `confidence` how sure it is, from 0 to 1. The names in it are added to the `entities`, times such as "yesterday" get
        their date, and what keeps it from standing alone is told in `findings`. `restate=True` has the LLM write it anew, if it
        can. Who says again what is known strengthens it: the first fact comes back, and no other is kept."""
        given = self._made(
            Fact,
            {
                "content": content,
                "fact_type": fact_type,
                "confidence": confidence,
                "entities": Entities() if entities is None else entities,
            },
            envelope,
        )
        return self._keep_or_repeat([self._stated(given, restate)])[0]

    def _stated(self, given: Fact, restate: bool) -> Fact:
        from hardwon.memory import facts

        if not isinstance(restate, bool):
            raise InvalidInputError.one("restate", restate, "true or false")
        fact = facts.stated(self._prepare(given, self._head()))
        return self._restated(fact) if restate else fact

    def _restated(self, fact: Fact) -> Fact:
        from hardwon.memory import facts

        try:
            llm = self._find_llm()
        except LlmError as error:
            _log.warning("the fact is kept as it was said: %s", error)
            return fact
        if llm is None:
            raise InvalidInputError.one("restate", True, f"false: {NO_LLM}")
        return self._prepare(facts.restated(fact, llm))

    @done_again
    def _keep_or_repeat(self, given: Sequence[Fact]) -> list[Fact]:
        from hardwon.memory import facts

        made = dict(self._vectors_of(given))
        planted: list[Planting] = []
        kept: list[Fact] = []
        with self._writing() as writer:
            for fact in given:
                first = facts.said_before(writer, self.project, fact)
                if first is None:
                    planted += self._append(writer, [fact])
                    self._keep_vectors(writer, [(fact.id, made[fact.id])] if fact.id in made else [])
                else:
                    facts.repeat(writer, self.project, first, fact, self.now())
                    self._requests.concerned(first.id)
                kept.append(first or fact)
        self._put_in_tree(planted)
        return kept

    def record_trajectory(
        self, task: str, steps: Sequence[Step | Mapping[str, Any]], final_reward: float, **envelope: Unpack[Envelope]
    ) -> Trajectory:
        """Keeps what was done at a `task` step by step and how it ended. Each of `steps` has action, observation and reward;
        `final_reward` is from 0 to 1, and from 0.5 on it was solved."""
        return self._keep(
            Trajectory, {"task": task, "steps": intake.items("steps", steps), "final_reward": final_reward}, envelope
        )

    def record_episode(
        self,
        task_id: str,
        score: float,
        steps: int = 0,
        trajectory_summary: str = "",
        mistakes: Sequence[str] = (),
        successes: Sequence[str] = (),
        mistake_cards: Sequence[MistakeCard | Mapping[str, Any]] = (),
        **envelope: Unpack[Envelope],
    ) -> Episode:
        """Keeps one scored attempt at a task. `score` is from 0 to 1, `steps` how many it took, `trajectory_summary` what was
        done. `mistakes` and `successes` are sentences that become rules of the `task_id`; `mistake_cards` say what would have
        been right."""
        own = {
            "task_id": task_id,
            "score": score,
            "steps": steps,
            "trajectory_summary": trajectory_summary,
            "mistakes": intake.items("mistakes", mistakes),
            "successes": intake.items("successes", successes),
            "mistake_cards": _without_secrets(intake.items("mistake_cards", mistake_cards)),
        }
        return self._keep(Episode, own, envelope)

    def record_fix(
        self,
        issue: Issue | Mapping[str, Any],
        fix_success: bool,
        verification_success: bool,
        analysis: str = "",
        fix_commands: Sequence[str] = (),
        execution_time_seconds: float | None = None,
        system_info: Mapping[str, Any] | None = None,
        notes: str | None = None,
        fixer_type: str = "claude",
        confidence: float | None = None,
        **envelope: Unpack[Envelope],
    ) -> Fix:
        """Keeps one attempt to fix an issue: whether it was applied (`fix_success`), and whether it was verified to work
        (`verification_success`). `analysis` is the cause that was found, `fix_commands` what was done (kept as text, never
        run), `execution_time_seconds` how long it took, `system_info` what matters of the machine, `notes` anything else;
        `fixer_type` is who tried, `confidence` how sure that one was, from 0 to 1."""
        own = {
            "issue": issue,
            "fix_success": fix_success,
            "verification_success": verification_success,
            "analysis": analysis,
            "fix_commands": intake.items("fix_commands", fix_commands),
            "execution_time_seconds": execution_time_seconds,
            "system_info": {} if system_info is None else intake.mapping("system_info", system_info),
            "notes": notes,
            "fixer_type": fixer_type,
            "confidence": confidence,
        }
        return self._keep(Fix, own, envelope)

    def record_many(self, kind: Kind, many: Iterable[Mapping[str, Any]]) -> list[AnyRecord]:
        """Keeps records of one `kind`, each of `many` given by the keywords of `record_fact`, `record_trajectory`,
        `record_episode` or `record_fix`: all of them or, when one is refused, none. One transaction."""
        if kind not in _RECORDED_KINDS:
            raise InvalidInputError.one("kind", kind, f"one of {', '.join(_RECORDED_KINDS)}")
        made: list[AnyRecord] = []
        for number, given in enumerate(intake.items("many", many), 1):
            try:
                made.append(self._from_keywords(MODEL_OF_KIND[kind], intake.mapping("many", given)))
            except InvalidInputError as error:
                raise InvalidInputError(error.problems, f"record {number}") from None
        if kind == "fact":
            return [*self._keep_or_repeat([each for each in made if isinstance(each, Fact)])]
        return self.keep_many(made)

    def _from_keywords(self, model: type[AnyRecord], given: Mapping[str, Any]) -> AnyRecord:
        for name in _NOT_EXTRA_KEYS:
            if name in given:
                raise InvalidInputError.one(name, given[name], _FILLED_IN)
        said = {name: value for name, value in given.items() if value is not None}
        envelope = {name: said.pop(name) for name in intake.ENVELOPE_KEYWORDS if name in said}
        restate = said.pop("restate", False) if model is Fact else False
        if isinstance(said.get("mistake_cards"), list):
            said["mistake_cards"] = _without_secrets(said["mistake_cards"])
        record = self._made(model, said, envelope)
        return self._stated(record, restate) if isinstance(record, Fact) else record

    def _keep(self, kind: type[R], own: dict[str, Any], envelope: Mapping[str, Any]) -> R:
        return self.keep(self._made(kind, own, envelope))

    def _made(self, kind: type[R], own: dict[str, Any], envelope: Mapping[str, Any]) -> R:
        at = self.now()
        metadata = intake.metadata(envelope, at, self._repository.root if self._repository else None, self._place.path)
        recalled = _recalled(envelope.get("recalled"))
        return kind.model_validate({**own, "id": new_id(at), "metadata": metadata, "recalled": recalled})

    def _consolidate_when_due(self) -> None:
        """After the episodes are safely kept. What goes wrong here must not look as if they were not."""
        from hardwon.memory import consolidate as consolidating

        try:
            every = self._consolidate_every
            if every and consolidating.is_due(self._store, self.project, every):
                at = self.now()
                consolidating.consolidate_recent(self._store, self.project, self._known, self._prepare, at, every)
        except HardwonError as error:
            _log.warning("the episodes are kept, but consolidation failed: %s", error)


def _recalled(given: Context | Iterable[str] | None) -> list[str] | None:
    """The ids of what was recalled before a record's attempt."""
    if given is None:
        return None
    from hardwon.memory.context import Context

    return given.ids if isinstance(given, Context) else [str(each) for each in intake.items("recalled", given)]


def recordable(record: R) -> R:
    """A decision changes what others are believed, and what was adopted stands for records that nobody has: a caller does not
    add one like something that was tried."""
    if type(record) in (Decision, Adopted, Cleaned):
        raise InvalidInputError.one("record", record.id, _MADE_ELSEWHERE)
    return record


def _without_secrets(cards: Iterable[Any]) -> list[Any]:
    """Mistake cards, before their evidence and lesson are cut: what is left of a secret afterwards would not be recognised."""
    return [redact_json(card)[0] if isinstance(card, dict) else card for card in cards]
