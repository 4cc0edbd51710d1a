"""Which language of the Latin script a text is in, told by its commonest little words.

The little words are told from folded text, so that neither case nor accents change the answer, and they
are the stop words of their language. Nothing is told of scripts here: they speak for themselves.
"""

from unicodedata import normalize

from quire.memory.words.stop_words import STOP_WORDS

ENGLISH = "english"
"""What a text is taken for that shows no other language."""

_READ = 2000
# One word in so many is a little one in any language: logs, code and lists of names have fewer.
_SHARE = 10
# A table is several times as fast as a pattern, and this runs for each text.
_ONLY_LETTERS = "".join(chr(code) if chr(code).islower() else " " for code in range(128))

# Without accents, as they are compared.
FUNCTION_WORDS = {
    "german": """
        der die das den dem des ein eine einen einem einer eines und oder aber nicht kein keine
        keinen ich du er sie es wir ihr mich dich sich uns euch mir dir ihm ihn ihnen mein meine
        meinen meiner dein deine sein seine seinen seiner unser unsere ist sind war waren bin bist
        hat habe haben hatte hatten wird werden wurde wurden kann konnte soll muss mit von zu zum
        zur im in am an auf aus bei nach fur uber unter vor um durch gegen ohne als wie wenn dass
        weil ob denn so auch noch nur schon sehr hier dort da man was wer wo wann warum wohin
        woher welche welcher welches mehr dann doch mal immer bis seit
    """,
    "french": """
        le la les un une des du de et ou mais ne pas plus je tu il elle on nous vous ils elles me
        te se lui leur leurs mon ma mes ton ta tes son sa ses notre nos votre vos ce cet cette ces
        qui que quoi quel quelle quels quelles dont est sont suis es etait etaient etre ont avait
        avoir fait dans sur sous avec sans pour par chez vers entre au aux en ai avons avez si
        comme quand comment pourquoi combien tres aussi bien encore deja toujours jamais ici cela
        ca ete alors donc
    """,
    "spanish": """
        el la los las un una unos unas y o pero no de del al en con sin por para sobre entre desde
        hasta yo tu el ella nosotros ellos ellas usted ustedes me te se lo le les nos mi mis tus
        su sus nuestro nuestra este esta estos estas ese esa eso esto que quien quienes cual
        cuales donde cuando como cuanto cuantos porque es son era eran fue fueron ser estar estaba
        estan estoy ha han he hay habia haber muy mas menos tambien ya si bien aqui alli siempre
        nunca todo toda todos todas
    """,
    "italian": """
        il lo la i gli le un uno una e o ma non di del dello della dei degli delle da dal dalla in
        nel nella nei con su sul sulla per tra fra a al alla ai alle io tu lui lei noi voi loro mi
        ti si ci vi mio mia miei suo sua suoi nostro questo questa questi queste quello quella che
        chi cosa dove quando come perche quale quali quanto sono sei era erano essere stato stata
        ho hai ha abbiamo hanno aveva avere molto piu anche ancora gia sempre mai qui cosi se
    """,
    "portuguese": """
        o a os as um uma uns umas e ou mas nao de do da dos das em no na nos nas com sem por para
        pelo pela sobre entre ate eu tu ele ela nos eles elas voce voces me te se lhe meu minha
        meus minhas seu sua seus suas nosso este esta isto esse essa isso aquele aquela que quem
        qual quais onde quando como quanto porque sao era eram foi foram ser estar estava esta
        estao tem tinha ter ha muito mais tambem ja sempre nunca aqui ai so
    """,
    "dutch": """
        de het een en of maar niet geen ik jij je hij zij ze wij we jullie mij hem haar hun ons
        mijn jouw zijn onze dit dat deze die wie wat waar wanneer waarom hoe welke is ben bent was
        waren heb hebt heeft hebben had hadden wordt worden werd werden kan kon zal zou moet van
        voor met op aan in uit bij naar over onder tegen door zonder tot om te er ook nog al heel
        veel meer dan als dus toch altijd nooit
    """,
    "swedish": """
        en ett och eller men inte jag du han hon den det vi ni de dem mig dig sig oss min mitt
        mina din ditt dina sin sitt sina deras var ar vara varit har hade ha blev blir bli kan
        kunde ska skulle maste som att av pa i med till fran for om under over mellan utan vid
        efter nar hur vad vem varfor vilken vilket vilka dar har mycket mer ocksa redan alltid
        aldrig bara nagon nagot alla
    """,
}
_STOP = {language: frozenset(words.split()) for language, words in FUNCTION_WORDS.items()}
_SPOKEN = {ENGLISH: STOP_WORDS, **_STOP}
# English has these too, as words, names, abbreviations or in code: one alone shows nothing.
_BORROWED = """
de la el le da van den an a i e o y x em do as os al mi ma me te se ti vi ni pour son plus pas on no so
die come met man men door ate ton ha ya vid war hat bin mal fur sin dig era das dem ben han ella mia
mina dina par sur mes tot kan dans hun ai min per sous si ses tu des les un est comment bent bien ca com
con dal dan dar dat del dei det di din dir dit dos dove du en es et eu hay heel hem ho hoe hon il io ja
lo los las lui mai mas med mer mis mit mon na ne nos non ob om op ons pa para por qual ser sa sans sei
sem som su sul sus ta tem ter todo tra tres uno una uns var vers wat ze yo ar au av bis als ce chi ci
har alla alle ele fra gia
"""
_FOREIGN = frozenset(" ".join(FUNCTION_WORDS.values()).split()) - STOP_WORDS
_TELLING = _FOREIGN.difference(_BORROWED.split())


def stop_words(language: str) -> frozenset[str]:
    return _SPOKEN[language]


def language_of(text: str) -> str:
    """The language of a text in Latin script, by its beginning."""
    beginning = text[:_READ].lower()
    if not beginning.isascii():
        if "\u00bf" in beginning:  # the mark that opens a question, which no other language has
            return "spanish"
        beginning = normalize("NFKD", beginning.casefold()).encode("ascii", "ignore").decode()
    words = beginning.translate(_ONLY_LETTERS).split()
    return ENGLISH if _FOREIGN.isdisjoint(words) else _most_spoken(set(words))


def _most_spoken(words: set[str]) -> str:
    """The language with most of its little words there; English where it has as many, or too little shows."""
    counts = {language: len(words & spoken) for language, spoken in _SPOKEN.items()}
    most = max(counts, key=counts.__getitem__)
    shows = counts[most] > 1 or not _TELLING.isdisjoint(words)
    return most if shows and counts[most] * _SHARE >= len(words) else ENGLISH
