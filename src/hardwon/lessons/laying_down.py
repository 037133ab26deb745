"""Which sentences lay something down for good ("always …", "never …", "from now on …", "use this, not
that"), in the languages that are read here, and what a record lays down.
"""

from __future__ import annotations

import re
from typing import Final

from hardwon.records.kinds import Experience, Fact, Record

_SENTENCE_END: Final = re.compile(r"(?<=[.!?])\s+|(?<=[。\uff01\uff1f])|\n+")
_RULE_CHARS_MAX: Final = 400
_RULE_WORDS_MIN: Final = 3
_SENTENCES_MAX: Final = 40
# So begins what holds from now on, in whatever place of a sentence.
_FROM_NOW_ON: Final = re.compile(
    r"(?i)\b(?:from now on|from here on|going forward|in (?:the )?future|as a rule|henceforth"
    r"|ab (?:jetzt|sofort)|von nun an|in zukunft|künftig|désormais|dorénavant|à l'avenir"
    r"|à partir de maintenant|a partir de (?:ahora|agora)|(?:de ahora )?en adelante|daqui em diante"
    r"|d'ora in poi|da ora in poi|vanaf nu|voortaan|отныне|впредь|\u0441 этого момента|od teraz)\b"
    r"|从现在(?:起|开始)|今后|以后(?:都|请|要|不)|今後は|これからは|앞으로|이제부터"
)
# At the beginning of a clause these make it hold always; in some languages behind the verb.
_ALWAYS: Final = (
    r"always|never|don'?t ever|do not ever|must(?: not| never| always)?|mustn't|stop (?=\w+ing)|avoid (?=\w)"
    r"|immer|nie(?:mals)?|stets|toujours|jamais|siempre|nunca|jamás|sempre|mai|altijd|nooit"
    r"|всегда|никогда|zawsze|nigdy"
)
_BEHIND_VERB: Final = (
    r"immer|nie(?:mals)?|stets|toujours|jamais|siempre|nunca|sempre|mai|altijd|nooit|всегда|zawsze"
)
_LEAD: Final = (
    r"(?:\W*(?:please|you|we|and|but|so|ok(?:ay)?|also|important|note|remember|rule|reminder|that"
    r"|should|shall|to|let's|bitte|wir|ihr|du|n'|ne|no|não|non|nous|on|vous|s'il (?:te|vous) plaît"
    r"|por favor|per favore|alsjeblieft|пожалуйста|прошу|proszę)\b\W*)*"
)
_CLAUSE_START: Final = rf"(?:^|[,;:.\u2013\u2014]\s*|\b(?:and|but|und|et|y|e|en|и|i)\s+){_LEAD}"
_NO_VERB: Final = r"(?!(?:es|das|der|die|er|sie|il|elle|ça|le|la|les|un|una|el|lo|los|las|o|os|as|het|de|это|он|to|je|se)\b)"
_LAYS_DOWN: Final = re.compile(
    rf"(?i){_CLAUSE_START}(?:{_ALWAYS})\b(?!\s+mind\b)(?=\W+\w)"
    rf"|{_CLAUSE_START}{_NO_VERB}[^\W\d_]+ (?:{_BEHIND_VERB})\b(?=\W+\w+\W+\w)"
    rf"|{_CLAUSE_START}(?:only )?(?:use|prefer|run|call|take|choose|write|put|nutze|benutze|verwende|utilise[rz]?"
    r"|usa[r]?|use|usate|gebruik|используй(?:те)?)\b[^.!?\n]{1,120}?\b(?:not|never|instead of|rather than|over|again"
    r"|statt|anstatt|nicht|au lieu de|pas|en lugar de|en vez de|em vez de|invece di|non|in plaats van|niet"
    r"|вместо|\u0430 не)\b"
    r"|\b(?:is|are) (?:not allowed|forbidden|off.limits)\b|\bno longer (?:use|run|call)\b"
    r"|\b(?:do not|don'?t)\b[^.!?\n]{1,80}\b(?:any ?more|again|ever)\b"
    r"|必须|一律|始终|总是|绝不|禁止|不要再|千万不要|必ず|常に|絶対に|決して|禁止|しないでください"
    r"|항상|언제나|반드시|절대"
)
_ONLY_NOW: Final = re.compile(r"(?i)\bthis time\b|\bfor now\b|\bjust (?:this )?once\b|\btoday\b")
# Of what somebody remembers: that it sets one thing against another.
_CONTRASTS: Final = re.compile(
    r"(?i),\s*(?:and )?(?:not|never|no longer)\b|\bno longer\b|\binstead of\b|\brather than\b|\bmust\b|\bneeds?\b"
    r"|\bnicht mehr\b|\bsondern\b|\bne\b.{1,40}\bplus\b|\bau lieu de\b|\bya no\b|\bnon più\b"
)


def find_rule_sentences(prompt: str) -> str:
    """The sentences of a prompt that lay something down for good; "" where none does."""
    sentences = [part.strip() for part in _SENTENCE_END.split(prompt)[:_SENTENCES_MAX]]
    laid_down = [sentence for sentence in sentences if lays_down(sentence)]
    return " ".join(laid_down)[:_RULE_CHARS_MAX]


def lays_down(sentence: str) -> bool:
    """Whether a sentence says what is to be done, or not to be done, from now on."""
    if not sentence or sentence.endswith(("?", "\uff1f")) or len(sentence) > _RULE_CHARS_MAX:
        return False
    if _ONLY_NOW.search(sentence):
        return False
    is_long = len(sentence.split()) >= _RULE_WORDS_MIN or not sentence.isascii()
    return is_long and bool(_FROM_NOW_ON.search(sentence) or _LAYS_DOWN.search(sentence))


def find_rule_text(record: Record) -> str:
    """What a record lays down for good: of a learning, an observation or a decision, all of it where
    it is short and sets one thing against another. "" of any other.
    """
    if isinstance(record, Experience):
        if record.outcome != "learning" or record.unrouted:
            return ""
    elif not isinstance(record, Fact) or record.fact_type not in ("decision", "observation"):
        return ""
    content = record.content.strip()
    if len(content) > _RULE_CHARS_MAX:
        return find_rule_sentences(content)
    holds = any(map(lays_down, _SENTENCE_END.split(content))) or _CONTRASTS.search(content)
    return " ".join(content.split()) if holds else ""
