"""docs/reference/python.md: everything that is imported from `hardwon`."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from operator import attrgetter
from typing import Any, Final

import hardwon
from generating.classes import answers_section, is_told, link, records_section
from generating.here_alone import HERE_ALONE
from generating.markdown import MADE, allowed, code, listed, prose, table
from generating.signatures import call, named_in, returned, signature, words_in
from hardwon import errors, limits
from hardwon.memory import Memory
from hardwon.memory.ask import Asking, Learned
from hardwon.memory.care import Keeping
from hardwon.memory.decide import Deciding
from hardwon.memory.knowing import KnowingLessons
from hardwon.memory.project import Opened
from hardwon.memory.record import Envelope, Recording
from hardwon.search.terms import Filters
from hardwon.surfaces.arguments import Filtered

GROUPS: Final[Mapping[str, tuple[type, str]]] = {
    "Recording": (
        Recording,
        "What was tried and found goes in. Each call is one transaction, and is on disk when it "
        "returns.",
    ),
    "Asking": (
        Asking,
        "Before the next attempt: records, hits, contexts, advice, and what there is.",
    ),
    "What was learned": (
        Learned,
        "Knowledge with its evidence, worked out from counts when it is asked for.",
    ),
    "Lessons": (KnowingLessons, "What runs taught, why, and what people say of it."),
    "Deciding": (
        Deciding,
        "What may be believed. Every decision is an event or a record of its own, with who made it.",
    ),
    "Keeping": (Keeping, "Looking after a memory: room, copies, health, files beside it."),
    "The memory itself": (
        Opened,
        "Where it is, and closing it. The attribute `project` is the project that it works in.",
    ),
}
NOUNS: Final[Mapping[str, str]] = {
    "fixes": "Fixes",
    "episodes": "Episodes",
    "entries": "Entries",
    "tests": "Tests",
    "tree": "Tree",
    "skills": "Skills",
    "care": "Care",
}
"""What hangs on a memory, and the heading of its section."""
_IN_ANOTHER_GROUP: Final = {
    "trajectory": "Recording",
    "merge": "Keeping",
    "topology": "Asking",
    "reflect": "Asking",
}
"""What is written in `Memory` itself, because it needs one."""

ARGUMENTS_OF_MANY: Final = {
    "as_of": "a time: the answer that was right then",
    "by": "who decides or asks, as it will stand in the audit",
    "dry_run": "say what would happen, and change nothing",
    "limit": f"how many at most, from 1 to {limits.SHOWN_MAX:,}",
    "progress": "`progress(done, total)` is called now and then; the total is 0 while it is not known",
    "issue": "an [`Issue`](#issue), or a dict with its fields; a `fixer_type` in it names the fixer",
}
BEGINS: Final = f"""\
# Python

{MADE}

```python
from hardwon import Memory

with Memory("agent_brain") as memory:
    kept = memory.remember("KeyError 'id' in login.py", "failure", "code_interpreter", error_type="runtime")
    assert memory.recall("login KeyError")[0].record.id == kept.id
```

Everything here is imported from `hardwon`; what methods give back is described under [Answers](#answers). Code written
for [older designs](../migration/btb-tree.md) imports from `hardwon.tree.engine`, `hardwon.training.functions` and
`hardwon.fixes.ai_memory`, data sets come from [`hardwon.tree.datasets`](../tree.md#data-sets). Names that are not on this
page may change without notice.
[limits.md](limits.md) has every bound with its reason.

A wrong argument is an [`InvalidInputError`](#errors) that names the field, what was given and what is allowed; nothing was
changed then. Every method may also raise a [`StorageError`](#errors).
"""


def page() -> str:
    return "\n".join(
        [
            BEGINS,
            *_memory_section(),
            *records_section(),
            *answers_section(),
            *_functions_section(),
            *_outside_section(),
            *_client_section(),
            *_errors_section(),
        ]
    )


# --- Memory ---


def _memory_section() -> Iterator[str]:
    yield f"## Memory\n\n{signature('Memory', Memory.__init__)}\n{prose(Memory.__doc__)}\n\n{prose(Memory.__init__.__doc__)}\n"
    yield f"### Keywords that many methods take\n\n{prose(Envelope.__doc__)}\n"
    yield "What asks for records takes `**filters`. All that are given must hold:\n"
    schema = Filters.model_json_schema()["properties"]
    rows = (
        (code(name), allowed(schema[name]), field.description or "")
        for name, field in Filtered.model_fields.items()
    )
    yield table(("filter", "what it takes", ""), rows)
    yield "And several of them:\n"
    yield table(
        ("argument", ""), ((code(name), meaning) for name, meaning in ARGUMENTS_OF_MANY.items())
    )
    for group, (_, about) in GROUPS.items():
        yield f"## {group}\n\n{about}\n"
        yield from (_member(Memory, name) for name in _methods_of(group))
    for noun, heading in NOUNS.items():
        group_class = getattr(Memory, noun)
        yield f"## {heading}\n\n{prose(group_class.__doc__)}\n"
        names = [name for name in vars(group_class) if not name.startswith("_")]
        yield from (_member(group_class, name, f"{noun}.") for name in names)


def _methods_of(group: str) -> list[str]:
    """The public names of `Memory` in this group, in the order of the source."""
    own = [
        name
        for name in vars(GROUPS[group][0])
        if not name.startswith("_") and name not in {*NOUNS, *_IN_ANOTHER_GROUP}
    ]
    return own + [name for name, place in _IN_ANOTHER_GROUP.items() if place == group]


def _member(owner: type, name: str, noun: str = "") -> str:
    found = inspect.getattr_static(owner, name)
    heading = f"### Memory.{noun}{name}\n\n"
    if isinstance(found, property):
        getter = found.fget
        return (
            f"{heading}{signature(name, getter).replace('() ->', ':')}\n{prose(getter.__doc__)}\n"
        )
    function = getattr(found, "__func__", found)
    mark = "@classmethod\n" if isinstance(found, classmethod) else ""
    told = [prose(inspect.getdoc(function)), _choices(function), _gives(function)]
    return f"{heading}{signature(name, function, mark)}\n" + "\n\n".join(filter(None, told)) + "\n"


def _gives(function: Any) -> str:
    """Links to what an answer is described by."""
    named = [name for name, _ in named_in(returned(function), function.__module__) if is_told(name)]
    return f"Gives {listed(map(link, named), 'and')}." if named else ""


def _choices(function: Any) -> str:
    """What the names of sets of words stand for that its arguments take."""
    annotations = " ".join(
        str(each.annotation) for each in inspect.signature(function).parameters.values()
    )
    return " ".join(
        f"{code(name)} is {words}." for name, words in words_in(annotations, function.__module__)
    )


# --- what else there is ---


def _public(wanted: Any) -> Iterator[tuple[str, Any]]:
    """The public names of which this is true."""
    return ((name, found) for name in hardwon.__all__ if wanted(found := getattr(hardwon, name)))


def _functions_section() -> Iterator[str]:
    yield "## Functions\n"
    for name, function in _public(inspect.isfunction):
        yield f"### {name}\n\n{signature(name, function)}\n{prose(function.__doc__)}\n"


def _outside_section() -> Iterator[str]:
    yield "## Models and embedders\n\nBoth are optional: everything works without.\n"
    for name, kind in _public(lambda found: found.__module__.startswith("hardwon.outside.")):
        own = [
            each
            for owner in kind.__mro__[:-1]
            for each in vars(owner)
            if not each.startswith("_") and callable(getattr(kind, each))
        ]
        yield f"### {name}\n\n{signature(name, kind.__init__)}\n{prose(kind.__doc__)}\n"
        yield table(
            ("method", ""),
            ((code(call(kind, each)), prose(inspect.getdoc(getattr(kind, each)))) for each in own),
        )


def _client_section() -> Iterator[str]:
    yield f"### AsyncMemory\n\n{prose(hardwon.AsyncMemory.__doc__)}\n"
    kind = hardwon.Client
    yield f"## Client\n\n{signature('Client', kind.__init__)}\n{prose(kind.__doc__)}\n\n{prose(kind.__init__.__doc__)}\n"
    yield "It has the methods of `Memory`, with the same arguments and answers, but for what is of one machine:\n"
    with kind("http://127.0.0.1:1") as client:
        missing = [name for name in HERE_ALONE if not _has(client, name)]
    yield table(
        ("not there", "what it is, or does"), ((code(name), HERE_ALONE[name]) for name in missing)
    )


def _has(client: hardwon.Client, name: str) -> bool:
    try:
        attrgetter(name)(client)
    except AttributeError:
        return False
    return True


def _errors_section() -> Iterator[str]:
    yield "## Errors\n\nFrom `hardwon.errors`. `except hardwon.HardwonError` catches all of them.\n"
    yield "### HardwonError\n\n" + prose(hardwon.HardwonError.__doc__) + "\n"
    classes = [
        found
        for found in vars(errors).values()
        if inspect.isclass(found) and issubclass(found, Exception)
    ]
    rows = (
        (
            code(each.__name__),
            ", ".join(code(base.__name__) for base in each.__bases__),
            prose(each.__doc__),
        )
        for each in classes
        if each is not hardwon.HardwonError
    )
    yield table(("error", "is a", ""), rows)
