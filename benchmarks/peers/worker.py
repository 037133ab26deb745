"""One store in a process of its own, asked by JSON lines: `python -P worker.py MODULE FOLDER
[OPTION …]`.

It runs in the store's own environment, where nothing of Hardwon is installed: the standard library
and `contract` must do. Each line that comes in is `{"do": …, …}`. The answer is one line, with the
seconds that the store itself took, except that `stream` answers with a line for each record as soon
as it is acknowledged, so that whoever kills this process knows what it had promised.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from peers.contract import Peer

Answer = dict[str, Any]


def peak_memory_mb() -> float:
    """Of this process alone: getrusage would also count what its parent held when it was
    started.
    """
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


def timed(work: Callable[[], Any]) -> Answer:
    begin = time.perf_counter()
    value = work()
    return {"value": value, "seconds": time.perf_counter() - begin}


def attempt(work: Callable[[], Any]) -> Answer:
    """A store that fails says so; its worker goes on."""
    from peers.contract import CannotError

    try:
        return timed(work)
    except CannotError as reason:
        return {"cannot": str(reason)}
    except Exception as error:  # noqa: BLE001  # the process's edge: whatever a store raises is a result
        return {"error": f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"}


def stream(peer: Peer, records: list[dict[str, Any]]) -> Iterator[Answer]:
    for record in records:
        yield {"key": record["key"]} | attempt(lambda: peer.write_one(record))  # noqa: B023  # called at once
    yield {"done": True}


def answers(peer: Peer, asked: dict[str, Any]) -> Iterator[Answer]:
    match asked["do"]:
        case "about":
            yield attempt(peer.about)
        case "bulk":
            records = json.loads(Path(asked["file"]).read_text())
            yield attempt(lambda: peer.write_bulk(records))
        case "stream":
            yield from stream(peer, json.loads(Path(asked["file"]).read_text()))
        case "recall":
            yield attempt(lambda: peer.recall(asked["query"], asked["k"]))
        case "keys":
            yield attempt(peer.keys)
        case "episode":
            yield attempt(lambda: peer.keep_episode(asked["record"], asked["episode"]))
        case "hand_out":
            yield attempt(lambda: peer.hand_out(asked["query"], asked["budget_tokens"]))
        case "close":
            yield attempt(peer.close) | {"peak_memory_mb": peak_memory_mb()}
        case other:
            raise ValueError(other)


def main() -> None:
    sys.path.append(str(Path(__file__).resolve().parent.parent))
    module, folder, *options = sys.argv[1:]
    # What a library prints must not stand between the answers.
    lines = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    opened = attempt(
        lambda: importlib.import_module(f"peers.{module}").open_peer(Path(folder), options)
    )
    peer = opened.pop("value", None)
    print(json.dumps(opened), file=lines)
    if peer is None:
        return
    for line in sys.stdin:
        asked = json.loads(line)
        for answer in answers(peer, asked):
            print(json.dumps(answer), file=lines)
        if asked["do"] == "close":
            return


if __name__ == "__main__":
    main()
