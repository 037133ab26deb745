"""The main job in one minute: record what was tried, learn from it, ask before the next attempt.
Run it with `make demo`.
"""

from __future__ import annotations

import tempfile
import textwrap

from hardwon import Experience, Memory


def say(title: str) -> None:
    print(f"\n{title}\n{'-' * len(title)}")


def outcome_of(record: object) -> str:
    return record.outcome if isinstance(record, Experience) else type(record).__name__.lower()


def main() -> None:
    folder = tempfile.mkdtemp(prefix="hardwon-demo-")
    with Memory(folder) as memory:
        say("An agent works on a payment service, and records what it tries")
        tried = [
            memory.remember(
                "Charging a card twice: retried charge() in src/billing/charge.py without an "
                "idempotency key, customers were billed twice (StripeError: duplicate)",
                "failure", "code_interpreter", error_type="logic", tags=["billing"],
            ),
            memory.remember(
                "Fixed double charges in src/billing/charge.py by passing an idempotency key "
                "derived from the order id",
                "success", "code_interpreter", task_type="debug", tags=["billing"],
            ),
            memory.remember(
                "TypeError: 'NoneType' object is not subscriptable in parse_webhook(): Stripe "
                "sends data.object=null for pings",
                "failure", "code_interpreter", error_type="runtime",
            ),
            memory.remember("Stripe's docs on webhook signatures were behind a bot check",
                            "failure", "web_search", reason="blocked"),
            memory.remember("The team wants integration tests to run against the sandbox, never "
                            "with mocks",
                            "learning", insight_type="preference"),
            memory.record_fix(
                {"model": "qwen2.5:7b", "issue_type": "TIMEOUT", "description": "review bot gives no answer within 30 s"},
                fix_success=True, verification_success=True, analysis="the model was swapped out between two requests",
                fix_commands=["ollama run qwen2.5:7b --keepalive 1h"], fixer_type="claude",
            ),
        ]  # fmt: skip
        for record in tried:
            print(f"  {outcome_of(record):8} {record.id}")

        say("A secret that slips into a note never reaches the disk")
        leaky = memory.remember(
            "Deployed with STRIPE_KEY=" + "sk_" + "live_" + "51HardwonDemoKeyThatIsNotReal00",
            "success",
            "file_operation",
        )
        print(f"  {leaky.content}\n  redacted: {leaky.redacted}")

        for question in (
            "customers were charged twice in charge.py",
            "NoneType in the webhook parser",
        ):
            say(f"Before the next attempt, it asks: {question}")
            for hit in memory.recall(question, k=3):
                metadata = hit.record.metadata
                line = f"{hit} ({metadata.validation.status}, by {metadata.source.author})"
                print(textwrap.fill(line, 98, initial_indent="  ", subsequent_indent=" " * 7))

        say("What it learned")
        for score, mistake, success in (
            (0.2, "Guessed the cause", ""),
            (0.9, "", "Read the log first"),
            (0.95, "", "read the log first."),
        ):
            memory.record_episode(
                "fix the webhook",
                score,
                mistakes=[mistake][: bool(mistake)],
                successes=[success][: bool(success)],
            )
        for rule in memory.rules("fix the webhook"):
            print(
                f"  {rule.state:9} {rule} ({rule.episodes} episodes, mean score "
                f"{rule.mean_score:.2f})"
            )
        issue = {"model": "qwen2.5:7b", "issue_type": "TIMEOUT"}
        odds = memory.odds(issue)
        low, high = odds.interval
        print(
            f"  a fix of TIMEOUT on qwen2.5:7b works with p = {odds.p_success:.2f} (90 %: "
            f"{low:.2f} to {high:.2f})"
        )
        print(f"  best known: {memory.fixes.strategies('TIMEOUT')[0].fix_commands[0]}")

        say("Before the next prompt: the few lines that matter, fenced, within 300 tokens")
        print(
            textwrap.indent(
                str(
                    memory.context(
                        "customers charged twice", task_id="fix the webhook", budget_tokens=300
                    )
                ),
                "  ",
            )
        )

        say("Before an action that failed twice: advice")
        error = "TypeError: 'NoneType' object is not subscriptable"
        for _ in range(2):
            with memory.trajectory("fix the webhook") as attempt:
                attempt.step("retry the webhook", error)
                attempt.step("skip pings", "ok", 1.0)
        advice = memory.advise("retry the webhook", error=error)
        print(f"  {advice.verdict}: {advice}")

        say("Where it is kept")
        stats = memory.stats()
        print(
            f"  {stats.records} records in {stats.location} ({stats.size_bytes // 1024} KiB, one "
            f"SQLite file)"
        )
        print(f"  by outcome: {dict(stats.by_outcome)}")
        print(f"  doctor: {'all well' if memory.doctor().ok else memory.doctor()}")


if __name__ == "__main__":
    main()
