"""How a memory of each sort is worded. A shape names its slots in braces; `words` fills them.

How often what should occur in a realistic data set, and the whole numbers that come closest to it.

Ranges are in percent. Outcomes and tools are shares of all memories; error types are shares of the failures that name one, task
types of what the code interpreter did well. Memories without a tool (learning, interaction) count in the shares of tools too.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

# ---- shapes ------------------------------------------------------------


class Shape(NamedTuple):
    """A content, the slots (and words) that its summary is made of, and a slot that tells two such summaries apart."""

    text: str
    summary: str
    apart: str = "function"


SHAPES: Final[Mapping[tuple[str, ...], tuple[Shape, ...]]] = {
    ("success", "code_interpreter", "write"): (
        Shape("Implemented {feature} in the {component} using {technology}", "{feature} {technology} impl"),
        Shape("Implemented {feature} for {noun} using {technology} with {technique}", "{feature} {noun} impl", "technology"),
        Shape(
            "Added {feature} to {file} with tests for {behaviour}, built on {technology}",
            "{feature} {technology} added",
            "file",
        ),
        Shape(
            "Wrote {function} so that the {component} handles {noun} through {technique}", "{function} {technique} new", "noun"
        ),
    ),
    ("success", "code_interpreter", "debug"): (
        Shape("Fixed {bug} in the {component} by {solution}", "{component} {bug} fix", "solution"),
        Shape("Fixed {bug} in {function} by {solution}", "{function} {bug} fix", "solution"),
        Shape("Debugged {symptom} in the {component} - root cause was {cause}", "{component} {symptom} root cause", "cause"),
        Shape(
            "Debugged {symptom} with {noun} in {function} - root cause was {cause}", "{function} {symptom} debugged", "cause"
        ),
        Shape("Fixed {bug} in {file} that affected {behaviour} by {solution}", "{bug} {behaviour} fixed", "file"),
    ),
    ("success", "code_interpreter", "refactor"): (
        Shape("Refactored {file} to use {pattern}, so that {gain}", "{pattern} refactor {file}", "gain"),
        Shape("Refactored the {component} around {noun} to use {pattern}", "{component} {pattern} refactor", "noun"),
        Shape(
            "Optimized {function} reducing latency by {percent}% through {speedup}", "{function} {speedup} faster", "percent"
        ),
        Shape(
            "Optimized {function} for {noun} reducing latency by {percent}%, mostly by {speedup}", "{noun} {speedup} latency"
        ),
    ),
    ("success", "code_interpreter", "explain"): (
        Shape(
            "Explained how {function} in {file} treats {noun} and what that means for {behaviour}",
            "{function} {noun} explained",
            "file",
        ),
        Shape(
            "Documented {pattern} as the {component} uses it, with an annotated walk through {function}",
            "{component} {pattern} notes",
        ),
        Shape("Explained {concept} with {function} as the example, {aid}", "{concept} {function} explained", "noun"),
    ),
    ("success", "web_search", "technical"): (
        Shape("Found {site} on {subject} {purpose}", "{subject} docs", "component"),
        Shape("Found notes on combining {subject} with {technology} {purpose}", "{subject} {technology} docs", "noun"),
    ),
    ("success", "web_search", "research"): (
        Shape("Found a paper on {paper} {purpose}: {finding}", "{paper} paper", "component"),
        Shape("Compared three studies of {paper} {purpose}; they agree that {finding}", "{paper} studies", "noun"),
    ),
    ("success", "web_search", "general"): (
        Shape("Found {find} {occasion}", "{find} found", "component"),
        Shape("Looked up {find} {occasion} and saved the link in the notes on {behaviour}", "{find} link", "noun"),
    ),
    ("success", "file_operation"): (
        Shape("{deed} {noun} in {folder} for the {component} {deed_detail}", "{deed} {noun} {folder}", "component"),
        Shape("{deed} the {component} files below {folder} {deed_detail}", "{component} files {deed}", "folder"),
    ),
    ("success", "conversation"): (
        Shape("Explained {concept} to the user {aid}, with {function} as the case at hand", "{concept} explained", "function"),
        Shape(
            "Talked the user through {behaviour} of the {component} and agreed on {pattern}",
            "{behaviour} {pattern} talk",
            "component",
        ),
        Shape(
            "Answered how {noun} pass through the {component} and what {technology} would change",
            "{noun} {component} answer",
            "technology",
        ),
    ),
    ("failure", "code_interpreter", "runtime"): (
        Shape("{error} when {action} - {reason}", "{error} {function} {module} {reason}", "noun"),
        Shape("{error} in the {component} when {action} - {reason}", "{component} {error} {reason}", "function"),
    ),
    ("failure", "code_interpreter", "syntax"): (
        Shape("Syntax error - {fault} in {place}", "{fault} {function} syntax", "noun"),
        Shape("Syntax error - {fault} in {place}, found while trying out {feature}", "{fault} {feature} syntax", "place"),
    ),
    ("failure", "code_interpreter", "logic"): (
        Shape("Logic error in {function} broke {behaviour} - it {slip}", "{function} {behaviour} broken", "slip"),
        Shape("Logic error in {function} broke {noun} of the {component}: it {slip}", "{component} {slip}", "noun"),
        Shape("Tests for {behaviour} failed because the change to {file} {slip}", "{behaviour} {slip}", "file"),
    ),
    ("failure", "code_interpreter", "timeout"): (
        Shape("Timeout error - {blocker} hit max {limit}", "{function} {limit} timeout", "noun"),
        Shape("Timeout error - {blocker} hit max {limit} while working on {feature}", "{feature} {limit} timeout", "component"),
    ),
    ("failure", "web_search", "no_results"): (
        Shape('Search for "{subject} {noun}" returned no results {purpose}', "{subject} {noun} no results", "component"),
        Shape('No results for "{subject}" together with {technology} {purpose}', "{subject} {technology} nothing", "noun"),
    ),
    ("failure", "web_search", "blocked"): (
        Shape('Search for "{subject}" was blocked by {blocked_by} {purpose}', "{subject} blocked", "component"),
        Shape("Could not open {site} on {subject} {purpose}: {blocked_by}", "{subject} {site} blocked", "noun"),
    ),
    ("failure", "web_search", "irrelevant"): (
        Shape('Search for "{subject} {noun}" gave {drift}, nothing that helps {purpose}', "{subject} {drift}", "noun"),
        Shape(
            'Results for "{subject} {technology}" were irrelevant {purpose}: {drift}',
            "{subject} irrelevant {technology}",
            "noun",
        ),
    ),
    ("failure", "file_operation"): (
        Shape("{file_fault} while {file_act} - {file_why}", "{file_fault} {folder} {noun}", "component"),
        Shape("{file_fault} in {folder} while {function} saved {noun} - {file_why}", "{file_fault} {function}", "folder"),
    ),
    ("failure", "unknown"): (
        Shape("The {component} {mystery} while {function} worked on {noun} - {trace}", "{component} {mystery}", "noun"),
        Shape("Something around {function} {mystery} during work on {feature}; {trace}", "{function} {mystery}", "feature"),
    ),
    ("learning", "pattern"): (
        Shape("Codebase uses {convention} for {convention_for} in {file}", "{convention} {file}", "convention_for"),
        Shape(
            "Codebase uses {convention} for {convention_for} wherever the code deals with {feature}",
            "{convention} {feature}",
            "convention_for",
        ),
        Shape("Reports of {bug} in the {component} come in whenever {function} is changed", "{bug} {component} recurring"),
    ),
    ("learning", "correction"): (
        Shape("Learned to always {habit} before {before_what}", "{habit} first {component}", "function"),
        Shape(
            "Learned to always {habit} before {before_what}, after {behaviour} had broken", "{habit} {behaviour} lesson", "noun"
        ),
        Shape("Learned to look for {cause} when the {component} shows {symptom}", "{component} {symptom} lesson", "cause"),
    ),
    ("learning", "preference"): (
        Shape("User prefers {wanted} over {unwanted} in {where}", "{wanted} pref {where}", "unwanted"),
        Shape(
            "User prefers {wanted} over {unwanted} whenever the {component} is discussed",
            "{component} {wanted} pref",
            "unwanted",
        ),
    ),
    ("learning", "fact"): (
        Shape("Fact: {tech} {does} in {context}, which matters for the {component}", "{tech} {does} fact", "component"),
        Shape("Fact: {tech} {does} in {context}; {function} relies on it", "{tech} {context} {function}", "noun"),
    ),
    ("interaction", "positive"): (
        Shape("User {pleased} with {good_aspect} of {deliverable}", "user {pleased} {deliverable}", "good_aspect"),
        Shape("User {praised} {good_aspect} of {deliverable}", "user {praised} {good_aspect} {noun}", "component"),
        Shape("User {pleased} with {good_aspect} of {feature} in the {component}", "user {pleased} {feature}", "component"),
    ),
    ("interaction", "neutral"): (
        Shape("User requested {request} before the review of {file}", "user requested {request}", "file"),
        Shape("User requested {request}", "user asks {request}", "noun"),
        Shape(
            "User asked whether {function} also covers {noun} in the {component}",
            "user question {function} {noun}",
            "component",
        ),
        Shape(
            "User confirmed that {feature} can wait until the work on {behaviour} in {file} is done",
            "user confirmed {feature}",
            "behaviour",
        ),
    ),
    ("interaction", "negative"): (
        Shape("User {displeased} with {bad_aspect} of {deliverable}", "user {displeased} {deliverable}", "bad_aspect"),
        Shape("User {criticized} {bad_aspect} of {deliverable}", "user {criticized} {bad_aspect} {noun}", "component"),
        Shape(
            "User {displeased} with {symptom} in the {component} after {feature} shipped",
            "user {displeased} {symptom}",
            "component",
        ),
    ),
}
"""By outcome, tool and value of the routing key, as far as there are any."""

# ---- shares ------------------------------------------------------------

Range = tuple[int, int]
Ranges = Mapping[str, Range]

OUTCOME_RANGES: Final[Ranges] = {"success": (55, 65), "failure": (15, 25), "learning": (10, 15), "interaction": (5, 10)}
TOOL_RANGES: Final[Ranges] = {
    "code_interpreter": (40, 50),
    "web_search": (15, 20),
    "file_operation": (10, 15),
    "conversation": (5, 10),
}
ERROR_RANGES: Final[Ranges] = {"runtime": (35, 45), "syntax": (20, 30), "logic": (20, 30), "timeout": (5, 10)}
TASK_RANGES: Final[Ranges] = {"debug": (35, 45), "write": (25, 35), "refactor": (15, 25), "explain": (5, 10)}

Counts = dict[str, int]


def is_within(count: int, base: int, target: Range) -> bool:
    """Whether the share is in its range, as far as whole numbers can be: 5 to 10 % of 50 are 2 to 5."""
    least, most = target
    return least * base // 100 <= count <= -(-most * base // 100)


def split(
    total: int,
    weights: Mapping[str, int],
    ranges: Ranges | None = None,
    base: int | None = None,
    least: Mapping[str, int] | None = None,
) -> Counts:
    """Whole numbers that add up to the total: none below its `least`, as many as possible within their ranges (of `base`, or
    of the total), and as close to the weights as that allows. The sum of `least` must not exceed the total."""
    ranges, least = ranges or {}, least or {}
    base = total if base is None else base
    whole = sum(weights.values())

    def cost(name: str, count: int) -> tuple[int, int]:
        low, high = ranges.get(name, (0, 0))
        outside = max(0, low * base - 100 * count, 100 * count - high * base) if name in ranges else 0
        return outside, (count * whole - weights[name] * total) ** 2

    def change(name: str, step: int) -> tuple[int, int]:
        after, before = cost(name, counts[name] + step), cost(name, counts[name])
        return after[0] - before[0], after[1] - before[1]

    counts = {name: max(least.get(name, 0), weight * total // whole) for name, weight in weights.items()}
    while sum(counts.values()) < total:
        counts[min(counts, key=lambda name: change(name, 1))] += 1
    while sum(counts.values()) > total:
        spare = [name for name in counts if counts[name] > least.get(name, 0)]
        counts[min(spare, key=lambda name: change(name, -1))] -= 1
    while True:  # each turn makes the sum of costs smaller, so it ends
        spare = [name for name in counts if counts[name] > least.get(name, 0)]
        giver = min(spare, key=lambda name: change(name, -1), default=None)
        taker = min((name for name in counts if name != giver), key=lambda name: change(name, 1), default=None)
        if giver is None or taker is None:
            return counts
        gives, takes = change(giver, -1), change(taker, 1)
        if (gives[0] + takes[0], gives[1] + takes[1]) >= (0, 0):
            return counts
        counts[giver] -= 1
        counts[taker] += 1
