"""Experience memory for AI agents: what was tried, how it turned out, and what to do next time."""

import typing as _typing

if _typing.TYPE_CHECKING:
    from hardwon.brief.advice import Advice as Advice
    from hardwon.errors import HardwonError as HardwonError
    from hardwon.learn.actions import step_credit as step_credit
    from hardwon.learn.fixes import Pattern as Pattern
    from hardwon.learn.odds import Odds as Odds
    from hardwon.learn.rules import Card as Card
    from hardwon.learn.rules import Rule as Rule
    from hardwon.learn.tallies import fix_history_signature as fix_history_signature
    from hardwon.learn.tallies import generate_issue_signature as generate_issue_signature
    from hardwon.memory import Memory as Memory
    from hardwon.memory.context import Context as Context
    from hardwon.outside.embedders import CallableEmbedder as CallableEmbedder
    from hardwon.outside.embedders import EndpointEmbedder as EndpointEmbedder
    from hardwon.outside.embedders import FastembedEmbedder as FastembedEmbedder
    from hardwon.outside.embedders import MiniLmEmbedder as MiniLmEmbedder
    from hardwon.outside.embedders import WordLlamaEmbedder as WordLlamaEmbedder
    from hardwon.outside.llm import ChatModel as ChatModel
    from hardwon.records.kinds import AgentDBMetadata as AgentDBMetadata
    from hardwon.records.kinds import AtomicFact as AtomicFact
    from hardwon.records.kinds import Decision as Decision
    from hardwon.records.kinds import Entities as Entities
    from hardwon.records.kinds import Episode as Episode
    from hardwon.records.kinds import Experience as Experience
    from hardwon.records.kinds import Fact as Fact
    from hardwon.records.kinds import Fix as Fix
    from hardwon.records.kinds import Issue as Issue
    from hardwon.records.kinds import Metadata as Metadata
    from hardwon.records.kinds import MistakeCard as MistakeCard
    from hardwon.records.kinds import ReasoningTrajectory as ReasoningTrajectory
    from hardwon.records.kinds import SolutionPattern as SolutionPattern
    from hardwon.records.kinds import Source as Source
    from hardwon.records.kinds import Step as Step
    from hardwon.records.kinds import Trajectory as Trajectory
    from hardwon.records.kinds import json_schema as json_schema
    from hardwon.search.rank import Hit as Hit
    from hardwon.surfaces.client import Client as Client
    from hardwon.text.failures import failure_hash as failure_hash

__version__ = "0.11.1"

__all__ = [
    "Advice",
    "AgentDBMetadata",
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
    "MiniLmEmbedder",
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
    "Advice": "hardwon.brief.advice",
    "AgentDBMetadata": "hardwon.records.kinds",
    "AtomicFact": "hardwon.records.kinds",
    "CallableEmbedder": "hardwon.outside.embedders",
    "Card": "hardwon.learn.rules",
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
    "MiniLmEmbedder": "hardwon.outside.embedders",
    "MistakeCard": "hardwon.records.kinds",
    "Odds": "hardwon.learn.odds",
    "Pattern": "hardwon.learn.fixes",
    "ReasoningTrajectory": "hardwon.records.kinds",
    "Rule": "hardwon.learn.rules",
    "SolutionPattern": "hardwon.records.kinds",
    "Source": "hardwon.records.kinds",
    "Step": "hardwon.records.kinds",
    "Trajectory": "hardwon.records.kinds",
    "WordLlamaEmbedder": "hardwon.outside.embedders",
    "failure_hash": "hardwon.text.failures",
    "fix_history_signature": "hardwon.learn.tallies",
    "generate_issue_signature": "hardwon.learn.tallies",
    "json_schema": "hardwon.records.kinds",
    "step_credit": "hardwon.learn.actions",
}

if not _typing.TYPE_CHECKING:  # for type checkers every name would be there

    def __getattr__(name: str) -> _typing.Any:
        if name not in _LATER:
            raise AttributeError(f"module 'hardwon' has no attribute {name!r}")
        from importlib import import_module

        return getattr(import_module(_LATER[name]), name)

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
