"""What a secret looks like, and what only stands where one would: read by redact.py."""

from __future__ import annotations

import re
from typing import Any, Final

WORDS: Final[dict[str, str]] = {
    # before `pass` they make it a password
    "have_pass": """
    admin auth become bind db ftp http keystore ldap login mail mongo my mysql pg postgres proxy
    redis root smtp ssh store su sudo truststore user vnc wifi""",  # nosec B105  # words, no password
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
        r"|[@:][A-Za-z_]+\Z|\[[^\]]*\]\Z|[*.xX•…:\\_-]+\Z|(\S)\1{3,}\Z|\$(?:[A-Za-z_]+(?:(?:->|[.:])\w*+)*+",
        r"|[A-Z_][A-Z0-9_]*|\d)\Z|.{0,40}(?:\.\.\.|…).{0,8}\Z",
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
    # rarest letter of each. A KeyError is in every other traceback, an unexpected token
    # in what every other shell says, and neither names a secret.
    "names_secret": [
        "pass|wd(?<=pwd)|c(?:ret(?<=secret)|redential)",
        "|k(?:en(?<=token)(?<!unexpected token)|ennwort|ey(?!error))|zation(?<=authorization)",
    ],
    # the same in texts of other alphabets
    "foreign": "senha|contraseña|пароль|密码|密碼|口令|パスワード|비밀번호|암호",
    # Looked for in the lower-cased text. Bounded, or a row of such words would cost the square of its
    # length.
    "named": [
        "(?:pass|pwd|secret(?:[ _-]?key)?|token|credential|authorization|api[ _-]?key|auth[ _-]?key",
        "|admin[ _-]?key|app(?:lication)?[ _-]?key|license[ _-]?key|write[ _-]?key",
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
        "|(?P<api_key>(?:admin|api|app(?:lication)?|auth|license|write)_?key)|(?P<secret>secret|(?:encryption|master|secret|shared",
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
    # what a terminal colours a text with, also as JSON and source code write it, and what nobody sees
    "unseen": [
        r"[\x1b\\\u00ad\u200b-\u200f\u2060-\u2064\ufeff](?:(?<=[^\x1b\\])",
        r"|(?:(?<=\x1b)|(?<=\\)(?:u001b|x1b|033|e))\[[\d;]{0,20}m)",
    ],
    # where a key may begin: not in a word, unless the letter before is an escape's
    "word_start": r"[^A-Za-z0-9](?=([A-Za-z0-9]..))",
    "escaped_start": r"(?:\\[nrt]|%[0-9A-Fa-f]{2})(?=([A-Za-z0-9]..))",
    "key_inside": [
        r"Q~|-us\d|_mmk|:AA|\.atlasv1\.|M[DTjz][\w-]{20}|N(?:RAL|[DTjz][\w-]{20})|O[DTjz][\w-]{20}"
    ],
    "after_sk": r"(?:(?:proj|svcacct|admin|None|or-v1|lf)-[\w-]{20,}|(?=[A-Za-z]{0,60}\d)[A-Za-z0-9]{20,})",
    # capitals and digits soon: no word that somebody thought of
    "made": r"(?=[^\W\d]{0,12}+-?+[^\W\d]{0,12}+\d)(?=[a-z0-9_-]{0,12}[A-Z])",
    # behind its letters, or a row of A would be read to its end from each of them
    "row_begins": r"(?:(?<![A-Za-z0-9]A{21})|(?<=\\[nrt]A{21})|(?<=%[\dA-Fa-f]{2}A{21}))",
    "uuid": "[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}",
}

# Keys without a space: a label, the beginnings that its keys have, and what follows them.
_BEGINNINGS: Final = r"""
adafruit-key       aio_                              [A-Za-z0-9]{28}(?![A-Za-z0-9])
adobe-secret       p8e-                              [A-Za-z0-9]{32}
age-key            AGE-SECRET-KEY-1                  [A-Z0-9]{40,}
airtable-token     pat                               [A-Za-z0-9]{14}\.[a-f0-9]{64}
alibaba-key-id     LTAI                              [A-Za-z0-9]{17,}
anthropic-key      sk-ant-                           [\w-]{20,}
anyscale-key       esecret_                          [a-z0-9]{25,}
atlassian-token    ATATT3 ATCTT3                     [\w-]{50,}(?:=[A-Fa-f0-9]{8})?
atlassian-token    ATBB                              [A-Za-z0-9]{32}
aws-key            ABSK                              [A-Za-z0-9+/]{100,}
aws-key            amzn.mws.                         {{uuid}}
aws-key-id         AKIA ASIA                         [A-Z2-7]{16}(?![A-Za-z0-9])
braintree-token    access_token$production$          [a-z0-9]{16}\$[a-f0-9]{32}
brave-key          BSA                               {{made}}[\w-]{26,28}(?![\w-])
buildkite-token    bkua_                             [a-f0-9]{40}
cartesia-key       sk_car_                           [A-Za-z0-9]{20,}
cerebras-key       csk-                              [a-z0-9]{40,}
circleci-token     CCIPAT_ CCIPRJ_                   \w{40,}
clickhouse-key     4b1d                              (?=[a-z]{0,30}[A-Z0-9])(?=\d{0,30}\D)[A-Za-z0-9]{38}(?![A-Za-z0-9])
clojars-token      CLOJARS_                          [a-f0-9]{60}
cloudflare-key     v1.0-                             [a-f0-9]{24}-[a-f0-9]{100,}
contentful-token   CFPAT-                            [\w-]{43}
crates-token       cio                               (?=[A-Za-z]{0,30}\d)[A-Za-z0-9]{32}(?![A-Za-z0-9])
databricks-token   dapi                              [0-9a-f]{32}(?:-\d)?(?![A-Za-z0-9])
definednet-key     dnkey-                            [\w-]{26,}
digitalocean-token  doo_v1_ dop_v1_ dor_v1_          [a-f0-9]{40,}
docker-token       dckr_pat_ dckr_oat_               [\w-]{20,}
doppler-token      dp.pt. dp.st. dp.ct. dp.sa.       (?:[\w-]{2,35}\.)?[A-Za-z0-9]{40,}
dropbox-token      sl.B sl.u.                        [\w-]{100,}
duffel-token       duffel_live_ duffel_test_         [\w-]{40,}
dynatrace-token    dt0c01. dt0s01. dt0s16.           [A-Z0-9]{24}\.[A-Z0-9]{64}
e2b-key            e2b_                              [a-f0-9]{40}
easypost-key       EZAK EZTK                         [A-Za-z0-9]{54}
elevenlabs-key     sk_                               [a-f0-9]{48}
facebook-token     EAA                               [A-Za-z0-9]{80,}
figma-token        figd_                             [\w-]{30,}
firecrawl-key      fc-                               [a-f0-9]{32}(?![A-Za-z0-9])
fireworks-key      fw_                               (?=[A-Za-z]{0,20}\d)[A-Za-z0-9]{22,}
flutterwave-key    FLWSECK- FLWSECK_TEST-            [a-f0-9]{12,}-X
fly-token          fm1_ fm2_ fo1_                    [\w+/=,-]{40,}
frameio-token      fio-u-                            [\w=-]{60,}
github-token       ghp_ gho_ ghu_ ghs_ ghr_          [A-Za-z0-9]{30,}
github-token       github_pat_                       \w{30,}
gitlab-token       glft- glimt- glagent- gloas-      [\w.-]{16,}
gitlab-token       glpat- glrt- gldt- glcbt- glptt-  [\w.-]{16,}
gitlab-token       glsoat- glffct- GR1348941         [\w.-]{16,}
gocardless-token   live_                             {{made}}[\w-]{40}(?![\w-])
google-key         1//0                              [\w-]{40,}
google-key         AIza                              [\w-]{33,}
google-key         ya29. GOCSPX-                     [\w-]{20,}
grafana-token      glc_                              [A-Za-z0-9+/=]{32,}
grafana-token      glsa_                             [A-Za-z0-9]{30,}+(?:_[0-9a-f]{8})?
groq-key           gsk_                              [A-Za-z0-9]{32,}
hardwon-token      hwt_                              [0-9a-f]{12}_[\w-]{30,}
helicone-key       sk-helicone-                      [a-z0-9-]{20,}
heroku-key         HRKU-                             [\w-]{30,}
honeybadger-key    hbp_                              [A-Za-z0-9]{30,}
honeycomb-key      hcaik_ hcxik_ hcalk_              [a-z0-9]{40,}
hubspot-token      pat-na1- pat-na2- pat-eu1-        {{uuid}}
huggingface-token  hf_                               [A-Za-z0-9]{30,}
infisical-token    st.                               [a-f0-9]{24}\.[a-f0-9]{32}\.[a-f0-9]{32}
infracost-key      ico-                              [A-Za-z0-9]{32}(?![A-Za-z0-9])
intra42-secret     s-s4t2ud- s-s4t2af-               [a-f0-9]{64}
jfrog-key          AKCp                              [A-Za-z0-9]{60,}
jfrog-key          cmVmdGtu                          [A-Za-z0-9]{50,}
jina-key           jina_                             [A-Za-z0-9]{50,}
langsmith-key      lsv2_pt_ lsv2_sk_                 [a-f0-9]{32}_[a-f0-9]{10}
launchdarkly-key   sdk- api-                         {{uuid}}
lichess-token      lip_                              (?=[A-Za-z]{0,19}\d)[A-Za-z0-9]{20}
linear-key         lin_api_                          [A-Za-z0-9]{30,}
linear-key         lin_oauth_                        [a-f0-9]{40,}
mailgun-key        key-                              (?<![_-]key-)[0-9a-f]{32}(?![A-Za-z0-9-])
mapbox-token       sk.eyJ                            [\w-]{20,}\.[\w-]{20,}
neon-key           napi_                             [a-z0-9]{40,}
netlify-token      nfp_ nfc_ nfo_                    [A-Za-z0-9]{30,}
newrelic-key       NRAK- NRII-                       [\w-]{27,}
notion-token       ntn_                              [A-Za-z0-9]{36,}
notion-token       secret_                           [A-Za-z0-9]{40,}
npm-token          npm_                              [A-Za-z0-9]{30,}
nuget-key          oy2                               [a-z0-9]{43}(?![A-Za-z0-9])
nvidia-key         nvapi-                            [\w-]{50,}
octopus-key        API-                              (?=[A-Z]{0,24}\d)[A-Z0-9]{25,}(?![A-Za-z0-9])
onepassword-key    A3-                               [A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})(?:-[A-Z0-9]{5}){3}
onepassword-token  ops_eyJ                           [\w+/=-]{100,}
openai-key         sk-                               {{after_sk}}
openshift-token    sha256~                           [\w-]{43}
paddle-key         pdl_live_apikey_ pdl_sdbx_apikey_  \w{40,}
perplexity-key     pplx-                             [A-Za-z0-9]{32,}
pinecone-key       pcsk_                             \w{40,}
plaid-token        access-production- access-sandbox-  {{uuid}}
planetscale-token  pscale_tkn_ pscale_pw_ pscale_oauth_  [\w.=-]{30,}
posthog-key        phx_                              [A-Za-z0-9]{40,}
postman-key        PMAK-                             [a-f0-9]{24}-[a-f0-9]{34}
prefect-key        pnu_ pnb_                         [A-Za-z0-9]{36}
pulumi-token       pul-                              [a-f0-9]{40}
pypi-token         pypi-AgE                          [\w-]{40,}
readme-key         rdme_                             [a-z0-9]{60,}
render-key         rnd_                              (?=[A-Za-z]{0,30}\d)[A-Za-z0-9]{28,}
replicate-token    r8_                               [A-Za-z0-9]{30,}
resend-key         re_                               {{made}}\w{30,}
rubygems-key       rubygems_                         [a-f0-9]{48}
scalingo-token     tk-us-                            [\w-]{48}
sendgrid-key       SG.                               [\w-]{16,}+\.[\w-]{16,}
sendinblue-key     xkeysib- xsmtpsib-                [a-f0-9]{60,}-\w{10,}
sentry-token       sntrys_ sntryu_ sntrya_ sntryi_   [\w+/=-]{30,}
settlemint-token   sm_pat_ sm_aat_ sm_sat_           [A-Za-z0-9]{16}
shippo-token       shippo_live_ shippo_test_         [a-f0-9]{40}
shopify-token      shpat_ shpca_ shppa_ shpss_       [A-Fa-f0-9]{30,}
sonar-token        squ_ sqp_ sqa_                    [a-f0-9]{40}
sourcegraph-token  sgp_                              [a-f0-9_]{40,}
square-token       EAAA                              [\w-]{55,}
square-token       sq0atp- sq0csp- sq0idp-           [\w-]{20,}
stripe-key         sk_live_ sk_test_ rk_live_ rk_test_  [A-Za-z0-9]{16,}
stripe-key         whsec_                            [A-Za-z0-9+/=]{20,}
supabase-key       sb_secret_                        [\w-]{20,}
supabase-key       sbp_                              [a-f0-9]{40}
tailscale-key      tskey-                            [\w-]{20,}
tavily-key         tvly-                             [\w-]{20,}
together-key       tgp_v1_                           [\w-]{40,}
twilio-key         SK0 SK1 SK2 SK3 SK4 SK5 SK6 SK7 SK8 SK9 SKa SKb SKc SKd SKe SKf  [0-9a-f]{31}(?![A-Za-z0-9])
twitch-token       oauth:                            [a-z0-9]{30}(?![A-Za-z0-9])
twitter-token      AAAAAAAAAAAAAAAAAAAAA             {{row_begins}}[A-Za-z0-9]{20,}+%3D[A-Za-z0-9]{20,}
typeform-token     tfp_                              [\w.=-]{50,}
vault-token        hvs. hvb.                         [\w-]{20,}
vercel-token       vcp_ vci_ vca_ vcr_ vck_          [A-Za-z0-9]{40,}
vercel-token       vercel_blob_rw_                   \w{20,}
voyage-key         pa-                               {{made}}[\w-]{43}(?![\w-])
wandb-key          wandb_v1_                         \w{40,}
xai-key            xai-                              [A-Za-z0-9]{32,}
xata-key           xau_                              [A-Za-z0-9]{30,}
yandex-key         AQVN                              [\w-]{30,}
"""


# The same for keys that are known by what they have inside: one of these, and the whole key.
_INSIDE: Final = r"""
azure-key          Q~                                (?<![\w~.-])[\w~.-]{3}\dQ~[\w~.-]{31,34}
discord-token      MD MT Mj Mz ND NT Nj Nz OD OT Oj Oz  [MNO][DTjz][\w-]{20,28}\.[\w-]{6}\.[\w-]{27,45}(?![\w-])
mailchimp-key      -us1 -us2 -us3 -us4 -us5 -us6 -us7 -us8 -us9  [0-9a-f]{32}-us\d{1,2}(?!\w)
maxmind-key        _mmk                              [A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk
newrelic-key       NRAL                              [a-f0-9]{36}NRAL
telegram-token     :AA                               (?<!\d)\d{8,10}:AA[\w-]{32,}
terraform-token    .atlasv1.                         [A-Za-z0-9]{14}\.atlasv1\.[\w-]{60,}
"""


def _key(line: str, *, begins: bool) -> dict[str, Any]:
    label, *triggers, pattern = line.split()
    beginning = f"(?:{'|'.join(map(re.escape, triggers))})" if begins else ""
    return {"label": label, "triggers": triggers, "pattern": beginning + pattern}


def _rows(table: str) -> list[dict[str, Any]]:
    """The rows of a table: a line with the label, what decides, and the triggers, in which ~ is a blank; below it, further
    in, the pattern.
    """
    rows: list[dict[str, Any]] = []
    for line in table.strip().splitlines():
        if line.startswith("    "):
            rows[-1]["pattern"] += line[4:]
        elif not line.startswith("#"):
            label, accept, *triggers = line.split()
            triggers = [trigger.replace("~", " ") for trigger in triggers]
            rows.append({"label": label, "accept": accept, "triggers": triggers, "pattern": ""})
    return rows


KEY_CHARS_MIN: Final = 20
KEYS: Final = [
    *(_key(line, begins=True) for line in _BEGINNINGS.strip().splitlines()),
    *(_key(line, begins=False) for line in _INSIDE.strip().splitlines()),
]


# Secrets that carry a mark of their maker. A pattern runs only where one of its triggers occurs,
# which keeps it cheap; small letters stand for both cases. The group `s` is what is replaced, or
# the whole match where there is none.
_SECRETS: Final = r"""
# code that only mentions the first line has no key material after it
private-key     always        PRIVATE~KEY
    (?s)-{4,5} ?BEGIN {{pem_kind}}(?=(?:[ \t]*(?:\\+[nr]|[\r\n]))++[ \t>|#*]*+[\w+/]{4}|(?:\\+[nr]|[\s\"'+,>
    |#])*+[A-Za-z0-9+/]{16}).*?(?:-{4,5} ?END {{pem_kind}}|\Z)
# The same in base64, as Kubernetes keeps it: after BEGIN comes PRIVATE, RSA, EC, OPENSSH or
# ENCRYPTED.
private-key     always        LS0tLS1CRUdJTi
    LS0tLS1CRUdJTiB(?:QUk|SU0|FQy|PUE|FTk)[A-Za-z0-9+/=]{20,}
# begins only where its run of characters begins, or a row of eyJ would be scanned from each of
# them
jwt             always        eyJ
    eyJ(?:(?<![\w-]eyJ)|(?<=\\[nrt]eyJ)|(?<=%[\dA-F]{2}eyJ))[\w-]{8,}+\.[\w-]*+\.[\w-]{10,}+(?:\.[\w-]++){0,2}
slack-token     always        xox xapp-
    (?:xox[a-z](?:\.xox[a-z])?|xapp)-[A-Za-z0-9-]{10,}
slack-webhook   always        hooks.slack.com/
    hooks\.slack\.com/[a-z]{1,20}/(?P<s>[A-Za-z0-9/]{20,})
discord-webhook always        /api/webhooks/
    /api/webhooks/(?P<s>\d{15,22}/[\w-]{40,})
azure-key       always        AccountKey= AccessKey=
    (?:Account|SharedAccess)Key=(?P<s>[\w+/]{40,}={0,2})
azure-sas       always        sig=
    sig=(?P<s>[A-Za-z0-9%+/]{30,}+={0,2})
authorization   credential    authorization
    (?i)authorization\\{0,7}[\"']?[ \t]*[:=,][ \t]*\\{0,7}[\"']?(?:bearer|basic|token|api-?key|digest|splunk|geniekey
    |sso-key)[ \t]+(?P<s>[^\s\"'`,;<>\\]{6,})
bearer-token    always        bearer
    (?i)bearer[ \t]+(?P<s>(?=[^\d\s]{0,80}\d)[\w.~+/-]{16,}={0,2})
# an image reference (alpine:3.19@sha256:…) has the same shape
url-password    not_slot      :// :\/\/
    :(?://|\\/\\/)[^\s/?#@:\"'`<>\\\[]{0,256}+:(?P<s>[^\s/?#\"'`<>\\]{1,512})@(?!sha\d+:)
url-token       machine_made  ://
    ://(?P<s>[\w.~-]{20,512})@
basic-auth      of_curl       curl
    (?<!\S)(?:-u|--user)(?:[ \t]+|=)?\\?[\"']?[^\s:\"'$<{\\]{1,100}:(?P<s>[^\s\"'\\]{3,})
password        not_slot      sshpass mysql machine IDENTIFIED~BY WITH~PASSWORD
    (?:sshpass\s{1,4}-p ?|mysql(?:dump|admin)?\s(?:\S{1,60}+ ){0,4}?-p|(?:IDENTIFIED BY|WITH PASSWORD)\s{1,4}(?=['\"])
    |machine\s\S{1,99}+\s{1,9}login\s\S{1,99}+\s{1,9}password\s{1,9})[\"']?(?P<s>[^\s\"'=-][^\s\"']{3,})
okta-token      always        SSWS~
    SSWS (?P<s>00[\w-]{38,})
webhook         always        webhook.office.com/ hooks.zapier.com/
    (?:webhook\.office\.com/webhookb2|hooks\.zapier\.com/hooks/catch)/(?P<s>[\w@-]+/[\w/-]{6,})
private-key     always        Private-Lines:
    Private-Lines: \d+(?:\s|\\[nr])+(?P<s>[A-Za-z0-9+/=]{16,}(?:(?:\s|\\[nr])+[A-Za-z0-9+/=]{16,})*)
docker-auth     machine_made  "auth _auth
    (?:_auth[ \t]*=[ \t]*|\"auth\\{0,7}\"[ \t]*:[ \t]*\\{0,7})\"?(?P<s>[A-Za-z0-9+/]{12,}={0,2})
access-token    always        _PAT
    [A-Z0-9_]{2,60}_PAT[ \t]*[=:][ \t]*[\"']?(?P<s>[A-Za-z0-9_-]{20,})
# What a browser carries. Names such as `theme=dark` are no secret.
cookie          cookie        cookie curl
    (?i)(?:cookie2?\\{0,7}[\"']?[ \t]*[:=,]|curl\s(?:\S{1,200}+\s){0,9}?(?:-b|--cookie))[ \t=]*\\{0,7}[\"']?
    (?P<s>[\w.-]{1,60}=[^\r\n\"'\\]{8,})
cookie          machine_made  _session= sessionid= jsessionid= phpsessid= connect.sid=
    (?i)(?:_session|j?sessionid|phpsessid|connect\.sid)=(?P<s>[\w.%+/-]{16,})
# Commands that take a password after a letter, or after a name.
password        spoken        ~login~ redis-cli mongo ldap zip~- 7z htpasswd smbclient net~use
    (?:(?:docker|podman|nerdctl|buildah|skopeo|oras|az|helm registry) login\s(?:[^\s|;&]{1,200}+\s){0,9}?-p[ =]?
    |redis-cli\s(?:[^\s|;&]{1,200}+\s){0,9}?(?:-a |--pass )|mongo(?:sh|dump|restore|export|import)?\s(?:[^\s
    |;&]{1,200}+\s){0,9}?-p ?|ldap\w{3,9}\s(?:[^\s|;&]{1,200}+\s){0,9}?-w |(?:un)?zip\s(?:[^\s|;&]{1,200}+\s){0,9}?-P ?
    |7z[ar]?\s(?:[^\s|;&]{1,200}+\s){0,9}?-p|htpasswd\s(?:-\w++ ){0,9}-(?=\w*b)\w++ \S{1,200}+ \S{1,100}+ |smbclient\s
    (?:[^\s|;&]{1,200}+\s){0,9}?-U ?[^\s%]{1,99}%|net use\s(?:[^\s|;&]{1,200}+\s){1,4}?/user:\S{1,99}+ )[\"']?
    (?P<s>[^\s\"'=-][^\s\"']{3,})
password        not_slot      pass: storepass keypass ConvertTo-SecureString
    (?:-pass(?:in|out)?[ =]pass:|-(?:store|key)pass[ =]|ConvertTo-SecureString (?:-String )?)[\"']?
    (?P<s>[^\s\"'=-][^\s\"']{3,})
password        not_slot      -file=<(
    (?:pass\w{0,12}|secret|token)-file=<\(echo[ \t]+[\"']?(?P<s>[^\s\"')]{6,200})
password        not_slot      --password-stdin sudo~-S
    echo[ \t]+(?:-n[ \t]+)?[\"']?(?P<s>[^\s\"'|]{6,200})[\"']?[ \t]*\|[ \t]*(?:sudo[ \t]+-S|[^\n
    |]{0,120}--password-stdin)
password        credential    auth .login(
    (?:auth|Auth|Basic[Aa]uth|Digest[Aa]uth|H(?:TTP|ttp)(?:Basic|Digest)?[Aa]uth|\.login)(?:[ \t]*=[ \t]*)?
    \(\s{0,40}[\"'][^\"'\n]{1,80}[\"']\s{0,40},\s{0,40}[\"'](?P<s>[^\s\"']{4,200})
password        credential    http~- https~-
    \bhttps? (?:-\S{1,40} ){0,5}-a [^\s:]{1,60}:(?P<s>[^\s\"']{4,200})
password        spoken        requirepass masterauth
    (?:requirepass|masterauth)[ \t]+[\"']?(?P<s>[^\s\"']{6,200})
password        not_slot      :5432: :*:
    (?m)^[\w.*-]+:(?:\d{2,5}|\*):[\w*-]+:[\w*.-]+:(?P<s>[^\s:]{4,})$
"""


SECRETS: Final = _rows(_SECRETS)

# Those that can only be where something is named as a secret is.
_NAMED: Final = r"""
# What is named where no sign stands between a name and its value: XML, tables, `set NAME value`.
secret          named         </
    <(?P<n>[\w:.-]{3,60})(?:\s[^<>]{0,200}+)?>\s*(?P<s>[^<>\s]{4,300})\s*</(?P=n)>
secret          named         value=
    <(?P<n>[\w:.-]{3,60})\s[^<>]{0,200}?value=[\"'](?P<s>[^\"'<>\s]{4,300})
secret          named         name= key= <key>
    (?:(?:n(?<!\wn)ame|k(?<!\wk)ey)=[\"'](?P<n>[\w:.-]{3,80})[\"'](?:\s+value=[\"']|[^<>]{0,99}>\s*)|<key>
    (?P<m>[\w:.-]{3,80})</key>\s*<string>)(?P<s>[^<>\s\"']{4,300})
password        not_slot      type="password"
    type=\"password\"[^<>]{0,200}?value=\"(?P<s>[^\"<>]{3,200})\"
secret          named         set~ setx~ ENV~ SETX~ define(
    (?:\b(?:ENV|setx?|SETX?|configure set|config set|set -\w{1,3})[ \t]+|define\([\"'])(?P<n>[\w:./-]{3,120})(?:[ \t]+
    |[\"'],\s*)[\"']?(?P<s>[^\s\"']{4,300})
secret          named         variable~"
    variable \"(?P<n>[\w-]{3,80})\"\s*\{[^{}]{0,300}?default\s*=\s*\"(?P<s>[^\"]{4,300})\"
secret          named         %3d
    (?i)(?=\w{3,28}+%3d)(?P<n>\w{0,20}(?:passw(?:or)?d|pwd|token|secret|api_?key))%3d(?P<s>[^\s&%\"'<>]{4,300})
secret          named         password~| passwd~| token~| secret~| key~|
    (?i)\|[ \t]*+(?P<n>[\w-](?:[\w -]{0,38}[\w-])?+)[ \t]*+\|[ \t]*+`?(?P<s>[^|\s`]{6,200})`?[ \t]*+\|
secret          named         value
    n(?<!\wn)ame[\"']?[ \t]*:[ \t]*[\"']?(?P<n>[\w.-]{3,80})[\"']?,?\s{0,40}[\"']?value[\"']?[ \t]*:[ \t]*[\"']?
    (?P<s>[^\s\"',{}]{4,300})
# what is typed after a prompt, or stands below its name
password        spoken        password: passphrase: passcode:
    (?i)pass(?:word|phrase|code):[ \t]*\r?\n[ \t]*(?P<s>\S{6,200})[ \t]*(?=[\r\n]|\Z)
# As people say it. A word without digits is the sentence's next one.
secret          spoken        passw passphrase passcode api~key access~key secret token
    [AaPpSsTt](?<![\w-].)(?i:(?<=p)ass(?:w(?:or)?d|phrase|code)|(?<=a)(?:pi|ccess) key|(?<=s)ecret(?: key)?|(?<=t)oken)
    (?i: (?:for|of|to) \S{1,40}+)?(?i: is| was|)[ \t]+[\"'`]?(?P<s>[^\s\"'`<>]{8,200})
password        spoken        passwort kennwort mot~de~passe contraseña senha пароль 密码 密碼 口令 パスワード 비밀번호 암호
    (?i)(?:passwort|kennwort|mot de passe|contraseña|senha|пароль|密码|密碼|口令|パスワード|비밀번호|암호)
    [ \t]*(?:[:=\uff1a]|ist|lautet
    |est|es|是|は|는|은)[ \t]*[\"'`]?(?P<s>[^\s\"'`<>]{6,200})
"""


NAMED: Final = _rows(_NAMED)
