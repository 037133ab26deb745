"""Which commands there are, in the sections and the order of the help, and what each was called
before.
"""

from collections.abc import Mapping
from typing import Final

# Each with the module that declares it: it is imported when somebody asks for the command. Without
# a module: a word of `NOUNS` that `main` declares.
COMMANDS: Final[Mapping[str, Mapping[str, str]]] = {
    "Every day": {
        "init": "admin",
        **dict.fromkeys(("remember", "record", "recall", "context", "advise"), "derived"),
        "run": "capture",
        "credit": "care",
    },
    "See and decide": {
        **dict.fromkeys(("stats", "browse", "show"), "derived"),
        "rules": "care",
        "verify": "derived",
        "forget": "care",
        "undo": "derived",
        "doctor": "derived",
        "config": "admin",
    },
    "Bring in and take out": {
        "demo": "admin",
        **dict.fromkeys(("load", "export", "merge", "adopt"), "data"),
        "import": "capture",
    },
    "More, by what it is about": dict.fromkeys(("fixes", "episodes", "tree", "care"), ""),
    "For agents and other programs": {
        "hooks": "capture",
        **dict.fromkeys(("mcp", "serve", "tokens", "postgres", "trust"), "admin"),
        "skills": "",
    },
    "For scripts written for older designs": {"drop-in": "drop_in", "fix-history": "care"},
}

# The commands that have a word before them; `add_group` says what each of these words is for.
NOUNS: Final[Mapping[str, Mapping[str, str]]] = {
    "record": dict.fromkeys(("fact", "episode", "fix", "trajectory", "any"), "derived"),
    "fixes": {
        **dict.fromkeys(("similar", "solutions", "odds", "model"), "derived"),
        **dict.fromkeys(("patterns", "recent"), "care"),
        **dict.fromkeys(("totals", "days", "types", "matrix", "trends", "fixers"), "derived"),
        **dict.fromkeys(("strategies", "best-strategies", "failed-strategies"), "derived"),
        **dict.fromkeys(("temporal-patterns", "count"), "derived"),
        "compress": "care",
    },
    "episodes": dict.fromkeys(
        ("tasks", "scores", "compare", "cards", "candidate-rules"), "derived"
    ),
    "tree": {
        **dict.fromkeys(("map", "hotspots", "reflect"), "derived"),
        **dict.fromkeys(("sync", "generate", "validate"), "data"),
    },
    "care": {
        **dict.fromkeys(("publish", "archive", "supersede", "consolidate"), "derived"),
        **dict.fromkeys(("audit", "rollback", "check-stale"), "care"),
        **dict.fromkeys(("cleanup", "compact", "reembed"), "care"),
        "rebuild": "derived",
        **dict.fromkeys(("backup", "restore"), "data"),
        "report": "admin",
        **dict.fromkeys(
            ("activity", "decisions", "helpful", "stale", "adopted", "links"), "derived"
        ),
        **dict.fromkeys(("failures", "progress", "areas"), "derived"),
        **dict.fromkeys(("failing-tests", "change-mark"), "derived"),
    },
    "hooks": dict.fromkeys(("install", "remove", "status", "run"), "capture"),
    "mcp": dict.fromkeys(("install", "remove"), "admin"),
    "skills": {"list": "derived", "export": "admin"},
    "tokens": dict.fromkeys(("create", "list", "revoke"), "admin"),
    "postgres": dict.fromkeys(("init", "grant", "revoke", "status"), "admin"),
    "drop-in": dict.fromkeys(("install", "remove", "check"), "drop_in"),
    "fix-history": dict.fromkeys(
        ("stats", "model", "export", "recent", "successful", "patterns", "cleanup"), "care"
    ),
}

# What commands were called up to 0.11: these names go on working and say the new one, and the help
# does not list them.
ALIASES: Final[Mapping[str, str]] = {
    **{
        name: f"{noun} {name}"
        for noun, names in {
            "fixes": "similar solutions odds model patterns recent strategies trends matrix fixers compress",
            "episodes": "tasks scores compare cards",
            "tree": "map hotspots reflect sync generate validate",
            "care": "publish archive supersede consolidate audit rollback cleanup compact reembed rebuild "
            "backup restore report decisions",
        }.items()
        for name in names.split()
    },
    "stale": "care check-stale",
    "successful": "fixes best-strategies",
}

MODULE_OF: Final = {name: module for names in COMMANDS.values() for name, module in names.items()}
MODULE_OF.update(
    (f"{noun} {name}", module) for noun, names in NOUNS.items() for name, module in names.items()
)
