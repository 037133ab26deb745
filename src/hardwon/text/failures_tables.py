"""How programs report failures, and what differs between two runs of one: read by failures.py.
Whoever changes a word here parts the hashes of old records from those of new ones.
"""

from typing import Any, Final

WORDS: Final[dict[str, str]] = {
    # a number after one of these is a code
    "code": "errno winerror code status signal sqlstate http exit rc curl",
    # what is counted by the digits at its end, be they few: eth0, worker2
    "counted": "eth en em wl wlan ib sda sdb sdc hda tty pts cpu gpu ioc node host worker thread slot disk subdir alt",
    # what is named by the digits at its end, be they many: sha256, cp1252
    "named": "sha aes rsa cp iso int uint float decimal ed utf base win md crc test",
}

PATTERNS: Final[dict[str, str | list[str]]] = {
    "ansi": r"\x1b(?:\[[0-?]*+[ -/]*+[@-~]|\][^\x07\x1b\n]*+(?:\x07|\x1b\\)?|[@-Z\\^_])?",
    # what is left of a colour where a log dropped the escape
    "colour": r"\[[\d;]{1,12}m",
    # What collectors put before each line: the time, a builder's clock, a container's name.
    "stamp": [
        r"\n\[?20\d\d[-/]\d\d[-/]\d\d[T ]\d\d:\d\d(?::\d\d)?(?:[.,]\d{1,9})?(?: ?Z| UTC",
        r"| ?[+-]\d\d:?\d\d)?\]?(?:[ \t]+-[ \t]|[ \t]|(?=\n))|\n#\d{1,4} \d{1,5}\.\d{1,4} ",
    ],
    # deploy.sh: STAGING_HOST is not set
    "complaint": r"(?!(?i:info|note|hint|debug|warn(?:ing)?)\b)[\w./+-]{1,60}: [^\n]{0,200}?{{complaining}}",
    "complaining": [
        r"\b(?:not?|cannot|can't|unable|missing|must|needs?|required|invalid|unknown|denied|refused|without",
        r"|unset|unexpected|bad|wrong|exceeded|expected)\b",
    ],
    # Lines in which something that runs programs says that one failed, and nothing of why.
    "runner": [
        # most lines begin otherwise, and are looked at no further
        r"\n[ \t\u2009]*+(?:(?:(?=[nleEcgmFBTUC>\[ao#tr-])",
        r"(?:npm (?:ERR!|error)(?: (?:code (?:ELIFECYCLE|\d)|errno |path |command |Exit status",
        "|workspace |location |Failed at |This is probably not|Lifecycle script |Error: command failed",
        r"|  (?:in workspace|at location)|A complete log|   +/|[^\n`]{1,200}: `[^\n`]{1,400}`(?=\n|\Z))",
        r"|[ \t]*(?=\n|\Z))|lerna ERR! |error Command failed with|ELIFECYCLE\s",
        "|error: (?:could not compile |aborting due to |test failed, to rerun",
        r"|process didn't exit successfully|linking with `\S+ failed)|collect2: error: ld returned ",
        r"|g?make(?:\[\d+\])?: (?:\*\*\* |(?:Entering|Leaving) directory )|ninja: build stopped",
        r"|FAILED: [\w./+-]+ *(?=\n[\s\S]{1,4000}\nninja: build stopped)",
        r"|ERROR: InvocationError for command|ERROR: {1,9}[\w.-]+: commands failed",
        r"|evaluation failed :\(|nox > |> Task \S+ FAILED|FAILURE: Build failed with|BUILD FAILED",
        r"|\[INFO\] BUILD FAILURE|\[ERROR\] (?:Command execution failed|COMPILATION ERROR|-> \[Help",
        r"|Failed to execute goal [^\n]{1,300}(?:Compilation failure|Command execution failed",
        r"|There are test failures|Process exited with))|(?:at )?org\.apache\.commons\.exec\.",
        r"|ERROR: [^\n]{1,300}failed: \(Exit [1-9]|(?:ERROR|FAILED): Build did NOT complete",
        r"|Target //\S+ failed to build|Use --verbose_failures |(?:#\d{1,4} )?ERROR: (?:failed to solve: )?",
        r"process \"[^\n]{1,400}\" did not complete|The command '[^\n]{1,400}' returned a non-zero code",
        r"|(?:##\[error\]|Error: )Process completed with exit code|ERROR: Job failed: ",
        r"|Cleaning up project directory|error: Recipe `|task: (?:Failed to run task|\[)|rake aborted!",
        r"|Command failed with status \(|exit status [1-9]\d*(?=\n|\Z)|- (?:hook id|exit code): ",
        "|error: subprocess-exited-with-error|ERROR: (?:Failed building wheel|Could not build wheels)",
        r"|note: This error originates|\[end of output\]|error: failed to push some refs to ",
        r"|\[error\] (?:\([^\n]{1,100}\) |(?:one|two|\d+) errors? found|Total time))",
        r"|[\w.-]++: (?:exit [1-9]\d* \(|FAIL code )|\S+build\.xml:\d+: )[^\n]*(?=\n|\Z)",
        # the last of gradle's reasons, and a traceback, that tell nothing
        r"|\* What went wrong:\nExecution failed for task [^\n]{1,200}(?:\n[ \t]*> [^\n]{1,400}){0,4}",
        r"\n[ \t]*> (?:Process '|There were failing tests|Compilation (?:error|failed))[^\n]*",
        r"|Traceback \(most recent call last\):(?:\n[ \t][^\n]*){1,80}\n(?:subprocess\.)?",
        r"CalledProcessError: [^\n]*)",
    ],
    "unindented": r"\n[^ \t\n]",
    "service": r"\n[A-Za-z][\w.-]{0,60}[-_]\d{1,3}[ \t]{1,40}\| ",
    # lines inside a string
    "folded": r"\\n(?: {2,8}(?:File|at) |Traceback|\\t|[A-Z]\w{0,40}Error)",
    "exception": [
        r"(?:[\w$]+\.)*(?:(?:[A-Z][\w$]*)?(?:Error|Exception)|[A-Z][\w$]+(?:Interrupt|Group)|",
        r"(?<=errors\.)[A-Z]\w+|(?<=exceptions\.)[A-Z]\w+|(?<=\w\.)\w*error)",
    ],
    "raised": r"{{exception}}(?: \[\w+\]| \(\d+\))?(?=:[ \n]|:?\n|:?\Z)",
    # a warning may be an error by order
    "is_raised": r"{{raised}}|(?:\w+\.)*[A-Z]\w*Warning(?=: |\Z)",
    "says_little": [
        r"(?:assert(?:ion(?:failed)?)?(?:error)?|org\.\w+\.|java\.lang\.|panicked|failed|left|right",
        "|expected|actual|received|got|want|but|was|to|be|have|equal(?:s|ed)?|true|false|none|null",
        r"|nil|undefined|not|is|in|for|<\w+>|[^\w<]|<)++\Z",
    ],
    "in_one_line": r"(?<=[\s>]){{exception}}: [^\n]*?(?= Traceback \(|\n|\Z)",
    "marker": r"[\s~^|+-]*\Z",
    "pointed_at": r" in -{1,8}> ?\d+ +",
    "function": r'File "[^"\n]*", line \d+, in (\S+)',
    "e_line": r"[ \t]*E {3,}(.*)",
    "title": r"\n_{3,} (?:ERROR (?:collecting|at \w+ of) )?(?:[\w.\[\]-]*[. ])??(\w+)(?:\[[^\n]*\])? _{3,}",
    "failed_test": r"\n(?:FAILED|ERROR) [^\s:]+::(?:\w+::)*(\w+)",
    "panic": [
        r"(?:thread '(?P<thread>[^'\n]*)'(?: \(\d+\))? )?panicked at (?:'(?P<old>[^\n]*?)",
        r"(?:', \S+:\d+(?::\d+)?)?(?=\n|\Z)|\S+:\d+(?::\d+)?:?\n(?P<new>[^\n]*))",
    ],
    "old_assertion": r"assertion failed: `\(([^`\n]*)\)`",
    "go_says": r"[ \t]*\S+\.go:\d+: ?(.*)",
    "cause": r"\n[ \t]*(?:\[ERROR\] )?(?:Caused by:|--->|\[cause\]:) ([^\n]+)|(?<= ---> )([^\n]+)",
    "listed_cause": r"[ \t]+(?:\d+: )?(\S.*)",
    "reason": r'rejected with the reason "([^\n]{0,1000}?)"\.?(?=\]|\n|\Z)',
    "code_field": r"\n[ \t]*code: ['\"](E[A-Z0-9]{3,20})['\"]",
    "frame": [
        r"\n[ \t]*at (?:(?:async |new )?[\w$.<>/@#\[\]-]+(?: \[as [\w$]+\]| [\w$.<>]+)? ?\(",
        r"(?:[^\n()]*:\d+(?::\d+)?|Native Method|Unknown Source|<anonymous>|native)\)",
        r"|[^\s()]+:\d+:\d+|[\w`<>\[\],+]+\.[\w.`<>\[\],+]+\([^\n]*\))",
    ],
    "method": [
        r"\n[ \t]*at (?!org\.junit|org\.opentest4j|java\.|jdk\.|org\.assertj|org\.hamcrest)",
        r"(?:[\w$]+\.)*([\w$]+)\(",
    ],
    "npm_line": [
        r"\nnpm (?:ERR!|error) (?!errno|syscall|path|dest|file|cwd|type|command ",
        r"|A complete log)([^\n]*\S)",
    ],
    "symbol": r"\n(?:\[ERROR\])?[ \t]*symbol ?:[ \t]*([^\n]+)",
    "logged": r'\b(err|error|msg)=(?:"((?:[^"\\\n]|\\.)*+)"|(\S+))',
    "json_text": r"['\"]\s*:\s*(?:\"((?:[^\"\\]|\\.)*+)\"|'((?:[^'\\]|\\.)*+)')",
    "json_output": r"['\"](?:stderr|err){{json_text}}",
    "json_message": r"['\"](?:message|detail|msg|error_description|error_message|errorMessage){{json_text}}",
    "json_error": r"['\"](?:error|reason|title){{json_text}}",
    "json_printed": r"['\"](?:output|stdout){{json_text}}",
    "json_code": r"['\"](?:code|status|statusCode)['\"]\s*:\s*['\"]?(\w{1,40})",
    "json_level": r"\n\{[^\n]*\"level\": ?\"(?:error|ERROR|fatal|FATAL|critical)\"",
    "code_line": [
        r"[ \t]*(?:\d+[:\t|-][ \t]*)?(?:(?:(?:el)?if|else|except|raise|return|print\w*|def|class",
        r"|import|from|throws?|catch|case|assert|func|fn|let|const|var|self|this|log\w*|console|fmt",
        r"|echo|with|for|while|try|async|await|export|function|public|private)\b[^\n]*?",
        r"(?:[({=\[\"'`#]|:[ \t]*(?:\n|\Z))|#(?![#\d])|//|/?\*|[+-](?!\w*sh: )[^-\n]|<[!/a-z]|>",
        r"|[\w.]+(?::[\w \[\]]+)? ?[-+|]?=[^=]|[\w.]+\(|\||(?<=[ \t])[\"'`])",
    ],
    "unreal": [
        r"(?i)\b(?:fix(?:e[ds]|ing)?|resolv\w+|correct(?:ed|s|ing)|solv\w+|handl\w+|remov\w+|address",
        r"(?:ed|es|ing)|avoid\w*|prevent\w*|catch\w*|if|when|whenever|whether|unless|until|should",
        r"|would|could|may|might|no|not|never|nothing|without|none|zero|any|0|expect\w*|ignor\w+",
        r"|suppress\w*|previous\w*|earlier|before|grep|instead|means?|see|skip\w*)\b",
    ],
    # the title of the part of a docstring that lists what may be raised
    "lists_errors": "(?:raises|throws|errors|exceptions):|raises",
    "http_before": r"(?:HTTP(?:/\d(?:\.\d)?)?|[Ss]tatus(?: code)?)[:= ]+\Z",
    "http_after": [
        " (?:[A-Z][a-z]+ )?(?:Not|Bad|Error|Forbidden|Unauthorized|Server|Unavailable|Timeout",
        r"|Conflict|Gateway)\b",
    ],
    # what a log puts before its level: times, process numbers, threads, loggers
    "head": [
        r"(?>(?:[\[(][^\])\n]{1,60}[\])]|[\d:.,/TZ+-]++|[\w.$/:-]+ ?[-:|]|[-|]|UTC|GMT|[A-Z][a-z]{2}",
        r"|(?=[\w.-]*\d)[\w.-]++)[ \t]+){0,6}",
    ],
    "levels": r"\[?(?:{{level_word}})\]?",
    "level_word": r"(?:ERROR|FATAL|CRITICAL|SEVERE)\b",
    # src/app.ts:12:5, main.cs(12,5), Shop.java:[12,5], cart.rb:12:in `total'
    "place": [
        r"(?:[A-Za-z]:)?[^\s:()\"'`]*\.[A-Za-z]\w{0,9}(?::\d+(?::\d+)?(?:-\d+)?(?::in [`'][^'`\n]*')?",
        r"|\(\d+(?:,\d+)*\)|:\[\d+,\d+\])(?::| -)?",
    ],
    # "Error: none"
    "nothing": r"(?i:none|null|nil|no|false|n/a|0|-+|\[\]|\{\}|\(none\)|\"\"|'')[.,]?[ \t]*(?:\n|\Z)",
    "field": r"[\n{,][ \t]*[\"']",
    # an exception at the beginning of its line, and not "Error: none" or "Timeout: 30"
    "alone": [
        r"\n(?:{{place}} )?(?:Uncaught (?:\(in promise\) )?|Unhandled exception\. ",
        r"|Exception in thread \"[^\"\n]*\" )?{{raised}}(?!: (?:Process completed|{{nothing}}",
        r"|\d+[ \t]*(?:\n|\Z)))",
    ],
    "level_line": [
        r"\n[ \t]*{{head}}{{levels}}(?::(?:[\w.]+:)?[ \t]*+(?!{{nothing}})\S|[ \t]+-[ \t]+\S",
        r"|[ \t]+[\w\[(\"'<])",
    ],
    "error_line": [
        r"\n[ \t\u2502]{0,4}(?:[\w./+-]+:? ){0,3}(?:[Ff]atal error|fatal|[Ee]rror)",
        r"(?: \([^)\n]{1,60}\))?: *+(?!{{nothing}})\S",
    ],
    "about": [
        "executing|running|while|when|during|reading|writing|opening|loading|connecting|parsing",
        "|creating|calling|occurred|from|processing|fetching|importing|compiling|invoking|evaluating",
        "|response|in|at|on|code|number|building|starting|sending|saving",
    ],
    "system": [
        "[Nn]o such file or directory|[Pp]ermission denied|Is a directory|Not a directory",
        "|[Oo]peration not permitted|[Cc]onnection refused|[Cc]onnection reset by peer",
        "|[Cc]onnection timed out|[Oo]peration timed out|Network is unreachable",
        "|[Nn]o space left on device|File exists|Too many open files|Cannot allocate memory",
        "|Device or resource busy|Read-only file system|Argument list too long|Broken pipe",
        "|Directory not empty|Name or service not known|Temporary failure in name resolution",
        "|Could not resolve host|[Ee]xec format error|Input/output error|No route to host",
        "|[Aa]ddress already in use|bad substitution|unbound variable",
        "|syntax error near unexpected token|unexpected end of file|[Aa]ccess (?:is )?denied",
        "|Host key verification failed|[Aa]uthentication failed|Invalid argument|No such process",
        "|no such host|No module named |out of memory",
    ],
    "sql": [
        "no such (?:table|column|function|module|collation)[: ]|Unknown (?:column|table|database",
        r"|system variable) ['\"`]|Table ['\"`][^\n]{1,200}?['\"`] (?:doesn't exist|already exists)",
        "|You have an error in your SQL syntax|(?:relation|column|table|function|schema|role",
        r"|database|type) [\"'`]?[\w.()]+[\"'`]? (?:does not exist|already exists)",
        r"|syntax error at or near|near [\"'][^\n]{1,80}[\"']: syntax error",
        r"|duplicate key value violates|violates \S+(?: \S+)? constraint|(?:UNIQUE|NOT NULL|CHECK",
        "|FOREIGN KEY|PRIMARY KEY) constraint failed|Duplicate entry '|Incorrect syntax near",
        "|Invalid object name|deadlock detected|Deadlock found when|database is locked",
        r"|current transaction is aborted|ORA-\d{5}: |SQLSTATE\[\w{5}\]",
    ],
    "refusal": [
        "(?:[Cc]annot|[Cc]ould not|[Cc]ouldn't|[Cc]an't|[Uu]nable to) (?:access|open|find|connect",
        "|read|write|import|resolve|load|create|execute|stat|delete|remove|assign|locate|parse|start",
        "|bind|use|determine|allocate|install|fetch|download|perform|run|compile|invoke|convert|cast",
        "|call|set|get|make|touch|copy|move|process|build|lock|acquire|authenticate|initialize",
        r"|decode|complete|satisfy|reach|establish|add|update|apply|verify|join)\b|(?:[Ii]nvalid",
        r"|[Uu]nknown|[Uu]nrecognized|[Uu]nexpected|[Mm]issing|[Tt]oo (?:many|few)) (?:\w+ )?",
        "(?:action|command|option|argument|operand|token|query|input|syntax|parameter|tool|function",
        r"|character|end of)s?\b|No (?:\w+ ){1,4}found in (?:your|the) (?:\w+ )?(?:response|answer",
        r"|message|output)\b|\(\d+\) [A-Z]|E: \S|ERR_[A-Z_]+\b|(?:connect |listen |spawn \S+ ",
        r"|getaddrinfo )?E(?:CONN|NOENT|ACCES|PERM|ADDR|TIMEDOUT|NOTFOUND|PIPE|EXIST)[A-Z]*\b|",
        r"(?:\w+ )?(?:[Ff]ile|[Dd]irectory|[Pp]ath|[Ll]ibrary|[Mm]odule|[Pp]ackage|[Cc]ommand",
        r"|[Ee]lement|[Uu]ser) not found\b|No such (?:file|directory|command|option|container|user",
        r"|key)\b|(?:The )?(?:[Ff]ile|[Dd]irectory|[Pp]ath) \S+ does not",
        r"|'[^'\n]{1,60}' is not a \w+ command|The connection to [^\n]{1,80}? was refused",
        r"|Exiting with failure|-e expression #|CONFLICT \(|(?:Killed|Aborted|Bus error",
        r"|Illegal instruction)(?= *(?:\n|\Z|\(core))",
    ],
    "failed": [
        r"\n[ \t]*(?:[\w./:'\"()\[\]@$-]+ ){0,6}(?:[Ff]ailed|FAILED)(?: (?:to|with|due|because|after",
        r"|in|on|at|while|during|for)\b|: *+(?!{{nothing}})|[.!;](?=\s|\Z)|(?<=\S [Ff]ailed",
        r"|\S FAILED) *(?=\n|\Z))",
    ],
    "exit": [
        "[Ee]xit(?:ed)?(?: with)? (?:code|status)(?: code)?[:= ]+-?[1-9]|exited with (?:-?[1-9]",
        "|error)|[Ee]xit(?: ?[Cc]ode|_code)?[:=] ?-?[1-9]|[Nn]on-?zero (?:exit|return|code)",
    ],
    "count": [
        r"[1-9](?<![\w.-][1-9])\d*+ (?:\w+ )?(?:[Ff]ail(?:ed|ures?|ing)|[Ee]rrors?)\b",
        r"(?<!\b[45]\d\d errors)(?! (?:fixed|resolved|corrected|suppressed|ignored|handled)",
        r"|[^\n]{0,30}, 0 remaining)",
    ],
    "sum": [
        r"[:=](?:(?<=[^\w-][Ee]rrors.)|(?<=[^\w-][Ff]ail.)|(?<=[^\w-][Ff]ailed.)|",
        r"(?<=[^\w-][Ff]ailures.)) ?[1-9]|\n# fail [1-9]",
    ],
    "indented": r"\n[ \t]+{{raised}}",
    "words": [
        "error|exception|fail|fatal|cannot|could not|can't|denied|not found|invalid|unable|refused",
        "|timed? ?out|undefined|missing|unexpected|unknown|no such|does not|doesn't|mismatch|illegal",
        "|unsupported|violat|conflict|crash|abort|not allowed",
    ],
    "level": [
        r"[ \t]*{{head}}{{levels}}(?::(?:[\w.]+:(?=\S))?[ \t]*|[ \t]+-[ \t]+|[ \t]++(?!\d))",
        r"(?:\d+ --- )?(?:\[[^\]\n]{1,60}\][ \t]*)*(?:(?![\w.$]*(?:Error|Exception)\b)[\w$]+",
        r"(?:\.[\w$]+)+[ \t]*[-:][ \t]+)?(?=\S)",
    ],
    "leads": [
        r"(?>[ \t]+|Uncaught (?:\(in promise\) )?|Unhandled exception\. ",
        r"|Exception in thread \"[^\"\n]*\" |Caused by: |\(node:\d+\) ",
        "|UnhandledPromiseRejectionWarning: |E {3,}|(?i:fatal error|error|fatal): +|in prepare, ",
        r"|vet: |at line \d+: |##\[error\]|error (?=Command failed)|(?:Parse",
        r"|Runtime) error near line \d+: |\S*?\b(?:ba|z|da|k)?sh: (?:-c: )?(?:line )?(?:\d+: )?",
        r"|\S+\.(?:ba|z)?sh: (?:line )?\d+: |psql:\S+:\d+: +|{{place}}[ \t]+",
        r"|\d+:\d+[ \t]+error[ \t]+)++(?=\S)",
    ],
    "zsh": r"(?:(?<!\S)\S*/)?zsh: ([a-z ]+): (\S+)\Z",
    "aside": r" at line \d+(?=:)| at character \d+| \[recovered[^\]]{0,1000}\]",
    # a piece of the statement, with quotes of its own
    "near": r"['\"](?<=syntax to use near .).*",
    "named_code": r"c(?<!\wc)ode['\"]?[:=] ?['\"](\w+)['\"]",
    "quote": """["'`‘“]""",  # noqa: RUF001
    "quoted": [
        r"\"(?<![\w\\]\")(?:[^\"\\]|\\.)*+\"|'(?<![\w\\]')(?:[^'\\]|\\.|'(?=\w)){0,1000}+'|`[^`']*+[`']",
        r"|\u2018[^\u2019]{0,1000}+\u2019|\u201c[^\u201d]{0,1000}+\u201d|\\\"[^\"\\]*+\\\"|\\'[^'\\]*+\\'",
    ],
    "unclosed": r"(?<![\w\\])[\"'`\u2018\u201c][^\"'`]{0,1000}+\Z",
    "url": r"\b[A-Za-z][A-Za-z0-9+.-]{1,20}://[^\s'\"`<>)\]},;]+",
    "edge": r"\s'\"`()\[\]{}<>,;=|:*?",
    "path": r"(?:\b[A-Za-z]:(?=[\\/])|(?<![^{{edge}}\\/]))[^{{edge}}\\/]*+[\\/][^{{edge}}]*+",
    "temp": [
        r"(?:/private)?/(?:tmp|var/tmp|var/folders|dev/shm|run/user)(?:/|\Z)|.*[\\/](?:[Tt]e?mp",
        r"|pytest-of-\w+)[\\/]",
    ],
    "home": r"(?:/home|/Users|[A-Za-z]:\\Users)[\\/][^\\/]+\Z|/root\Z|~\Z",
    "rooted": r"[/\\~.]|[A-Za-z]:[\\/]",
    "ending": r"\.[A-Za-z]\w{0,9}\Z",
    "temp_name": r"\btmp[a-z0-9_]{6,12}\b",
    "months": "(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*",
    "time": [
        r"\b(?:19|20)\d\d[-/]\d\d[-/]\d\d(?:[T ]\d\d:\d\d(?::\d\d)?(?:[.,]\d+)?(?: ?(?:Z|UTC|GMT",
        r"|[+-]\d\d:?\d\d))?)?\b|\b\d{1,2}:\d\d:\d\d(?:[.,]\d+)?(?: ?[AP]M)?\b|\b(?:(?:Mon|Tue|Wed",
        r"|Thu|Fri|Sat|Sun)[a-z]*,? )?(?:{{months}} +\d{1,2}|\d{1,2}[ /-]{{months}})\b",
        r"(?:[, /]+\d{4})?(?:[ :]\d\d:\d\d:\d\d)?(?: (?:UTC|GMT|[+-]\d{4}))?(?: \d{4})?",
    ],
    "host": r"\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?\b|\[?::1\]?(?::\d+)?(?![\w:])",
    # addresses (but not Windows' 0x80070005 and 0xC0000005), uuids, hashes, what machines make up
    "id": [
        r"\b(?=[A-Za-z_-]{0,40}[0-9])(?:0x(?!(?:8[0-9a-fA-F]|[cC]0)[0-9a-fA-F]{6}\b)[0-9a-fA-F]+",
        "|[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}|",
        "(?=[0-9]{0,40}[a-fA-F])[0-9a-fA-F]{7,}|(?=",
        "(?:[A-Za-z]{1,20}+[0-9]{1,20}+){3})[A-Za-z0-9]{16,}|(?:req|run|msg|call|chatcmpl|sess|evt",
        r"|txn)[_-][A-Za-z0-9]{6,})\b",
    ],
    "named_id": r"(?i)\b((?:request|trace|correlation|session|span|job)[-_ ]?id)\b[:=]? ?[\w-]*\d[\w-]*",
    "position": r":(?<=[\w)\]>]:)(?<!(?i:code|atus|rrno|rror):)\d+(?::\d+)?(?!\w|\.\d)",
    "number": [
        r"[0-9](?<!\w[0-9])(?:(?:[0-9]*[hm])++[0-9.]*s?|[0-9_]*+(?:[.,][0-9]++){0,100}+(?:e[+-]?[0-9]++)?",
        r"(?:[KMGT]i?B|[kKMGTB]|ms|[µun]?s|[mh%x])?)(?!\w)",
    ],
    # what ends in one of these is followed by a code
    "names_code": r"(?:_code|exitcode|errorcode|statuscode|returncode|errno|exited with)\Z",
    "code_after": [
        "(?i) (?:client error|server error|not found|unauthorized|forbidden|bad request",
        "|internal server|bad gateway|service unavailable|gateway time|too many requests|conflict",
        r"|method not allowed|unprocessable|request timeout|\([0-9A-Z]{5}\))",
    ],
    "digit": "[0-9]",
    # ---- what a log puts before a message
    "log_level": [
        "(?:TRACE|DEBUG|INFO|NOTICE|WARN(?:ING)?|ERROR|SEVERE|FATAL|CRITICAL|ALERT|FAILURE",
        r"|(?i:info|notice|warn(?:ing)?|error|debug|crit|alert)|[VDIWEF])(?=[\] \t,|>)]|\Z)",
    ],
    "log_clock": r"\d{1,2}[:.]\d{1,2}[:.]\d{1,2}(?:[.,:]\d{1,9})?(?: ?Z| ?[+-]\d\d:?\d\d| UTC| GMT)?",
    "log_time": [
        r"\[?(?:(?:(?:19|20)?\d\d[-/.]\d\d[-/.]\d\d|\d\d[-/.]\d\d|(?:19|20)\d{6})[T _-]{{log_clock}}",
        r"|(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? )?{{months}} {1,2}\d{1,2} (?:\d{4} )?{{log_clock}}(?: \d{4})?",
        r"|\d{6} \d{6}|1\d{9}(?:\.\d+)?|(?:19|20)\d\d\.\d\d\.\d\d|\d\d:\d\d:\d\d(?:[.,]\d{1,9})?)\]?(?=[ \t,|])",
    ],
    "log_header": [
        # before the time: a dash, a label, a file, a node; or four words and the seconds since 1970
        r"(?:(?:(?:-|[A-Z]{2,}\d?|(?=[\w:/-]*[.\d])[\w.:/-]{3,60}) +){0,4}?{{log_time}}",
        r"|\d+ (?:\S{1,40} ){3}(?=1\d{9} )|(?=TRAC|DEBU|INFO|NOTI|WARN){{log_level}}|- (?={{log_level}}))",
        # after it: more times, numbers, levels, threads, and names with digits
        r"(?>[ \t,|]++|- |{{log_time}}|[\[<(]?{{log_level}}[\]>)]?|\[(?:[^\[\]\n]|\[[^\[\]\n]*\]){1,150}\](?=[ \t])",
        r"|(?=[\w:/-]*\d)[\w.:/-]{1,60}(?=[ |])|(?:[A-Z]{2,} ){1,2}(?={{log_level}})|(?<=\|)[\w.]+(?=\|)){0,24}",
        # the program of syslog, the logger
        r"(?>(?![\w.$]*(?:Error|Exception|Warning)\b)(?:(?<=\d )(?:[\w.@/-]{1,60}[ \t]+)?[\w./-]{1,60}",
        r"(?:\([\w:.-]+\))?(?:\[\d+\])?:[ \t]+|(?=[\w-]*[.$A-Z])[\w.$-]{2,100}:[ \t]+)",
        r"|[\w.-]+\.exe(?: \*64)? - |(?:\w+\.)+\w+ (?=\[)\[[^\]\n]{1,200}\][ \t]+|-[ \t]+)?(?=\S)",
    ],
    "told_name": r"\A.*: -c: line \d+: ",
    # ---- what is data in a message
    "refused_port": [
        r"(?i)(?:\bport['\"]?[ =:]+|(?:\b\d{1,3}(?:\.\d{1,3}){3}|\blocalhost",
        r"|(?<![\w-])(?<![\w-]\.)-*+\w[\w-]*+(?:\.[\w-]++)*+",
        r"(?<!\.py)(?<!\.go)(?<!\.js)(?<!\.ts)(?<!\.rs)(?<!\.rb)(?<!java))\]?:|::1\]?:)(\d{2,5})(?![\w.]|:\d)",
    ],
    "request": r"[\"'](GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS) [^\"'\n]*[\"']",
    "user": r"\b((?:for|of|by|as|[Ii]nvalid|[Ii]llegal|[Uu]nknown) user|for(?= [\w.@-]+ from <ip>)) [\w.@-]+",
    "named": [
        r"\b(cmd[:=] ?|(?:[rl]?user|[rl]?host|(?:user|host|log|pack|nick)?name|tag|pkg|client",
        r"|peer|addr|path|file|dir|tty)=)[^\s,;:)\]<]+",
    ],
    "domain": [
        r"\.(?:com|net|org|edu|gov|mil|info|biz|local|internal|lan|localdomain|cn|tw|hk|jp|kr|uk|fr",
        r"|de|eu|us|ru|br|nl|ch|au)(?::\d+)?(?![\w(-]|\.\w)",
    ],
    "host_name": r"(?<![\w.@/-])(?:[\w.+-]{1,60}@)?[a-z0-9-]{1,60}(?:\.[a-z0-9-]{1,60}){0,9}?{{domain}}",
    "host_and_ip": r"[\w.-]{1,200}+/<ip>",
    # uuids with what stands before them, addresses of network cards, and of memory from 0x81000000 up
    "machine_id": [
        r"\b(?:[a-z]{1,10}-)?[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b",
        r"|\b(?:[0-9a-fA-F]{2}:){5}[0-9a-fA-F]{2}\b|\b0x8[1-9a-fA-F][0-9a-fA-F]{6}\b",
    ],
    "counted": [
        # R02-M1-N0-C:J12-U11
        r"(?<![\w<])(?:(?!x86_64)[A-Za-z]{1,20}+[0-9]++(?:[-_:][A-Za-z]?[0-9]++){1,100}+",
        r"(?:[-_:][A-Za-z]?[0-9]*+){0,100}+",
        # blk_2568, rdd_2_1, attempt_14_0020_m_000001_0, BP-1034-<ip>: a name, and counts after it
        r"|(?P<name>[A-Za-z]++(?:[_-][A-Za-z]++){0,100}+)(?:(?P<digits>[0-9]++)(?![\w-])",
        r"|(?=[_-]+(?:[A-Za-z]*[0-9]|<))(?:[\w~-]|<(?:n|ip)>)++))(?!\w)",
    ],
    "serial": "[0-9]{6}|<ip>",
    "again": r"(<(?:n|q|ip|path|time)>)(?:[ ,;:/#|+.x-]*\1)++",
    "row": r"(<[nq]>)(?:, \1)++",
}

# The ways in which programs report failures, from the most to the least telling. A pattern runs only
# where one of its triggers occurs; small letters stand for both cases, and "" is in every text, for
# where looking for triggers would cost more than the pattern. `pick` (else the whole line) and
# `accept` (else always) name functions of failures.py. Where a match begins with a `line` that holds one
# of these words, in letters of either case, only such lines are looked at. What is `vague` says that something failed, and
# not what.
REPORTS: Final[list[dict[str, Any]]] = [
    # What a program says of itself at its end.
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
        "triggers": ["panic"],
        "pattern": r"panicked at (?:'|\S+:\d+)",
        "pick": "rust_panic",
        "accept": "reported",
    },
    {
        "triggers": ["panic"],
        "pattern": r"\n[ \t]*panic: (?!\{)",
        "accept": "outside_code",
    },
    {
        "triggers": ["fatal"],
        "pattern": r"\nfatal (?:runtime )?error: \S",
    },
    # Compilers and linters: the first error, for the others often follow from it.
    {
        "triggers": ["error["],
        "pattern": r"\n[ \t]*error\[[A-Z]+\d+\]: ",
        "line": "error",
    },
    {
        "triggers": ["error "],
        "pattern": r"error (?:TS|CS?|LNK|MSB|NU)\d{3,5}: ",
        "pick": "rest",
        "accept": "reported",
    },
    {
        "triggers": ["error:", "error :"],
        "pattern": r"\n[ \t]*(?:\[ERROR\] )?{{place}} ?(?:fatal |internal )?(?:compiler )?error ?: ",
        "line": "error",
        "pick": "compiler",
    },
    {
        "triggers": ["ERROR"],
        "pattern": r"\n[ \t]*\[ERROR\] \S+:\[\d+,\d+\] ",
        "pick": "compiler",
    },
    {
        "triggers": ["e: "],
        "pattern": r"\ne: \S+\.kts?:(?:\d+:\d+:?| \(\d+, \d+\):) ([^\n]+)",
        "pick": "groups",
    },
    {
        "triggers": ["[error]"],
        "pattern": r"\n\[error\] {{place}} ([^\n]+)",
        "pick": "groups",
    },
    {
        "triggers": ["error ", "error\t", "Error)"],
        "pattern": r"\n[ \t]*\d+:\d+[ \t]+error[ \t]+|\n\S+:\d+:in [`'][^\n]*Error\)",
        "line": "error",
    },
    {
        "triggers": [".go:"],
        "pattern": r"\n(?:vet: )?[^\s:]+\.go:\d+:\d+: \S",
    },
    {
        "triggers": [".py:"],
        "pattern": r"\n\S+\.pyi?:\d+:\d+: [A-Z]{1,4}\d{3,4} |\n[A-Z]{1,4}\d{3,4} [^\n]+\n +--> ",
    },
    {
        "triggers": ["undefined ref"],
        "pattern": "undefined reference to ",
        "pick": "rest",
        "accept": "reported",
    },
    # Stacks that come after the message, and exceptions that stand alone.
    {
        "triggers": ["●"],
        "pattern": r"\n[ \t]*● (?!Console\b)\S",
        "pick": "jest",
    },
    {
        "triggers": ["terminate called"],
        "pattern": r"\nterminate called after [^\n]* '([^'\n]+)'(?:\n *what\(\): +([^\n]*))?",
        "pick": "groups",
    },
    {
        "triggers": ["went wrong:"],
        "pattern": r"\n\* What went wrong:\n",
        "pick": "gradle",
    },
    {
        "triggers": ["unhandledpromise"],
        "pattern": r"\n\[?UnhandledPromiseRejection: ",
        "pick": "rejected",
    },
    {
        "triggers": ["at "],
        "pattern": "{{frame}}",
        "pick": "thrown",
    },
    {
        "triggers": ["Caused by:"],
        "pattern": r"\n[ \t]*(?:\[ERROR\] )?Caused by:",
        "pick": "caused",
    },
    {
        "triggers": ["error", "exception", "Interrupt"],
        "pattern": "{{alone}}",
        "line": "error exception interrupt group",
        "accept": "raised",
    },
    {
        "triggers": ["! ["],
        "pattern": r"\n ?! \[(?:remote )?rejected\] +\S+ -> \S+ (\([^\n]+\))",
        "pick": "rest",
    },
    # Tests.
    {
        "triggers": ["FAIL"],
        "pattern": r"\n[ \t]*--- FAIL: \S",
        "pick": "go_test",
    },
    {
        "triggers": ["FAIL", "ERROR"],
        "pattern": r"\n(?:FAILED|ERROR) (\S+(?:::\S|\.py)[^\n]*)",
        "pick": "pytest_summary",
    },
    {
        "triggers": ["FAIL"],
        "pattern": r"\n[ \t]*(?:test \S+ \.\.\. FAILED|(?=\S+?::\S)\S++ FAILED\b)",
    },
    {
        "triggers": ["not ok "],
        "pattern": r"\n[ \t]*not ok \d+(?![^\n]*# (?:TODO|SKIP))",
    },
    # Logs, databases, shells and the system.
    {
        "triggers": ["! => {"],
        "pattern": r"\nfatal: \[[^\]\n]{1,100}\](?: -> [^\n:]{1,100})?: [A-Z]{1,20}! => (?=\{)",
        "pick": "told",
    },
    {
        "triggers": ["ERROR", "FATAL", "CRITICAL", "SEVERE"],
        "pattern": "{{level_line}}",
        "line": "error fatal critical severe",
        "accept": "reported",
    },
    {
        "triggers": ["error:", "fatal:", "error (", "fatal ("],
        "pattern": "{{error_line}}",
        "line": "error fatal",
        "accept": "happened",
    },
    {
        "triggers": ["error>"],
        "pattern": r"\n<\w*error>",
    },
    {
        "triggers": ["error "],
        "pattern": [
            r"\n[ \t]*(?:[\w./+-]+: )?(?:[A-Z]\w* ){0,3}[Ee]rror (?:{{about}})\b(?! (?:code|number):? 0\b)",
        ],
        "line": "error",
        "accept": "reported",
    },
    {
        "triggers": ["command not found"],
        "pattern": r"command not found(?:: (\S+))?",
        "pick": "missing_command",
        "accept": "reported",
    },
    {
        "triggers": [": not found"],
        "pattern": r"\n\S*sh: (?:line )?(?:\d+: )?([^\s:]+): not found",
        "pick": "missing_command",
    },
    {
        "triggers": ["npm "],
        "pattern": r"\nnpm (?:ERR!|error) (?!code ELIFECYCLE)",
        "pick": "npm",
    },
    {
        "triggers": [""],
        "pattern": r"[\n:)][ \t]*+(?=[A-Za-z(])(?:[Gg]ot |\(\d{3,5}, [\"'])?(?:{{system}}|{{sql}})",
        "accept": "reported",
    },
    {
        "triggers": [""],
        "pattern": r"\n[ \t]{0,4}(?:[\w./+-]+: )?(?:{{refusal}})",
        "accept": "reported",
    },
    {
        "triggers": ["recognized"],
        "pattern": "is not recognized as (?:an internal|the name)",
        "accept": "reported",
    },
    {
        "triggers": ["egmentation fault"],
        "pattern": "[Ss]egmentation fault",
        "pick": "match",
        "accept": "reported",
    },
    {
        "triggers": ["occurred"],
        "pattern": r"\n(?:[\w./+-]+: )?[A-Z][\w-]*(?: \w+){0,3} (?:error|exception)s? (?:has )?occurred\b",
        "accept": "happened",
    },
    {
        "triggers": ["nhandled ", "ncaught "],
        "pattern": r"[Uu]n(?:handled|caught) (?:exception|error)\b",
        "accept": "reported",
    },
    {
        "triggers": [""],
        "pattern": r"[45](?<=[\n :=(][45])\d\d(?![\w.])",
        "accept": "of_http",
    },
    # Answers in JSON and lines of key=value.
    {
        "triggers": ["\n{", "\n["],
        "pattern": r"{{field}}(?:error|error_?[Mm]essage)[\"']: *(?:[\"'](?![\"'])|\{)",
        "pick": "answered",
        "accept": "in_json",
    },
    {
        "triggers": ["\n{", "\n["],
        "pattern": r"{{field}}(?:(?:success|ok)[\"']: *[Ff]alse|is_?[Ee]rror[\"']: *[Tt]rue)",
        "pick": "answered",
        "accept": "in_json",
    },
    {
        "triggers": ["\n{", "\n["],
        "pattern": r"{{field}}(?:status|level)[\"']: *[\"'](?:error|fatal|fail\w*|ERROR|FATAL|FAIL\w*)[\"']",
        "pick": "answered",
        "accept": "in_json",
    },
    {
        "triggers": ["\n{", "\n["],
        "pattern": r"{{field}}(?:exit_?[Cc]ode|return_?code|exit_status)[\"']: *-?[1-9]",
        "pick": "answered",
        "accept": "in_json",
    },
    {
        "triggers": ["level="],
        "pattern": r"level=(?:error|fatal|panic)\b",
        "pick": "logged",
    },
    # What only says that something failed.
    {
        "vague": True,
        "triggers": ["*** "],
        "pattern": r"\n[ \t]*g?make(?:\[\d+\])?: \*\*\* (?:\[(?P<target>[^\]\n]*)\] Error (?P<code>\d+))?",
        "pick": "make",
    },
    {
        "vague": True,
        "triggers": ["fail"],
        "pattern": "{{failed}}",
        "line": "fail",
        "accept": "happened",
    },
    {
        "vague": True,
        "triggers": ["timed out"],
        "pattern": r"\n(?:[\w.'\"/():-]+ ){0,9}[Tt]imed out\b(?= after|\.| waiting| while|:|\n|\Z)",
        "accept": "happened",
    },
    {
        "vague": True,
        "triggers": ["exit", "zero", "FAIL code"],
        "pattern": r"{{exit}}|\n[ \t]*[\w.-]{1,60}: FAIL code [1-9]",
        "accept": "reported",
    },
    {
        "vague": True,
        "triggers": ["npm "],
        "pattern": r"\nnpm (?:ERR!|error) ",
        "pick": "npm",
    },
    {
        "vague": True,
        "triggers": ["fail"],
        "pattern": r"(?:BUILD|Build|Compilation) (?:FAILURE|FAILED|failed|failure)\b",
        "accept": "reported",
    },
    {
        "vague": True,
        "triggers": ["fail", "error"],
        "pattern": "{{count}}",
        "accept": "reported",
    },
    {
        "vague": True,
        "triggers": [
            *(
                "errors:",
                "errors=",
                "fail:",
                "fail=",
                "failed:",
                "failed=",
                "failures:",
                "failures=",
            ),
            "\n# fail ",
        ],
        "pattern": "{{sum}}",
    },
    {
        "vague": True,
        "triggers": ["FAIL", "✗", "✘", "✖"],
        "pattern": r"\n[ \t]*(?:[✗✘✖] \S|FAIL(?:ED)?(?:!|:(?! *0\b)| ++(?![ :=]*+0\b)\S|\t|(?=\n|\Z)))",
    },
]
