"""What agents' hooks say, asked without a process of its own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hardwon.capture.agents import Manner, respond


def say(event: str, session: str = "s", project: str = "shop", **more: Any) -> str:
    """What the hook of an agent with no protocol of its own says to an event here; else nothing."""
    manner = Manner(budget_tokens=more.pop("budget_tokens", Manner().budget_tokens))
    told = {"event": event, "session": session, "folder": str(Path.cwd())} | more
    answer, complaint = respond("other", json.dumps(told).encode(), {"project": project}, manner)
    assert complaint == ""
    return json.loads(answer).get("say", "") if answer else ""
