"""What a secret looks like, and what only stands where one would: read by redact.py."""

from __future__ import annotations

from typing import Any, Final

WORDS: Final[dict[str, str]] = {
    # before `pass` they make it a password
    "have_pass": """
    admin auth db ftp http login mail mongo my mysql pg postgres proxy redis root smtp user""",  # nosec B105  # words, no password
    # password_prod is a password, password_policy is none: only these may follow
    "tails": """
    admin again anthropic aws azure b backup base confirm confirmation current db default dev
    development fallback github gitlab google json live local main new old openai pem plain
    plaintext prev previous primary prod production raw repeat root sandbox secondary slack
    staging str string stripe test user v val value""",
    # parsers, paging and language models have tokens of their own
    "no_token": """
    begin bos cached cls completion continuation cur current end eos first image input last
    lookahead mask max min n next num output pad page peek per prev previous prompt sep
    special start stop sync total unk""",  # nosec B105  # words, no password
    # has_password is answered by yes or no
    "no_secret": """
    allow disable enable forgot has hide is no require requires show toggle use uses""",  # nosec B105  # words, no password
    "speaks_of_flag": """
    again argument first flag here instead option options parameter switch value with""",
}

PATTERNS: Final[dict[str, str | list[str]]] = {
    # What stands for a value without being one: placeholders of ours, variables, template slots,
    # fillers.
    "slot": [
        r"\[REDACTED:|[$#]\{[^{}]|\$\(|\{[^{}]*\}\Z|<[^<>]*>\Z|%[sdrv](?!\w)|%\(\w|%\w+%\Z",
        r"|[@:][A-Za-z_]+\Z|\[[^\]]*\]\Z|[*.xX•…:\\_-]+\Z|(\S)\1{3,}\Z|\$(?:[A-Za-z_]+(?:(?:->|::",
        r"|[.:])\w*)*|[A-Z_][A-Z0-9_]*|\d)\Z|.{0,40}(?:\.\.\.|…).{0,8}\Z",
    ],
    "stand_in": [
        "(?i)(?:(?:your|insert|enter|replace|put|some)[-_ ].{0,40}(?:key|token|secret|pass|cred",
        "|value|here).{0,40}|your[-_]?(?:api|pass|key|token|secret).*|arn:.*|change[-_ ]?(?:me|this",
        "|it)|my[-_](?:[a-z]+[-_]){0,4}(?:password|secret|token|key)|(?:example|sample|dummy|fake",
        "|placeholder).*|redacted|removed|hidden|masked|filtered|none|null|nil|undefined|true|false",
        "|required|optional|string|bytes|text|bool(?:ean)?|number|object|unset|empty|missing|invalid",
        r"|incorrect|expired|blank|default|unknown|todo|not set)\Z",
    ],
    # letters and digits in turn: a machine's
    "mixed": "(?:[A-Za-z]{1,12}+[0-9]{1,12}+){3}",
    "plain": "[a-z]+|[A-Z_]+|[A-Z][a-z]+",
    "escape": r"\\[nrt]\Z|%[0-9A-Fa-f]{2}\Z",
    "str": "(?:secret)?(?:str|bytes)|string|any",
    "type": r"&?(?:'static )?(?:{{str}}|optional\[(?:{{str}})\])(?: \| \w+)?",
    # Pass, pwd, secret, credential, token, key or authorization in lower-cased text, looked for at the
    # rarest letter of each. A KeyError is in every other traceback and names no secret.
    "names_secret": [
        "p(?=ass)|w(?=d)(?<=pw)|c(?:(?=ret)(?<=sec)|(?=redential))|k(?:(?=en)(?<=tok)|(?=ey(?!error)))",
        "|z(?=ation)(?<=authoriz)",
    ],
    # Looked for in the lower-cased text. Bounded, or a row of such words would cost the square of its
    # length.
    "named": [
        "(?:pass|pwd|secret(?:[ _-]?key)?|token|credential|authorization|api[ _-]?key|auth[ _-]?key",
        "|access[ _-]?key|account[ _-]?key|encryption[ _-]?key|master[ _-]?key|private[ _-]?key",
        r"|shared[ _-]?key|signing[ _-]?key)[\w-]{0,40}+(?P<op>[ \t]+(?![ \t]|[?!]?[:=])",
        r"|(?:\*\*)?(?P<close>\\{0,7}[\"'`]?)\]?[ \t]*(?P<sign>[?!]?:[ \t]*{{type}}[ \t]*=(?!=)|===?",
        r"|!==?|=>|:=|=|[?!]?:(?!:|//))(?:\*\*)?[ \t]*(?:secret(?:str|bytes)\()?)",
    ],
    # Between escaped quotes (JSON within JSON) an inner quote has more backslashes than the one that
    # closes.
    "quoted": [
        r"(?P<prefix>[bBfFrRuU@]{0,2})(?:(?P<q>\"\"\"|",
        "'''",
        r"|[\"'`])(?P<v>(?:(?!(?P=q))(?:\\[^\n]|[^\\\n]))*+)",
        r"|(?P<eq>\\{1,7}[\"'])(?P<ev>(?:(?!(?P=eq))(?:\\++[^\n]?|[^\\\n]))*+))",
    ],
    "inner": r"->|&(?![\w.-]{0,40}=|&|amp;)|\\(?![nrt\"'])",
    "bare": r"(?:{{inner}}|[^\s\"'`,;&|()\[\]{}<>\\]|\([^\s\"'()]{0,40}\)){1,200}+",
    # In NAME=value and after a flag, only what a shell would split at is no part of the value.
    "shell": r"(?:{{inner}}|[^\s\"'`,;&\\]|,(?!\s|\Z)|;(?!\s|\Z|[\w ]{1,40}=)|[\"'](?=\w)){1,200}+",
    "after_bracket": r"(?:[()\[\]{}](?=[\w!@#$%^*+=~?-])[^\s\"'`,;&()\[\]{}<>|\\]*+)*+",
    "line_end": r"[\r\n]|\\n",
    "unbroken": r"[^\s\"'`]*+",
    "word": r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+",
    "stem": [
        "(?:(?P<password>password|passwd|pwd|passphrase|passcode)|(?P<token>token)",
        "|(?P<api_key>(?:api|auth)_?key)|(?P<secret>secret|(?:encryption|master|secret|shared",
        "|signing)_?key)|(?P<authorization>authorization)|(?P<access_key>(?:access|account)_?key)",
        r"|(?P<private_key>private_?key)|(?P<credential>credentials?))\Z",
    ],
    "ours": r"(?i)(?:\b(?:bearer|basic|token)\s+)?\[REDACTED:[a-z0-9-]+\]",
    "scheme": r"(?i)(?:bearer|basic|token|digest|api-?key)\b\s*",
    "template": r"\$\{[A-Za-z_]|\{\{[^{}]*\}\}|\{(?:[A-Za-z_][\w.]++|\d?)\}",
    "path": r"(?:~|\.{1,2}|[A-Za-z]:)?[/\\][\w.][\w.@/\\ -]*\Z",
    "random": r"(?=.*\d)(?=.*[A-Z])(?=.*[a-z]).{16}",
    "lexeme": r"[#@]?[^\W\d]+(?:[ -][^\W\d]+)*\Z|#[0-9a-fA-F]{3,8}\Z|[\d.]+\Z",
    "code": r"[A-Za-z_$][\w$]*(?:\??(?:\.|->|::)[\w$]+|(?P<call>\([^()]*\)))*+\Z",
    "words": r"[^\W\d]+(?:[-./:'][^\W\d]+)*[!?]*\Z",
    "numbered": r"(?i)(?:argon|base|bytes|float|ipv|md|oauth|pbkdf|pkcs|py|sha|u?int|utf|v)[-_]?\d+",
    "no_value": r"\(|\.[*+]|id=|--|fileb?://",
    "no_bare_value": r"[\[{<|=^\\]",
    "slug_part": r"(?:[^\W\d_]*\d{0,2}|\d+)\Z",
    "symbol": r"[!@#$%^*?~+=&]\w",
    "alone": r"[ \t]*(?:-[ \t]+|export[ \t]+|(?!self|this)(?:[\w-]+\.)+)?\Z",
    "paired": r"(?:[?&]|=[^\s;,()]{1,60}[; \t])[ \t]*\Z",
    # an address on a chain
    "address": "0x[0-9a-fA-F]+",
    "pem_kind": "[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)? ?-{4,5}",
}

# Secrets that carry a mark of their maker. A pattern runs only where one of its triggers occurs,
# which keeps it cheap; small letters stand for both cases. The group `s` is what is replaced, or
# the whole match where there is none.
SECRETS: Final[list[dict[str, Any]]] = [
    # code that only mentions the first line has no key material after it
    {
        "label": "private-key",
        "triggers": ["PRIVATE KEY"],
        "pattern": [
            r"(?s)-{4,5} ?BEGIN {{pem_kind}}(?=(?:[ \t]*(?:\\+[nr]|[\r\n]))++[ \t>|#*]*+[\w+/]{4}",
            r"|(?:\\+[nr]|[\s\"'+,>|#])*+[A-Za-z0-9+/]{16}).*?(?:-{4,5} ?END {{pem_kind}}|\Z)",
        ],
    },
    # The same in base64, as Kubernetes keeps it: after BEGIN comes PRIVATE, RSA, EC, OPENSSH or
    # ENCRYPTED.
    {
        "label": "private-key",
        "triggers": ["LS0tLS1CRUdJTi"],
        "pattern": "LS0tLS1CRUdJTiB(?:QUk|SU0|FQy|PUE|FTk)[A-Za-z0-9+/=]{20,}",
    },
    {
        "label": "age-key",
        "triggers": ["AGE-SECRET-KEY-"],
        "pattern": "AGE-SECRET-KEY-1[A-Z0-9]{40,}",
    },
    # begins only where its run of characters begins, or a row of eyJ would be scanned from each of
    # them
    {
        "label": "jwt",
        "triggers": ["eyJ"],
        "pattern": [
            r"eyJ(?:(?<![\w-]eyJ)|(?<=\\[nrt]eyJ)|(?<=%[\dA-F]{2}eyJ))[\w-]{8,}+\.[\w-]*+\.[\w-]{10,}+(?:",
            r"\.[\w-]++){0,2}",
        ],
    },
    {
        "label": "anthropic-key",
        "triggers": ["sk-ant-"],
        "pattern": r"sk-ant-[\w-]{20,}",
    },
    {
        "label": "openai-key",
        "triggers": ["sk-"],
        "pattern": [
            r"sk-(?:(?:proj|svcacct|admin|None|or-v1|lf)-[\w-]{20,}|(?=[A-Za-z]{0,60}\d)[A-Za-z0-9]{20,})",
        ],
    },
    {
        "label": "github-token",
        "triggers": ["ghp_", "gho_", "ghu_", "ghs_", "ghr_"],
        "pattern": "gh[oprsu]_[A-Za-z0-9]{30,}",
    },
    {
        "label": "github-token",
        "triggers": ["github_pat_"],
        "pattern": r"github_pat_\w{30,}",
    },
    {
        "label": "hardwon-token",
        "triggers": ["hwt_"],
        "pattern": r"hwt_[0-9a-f]{12}_[\w-]{30,}",
    },
    {
        "label": "gitlab-token",
        "triggers": ["glpat-"],
        "pattern": r"glpat-[\w.-]{16,}",
    },
    {
        "label": "groq-key",
        "triggers": ["gsk_"],
        "pattern": "gsk_[A-Za-z0-9]{32,}",
    },
    {
        "label": "xai-key",
        "triggers": ["xai-"],
        "pattern": "xai-[A-Za-z0-9]{32,}",
    },
    {
        "label": "perplexity-key",
        "triggers": ["pplx-"],
        "pattern": "pplx-[A-Za-z0-9]{32,}",
    },
    {
        "label": "tavily-key",
        "triggers": ["tvly-"],
        "pattern": r"tvly-[\w-]{20,}",
    },
    {
        "label": "huggingface-token",
        "triggers": ["hf_"],
        "pattern": "hf_[A-Za-z0-9]{30,}",
    },
    {
        "label": "replicate-token",
        "triggers": ["r8_"],
        "pattern": "r8_[A-Za-z0-9]{30,}",
    },
    {
        "label": "aws-key-id",
        "triggers": ["AKIA", "ASIA"],
        "pattern": "A[KS]IA[A-Z2-7]{16}(?![A-Za-z0-9])",
    },
    {
        "label": "google-key",
        "triggers": ["AIza", "ya29.", "GOCSPX-"],
        "pattern": r"AIza[\w-]{33,}|ya29\.[\w-]{20,}|GOCSPX-[\w-]{20,}",
    },
    {
        "label": "slack-token",
        "triggers": ["xox", "xapp-"],
        "pattern": r"(?:xox[a-z](?:\.xox[a-z])?|xapp)-[A-Za-z0-9-]{10,}",
    },
    {
        "label": "slack-webhook",
        "triggers": ["hooks.slack.com/"],
        "pattern": r"hooks\.slack\.com/[a-z]{1,20}/(?P<s>[A-Za-z0-9/]{20,})",
    },
    {
        "label": "stripe-key",
        "triggers": ["k_live_", "k_test_"],
        "pattern": "[rs]k_(?:live|test)_[A-Za-z0-9]{16,}",
    },
    {
        "label": "stripe-key",
        "triggers": ["whsec_"],
        "pattern": "whsec_[A-Za-z0-9+/=]{20,}",
    },
    {
        "label": "sendgrid-key",
        "triggers": ["SG."],
        "pattern": r"SG\.[\w-]{16,}+\.[\w-]{16,}",
    },
    {
        "label": "npm-token",
        "triggers": ["npm_"],
        "pattern": "npm_[A-Za-z0-9]{30,}",
    },
    {
        "label": "pypi-token",
        "triggers": ["pypi-AgE"],
        "pattern": r"pypi-AgE[\w-]{40,}",
    },
    {
        "label": "digitalocean-token",
        "triggers": ["_v1_"],
        "pattern": "do[opr]_v1_[a-f0-9]{40,}",
    },
    {
        "label": "shopify-token",
        "triggers": ["shp"],
        "pattern": "shp(?:at|ca|pa|ss)_[A-Fa-f0-9]{30,}",
    },
    {
        "label": "twilio-key",
        "triggers": ["SK"],
        "pattern": "SK[0-9a-f]{32}(?![A-Za-z0-9])",
    },
    {
        "label": "mailgun-key",
        "triggers": ["key-"],
        "pattern": "key-(?<![_-]key-)[0-9a-f]{32}(?![A-Za-z0-9-])",
    },
    {
        "label": "telegram-token",
        "triggers": [":AA"],
        "pattern": r"(?<!\d)\d{8,10}:AA[\w-]{32,}",
    },
    # It begins with a number in base64, so with one of these pairs: the only literal such a token
    # has.
    {
        "label": "discord-token",
        "triggers": ["MD", "MT", "Mj", "Mz", "ND", "NT", "Nj", "Nz", "OD", "OT", "Oj", "Oz"],
        "pattern": r"[MNO][DTjz][\w-]{20,28}\.[\w-]{6}\.[\w-]{27,45}(?![\w-])",
    },
    {
        "label": "discord-webhook",
        "triggers": ["/api/webhooks/"],
        "pattern": r"/api/webhooks/(?P<s>\d{15,22}/[\w-]{40,})",
    },
    {
        "label": "notion-token",
        "triggers": ["ntn_", "secret_"],
        "pattern": "ntn_[A-Za-z0-9]{36,}|secret_[A-Za-z0-9]{40,}",
    },
    {
        "label": "linear-key",
        "triggers": ["lin_api_"],
        "pattern": "lin_api_[A-Za-z0-9]{30,}",
    },
    {
        "label": "figma-token",
        "triggers": ["figd_"],
        "pattern": r"figd_[\w-]{30,}",
    },
    {
        "label": "docker-token",
        "triggers": ["dckr_pat_"],
        "pattern": r"dckr_pat_[\w-]{20,}",
    },
    {
        "label": "grafana-token",
        "triggers": ["glsa_"],
        "pattern": "glsa_[A-Za-z0-9]{30,}+(?:_[0-9a-f]{8})?",
    },
    {
        "label": "vault-token",
        "triggers": ["hvs.", "hvb."],
        "pattern": r"hv[bs]\.[\w-]{20,}",
    },
    {
        "label": "databricks-token",
        "triggers": ["dapi"],
        "pattern": r"dapi[0-9a-f]{32}(?:-\d)?(?![A-Za-z0-9])",
    },
    {
        "label": "azure-key",
        "triggers": ["AccountKey=", "AccessKey="],
        "pattern": r"(?:Account|SharedAccess)Key=(?P<s>[\w+/]{40,}={0,2})",
    },
    {
        "label": "azure-sas",
        "triggers": ["sig="],
        "pattern": "sig=(?P<s>[A-Za-z0-9%+/]{30,}+={0,2})",
    },
    {
        "label": "authorization",
        "triggers": ["authorization"],
        "pattern": [
            r"(?i)authorization\\{0,7}[\"']?[ \t]*[:=,][ \t]*\\{0,7}[\"']?(?:bearer|basic|token|api-?key",
            r"|digest)[ \t]+(?P<s>[^\s\"'`,;<>\\]{6,})",
        ],
        "accept": "credential",
    },
    {
        "label": "bearer-token",
        "triggers": ["bearer"],
        "pattern": r"(?i)bearer[ \t]+(?P<s>(?=[^\d\s]{0,80}\d)[\w.~+/-]{16,}={0,2})",
    },
    # an image reference (alpine:3.19@sha256:…) has the same shape
    {
        "label": "url-password",
        "triggers": ["://", r":\/\/"],
        "pattern": [
            r":(?://|\\/\\/)[^\s/?#@:\"'`<>\\\[]{0,256}+:(?P<s>[^\s/?#\"'`<>\\]{1,512})@(?!sha\d+:)",
        ],
        "accept": "not_slot",
    },
    {
        "label": "url-token",
        "triggers": ["://"],
        "pattern": r"://(?P<s>[\w.~-]{20,512})@",
        "accept": "machine_made",
    },
    {
        "label": "basic-auth",
        "triggers": ["curl"],
        "pattern": [
            r"(?<!\S)(?:-u|--user)(?:[ \t]+|=)?\\?[\"']?[^\s:\"'$<{\\]{1,100}:(?P<s>[^\s\"'\\]{3,})",
        ],
        "accept": "of_curl",
    },
    {
        "label": "password",
        "triggers": ["sshpass", "mysql", "machine", "IDENTIFIED BY", "WITH PASSWORD"],
        "pattern": [
            r"(?:sshpass\s{1,4}-p ?|mysql(?:dump|admin)?\s(?:\S{1,60}+ ){0,4}?-p|(?:IDENTIFIED BY",
            r"|WITH PASSWORD)\s{1,4}(?=['\"])|machine\s\S{1,99}+\s{1,9}login\s\S{1,99}+\s{1,9}password\s{1",
            r",9})[\"']?(?P<s>[^\s\"'=-][^\s\"']{3,})",
        ],
        "accept": "not_slot",
    },
]
