"""Experience memory for AI agents: what was tried, how it turned out, and what to do next time."""

import typing as _typing

from hardwon.errors import HardwonError
from hardwon.learn.actions import step_credit
from hardwon.learn.odds import Odds
from hardwon.learn.tallies import fix_history_signature, generate_issue_signature
from hardwon.memory import Memory
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
from hardwon.text.failures import failure_hash

if _typing.TYPE_CHECKING:
    from hardwon.brief.advice import Advice
    from hardwon.learn.fixes import Pattern
    from hardwon.learn.rules import Card, Rule
    from hardwon.memory.context import Context
    from hardwon.outside.embedders import (
        CallableEmbedder,
        EndpointEmbedder,
        FastembedEmbedder,
        MiniLmEmbedder,
        WordLlamaEmbedder,
    )
    from hardwon.outside.llm import ChatModel
    from hardwon.search.rank import Hit
    from hardwon.surfaces.client import Client

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

# Imported when somebody asks for them: a memory opens without, and Client's HTTP and TLS take
# longer than all the rest.
_LATER: _typing.Final = {
    "Advice": "hardwon.brief.advice",
    "CallableEmbedder": "hardwon.outside.embedders",
    "Card": "hardwon.learn.rules",
    "ChatModel": "hardwon.outside.llm",
    "Client": "hardwon.surfaces.client",
    "Context": "hardwon.memory.context",
    "EndpointEmbedder": "hardwon.outside.embedders",
    "FastembedEmbedder": "hardwon.outside.embedders",
    "Hit": "hardwon.search.rank",
    "MiniLmEmbedder": "hardwon.outside.embedders",
    "Pattern": "hardwon.learn.fixes",
    "Rule": "hardwon.learn.rules",
    "WordLlamaEmbedder": "hardwon.outside.embedders",
}

if not _typing.TYPE_CHECKING:  # for type checkers every name would be there

    def __getattr__(name: str) -> _typing.Any:
        if name not in _LATER:
            raise AttributeError(f"module 'hardwon' has no attribute {name!r}")
        from importlib import import_module

        return getattr(import_module(_LATER[name]), name)

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
