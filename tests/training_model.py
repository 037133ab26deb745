"""Training memory as its document describes it, slow and plain: what ours is held against."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from hypothesis import strategies as st

ROOT = Path(__file__).parent.parent
DOCUMENTS = os.environ.get("HARDWON_SEEDS")
BEGIN = '"""\nCross-episode agent memory system.'


def mean(scores: list[float]) -> float:
    return sum(scores) / len(scores)


class Model:
    """Everything that happened, and the memory it amounts to."""

    def __init__(self) -> None:
        self.told: list[dict[str, Any]] = []
        self.rules: dict[str, list[str]] = {}
        self.cards: list[dict[str, Any]] = []
        self.general: list[str] = []
        self.consolidated: int | None = None
        self.saved_at = 0  # how many episodes there were when the log was last cut

    def record(self, data: dict[str, Any]) -> None:
        self.told.append(data)
        task = data.get("task_id", "unknown")
        rules = self.rules.get(task, [])
        score = data.get("score", 0.0)
        texts = []
        if score >= 0.85:
            texts = ["[WORKS] " + text for text in data.get("successes", [])]
        if score < 0.5:
            texts = ["[AVOID] " + text for text in data.get("mistakes", [])]
        for text in texts:
            if text not in rules:
                rules = [*rules, text]
        self.rules[task] = rules[-10:]
        for card in data.get("mistake_cards", []):
            self._card(card, task)

    def _card(self, card: dict[str, Any], task: str) -> None:
        def key(of: dict[str, Any]) -> list[Any]:
            others = [of[name] or "" for name in ("worker_id", "correct_decision")]
            return [of["mistake_type"], of["task_id"], *others]

        made = {
            "mistake_type": str(card.get("mistake_type") or "unknown_mistake"),
            "task_id": str(card.get("task_id") or task),
            **{name: card.get(name) for name in ("worker_id", "bad_decision", "correct_decision")},
            "evidence": str(card.get("evidence") or "")[:300],
            "lesson": str(card.get("lesson") or "Avoid repeating this failure.")[:300],
        }
        same = [known for known in self.cards if key(known) == key(made)]
        if same:
            known = same[0]
            known |= {"seen_count": known["seen_count"] + 1, "last_seen_episode": len(self.told)}
            known |= {"lesson": made["lesson"], "evidence": made["evidence"] or known["evidence"]}
            return
        seen = len(self.told)
        made |= {"seen_count": 1, "first_seen_episode": seen, "last_seen_episode": seen}
        self.cards = self.best([*self.cards, made])[:30]

    @staticmethod
    def best(cards: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return sorted(cards, key=lambda card: (-card["seen_count"], -card["last_seen_episode"]))

    @property
    def log(self) -> list[dict[str, Any]]:
        return [
            {
                "task_id": data.get("task_id", "unknown"),
                "score": data.get("score", 0.0),
                "steps": data.get("steps", 0),
                "summary": data.get("trajectory_summary", ""),
            }
            for data in self.told[max(0, self.saved_at - 100) :]
        ]

    def scores(self, task: str) -> list[float]:
        told = [data for data in self.told if data.get("task_id", "unknown") == task]
        return [data.get("score", 0.0) for data in told]

    def distinct(self, name: str) -> list[str]:
        texts = (text for data in self.told for text in data.get(name, []) if text)
        return list(dict.fromkeys(texts))

    def save(self) -> None:
        self.saved_at = len(self.told)

    def consolidate(self) -> None:
        if len(self.told) - (self.consolidated or 0) < 20:
            return
        for episode in self.log:
            if episode["score"] >= 0.85 and episode["summary"]:
                rule = f"[HIGH SCORE {episode['score']:.2f}] {episode['summary'][:120]}"
                if rule not in self.general:
                    self.general.append(rule)
        self.general = self.general[-20:]
        self.consolidated = len(self.told)
        self.save()

    def as_dict(self) -> dict[str, Any]:
        return {
            "version": 1,
            "total_episodes": len(self.told),
            "last_consolidated_at": self.consolidated,
            "global_rules": self.general,
            "task_rules": self.rules,
            "episode_log": self.log,
            "score_history": {task: self.scores(task) for task in self.rules},
            "mistakes": self.distinct("mistakes"),
            "mistake_cards": self.cards,
            "successes": self.distinct("successes"),
        }

    def context(self, task: str | None, max_rules: int, max_recent: int) -> str:
        parts = []
        if task and self.rules.get(task):
            parts.append([f"Rules for {task}:", *self.rules[task][-max_rules:]])
        if self.general:
            parts.append(["General rules (all tasks):", *self.general[-max_rules:]])
        if mistakes := self.distinct("mistakes")[-3:]:
            parts.append(["Mistakes to avoid:", *("AVOID: " + text for text in mistakes)])
        if self.cards:
            form = "[{mistake_type}, seen {seen_count}x] {lesson} Evidence: {evidence}"
            shown = [form.format(**card) for card in self.best(self.cards)[:3]]
            parts.append(["Structured mistake cards:", *shown])
        recent = [episode for episode in self.log if episode["task_id"] == task][-max_recent:]
        if task and recent:
            form = "Score {score:.2f} in {steps} steps: {summary:.100}"
            parts.append([f"Recent {task} episodes:", *(form.format(**each) for each in recent)])
        if task and (scores := self.scores(task)):
            over = f"(over {len(scores)} episodes)"
            parts.append([f"Your mean score on {task}: {mean(scores):.2f} {over}"])
        text = "".join("\n\n" + "\n  - ".join(part) for part in parts)
        return "## MEMORY FROM PAST EPISODES" + text if text else ""

    def summary(self) -> dict[str, Any]:
        return {
            "total_episodes": len(self.told),
            "global_rules": len(self.general),
            "task_rules": {task: len(rules) for task, rules in self.rules.items()},
            "mistakes_stored": len(self.distinct("mistakes")),
            "mistake_cards_stored": len(self.cards),
            "top_mistake_cards": [
                {name: card[name] for name in ("mistake_type", "task_id", "seen_count")}
                for card in self.best(self.cards)[:5]
            ],
            "scores_by_task": {task: round(mean(self.scores(task)), 3) for task in self.rules},
        }


def documented() -> Any:
    """The module of the document itself, where its folder is known; else None."""
    if not DOCUMENTS:
        return None
    (path,) = (ROOT / DOCUMENTS).glob("003*")
    text = path.read_text()
    names: dict[str, Any] = {"__name__": "documented"}
    exec(compile(text[text.index(BEGIN) :], path.name, "exec"), names)  # noqa: S102  # the document is what is tested against
    return SimpleNamespace(**names)


def untimed(memory: dict[str, Any]) -> dict[str, Any]:
    """Without the times at which episodes were recorded."""
    log = [dict(episode) for episode in memory["episode_log"]]
    for episode in log:
        episode.pop("timestamp", None)
    return {**memory, "episode_log": log}


TASKS = ("root_cause_analysis", "triage", "rollback")
WORDS = "Checked the auth log first|Escalated too early|Read the full trace|Restarted without a cause|No 'plan' … just tried"
SENTENCES = st.builds("{} ({})".format, st.sampled_from(WORDS.split("|")), st.integers(0, 40))
LONG = st.builds(lambda text, n: (text + " ") * n, SENTENCES, st.integers(1, 6))
SUMMARIES = st.sampled_from(["", "short"]) | LONG
SAID_OF_CARDS = {
    "mistake_type": ("false_positive_safe_action", "low_score_episode", "", None),
    "task_id": (*TASKS, None),
    "worker_id": (None, "w1", "w2", 0, 3),
    "bad_decision": (None, "approve", True),
    "correct_decision": (None, "reject", "wait", 1.5),
    "evidence": ("", "seen in the log", "long " * 100, None),
    "colour": ("ignored",),
}
SAMPLED: Any = {name: st.sampled_from(values) for name, values in SAID_OF_CARDS.items()}
CARDS = st.fixed_dictionaries({}, optional={**SAMPLED, "lesson": SENTENCES})
SCORES = st.sampled_from([0.0, 0.49, 0.5, 0.84, 0.85, 1.0, 0, 1]) | st.floats(0, 1)
SAID_OF_EPISODES: Any = {
    "task_id": st.sampled_from(TASKS),
    "score": SCORES,
    "steps": st.integers(0, 50),
    "trajectory_summary": SUMMARIES,
    "mistakes": st.lists(SENTENCES, max_size=3),
    "successes": st.lists(SENTENCES | st.just(""), max_size=3),
    "mistake_cards": st.lists(CARDS, max_size=5),
}
EPISODES = st.fixed_dictionaries({}, optional=SAID_OF_EPISODES)
