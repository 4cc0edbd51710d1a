"""Words of English that say how, not what: they are in every text and tell no two apart."""

# "may" is not here: it is a month as well, and terms do not know their neighbours.
_GRAMMAR = """
a an the this that these those such
i me my mine myself we us our ours ourselves you your yours yourself yourselves
he him his himself she her hers herself it its itself they them their theirs themselves one ones
who whom whose which what when where why how whoever whatever whenever wherever whichever
be am is are was were been being do does did doing done have has had having
will would shall should can could might must ought cannot
and or but nor so yet if then else than because although though while whereas unless until till
of at by for with about against between into through during before after above below to from up down
in out on off over under again further onto upon toward towards within without via per among across
along around behind beside besides beyond despite except near since as like
not no yes nope yeah yep ok okay
here there now just very too also only even still ever never always already quite rather really
some any all both each every few more most less least other others another own same several
much many lot lots bit
anything something nothing everything anyone someone everyone nobody somebody anybody everybody
ah aha er hey hi hello oh uh um wow well please thanks thank
let lets etc eg ie vs
im ive youre youve youll hes shes weve theyre theyve theyll thats whats wheres whos theres heres
dont doesnt didnt isnt arent wasnt werent hasnt havent hadnt cant couldnt wont wouldnt shouldnt aint
gonna wanna gotta kinda sorta
"""
STOP_WORDS = frozenset(_GRAMMAR.split())
