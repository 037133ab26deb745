"""An agent as a LangGraph graph that learns from its own runs: the graph's store is a Hardwon
memory, what was tried before goes into the prompt, and how it turned out is recorded. Needs
`pip install '.[langgraph]'` in a checkout of Hardwon; no network, and no LLM.
"""

from __future__ import annotations

import tempfile
from typing import Annotated, Any, TypedDict

from langchain_core.messages import AIMessage, AnyMessage
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.runtime import Runtime

from hardwon import Memory
from hardwon.adapters.langgraph import HardwonStore, with_memory


class State(TypedDict):
    messages: Annotated[list[AnyMessage], add_messages]


def ask(prompt: list[Any]) -> str:
    """Stands for a model. It tries the obvious, unless its prompt says that this failed."""
    seen = "\n".join(str(message.content) for message in prompt)
    return "pip install --no-build-isolation" if "pip install failed" in seen else "pip install"


def build(memory: Memory) -> Any:
    def propose(state: State) -> dict[str, Any]:
        return {"messages": [AIMessage(ask(with_memory(memory, state["messages"])))]}

    def run(state: State, runtime: Runtime[Any]) -> dict[str, Any]:
        command = str(state["messages"][-1].content)
        worked = "--no-build-isolation" in command  # stands for running it
        if worked:
            memory.remember(
                f"{command} worked on the build of numpy",
                "success",
                "code_interpreter",
                task_type="debug",
            )
        else:
            memory.remember(
                f"{command} failed on the build of numpy",
                "failure",
                "code_interpreter",
                error_type="runtime",
            )
        if runtime.store is not None:
            runtime.store.put(("builds", "numpy"), "last", {"command": command, "worked": worked})
        return {"messages": [AIMessage("It worked." if worked else "It failed.")]}

    graph = StateGraph(State)
    graph.add_node("propose", propose)
    graph.add_node("run", run)
    graph.add_edge(START, "propose")
    graph.add_edge("propose", "run")
    graph.add_edge("run", END)
    return graph.compile(store=HardwonStore(memory, author="build-agent"))


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, Memory(folder) as memory:
        graph = build(memory)
        for attempt in (1, 2):
            done = graph.invoke(
                {"messages": [("user", "The build of numpy fails. Get it to work.")]}
            )
            *_, proposed, result = [message.content for message in done["messages"]]
            print(f"attempt {attempt}: {proposed} -> {result}")
        store = HardwonStore(memory, author="build-agent")
        for item in store.search(("builds",), query="which command builds numpy"):
            print(f"the store holds {'/'.join(item.namespace)}/{item.key}: {item.value}")


if __name__ == "__main__":
    main()
