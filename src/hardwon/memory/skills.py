"""What has proved itself, as Agent Skills (agentskills.io): `memory.skills`.

A skill is a folder with a SKILL.md: its name, what it is for, and lines, each with its figures and
the records behind it. There is one for the errors that something made go away, one for fixes that
were verified, one for the rules of the project, and one for those of each task. The same knowledge
makes the same bytes, under the same names, so that an export brings files up to date and leaves the
others alone.

What nobody verified is left out, unless it is asked for. Where skills were exported to is noted
in the user's data folder: when records are forgotten, what they taught goes from there too.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from itertools import accumulate, chain
from pathlib import Path
from typing import Final, NamedTuple

from hardwon import limits
from hardwon.errors import PlaceError, StorageError
from hardwon.memory.fix_lessons import FixReading
from hardwon.memory.fixer_lines import FIXES_IN_CONTEXT_MAX
from hardwon.memory.lessons import LessonFinder
from hardwon.memory.project import Group, Project
from hardwon.outside.files import (
    disk_errors,
    make_folder,
    read_regular,
    user_folder,
    writing_atomically,
)
from hardwon.outside.locations import check_path
from hardwon.records.fields import check_all
from hardwon.records.kinds import VOUCHED_STATUSES
from hardwon.tell.advice import quote
from hardwon.tell.fence import fence_lines, make_fence_mark
from hardwon.text.tokens import count_tokens

# Of a file under a skill's name; what is longer is none of ours.
_SKILL_BYTES_READ: Final = 256 * limits.KIB

# Errors and issue types that the description of a skill names; it has at most 1,024 characters.
_SKILL_EXAMPLES_MAX: Final = 8

# Tasks that have a skill of their own, those with the most episodes: the descriptions of all skills
# stand in every conversation.
SKILL_TASKS_MAX: Final = 20

# Lines of one skill, the best first; the specification asks for fewer than 500.
_SKILL_LINES_MAX: Final = 50

# Characters of a skill's name, which the specification of Agent Skills fixes, and of what others
# named within its description.
_SKILL_NAME_CHARS: Final = 64

FILE_NAME: Final = "SKILL.md"


@dataclass(frozen=True)
class Skill:
    """`text` is its SKILL.md, which begins with the others; `evidence` are the ids of the records
    behind it.
    """

    name: str
    description: str
    metadata: dict[str, str]
    text: str
    evidence: tuple[str, ...]


@dataclass(frozen=True)
class ExportedSkills:
    """The names of the skills that were written, of those that stood there already, and of those
    that were taken away, for nothing speaks for them any more.
    """

    folder: str
    written: list[str]
    unchanged: list[str]
    removed: list[str]


class _Item(NamedTuple):
    """A line, and the records behind it; `vouched`: somebody confirmed one of them; `named`: what
    it is about, where that tells when to use it.
    """

    line: str
    evidence: Sequence[str]
    vouched: bool
    named: str = ""


class Skills(Group):
    """What has proved itself, as Agent Skills: `memory.skills`."""

    def list(self, *, unverified: bool = False) -> list[Skill]:
        """What has proved itself, each with its evidence: what made errors go away, fixes that were
        verified, rules. `unverified`: also what nobody verified.
        """
        check_all(unverified=unverified)
        project = self._project
        with project.store.together(project.name):
            drafts = list(_draft_skills(project))
        return [
            _make_skill(project.name, about, title, use, kept)
            for about, title, use, items in drafts
            if (kept := [item for item in items if item.vouched or unverified])
        ]

    def export(self, folder: str | Path, *, unverified: bool = False) -> ExportedSkills:
        """Writes them to a `folder`, each as NAME/SKILL.md, and takes away those that this project
        wrote there and has no longer; other files stay. `unverified`: also what nobody verified.
        From then on, what is forgotten goes from there too.
        """
        target, _ = check_all(lambda: check_path("folder", folder), unverified=unverified)
        skills = {skill.name: skill.text for skill in self.list(unverified=unverified)}
        with writing_atomically(_notes(self._project) / _hash(str(target))) as file:
            file.write(json.dumps([str(target), unverified]).encode())
        with disk_errors(target):
            make_folder(target, 0o755)
            ours = set(_skills_in(target, self._project.name))
            changed = [name for name, text in skills.items() if _differs(target / name, text)]
            for name in changed:
                make_folder(target / name, 0o755)
                with writing_atomically(target / name / FILE_NAME, 0o644) as file:
                    file.write(skills[name].encode())
            for name in ours - skills.keys():
                (target / name / FILE_NAME).unlink()
                with suppress(OSError):  # somebody keeps something there
                    (target / name).rmdir()
        kept = [name for name in skills if name not in changed]
        return ExportedSkills(str(target), changed, kept, sorted(ours - skills.keys()))


def refresh(project: Project) -> None:
    """Brings what was exported up to date, after records were erased."""
    for note in _notes(project).glob("*"):
        target, unverified = json.loads(note.read_bytes())
        if not Path(target).is_dir():
            note.unlink(missing_ok=True)
            continue
        try:
            Skills(project).export(target, unverified=unverified)
        except StorageError as error:
            raise PlaceError(
                f"what was forgotten is gone from the memory, and may still stand in the skills in "
                f"{target}: {error}; then run hardwon skills export there"
            ) from error


def _notes(project: Project) -> Path:
    """A folder with a file for each place to which the project's skills were exported."""
    name = _hash(f"{project.place.location}\0{project.name}")
    return user_folder("data") / "skills" / name


def _hash(text: str) -> str:
    return sha256(text.encode(errors="surrogateescape")).hexdigest()


def _read_text(skill: Path) -> str:
    """Empty where there is none."""
    with suppress(FileNotFoundError, NotADirectoryError):
        return read_regular(skill / FILE_NAME, _SKILL_BYTES_READ).decode(errors="replace")
    return ""


def _differs(skill: Path, text: str) -> bool:
    """Whether it is to be written. Raises where somebody else's stands there."""
    there = _read_text(skill)
    if there and _OURS not in there:
        raise PlaceError(f"{skill / FILE_NAME} is not Hardwon's: it was left as it is")
    return there != text


def _skills_in(target: Path, project: str) -> Iterator[str]:
    """Those that this project wrote."""
    mark = f"{_OURS}  project: {_json(project)}\n"
    for skill in target.iterdir():
        if skill.name.startswith(_PREFIX) and mark in _read_text(skill):
            yield skill.name


_PREFIX: Final = "hardwon-"
_OURS: Final = 'metadata:\n  generator: "hardwon"\n'
# a name that somebody gave, within a sentence of ours
_quoted: Final = partial(quote, chars_max=_SKILL_NAME_CHARS)


def _draft_skills(project: Project) -> Iterator[tuple[str, str, str, list[_Item]]]:
    """Of each skill: what it is about, its title, when to use it, and what it could say."""
    known, most = project.knowledge, _SKILL_LINES_MAX
    finder = LessonFinder(project)
    solved = []
    for lesson in finder.list_lessons(most, "cure"):
        if lesson.helped * 2 > lesson.tried:
            counts = f"(helped {lesson.helped} of {lesson.tried})"
            line = f"{lesson.situation} -> {lesson.action} {counts}"
            # somebody, or a test, confirmed one of the runs that taught it
            tested = any(run.status in VOUCHED_STATUSES for run in finder.find_evidence(lesson))
            is_vouched = lesson.verdict == "right" or tested
            solved.append(_Item(line, lesson.evidence, is_vouched, lesson.situation))
    yield "errors", "What made errors go away", "Use when a command or a test fails.", solved
    fixed = [
        _Item(
            f"{issue_type}: {one.action} (verified {one.verified} of {one.attempts})",
            one.evidence,
            one.vouched > 0,
            issue_type,
        )
        for issue_type, strategies in known.best_strategies(FIXES_IN_CONTEXT_MAX).items()
        for one in strategies
        if one.verified * 2 > one.attempts
    ]
    title = "Fixes that were verified, by issue type"
    yield "fixes", title, "Use when you fix such an issue.", fixed
    general, shared = "What works and what to avoid", _rules(known, None)
    yield "rules", general, "Use before you plan work there.", shared
    for task in project.knowledge.list_tasks(SKILL_TASKS_MAX):
        rules = [item for item in _rules(known, task) if item not in shared]
        yield f"task-{task}", f"{general} at the task {_quoted(task)}", "Use when you do it.", rules


def _rules(known: FixReading, task: str | None) -> list[_Item]:
    return [
        _Item(
            f"{rule} ({rule.helpful} for, {rule.harmful} against)",
            rule.evidence,
            rule.vouched > 0 or rule.trust in VOUCHED_STATUSES,
        )
        for rule in known.rules(task, "active", _SKILL_LINES_MAX)
    ]


def _make_skill(project: str, about: str, title: str, use: str, items: Sequence[_Item]) -> Skill:
    quoted_lines = [f"{item.line} [{', '.join(item.evidence[:2])}]" for item in items]
    ends = accumulate(map(count_tokens, quoted_lines))
    lines = quoted_lines[: max(1, sum(end <= limits.SKILL_TOKENS_MAX for end in ends))]
    evidence = tuple(
        dict.fromkeys(chain.from_iterable(item.evidence for item in items[: len(lines)]))
    )
    named = list(dict.fromkeys(filter(None, (item.named for item in items))))
    examples = ", ".join(map(_quoted, named[:_SKILL_EXAMPLES_MAX]))
    name, description = _make_name(project, about), f"{title}, in project {_quoted(project)}. {use}"
    description += f" Such as {examples}." if examples else ""
    metadata = {"generator": "hardwon", "project": project, "records": str(len(evidence))}
    # the mark follows from what is inside: the same lines make the same file
    mark = make_fence_mark(int(_hash("\n".join(lines))[:16], 16))
    text = [
        "---",
        f"name: {name}",
        f"description: {_json(description)}",
        "metadata:",
        *(f"  {key}: {_json(value)}" for key, value in metadata.items()),
        "---",
        f"\n# {title}\n",
        "From what was tried in this project, with how it went. In brackets are the records behind "
        "a line: `hardwon show ID` has all of one.\n",
        fence_lines(lines, mark),
        "",
    ]
    return Skill(name, description, metadata, "\n".join(text), evidence)


# JSON strings are YAML strings as well.
_json: Final = json.JSONEncoder(ensure_ascii=False).encode


def _make_name(project: str, about: str) -> str:
    """Of letters, digits and hyphens; where that would not tell two apart, with a part of a
    hash.
    """
    whole = f"{project}-{about}"
    plain = re.sub("[^a-z0-9]+", "-", whole.lower()).strip("-")
    if plain != whole or len(_PREFIX + plain) > _SKILL_NAME_CHARS:
        mark = _hash(f"{project}\0{about}")[:8]
        plain = f"{plain[: _SKILL_NAME_CHARS - len(_PREFIX) - 9].strip('-')}-{mark}".strip("-")
    return _PREFIX + plain
