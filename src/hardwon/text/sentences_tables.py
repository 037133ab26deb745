"""What keeps a sentence from standing alone, and what says the same: read by sentences.py."""

WORDS: dict[str, str] = {
    # without one of them no time is told
    "time_words": """
    day tomorrow night ago week month year hour minute morning evening noon lately recently soon""",
    # behind these a word in -ed is an adjective, or tells what is done to something time and again
    "no_verb_after": """
    is are am be being get gets isn't aren't a an the this that these those all some any no of in
    on at by for from with to and or its their our your every each""",
    "no_past": "hundred embed shed sacred naked nested shared limited unused based need",
    "no_verbs": """
    that whether what how why where which who whom whose when if as than because since although
    though while unless until once and or but so is was are were does did do can could will would
    should must may might has have had not then also the a an this these those after before in on
    at by of for to with from""",
    "articles": "a an the",
    # No sentence says something else without them. Not among them: words that narrow ("just"), weigh
    # ("really") or tell a time.
    "fillers": "please now actually indeed a an the",
    # Set off from the rest they answer it: "No, retries are needed" is the opposite of "No retries are
    # needed".
    "answers": "no not never yes",
    # behind these it is no filler: "until now the pool works"
    "tied": "until till by from since not before for only right up than as and or",
    "no_nouns": """
    is are was were be has have had does do did can could will would shall should may might must
    and or but not in on at of to by for from with = == != < > + - * / && || a actually an indeed
    now please the""",
}

ANY_OF: dict[str, str] = {
    "label": "note nb fyi todo fact learned lesson observation decision solution error",
    "link": """
    and but so also then however therefore thus hence still yet sometimes usually often apparently
    unfortunately now""",
    "referring": "after before despite because_of due_to like with without in by for from",
    "beginning": "if when whenever once because since until unless while after before",
    "urging": "do_not don't never always please just simply",
    "cleft_start": "the a an only because when in on at",
    "relative": "that who which where",
    "determiner": "the an? every each this that these our all some",
    "helping_verb": """
    is was are were isn't wasn't aren't will would can could cannot can't should must may might
    has have had does did do doesn't didn't don't won't""",
    "does": """
    means? meant causes? caused happens? happened fails? failed works? worked breaks? broke needs?
    needed makes? made leads? led fixes fixed prevents? prevented requires? required seems? seemed
    appears? explains? explained helps? helped solves solved resolves resolved results? resulted
    only never always also still no_longer""",
    "being": """
    's is was 'll_be will_be would_be has_been had_been may_be might_be can_be could_be must_be
    should_be isn't wasn't becomes became gets got""",
    "of_nothing": """
    raining snowing hailing freezing cold hot warm dark late early sunny windy noon midnight time
    (?:im)?possible necessary (?:un)?important essential easy easier hard harder difficult better
    best (?:un)?safer? risky dangerous (?:un)?wise useful helpful enough sufficient common
    (?:un)?usual normal rare recommended advisable advised allowed forbidden (?:un)?known
    (?:un)?clear (?:un)?likely true false worth obvious evident expected_that assumed_that
    believed said agreed decided planned crucial vital critical_to critical_that good_to
    good_practice good_that bad_to bad_practice bad_that fine_to ok_to okay_to faster_to slower_to
    cheaper_to simpler_to quicker_to tempting_to wrong_to right_to correct_to sensible_to
    pointless_to no_use no_good no_longer_possible no_problem no_wonder no_surprise uncertain
    doubtful up_to""",
    "sometimes": """
    not now still also very too always often never more most does_not did_not can may will would""",
    "verb_of_nothing": """
    seem appear turn happen follow look sound matter help take took cost make made hurt pay
    suffice remain prove depend go come came need""",
    "what_follows": "that to if whether when how like what which before until",
}

PATTERNS: dict[str, str | list[str]] = {
    "quoted": [
        r"(?s)```.{0,10000}?```|`[^`\n]{0,1000}`|\"[^\"\n]{0,1000}\"|\u201c[^\u201d\n]{0,300}\u201d",
        r"|\u00ab[^\u00bb\n]{0,300}\u00bb|(?<!\w)'[^'\n]{0,300}'(?!\w)",
        r"|\u2018[^\u2018\u2019\n]{0,300}\u2019(?!\w)|(?<![\w-])--?\w[\w-]{0,40}[ =][^\s]{1,100}",
    ],
    "set_off": r"(?m)^(?: {4}|\t| {1,3}\t| {0,3}>)[^\n]*",
    "count": r"(?:\d{1,4}|eleven|twelve|three|seven|eight|four|five|nine|one|two|six|ten|an|a)",
    "unit": "(?:minute|hour|day|week|month|year)",
    "weekdays": "monday|tuesday|wednesday|thursday|friday|saturday|sunday",
    "part_of_day": "(?:morning|afternoon|evening|night)",
    # what stands around a word of prose: no part of a path, of a name or of code
    "before": r"(?<![\w./\\@:=#$%&*+~<>\[{|_\u00a4-])",
    "after": r"(?![\w/\\@=#(\[{<>|\u00a4]|[.:-]\w|-|['\u2019](?!s\b)\w)",
    "time": [
        r"(?i){{before}}(?:(?P<day>the\sday\sbefore\syesterday|the\sday\safter\stomorrow|",
        r"(?:yesterday|tomorrow)(?:\s{{part_of_day}})?|today|tonight|this\s(?:morning|afternoon",
        r"|evening)|last\snight)(?:['\u2019]s)?|(?P<ago>(?P<half>half\s)?(?P<number>{{count}})\s",
        r"(?P<unit>{{unit}})s?\sago)|(?P<turn>(?P<which>last|this|next)\s(?P<period>week|month|year",
        r"|{{weekdays}}))(?:['\u2019]s)?(?!\sof\b)|(?P<ahead>in\s(?P<later>{{count}})\s",
        r"(?P<later_unit>{{unit}})s?)(?!['\u2019])|(?P<vague>recently|lately|the\sother\sday|(?:a",
        r"|some|quite\sa)\swhile\sago|(?:a\slong|some)\stime\sago|long\sago|(?:a\sfew|a\scouple\sof",
        r"|several|some|many)\s{{unit}}s\sago|soon)){{after}}",
    ],
    "has_date": r"(?:['\u2019]s)?,?\s?[(\[](?:about\s|night\sto\s)?\d{4}\b",
    "about": [
        r"(?i)(?:\b(?:about|around|almost|nearly|over|more\sthan|less\sthan|at\sleast|roughly|under",
        r"|up\sto|some|maybe|approximately)\s|~)\Z",
    ],
    "not_before_turn": r"(?i)\b(?:the|every|each|a|an|per|any|of\sthis)\s\Z",
    "range": r"(?i)\b(?:to|or|than|the)\s\Z",
    "coming": r"(?i)\b(?:will|shall|going\sto|due|scheduled|planned|deadline|is\sexpected)\b|['\u2019]ll\b",
    "habit": [
        r"(?i)\b(?:every|each|always|when|whenever|once|if|unless|per|any|an?\s\w{1,30}\sthat|retry",
        r"|retries|again|by\sdefault|usually)\b",
    ],
    "soon_idiom": r"(?i)\b(?:as|so|too|how|very)\s\Z",
    "happened": [
        r"(?i)(?<![\w-])(?:(?P<before>[a-z]{1,20}(?:['\u2019]t)?)\s)?(?:(?P<sure>(?:was|were|had",
        r"|did)(?:n['\u2019]t)?|broke|fell|went|ran|came|became|began|got|gave|took|made|found|lost",
        "|grew|threw|froze|hung|shut|sent|left|rose|stood|held|kept|built|bought|brought|caught",
        "|chose|drew|drove|flew|forgot|hid|knew|led|met|paid|said|saw|sold|spent|spoke|stole|stuck",
        "|swept|taught|told|thought|understood|woke|won|wrote)|(?P<past>[a-z]{2,30}(?<!e)ed))",
        r"(?![\w-])",
    ],
    "whose": r"(?i)\b(?:that|which|who|whose)\b",
    "time_and_again": [
        r"(?i)\b(?:every|each|always|usually|often|normally|typically|generally|regularly|sometimes",
        r"|never|hourly|nightly|daily|weekly|monthly|yearly|whenever|if|unless|by\sdefault|older",
        "|newer|earlier|expires?|(?:mon|tues|wednes|thurs|fri|satur|sun)days|(?:morn|even)ings",
        "|nights|copies|deletes|removes|archives|mails|sends|counts|reads|writes|reports|shows",
        "|lists|returns|selects|compares|covers|contains|keeps|holds|uses|loads|fetches|exports",
        "|imports|processes|purges|drops|rotates|prunes|computes|aggregates|includes|expects|needs",
        r"|requires|means|has\sthe|takes|moves|stores|prints|displays|accepts)\b",
    ],
    "sql": [
        "(?:SELECT|FROM|TABLE|WHERE|AND|OR|BY|INTO|UPDATE|SET|AS|VALUES|COLUMN|JOIN|ON|IN|IS|VIEW",
        "|INDEX|LIMIT|ORDER|GROUP)",
    ],
    "name_follows": [
        r"(?:\b(?:called|named|titled|label(?:l?ed)?|enum|values?|column|field|table|variable",
        "|keyword|option|flag|parameter|argument|button|word|string|literal|constant|key|filter",
        r"|branch|tag|song|of|until|to|as|function|method|class|module|default|(?<!scheduled\s)",
        r"(?<!planned\s)(?<!due\s)for|{{sql}})\s|\w\s-\s|[/=<>+*|&]\s?)\Z",
    ],
    "name_ends": [
        r"\s?/\s?\w|\s(?:the\s)?\d|\s{{sql}}\b|\s[(+*=<>|&-]|\s(?:button|filter|label|column|table",
        r"|field)\b",
    ],
    "joins": r"[\s,;/&+-]*(?:(?:and|or|to|with|vs\.?|versus|than|until|from)\s)?",
    "sentence_ends": r"[.;!?](?=\s)|\n",
    "opening": r"\s{0,20}(?:[-*\u2022]\s{1,3}|{{label}}\s?[:,-]\s{1,3})?(?:{{link}},?\s{1,3}){0,3}",
    "pronoun": [
        r"(?i){{opening}}(?:(?P<person>he|she|they)(?=\s|['\u2019](?:ll|d|re|ve|s)\b)|(?P<it>it",
        r"(?=\s\w|['\u2019](?:s|ll|d)\b))|(?P<one>(?:this|that|these|those)(?:\sones?\b|",
        r"(?=\s{{helping_verb}}\s|\s{{does}}\b|['\u2019]s\s)))|(?P<whose>its|their|his|her",
        r"(?=\s\w+\s))(?=\s\w)|{{referring}}\s(?P<back>this|that|these|those)(?=[,.;!?]|\Z)",
        r"|{{beginning}}\s(?P<early>it|he|she|they)\s(?=[a-z])|(?:{{urging}}\s){0,2}",
        r"(?P<first>[a-z]{2,20})\s(?P<object>it|them|him)(?=[\s.,;!?]|\Z))",
    ],
    "cleft": r"(?:{{cleft_start}}\b|[A-Z`])[^.;!?]{0,200}?\s{{relative}}\b",
    "impersonal": r"\s?{{being}}\s(?:\w{1,20}ly\s|{{sometimes}}\s){0,3}(?:{{of_nothing}}\b|{{cleft}})",
    "impersonal_verb": [
        r"\s(?:\w{1,20}ly\s|{{sometimes}}\s){0,3}(?:{{verb_of_nothing}}(?:s|es",
        r"|ed)?\b[^.;!?]{0,200}?\s{{what_follows}}\b|(?:rain|snow|hail)(?:s|ed)?\b|goes\swithout)",
    ],
    "noun_follows": r"[^,.;!?]{1,200},\s(?:{{determiner}}\b|[A-Z`\"])",
    "reference": [
        r"(?i){{before}}(?:as\s(?:mentioned|described|discussed|said|noted|shown|explained",
        r"|stated)\s(?:above|before|earlier|below|previously)|(?<!\w)see\s(?:above|below)",
        r"|the\sabove(?=\s|[,.;!?]|\Z)){{after}}",
    ],
    "bullet": r"[-*\u2022]\s",
    "trailing": r"(?<![.,;])[.,;]+\Z",
    # "C:" is a drive, and "5!" is not 5
    "trailing_of_words": r"(?<=[^\W\d_]{2})[:!.,;]+\Z",
}
