"""What lays something down for good, what such a rule speaks of, and what takes it back."""

from __future__ import annotations

import pytest

from hardwon.lessons.laying_down import find_rule_sentences
from hardwon.lessons.lesson import Lesson
from hardwon.records.fields import from_us
from hardwon.tell.rules import LaidDown, choose_rules, holds
from hardwon.tell.situation import Situation
from hardwon.tell.standing_rules import contradicts, is_about_action, is_about_file, read_rule

UV = "From now on always use uv for Python packages, never pip."
MIGRATIONS = "Important: never run migrations while on main."
FORCE = "Never use git push --force on shared branches; use --force-with-lease."
PORT = "The staging database listens on port 5433, not 5432."
LINT = "Always run make lint before committing."
GENERATED = "Never edit files under web/src/api by hand."
PNPM = "Always use pnpm."
EVERY = (UV, MIGRATIONS, FORCE, PORT, LINT, GENERATED, PNPM)


def worth(_: str) -> float:
    return 1.0


@pytest.mark.parametrize(
    ("prompt", "rule"),
    [
        ("Install httpx. Always use uv, never pip.", "Always use uv, never pip."),
        ("Please never push to main", "Please never push to main"),
        ("Use tabs, not spaces.", "Use tabs, not spaces."),
        ("Let's use uv, not pip", "Let's use uv, not pip"),
        ("Utilise toujours uv, jamais pip", "Utilise toujours uv, jamais pip"),
        ("从现在起总是使用 uv", "从现在起总是使用 uv"),
        ("今後は必ず uv を使ってください", "今後は必ず uv を使ってください"),
        ("앞으로는 항상 uv를 사용하세요", "앞으로는 항상 uv를 사용하세요"),
        ("Fix the bug where the cart is always empty", ""),
        ("It always fails with a KeyError", ""),
        ("The login never works, please look", ""),
        ("Why does it never end?", ""),
        ("Never mind, go on", ""),
        ("Don't touch the tests", ""),
        ("Just this once use pip, not uv", ""),
        ("Es schlägt immer fehl", ""),
    ],
)
def test_what_a_prompt_lays_down_for_good(prompt: str, rule: str) -> None:
    assert find_rule_sentences(prompt) == rule


@pytest.mark.parametrize(
    ("action", "rules"),
    [
        ("pip install requests", [UV]),
        (".venv/bin/pip install -q requests && pytest", [UV]),
        ("uv pip install requests", []),
        ("pip show requests", []),
        ("python manage.py serve", []),
        ("make migrate", [MIGRATIONS]),
        ("git push --force origin cart", [FORCE]),
        ("git push --force-with-lease", []),
        ("git push origin cart", []),
        ("npm cache clean --force", [PNPM]),
        ("pnpm install", []),
        ("psql -h staging.shop.test -p 5432 -c 'select 1'", [PORT]),
        ("psql -h staging.shop.test -p 5433 -c 'select 1'", []),
        ("git commit -m done", [LINT]),
    ],
)
def test_a_rule_speaks_of_the_commands_that_it_names(action: str, rules: list[str]) -> None:
    assert [rule for rule in EVERY if is_about_action(read_rule(rule), action, worth)] == rules


def test_a_rule_speaks_of_the_files_that_it_names() -> None:
    def about(path: str) -> list[str]:
        return [rule for rule in EVERY if is_about_file(read_rule(rule), path, worth)]

    assert about("web/src/api/client.ts") == [GENERATED]
    assert about("web/src/cart.ts") == []


@pytest.mark.parametrize(
    ("later", "earlier", "takes_back"),
    [
        ("Use pip again for Python packages, not uv.", UV, True),
        ("The staging database is on port 5440 now, no longer on 5433.", PORT, True),
        ("Format the code with black.", "Format the code with ruff.", True),
        (FORCE, UV, False),
        (UV, MIGRATIONS, False),
    ],
)
def test_what_takes_a_rule_back(later: str, earlier: str, takes_back: bool) -> None:
    assert contradicts(read_rule(later), read_rule(earlier)) == takes_back


def lay_down(rule: str, at_us: int, *, by_person: bool = True) -> LaidDown:
    lesson = Lesson(rule, "rule", "", rule, 0, 0, 1.0, from_us(at_us))
    return LaidDown(lesson, read_rule(rule), "ann", by_person)


def test_an_agent_takes_back_nothing_that_a_person_typed() -> None:
    typed = lay_down("Always use uv, never pip.", 1)
    by_agent = lay_down("Always use pip, never uv.", 2, by_person=False)
    assert holds(typed, [typed, by_agent], lambda _: True)
    assert not holds(typed, [typed, by_agent], lambda _: False)
    assert not holds(by_agent, [by_agent, lay_down("Use uv, not pip.", 3)], lambda _: True)


def test_what_runs_at_a_task_began_with_tells_what_it_asks_for() -> None:
    rules = [lay_down(UV, 1)]

    def is_due(task: str, *runs: list[str]) -> bool:
        return bool(choose_rules(rules, Situation(task), worth, runs))

    assert is_due("Install the httpx package")
    assert is_due("add the requests library")
    assert not is_due("Make the linter happy")
    assert not is_due("Install the frontend", ["npm ci"], ["npm install"])
    assert is_due("Bring the reports back", ["pip install tabulate"])
