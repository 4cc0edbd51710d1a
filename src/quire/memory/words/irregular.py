"""Forms of English that no rule finds: each line leads back to its first word."""

_VERBS = """
arise arose arisen; awake awoke awoken; bear bore borne; beat beaten; become became; begin began begun;
bend bent; bet bets betting; bind bound; bite bit bitten; bleed bled; blow blew blown; break broke broken;
breed bred; bring brought; build built; burn burnt; buy bought; catch caught; choose chose chosen; cling
clung; come came; creep crept; cut cutting; deal dealt; dig dug digging; draw drew drawn; dream dreamt;
drink drank drunk; drive drove driven; eat ate eaten; fall fell fallen; feed fed; feel felt; fight fought;
find found; flee fled; fly flew flown flies; forbid forbade forbidden; forget forgot forgotten; forgive
forgave forgiven; freeze froze frozen; get got gotten getting; give gave given; go went gone goes; grind
ground; grow grew grown; hang hung; hear heard; hide hid hidden; hit hitting; hold held; keep kept; kneel
knelt; know knew known; lay laid; lead led; lean leant; leap leapt; learn learnt; leave left; lend lent;
lie lying lied; lose lost; make made; mean meant; meet met; mistake mistook mistaken; pay paid; prove
proven; put putting; quit quitting; ride rode ridden; ring rang rung; rise rose risen; run ran running;
say said; see saw seen; seek sought; sell sold; send sent; sew sewn; shake shook shaken; shine shone;
shoot shot; show shown; shrink shrank shrunk; sing sang sung; sink sank sunk; sit sat sitting; sleep
slept; slide slid; speak spoke spoken; speed sped; spell spelt; spend spent; spill spilt; spin spun; split
splitting; spoil spoilt; spread spreading; spring sprang sprung; stand stood; steal stole stolen; stick
stuck; sting stung; strike struck; strive strove; swear swore sworn; sweep swept; swell swollen; swim swam
swum; swing swung; take took taken; teach taught; tear tore torn; tell told; think thought thoughts; throw
threw thrown; understand understood; undertake undertook undertaken; upset upsetting; wake woke woken;
wear wore worn; weave wove woven; weep wept; win won winning; wind wound; withdraw withdrew withdrawn;
write wrote written; overcome overcame; tie tying tied; undo undid undone; redo redid redone; rewrite
rewrote rewritten; rebuild rebuilt; resend resent; die dying died dies; rerun reran; overrun overran;
outgrow outgrew outgrown; foresee foresaw foreseen; cancel cancelation
"""
_NOUNS = """
child children kid kids; man men; woman women; person people; foot feet; tooth teeth; goose geese; mouse
mice; wife wives; life lives; knife knives; half halves; shelf shelves; wolf wolves; thief thieves; loaf
loaves; calf calves; self selves; ox oxen; index indices indexes; matrix matrices; vertex vertices;
analysis analyses; crisis crises; thesis theses; basis bases; hypothesis hypotheses; diagnosis diagnoses;
axis axes; criterion criteria; phenomenon phenomena; datum data; medium media; appendix appendices; cactus
cacti; fungus fungi; virus viruses; status statuses; bonus bonuses; campus campuses; lens lenses; gas
gases; focus focused focuses focusing; bias biased biases; canvas canvases; stimulus stimuli; alumnus
alumni; photo photos photograph photographs; bus buses; mom mum mother moms mums mothers mommy mummy; dad
father dads fathers daddy; grandma grandmother grandmas; grandpa grandfather grandpas; tv television
televisions; phone telephone phones telephones; quiz quizzes; email emails; movie movies film films
"""
_COMPARED = """
good better best; bad worse worst; far farther farthest furthest; big bigger biggest; hot hotter hottest;
sad sadder saddest; old older oldest elder eldest; new newer newest; young younger youngest; long longer
longest; short shorter shortest; tall taller tallest; small smaller smallest; high higher highest; low
lower lowest; fast faster fastest; slow slower slowest; great greater greatest; large larger largest;
close closer closest; cheap cheaper cheapest; strong stronger strongest; weak weaker weakest; hard harder
hardest; late later latest; nice nicer nicest; thin thinner thinnest; warm warmer warmest; cold colder
coldest; deep deeper deepest; light lighter lightest; dark darker darkest; rich richer richest; poor
poorer poorest; safe safer safest; wide wider widest; simple simpler simplest simply; clear clearer clearest
"""
_COUNTED = """
2 two; 3 three; 4 four; 5 five; 6 six; 7 seven; 8 eight; 9 nine; 10 ten; 11 eleven; 12 twelve; 13
thirteen; 14 fourteen; 15 fifteen; 16 sixteen; 17 seventeen; 18 eighteen; 19 nineteen; 20 twenty; 30
thirty; 40 forty; 50 fifty; 60 sixty; 70 seventy; 80 eighty; 90 ninety; 100 hundred hundreds; 1000
thousand thousands; january jan; february feb; august aug; september sept; october oct; november nov;
december dec
"""
# Other words than the rules would make of them.
_THEMSELVES = """
news business species series always perhaps thus gas bias lens chaos atlas canvas plus virus status campus
bonus focus menus bus process access address christmas texas kansas paris james thomas lucas nicholas
evening morning wedding ceiling sibling king string thing red bed need feed seed speed hundred early only
ugly daily weekly monthly yearly italy july family emily kelly reply apply supply rely fly ally united yes
mission passion session station mention question version awful ios aws dns https css js kubernetes pandas
redis postgres
"""


def _read() -> dict[str, str]:
    forms = {word: word for word in _THEMSELVES.split()}
    for line in "; ".join((_VERBS, _NOUNS, _COMPARED, _COUNTED)).replace("\n", " ").split(";"):
        first, *others = line.split()
        forms.update(dict.fromkeys(others, first))
    return forms


IRREGULAR = _read()
"""The word that a form comes from; it may still have an ending that the rules take away."""
