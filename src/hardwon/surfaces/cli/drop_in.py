"""`hardwon drop-in`: modules of Hardwon's in place of those that a project's scripts import or run.

A script finds what lies in its own folder before anything on PYTHONPATH, so that a project which
holds the older module goes on using it, and nobody notices. The module that takes its place leads
to `hardwon.fixes` or `hardwon.training`; the older one is kept beside it under another name, and can be put back.
"""

import os
import re
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from pkgutil import get_data
from typing import Annotated, Final, Literal

from hardwon.capture.agent_settings import AGENT_SETTINGS_BYTES_MAX
from hardwon.errors import InvalidInputError, PlaceError
from hardwon.outside import files
from hardwon.surfaces.cli import base as cli

app = cli.make_app()
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
    "coherence.py": "from hardwon.tree.routing import Coherence as Coherence\n",
    "memory.sh": "",
    _SCRIPT: "",
}
# What tells an older one from whatever else has such a name.
_KNOWN_BY: Final = {
    "training/memory.py": r"def (load_agent_memory|record_episode)\b",
    "memory.py": r"class MemoryEngine\b",
    "coherence.py": r"class Coherence\b",
    **dict.fromkeys(("Scripts/ai_memory.py", "ai_memory.py"), r"class AIMemory\b"),
    **dict.fromkeys(("memory.sh", _SCRIPT), r"ai_memory|memory_cli|AIMemory"),
}
Whose = Literal["hardwon", "older", "another", "nobody"]


def write_module(module: str) -> bytes:
    """What stands in the file of this module; in a script also the Python that runs this."""
    if module.endswith(".sh"):
        script = get_data("hardwon.fixes", "memory.sh") or b""
        ours = shlex.quote(sys.executable).encode(errors="surrogateescape")
        return script.replace(b"\npython=\n", b"\npython=" + ours + b"\n")
    return (_PYTHON + _BODIES[module]).encode()


def find_owners(folder: Path) -> dict[str, Whose]:
    """Whose each of these modules is that lies in a project's folder."""
    if not folder.is_dir():
        raise PlaceError(f"{folder} is not a folder: name the folder of the project")
    owners: dict[str, Whose] = dict.fromkeys(_BODIES, "nobody")
    for module in filter(lambda module: files.exists(folder / module), _BODIES):
        data = files.read_regular(folder / module, AGENT_SETTINGS_BYTES_MAX)
        text = data.decode(errors="replace")
        if _MARK in text or re.search(r"^from hardwon\b", text, re.MULTILINE):
            owners[module] = "hardwon"
        else:
            owners[module] = "older" if re.search(_KNOWN_BY[module], text) else "another"
    return owners


Folder = Annotated[Path, cli.arg("The project's folder.", "DIR", show_default="here")]


@cli.add_group(app, "drop-in")
def group() -> None:
    """Replace the modules that scripts import, or put them back.

    For a project whose scripts say `from training.memory import …`, `from Scripts.ai_memory import
    AIMemory` (or `from ai_memory`), `from memory import MemoryEngine`, `from coherence import
    Coherence`, or run `memory.sh`. A script finds what lies in its own folder before anything on
    `PYTHONPATH`: there the module itself has to be replaced. The older one is kept beside it as
    `NAME.before-hardwon`.
    """


@cli.command(group, "install")
def install(folder: Folder = Path(), *, module: cli.Texts = None) -> None:
    """Put Hardwon's modules in place of the older ones, which are kept aside.

    As far as they are there and are the older ones; files of those names that are something else are
    left alone. `--module` puts one where none is.

    JSON: `installed`, `already` and `left`: lists of files in the folder.

    \b
    Examples:
      hardwon drop-in install . --module training.memory
      hardwon drop-in install . --module Scripts.ai_memory --module memory.sh --json

    Options:
      module NAME: Also put this one there: training/memory.py, Scripts/ai_memory.py, ai_memory.py,
        memory.py, coherence.py, memory.sh, Scripts/memory_cli.sh.
    """
    wanted = {read_name(name) for name in module or ()}
    owners = find_owners(folder)
    answer: dict[str, list[str]] = {"installed": [], "already": [], "left": []}
    states = {"older": "installed", "hardwon": "already", "another": "left"}
    for name, owner in owners.items():
        if state := "installed" if owner == "nobody" and name in wanted else states.get(owner):
            answer[state].append(name)
    if not answer["installed"] and not answer["already"]:
        cli.fail(
            f"there is nothing to replace in {folder}: no {', '.join(_BODIES)} of an older design; "
            "--module NAME puts one there"
        )
    for name in answer["installed"]:
        path, is_older = folder / name, owners[name] == "older"
        if is_older:
            keep_aside(path)
        mode = 0o755 if name.endswith(".sh") else 0o644
        with files.writing_atomically(path, mode, like=path if is_older else None) as file:
            file.write(write_module(name))
    cli.show(answer, f"{list_files(folder, answer)}\nto go back: {_MARK} {folder}")


def read_name(name: str) -> str:
    """The file of a module's name, or of a file's."""
    path = name if name in _BODIES else name.replace(".", "/") + ".py"
    if path not in _BODIES:
        raise InvalidInputError.one("module", name, ", ".join(_BODIES))
    return path


def keep_aside(path: Path) -> None:
    """Gives the older module a second name."""
    if path.is_symlink():
        raise PlaceError(f"{path} is a link: install where it leads, {path.resolve()}")
    aside = path.with_name(path.name + ASIDE)
    try:
        os.link(path, aside)
    except FileExistsError:
        if aside.read_bytes() != path.read_bytes():  # of an interrupted run
            raise PlaceError(
                f"{aside} is there already and says something else: move it away, then try again"
            ) from None


def list_files(folder: Path, groups: Mapping[str, list[str]]) -> str:
    """A line for each file, with what became of it."""
    return "\n".join(f"{folder / name}: {what}" for what, names in groups.items() for name in names)


@cli.command(group, "remove")
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
    answer: dict[str, list[str]] = {"restored": [], "removed": []}
    for name in (name for name, owner in find_owners(folder).items() if owner == "hardwon"):
        path, aside = folder / name, folder / f"{name}{ASIDE}"
        if aside.is_file():
            aside.replace(path)
            answer["restored"].append(name)
        else:
            files.remove(path)
            answer["removed"].append(name)
    cli.show(answer, list_files(folder, answer) or f"none of Hardwon's modules is in {folder}")
