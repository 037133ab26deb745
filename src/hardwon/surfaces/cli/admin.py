"""Where a memory is (`init`, `demo` to look at one, `config`), who reaches it (`tokens` through a
server, `postgres` as a user of a database), and the memory for others: `serve` over HTTP
(docs/serve.md tells all of it), `mcp` for MCP clients (docs/coding-agents.md says what they get),
`report` as one file of the dashboard's views.
"""

import json
import shlex
import shutil
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager, nullcontext, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, Final, Literal, get_args

import typer

from hardwon import limits
from hardwon.errors import (
    NOT_GIVEN,
    ConflictError,
    FileOnlyError,
    InvalidInputError,
    MissingExtraError,
    PlaceError,
)
from hardwon.memory import Memory
from hardwon.memory.later import databases
from hardwon.memory.places import find_place, memory_exists, note
from hardwon.memory.tokens import Token, author_name
from hardwon.outside import files
from hardwon.outside.files import repository_root
from hardwon.outside.git import IN_INDEX, Repository, in_index
from hardwon.outside.locations import (
    DEFAULT_PROJECT,
    FOLDER_NAME,
    check_path,
    is_url,
    without_password,
)
from hardwon.records.fields import check_that, now
from hardwon.records.kinds import Source
from hardwon.surfaces.cli.main import (
    QUIET,
    STRONG,
    Json,
    Line,
    Output,
    Span,
    Target,
    Yes,
    add_group,
    chosen,
    command,
    complain,
    epilog_of,
    look,
    memory_options,
    require_consent,
    require_packages,
    settings_of,
    visible,
    write,
)
from hardwon.surfaces.cli.views import counted, size_text
from hardwon.surfaces.mcp import clients as mcp_clients
from hardwon.trust.access import Caller, Scope
from hardwon.trust.redact import redact


@command(
    "hardwon init",
    "hardwon --memory agent_brain init --tree",
    answers="JSON: `location` (the file of the memory, or its database), `project`, `created` "
    "(false: it was there before), `tree` (the folder of its files, or null).",
    more="Every command finds `.hardwon` from the folder it is in, and from all folders below. A "
    "`.gitignore` in it keeps the "
    "memory out of git; with `--tree`, its files are for git and the databases are not. `--agents` adds a section to the "
    "`AGENTS.md` of this folder, or brings it up to date; the rest of the file stays.",
)
def init(
    ctx: typer.Context,
    tree: Annotated[
        bool,
        typer.Option(
            "--tree", help="Give it a tree of files, one for each experience, to read and to edit."
        ),
    ] = False,
    agents: Annotated[
        bool, typer.Option("--agents", help="Tell agents of it: a section in AGENTS.md.")
    ] = False,
) -> Output:
    """Make a memory: .hardwon here, or where --memory says. One that is there stays as it is."""
    named = chosen(ctx)
    with _opened(named) as (memory, created):
        planted = memory.tree.make() if tree else memory.tree.mirror
        if created and not planted and not named.memory:
            files.hide_from_git(_folder())
        root = str(planted.root) if planted else None
        place = {"location": memory.location, "project": memory.project}
    if agents:
        mcp_clients.write_agents_section(Path("AGENTS.md"))
    shown = {"memory": without_password(named.memory or ""), "project": named.project}
    options = "".join(f" --{name} {shlex.quote(each)}" for name, each in shown.items() if each)
    state = "a new memory" if created else "the memory is here already"
    lines = [
        f"{state}: {place['location']}, project {place['project']}",
        *([f"its files: {root}"] if root else []),
        f'to keep something:          hardwon{options} remember "what happened"',
        f'to find it again:           hardwon{options} recall "what it is about"',
        f"to record what you run:     hardwon{options} run -- COMMAND",
        f'before the next attempt:    hardwon{options} context "what is to be done"',
    ]
    return Output({**place, "created": created, "tree": root}, "\n".join(lines))


def _folder() -> Path:
    """Where a memory is made that nobody named: here; at the root of a linked worktree, where all
    worktrees find it.
    """
    here = Path.cwd()
    return (Repository(here).home if repository_root(here) == here else here) / FOLDER_NAME


@contextmanager
def _opened(named: Target) -> Iterator[tuple[Memory, bool]]:
    """The memory, and whether it is new. A folder that was made for nothing goes again."""
    folder = _folder()
    makes_folder = not named.memory and not folder.is_dir()
    if makes_folder:
        files.make_folder(folder)
    try:
        created = not memory_exists(named.memory)
        with Memory(named.memory, named.project) as memory:
            yield memory, created
    finally:
        if makes_folder:
            with suppress(OSError):  # something is in it
                folder.rmdir()


@command(
    "hardwon trust",
    "hardwon trust --json",
    answers="`memory` (its file), `in_index` (whether the repository's index has it), `revoked` (how many tokens "
    "came with it and were revoked).",
    more="""A memory that is found, because a `.hardwon` folder lies here or above or a checkout's settings name it, may have
    come with a clone or an archive. One that was neither made nor restored here is not used, by hooks without a word to the
    agent, until this command; also after it was moved, or replaced by another file, and where git has it in its index after
    each change that git brings. A memory that is named (`--memory`, `HARDWON_MEMORY`, the user's settings) is used as it is.

    Tokens that came with the memory are revoked: somebody has them. `--tokens` keeps them, where they are your own: look at
    `hardwon tokens list` first.""",
)
def trust(
    ctx: typer.Context,
    tokens: Annotated[
        bool, typer.Option("--tokens", help="Keep the tokens that came with it, too.")
    ] = False,
) -> Output:
    """Use a memory that was found here and not made here."""
    named = chosen(ctx)
    path = find_place(named.memory).path
    if path is None or not memory_exists(named.memory):
        raise PlaceError(f"there is no memory in a file at {find_place(named.memory).location}")
    # opened by its name first: what is no memory is not trusted
    with Memory(path, named.project) as memory:
        note(path)
        came = [each for each in memory.tokens.all() if each.state(memory.care.now()) == "active"]
        for each in () if tokens else came:
            memory.tokens.revoke(each.id)
    tracked = in_index(path.resolve()) is not None
    notes = [f"warning: {IN_INDEX.format(path)}"] if tracked else []
    revoked = 0 if tokens else len(came)
    told = f"trusted: {path}"
    if revoked:
        told += f"; {counted(revoked, 'token')} that came with it revoked, --tokens keeps them"
    answer = {"memory": str(path), "in_index": tracked, "revoked": revoked}
    return Output(answer, told, complaints=notes)


@command(
    "hardwon demo",
    "hardwon --memory demo_brain demo --seed 7",
    answers="""of the story `without` and `with`, each a list of three sessions, lists of attempts (`command`, `printed`,
    `worked`, `warning`: what the memory said before); of a memory that was filled `memory` (where it is), `records` (how
    many of each kind).""",
    more="""The story is of an agent that fails, is warned and succeeds, and of a team-mate with its memory; its commands
    are really run, in a folder that is gone afterwards. `--serve` shows two months of a made-up team in the dashboard: no
    token is asked for, nobody but this machine reaches it, and it is gone when you end it. With `--memory`, which must be
    empty or new, they are kept there.""",
)
def demo(
    ctx: typer.Context,
    seed: Annotated[
        int, typer.Option(min=0, help="The same seed makes the same two months, which end now.")
    ] = 0,
    serve: Annotated[
        bool,
        typer.Option("--serve", help="Look at two months of a made-up team in the dashboard."),
    ] = False,
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Where to; 0 takes one that is free.")
    ] = limits.SERVE_PORT,
    as_json: bool = False,
) -> Output:
    """See in a minute what a memory is good for. With --serve, look at a whole one; with --memory,
    fill that one.
    """
    given: Target = ctx.obj
    if not given.memory and not serve:
        from hardwon.surfaces.cli.story import tell_story

        sessions, lines = tell_story(look())
        shown = (Span("Two months of a made-up team to look at: hardwon demo --serve", QUIET),)
        return Output(sessions, [*lines, (), shown])
    if serve:
        require_serving()
    with nullcontext() if given.memory else TemporaryDirectory(prefix="hardwon-demo-") as passing:
        location = given.memory or str(passing)
        answer = _fill(location, given.project, seed, passing=not given.memory)
        if not serve:
            return answer
        answer.print(as_json)
        ctx.find_root().obj = Target(location, given.project)
        serve_(ctx, port=port, no_auth=True, as_json=as_json)
    raise typer.Exit


def _fill(location: str, project: str | None, seed: int, passing: bool) -> Output:
    from hardwon.tree.datasets.generate import fill_demo

    shown = without_password(location)
    look_at = f"hardwon --memory {shown} serve --no-auth"
    with Memory(location, project, checkout=False) as memory:
        if memory.stats().total:
            raise ConflictError(
                f"{shown} has records already: name a new folder with --memory, or look at it: "
                f"{look_at}"
            )
        records = fill_demo(memory, seed)
        place = memory.location
    several = {"fix": "fixes", "trajectory": "trajectories"}
    made = ", ".join(counted(count, kind, several.get(kind, "")) for kind, count in records.items())
    text = f"made {shown}: {made}\nto look at it: {look_at}"
    if passing:
        text = f"{made}: gone when this ends"
    return Output({"memory": place, "records": records}, text)


@command(
    "hardwon config",
    "hardwon --memory agent_brain config --json",
    answers="""`settings` (a list of `name`, `value`, `origin` (option, environment, project file, user file or default) and
    `where`, which option, variable or file; null for a default), `location` (the memory's file, or its database),
    `files` (a list of `origin`, `path` and `exists`), `ignored` (what the project's file may not set here, in words).""",
    more="""An option counts before the environment (`HARDWON_MEMORY`, `HARDWON_PROJECT`, `HARDWON_AUTHOR`), that before the
    project's file (the nearest `.hardwon/config.toml` upward), that before the user's (`~/.config/hardwon/config.toml`, or
    where the system keeps such files). Both are TOML with the keys `memory`, `project` and `author`; the author is who
    remember, record and run say it was. In the user's file, `memory` is a path from the root or from a home folder, or the
    `postgresql://…` of a database.

    A project's file comes with a checkout, which may be somebody else's, so it speaks for that checkout alone: it may name
    a memory inside the folder that `.hardwon` lies in (relative to that folder, links followed) and no other, and its
    `project` and `author` are ignored where the memory in use lies elsewhere. A file with another key, with anything but
    texts, or that is no TOML is an error that names the file; passwords in addresses are not shown.""",
)
def config(ctx: typer.Context) -> Output:
    """Show every setting, its value, and where that comes from."""
    found = settings_of(ctx)
    location = find_place(found.memory.value).location
    defaults = {
        "memory": location,
        "project": find_place(found.memory.value).project,
        "author": Source().author,
    }
    settings: list[dict[str, Any]] = [
        {
            **each._asdict(),
            "value": redact(without_password(each.value or defaults[each.name]))[0],
        }
        for each in found
    ]
    project_file = str(found.project_file) if found.project_file else None
    # the user's is named also where there is none: somebody may want to make it
    paths: list[dict[str, Any]] = [
        {"origin": "project file", "path": project_file, "exists": project_file is not None},
        {"origin": "user file", "path": str(found.user_file), "exists": found.user_file.exists()},
    ]
    lines: list[Line] = [
        (
            Span(f"{each['name']:<9}", STRONG),
            Span(visible(each["value"])),
            Span(
                f"  ({each['origin']}: {visible(each['where'])})"
                if each["where"]
                else f"  ({each['origin']})",
                QUIET,
            ),
        )
        for each in settings
    ]
    where = "in the database " if is_url(location) else "in the file "
    lines.append((Span(where, QUIET), Span(visible(location))))
    for file in paths:
        missing = ", which does not exist" if file["path"] and not file["exists"] else ""
        path = Span(visible(str(file["path"] or "none here")))
        lines.append((Span(f"{file['origin']}: ", QUIET), path, Span(missing, QUIET)))
    lines += [(Span("ignored: ", STRONG), Span(visible(each))) for each in found.ignored]
    return Output(
        {
            "settings": settings,
            "location": location,
            "files": paths,
            "ignored": list(found.ignored),
        },
        lines,
    )


# --- tokens ---

add_group(
    "tokens",
    "Tokens: who may reach the memory through a server.",
    """A token says who may reach the memory through a server, as whom, how far and until when; [serve.md](serve.md) tells
    what each scope may do. The name is the author of whatever is written with it. `hardwon tokens create` prints the token
    alone on standard output, once: only its hash is kept.""",
)
_ONE: Final = (
    "`id`, `name`, `scope`, `projects` (null: all), `created`, `expires` (null: never), `revoked` "
    "(null: not) and `state` (active, expired or revoked)"
)


@command(
    "hardwon tokens create ci --scope write --project app",
    "hardwon tokens create me --json",
    words="tokens create",
    answers=f"""{_ONE}, and the `token` itself.""",
)
def create(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(help="The author of whatever is written with it.")],
    scope: Annotated[Scope, typer.Option(help="What it may do.")] = "read",
    project: Annotated[
        list[str] | None,
        typer.Option(help="A project that it reaches. As often as you like.", show_default="all"),
    ] = None,
    days: Annotated[
        float | None,
        typer.Option(help="How long it is valid.", show_default=str(limits.TOKEN_DAYS)),
    ] = None,
    never_expires: Annotated[
        bool, typer.Option("--never-expires", help="Until it is revoked.")
    ] = False,
) -> Output:
    """Make a token. It is printed once, and kept nowhere."""
    allowed = "--days or --never-expires, not both"
    check_that(not never_expires or days is None, "days", days, allowed)
    valid = None if never_expires else limits.TOKEN_DAYS if days is None else days
    with chosen(ctx).open() as memory:
        made = memory.tokens.create(name, scope, project or None, valid)
    notes = [f"keep it safe: it is not shown again. {_described(made.token)}"]
    notes += ["it never expires: hardwon tokens revoke ends it"] if never_expires else []
    return Output({**_json_of(made.token), "token": made.secret}, made.secret, complaints=notes)


@command(
    "hardwon tokens list",
    "hardwon tokens list --json",
    words="tokens list",
    answers=f"a list of {_ONE}.",
)
def list_(memory: Memory) -> Output:
    """List the tokens, and those that ended not long ago. Never the tokens themselves."""
    found = memory.tokens.all()
    listed = "\n".join(map(_described, found)) or "no tokens: hardwon tokens create NAME makes one"
    return Output(list(map(_json_of, found)), listed)


@command(
    "hardwon tokens revoke ci --yes",
    words="tokens revoke",
    answers=f"a list of those that were revoked, each {_ONE}.",
)
def revoke(
    memory: Memory,
    id_or_name: Annotated[
        str, typer.Argument(help="The id of a token, or the name of one or more.")
    ],
    yes: Yes = False,
    as_json: bool = False,
) -> Output:
    """End a token at once, or all of one name. Asks first."""
    meant = memory.tokens.named(id_or_name)
    listed = ", ".join(visible(_described(each)) for each in meant)
    require_consent(f"Revoke {counted(len(meant), 'token')}: {listed}?", yes, as_json=as_json)
    ended = memory.tokens.revoke(id_or_name)
    names = "\n".join(f"revoked: {each.name} ({each.id})" for each in ended)
    return Output(list(map(_json_of, ended)), names)


def _json_of(token: Token) -> dict[str, Any]:
    from hardwon.surfaces.operations import jsonable  # it takes a while to load

    return {**jsonable(token), "state": token.state(now())}


def _described(token: Token) -> str:
    reach, life = "all projects", "never expires"
    if token.projects is not None:
        reach = f"{counted(len(token.projects), 'project')} {', '.join(token.projects)}"
    if token.revoked or token.expires:
        state = token.state(now())
        life = "valid until" if state == "active" else state
        life += "" if token.revoked else f" {token.expires:%Y-%m-%d}"
    return f"{token.name} ({token.id}): {token.scope}, {reach}, {life}"


# --- PostgreSQL ---

add_group(
    "postgres",
    "Set up a PostgreSQL database, and say who reaches what.",
    """[storage.md](storage.md) tells all of it. `URL` is `postgresql://user@host/database`; it may be left out where
    `--memory`, or a setting, names a database. No password is shown. These commands need `pip install 'hardwon[postgres]'`.

    | a database user may, as | |
    |---|---|
    | `reader` | recall, and everything else that only reads |
    | `writer` | also record, and credit what helped |
    | `governor` | also decide and take away: verify, publish, archive, forget, clean up, rebuild, merge |

    A user who is granted nothing sees no record. Each project is a world of its own: the database itself keeps them apart.""",
)

Url = Annotated[
    str | None,
    typer.Argument(metavar="URL", help="The database.", show_default="the chosen memory's"),
]
UrlBeforeUser = Annotated[
    str, typer.Argument(metavar="URL", help="The database; may be left out as above.")
]
User = Annotated[
    str | None,
    typer.Argument(metavar="USER", help="A database user that exists.", show_default=False),
]
Project = Annotated[
    str | None, typer.Option(help="The project.", show_default="the chosen one, else default")
]
ForServer = Annotated[
    bool,
    typer.Option("--server", help="Instead of a project: the tokens, for who runs hardwon serve."),
]
_SETUP: Final = """`location`, `version` (of the schema), `server` (its version), `projects`, `grants` (a list of `user`,
    `project` and `access`; project null and access "server": the tokens), `vectors` (whether pgvector indexes them)."""
_GRANT: Final = "`user`, `project` (null: the tokens of a server)"


@command(
    "hardwon postgres init postgresql://admin@localhost/brain",
    "hardwon postgres init postgresql://admin@localhost/brain --project shop --project website "
    "--json",
    words="postgres init",
    answers=_SETUP,
    more="""It may be run again, to add a project or after an upgrade. It makes what is missing of

    - the schema `hardwon`, with the list of projects and the tokens of a server;
    - roles of the whole server: `hardwon_owner` (has the tables) and `hardwon_keeper` (reaches the tokens);
    - a schema for each project (`hardwon_shop_1a2b3c4d5e6f7a8b`), with tables and three views of fix history, and three
      roles that alone reach it (the same name and `_reader`, `_writer`, `_governor`);
    - the extension pgvector, where the server has it and the user may add it. Without it, vectors are compared one by one.

    No role can log in. The user of `URL` becomes a governor of the projects. Make the database first (`createdb brain`).
    PostgreSQL 15 or newer.""",
)
def init_postgres(
    ctx: typer.Context,
    url: Url = None,
    project: Annotated[
        list[str] | None,
        typer.Option(
            help="A project to make. As often as you like.",
            show_default="the chosen one, else default",
        ),
    ] = None,
) -> Output:
    """Set a database up for memories: a schema and roles for each project. What is there stays,
    and what an older version set up is carried over.

    The database user needs CREATEROLE, and CREATE on the database.
    """
    names = project or [chosen(ctx).project or DEFAULT_PROJECT]
    made = databases.initialise(_url(ctx, url), names)
    ready = f"{counted(len(names), 'project')} ready: {', '.join(names)}"
    return Output(made, f"{ready}\n{_setup(made)}")


@command(
    "hardwon postgres grant postgresql://admin@localhost/brain anna --project shop",
    "hardwon --memory postgresql://admin@localhost/brain postgres grant anna --project shop --as "
    "governor --json",
    "hardwon postgres grant postgresql://admin@localhost/brain anna --server",
    words="postgres grant",
    answers=f"{_GRANT}, `access`.",
    more="""Just so far: a governor who is granted `--as reader` is a reader from then on. The user is one of the server's own
    (`CREATE ROLE anna LOGIN`).""",
)
def grant(
    ctx: typer.Context,
    url: UrlBeforeUser,
    user: User = None,
    project: Project = None,
    access: Annotated[
        Literal["reader", "writer", "governor"], typer.Option("--as", help="How far it reaches.")
    ] = "writer",
    server: ForServer = False,
) -> Output:
    """Let a database user reach a project: read it, write to it, or govern it."""
    place, who = _url_and_user(ctx, url, user)
    where = _project(ctx, project, server)
    databases.grant(place, who, where, access)
    granted = "server" if where is None else access
    return Output({"user": who, "project": where, "access": granted}, _reach(who, where, access))


@command(
    "hardwon postgres revoke postgresql://admin@localhost/brain anna --project shop",
    "hardwon postgres revoke postgresql://admin@localhost/brain anna --server --json",
    words="postgres revoke",
    answers=f"{_GRANT}, `revoked` (false where it had no access).",
)
def revoke_access(
    ctx: typer.Context,
    url: UrlBeforeUser,
    user: User = None,
    project: Project = None,
    server: ForServer = False,
) -> Output:
    """Take back whatever a database user may do with a project. Nothing that it wrote goes."""
    place, who = _url_and_user(ctx, url, user)
    where = _project(ctx, project, server)
    revoked = databases.revoke(place, who, where)
    what = "the tokens of a server" if where is None else f"project {where}"
    return Output(
        {"user": who, "project": where, "revoked": revoked},
        f"{who} {'no longer reaches' if revoked else 'did not reach'} {what}",
    )


@command(
    "hardwon postgres status postgresql://admin@localhost/brain",
    "hardwon --memory postgresql://admin@localhost/brain postgres status --json",
    words="postgres status",
    answers=_SETUP,
)
def status(ctx: typer.Context, url: Url = None) -> Output:
    """Tell what a database is set up for, and who reaches what, as far as its user sees it."""
    found = databases.describe(_url(ctx, url))
    return Output(found, _setup(found))


def _url(ctx: typer.Context, given: str | None) -> str:
    found = chosen(ctx).memory if given is None else given
    if found is None or not is_url(found):
        raise InvalidInputError.one(
            "url",
            without_password(found) if found else NOT_GIVEN,
            "postgresql://user@host/database, after the command or as the chosen memory (--memory)",
        )
    return found


def _url_and_user(ctx: typer.Context, first: str, second: str | None) -> tuple[str, str]:
    """Where one of them is given it is the user."""
    given, user = (None, first) if second is None else (first, second)
    allowed = "the name of a database user after the address"
    check_that(given is not None or not is_url(user), "user", None, allowed)
    return _url(ctx, given), user


def _project(ctx: typer.Context, given: str | None, server: bool) -> str | None:
    allowed = "--project or --server, not both"
    check_that(not server or given is None, "project", given, allowed)
    return None if server else given or chosen(ctx).project or DEFAULT_PROJECT


def _setup(found: Any) -> str:
    return "\n".join(
        [
            f"{found.location}: PostgreSQL {found.server}, schema hardwon of version "
            f"{found.version}",
            "vectors are indexed by pgvector"
            if found.vectors
            else "no pgvector: vectors are compared one by one",
            f"projects: {', '.join(found.projects) or 'none'}",
            *(_reach(each.user, each.project, each.access) for each in found.grants),
        ]
    )


def _reach(user: str, project: str | None, access: str) -> str:
    return (
        f"{user} keeps the tokens of a server"
        if project is None
        else f"{user} is a {access} of project {project}"
    )


Tools = Annotated[
    Literal["few", "all"],
    typer.Option(help="MCP: the few tools that an agent needs, or all there are."),
]

# Who everybody is where no token is asked for.
ANYBODY: Final = Caller("anonymous", "admin")


@command(
    "hardwon serve",
    "hardwon serve --port 0 --json",
    "hardwon serve --no-auth",
    answers="one line, once it listens: `url`.",
    more="""[serve.md](serve.md) tells all of it. It says on standard error where it listens, and runs until SIGTERM or SIGINT
    ends it: it then takes no more requests, finishes those it has, and ends with exit code 0. A second signal ends it at
    once. It needs `pip install 'hardwon[serve]'`.""",
)
def serve_(
    ctx: typer.Context,
    host: Annotated[str, typer.Option(help="The address to listen at.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="The port; 0 takes one that is free.")
    ] = limits.SERVE_PORT,
    no_auth: Annotated[
        bool,
        typer.Option(
            "--no-auth", help="Ask for no token. Only where nobody but this machine reaches it."
        ),
    ] = False,
    tls_cert: Annotated[
        Path | None, typer.Option(help="A certificate with its chain, in PEM: serves https.")
    ] = None,
    tls_key: Annotated[Path | None, typer.Option(help="Its key, in PEM.")] = None,
    plain_http: Annotated[
        bool,
        typer.Option(
            "--plain-http",
            help="Serve other machines without TLS: whoever is in between reads every token.",
        ),
    ] = False,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(help="A name that the server also goes by. As often as you like."),
    ] = None,
    allow_origin: Annotated[
        list[str] | None, typer.Option(help="An origin whose pages may ask. As often as you like.")
    ] = None,
    rate: Annotated[
        float, typer.Option(min=0.1, help="Requests of one caller per second.")
    ] = limits.REQUESTS_PER_S,
    tools: Tools = "few",
    btb: Annotated[
        bool, typer.Option("--btb", help="MCP: also under the tool names of BTB.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Serve the memory over HTTP until a signal ends it. What was accepted is finished first."""
    require_serving()
    from hardwon.surfaces.gate import Gate
    from hardwon.surfaces.rest import app as rest
    from hardwon.surfaces.rest.guard import ServerOptions, is_loopback

    if (tls_cert is None) != (tls_key is None):
        missing = "tls_key" if tls_key is None else "tls_cert"
        raise InvalidInputError.one(missing, None, "both, or neither of them")
    certificate = rest.Certificate(tls_cert, tls_key) if tls_cert and tls_key else None
    _check_reach(
        host, is_loopback(host), certificate is not None, no_auth=no_auth, plain_http=plain_http
    )
    with (
        Memory(chosen(ctx).memory, chosen(ctx).project, checkout=False) as memory,
        closing(rest.bind(host, port)) as listening,
        # for what is on its way: beside the memory's file, and of a database one of our own
        TemporaryDirectory(prefix="hardwon-serving-")
        if is_url(memory.location)
        else nullcontext(Path(memory.location).parent) as spool,
    ):
        settings = ServerOptions(
            host,
            listening.getsockname()[1],
            memory.project,
            Path(spool),
            certificate is not None,
            tuple(allow_host or ()),
            tuple(allow_origin or ()),
            btb,
            tools == "all",
        )
        if btb:
            _plant(memory)
        gate = Gate(
            memory.care.in_project,
            memory.tokens,
            open_to=ANYBODY if no_auth else None,
            requests_per_s=rate,
        )
        rest.remove_left_over(settings.spool)
        if not no_auth and not memory.tokens.all():
            complain(
                "there is no token yet, so nobody is let in: hardwon tokens create NAME --scope "
                "write makes one"
            )

        def ready() -> None:
            sys.stderr.write(f"hardwon: serving {settings.url}\n")
            sys.stderr.flush()
            if as_json:
                write(json.dumps({"url": settings.url}) + "\n")

        rest.run(rest.server_of(rest.build_app(gate, settings), certificate, ready), listening)


def require_serving() -> None:
    require_packages(
        "serving", "starlette", "uvicorn", "prometheus_client", "jinja2", "plotly", "mcp"
    )


def _check_reach(host: str, loopback: bool, tls: bool, *, no_auth: bool, plain_http: bool) -> None:
    alone = f"an address of this machine alone, and not {host}: make tokens instead"
    check_that(loopback or not no_auth, "no_auth", True, alone)
    if no_auth:
        complain(
            "--no-auth: whoever reaches this port, any program of this machine, may read and "
            "change everything"
        )
    check_that(
        loopback or tls or plain_http,
        "host",
        host,
        "with --tls-cert and --tls-key; behind a proxy that has them, at 127.0.0.1; or with --plain-http",
    )
    if not loopback and not tls:
        complain(
            "--plain-http: whoever is between a caller and this server reads every token, and "
            "everything else"
        )


# --- MCP ---

# `mcp_clients.CLIENTS`.
ClientName = Literal[
    "claude-code", "claude-desktop", "cursor", "vscode", "windsurf", "gemini-cli", "codex"
]

Which = Annotated[
    ClientName,
    typer.Argument(help=f"The client: {', '.join(get_args(ClientName))}.", show_default=False),
]
Write = Annotated[
    bool, typer.Option("--write", help="Change the client's file instead of printing it.")
]
ForUser = Annotated[
    bool, typer.Option("--user", help="For all projects, where the client also has a file in each.")
]
Name = Annotated[str, typer.Option(help="What the client calls the server.", metavar="NAME")]


def serve_mcp(
    ctx: typer.Context,
    author: Annotated[
        str | None,
        typer.Option(
            help="Who is named in what is recorded.",
            show_default="the client, as it introduces itself",
        ),
    ] = None,
    scope: Annotated[Scope, typer.Option(help="How far the client may go.")] = "write",
    tools: Tools = "few",
    btb: Annotated[
        bool, typer.Option("--btb", help="Also the tool names of the BTB memory server.")
    ] = False,
    check: Annotated[
        bool, typer.Option("--check", help="Only say whether it could start: exit code 0 or 1.")
    ] = False,
) -> None:
    if author is not None:
        author = author_name("--author", author)
    if ctx.invoked_subcommand is not None:
        ctx.meta["mcp"] = [
            *(["--author", author] if author else []),
            *(["--scope", scope] if scope != "write" else []),
            *(["--tools", tools] if tools != "few" else []),
            *(["--btb"] if btb else []),
        ]
        return
    try:
        from hardwon.surfaces.mcp.server import serve_stdio
    except ImportError as error:
        raise MissingExtraError(
            f"the MCP SDK cannot be imported ({error}); install it with: pip install 'hardwon[mcp]'"
        ) from None
    if check:
        return
    with chosen(ctx).open(to_read=scope == "read") as memory:
        if btb and scope != "read":
            _plant(memory)
        serve_stdio(memory, author, scope, every=tools == "all", btb=btb)


def _plant(memory: Memory) -> None:
    """The names of BTB promise files; in a database, and beside another project's, there are none."""
    with suppress(FileOnlyError, InvalidInputError):
        memory.tree.make()


add_group(
    "mcp",
    "Serve the memory to an MCP client, or tell one to start it.",
    """[coding-agents.md](coding-agents.md) says what a client gets.
    Without a further word it serves, until the client closes its end, or
    SIGTERM (exit code 0) or SIGINT (130) ends it. It takes `pip install 'hardwon[mcp]'`.

    `hardwon mcp install CLIENT` prints what a client needs to start it, with the `--memory`, `--project` and options that
    stand before `install`. With `--write` it goes into the client's file: other entries stay, a file that is not plain JSON
    is left alone, and the file is replaced whole or not at all. Nothing is written
    that could not start (`--check`). The file is the project's where the client has one there;
    `--user` means the user's own. Codex keeps TOML, which is printed and never written. The address of a database is refused
    with a password in it: `PGPASSWORD`, a password file (`~/.pgpass`) or a service keeps that out of the client's file.""",
    epilog=epilog_of(
        [
            "hardwon mcp",
            "hardwon mcp --scope read --author ci",
            "hardwon mcp install claude-code --write",
        ]
    ),
    no_args_is_help=False,
    invoke_without_command=True,
    callback=serve_mcp,
)


@command(
    "hardwon mcp install claude-code",
    "hardwon mcp install cursor --write",
    words="mcp install",
    answers="""`client`, `file`, `command` (its words), `written` (whether the file was changed), `config` (what belongs in
    it).""",
)
def install(
    ctx: typer.Context,
    client: Which,
    save: Write = False,
    user: ForUser = False,
    name: Name = "hardwon",
) -> Output:
    """Print what a client needs to start this memory, or write it into the client's file. No
    password of a database goes there: PGPASSWORD, a password file or a service has it.
    """
    check_that(name.strip() and name.isprintable(), "name", name, "a text on one line")
    known = mcp_clients.CLIENTS[client]
    path = known.file(user, Path.home(), Path.cwd())
    words = [
        *_program(shared=not user and known.project is not None),
        *memory_options(ctx),
        "mcp",
        *ctx.meta.get("mcp", []),
    ]
    changed = save and mcp_clients.write(known, path, name, words, check=True)
    config = mcp_clients.snippet(known, name, words)
    value = {"client": client, "file": str(path), "command": words, "written": changed}
    state = "now" if changed else "already"
    text = f"{name} is {state} in {path}; start {known.title} anew to use it"

    own = known.add and known.add.format(name=shlex.quote(name), command=shlex.join(words))
    ways = [
        f"this belongs in {path}",
        "" if known.is_toml else "--write puts it there",
        f"or run: {own}" if own else "",
    ]
    where = [] if save else ["; ".join(filter(None, ways))]
    return Output({**value, "config": config}, text if save else config, complaints=where)


@command(
    "hardwon mcp remove cursor --write",
    words="mcp remove",
    answers="`client`, `file`, `removed` (whether the file was changed).",
)
def remove(
    client: Which,
    save: Write = False,
    user: ForUser = False,
    name: Name = "hardwon",
) -> Output:
    """Take it out of a client's file again; without --write, say where it would be."""
    known = mcp_clients.CLIENTS[client]
    path = known.file(user, Path.home(), Path.cwd())
    changed = save and mcp_clients.take_out(known, path, name)
    text = f"{name} would be taken out of {path}: add --write"
    if save:
        text = f"{name} is {'no longer' if changed else 'not'} in {path}"
    return Output({"client": client, "file": str(path), "removed": changed}, text)


@command(
    "hardwon skills export .claude/skills",
    "hardwon skills export ~/.agents/skills --unverified --json",
    words="skills export",
    answers="`folder`, and the names of skills that were `written`, `unchanged` and `removed`.",
    more="""What made errors go away, fixes that were verified, and rules, each with how often it worked and the records behind
    it. Only what somebody or a test vouched for (`verify`), unless `--unverified` is given. The names stay the same: files are
    brought up to date, those of which nothing is left are taken away, and others are left alone. What is forgotten later goes
    from the folder too.""",
)
def export_skills(
    memory: Memory,
    folder: Annotated[str, typer.Argument(help="The folder of skills, such as .claude/skills.")],
    unverified: Annotated[
        bool, typer.Option("--unverified", help="Also what nobody vouched for.")
    ] = False,
) -> Output:
    """Write what has proved itself as Agent Skills (SKILL.md)."""
    done = memory.skills.export(folder, unverified=unverified)
    counts = (
        f"{len(done.written)} written, {len(done.unchanged)} unchanged, {len(done.removed)} removed"
    )
    return Output(done, f"{done.folder}: {counts}")


def _program(*, shared: bool) -> list[str]:
    """What starts this program: by its name in a file that others may get, by its place
    otherwise.
    """
    if shared and shutil.which("hardwon"):
        return ["hardwon"]
    beside = Path(sys.executable).with_name("hardwon")
    return (
        [str(beside)] if beside.is_file() else [sys.executable, "-m", "hardwon.surfaces.cli.main"]
    )


# --- the report ---

# As the dashboard has them.
TimeRange = Literal["7d", "30d", "90d", "all"]


@command(
    "hardwon care report report.html",
    "hardwon care report report.html --range all --yes --json",
    words="care report",
    answers="`file`, `size_bytes`, `parts` (the titles of the views in it).",
    more="""What `hardwon serve` shows, of one project and one time: overview, map, fixes, episodes, and the lists that wait for
    a decision. The file opens in a browser without a network and without a server, and can be sent to others: it holds
    what it shows as text, and its policy (CSP) lets no script run but those that it brings. It has some five megabytes, nearly
    all of it the script that draws the charts. Where the file exists it asks, or takes `--yes`. It needs `pip install
    'hardwon[serve]'`.""",
)
def report(
    ctx: typer.Context,
    file: Annotated[str, typer.Argument(help="Where to, such as report.html.")],
    time_range: Annotated[TimeRange, typer.Option("--range", help="Of how long.")] = "30d",
    yes: Yes = False,
    as_json: bool = False,
) -> Output:
    """Write what the dashboard shows as one HTML file that opens anywhere."""
    require_packages("a report", "starlette", "jinja2", "plotly")
    path = check_path("file", file)
    from hardwon.surfaces.gate import Ask, Gate
    from hardwon.surfaces.web import site as web

    reader = Caller("report", "read")
    with chosen(ctx).open(to_read=True) as memory:
        replaced = files.target("file", path, memory.location, "report.html")
        is_page = path.suffix.lower() in (".html", ".htm")
        check_that(is_page, "file", file, "a name that ends in .html")
        if path.exists():
            require_consent(f"Replace {visible(str(path))}?", yes, as_json=as_json)
        with closing(Gate(memory.care.in_project, None, open_to=reader)) as gate:
            made = web.report(Ask(gate, reader, memory.project), time_range)
    with files.writing_atomically(replaced) as target:
        target.write(made)
    size = len(made)
    return Output(
        {"file": str(path), "size_bytes": size, "parts": [part.title for part in web.parts()]},
        f"{size_text(size)} written to {path}: open it in a browser",
    )
