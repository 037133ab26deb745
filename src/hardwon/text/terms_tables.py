"""The words of each language that tell nothing: left out of questions, and what tells the language
of a text by. Those that English has too (`die`, `was`, `in`) are not counted for another language.
And words that mean the same to whoever asks for something to be done.
"""

WORDS = {
    "english": """
        a about after all also an and any are as at be because been before being but by can could
        did do does doing done for from get got had has have he how i if in into is it its just
        like make me more most my no not now of off on once only or other our out over own same
        she so some such than that the their them then there these they this those through to too
        under until up use used using very was we were what when where which while who why will
        with would you your her him his hers us am don isn doesn didn wasn couldn hasn haven aren
        weren shouldn wouldn hadn shall should may might must again each few both here whom whose
        yours ours theirs during between against above below down further nor ever yet
    """,
    "german": """
        aber alle allem allen aller alles als also am an ander andere anderen auch auf aus bei
        beim bin bis bist da damit dann das dass dein deine dem den der des dessen dich die dies
        diese diesem diesen dieser dieses dir doch dort du durch ein eine einem einen einer eines
        er es etwas euch euer für gegen gewesen hab habe haben hat hatte hatten hier hin hinter
        ich ihm ihn ihnen ihr ihre ihrem ihren ihrer im in indem ins ist jede jedem jeden jeder
        jedes jene jetzt kann kein keine keinem keinen keiner können könnte man mein meine mich
        mir mit muss musste nach nicht nichts noch nun nur ob oder ohne sehr sein seine seinem
        seinen seiner seit sich sie sind so solche soll sollte sondern über um und uns unser unter
        vom von vor war waren warum was weil welche welchem welchen welcher welches wann wenn wer
        weshalb wodurch womit werde werden wie wieder will wir wird wo wollen wurde wurden zu zum
        zur zwar zwischen
    """,
    "french": """
        à au aux avec ce ces cet cette ceux comme comment dans de des du elle elles en est et été
        être il ils je la le les leur leurs lui ma mais même mes moi mon ne nos notre nous on ont
        ou où par pas plus pour pourquoi qu quand que quel quelle quels qui sa sans se ses si son
        sont sur ta te tes ton tu un une vos votre vous était étaient cela fait faire
    """,
    "spanish": """
        al algo ante antes como cómo con contra cual cuando cuándo de del desde donde dónde
        durante el él ella ellas ellos en entre era es esa ese eso esta está están estaba este
        esto estos fue fueron ha hasta hay la las le les lo los más me mi muy nada ni no nos
        nosotros o otra otro para pero poco por porque qué que quien quién se sea ser si sí sin
        sobre son su sus también tiene todo todos tu un una uno unos y ya yo
    """,
    "italian": """
        al alla alle anche che chi ci come con contro cui da dal dalla dei del della delle dello
        di dove e è ed era erano essere fra gli ha hanno ho i il in io la le lei li lo loro lui ma
        mi mia mio ne negli nei nel nella non noi o per perché perchè più quale quali quando
        quella quelle quello questa queste questo se sei si sia sono sta stata stato su sua sul
        sulla suo suoi tra tu un una uno vi voi
    """,
    "portuguese": """
        a ao aos aquele aquela as até com como da das de dela dele delas deles depois do dos e é
        ela elas ele eles em entre era essa esse esta está este eu foi foram há isso isto já lhe
        mais mas me mesmo meu minha muito na não nas nem no nos nós nossa nosso num numa o onde os
        ou para pela pelo por porque qual quando que quem se sem ser seu sua são só também te tem
        têm um uma você vos
    """,
    "dutch": """
        aan al als altijd andere bij daar dan dat de der deze die dit doch doen door dus een eens
        en er geen geweest haar had heb hebben heeft hem het hier hij hoe hun iemand iets ik in is
        ja je kan kon kunnen maar me meer men met mij mijn moet na naar niet niets nog nu of om
        omdat onder ons ook op over te tegen toch toen tot u uit uw van veel voor waar waarom want
        waren was wat werd wezen wie wij wil worden wordt zal ze zelf zich zij zijn zo zonder zou
    """,
}

# A line for each meaning. In one that a word has only now and then, it is not here.
SAME_MEANING = """\
remove delete erase
directory folder dir
show display print output
find search locate
count number many
change modify edit alter
calculate compute
run execute
repair fix mend
error failure
repository repo
configuration config settings
database db
environment env
documentation docs
average mean
"""
