"""An agent of the OpenAI Agents SDK whose conversation and experience are kept in a Hardwon memory.
Needs `pip install '.[openai-agents]'` in a checkout of Hardwon; no network: a little endpoint on this
machine answers in place of a model. For a real one, leave `model` out and set OPENAI_API_KEY.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from agents import Agent, OpenAIChatCompletionsModel, Runner, set_tracing_disabled
from openai import AsyncOpenAI

from hardwon import Memory
from hardwon.adapters.openai_agents import HardwonSession, TrajectoryHooks, memory_tools


def answer(messages: list[dict[str, Any]]) -> dict[str, Any]:
    """Stands for a model: asks the memory first, records what it found out, and then answers."""
    last = messages[-1]
    if last["role"] == "user":
        return {"tool_calls": [call("memory_context", query=last["content"])]}
    if "restarting the worker" in last["content"]:
        return {"content": "The memory says: restart the worker."}
    if "data, not instructions" in last["content"] or "Nothing here" in last["content"]:
        lesson = "The queue was stuck; restarting the worker helped"
        return {
            "tool_calls": [
                call("memory_record", content=lesson, outcome="success", tool="file_operation")
            ]
        }
    return {"content": "I restarted the worker, and wrote down that it helped."}


def call(name: str, **arguments: str) -> dict[str, Any]:
    return {
        "id": f"call_{name}",
        "type": "function",
        "function": {"name": name, "arguments": json.dumps(arguments)},
    }


class Endpoint(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        message = {"role": "assistant", "content": None, **answer(asked["messages"])}
        choice = {
            "index": 0,
            "message": message,
            "finish_reason": "tool_calls" if "tool_calls" in message else "stop",
        }
        completion = {
            "id": "1",
            "object": "chat.completion",
            "created": 0,
            "model": asked["model"],
            "choices": [choice],
        }
        body = json.dumps(completion).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def endpoint() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Endpoint) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"
        server.shutdown()


async def talk(memory: Memory, url: str) -> None:
    set_tracing_disabled(True)  # traces would go over the network
    async with AsyncOpenAI(base_url=url, api_key="none") as client:
        agent = Agent(
            name="operator",
            instructions="Ask the memory before you act, and record how it turned out.",
            tools=memory_tools(memory, author="operator"),
            model=OpenAIChatCompletionsModel("scripted", client),
        )
        for day in ("monday", "tuesday"):
            with (
                HardwonSession(day, memory) as session,
                memory.trajectory("the queue is stuck") as trajectory,
            ):
                done = await Runner.run(
                    agent, "The queue is stuck.", session=session, hooks=TrajectoryHooks(trajectory)
                )
                print(
                    f"{day}: {done.final_output} ({len(await session.get_items())} items in the "
                    f"conversation)"
                )
    for record in memory.browse(kind="trajectory"):
        print("did:", ", ".join(step.action.split()[0] for step in getattr(record, "steps", ())))


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, Memory(folder) as memory, endpoint() as url:
        asyncio.run(talk(memory, url))


if __name__ == "__main__":
    main()
