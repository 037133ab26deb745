"""`hardwon drop-in`: modules of Hardwon's in place of those that a project's scripts import or run.

A script finds what lies in its own folder before anything on PYTHONPATH, so that a project which
holds the older module goes on using it, and nobody notices. The module that takes its place leads
to `hardwon.fixes` or `hardwon.training`; the older one is kept beside it under another name, and can be put back.
"""

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from pkgutil import get_data
from typing import Annotated, Final, Literal, NamedTuple

from hardwon import limits
from hardwon.errors import InvalidInputError, PlaceError
from hardwon.outside import files
from hardwon.surfaces.cli.main import add_group, arg, command, make_app, opt
from hardwon.surfaces.cli.output import fail, show

app = make_app()
ASIDE: Final = ".before-hardwon"
_MARK: Final = "hardwon drop-in remove"
_PYTHON: Final = f'"""By Hardwon. `{_MARK}` puts back what was here before."""\n\n'
_FIXES: Final = """\
from hardwon.fixes import drop_in

drop_in.stand_in(__name__, __file__)

if __name__ == "__main__":
    from hardwon_cli import run_fix_history

    run_fix_history()
"""
_SCRIPT: Final = "Scripts/memory_cli.sh"
_BODIES: Final = {
    "training/memory.py": "import sys\n\nfrom hardwon.training import functions\n\n"
    "sys.modules[__name__] = functions\n",
    "Scripts/ai_memory.py": _FIXES,
    "ai_memory.py": _FIXES,
    "memory.py": "from hardwon.tree.engine import IntakeWarning as IntakeWarning\n"
    "from hardwon.tree.engine import MemoryEngine as MemoryEngine\n"
    "from hardwon.tree.routing import Coherence as Coherence\n",
    "memory.sh": "",
    _SCRIPT: "",
}
# What tells an older one from whatever else has such a name.
_KNOWN_BY: Final = {
    "training/memory.py": r"def (load_agent_memory|record_episode)\b",
    "memory.py": r"class MemoryEngine\b",
    **dict.fromkeys(("Scripts/ai_memory.py", "ai_memory.py"), r"class AIMemory\b"),
    **dict.fromkeys(("memory.sh", _SCRIPT), r"ai_memory|memory_cli|AIMemory"),
}
Whose = Literal["hardwon", "older", "another", "nobody"]


class DropIn(NamedTuple):
    """One of these modules: where it is, or would be, and whose it is that is there."""

    module: str
    path: Path
    whose: Whose

    @property
    def aside(self) -> Path:
        return self.path.with_name(self.path.name + ASIDE)


def write_module(module: str) -> bytes:
    if module.endswith(".sh"):
        return get_data("hardwon.fixes", "memory.sh") or b""
    return (_PYTHON + _BODIES[module]).encode()


def find_owner(module: str, path: Path) -> Whose:
    if not files.exists(path):
        return "nobody"
    text = files.read_regular(path, limits.AGENT_SETTINGS_BYTES_MAX).decode(errors="replace")
    if _MARK in text or re.search(r"^from hardwon\b", text, re.MULTILINE):
        return "hardwon"
    return "older" if re.search(_KNOWN_BY[module], text) else "another"


def find_places(folder: Path) -> list[DropIn]:
    if not folder.is_dir():
        raise PlaceError(f"{folder} is not a folder: name the folder of the project")
    return [DropIn(name, folder / name, find_owner(name, folder / name)) for name in _BODIES]


Folder = Annotated[Path, arg("The project's folder.", "DIR", show_default="here")]

group = add_group(
    app,
    "drop-in",
    f"""Replace the modules that scripts import, or put them back.

    For a project whose scripts say `from training.memory import …`, `from Scripts.ai_memory import
    AIMemory` (or `from ai_memory`), `from memory import MemoryEngine`, or run `memory.sh`. A script
    finds what lies in its own folder before anything on `PYTHONPATH`: there the module itself has to be
    replaced. The older one is kept beside it as `NAME{ASIDE}`.
    """,
)


@command(group, "install")
def install(
    folder: Folder = Path(),
    module: Annotated[
        list[str] | None, opt(f"Also put this one there: {', '.join(_BODIES)}.", metavar="NAME")
    ] = None,
) -> None:
    """Put Hardwon's modules in place of the older ones, which are kept aside.

    As far as they are there and are the older ones; files of those names that are something else are
    left alone. `--module` puts one where none is.

    JSON: `installed`, `already` and `left`: lists of files in the folder.

    \b
    Examples:
      hardwon drop-in install . --module training.memory
      hardwon drop-in install . --module Scripts.ai_memory --module memory.sh --json
    """
    wanted = {read_name(name) for name in module or ()}
    places = find_places(folder)
    taken = [
        place
        for place in places
        if place.whose == "older" or (place.whose == "nobody" and place.module in wanted)
    ]
    already = [place for place in places if place.whose == "hardwon"]
    left = [place for place in places if place.whose == "another"]
    if not taken and not already:
        fail(
            f"there is nothing to replace in {folder}: no {', '.join(_BODIES)} of an older design; "
            "--module NAME puts one there"
        )
    for place in taken:
        if place.whose == "older":
            keep_aside(place)
        like = place.path if place.whose == "older" else None
        mode = 0o755 if place.module.endswith(".sh") else 0o644
        with files.writing_atomically(place.path, mode, like=like) as file:
            file.write(write_module(place.module))
    lines = [*list_places("Hardwon's now", taken), *list_places("Hardwon's already", already)]
    lines += [*list_places("left, for it is something else", left), f"to go back: {_MARK} {folder}"]
    groups = {"installed": taken, "already": already, "left": left}
    answer = {name: [place.module for place in group] for name, group in groups.items()}
    show(answer, "\n".join(lines))


def read_name(name: str) -> str:
    """A module's name, or a file's."""
    path = name if name in _BODIES else name.replace(".", "/") + ".py"
    if path not in _BODIES:
        raise InvalidInputError.one("module", name, ", ".join(_BODIES))
    return path


def keep_aside(place: DropIn) -> None:
    if place.path.is_symlink():
        raise PlaceError(f"{place.path} is a link: install where it leads, {place.path.resolve()}")
    try:
        os.link(place.path, place.aside)
    except FileExistsError:
        if place.aside.read_bytes() != place.path.read_bytes():  # of an interrupted run
            raise PlaceError(
                f"{place.aside} is there already and says something else: move it away, then try "
                f"again"
            ) from None


def list_places(what: str, places: Iterable[DropIn]) -> Iterator[str]:
    return (f"{place.path}: {what}" for place in places)


@command(group, "remove")
def remove(folder: Folder = Path()) -> None:
    """Take Hardwon's modules out, and put those back that were there before.

    The database stays what it is: [going back](migration/fix-history.md#going-back) tells how the
    older one comes back.

    JSON: `restored` and `removed`: lists of files in the folder.

    \b
    Examples:
      hardwon drop-in remove
      hardwon drop-in remove . --json
    """
    ours = [place for place in find_places(folder) if place.whose == "hardwon"]
    restored = [place for place in ours if place.aside.is_file()]
    removed = [place for place in ours if place not in restored]
    for place in restored:
        place.aside.replace(place.path)
    files.remove(*(place.path for place in removed))
    lines = [*list_places("as it was before", restored), *list_places("taken away", removed)]
    groups = {"restored": restored, "removed": removed}
    answer = {name: [place.module for place in group] for name, group in groups.items()}
    show(answer, "\n".join(lines or [f"none of Hardwon's modules is in {folder}"]))
