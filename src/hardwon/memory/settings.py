"""The settings: which memory, which project in it, and who writes. Nobody else reads their files.

An option says it, else the environment (`HARDWON_MEMORY`, `HARDWON_PROJECT`, `HARDWON_AUTHOR`),
else the project's file, else the user's, else nobody, and then it is as `Memory` finds it. Both
files are TOML and may hold these three keys:

    memory = "~/agent_brain"
    project = "website"
    author = "anna"

The user's file is `config.toml` in the user's configuration folder. The project's is the nearest
`.hardwon/config.toml` upward. That one comes with a checkout, which may be somebody else's, and
speaks for that checkout alone: the memory that it names must lie inside the folder that `.hardwon`
lies in, links followed; its project and author count only where the memory in use lies there too.
Otherwise whoever is cloned could have another project's records read out, or write into them under
a name of their choice.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, NamedTuple

from hardwon import limits
from hardwon.errors import InvalidInputError, PlaceError, Problem
from hardwon.memory.project import current_folder, place_of
from hardwon.outside.locations import FOLDER_NAME
from hardwon.records.kinds import Source

NAMES: Final = ("memory", "project", "author")
VARIABLES: Final = {name: f"HARDWON_{name.upper()}" for name in NAMES}
FILE_NAME: Final = "config.toml"
_ALLOWED: Final = f"{', '.join(NAMES)}, each with a text"

Origin = Literal["option", "environment", "project file", "user file", "default"]


class Setting(NamedTuple):
    """A setting, who set it, and where: the option, the variable or the file. Without a value it is
    as `Memory` finds it.
    """

    name: str
    value: str | None
    origin: Origin
    where: str | None


@dataclass(frozen=True)
class Settings:
    """What holds here. `ignored` says what the project's file sets and may not set for this
    memory.
    """

    memory: Setting
    project: Setting
    author: Setting
    user_file: Path
    project_file: Path | None
    ignored: tuple[str, ...] = ()

    @classmethod
    def read(
        cls,
        options: Mapping[str, str | None],
        environ: Mapping[str, str] | None = None,
        folder: Path | None = None,
    ) -> Settings:
        """Raises where a file cannot be read, or says what it may not; the error names the file."""
        from platformdirs import user_config_path

        given = os.environ if environ is None else environ
        user_file = user_config_path("hardwon", appauthor=False) / FILE_NAME
        file = _nearest(folder or current_folder())
        user, project = _values(user_file), _values(file) if file else {}
        own = user.get("memory", "~")
        # a relative one would be another memory in every folder
        if "://" not in own and not Path(own).is_absolute() and not own.startswith("~"):
            allowed = "a path from the root (/…) or from a home folder (~/…)"
            raise _refused(user_file, "memory", own, allowed)
        if file and "memory" in project:
            project["memory"] = _memory_of_project(project["memory"], file)

        def find(name: str, heard: Mapping[str, str]) -> Setting:
            layers: list[tuple[Origin, str | None, str]] = [
                ("option", options.get(name), f"--{name}"),
                ("environment", given.get(VARIABLES[name]) or None, VARIABLES[name]),
                ("project file", heard.get(name), str(file)),
                ("user file", user.get(name), str(user_file)),
            ]
            for origin, value, where in layers:
                if value is not None:
                    return Setting(name, value, origin, where)
            return Setting(name, None, "default", None)

        memory = find("memory", project)
        heard, ignored = project, list[str]()
        if file and project.keys() - {"memory"} and not _speaks_for(file, memory.value):
            why = f"it speaks for memories inside {_root(file)} alone"
            ignored = [f"{name} in {file}: {why}" for name in NAMES[1:] if name in project]
            heard = {}
        others = find("project", heard), find("author", heard)
        return cls(memory, *others, user_file, file, tuple(ignored))

    def __iter__(self) -> Iterator[Setting]:
        return iter((self.memory, self.project, self.author))


def _nearest(folder: Path) -> Path | None:
    above = (each / FOLDER_NAME / FILE_NAME for each in (folder, *folder.parents))
    return next(filter(os.path.exists, above), None)  # False, too, where we may not look


def _root(project_file: Path) -> Path:
    return project_file.parent.parent


def _values(file: Path) -> dict[str, str]:
    text = _text_of(file)
    if text is None:
        return {}
    import tomllib  # most have no such file

    try:
        found = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise _refused(file, "syntax", str(error), f"TOML: {_ALLOWED}") from None
    for key, value in found.items():
        if key not in NAMES:  # what it is set to is not told: it may be a secret
            raise _refused(file, "key", key, _ALLOWED)
        most = limits.PATH_CHARS_MAX if key == "memory" else limits.NAME_CHARS_MAX
        is_line = isinstance(value, str) and value.isprintable() and bool(value.strip())
        if not is_line or len(value) > most:
            raise _refused(file, key, value, f"a text of 1 to {most} characters on one line")
    try:
        if "author" in found:  # nobody else waits for pydantic to build it
            Source(author=found["author"])
    except InvalidInputError as error:
        raise InvalidInputError(error.problems, str(file)) from None
    return found


def _text_of(file: Path) -> str | None:
    """None where there is no such file."""
    try:
        # a pipe that nobody writes to is not waited for
        handle = os.open(file, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        with os.fdopen(handle, "rb") as opened:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                raise PlaceError(
                    f"cannot read the settings in {file}: it is not a file; remove it, or write one"
                )
            data = opened.read(limits.SETTINGS_BYTES_MAX + 1)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise PlaceError(
            f"cannot read the settings in {file}: {error.strerror or error}"
        ) from error
    if len(data) > limits.SETTINGS_BYTES_MAX:
        raise _refused(file, "size", "more bytes", f"at most {limits.SETTINGS_BYTES_MAX} bytes")
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise _refused(file, "encoding", "something else", "UTF-8") from None


def _memory_of_project(given: str, file: Path) -> str:
    root = _root(file)
    path = str(root / given)
    if "://" in given or given.startswith("~") or not _lies_in(root, path):
        allowed = f"a path inside {root}: a project's file names no other memory; --memory, or {VARIABLES['memory']}, does"
        raise _refused(file, "memory", given, allowed)
    return path


def _speaks_for(project_file: Path, memory: str | None) -> bool:
    """Whether the project's file has anything to say about this memory."""
    return "://" not in (memory or "") and _lies_in(_root(project_file), memory)


def _lies_in(root: Path, memory: str | None) -> bool:
    """Whether the file of the memory is below the folder, whatever links lead to it."""
    try:
        return Path(place_of(memory)).resolve().is_relative_to(root.resolve())
    except (OSError, RuntimeError, InvalidInputError):
        return False


def _refused(file: Path, field: str, value: object, allowed: str) -> InvalidInputError:
    from hardwon.trust.redact import redact_json

    return InvalidInputError([Problem(field, redact_json(value)[0], allowed)], str(file))
