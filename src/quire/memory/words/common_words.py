"""English words that often begin a sentence and owe their capital to that: they are not taken for names."""

from quire.memory.words.english import stem

_WORDS = """
able absolutely accept act actually add advice afternoon agree aim all allow alright although amazing answer
anyway apart apologies apologize apply appreciate argue art ask assume attach attend avoid aw awesome awful
aww baby back bad based basically beautiful beauty become begin believe best bet better big book boring both
boy break bring btw build busy buy bye call calm care carry catch certain challenge chance change check
cheer cherish choose city class clean clear click close cold come community compare complete congrats
congratulations consider contact cook cool copy correct count course cover crazy create creativity cute
daily dance day dear decide deep definitely delete depend describe design despite different difficult dinner
discover do dog double download dream drive drop early easy eat end enjoy ensure enough enter error
especially evening event eventually exactly example excellent excited expect experience explain explore
express fact fail fair faith family fantastic far fast favorite feel fight figure file finally find fine
finish first fix focus follow food for forget fortunately free friend fun fyi game gather generally gentle
get girl give glad go goal good gosh got grab great group grow guess guy haha half hang happen happy hard
hate head health hear heart help hold holy home honestly hope hopefully hot house however huge hurry idea
ignore imagine import important incredible indeed insert inside inspire instead interesting invite issue job
join joy jump keep kid kind know large last late later laugh learn leave less letter level life light line
list listen little live load local long look lose love lucky luckily lunch main make man manage many maybe
mean meanwhile meet memory mental mess message might mind miss moment money month morning mother move much
music must name nature need next nice night nope normally not note notice nowadays number obviously odd
often old omg once open option order original oof oops ooh ouch outside overall part pass pay peace people
perfect perhaps person pet phew phone photo pick picture place plan play plenty please plus point possible
practice prepare press pretty previously probably problem progress promise proud provide pull push put
question quick quiet rain raise random reach read ready real reason receive recently relax remember remind
remove reply report request respect respond rest result return review right road rule run sad safe say
schedule school search second see seem select self send serious set setback several shame share shoot short
show similar simple since sit sleep slow small smart smile sometimes soon sorry sound speak special
specifically spend stand start state stay step still stop story strange strong study stuff such suddenly
suggest summarize summer super support suppose sure surely surprise sweet take talk task team tell terrible
thank thanks thing think time tiny tip today together tomorrow tonight total totally touch tough town travel
trip true truly trust try turn type ugh ultimately understand unfortunately unique update upload use usually
various view visit wait wake walk want warm warning watch water way wear weather week weekend weird welcome
well whoa win winter wish woah woman wonder wonderful woohoo word work world worry worth wow write wrong yay
yeah year yep yes yesterday yet young yum yup
"""
COMMON_STEMS = frozenset(map(stem, _WORDS.split()))
