"""Texts with invented secrets, and ordinary texts that look a little like them.

Marks of providers are put together from pieces, so that no scanner takes this file for a leak.
"""

from __future__ import annotations

import json
import random
import string
import sys
from collections import Counter
from pathlib import Path

_ALNUM = string.ascii_letters + string.digits
_HEX = "0123456789abcdef"
_URLSAFE = _ALNUM + "_-"
_BASE64 = _ALNUM + "+/"
_MADE = Counter[str]()


def made_up(length: int, alphabet: str = _ALNUM) -> str:
    """Random, but the same in every run; it has a digit, as a real one has."""
    asking = sys._getframe(1).f_globals["__name__"]
    _MADE[asking] += 1
    rng = random.Random(_MADE[asking] if asking == __name__ else f"{asking} {_MADE[asking]}")
    value = "".join(rng.choice(alphabet) for _ in range(length - 2))
    return value + rng.choice([c for c in alphabet if c.isalpha()]) + rng.choice("234567")


def pem(kind: str, newline: str = "\n", end: bool = True, headers: str = "") -> str:
    """A private key block, or most of one."""
    lines = ["-----BEG" + f"IN {kind}-----", *([headers, ""] if headers else [])]
    lines += [made_up(64, _BASE64) for _ in range(4)] + [made_up(40, _BASE64) + "=="]
    return newline.join([*lines, "-----EN" + f"D {kind}-----"] if end else lines)


def jwt() -> str:
    """Three parts, the first two of which are JSON in base64."""
    return f"ey{'J'}{made_up(33, _URLSAFE)}.ey{'J'}{made_up(70, _URLSAFE)}.{made_up(43, _URLSAFE)}"


SECRETS: list[tuple[str, str, str]] = []


def _add(label: str, template: str, secret: str) -> None:
    """One case: `@@` in the template is where the secret stands."""
    assert template.count("@@") == 1
    SECRETS.append((label, template.replace("@@", secret), secret))


# Letters and digits as keys are written: base 32 in small letters and in capitals, too.
_LETTERS = {
    "a": _ALNUM,
    "h": _HEX,
    "u": _URLSAFE,
    "b": _BASE64,
    "U": string.ascii_uppercase + string.digits,
    "l": string.ascii_lowercase + string.digits,
    "2": string.ascii_lowercase + "234567",
    "3": string.ascii_uppercase + "234567",
}


def _make_secret(spec: str) -> str:
    """What the pieces between `~` make together: `{48a}` is as many signs that are made up."""

    def make_piece(piece: str) -> str:
        if piece == "{jwt}":
            return jwt()
        if piece[:1] == "{":
            return made_up(int(piece[1:-2]), _LETTERS[piece[-2]])
        return piece

    return "".join(map(make_piece, spec.split("~")))


# A case in each line: label, template and secret. A line end in a template is `⏎`.
for _line in r"""
openai-key | @@ | sk~-~{48a}
openai-key | client = OpenAI(api_key='@@') | sk~-proj-~{120u}
openai-key | Incorrect API key provided: @@. You can find your key at … | sk~-~{51a}
openai-key | export OPENAI_API_KEY=@@⏎python run.py | sk~-svcacct-~{90u}
openai-key | {"openrouter": "@@"} | sk~-or-v1-~{64h}
anthropic-key | ANTHROPIC_API_KEY=@@ | sk~-ant-~api03-~{95u}
anthropic-key | x-api-key: @@⏎anthropic-version: 2023-06-01 | sk~-ant-~{40u}
hardwon-token | curl -H 'X-Token: @@' localhost:8765 | hw~t_~{12h}~_~{43u}
github-token | @@ is what I used | gh~p_~{36a}
github-token | git push https://x-access-token:@@@github.com/a/b.git | gh~s_~{36a}
github-token | headers = {"Authorization": "token @@"} | gh~o_~{36a}
github-token | log line 1\n@@\nlog line 3 | gh~u_~{36a}
github-token | refresh (@@), done | gh~r_~{76a}
github-token | 토큰은 @@ 입니다 | github~_pat_~{22a}~_~{59a}
github-token | https://@@@github.com/acme/tool.git | gh~p_~{36a}
gitlab-token | curl --header 'PRIVATE-TOKEN: @@' https://gitlab.example.com/api | glp~at-~{20a}
groq-key | GROQ_API_KEY: @@ | gs~k_~{52a}
xai-key | Using key @@ for grok | xa~i-~{80a}
perplexity-key | [@@] | ppl~x-~{48a}
tavily-key | TavilyClient("@@") | tvl~y-dev-~{32a}
huggingface-token | hf auth login --token @@ --add-to-git-credential | h~f_~{34a}
replicate-token | REPLICATE_API_TOKEN=@@; | r~8_~{37a}
aws-key-id | aws_access_key_id = @@⏎region = eu-west-1 | AK~IA~{163}
aws-key-id | Credential=@@/20240501/us-east-1/s3/aws4_request | AS~IA~{163}
access-key | [default]⏎aws_secret_access_key = @@⏎region = eu-west-1 | wJ~{17a}~/~{20b}
access-key | AWS_SECRET_ACCESS_KEY=@@ | {19a}~/+~{19b}
access-key | {"SecretAccessKey": "@@", "Expiration": "2024-05-01"} | {40b}
access-key | set AWS_SECRET_ACCESS_KEY=@@ | /~{19a}~/~{19a}
google-key | https://maps.googleapis.com/maps/api/js?key=@@&v=3 | AI~za~{35u}
google-key | access: @@ | ya2~9.~{80u}
google-key | "client_secret":"@@" | GOC~SPX-~{28u}
slack-token | slack_sdk.WebClient(token='@@') | xo~xb-~123456789012-1234567890123-~{24a}
slack-token | user token @@ revoked | xo~xp-~12345678901-~{40a}
slack-token | SLACK_APP=@@ | xa~pp-1-~{11a}~-~{50a}
slack-webhook | POST https://hooks.slack.com/services/@@ -> 200 | T~{8a}~/B~{8a}~/~{24a}
stripe-key | stripe.api_key = "@@" | sk~_live_~{24a}
stripe-key | stripe.Charge failed with @@: no such customer | sk~_test_~{24a}
stripe-key | rk: '@@' | rk~_live_~{24a}
stripe-key | endpoint_secret = '@@'  # from the dashboard | wh~sec_~{32a}
sendgrid-key | SENDGRID='@@' | S~G.~{22u}~.~{43u}
npm-token | //registry.npmjs.org/:_authToken=@@ | np~m_~{36a}
pypi-token | [pypi]⏎username = __token__⏎password = @@⏎ | py~pi-AgE~IcHlwaS5vcmc~{120u}
digitalocean-token | doctl auth init -t @@ | do~p_v1_~{64h}
shopify-token | X-Shopify-Access-Token: @@ | shp~at_~{32h}
twilio-key | Client('@@', secret) | S~K~{32h}
mailgun-key | curl -s --user 'api:@@' https://api.mailgun.net/v3 | ke~y-~{32h}
telegram-token | https://api.telegram.org/bot@@/getMe | 712345678~9:A~A~{33u}
telegram-token | bot = Bot('@@') | 12345678~90:A~A~{33u}
google-key | curl https://example.com/v1?key=@@ | A~Q.~Ab8RN6~{44u}
github-token | using @@ of the app | gh~s_~APP_~{60u}
azure-key | git clone with @@ | {76a}~AZ~DO~{4a}
age-key | @@ | AGE-SEC~RET-KEY-PQ-1~{58U}
kaggle-secret | {"username":"ann","key":"@@"} | {32h}
kaggle-key | export KAGGLE=@@ | KG~AT_~{32h}
cursor-key | CURSOR @@ | cr~sr_~{64h}
mailgun-secret | mailgun uses @@ | {32h}~-~{8h}~-~{8h}
ngrok-secret | ngrok config add-authtoken @@ | 2~{26a}~_~{21a}
private-key | {"kty":"EC","crv":"P-256","x":"abc","d":"@@"} | {43u}
seed-phrase | wallet seed: @@ | abandon ability able about above absent absorb abstract absurd abuse access accident
rails-secret | echo @@ > config/master.key | {32h}
elastic-secret | x: ApiKey @@ | {60a}~==
saml-response | SAMLResponse=@@ | PHNhbWxwOlJl~{200a}
secret | key: @@ | {64h}
password | openssl enc -aes-256-cbc -in a -out b -k @@ | Sommer2024!wald
password | ansible-playbook x.yml --vault-pass @@ | hunter2Wald
password | xfreerdp /u:ann /pass:@@ /v:host | Geheim!77x
password | xfreerdp /u:ann /p:@@ /v:host | Geheim!77y
discord-token | bot.run('@@') | MT~{24a}~.~{6a}~.~{38u}
discord-webhook | https://discord.com/api/webhooks/@@ | 123456789012345678/~{68u}
notion-token | Client(auth='@@') | nt~n_~{46a}
notion-token | notion: @@ (old) | secr~et_~{43a}
linear-key | linear @@ | lin~_api_~{40a}
figma-token | X-Figma-Token: @@ | fig~d_~{40u}
vault-token | VAULT_TOKEN=@@ | hv~s.~{90u}
databricks-token | DATABRICKS: @@ | da~pi~{32h}
azure-key | DefaultEndpointsProtocol=https;AccountName=a;AccountKey=@@;EndpointSuffix=core.windows.net | {86b}~==
azure-sas | https://a.blob.core.windows.net/c/b.txt?sv=2022-11-02&sr=b&sig=@@&se=2024-05-01 | {40a}~%2F~{5a}~%3D
jwt | token=@@ | {jwt}
jwt | Set-Cookie: session=@@; HttpOnly; Path=/ | {jwt}
jwt | {"id_token": "@@", "token_type": "bearer"} | {jwt}
jwt | decoded ok\n@@\nend | {jwt}
private-key | ⏎  tls.key: @@⏎ | LS0tLS1CRUdJTi~BSU0EgUFJJVkFURSBLRVktLS0tLQo~{200b}~=
authorization | Authorization: Bearer @@ | abc123XYZ789
authorization | curl -H 'Authorization: Basic @@' https://example.com | dXNlcjpwYXNzd29yZA==
authorization | {"headers": {"Authorization": "Bearer @@"}} | {32a}
authorization | {\"Authorization\": \"Bearer @@\"} | {32a}
authorization | 'authorization': 'Bearer @@', | {20u}
bearer-token | sent with Bearer @@ and got 401 | {40a}
url-password | postgresql://app:@@@db.internal:5432/main | s3cr3t-Pa55
url-password | DATABASE_URL=mysql://root:@@@127.0.0.1/shop | correcthorse
url-password | redis://:@@@cache:6379/0 refused | hunter2hunter2
url-password | amqp://guest:@@@mq/%2f | p%40ss%2Fw0rd%21
url-password | connect to 'mongodb+srv://u:@@@c0.abcde.mongodb.net/?retryWrites=true' timed out | Zx9!kk_2
url-password | https:\/\/bob:@@@example.com\/x | tr0ub4dor
url-password | see ftp://user:@@@host/file | p@ss@word
url-password | http://user:@@@host/x | password
url-token | git clone https://@@@dev.azure.com/org/p/_git/r | {522}~a2b3c4
basic-auth | curl -u admin:@@ https://example.com/api | s3cretpass
basic-auth | $ curl -s --user 'bob:@@' -X POST https://example.com | correct-horse
basic-auth | curl -XGET -u "elastic:@@" localhost:9200/_cat | changed9
password | sshpass -p '@@' ssh root@10.0.0.3 | toor1234
password | mysql -h db -u root -p@@ shop < dump.sql | hunter2x
password | machine api.heroku.com login me@example.com password @@ | abcdefgh-1234
password | ALTER USER app WITH PASSWORD '@@'; | n3w-passw0rd
password | CREATE USER 'a'@'%' IDENTIFIED BY '@@'; | topsecretvalue
password | tool --user bob --password @@ --verbose | hunter2x
password | tool --password @@ | correcthorse
password | tool --password="@@" run | correct horse battery
token | gh-tool --token=@@ sync | a8f5f167f44f4964e6c998dee827110c
api-key | run --api-key @@⏎ | abcd1234efgh5678
api-key | run --api-key '@@' --fast | 0a1b2c3d4e
password | docker run -e DB_PASSWORD=@@ -p 5432:5432 postgres:16 | correcthorse
token | docker build --build-arg NPM_TOKEN=@@ . | abcd1234efgh
password | password = "@@" | correct horse battery staple
password | password = '@@'  # TODO remove | swordfish
password | {"user": "bob", "password": "@@", "age": 3} | hunter2x
password | {"body": "{\"user\": \"bob\", \"password\": \"@@\"}"} | hunter2x
password | {\"pw\": 1, \"db_password\": \"@@\"} | a\\\"b-quoted-c
api-key | config = {'api_key': '@@', 'debug': True} | 5f0c7127-3be9-4488-b801-c7b6415b45e9
password | db:⏎  host: localhost⏎  password: @@⏎  port: 5432⏎ | hunter2x
password | DB_HOST=localhost⏎DB_PASSWORD=@@⏎DB_PORT=5432⏎ | correcthorse
secret | export SECRET_KEY='@@' | django-insecure-abc
secret | SECRET_KEY = "@@" | k#9$x!pq&2
password | Server=db;Database=x;User Id=sa;Password=@@;Encrypt=true | Hunter2x!
password | Server=db;Uid=sa;Pwd=@@; | correcthorse
password | PGPASSWORD=@@ psql -h db -U app | correcthorse
password | host=db user=app password=@@ dbname=x | correcthorse
password | POST /login username=bob&password=@@&remember=1 | correcthorse
token | GET /v1/items?access_token=@@&page=2 HTTP/1.1 | 9f86d081884c7d65
token | wss://example.com/socket?token=@@ | abcd-1234-efgh-5678
password | DB_PASSWORD=@@ | p@ss(w0rd)!#x
password | a=1\nDB_PASSWORD=@@\nb=2 | hunter2x
password | user: admin, password: @@. | hunter2x
password | (login: bob / password: @@) | Tr0ub4dor&3
password | spring.datasource.password=@@ | correcthorse
api-key | X-Api-Key: @@ | 7a6b5c4d3e2f1a0b
api-key | const openaiApiKey = `@@`; | prod1key2value3
password | password: str = "@@" | hunter2x
password | let db_password: &str = "@@"; | hunter2x
password | dbPassword := "@@" | hunter2x
password | 'password' => '@@', | hunter2x
password | os.environ['DB_PASSWORD'] = '@@' | hunter2x
password | connect(host="db", password="@@", port=1) | hunter2x
password | Settings(password=SecretStr('@@')) | hunter2x
password |   POSTGRES_PASSWORD: @@⏎  POSTGRES_DB: x | postgres
password | **Password:** @@ | hunter2x
password | 비밀번호는 password: @@ 이고 | hunter2x
password | password="@@ | cut-short-here
password | print('login'); password='@@'; print("done") | don\'t tell
private-key | ETH_PRIVATE_KEY=@@ | 0x~{64h}
credential | "credentials": "@@" | bob:hunter2x
password | smtp_pass=@@ smtp_host=mail | zq81-kk
password | x --password @@ --y | F3TRe^ZI(l+P7b
password | Server=db;Password=@@;Encrypt=true | ab!cd-9[ef]g(h
access-key | aws_secret_access_key = @@⏎ | gbGjWgNxual2LKudtlLmvCXzxHChtTywxYouKaNQ
api-key | GET /?api_key=@@&x=1 | mBGQHBLK4pTfiKbvykBpryrN
token | token: @@⏎ | RGmxea4NMxfjpXqxNnRbTk
password |   password: @@⏎ | IsDqbWWJxY
okta-token | header SSWS @@ | 00~{40u}
access-token | AZURE_DEVOPS_EXT_PAT=@@ az repos list | {52l}
cookie | Set-Cookie: @@ | session=~{40a}~; Path=/; HttpOnly
cookie | curl -s -b '@@' http://localhost/ | JSESSIONID=~{32U}
cookie | the store has _gitlab_session=@@ now | {32h}
docker-auth | {"auths": {"registry.io": {"auth": "@@"}}} | {28a}~==
docker-auth | //registry.io/:_auth=@@ | {28a}~==
webhook | https://hooks.zapier.com/hooks/catch/@@ answers | 1234567/~{7a}
""".strip("\n").split("\n"):
    _label, _template, _spec = _line.split(" | ")
    _add(_label, _template.replace("⏎", "\n"), _make_secret(_spec))

_add(
    "docker-token",
    "echo @@ | docker login --username me --password-stdin",
    "dck" + "r_pat_" + made_up(27, _URLSAFE),
)
_add(
    "grafana-token",
    'grafana: "@@"',
    "gl" + "sa_" + made_up(32) + "_" + made_up(8, _HEX).replace("_", "0")[:6] + "0a",
)
_add(
    "age-key",
    "# created: 2024-05-01\n@@\n",
    "AGE-SECRET" + "-KEY-1" + made_up(58, "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L").upper(),
)

# ---- private keys
_add("private-key", "@@", pem("RSA PRIVATE KEY"))
_add("private-key", "key file:\n@@\nend of file", pem("PRIVATE KEY"))
_add("private-key", "cat ~/.ssh/id_ed25519\n@@\n$ ", pem("OPENSSH PRIVATE KEY"))
_add("private-key", "@@ trailing", pem("EC PRIVATE KEY"))
_add("private-key", "x\n@@", pem("ENCRYPTED PRIVATE KEY", end=False))
_add(
    "private-key",
    '{"private_key": "@@\\n", "client_email": "a@b.iam"}',
    pem("PRIVATE KEY", newline="\\n"),
)
_add("private-key", "gpg --export\n@@\n", pem("PGP PRIVATE KEY BLOCK", headers="Version: GnuPG v2"))
_add(
    "private-key",
    "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n@@\n",
    pem("RSA PRIVATE KEY"),
)
_add(
    "private-key",
    "@@",
    pem("RSA PRIVATE KEY", headers="Proc-Type: 4,ENCRYPTED\nDEK-Info: DES,AB12"),
)

# ---- headers, addresses, command lines
_add("authorization", "GET / HTTP/1.1\r\nAuthorization: token @@\r\nHost: a\r\n", made_up(40, _HEX))

# ---- values under a name
_add("secret", "client_secret: @@", "8Q~abcDEF123456ghiJKL")

# ---- found by trying random values
_add("password", "DB_PASSWORD=@@\nX=1", "m6;KFbm1}%|<x")
_add("password", 'password = "@@"', "<IH-zWTv$xr8M{{93Ex@;V")

# ---- keys that are known by how they begin; `|` is where the beginning is put together, `%` a blank
_UPPER, _LOWER = _LETTERS["U"], _LETTERS["l"]


def _uuid() -> str:
    return "-".join(made_up(size, _HEX) for size in (8, 4, 4, 4, 12))


_PREFIXED = """
adobe-secret p8|e- 32a  alibaba-key-id LT|AI 20a  atlassian-token ATA|TT3xFfGF0 180u
atlassian-token AT|BB 32a  aws-key AB|SK 110b  buildkite-token bk|ua_ 40h
circleci-token CCI|PAT_ 62a  clojars-token CLO|JARS_ 60h  contentful-token CF|PAT- 43u
docker-token dckr|_oat_ 32u  doppler-token dp.|st.prd. 43a  dropbox-token sl|.B 130u
duffel-token duffel|_live_ 43u  easypost-key EZ|AK 54a  facebook-token EA|ACEdEose0cBA 120a
fly-token FlyV1%fm|2_ 200b  frameio-token fio|-u- 64u  gitlab-token gl|rt- 20u
gitlab-token gl|dt- 20u  gitlab-token gl|agent- 50u  gitlab-token GR1348|941 20u
google-key 1/|/0 60u  grafana-token gl|c_eyJ 80b  honeycomb-key hc|aik_01 56l
jfrog-key AK|Cp8 68a  jfrog-key cmVm|dGtu 56a  neon-key na|pi_ 64l  netlify-token nf|p_ 36a
newrelic-key NR|AK- 27U  nuget-key oy|2 43l  onepassword-token ops|_eyJ 250b
openshift-token sha|256~ 43u  pinecone-key pc|sk_ 60a  planetscale-token pscale|_pw_ 43u
prefect-key pn|u_ 36a  pulumi-token pu|l- 40h  readme-key rd|me_ 70l  render-key rn|d_ 32a
rubygems-key ruby|gems_ 48h  scalingo-token tk|-us- 48u  sentry-token sntr|yu_ 64h
shippo-token shippo|_live_ 40h  sonar-token sq|p_ 40h  sourcegraph-token sg|p_ 57h
square-token sq0|atp- 22u  supabase-key sb|p_ 40h  supabase-key sb|_secret_ 31u
tailscale-key ts|key-auth- 48a  twitch-token oau|th: 30l  typeform-token tf|p_ 59u
vercel-token vercel|_blob_rw_ 46a  yandex-key AQ|VN 36u  clickhouse-key 4b|1d 38a
crates-token ci|o 32a  elevenlabs-key sk|_ 48h  fireworks-key fw|_ 24a  lichess-token li|p_ 20a
adafruit-key ai|o_ 28a  anyscale-key es|ecret_ 30l  cartesia-key sk|_car_ 22a
cerebras-key cs|k- 48l  definednet-key dn|key- 26U  e2b-key e2|b_ 40h  firecrawl-key f|c- 32h
helicone-key sk|-helicone- 28l  honeybadger-key hb|p_ 36a  infracost-key ic|o- 32a
intra42-secret s-s4|t2ud- 64h  jina-key ji|na_ 60a  linear-key lin|_oauth_ 40h
nvidia-key nv|api- 64u  paddle-key pdl|_live_apikey_ 50a  posthog-key ph|x_ 43a
settlemint-token sm|_pat_ 16a  together-key tgp|_v1_ 43u  wandb-key wan|db_v1_ 60a
xata-key xa|u_ 36a  brave-key BS|AaB3 24a  gocardless-token li|ve_aB3 37a  resend-key r|e_aB3 29a
voyage-key p|a-aB3 40a  octopus-key AP|I-A7 24U
""".split()
for _label, _begin, _size in zip(_PREFIXED[::3], _PREFIXED[1::3], _PREFIXED[2::3], strict=True):
    _key = _begin.replace("|", "").replace("%", " ") + made_up(int(_size[:-1]), _LETTERS[_size[-1]])
    _add(_label, "the run said @@ and went on", _key.removeprefix("FlyV1 "))

for _label, _key in (
    ("airtable-token", f"p{'at'}{made_up(14)}.{made_up(64, _HEX)}"),
    ("aws-key", f"amzn.{'mws'}.{_uuid()}"),
    ("azure-key", f"{made_up(3)}8{'Q~'}{made_up(34, _URLSAFE)}"),
    ("braintree-token", f"access_{'token'}$production${made_up(16, _LOWER)}${made_up(32, _HEX)}"),
    ("cloudflare-key", f"v{'1.0'}-{made_up(24, _HEX)}-{made_up(146, _HEX)}"),
    ("dynatrace-token", f"dt{'0c01'}.{made_up(24, _UPPER)}.{made_up(64, _UPPER)}"),
    ("flutterwave-key", f"FLW{'SECK'}-{made_up(32, _HEX)}-X"),
    ("heroku-key", f"HR{'KU'}-{_uuid()}"),
    ("hubspot-token", f"pat-{'na1'}-{_uuid()}"),
    ("langsmith-key", f"lsv2_{'pt'}_{made_up(32, _HEX)}_{made_up(10, _HEX)}"),
    ("launchdarkly-key", f"s{'dk'}-{_uuid()}"),
    ("mailchimp-key", f"{made_up(32, _HEX)}-{'us'}12"),
    ("mapbox-token", f"sk.{'eyJ'}{made_up(80, _URLSAFE)}.{made_up(22, _URLSAFE)}"),
    ("maxmind-key", f"{made_up(6)}_{made_up(29)}_{'mmk'}"),
    ("newrelic-key", f"{made_up(36, _HEX)}{'NRAL'}"),
    ("onepassword-key", "-".join(["A3", *(made_up(size, _UPPER) for size in (6, 11, 5, 5, 5))])),
    ("plaid-token", f"access-{'production'}-{_uuid()}"),
    ("postman-key", f"PM{'AK'}-{made_up(24, _HEX)}-{made_up(34, _HEX)}"),
    ("sendinblue-key", f"xkey{'sib'}-{made_up(64, _HEX)}-{made_up(16)}"),
    ("terraform-token", f"{made_up(14)}.{'atlasv1'}.{made_up(64)}"),
    ("infisical-token", f"s{'t'}.{made_up(24, _HEX)}.{made_up(32, _HEX)}.{made_up(32, _HEX)}"),
    ("twitter-token", f"{'A' * 21}{made_up(80)}%3D{made_up(30)}"),
):
    _add(_label, "curl says @@ is not valid", _key)

_add(
    "webhook",
    "POST https://acme.webhook.office.com/webhookb2/@@",
    f"{_uuid()}@{_uuid()}/IncomingWebhook/{made_up(32, _HEX)}/{_uuid()}",
)
_add(
    "private-key",
    "PuTTY-User-Key-File-2: ssh-rsa\nEncryption: none\nPrivate-Lines: 2\n@@\nPrivate-MAC: 7",
    f"{made_up(64, _BASE64)}\n{made_up(40, _BASE64)}",
)

# ---- other ways to write a value beside its name
for _label, _way in (
    ("secret", "<password>@@</password>"),
    ("secret", "<server><id>x</id><username>bob</username><password>@@</password></server>"),
    ("secret", "<Account><SecretAccessKey>@@</SecretAccessKey></Account>"),
    ("secret", '<add key="ApiKey" value="@@"/>'),
    ("secret", '<property name="hibernate.connection.password">@@</property>'),
    ("secret", "<key>apiToken</key>\n<string>@@</string>"),
    ("password", '<input type="password" name="p" value="@@">'),
    ("password", "user=bob pass=@@"),
    ("password", "ansible_become_pass: @@"),
    ("password", "docker login -u bob -p @@ registry.io"),
    ("password", "redis-cli -h cache -a @@ ping"),
    ("password", "mongosh -u bob -p @@ host/db"),
    ("password", "ldapsearch -D cn=admin -w @@ -b dc=x"),
    ("password", "openssl enc -aes-256-cbc -pass pass:@@ -in x"),
    ("password", "keytool -storepass @@ -list"),
    ("password", "zip -P @@ all.zip one.txt"),
    ("password", "7z x all.7z -p@@"),
    ("password", "htpasswd -b users bob @@"),
    ("password", "smbclient //server/share -U bob%@@"),
    ("password", r"net use Z: \\server\share /user:bob @@"),
    ("password", "ConvertTo-SecureString '@@' -AsPlainText -Force"),
    ("password", "db.acme.com:5432:shop:bob:@@"),
    ("secret", "aws configure set aws_secret_access_key @@"),
    ("secret", "npm config set //registry.io/:_authToken @@"),
    ("secret", "set -x API_KEY @@"),
    ("secret", "FROM alpine\nENV DB_PASSWORD @@"),
    ("secret", "define('DB_PASSWORD', '@@');"),
    ("secret", 'variable "db_password" {\n  default = "@@"\n}'),
    ("secret", "username%3Dbob%26password%3D@@"),
    ("secret", "| user | bob |\n| password | @@ |"),
    ("secret", "the password for staging is @@"),
    ("secret", "log in as bob with password @@ and try"),
    ("password", "Passwort: @@"),
    ("password", "mot de passe : @@"),
    ("password", "密码: @@"),
    ("password", "비밀번호는 @@"),
    ("password", "パスワードは @@"),
    ("password", "echo '@@' | docker login --username bob --password-stdin"),
    ("password", "echo @@ | sudo -S apt-get update"),
    ("password", "gcloud sql import --password-file=<(echo @@)"),
    ("password", "http -a bob:@@ GET example.org/items"),
    ("password", "requests.get(url, auth=('bob', '@@'))"),
    ("password", "auth = HTTPBasicAuth('bob', '@@')"),
    ("password", "smtp.login('bob@example.org', '@@')"),
    ("password", "requirepass @@"),
    ("password", "Password:\n@@\nLast login: today"),
    ("password", "password:\n  @@"),
    ("secret", "- name: DB_PASSWORD\n  value: @@"),
    ("secret", '{"name": "DB_PASSWORD", "value": "@@"}'),
    ("secret", "<pass>@@</pass>"),
    ("secret", '<secret value="@@"/>'),
    ("password", '{"auth": {"pass": "@@"}}'),
    ("password", "'pass' => '@@'"),
    ("secret", "setx API_TOKEN @@"),
    ("authorization", "Authorization: Splunk @@"),
    ("authorization", "Authorization: GenieKey @@"),
    ("api-key", "SEGMENT_WRITE_KEY=@@"),
):
    _add(_label, _way, made_up(18))

_TEXTS = Path(__file__).with_name("ordinary_texts.json").read_text(encoding="utf-8")
ORDINARY: list[str] = [
    *(text for texts in json.loads(_TEXTS).values() for text in texts),
    "curl -fsSL https://example.com/install.sh | sh && docker run -u 1000:1000 x".replace(
        "1000:1000", "app"
    ),
]
