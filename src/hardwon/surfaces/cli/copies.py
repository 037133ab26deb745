"""Copies of a memory, its vectors, one file of its dashboard, and whether one that was found is
used.
"""

import os
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from hardwon.errors import PlaceError
from hardwon.memory import Memory
from hardwon.memory.places import find_place, memory_exists, note
from hardwon.outside import files
from hardwon.outside.git import IN_INDEX, in_index
from hardwon.outside.locations import check_path, is_url
from hardwon.records.fields import check_all, check_that
from hardwon.surfaces.cli import views
from hardwon.surfaces.cli.main import Yes, arg, chosen, command, opt, read_memory
from hardwon.surfaces.cli.output import fail, progress, require_consent, require_packages, show
from hardwon.surfaces.cli.views import counted, size_text
from hardwon.trust.access import Caller

if TYPE_CHECKING:
    from hardwon.outside.embedders import Embedder

# --- copies, vectors, and a report ---


@command("care backup", "hardwon care backup copy.db", "hardwon care backup other.db --json")
def backup(file: Annotated[str, arg("Where to: a file that does not exist yet.")]) -> None:
    """Copy the whole memory. Others may use it meanwhile; the copy is verified and gets a checksum
    beside it.

    With all its projects, as of one instant. `FILE.sha256` beside it is for `sha256sum --check`.
    `examples/backup.sh` makes such copies from cron and keeps the newest.

    JSON: `file`, `sha256`, `size_bytes`.
    """
    with (
        chosen().open(to_read=True, of_all=True) as memory,
        progress("copying", "no file was written") as bar,
    ):
        made = memory.backup(file, progress=bar)
    answer = {"file": str(made.path), "sha256": made.sha256, "size_bytes": made.size_bytes}
    text = f"{size_text(made.size_bytes)} copied to {made.path}\nsha256 {made.sha256}"
    show(answer, text)


@command(
    "care restore",
    "hardwon care restore copy.db --yes",
    "hardwon --memory other care restore copy.db --yes --json",
)
def restore(file: Annotated[str, arg("What backup made.")], yes: Yes = False) -> None:
    """Put a backup where the memory is. Asks first; the memory that was there is kept beside it.

    Also while others have the memory open.

    JSON: `file`, `kept` (where the memory that was there is now, or null).
    """
    location = chosen().memory
    if not Path(file).is_file():
        fail(f"there is no backup at {file}")
    # a database is refused, whatever the answer
    if not is_url(location) and chosen().may_exist():
        where = location or "that is found from here"
        question = f"Replace the memory {views.visible(where)} by {views.visible(file)}?"
        require_consent(question, yes)
    with progress("restoring") as bar:
        kept = Memory.restore(file, location, progress=bar)
    text = f"{file} is the memory now" + (f"; what was there is kept at {kept}" if kept else "")
    show({"file": file, "kept": kept}, text)


@command(
    "care reembed",
    "hardwon care reembed --embedder wordllama",
    "hardwon care reembed --embedder wordllama --json",
)
def reembed(
    embedder: Annotated[
        Literal["wordllama", "fastembed", "endpoint"], opt("What makes the vectors.")
    ],
    model: Annotated[str | None, opt("The model, of fastembed or of an endpoint.")] = None,
    base_url: Annotated[str | None, opt("Of an endpoint.", metavar="URL")] = None,
) -> None:
    """Make the vectors that recall by meaning needs.

    Vectors add meaning to text search for programs that open the memory with the same embedder
    ([recall.md](recall.md)). Makes those that are missing; with another embedder than before, all of
    them anew. It can be interrupted, and goes on where it was. `wordllama` has its
    model in its package, `fastembed` downloads one once (`--model` says which), `endpoint` asks the
    OpenAI-compatible server at `--base-url` for `--model`; its key is taken from
    `EMBEDDING_API_KEY`. All but it need the extra `embeddings`.

    JSON: `embedder` (the name that its vectors are stamped with), `dimension`, `made` (how many
    vectors).
    """
    from hardwon.outside import embedders

    has_one, has_url = embedder == "wordllama", embedder == "endpoint"
    both = f"{base_url}, {model}"
    only, none = "only with --embedder endpoint", f"nothing: {embedder} has one model"
    check_all(
        lambda: check_that(base_url is None or has_url, "--base-url", base_url, only),
        lambda: check_that(model is None or not has_one, "--model", model, none),
        lambda: check_that(
            not has_url or (base_url and model),
            "--base-url, --model",
            both,
            "both, for an endpoint",
        ),
    )
    maker: Embedder
    match embedder:
        case "wordllama":
            maker = embedders.WordLlamaEmbedder()
        case "fastembed":
            maker = embedders.FastembedEmbedder(model or embedders.FASTEMBED_MODEL)
        case _:
            key = os.environ.get("EMBEDDING_API_KEY", "")
            maker = embedders.EndpointEmbedder(base_url or "", model or "", key)
    with (
        chosen().open(to_read=True, embedder=maker) as memory,
        progress("embedding", "what was made stays; it goes on where it was") as bar,
    ):
        made = memory.reembed(progress=bar)
    answer = {"embedder": maker.name, "dimension": maker.dimension, "made": made}
    show(answer, f"{counted(made, 'vector')} made by {maker.name}")


# As the dashboard has them.
TimeRange = Literal["7d", "30d", "90d", "all"]


@command(
    "care report",
    "hardwon care report report.html",
    "hardwon care report report.html --range all --yes --json",
)
def report(
    file: Annotated[str, arg("Where to, such as report.html.")],
    time_range: Annotated[TimeRange, opt("Of how long.", "--range")] = "30d",
    yes: Yes = False,
) -> None:
    """Write what the dashboard shows as one HTML file that opens anywhere.

    Of one project and one time. It opens in a browser without a network and without a server; it
    holds what it shows as text, and its policy (CSP) lets no script run but those that it brings.
    It needs the extra `serve`.

    JSON: `file`, `size_bytes`, `parts` (the titles of the views in it).
    """
    require_packages("a report", "starlette", "jinja2")
    path = check_path("file", file)
    from hardwon.surfaces.gate import Ask, Gate
    from hardwon.surfaces.web import site as web

    reader = Caller("report", "read")
    with read_memory() as memory:
        replaced = files.target("file", path, memory.location, "report.html")
        is_page = path.suffix.lower() in (".html", ".htm")
        check_that(is_page, "file", file, "a name that ends in .html")
        if path.exists():
            require_consent(f"Replace {views.visible(str(path))}?", yes)
        with closing(Gate(memory.care.in_project, None, open_to=reader)) as gate:
            made = web.report(Ask(gate, reader, memory.project), time_range)
    with files.writing_atomically(replaced) as target:
        target.write(made)
    parts = [part.title for part in web.parts()]
    answer = {"file": str(path), "size_bytes": len(made), "parts": parts}
    show(answer, f"{size_text(len(made))} written to {path}: open it in a browser")


@command("trust", "hardwon trust", "hardwon trust --json")
def trust(
    tokens: Annotated[bool, opt("Keep the tokens that came with it, too.", "--tokens")] = False,
) -> None:
    """Use a memory that was found here and not made here.

    A memory that is found, because a `.hardwon` folder lies here or above or a checkout's settings
    name it, may have come with a clone or an archive. One that was neither made nor restored here is
    not used, by hooks without a word to the agent, until this command; also after it was moved, or
    replaced by another file, and where git has it in its index after each change that git brings. A
    memory that is named (`--memory`, `HARDWON_MEMORY`, the user's settings) is used as it is.

    Tokens that came with the memory are revoked: somebody has them. `--tokens` keeps them, where
    they are your own: look at `hardwon tokens list` first.

    JSON: `memory` (its file), `in_index` (whether the repository's index has it), `revoked` (how
    many tokens came with it and were revoked).
    """
    target = chosen()
    path = find_place(target.memory).path
    if path is None or not memory_exists(target.memory):
        raise PlaceError(f"there is no memory in a file at {find_place(target.memory).location}")
    # opened by its name first: what is no memory is not trusted
    with Memory(path, target.project) as memory:
        note(path)
        came = [one for one in memory.tokens.all() if one.state(memory.care.now()) == "active"]
        for token in () if tokens else came:
            memory.tokens.revoke(token.id)
    tracked = in_index(path.resolve()) is not None
    notes = [f"warning: {IN_INDEX.format(path)}"] if tracked else []
    revoked = 0 if tokens else len(came)
    text = f"trusted: {path}"
    if revoked:
        text += f"; {counted(revoked, 'token')} that came with it revoked, --tokens keeps them"
    answer = {"memory": str(path), "in_index": tracked, "revoked": revoked}
    show(answer, text, complaints=notes)
