"""Experience memory for AI agents: what was tried, how it turned out, and what to do next time."""

import typing as _typing

from hardwon.errors import HardwonError as HardwonError
from hardwon.learn.confidence import Odds as Odds
from hardwon.learn.failures import failure_hash as failure_hash
from hardwon.learn.signatures import fix_history_signature as fix_history_signature
from hardwon.learn.signatures import generate_issue_signature as generate_issue_signature
from hardwon.learn.trajectories import step_credit as step_credit
from hardwon.memory import Memory as Memory
from hardwon.model import AgentDBMetadata as AgentDBMetadata
from hardwon.model import AtomicFact as AtomicFact
from hardwon.model import Decision as Decision
from hardwon.model import Entities as Entities
from hardwon.model import Episode as Episode
from hardwon.model import Experience as Experience
from hardwon.model import Fact as Fact
from hardwon.model import Fix as Fix
from hardwon.model import Issue as Issue
from hardwon.model import Metadata as Metadata
from hardwon.model import MistakeCard as MistakeCard
from hardwon.model import ReasoningTrajectory as ReasoningTrajectory
from hardwon.model import SolutionPattern as SolutionPattern
from hardwon.model import Source as Source
from hardwon.model import Step as Step
from hardwon.model import Trajectory as Trajectory
from hardwon.model import json_schema as json_schema

if _typing.TYPE_CHECKING:
    from hardwon.learn.patterns import Pattern as Pattern
    from hardwon.learn.rules import Card as Card
    from hardwon.learn.rules import Rule as Rule
    from hardwon.outside.embedders import CallableEmbedder as CallableEmbedder
    from hardwon.outside.embedders import EndpointEmbedder as EndpointEmbedder
    from hardwon.outside.embedders import FastembedEmbedder as FastembedEmbedder
    from hardwon.outside.embedders import WordLlamaEmbedder as WordLlamaEmbedder
    from hardwon.outside.llm import ChatModel as ChatModel
    from hardwon.recall.advice import Advice as Advice
    from hardwon.recall.hit import Hit as Hit
    from hardwon.recalling import Context as Context
    from hardwon.serve.client import Client as Client

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

# Imported when somebody asks for them: a memory opens without, and Client's HTTP and TLS take longer than all the rest.
_LATER: _typing.Final = {
    "Advice": "hardwon.recall.advice",
    "CallableEmbedder": "hardwon.outside.embedders",
    "Card": "hardwon.learn.rules",
    "ChatModel": "hardwon.outside.llm",
    "Client": "hardwon.serve.client",
    "Context": "hardwon.recalling",
    "EndpointEmbedder": "hardwon.outside.embedders",
    "FastembedEmbedder": "hardwon.outside.embedders",
    "Hit": "hardwon.recall.hit",
    "Pattern": "hardwon.learn.patterns",
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
