"""Before the next attempt: `context`, `advise`."""

import sys
from typing import Annotated

import typer

from hardwon import limits
from hardwon.surfaces.cli.base import FAILED, RECORDING, Json, chosen, command, plain, write, write_json, write_text
from hardwon.surfaces.cli.input import IssueJson, issue_of


@command(
    RECORDING,
    'hardwon context "login fails with KeyError"',
    'hardwon context --task-id easy --issue \'{"model": "m", "issue_type": "TIMEOUT"}\' --budget-tokens 200 --json',
    answers="JSON: `text`, `tokens` (as counted on that text), `ids` (of the records behind its lines, for `credit` and "
    "`--recalled`), `evidence` (ids of those behind its rules and fixes).",
    more="It prints the text and nothing else, without a line end of its own where that is no terminal.",
)
def context(
    ctx: typer.Context,
    query: Annotated[str | None, typer.Argument(help="What is to be done.")] = None,
    task_id: Annotated[str | None, typer.Option(help="The task, for its rules.")] = None,
    issue: IssueJson = None,
    budget_tokens: Annotated[
        int, typer.Option(min=1, max=limits.CONTEXT_TOKENS_MAX, help="Never more tokens than these.")
    ] = limits.CONTEXT_TOKENS,
    as_json: Json = False,
) -> None:
    """Print what matters before the next attempt, ready for a prompt. Nothing where there is nothing to say."""
    asked = issue_of(issue)
    with chosen(ctx).open(to_read=True) as memory:
        found = memory.context(query, task_id=task_id, issue=asked, budget_tokens=budget_tokens)
    if as_json:
        write_json({"text": str(found), "tokens": found.tokens, "ids": found.ids, "evidence": list(found.evidence)})
        return
    text = str(found)
    write(text + "\n" if text and not text.endswith("\n") and sys.stdout.isatty() else text)


@command(
    RECORDING,
    'hardwon advise "pip install torch"',
    'hardwon advise "retry the upload" --task "nightly backup" --error "timed out" --fail-if-blocked --json',
    answers="JSON: `verdict` (ok, caution or blocked), `p_success`, `evidence` (ids of earlier attempts), `failures` "
    "(how often it failed in the same way since it last worked), `worked_instead`, `message`.",
    more="The exit code is 0 whatever the verdict; with `--fail-if-blocked` it is 1 where the verdict is blocked.",
)
def advise(
    ctx: typer.Context,
    action: Annotated[str, typer.Argument(help="What is about to be done.")],
    task: Annotated[str | None, typer.Option(help="What it is for.")] = None,
    error: Annotated[str | None, typer.Option(help="What is to be got rid of.")] = None,
    issue: IssueJson = None,
    fail_if_blocked: Annotated[
        bool, typer.Option("--fail-if-blocked", help="Exit code 1 where it failed the same way again and again.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Say whether an action failed here before, how likely it is to work, and what worked instead."""
    about = issue_of(issue)
    with chosen(ctx).open(to_read=True) as memory:
        advice = memory.advise(action, task=task, error=error, issue=about)
    if as_json:
        write_json(plain(advice))
    else:
        write_text(advice.message)
    if fail_if_blocked and advice.verdict == "blocked":
        raise typer.Exit(FAILED)
