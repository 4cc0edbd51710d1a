"""Words of nearly the same sense, both ways: everyday English, one group between two semicolons."""

NEAR_WORDS = """
accident crash; actor star celebrity; advertise advertising promote marketing market; advice suggest
recommend tip suggestion recommendation; allergic allergy reaction; allow permit enable; ancestor heritage
roots; angry mad frustrated; animal wildlife zoo; anniversary years wedding; annual yearly; answer reply
response; app software program; argue fight conflict; army military veteran; art paint drawing artwork; ask
request question; attend join participate go; autumn fall; award prize trophy medal; bake cake bread cookie;
band concert gig show performance; bank loan; basketball hoop; beach sea ocean coast shore; beautiful
gorgeous stunning; bedroom room bed; big large huge great; bike cycling ride; bill invoice receipt; bird
feather; birthday party cake; book novel read author; book read library; bored boring; born birth; boss
manager supervisor; boyfriend girlfriend dating relationship partner; brand label company; brave courage
courageous; breakfast brunch morning; breakfast lunch dinner meal; brother sister sibling; business store
startup entrepreneur; busy hectic; buy purchase get acquire order; camp tent outdoors; cancel refund return;
car vehicle drive truck; cash money; challenge difficulty obstacle problem struggle hurdle setback; change
modify edit update; charity volunteer donate fundraiser nonprofit; cheap affordable inexpensive; choose pick
select; christmas holiday gift; church faith pray; city town; class course lesson workshop; classmate
schoolmate school; clean tidy declutter; clothes clothing fashion outfit wear; coach trainer; code program
develop software; coffee cafe espresso; colleague coworker workmate teammate team; color colour; common
share alike similar; community neighborhood local; company business firm startup venture; computer laptop
pc; concert gig live band; confident confidence; contest competition tournament race; cook recipe bake
prepare; cook recipe dish; country nation abroad; court lawsuit; craft handmade diy; creative imaginative;
crime theft; customer client user; daily everyday; dance dancer choreography; dance routine choreography;
database table query; deadline due; decide choose decision choice; decorate decor decoration; decrease
reduce lower cut; degree diploma graduate; delete remove erase; delicious tasty yummy; deploy release
launch; died death passed loss funeral grief; diet eat healthy nutrition; dinner supper; discount sale deal;
divorce separated breakup; doctor physician medical hospital clinic; document report paper; draw sketch;
dream goal wish; drink beer wine; east eastern; elderly senior old; engaged engagement ring propose;
environment climate nature sustainable; error failure exception crash; evening sunset; event occasion
festival party celebration; exam test quiz; exercise workout gym fitness training; expensive costly;
expensive luxury; explain describe clarify; family relative parent sibling; favorite best; fear afraid
phobia; feel emotion feeling; field area subject discipline; file folder directory; fire dismiss layoff;
first initial; fish aquarium fishing; fix repair restore; fix solve resolve patch; flat apartment; flight
plane airport fly; food meal dish eat; forbid block deny; forest woods nature park; forgive apologize sorry;
friend buddy pal; funny humor joke laugh; furniture couch table decor; future upcoming plan; game play
console; garden plant flower; garden plant grow; gift present; goal plan aim dream ambition aspiration hope;
god faith belief; grade score mark; grateful gratitude thankful; grateful thankful appreciate; habit
routine; happy glad joy excited delighted; hate dislike; healthy health wellness fit; help assist support
aid; hike trek walk trail climb; hire recruit; hobby pastime interest activity passion; hope optimistic;
hotel resort; house apartment rent mortgage; house home apartment place; hurt injury injured pain; husband
wife spouse partner marriage married wedding; idea thought concept; important significant matter; improve
better enhance; increase raise grow; injury hurt sprain; inside indoor; inspire motivate inspiration
motivation; instrument play guitar piano; invest investment stock; job interview hired position role; job
work career profession occupation employ; kid child son daughter baby; kind caring compassionate; kind type
sort style; kitchen cook; knit sew crochet; know acquaint; lake river pond; last final; late delay; law
legal lawyer; lazy unmotivated; leader lead; learn study; live reside stay move relocate; logo design;
lonely alone isolated; love enjoy fond favorite prefer; lucky fortunate; luggage suitcase bag; make create
craft build; match game; meaning symbolize represent; medicine pill medication; meditate meditation
mindfulness; meet introduce encounter; meeting appointment; memory nostalgia remember; mentor guide coach;
miss longing; mistake error fault bug; money finance financial fund savings; morning sunrise; mountain hike
hill trail; movie film theater; movie film watch cinema; museum exhibit gallery; music song album; near
close nearby; negative bad difficult hurt; neighbor neighbour neighborhood; neighborhood area community;
nickname name call; north northern; nurse doctor; often frequent regularly usually; old age year birthday;
outside outdoor; paint canvas brush artwork; participate partake involved join attend part; party celebrate
celebration; passionate passion care love; password login account; past previous; personality trait
character attribute describe; pet dog cat adopt; pet dog cat puppy kitten animal; phone call text; photo
camera photography; photo picture camera; picture photo image; police officer; politics political election
office campaign; positive good uplifting; pray prayer; pregnant baby expecting; presentation pitch; price
cost; project work build; promise commit; promotion promoted raise; protest march rally; proud pride achieve
accomplishment achievement; purpose reason goal; pursue follow seek; quick fast rapid; realize learn
understand discover; reason because motive; receive accept obtain; recent recently lately latest; recycle
sustainable environment; regret wish; relax calm unwind peace; religion faith church god spiritual; remember
memory remind; renovate remodel repair; rent lease; repair fix mechanic; reserve book reservation;
restaurant cafe diner eat; rights equality justice; road drive highway; roommate flatmate; run jog marathon
race; sad upset depressed; salary pay wage income; scared afraid fear worried anxious nervous; schedule
calendar; scholarship grant; school college university class education study degree; score points; sculpture
statue clay; seat chair; secret hidden; send deliver ship; series show tv season episode; server host
machine; show display present; shy timid introvert; sick flu cold fever; sick ill illness disease; sing song
vocal; skill ability talent; sleep rest nap bed; smart intelligent clever; soccer football; song music sing
tune; south southern; speech talk speak; spicy hot; sport athlete play; start begin launch open found; stop
quit end finish; store shop boutique; storm flood hurricane; strategy plan approach method; street road
avenue; stress anxiety pressure overwhelm; student pupil learner; supportive support encourage; surprise
unexpected; sweet dessert candy; sweets candy dessert; swim pool; symbol represent stand mean; tablet pill
medicine; talk discuss speak chat conversation; teach instruct train; teacher coach mentor instructor; team
club group; team group crew; teen teenager youth; test check verify; therapy counseling therapist; think
believe opinion view; ticket pass reservation; tired exhausted; tough hard difficult struggling rough; trip
travel vacation holiday journey tour visit getaway; trust rely; unique special; use utilize; vacation trip
beach resort; vote election; walk stroll; war military; website online internet; wedding married ceremony
bride; weekend saturday sunday; weight diet slim; west western; win victory champion; write author story
poem; yoga meditation stretch; young youth; younger young childhood kid growing
"""
