"""How many tokens a text takes, without a download. A budget must hold whatever model reads the text, so this counts at least
as many as a tokenizer with a trained vocabulary of 30,000 entries or more.

Why that holds. A tokenizer of bytes never takes more tokens than there are bytes; one that knows words takes one per
character, or gives up on the word. So everything but ASCII letters counts in full: digits, punctuation, blanks and control
characters one each, other characters their UTF-8 bytes. Inside a run of letters, two neighbours that a vocabulary holds as a
pair never both end up as tokens of their own: whichever way a tokenizer merges, it merges them. `_PAIRS` are the pairs that
all the vocabularies hold that we looked at, and `_most_pieces` is the worst that is left. `_WORDS` are common words for
which less is certain: the most that any of those tokenizers took.

What is not covered: a vocabulary that was trained without English, and the tokens that a chat template adds around a text.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable
from typing import Final, TypeAlias

from hardwon import limits

Counter: TypeAlias = Callable[[str], int]
"""What a caller passes to have its own model's tokens counted: a text in, their number out."""


def count_tokens(text: str) -> int:
    """At least as many tokens as any tokenizer with a vocabulary of 30,000 entries or more takes for this text alone. On
    English prose about one and a half times as many, on code up to two and a half times: a budget is kept, not filled.

    The first word counts like one after a line break: some tokenizers put a mark of their own before it."""
    if not text:
        return 0
    return sum(map(_counted, f"\n{text}".replace("\n", " \n").split(" ")[1:]))


def cut_to_tokens(text: str, budget: int, count: Counter = count_tokens) -> str:
    """The longest beginning of a text that stays within the budget, whole words if possible. A word is only cut when it is
    the first, or so long that it is none (base64, Chinese). Empty when nothing fits. What is returned was itself counted,
    because a counter may find more in a part than in the whole."""
    if budget < 1 or not text:
        return ""
    if count(text) <= budget:
        return text
    ends = [0, *(word.end() for word in _WORD.finditer(text))]
    whole = text[: _last_within(text, ends, budget, count)]
    upto = next((end for end in ends if end > len(whole)), len(text))
    if whole and upto - len(whole) <= limits.WORD_CHARS_MAX:
        return whole
    inside = [place for place in range(len(whole), upto) if not place or not _belongs_to_the_one_before(text, place)]
    return text[: _last_within(text, inside, budget, count)].rstrip() or whole


_WORD: Final = re.compile(r"\S+")
_JOINERS: Final = "\u200d\ufe0e\ufe0f"


def _last_within(text: str, places: list[int], budget: int, count: Counter) -> int:
    """The last of these places, in order, at which the text may end; 0 if at none of them. Halves the range while longer
    texts have more tokens, and where that was wrong goes back in growing strides."""
    found = bisect_right(places, budget, key=lambda place: count(text[:place])) - 1
    back = 1
    while found >= 0:
        if count(text[: places[found]].rstrip()) <= budget:
            return places[found]
        found -= back
        back *= 2
    return 0


def _belongs_to_the_one_before(text: str, place: int) -> bool:
    """An accent, or a part of a composed emoji: cut off, both halves would read differently."""
    return bool(unicodedata.combining(text[place])) or text[place] in _JOINERS or text[place - 1] == "\u200d"


# ---- what stands between two spaces

_RUNS: Final = re.compile(r"[A-Za-z]+|[\x00-@\[-`{-\x7f]+|[^\x00-\x7f]+")
_PARTS: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_JOINED_TO_A_SPACE: Final = frozenset("$&*+<=`")  # a space before anything else but letters may be a token of its own


class _Counted(dict[str, int]):
    """Words come again and again. Forgets all of them when it is full, which costs less than to choose."""

    def __missing__(self, chunk: str) -> int:
        tokens = _chunk_tokens(chunk)
        if len(chunk) <= limits.WORD_CHARS_MAX:
            if len(self) >= _REMEMBERED_MAX:
                self.clear()
            self[chunk] = tokens
        return tokens


_REMEMBERED_MAX: Final = 16_384
_counted = _Counted().__getitem__


def _chunk_tokens(chunk: str) -> int:
    """The tokens of what follows a space up to the next, with that space; or of a line break up to the next space. An empty
    chunk is a space that follows another: one token."""
    first = chunk[:1]
    joined = first.isascii() and (first.isalpha() or first in _JOINED_TO_A_SPACE)
    tokens = 0 if first == "\n" or joined else 1
    for place, run in enumerate(_RUNS.findall(chunk)):
        if not run.isascii():
            tokens += sum(map(_character_counted, run))
        elif run.isalpha():
            tokens += _letters_tokens(run, after_space=not place)
        else:
            tokens += len(run)
    return tokens


def _letters_tokens(letters: str, after_space: bool) -> int:
    most = _most_pieces(f" {letters}" if after_space else letters)
    lower = letters.lower()
    known = _WORDS.get(lower)
    if known and letters in (lower, lower.title()):
        return min(most, int(known[(0 if letters == lower else 2) + (0 if after_space else 1)]))
    if letters == lower or letters.isupper():
        return most
    parts = _PARTS.findall(letters)
    if len(parts) == 1 or len(letters) < _PART_CHARS_MIN * len(parts):  # base64 rather than camel case
        return most
    # Two more for each part: a word is seldom as well known inside another as by itself.
    by_parts = _letters_tokens(parts[0], after_space) + sum(_letters_tokens(part, False) + 2 for part in parts[1:])
    return min(most, by_parts)


_PART_CHARS_MIN: Final = 3


def _most_pieces(letters: str) -> int:
    """The most pieces that these letters can be in when the two of a common pair never both stand alone. Longer pieces than
    two need not be tried: there are fewer of them."""
    before, alone, joined = _NEVER, _NEVER, 0  # the most up to the last letter but one; then with the last one alone, or not
    previous = ""
    for letter in letters:
        here = max(alone, joined)
        alone = (joined if previous + letter in _PAIRS else here) + 1
        joined = before + 1
        before = here
        previous = letter
    return max(alone, joined)


_NEVER: Final = -1_000_000_000


class _CharacterCounted(dict[str, int]):
    def __missing__(self, character: str) -> int:
        if len(self) >= _REMEMBERED_MAX:
            self.clear()
        self[character] = tokens = _character_tokens(character)
        return tokens


_character_counted = _CharacterCounted().__getitem__


def _character_tokens(character: str) -> int:
    """One per byte, of the form with the most bytes that a tokenizer may bring the text into first: a single ligature can
    stand for a whole phrase. Tokenizers that take accents apart and know no bytes take one per part."""
    compatible = unicodedata.normalize("NFKC", character)
    forms = (character, compatible, compatible.lower(), compatible.casefold())
    return max(len(unicodedata.normalize("NFKD", character)), *(len(form.encode("utf-8", "surrogatepass")) for form in forms))


# ---- what the vocabularies have in common

_PAIRS: Final = frozenset(
    group[0] + second
    for group in [
        *"""
abcdfghijklmnprstuvz baeioruy cacehimou daeioru edklmnprstvx faefirtu gaeioru haeioru iadefklmnorst jaeiou kaeimosuy
laeilotu maeimouy naegiostuy obfgklmnprstuz paehiloprstu qu raeiosuy saehikoptu taehioruy udklmnprst vaeio waeio yaeo zaeu
AACDFGLMNPRST BABCS CACDEHLOPST DABCEOS ECDELMNPRST FACFL GABEMOS HDS IABCDFILMNPRTVX KS LACEL MACEILMPS NAEGOST OKLMNPRS
PACDMRS RACEIS SACDEHLMPTU TACOSV UCDNPS VAI
""".split(),
        " acfpvxABCDEFGHIJKLMNOPQRTUVWXYZ",
    ]
    for second in group[1:]
)
"""A letter (or a space) and those that all vocabularies know right after it. Written as the first and all its seconds."""

_TOKENS_OF_WORDS: Final = {
    "1111": """
all an and app as at bar be book can class co com da de do don ex fe for go home in it just life mac man mark my net no
not on one or out part per pop pre press red so space star super the time to top trans up video we west will work world
""",
    "1112": """
action age any are area auto back bad base best bin bit box brand break but by ca cast cell center code color core day del
did down end even face fall far fast field form four full fun get got group had hand hard has head help here hit human if
land last let light like line link list live long main master mat mid more name non nor normal now of off old other over
page pass person pin plan plus point pool port post pr print product program put real right ring run set show side start
stop sub system tag test two under union use view was way well win word zone
""",
    "1212": """
about after agent another black block both call case channel child classic close come common complex convention cost data
days design during editor event express final find first flag force found free from general generation good guide half
have health high host how index know later little local look made magic make map match material may media medical member
micro minor mode model most much must need network never new next note online only open order party power prime production
project read region regional rep report rest review round route salt select series server service short sign sin since
site six some special speed stage state status still such take team tell that there these they think this times total
track transport try turn unit walk web what when who you your zero
""",
    "1213": """
access according again article central collection command complete constant control cross digital direct double download
edition effect engine family formula front history image information journal kind major manager middle modern natural
number operation origin original period place platform position prior public record second secret section single software
source standard store studio style support text third through type version visual volume wild with without year
""",
    "1222": """
active added allow along also among angle around artist audio bare based bases basis been being beta better bind blog body
border bra called care cargo cases cause chance charge classes comment context convert could count cover crash date demo
detail disk distance draw drop due each edit element enter exact except exist export fact factor fail fatal few file fill
finish fit flat flow focus follow font forces format gain give given having hold im info intent interest interface
interior interval into is its label lead least leave left legal letter level log making manual many margin marked marker
means meta moment monitor move moved near notable object offer often outside pad parent parts percent perform phase plane
plot produce profile progress prop proper proto push rather recent refer regular relation risk role root rule same score
script sense sent share skin soft span spot started strip strong suite sum tab term than their them then theory those
though transfer transform upon valid very via want were where wide won working works
""",
    "1223": """
activities actual affect begin behind built catalog certain change collect compact component composition conduct console
contract course current delta demand designed diagram direction draft driver either etc every extra figure function
further generator hardware ideal impact import important incident known large length limit linear logic minimal minutes
null opening operator organization own parents particular perfect permit points positive present private process promotion
protection provide question rank related relations relative respect serial session signed simple skip slave sort subject
surface target terminal title uniform until used using values variable variant various vertical visible visit window
within would written zones
""",
    "1233": """
accept account allowed circular complement consider correct created effort elements entire expand feature finished idea
illegal implement include included including itself leading located location measure method occur potential probably
problem protect represent similar specific strict transparent usually www
""",
    "1323": """
above accessible advance alternative although analysis author because before broadcast building children client community
completed construction contact decide decision definition diameter different divide division energy error especially
experience female following global highest however instrument international internet launch machine management maximum
members message multi opened people performance population protocol published reduce release reported result return
scientific screen segment services several should signal singular situation small sometimes symbol technology three
traditional tunnel virtual website while white
""",
    "1333": """
abstract addition agreement almost already appear argument assume attempt average become character commercial condition
conditions conflict connect considered continue degree describe described developed difference discussion distinct
document earlier early example extend extension followed increase initial involved maintain meaning minimum opinion
optimal parallel permanent previous produced promote pseudo reached reason receive relationship relevant require respond
sentiment suggest together traffic whether which writing
""",
    "2222": """
abc ability able abs across activity add adding addon adjust admin alive alpha alt android api append applies apply
appname arch arn arr array arrow assign ast attention attr auth aware barrier bash bb bc beam bending big billing bits
blue bold bot bound bridge broker bug bugs cache caches caching calc caller calling calls canvas capability catch chain
char check checker checking checks chinese chunk classification classname cli click clip clock clone codes coding coef col
colon comes comma comments commit comp computer concat cond conf conj conn const contain content conversion convey cookie
copy cos counter cpu ctest cut daemon dagger dask deal deep def defect delay dense description dest dev dict diff differ
dilation dim dir dist div doc does doing done dot dry dual dump duration ea east eb ec echo edge edges ee ef egg else
email emit enable encode endian ending enough entry eq equal equality escape ever exc exception exe exec exit exits exp
ext faster files finder finding finfo fitting fix fname fold foo fork forward frac fraction frame frames gen gender gets
getting git giving going goto grant greater green grid ground guard hash heap height hello hex hide hint holder homepage
hook hour ident idle inc ind indent indicate inf infer init inject inline inner input inside instance int interact
interaction intercept internal interp interpol inv inversion invert ip isn iso item iter james job join keep key kw lang
latin latter layer lazy leaf len lib lines listed listen lists load loc lock loop loops loss low lower ls macro macros
makes manage mapped mapping maps markdown markers markup mask math matrix matter max mean meant median medium menu merge
mesh meth metric might min mock mod modes month moto mount mouse mp mul named names naming nan native nd neg nested newer
node nodes none norm notation notes nothing notice notification notify num older omit once ones opt option options org
orig our outer output pack pages pair param parse partial parties passed passes passing patent path pending pep perf perl
perm phi pick pip pipe plain polar poly portion ports pos pow prec pred prefer prev prevent primes prober proc prod props
provision proxy pull quad query quick quote rate rational ravel raw reach reaction reader really reals redis ref regions
register reject remain render repl replace repo repr request reset resource reuse revision rich router row ruff rules runs
rust safe save saved scan scope search see seek seen self send sender servers sets sha shadow shall shape shared sharing
shell shown size sizes slow sock spaces stable stack stages staging starting stat states static str string stuff sure sym
table tagger tags tail taken takes taking task tells temp tested theme theta thing throw thus timeout timer timezone
timing token tol too tool topic topics trace traces tracker tracking trait transaction transit translate translation tree
tried tries trigger trim trio trust unable unbound unique units unix unless unlike unlink unused update upper uri user
uses util uv val var verification verified verify void wait waiter warn warning ways weight why wiki worker workers
workgroup workspace wrap write xcode xray yet zip
""",
    "2223": """
accessor actions alias amazon anchor angles answer anywhere archive atomic attach automatic avoid axis backend background
backport backup backward badge balancer baseline basic basically batch bedrock below binary binding blocking blocks branch
breaking breakpoint breaks broken button byte bytes capture caught changed changes choice choose chosen clause closed
closer cloud codec collector colorama colors combine communication compare compress compression consume controller
controls copies copying create creation critical crown curve custom debian decode delete depart derive desc detach device
digit directed directive disable display docker domain downstream endpoint ends estimate exists expose expression extract
factory facts fails fallback false features fetch fields fileno filter finally findings finite firewall flags flatten
float floor flush formatted forms fullname fully func gained generally generate generated generates generating generic
grammar granted grants grouped groups handle handled handler handles handling header headers heading helper helpers
helpful hereby hosts hyper images img impl kept keys laplace latest latex less letters levels limited limits linked linker
linking links listing locale locally locals locked logger logging login logs longer longest lowest mailing mass matched
matcher matching matlab misc models modified modify module negative normalization normalize normalized normalizer normally
obj obtain odd offset omega opener operand operate operating operations operators optional ordered ordering others
overhead overload overview owner packet partition password patch permission pinpoint placed placement places planck
pointer pointing policy polys portions powers preset pretty printable printed printer printing prints processed processes
processing processor products profiles programming programs promise quality queries questions quoted quotes radius raise
random range ranges ratio reading ready reference refine remember remote remove restart restore retain revert richard
rights rollback rotate rotation rounded runner running secure sending setter setting setup shift showing shows signing
simplex skipped skipping smart solve solver solvers solving sources split starts starttag startup statement statements
stored stores stream strings styles subgraph submit subnet subs subset subtype sync sys systems tables tagged tagging
tensor termination testing tests titles torch torque treat treated true trusted trying typ typed types typing underline
unset value vector versions violation visited visitor volumes wheel winfo words wrong zeros
""",
    "2233": """
activate activation adapter aliases align allowing amount assert astral audience axes binaries bounded causes cmd codegen
construct contraction creates creating datetime dedent depend deque develop dimensional dots dropped dummy editable
editing emitter entered existing explain exponent factlist factors filled filters fixed fixes glue gradient graph hidden
holds identical identified ids ignore indirect install installation integer isnan isolate isolation larger leaves license
likely listening literal loader locations logical managed managing masked merged migration modification moves padded
padding pdf pieces plural precision preference provider provides qualified raised raises reduction refers reload roots
routine routing scoped scopes shallow slash slice socket solution sorted stability statistic stats terminate terminated
transcription usage utilities utility variants visibility whereas writer
""",
    "2323": """
absolute accessed accessing application associate associated association blocked bodies bottom branches bucket buffer
bundle callable callback cancel cannot category clauses closing collections commonly complexes complexity constants ctype
declaration dialog directives discard disposition domains elementary events everything expressed expressions extras
finalize finalized findall finds fleet forced formats formatter formatters formulas foundation freedom frozen future
futures generalized genex gives happen higher highlight hostname identity indexed indexes indexing infinite instead
interactive internally internals introduction kernel learned legendre library looking looks lookup machines manually
marketplace matchers matches materials mathbb mathcal maximal maybe memory messages metadata missing mixed modules mostly
needed needs neither networking networks networkx newline newly newton objective pandas parameter parser pattern payload
periodic pickle pickling populate populated presentation primary projection projects proposition publishing quantity
quantum readable readline reads recorder recording removal reply reporter reporting reports reservation reserved resume
returning rounding rounds sample scale scaled secondary seconds secrets selected selecting selection serverless shapes
shortcut shorter shortest simply simulation sinh smaller someone something somewhere sparse spawn specialized spectrum
spinner square storage subscription terms thanks toml trailer trailers trailing triangle triple understand unified unitary
university upstream useful whatever whenever whole whose yourself
""",
    "2324": """
accordingly against applications architecture authors automatically beginning challenge circuit commands controlled
database development directly directories directory distribution downloaded downloading downloads dynamic effective
effects electronic independent individual integration issue issuer issues kinds language numbered numbers observation
observations official organizations originally personalization physical placeholder platforms positional positions
possible practice priority publication publicly records released returned returns sections signals singleton sourcecode
standards statistics supported supporting supports throughout throughput typical typically universal wildcard windows
""",
    "2333": """
accepted accepts actually additional allows alternate alternating anymore anything appears applicable approach approved
arguments arrays assumed assumes attempted attempts automated automation becomes bracket builtin bypass calculate
calculated calculating calculation cancelled candidate canonical captured capturing categories caused ceiling channels
characters clarify clients collapse collected combination combinations combined communities comparable compared comparison
compilation completion completions complicated components computation concepts concrete conditional configuration
connected connecting connection connections connector constructor consumed consumer container contains contents contexts
continuation continuous contribution contributions conventions converted converter converters converting converts
coordinate copied correction correlation couldn counts coverage covered creator criteria customer dataset dedicated define
defined defines defining definite degrees delegate dependent depending depends derived describes destination destinations
detailed details detect detected detection detective detector determine determines dialect differs dimension discrete
distances documents dominating dumps editwin eliminate emitted empty enables escaped escapes estimates evaluation
evaluations exactly examples exceptions excluded excluding exclusive expect expected expects exported exports exposed
extended external factorial factorization failed failing failure failures filelist floating follows formatting fragments
generators governing handlers happens harmonic hints identification identify implies inclusive indicated indicates
indicating indicator indices informational initially inspect installed installer installing instruction integers
interested interesting interfaces intermediate interpret interpreted intervals introduce inverse isolated labels lapack
lattice liability libraries licensed licenses lifetime limitation limitations listener listeners magnitude mandatory
manifest manifold measured measures mechanics mechanism mentioned mocked monitoring mutually mypy namespace navigation
nearest nesting objects observe opts ordinary origins overlap paragraph parameters parametric partitions patches paused
percentage percentile performed performing performs permitted plotting plugin policies prediction preferred prefix prepare
prepared prepend presence previously primarily primitive probability problematic produces promises properly properties
property protected prototype provided providers publish publisher queues reasons reduced referenced references regarding
regardless registration regularized relational releases removed removes removing rendered rendering replaced replica
replication representation represented representing represents required resolution resolve resolved resolves respective
ruleset runtime scripts segments selector severity simpler situations slack slope slots snake sorting spanning
specification specified spelling storing strategy stripped strongly sublist submitted suspend tasks template templates
toggle tokens tracing transferred transformation transformations transformed transformer transforms transition transitions
transitive traverse twice txt upload validate validated validates validation validity vectors vendor verbose warnings
whitespace
""",
    "2334": """
adaptive affected behavior between builtins candidates centrality changeset compatible completely considerations
consistent consisting consists consumers correctly coupled currently databases declarations declared decorated definitions
describing determined diagnostic diagonal distributions efficient equivalent errors established estimated estimation
eventually everyone expanded filtering friendly functional functions implements implicit implied imported importer
importing importlib imports impossible improve improved improvement includes installations interpretation knowledge
languages largest lengths maintained maintaining membership numerical occurs orientation particularly persistent
possibility potentially practices problems procedure procedures processors purpose radicals referencing relatively
separate separated separating separation serialisation serialization serialize serialized serializer sessions signature
signatures significant solutions statistical strategies strictly structure structured structures summary targets tolerance
treatment variables
""",
    "2344": """
acceptable accepting accidentally accounts acquire attempting available calculates calculations continued contribute
contributed coordinates correspond derivative distinguish distributed entirely environment environments functionality
implementation implemented implementing installs integral integrality integrals integrate integrating introduced literals
measurement methods modifications occurred purposes reasonable reflect reflection representations scenario similarity
similarly slices specifically specifications temporary terminates
""",
    "2444": """
administrator administrators advanced algorithm alternatively alternatives authority authorization authorized authorizer
behaviors broadcasting campaign certificate certificates characteristic conditionally conditionals conditioned
configurations conflicting conflicts contributing contributor contributors coordinator corresponding corresponds destroyed
differences differential differently difficult dimensions documentation documented executed execution executions
experimental extends extensions globally globals incorporated increasing individually initialization initialize
initialized initializer meaningful multiple necessarily participant principal proposal protocols received receives
recognize recognizer relationships requirement requirements requires respectively response responses resulting results
returncode shouldn singularities singularity smallest success successive suggested suggestion supplied symbolic symbols
temperature themselves therefore
""",
    "3333": """
adds adjacent aligned allclose allocated allocation alphabet always annotated annotation annotations anonymous antoine
apache appended applied applying arange args artifact asarray ascii assertion assigned assignment assignments associations
assuming astype async asyncio athena atleast attrib attrs aurora autofunction await bandwidth belongs benchmark bisect
blank blob bool boto boundaries boundary bounds brackets bridgewater browser buffered buffering build builder bundled
cached capacity cartesian centroid cert changelog changing chars charset checked checkout checksum cholesky chromium
chunked chunks cipher classifier classifiers clean clear clipboard cliques closure cluster clustering clusters cmake
codecs coerce cognito collaborator column combining commits comparing compat compile compiled compiler compiling completer
compliance compliant compose compound compressed computations compute computed computes computing config configs
configured conjecture conjunction connectivity contained containers containing contextlib convenient convergence
conversions cookies copyright corepack ctypes cumulative cursor cutoff dashboard deadline debug debugger debugging decimal
decipher decoded decoder decoding decomposition decompress default deflection deleted deletion delimited delimiter
delivery density deps depth derivation descriptions descriptor destroy developer deviation devices diag dictionary dicts
digest digits dims dirname dirs disclaimer discovery docs doctest doesn dtype duplicate duplicated easier easily edgelist
egress einsum elastic elem elif elsewhere enabled enabling encoded encoder encoding enforce english ensure ensures
entities entitlement entity entries enum enumerate equals equation equations euler eval evaluate evaluated evaluates
evaluating exchange excinfo exclude execute exhausted expecting expensive expiration expires explanation explicit
exponents expr fargate feasible feedback filename filesystem fingerprint fixture folder folders foreground fortran
forwarding fourier fractional framework fstring funcs fuzzy gamma garbage gateway gaussian generics geometric getattr
getitem glob gmail google graphs guess guidelines gyp gzip hashable hashes hashlib hermite hessian heuristic histogram
homebrew hooks href identities idlelib ignored ignoring imag incoming incomplete incorrect indentation indented indents
inequality inference inferred infinity inherit inherits inputs insert inserted insertion insertions inspection inspector
instances instring instructions integrand intended intentionally interpolate interpolated interpolating interpolation
interpreter intersect intersection invalid invariant invertible invocation invoke invoked involving ipv irrational
isfinite italic items iterable iterate iteration iterations iterator javascript jobs json keyword kinesis lambda latency
layout legacy lexer lexers lifecycle lineno linesep linspace lint linux loaded loading loads lookahead lstrip mailbox
makefile malformed mappings mathworld matrices maxiter memoize metrics michael microsoft minimize minimizer mismatch
modifying modname modulus monomial monotonic mozilla mutable nargs neighbor netloc netmask newargs newaxis noqa northeast
notices notifications npm numeric numpy oauth omitted openapi optimize optionally outcome outfile outputs package packages
packaging paginate pagination paginator pairs params parsed parsers parsing pathlib pathname paths pathway patterns
perhaps permissions permutation permute phrase pipeline plaintext please plugins polygon pprint pragma predicate prefixed
prefixes preproc preserve preserved presets prevents prompt providing provisioned provisioning proxies pyright pytest
python qualname quickly quotient raising reachable recipient recursion recursive redirect redirection redirects redshift
refactor refresh regex registered registry regression rejected remainder remaining rename renamed renderable repeat
repeated replacement replacements replaces replacing replicas repository reproduce requested requests requiring
reservations reshape resolver resolving resources resp restrict retention retry reverse reversed rewrite routines rows
rstrip rtype sampled sampler samples sampling scaling schedule schema schemas scheme schemes scipy scroll searched
searches searching semantic semantics sensitive sentinel setitem shard shields shutdown sigma silently sleep snell spacing
spec specify spherical squared squares src standalone stdin streaming streams stringify struct stubs subclass subscript
subtract suitable summation superclass suppress switch symlink symmetric tarball teardown technical things thread
threading thrown throws tidelift timedelta timeouts timestamp tls tmp tobias tokenize tokenizer toolkit tools toplevel
traceback transcribe translated translations translator transpose triggered triggers trivial ttype tuple tzinfo ufunc uint
unbounded unchanged undici unicode unittest unknown unpack unquote unquoted unsafe unsigned updated updates updating
upgrade username users utils validator validators valued variance verbatim vertex waiters waiting weakref weighted weights
widget width wikipedia workaround workflow workspaces wrapped wrapper wrappers wrapping wraps writable writeline writes
yaml yield zeta
""",
    "3334": """
ambiguous asymmetric attached attachment backends backslash backwards balancers basename basestring bindings binomial
breakpoints bygroups bytecode choices cloudwatch codecov coeffs columns communications comparisons compilers composite
consistency constraint constructed constructing constructs credential curlopt customization customize cycles dataclass
datatype declare decorator deprecate desired developers disabled disabling dispatch dispatcher displayed displays
dynamically elementwise embedded endpoints equilibrium expansion extracted filenames filtered flattened floats funcname
furthermore getstate getvalue handshake hasattr helptext identifier increment inexact integrity lightsail maintenance
masscenter metaclass modularity modulename multigraph nonlinear nonzero numerically obtained obtaining offsets opensource
operands optimization optimized otherwise overflow overridden override overrides overriding overwrite overwritten
ownership permutations portfolio postargs printoptions quadratic queue quicksight randomness rawdata residue restricted
restriction restrictions retrieves richardson security sequence setattr settings simplified simplify specifies specifying
stiffness streamwriter stylesheet subclasses subclassing subnets subroutine subscriptions suppressed sympy syntax typedef
underlying underscore understanding undirected unhandled vectorized
""",
    "3344": """
accuracy accurate affiliates alignment ancestor appropriate attribute blossom bracketing capabilities cloudfront codemod
codepoint compatibility concurrent dimensionality encountered exponential fixtures frequency html http https identifying
imaginary immediate immutable implementations indirectly issubclass minimization necessary nodegroup nodelist occurrence
parentheses rectangular rewritten slightly sockets spectral sqrt stacklevel structuring suffix untyped verbosity zipfile
""",
    "3434": """
augmentation broadcastable callbacks confidence covariance determining disconnect discovered effectively fromkeys geometry
healthcheck hermitian highlighter highlighting highlights localhost machinery mathbf mathematical mathematics memoryview
moveaxis multiline multipart multiply newlines parameterization polygamma predicates propagate propagation quadrature
receipt receiving redistribution redundant residual satisfy selectors semicolon shortcuts shortdesc shorthand southeast
symmetry sympify synopsis triangles triangular whitelist
""",
    "3444": """
acceleration additionally approximate arbitrary artifacts assumption assumptions attributes behaviour bipartite
cancellation canonicalize collaborators commutative conjugate consecutive constructors contextmanager contextualized
contiguous convenience credentials decorators dependencies dependency determinant differentiation efficiently exceeded
executable executing expanduser extrapolate filehandle fileobj heaviside hierarchy hyperbolic infrastructure instantiate
instantiated instantiation maintainer maintainers manylinux namespaces nonnegative parenthesize permittivity possibly
precedence prefixlen primitives probabilities recipients recognized recommend recommended renderables retrieve retrieved
snapshot temporarily threshold tolerances undefined warranty
""",
    "4444": """
address addresses adjacency algebraic antiderivative appauthor argcomplete arithmetic availability benchmarks bernoulli
boolean bootstrap botocore builds buildsystem chunksize ciphertext classmethod cleanup coefficient coefficients
combinatorial combinatorics comprehend concatenate concurrency configurable configure configuring constrained convolution
coroutine crypto cryptography dataclasses decreasing deepcopy defaults delimiters denominator densebasic deployment
deployments deprecated deprecation deprecations descriptors deserialize deterministic dictionaries diophantine
disconnected distribute distutils docstring docstrings docutils dtypes duplicates eigenvalue elasticache elasticsearch
ellipsis elliptic emrutils encipher encodings encrypt encrypted encryption environ epsilon executables executor explicitly
filldedent fragment frozenset functools gateways github greengrass guarantee guaranteed heartbeat henningsen identifiers
incompatible inconsistent incorrectly inequalities inheritance inherited insensitive introspection invalidation ipython
isinstance isomorphic isomorphism itemsize iterables itertools jacobian jsonpath keywords kronecker kwargs kwds laguerre
lambdify linalg logarithm lowercase maketext maxsize milliseconds mpmath namedtuple ndarray neighbors nodejs nonpositive
numerator observability opendocument openssl operatorname orthogonal piecewise polynomial predefined preprocessor
punctuation pydantic pygments pytester querystring rebuild recursively redistributions registries repeatedly retries
scalar scalars scheduled semver sensitivity separator separators servicecatalog simplification snapshots specifier
specifiers splitlines sqlite startswith staticmethod stderr stdout stepfunctions subcircuit subcommand submodule
subprocess subscribe subscriber subscribers subscripts symlinks tempfile threads timestamps tkinter toctree traitlets
transcendental traversal trigonometric trigsimp trott truncate truncated tuples unexpected unfortunately uninstall
univariate unnecessary unprocessed unreachable uppercase urllib userguide valgrind vertices wcwidth werkzeug wolfram
workflows yields
""",
    "4445": """
amazonaws apigateway approximately asymptotic authorizers autoscaling autosummary betweenness binascii bytearray
cloudformation cloudpickle codebuild constraints currentfactor customizable customizations defaultdict derivatives
diagnostics dispatchable efficiency endswith essentially extrapolation googleapis horizontal hypothesis immediately
implicitly improvements independently individuals laplacian matplotlib miscellaneous multiplicity multiplied passthrough
placeholders platformdirs possibilities separately sequences serializers setdefault setuptools significantly simplefilter
simultaneously sourceforge streamreader subcommands submodules subsegment subsequent substantial substitute substitution
substitutions synchronized synchronous tensorflow textwrap underscores unspecified versionadded versionchanged
""",
}
"""Tokens after a space, tokens elsewhere, and the same two with a capital first letter: the words for which that is so."""

_WORDS: Final = {word: tokens for tokens, words in _TOKENS_OF_WORDS.items() for word in words.split()}
