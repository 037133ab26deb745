"""How programs report failures, and what differs between two runs of one: read by failures.py."""

from __future__ import annotations

from typing import Any, Final

PATTERNS: Final[dict[str, str | list[str]]] = {
    # ---- what a report is looked for in
    "ansi": r"\x1b(?:\[[0-?]*+[ -/]*+[@-~]|\][^\x07\x1b\n]*+(?:\x07|\x1b\\)?|[@-Z\\^_])?",
    # the time that collectors put before each line
    "stamp": r"\n\[?20\d\d[-/]\d\d[-/]\d\d[T ]\d\d:\d\d(?::\d\d)?(?:[.,]\d{1,9})?(?: ?Z| UTC)?\]?[ \t]",
    # Lines in which something that runs programs says that one failed, and nothing of why.
    "runner": [
        r"\n[ \t]*+(?:(?=[nleEFBUo*>\[\u2009])(?:npm (?:ERR!|error) (?:code (?:ELIFECYCLE|\d)|errno |path ",
        r"|command |Exit status |workspace |location |Failed at |This is probably not|Lifecycle script ",
        r"|A complete log|   +/|\S+ \S+: `)|error Command failed with|\s?ELIFECYCLE\s",
        r"|error: (?:could not compile |aborting due to |test failed, to rerun",
        r"|process didn't exit successfully|linking with `\S+ failed|failed to push some refs)",
        r"|ninja: build stopped|nox > |> Task \S+ FAILED|FAILURE: Build failed|BUILD FAILED|\* What went wrong",
        r"|Execution failed for task |> Process '|Error: Process completed with exit code)",
        r"|collect2: error: ld returned |g?make(?:\[\d+\])?: (?:\*\*\* |(?:Entering",
        r"|Leaving) directory ))[^\n]*",
    ],
    # ---- what a report is made of
    "exception": [
        r"(?:[\w$]+\.)*(?:(?:[A-Z][\w$]*)?(?:Error|Exception|Warning)|[A-Z][\w$]+(?:Interrupt|Group|Exit)",
        r"|(?<=errors\.)[A-Z]\w+|(?<=exceptions\.)[A-Z]\w+|(?<=\w\.)\w*error)",
    ],
    "raised": r"{{exception}}(?: \[\w+\]| \(\d+\))?(?=:[ \n]|:?\n|:?\Z)",
    # An assertion of two values says little: which test makes it tells two apart.
    "says_little": [
        r"(?i)(?:E  +)?(?:AssertionError: )?assert\b[^,]*\Z|AssertionError:?(?: Expected\b|\Z)",
        r"|panicked: assertion\b|assertion ",
    ],
    "test_name": [
        r"\n_{3,} (?:[\w.\[\]-]*[. ])??(\w+)(?:\[[^\n]*\])? _{3,}|\n(?:FAILED|ERROR) [^\s:]+::(?:\w+::)*(\w+)",
        r"|\nthread '([^'\n]{1,80}::[^'\n]{1,80})'",
    ],
    "level_word": r"(?:ERROR|FATAL|CRITICAL|SEVERE)\b",
    # What a log puts before its level: times, process numbers, threads, loggers.
    "head": [
        r"(?>(?:[\[(][^\])\n]{1,60}[\])]|[\d:.,/TZ+-]++|[\w.$/:-]+ ?[-:|]|[-|]|UTC|GMT|[A-Z][a-z]{2}",
        r"|(?=[\w.-]*\d)[\w.-]++)[ \t]+){0,6}",
    ],
    # src/app.ts:12:5, main.cs(12,5), Shop.java:[12,5], cart.rb:12:in `total'
    "place": [
        r"(?:[A-Za-z]:)?[^\s:()\"'`]*\.[A-Za-z]\w{0,9}(?::\d+(?::\d+)?(?:-\d+)?(?::in [`'][^'`\n]*')?",
        r"|\(\d+(?:,\d+)*\)|:\[\d+,\d+\])(?::| -)?",
    ],
    # "Error: none"
    "nothing": r"(?i:none|null|nil|no|false|n/a|0|-+|\[\]|\{\}|\(none\)|\"\"|'')[.,]?[ \t]*(?:\n|\Z)",
    # the same in the languages below
    "nothing_abroad": r"[ \t]*(?:0|없|なし|无|無|没有|沒有|keine?\b|aucune?\b|ninguno|нет\b|-*(?:\n|\Z))",
    # ---- whether a line reports, or only speaks of failures
    "unreal": r"(?i)\b(?:fix(?:e[ds]|ing)?|resolv\w+|if|when|should|no|not|never|nothing|0|grep)\b",
    # What says of something that it is not as it should be.
    "complaint": [
        r"(?i:\b(?:not?|cannot|can't|unable|missing|must|needs?|required|invalid|unknown|denied|refused",
        r"|without|unset|unexpected|bad|wrong|exceeded|expected|fail(?:ed|ure)?|error|fatal|does not|doesn't",
        r"|mismatch|unsupported|illegal|conflict|abort(?:ed)?|fault|would be)\b)",
    ],
    # How a line begins with which a program gives up, behind its name.
    "refusal": [
        r"(?:[Cc]annot|[Cc]ould not|[Cc]ouldn't|[Cc]an't|[Uu]nable to) [a-z]+\b|(?:[Ii]nvalid|[Uu]nknown",
        r"|[Uu]nrecognized|[Uu]nexpected|[Mm]issing|[Tt]oo (?:many|few)) (?:\w+ )?(?:action|command|option",
        r"|argument|operand|token|query|input|syntax|parameter|tool|function|character|end of)s?\b",
        r"|ERR_[A-Z_]+\b|'[^'\n]{1,60}' is not a|-e expression #|Exiting with failure|(?:connect |listen ",
        r"|spawn \S+ |getaddrinfo )?E(?:CONN|NOENT|ACCES|PERM|ADDR|TIMEDOUT|NOTFOUND|PIPE|EXIST)[A-Z]*\b",
        r"|(?:\w+ )?(?:[Ff]ile|[Dd]irectory|[Pp]ath|[Ll]ibrary|[Mm]odule|[Pp]ackage|[Cc]ommand",
        r"|[Uu]ser) not found\b|(?:Killed|Aborted|Bus error|Illegal instruction|Segmentation fault)(?= *(?:\n",
        r"|\Z|\(core))",
    ],
    # What the system and databases say, at a line's beginning or behind a colon.
    "system": [
        r"[Nn]o such \w+|No module named |syntax error|(?:Is|Not) a directory|SQLSTATE\[\w{5}\]|ORA-\d{5}: ",
        r"|[Pp]ermission denied|(?:(?!(?i:if|when|no|nothing|that",
        r"|fixe[ds])\b)[\"'`]?[\w.-]{1,40}[\"'`]? ){1,5}?(?:denied|refused|reset|not permitted|timed out",
        r"|not known|in use|unreachable|(?:not|already|doesn't) exists?|left on device|locked)\b",
    ],
    "error_mark": r"[ \t]*E {3,}",
    # ---- what differs between two runs
    # before the message: labels, places, the shell and where in its script
    "leads": [
        r"(?>[ \t]+|Uncaught (?:\(in promise\) )?|Exception in thread \"[^\"\n]*\" |(?i:fatal error|error",
        r"|fatal): +|\[(?:error|ERROR)\] |vet: |in prepare, |(?:Parse|Runtime) error near line \d+: ",
        r"|{{place}}[ \t]+|\S*?(?:(?<![.\w])(?:ba|z|da|k)?sh: (?:-c: )?|\w\.sh: (?=line \d))(?:line )?(?:\d+: )?)++(?=\S)",
    ],
    "log_head": [
        r"[ \t]*{{head}}\[?(?:{{level_word}}|WARN(?:ING)?|INFO|DEBUG)\]?(?::[\w.]+:",
        r"|:?[ \t]+)(?:[-|][ \t]+)?(?:\d+ --- )?(?:[\w$]+(?:\.[\w$]+)+[ \t]*[-:][ \t]+)?(?=[^\s\d])",
    ],
    "temporary": r"(?:/private)?/(?:tmp|var/folders|var/tmp)(?:/[^\s:'\"`)\]]+|\b)|\btmp[a-z0-9_]{6,12}\b",
    "time": [
        r"\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d)?(?:[.,]\d+)?(?: ?Z|[+-]\d\d:\d\d)?)?\b",
        r"|\b\d\d:\d\d:\d\d(?:[.,]\d+)?\b|\b(?:\d+[hm])*\d+(?:\.\d+)? ?(?:ms|s|m|sec|seconds?|minutes?",
        r"|hours?)\b",
    ],
    # behind the name of a file: line and column
    "position": [
        r"(?:(?<=\.[A-Za-z])|(?<=\.[A-Za-z]\w)|(?<=\.[A-Za-z]\w\w)|(?<=\.[A-Za-z]\w\w\w)):\d+(?::\d+)?\b",
        r"| at line \d+(?=:)| at character \d+| \[recovered\]|\b(?:at |in |on )?line \d+\b(?:,? column \d+)?",
        r"|\(\d+,\d+\)",
    ],
    # addresses in memory (but not Windows' 0x80070005), hashes, uuids, what machines make up
    "made_up": [
        r"\b0x(?!8[0-9a-fA-F]{7}\b)[0-9a-fA-F]+\b|\bsha\d+-[\w+/=]+|\b\d{9,}\b",
        r"|\b[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b|(?i:\b(?:request|trace|correlation",
        r"|session)[-_ ]?id[:= ]+)[\w-]+|\b(?=[0-9a-f]{0,40}[a-f])(?=[0-9a-f]{0,40}[0-9])[0-9a-f]{7,}\b",
    ],
    # the folders before the last two parts of a path: two are enough to know a file by
    "folders": [
        r"(?<![\w.~@+-])(?:~|[A-Za-z]:)?(?:[/\\][\w.@+ -]*[\w.@+-])*?[/\\](?=[\w.@+-]+[/\\][\w.@+-]+",
        r"(?![\w.@+-]*[/\\]))",
    ],
    "network": r"\b\d{1,3}(?:\.\d{1,3}){3}\b|(?<![\w:])\[?::1\]?(?!\w)",
    # A number that stands alone counts something. After `port`, or joined to a name, it names it.
    "letter": r"A-Za-z0-9_\u00c0-\u024f",  # not of a script that puts a counter right behind: 12행, 第12行
    "number": [
        r"(?<![{{letter}}.:/=<>@+'\"-])(?<!\bport )\d+(?:[.,]\d+)*(?:[kMGT]i?B)?",
        r"(?![{{letter}}:/='\"-]|\.\w)",
    ],
    "any_number": [
        r"(?<![{{letter}}-])-?\d[\d_]*(?:[.,]\d+)*(?:[kMGT]i?B|[kKMGTB%]|[µun]s)?(?![{{letter}}])",
    ],
    # exit code 127, HTTP 404, errno 13, (os error 2), ERROR 1146, curl: (6)
    "names_code": [
        r"(?i)(?:code|status|errno|error|signal|exit(?:ed with)?|rc|http(?:/[\d.]+)?|curl",
        r"|sqlstate)[ :=#(\[]{1,3}\Z",
    ],
    # ---- what names something
    # A word that is a name wherever it stands: it has a sign, a digit or a capital within.
    "named": [
        r"(?<=['\"`\u2018])[\w][\w.-]*(?=['\"`\u2019])|\b[A-Za-z_]\w*+(?:[./:-]\w++)++",
        r"|\b[A-Za-z]{1,60}[A-Z0-9_]\w*",
    ],
    "quoted": [
        r"\"(?<![\w\\]\")(?:[^\"\\]|\\.)*+\"|'(?<![\w\\]')(?:[^'\\]|\\.|'(?=\w)){0,1000}+'|`[^`']*+[`']",
        r"|\u2018[^\u2019]{0,1000}+\u2019|\u201c[^\u201d]{0,1000}+\u201d",
    ],
    "path": [
        r"(?:\b[A-Za-z]:(?=[\\/])|(?<![^\s'\"`()\[\]{}<>,;=|:*?\\/]))[^\s'\"`()\[\]{}<>,;=|:*?\\/]*+[\\/][^\s'\"`()\[\]{}<>,;=|:*?]*+",
    ],
}

# The ways in which programs report failures, from the most to the least telling. A pattern runs only
# where one of its triggers occurs; small letters stand for both cases, and "" is in every text. What
# failed is said by the groups of a match, else by its line. `pick` names a function of failures.py
# that knows better, `accept` one that tells whether a match is a report at all. What is `vague` says that
# something failed, and not what.
REPORTS: Final[list[dict[str, Any]]] = [
    # Tests and stacks.
    {
        "triggers": ["e   "],
        "pattern": r"\n[ \t]*E {3,}(?:assert\b|fixture |Failed: |\w*Warning: |[A-Z]\w+: |{{raised}})",
        "pick": "pytest",
    },
    {
        "triggers": ["Traceback ("],
        "pattern": r"\n[^\n\"'`]{0,100}Traceback \(most recent call last\)(?=:? *(?:\n|\Z|File \"))",
        "pick": "python",
    },
    {
        "triggers": ["panicked at"],
        "pattern": r"panicked at (?:'([^\n]*?)(?:', \S+:\d+(?::\d+)?)?(?=\n|\Z)|\S+:\d+(?::\d+)?:?\n([^\n]*))",
        "says": "panicked: {}",
        "accept": "reported",
    },
    {
        "triggers": ["Caused by: "],
        # the root of several causes
        "pattern": r"\A(?s:.*)\n[ \t]*(?:\[ERROR\] )?Caused by: (?:\n[ \t]*)?([^\n]+)",
    },
    # Compilers and linters: the first error, for the others often follow from it.
    {
        "triggers": ["error"],
        "pattern": [
            r"\n[ \t]*(?:(?:\[ERROR\] )?{{place}} ?(?:fatal |internal )?(?:compiler )?error",
            r"(?: [A-Z]{1,5}\d{3,5})? ?: |error(?:\[[A-Z]+\d+\]| [A-Z]{1,5}\d{3,5}): ",
            r"|\S+:\d+:in [`'][^\n]*Error\)|\d+:\d+[ \t]+error[ \t]+)",
        ],
        "line": "error",
    },
    {
        "triggers": [":"],
        "pattern": [
            r"\n[ \t]*(?:(?:e: |\[(?:error|ERROR)\] ){{place}}[ \t]+\S|",
            r"(?:vet: )?[^\s:()\"'`]{1,200}\.[A-Za-z]\w{0,9}:\d+:\d+: (?!(?i:warning|note|info|hint",
            r"|remark))\S)",
        ],
    },
    {
        "triggers": ["undefined ref"],
        "pattern": r"(undefined reference to [^\n]*)",
        "accept": "reported",
    },
    {
        "triggers": ["error", "exception", "Interrupt"],
        "pattern": [
            r"\n(?:{{place}} )?(?:Uncaught (?:\(in promise\) )?|Unhandled exception\. ",
            r"|Exception in thread \"[^\"\n]*\" )?{{raised}}(?!: (?:Process completed|{{nothing}}",
            r"|\d+[ \t]*(?:\n|\Z)))",
        ],
        "line": "error exception interrupt group",
        "accept": "reported",
    },
    {
        "triggers": ["\u25cf"],
        "pattern": r"\n[ \t]*(\u25cf (?!Console\b)[^\n]+)\n\s*([^\n]+)",
    },
    {"triggers": ["! ["], "pattern": r"\n ?! \[(?:remote )?rejected\] +\S+ -> \S+ (\([^\n]+\))"},
    {
        "triggers": ["--- FAIL"],
        "pattern": [
            r"\n[ \t]*(?:--- FAIL: [^\n]*\n[ \t]+(?=--- F)){0,3}+(--- FAIL: \S+)[^\n]*(?:\n[ \t]+\S+\.go:\d+: ",
            r"([^\n]*))?",
        ],
    },
    {"triggers": ["FAIL", "ERROR"], "pattern": r"\n(?:FAILED|ERROR) \S+::[^\n]{1,200}? - ([^\n]+)"},
    # Logs, shells, package managers and the system.
    {
        "triggers": ["ERROR", "FATAL", "CRITICAL", "SEVERE"],
        "pattern": [
            r"\n[ \t]*{{head}}\[?{{level_word}}\]?(?::(?:[\w.]+:)?[ \t]*+(?!{{nothing}})\S|[ \t]+-[ \t]+\S",
            r"|[ \t]+[\w\[(\"'<])",
        ],
        "line": "error fatal critical severe",
        "accept": "reported",
    },
    {
        "triggers": ["error:", "fatal:", "panic:", "error (", "fatal ("],
        "pattern": [
            r"\n[ \t\u2502]{0,4}(?!//)(?:[\w./+-]+:? ){0,3}(?:[Ff]atal error|fatal|[Ee]rror|panic)",
            r"(?: \([^)\n]{1,60}\))?: *+(?!{{nothing}})\S",
        ],
        "line": "error fatal panic",
        "accept": "happened",
    },
    {
        "triggers": ["error "],
        "pattern": [
            r"\n[ \t]*(?:[\w./+-]+: )?(?:[A-Z]\w* ){0,3}[Ee]rror (?:(?!handl|check|report|logg)[a-z]+ing|occurred",
            r"|from|response|while|when|in|at)\b(?! (?:code|number):? 0\b)",
        ],
        "line": "error",
        "accept": "reported",
    },
    {
        "triggers": ["not found"],
        "pattern": [
            r"command not found: (\S+)|(?<=[\s/])(?!zsh)([\w.+-]{1,60}): command not found",
            r"|\n\S*sh: (?:line )?(?:\d+: )?(?:\S*/)?([^\s:/]+): not found",
        ],
        "says": "command not found: {}",
        "accept": "reported",
    },
    {
        "triggers": ["npm "],
        "pattern": [
            r"\nnpm (?:ERR!|error) (?:code (E\w+)(?:\nnpm (?:ERR!|error)(?: (?:errno|syscall|path|dest|file|cwd",
            r"|type|command )[^\n]*|(?=\n)))*+(?:\nnpm (?:ERR!|error) ([^\n]*\S))?|(?!code |A complete)([^\n]*\S))",
        ],
        "says": "npm {}",
    },
    {
        "triggers": [""],
        "pattern": [
            r"[\n:)][ \t]*+(?=[A-Za-z(])(?:[Gg]ot |\(\d{3,5}, [\"'])?(?:{{system}})",
            r"|\n[ \t]{0,4}(?:[\w./+-]+: )?(?:{{refusal}})",
        ],
        "accept": "reported",
    },
    # What systems, shells and compilers say in Korean, Japanese and Chinese, in German, French,
    # Spanish and Russian, and how a line is marked there: what nobody says of what only might happen.
    {
        "triggers": (
            "습니다 없음 거부 실패 오류 에러 ません エラー 例外が 失敗 拒否 找不到 未找到 没有 沒有 权限 權限 拒绝 拒絕 无法 "
            "無法 失败 出错 错误 錯誤 nicht verweigert berechtigung fehl introuvable aucun refus échou échec impossible erreur "
            "existe encontrad denegado encontró pudo файла отказано найден удалось ошибка"
        ).split(),
        "pattern": [
            r"\n(?i:(?![^\n]*(?:해결|수정|고쳤|경우|解決|修正|場合|修复|解决|如果|\b(?:wenn|falls|behoben|gelöst|si|corrigée?|résolue?|если)\b))",
            r"[^\n\"`]{0,200}?(?:찾을 수 (?:없습니다|없음)|(?:파일|디렉터리)[가이] (?:없습니다|없음)|할 수 (?:없습니다|없음)",
            r"|권한이 없습니다|거부(?:됨|되었습니다)|실패(?:했|하였)습니다|(?:오류|에러|예외)가 발생(?:(?:했|하였)습니다|함)?",
            r"|見つかりません|(?:ディレクトリ|許可|権限)[はが]ありません|できません|拒否されました|(?:失敗し|が発生し)ました|找不到",
            r"|没有那个文件或目录|沒有此一檔案或目錄|未找到(?:命令|文件)|[权權]限(?:不够|不足)|拒[绝絕](?:访问|存取)|(?:无法|無法)(?:打开",
            r"|访问|连接|找到|解析|開啟|存取|連線)|(?:失败|失敗|出错)(?=[:\uff1a。\uff01!]|[ \t]*(?:\n|\Z))|(?<!\w)(?:",
            r"nicht (?:gefunden|möglich|erlaubt|erreichbar)|(?:zugriff|erlaubnis) verweigert|keine berechtigung|fehlgeschlagen",
            r"|konnten? (?:[^\s]{1,60} ){1,6}nicht|introuvable|aucun fichier ou dossier|permission (?:non accordée|refusée)",
            r"|accès refusé|(?:a|ont) échoué|échec de|impossible d(?:e|['\u2019])|no existe el (?:fichero|archivo)",
            r"|no encontrad[ao]|permiso denegado|no se (?:pudo|encontró)|нет такого файла|отказано в доступе|не найден\w?",
            r"|не удалось)(?!\w))|[ \t]*(?:[\w./+()-]+: ?){0,3}(?:[^\W\d_]{1,20} ?)?(?:오류|에러|실패|エラー|错误|錯誤",
            r"|\w{0,20}fehler|erreur(?: de [^\s:]{1,20})?|ошибка)[ \t]?[:\uff1a](?!{{nothing_abroad}})[ \t]*\S)",
        ],
    },
    # What only says that something failed.
    {
        "triggers": ["\n{", "\n["],
        "pattern": [
            r"[\n{,][ \t]*[\"'](?:error(?:_?[Mm]essage)?[\"']: *(?:[\"'](?![\"'])|\{)|(?:success",
            r"|ok)[\"']: *[Ff]alse|is_?[Ee]rror[\"']: *[Tt]rue|(?:exit_?[Cc]ode|return_?code)[\"']: *-?[1-9])",
        ],
        "vague": True,
    },
    {
        "triggers": ["*** "],
        "pattern": r"\n[ \t]*g?make(?:\[\d+\])?: \*\*\* (?:\[(?:[^\]\n]*: )?([^\]:\n]*)\] (Error \d+))?",
        "says": "make: *** {}",
        "vague": True,
    },
    {
        "triggers": ["fail", "timed out", "exit", "error"],
        "pattern": [
            r"\n[ \t]*(?:[\w./:'\"()\[\]@$-]+ ){0,6}(?:(?:[Ff]ailed|FAILED)(?: (?:to|with|due|because|after|in",
            r"|on|at|while|during|for)\b|: *+(?!{{nothing}})|[.!;](?=\s|\Z)|(?<=\S [Ff]ailed|\S FAILED) *(?=\n",
            r"|\Z))|[Tt]imed out\b(?= after|\.| waiting| while|:|\n|\Z)|(?:BUILD|Build|Compilation) (?:FAILURE",
            r"|FAILED|failed|failure)\b)",
            # or how it ended, or how many failed
            r"|[Ee]xit(?:ed)?(?: with)? (?:code|status)(?: code)?[:= ]+-?[1-9]|[Nn]on-?zero (?:exit|return|code)",
            r"|[1-9](?<![\w.-][1-9])\d*+ (?:\w+ )?(?:[Ff]ail(?:ed|ures?|ing)|[Ee]rrors?)\b(?! (?:fixed|resolved",
            r"|corrected|suppressed|ignored|handled)|[^\n]{0,30}, 0 remaining)|(?:(?<=[^\w-][Ee]rrors)",
            r"|(?<=[^\w-][Ff]ail)|(?<=[^\w-][Ff]ailed)|(?<=[^\w-][Ff]ailures))[:=] ?[1-9]",
        ],
        "accept": "happened",
        "vague": True,
    },
    {
        "triggers": ["FAIL", "not ok", "\u2717", "\u2718", "\u2716", "\u25cf"],
        "pattern": [
            r"\n[ \t]*(?:[\u2717\u2718\u2716\u25cf] (?!Console)\S|not ok \d+(?![^\n]*# (?:TODO|SKIP))",
            r"|(?:test \S+ \.\.\. |(?=\S+?::\S)\S++ )FAILED\b|FAIL(?:ED)?(?:!|:(?! *0\b)| ++(?![ :=]*+0\b)\S",
            r"|\t|(?=\n|\Z)))",
        ],
        "vague": True,
    },
]
