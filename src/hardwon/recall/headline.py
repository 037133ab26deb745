"""A record of any kind in a few words, wherever people read it."""

from __future__ import annotations

from hardwon.model import Adopted, AnyRecord, Cleaned, Decision, Episode, Experience, Fix, Trajectory


def headline(record: AnyRecord) -> str:
    """What a record is about, as it says itself."""
    match record:
        case Trajectory():
            return f"{record.task} (reward {record.final_reward:g})"
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


def outcome_of(record: AnyRecord) -> str:
    """How it turned out; empty where that is no question."""
    if isinstance(record, Experience):
        return record.outcome
    return {True: "success", False: "failure", None: ""}[record.turned_out_well]
