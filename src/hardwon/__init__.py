"""Experience memory for AI agents: what was tried, how it turned out, and what to do next time."""

import typing as _typing

if _typing.TYPE_CHECKING:
    from hardwon.errors import HardwonError
    from hardwon.lessons.actions import step_credit
    from hardwon.lessons.fix_odds import Odds
    from hardwon.lessons.issues import fix_history_signature, generate_issue_signature
    from hardwon.lessons.rules import Card, Rule
    from hardwon.memory import Memory
    from hardwon.memory.aio import AsyncMemory
    from hardwon.memory.context import Context
    from hardwon.memory.fix_lessons import Pattern
    from hardwon.outside.embedders import (
        CallableEmbedder,
        EndpointEmbedder,
        FastembedEmbedder,
        WordLlamaEmbedder,
    )
    from hardwon.outside.llm import ChatModel
    from hardwon.records.kinds import (
        AgentDBMetadata,
        AtomicFact,
        Decision,
        Entities,
        Episode,
        Experience,
        Fact,
        Fix,
        Issue,
        Metadata,
        MistakeCard,
        ReasoningTrajectory,
        SolutionPattern,
        Source,
        Step,
        Trajectory,
        json_schema,
    )
    from hardwon.search.rank import Hit
    from hardwon.surfaces.client import Client
    from hardwon.tell.advice import Advice
    from hardwon.text.failures import failure_hash

__version__ = "0.13.0.dev0"

__all__ = [
    "Advice",
    "AgentDBMetadata",
    "AsyncMemory",
    "AtomicFact",
    "CallableEmbedder",
    "Card",
    "ChatModel",
    "Client",
    "Context",
    "Decision",
    "EndpointEmbedder",
    "Entities",
    "Episode",
    "Experience",
    "Fact",
    "FastembedEmbedder",
    "Fix",
    "HardwonError",
    "Hit",
    "Issue",
    "Memory",
    "Metadata",
    "MistakeCard",
    "Odds",
    "Pattern",
    "ReasoningTrajectory",
    "Rule",
    "SolutionPattern",
    "Source",
    "Step",
    "Trajectory",
    "WordLlamaEmbedder",
    "failure_hash",
    "fix_history_signature",
    "generate_issue_signature",
    "json_schema",
    "step_credit",
]

# Imported when somebody asks for them: whoever needs an error, a record or a client does without
# the store, and whoever opens a memory without HTTP and TLS.
_LATER: _typing.Final = {
    "Advice": "hardwon.tell.advice",
    "AgentDBMetadata": "hardwon.records.kinds",
    "AsyncMemory": "hardwon.memory.aio",
    "AtomicFact": "hardwon.records.kinds",
    "CallableEmbedder": "hardwon.outside.embedders",
    "Card": "hardwon.lessons.rules",
    "ChatModel": "hardwon.outside.llm",
    "Client": "hardwon.surfaces.client",
    "Context": "hardwon.memory.context",
    "Decision": "hardwon.records.kinds",
    "EndpointEmbedder": "hardwon.outside.embedders",
    "Entities": "hardwon.records.kinds",
    "Episode": "hardwon.records.kinds",
    "Experience": "hardwon.records.kinds",
    "Fact": "hardwon.records.kinds",
    "FastembedEmbedder": "hardwon.outside.embedders",
    "Fix": "hardwon.records.kinds",
    "HardwonError": "hardwon.errors",
    "Hit": "hardwon.search.rank",
    "Issue": "hardwon.records.kinds",
    "Memory": "hardwon.memory",
    "Metadata": "hardwon.records.kinds",
    "MistakeCard": "hardwon.records.kinds",
    "Odds": "hardwon.lessons.fix_odds",
    "Pattern": "hardwon.memory.fix_lessons",
    "ReasoningTrajectory": "hardwon.records.kinds",
    "Rule": "hardwon.lessons.rules",
    "SolutionPattern": "hardwon.records.kinds",
    "Source": "hardwon.records.kinds",
    "Step": "hardwon.records.kinds",
    "Trajectory": "hardwon.records.kinds",
    "WordLlamaEmbedder": "hardwon.outside.embedders",
    "failure_hash": "hardwon.text.failures",
    "fix_history_signature": "hardwon.lessons.issues",
    "generate_issue_signature": "hardwon.lessons.issues",
    "json_schema": "hardwon.records.kinds",
    "step_credit": "hardwon.lessons.actions",
}

if not _typing.TYPE_CHECKING:  # for type checkers every name would be there

    def __getattr__(name: str) -> _typing.Any:
        if name not in _LATER:
            raise AttributeError(f"module 'hardwon' has no attribute {name!r}")
        from importlib import import_module

        return getattr(import_module(_LATER[name]), name)

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
