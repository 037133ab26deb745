"""What names files, functions, libraries and error codes: read by entities.py."""

WORDS: dict[str, str] = {
    "extensions": """
    py pyi pyx ipynb js jsx ts tsx mjs cjs vue svelte c h cc cpp cxx hpp hh rs go java kt kts
    swift m mm cs fs vb rb php pl pm lua r jl scala clj ex exs erl hs ml zig nim dart sh bash zsh
    fish ps1 bat cmd sql html htm css scss sass less xml xsl xsd json jsonl json5 ndjson yaml yml
    toml ini cfg conf env properties lock md mdx rst txt log csv tsv parquet avro proto graphql tf
    tfvars gradle cmake mk db sqlite sqlite3 pdf png jpg jpeg gif svg ico webp zip tar gz tgz bz2
    xz zst 7z whl jar war so dll dylib exe bin pem crt cer pub patch diff tex bib service spec
    plist csproj sln vcxproj props wasm map snap docx xlsx pptx npy npz pkl pt onnx ckpt
    safetensors gguf""",
    "bare_files": """
    Makefile Dockerfile Jenkinsfile Vagrantfile Procfile Gemfile Rakefile Pipfile Brewfile
    Caddyfile CODEOWNERS README LICENSE go.mod go.sum .env .gitignore .gitattributes .gitmodules
    .dockerignore .npmignore .npmrc .nvmrc .editorconfig .eslintrc .prettierrc .babelrc .bashrc
    .zshrc .profile .bash_profile .vimrc .netrc .htaccess .flake8 .pylintrc .coveragerc
    .python-version .tool-versions .pypirc""",
    # what stands before a dot in code whose last word only looks like an extension: console.log
    "not_stems": """
    self this cls super console math np numpy torch tf pd df logger log os sys re window document
    process module object request response res req resp app.config string system""",
    "no_call": "if for while switch return and or not in elif catch with print_ when see is",
    "plurals": "s es ies er ed d r n en ren",
    "hosts": "com org net io dev ai app co edu gov de uk js",
    "short_forms": """
    No Mr Mrs Ms Dr St Vs Fig Eq Sec Ch Vol Ref Approx Etc Art Nr Eg Ie Cf Inc Ltd Jr""",
    "labels": "SQLSTATE CVE HTTP Errno errno WinError",
    "libraries": """
    aiohttp airflow ajv alembic angular ansible antd apollo apsw argon2 asyncpg attrs axios babel
    bcrypt beautifulsoup4 bokeh bootstrap boto3 botocore bullmq cassandra celery chai chart.js
    click cmake cryptography curl cypress cython d3 d3.js dask dayjs django docker dotenv ejs
    elasticsearch ember electron esbuild eslint ethers expo express express.js fastapi fastify
    ffmpeg flask flink folly gin gradle grpc grpcio gunicorn guzzle handlebars helm hibernate
    httpx hypothesis immer ioredis istio jackson jasmine jest jinja2 joblib joi jquery junit kafka
    keras knex kubernetes lapack laravel libcurl libpng libssl lightgbm llvm lodash log4j lombok
    lxml mariadb markdown-it marshmallow matplotlib maven mkdocs mocha mockito mongodb mongoose
    moment msgpack mui mypy mysql mysqlclient nats nestjs netty next.js nginx ninja nltk
    node-fetch node-sass nodemon nokogiri numba numpy nuxt nx openblas opencv openssl
    opentelemetry orjson paramiko pandas passport peewee phoenix pika pillow pip playwright plotly
    pnpm polars poetry postcss postgres postgresql prettier prisma prometheus protobuf psutil
    psycopg psycopg2 puppeteer pyarrow pydantic pygments pyjwt pylint pymongo pyopenssl pyparsing
    pyqt5 pyside6 pytest pytorch pyyaml qt rabbitmq rails ray react react-dom react-native
    react.js redis redis-py redux reqwest requests rich rollup rspec ruff rxjs scikit-learn scipy
    seaborn selenium sequelize serde setuptools sidekiq sinatra six sklearn socket.io solr spacy
    spark sphinx spring sqlalchemy sqlite starlette storybook supabase svelte swagger swr symfony
    tailwind tailwindcss tensorflow terraform three.js tokenizers tokio torch torchaudio
    torchvision tornado tqdm traefik transformers tsup turborepo typeorm typer typescript ujson
    undici urllib3 uvicorn uvloop vite vitest vllm vue vue.js vuex webpack werkzeug wheel winston
    xgboost yarn zlib zod zustand""",
    "no_libraries": """
    python java javascript rust go c ruby php perl scala kotlin swift haskell elixir debian ubuntu
    linux windows macos npm pypi nuget conda node node.js github gitlab api url http https json
    xml yaml css html sql ui id cli gui os cpu gpu ci cd standard third-party open-source""",
    "after_install": """
    fails failed fail failing hangs hung of the a an is was are and or in on with for command
    commands step steps it them from does did works worked takes took needs needed to again
    requires required breaks broke runs ran cannot can could will would should must if when while
    because but then succeeds succeeded exits exited errors error as at by into after before this
    that these those not no all any some everything script scripts phase stage has had may might
    target job jobs""",
    "countable": """
    requests six click rich express moment spark ray expo wheel passport ember gin helm phoenix
    chai ninja spring transformers tokenizers attrs bootstrap""",
    "generic": "new old same other whole shared internal client server core latest missing entire",
    "no_codes": "BaseException Exception",
    # what npm and resolvers say besides the names of errno
    "more_errno_names": "EAI_AGAIN ERESOLVE EINTEGRITY ELIFECYCLE EUSAGE",
}

PATTERNS: dict[str, str | list[str]] = {
    # what prose may name besides libraries
    "prose_names": r"file|tatus |rrno |[45]\d\d [A-Z]",
    # Nothing but words, in the letters of English, and numbers. Every step takes a space: there is one
    # way to match.
    "prose": [
        r"(?:(?:[A-Z]?[a-z]*(?:['\u2019-][a-z]+)?|\d{1,9}(?:\.\d{1,3})?%?)[,;:.!?]?(?:[ \n]",
        r"|\Z)){0,10000}",
    ],
    "address": [
        r"\b[A-Za-z][A-Za-z0-9+.]{1,15}://[^\s<>\"'`]{1,2000}|\bwww\.[^\s<>\"'`]{1,2000}|",
        r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){0,5}\.[A-Za-z][\w-]{1,20}",
        r"(?::[^\s<>\"'`]{1,500})?|\[REDACTED:[a-z0-9-]{1,40}\]",
    ],
    "roots": [
        "etc|usr|var|home|opt|tmp|root|bin|sbin|lib|lib64|dev|proc|sys|mnt|srv|run|boot|Users",
        "|Library|Applications",
    ],
    "segment": r"[\w.@+~$%-]{1,100}",
    "token": r"[^\s,;|()<>\[\]{}\"'`=*?!\u2018\u2019\u201c\u201d]{1,1000}",  # nosec B105  # a pattern
    "windows": r"(?:[A-Za-z]:\\|\\\\|\.{1,2}\\)?(?:{{segment}}\\){0,30}{{segment}}",
    "posix": "(?:[A-Za-z]:/|~/|/)?(?:{{segment}}/{1,2}){0,30}{{segment}}",
    "anchored": r"/(?:{{roots}})/\w|~/[.\w]|\.{1,2}/[\w.]|[A-Za-z]:[\\/]\w",
    "line": r"(?::\d{1,7}){1,2}\Z|#L\d{1,7}(?:-L?\d{1,7})?\Z",
    "may_be_file": r"[/\\]|\.\w|file\b|README|LICENSE|CODEOWNERS",
    "name": r"[A-Za-z_$][\w$]{0,99}",
    "dotted": r"{{name}}(?:(?:\.|::|->){{name}}){0,8}",
    "call": r"(?<![\w$.])({{dotted}})!?\Z",
    "inside": r"\(([^()\n]{0,200})(\)?)",
    "scoped": r"(?<![\w$:])(?!py::)({{name}}(?:::~?{{name}}){1,8})(?![\w:])",
    "test_id": r"\.py::({{name}}(?:::{{name}}){0,3})",
    "method": r"(?<![\w$./\\@:#-])([A-Z][A-Za-z0-9]{1,60}\.[a-z_][\w]{1,60})(?![\w(/\\@]|\.\w|::)",
    "ticked": r"`(\.?{{dotted}}|@{{dotted}})`",
    "names_function": [
        r"(?i)\b(?:functions?|methods?|calls?|calling|called|invokes?|invoking|invoked|decorators?",
        r"|hook|helper|constructor)\s{1,3}\Z",
    ],
    "called_function": [
        r"\s{1,3}(?:functions?|methods?|hook|helper|decorator|coroutine|callback|returns|returned",
        r"|raises|raised|throws|threw|yields|accepts|takes\s(?:a|an|the|no|two|one|three)\b|calls|",
        r"(?:is|was|gets|got|must\sbe|should\sbe)\s(?:never\s|not\s)?(?:called|invoked))\b",
    ],
    "may_declare": "function |method |func |fn |def ",
    "declared": r"\b(?:function|method|func|fn|def)\s{1,3}({{dotted}})(?![\w(])",
    "arguments": r"[\w.$'\"-]{1,60}+(?:\s?[,=:+*/<>-]\s?[\w.$'\"\[\]-]{1,60}+){0,10}|\.\.\.|\u2026",
    "hump": "[a-z0-9][A-Z]",
    "odd_name": r"_|\A@|{{hump}}",
    "version": r"\d{0,4}(?:\.\d{1,5}){0,4}(?:\.?(?:x|a|b|rc|alpha|beta|dev|post)\d{0,4})?",
    "version_at": r"(?<![\w.])v?\d{{version}}(?![\w%]|\.\d)",
    "before_version": [
        r"(?<![\w@/.-])(@[a-z0-9][\w.-]{0,60}/[a-z0-9][\w.-]{0,60}|[A-Za-z][\w.-]{0,60})",
        r"(?:\[[\w,-]{1,60}\])?(\s|@[\^~]?|[=~><!]=\s?|-)\Z",
    ],
    "may_install": "install | add | get | i |require ",
    "may_call": "librar|package|framework|crate| gem|SDK| sdk",
    "called": [
        r"(?i)\b(?:the|a|an|of|using|with|by|from|in)\s{1,3}(`?)(@?[A-Za-z][\w./-]{1,60})\1\s{1,3}",
        r"(?:librar(?:y|ies)|packages?|frameworks?|crates?|gems?|SDK|sdk)\b",
    ],
    "install": [
        r"\b(?:pip3?|uv|uv\spip|pipx|conda|mamba|npm|pnpm|yarn|bun|cargo|gem|brew|poetry|apt|apt-get",
        r"|dnf|yum|composer|go|dotnet)\s{1,3}(?:install|i|add|get|require|add\spackage)\s{1,3}",
        r"(?:-{1,2}[\w-]{1,30}\s{1,3}){0,5}(@?[A-Za-z][\w./-]{0,80})(?:\[[\w,-]{1,60}\])?(",
        r"(?:[=~><!@^]{1,3}[\w.*^~-]{1,30})?)(?=[\s`'\",.;:)!?]|\Z)",
    ],
    "from_import": [
        r"(?<![\w.-])from\s{1,3}([A-Za-z_]\w{0,60})(?:\.\w{1,60}){0,8}\s{1,3}import\s{1,3}(?:\(|\*",
        r"|[A-Za-z_]\w)",
    ],
    "plain_import": [
        r"(?m)(?:^|`|\"|')[ \t]{0,20}import\s{1,3}(\w{1,60}(?:\.\w{1,60}){0,8}",
        r"(?:\s{1,3}as\s{1,3}\w{1,60})?(?:,\s{0,3}\w{1,60}(?:\.\w{1,60}){0,8}){0,20});?[ \t]{0,20}",
        r"(?:$|`|\"|')",
    ],
    "require": [
        r"(?:\brequire\(\s{0,3}|\bimport\(\s{0,3}|\bimport\s{1,3}",
        r"(?:[\w*{},\s$]{1,200}\sfrom\s{1,3})?)(['\"])(@[\w.-]{1,60}/[\w.-]{1,60}|[a-z][\w.-]{0,60})",
        r"(?:/[\w./-]{1,100})?\1",
    ],
    "digit": "[0-9]",
    "code": [
        r"(?<![\w$])(?:(?P<word>[A-Z][A-Za-z0-9]{1,80}(?:Error|Exception|Warning|Interrupt|Iteration)",
        r"|ERR_[A-Z0-9_]{2,60}|CVE-\d{4}-\d{4,7}|GHSA(?:-[23456789cfghjmpqrvwx]{4}){3}|(?:TS|CS|LNK",
        r"|MSB|NU|NETSDK)\d{4,5}|[EC]\d{4}|ORA-\d{5}|0x8[0-9A-Fa-f]{7}|SystemExit)(?![\w-])|",
        r"(?P<errno_name>E[A-Z0-9_]{2,20})(?![\w-])|SQLSTATE\s?[\[(:=]?\s?(?P<state>[0-9A-Z]{5})",
        r"(?!\w)|HTTP(?:S|/\d(?:\.\d)?)?\s(?:status\s|error\s|code\s|status\scode\s)?",
        r"(?P<http>[45]\d\d)(?!\w|\.\d)|[Ss]tatus(?:\scode)?\s(?P<status>[45]\d\d)(?!\w|\.\d)|",
        r"(?P<phrase>[45]\d\d)\s(?:Bad\sRequest|Unauthorized|Forbidden|Not\sFound|Conflict|Gone",
        r"|Too\sMany\sRequests|Internal\sServer\sError|Bad\sGateway|Service\sUnavailable",
        r"|Gateway\sTime-?out)(?!\w)|\[?[Ee]rrno\s(?P<errno>\d{1,3})(?!\w)|WinError\s",
        r"(?P<winerror>\d{1,5})(?!\w))",
    ],
    "word": r"[\w@+~-]",
    "path": r"(?<![\w@+~./-])(?:\./)?+{{word}}*+(?:/\.?{{word}}++|\.{{word}}++)++",
    "secret_ending": [
        r"(?:\.pem|\.key|\.p8|\.p12|\.pfx|\.pkcs12|\.ppk|\.keystore|\.jks|\.kdbx|\.gpg|\.ovpn",
        r"|\.tfvars|\.tfstate|\.env|credential|credentials|\.npmrc|\.yarnrc|\.yarnrc\.yml|\.pypirc",
        r"|\.htpasswd|\.s3cfg|\.boto|\.dockercfg|\.pgpass|\.my\.cnf|\.netrc|_netrc|\.vault-token)\Z",
    ],
    "may_be_secret": [
        r"/\.(?:aws|ssh|gnupg|kube|azure|docker)/|env|credential|secret|\.tfstate\.|service.?account",
        "|/id_",
    ],
    # Files that hold secrets and little else: not even their hash is kept unasked.
    "secret": r"""(?x)
    /(?:\.env[^/]*+ | (?=[^/]*\.env\.)[^/]*+ | id_[a-z0-9]+ | service[-_]?account[^/]*\.json
        | (?=[^/]*\.tfstate\.)[^/]*+
        | (?=[^/]*(?:credential|secret)s?[._-])[^/]*
            \.(?:json|ya?ml|toml|ini|cfg|conf|xml|properties|csv|txt|enc))$
    | /\.(?:aws|ssh|gnupg|kube|azure)/ | /\.docker/config\.json$""",  # nosec B105  # a pattern
}
