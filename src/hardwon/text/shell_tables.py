"""What a line that a shell runs tells by its looks: read by shell.py."""

WORDS: dict[str, str] = {
    # commands that only look around
    "looking": """
    cd pushd popd pwd ls ll dir tree cat bat head tail less more wc nl tac file stat du df
    realpath readlink basename dirname echo printf true false : test [ sleep wait date whoami id
    hostname uname printenv export unset set alias type which whereis man help history jobs ps top
    free uptime lsof grep egrep fgrep rg ag ack find fd locate sort uniq cut tr awk column jq yq
    diff cmp comm xxd hexdump od strings md5sum sha1sum sha256sum tee seq clear hardwon""",
    "looking_in_git": """
    status log diff show blame branch remote rev-parse rev-list ls-files ls-tree ls-remote
    cat-file describe reflog shortlog grep config tag name-rev merge-base for-each-ref help
    version""",
    "git_with_value": "-C -c --git-dir --work-tree",
    # of these, what sets something for the commands after it
    "setting": "export unset set alias tee",
    # of find
    "doing": "-exec -execdir -ok -delete",
    # what starts another command
    "launching": """
    env nice time nohup sudo xvfb-run coverage bundle npx pnpx bunx dotenv command exec stdbuf""",
    "launching_by_run": "uv poetry pipenv pdm hatch rye pixi conda coverage",
    "testing": """
    pytest py.test tox nox ctest jest vitest mocha ava rspec phpunit pest nose2 nosetests bats
    busted trial stestr gotestsum green behave karma cypress playwright testem lein-test minitest
    unittest""",
    "linting": """
    ruff flake8 pylint mypy pyright eslint tsc shellcheck golangci-lint staticcheck rubocop""",
}

# What runs tests where it is asked to: the programs, and what they are asked for.
TESTS: dict[str, str] = {
    "npm yarn pnpm bun deno": "test t",
    "make gmake just task ninja rake": "test tests check unittest unit-test",
    "go dotnet mix swift zig bazel bazelisk dart flutter stack cabal sbt lein manage.py": "test",
    "mvn mvnw gradle gradlew": "test check verify integrationTest",
    "cargo": "test t nextest",
}

# What builds or lints where it is asked to.
CHECKS: dict[str, str] = {
    "npm yarn pnpm bun deno": "build lint typecheck type-check",
    "make gmake just task ninja rake": "all build lint typecheck",
    "go dotnet swift zig bazel bazelisk dart flutter stack cabal": "build vet analyze",
    "mvn mvnw gradle gradlew sbt": "compile package build assemble",
    "cargo": "build b check c clippy",
    "docker": "build",
}

PATTERNS: dict[str, str | list[str]] = {
    "heredoc": r"(?<!<)<<-?(?!<)\s*(['\"]?)(\w+)\1",
    "quoted": r"""(?s)'[^']*'|"(?:[^\"\\]|\\.)*"|\\.""",
    "redirected": r"(?<!\d)\d*(?:&>>?|>>|[<>]&|>\||<<<?-?|[<>])\s*[^\s;|&<>]*",
    # into a file: neither thrown away nor what a program complains of
    "written": r"(?<![\d&<>-])(?:&>|>)>?[ \t]*(?![&>]|/dev/)[\w.\"'$~/{]",
    # the same, with its name
    "written_to": [
        r"(?<![\d&<>-])(?:&>|>)>?[|]?[ \t]*(?![&>]|/dev/)([^\s;|&<>()]+)",
        r"|\btee[ \t]+(?:-a[ \t]+)?([^\s;|&<>()-][^\s;|&<>()]*)",
    ],
    "operator": r"(&&|\|\||\|&|[;|&\n])",
    "substitutes": r"`|\$\(|[<>]\(",
    "assigned": r"[A-Za-z_]\w*=",
    "python": r"(?:python|pypy)[\d.]*",
    "leading_cd": [
        r'''(?s)\s*cd\s+(?:'(?P<single>[^']+)'|"(?P<double>[^\"$`\\]+)"''',
        r"|(?P<bare>[^\s;&|<>()$`'\"\\*?~#]++))(?:\s*+(?:&&|;)|[^\S\n]*+\n)\s*+(?P<rest>\S.*)",
    ],
    "deletes": [
        r"(?:\A|[\s;|&(`\\])(?:rm|rmdir|unlink|shred|mkfs[.\w]*)\s|\s-delete\b|\bgit (?:clean|reset --hard)\b",
        r"|\b(?i:drop (?:table|database|schema|view|index)|delete from|truncate table)\b|\bkubectl delete\b",
        r"|\b(?:shutil\.rmtree|os\.(?:remove|unlink|rmdir))\(",
    ],
    "of_deleting": [
        r"(?i)\b(?:remov|delet|eras|drop|clear|clean|purg|wip(?:e|ing)|empt(?:y|ied)|prun|uninstall|discard",
        r"|overwrit|get rid|stale|locked|rm(?:dir)?\b|exists?\b|(?:no|disk) space|disk full)|\.lock\b",
    ],
    # what ends or stores work that was done before
    "hands_in": [
        r"(?i)\s*+(?:cd \S++|(?:git (?:add|commit|push)|gh pr)\b.*+",
        r"|\W*+(?:submit|finish(?:ed)?|done|exit|quit|stop|end|complete|terminate|attempt_completion)\W*+",
        r"|exit \d)\s*+",
    ],
    # how an observation begins
    "first_line": [
        r"(?:exit code (?P<code>\d{1,3})|killed by (?P<signal>SIG[A-Z0-9]+|signal \d+))",
        r" after \d+\.\d s(?:\n|\Z)",
    ],
}
