"""Kinds of things and common ones of each: who asks for the kind may mean any of them, not the reverse."""

KINDS = """
hobby activity pastime interest leisure fun relax: paint draw pottery hike camp swim run read guitar piano
cook bake garden knit sew photography dance yoga fish surf ski bike game chess music sing travel craft
museum movie; sport athletic exercise workout: soccer football basketball baseball tennis golf hockey
volleyball swim run marathon surf ski skate cycling boxing karate judo yoga pilates gym climb hike weights;
instrument music musical: guitar piano violin drum flute clarinet trumpet saxophone cello ukulele bass
keyboard band sing; musician artist band singer: concert album song sing music band tour; art creative
craft: paint draw sketch pottery clay sculpture canvas watercolor photography knit sew design mural; pet
animal: dog puppy cat kitten bird fish hamster rabbit turtle horse snake lizard guinea pig; family relative:
mother father mom dad brother sister son daughter husband wife aunt uncle cousin grandma grandpa niece
nephew kid; food meal dish snack eat cuisine: pizza pasta salad soup chicken beef fish steak burger rice
noodle curry taco sandwich bread cake cookie pie cheese chocolate dessert vegetable fruit breakfast lunch
dinner recipe; dessert sweet: cake cookie pie ice cream chocolate pastry cupcake brownie pudding; drink
beverage: coffee tea water juice wine beer soda smoothie cocktail; fruit: apple banana orange strawberry
blueberry mango grape peach; book reading: novel story author series chapter fantasy mystery biography read;
movie film show series: actor director scene comedy drama thriller watch cinema; place location: city
country park beach mountain lake museum restaurant cafe store island town street; country abroad: usa
america canada mexico england uk france germany italy spain japan china india australia brazil sweden
ireland scotland europe; state: california texas florida york washington oregon colorado hawaii alaska
arizona; city: york paris london tokyo rome chicago boston seattle barcelona berlin; nature outdoor: beach
mountain forest lake river park trail waterfall sunset hike camp; weather: rain snow storm sun wind flood
cold hot; vehicle transport: car truck bike motorcycle bus train plane boat van suv; job career profession
occupation work: teacher engineer doctor nurse lawyer manager designer chef writer artist developer
programmer salesman accountant therapist police firefighter intern; education degree school: university
college course class degree major certificate engineering biology business law history graduate; subject:
math science history english biology physics chemistry; emotion feel feeling reaction: happy sad proud
excited nervous scared grateful angry anxious relieved joy thankful lonely overwhelmed; personality trait
attribute: kind caring thoughtful brave honest creative strong patient loyal generous passionate determined
authentic; health condition illness problem: pain asthma allergy diabetes injury surgery cancer flu doctor
hospital anxiety depression; medical doctor: hospital clinic surgery checkup diagnosis treatment medicine;
event occasion happen: party wedding birthday festival parade concert conference workshop race fair meeting
graduation funeral reunion; holiday: christmas thanksgiving easter halloween vacation; gift present:
necklace bracelet ring book card flower toy watch jewelry; jewelry accessory: necklace bracelet ring earring
pendant watch; clothing clothes wear: shirt dress shoe hat jacket jeans hoodie sneaker skirt coat boot; item
object thing buy bought: shoe book furniture toy dress bag lamp phone car; furniture home: couch table chair
lamp bed rug shelf; color: red blue green yellow orange purple pink black white brown; number: one two three
four five six seven eight nine ten dozen couple several; relationship status: single married divorced dating
boyfriend girlfriend partner engaged breakup; religion religious faith: church god pray bible christian
jewish muslim buddhist spirituality; politics political belief: vote election conservative liberal democrat
republican rights policy government; charity volunteer community cause: shelter homeless donate fundraiser
food drive nonprofit rights hospital; financial money status wealth: rich poor loan debt budget job salary
rent savings cost bills; challenge obstacle difficulty struggle: hard tough fear problem accident setback
injury; business company: store shop customer client startup investor brand marketing launch sales;
technology tech device: computer phone laptop app software camera console robot; game gaming: video chess
board console card puzzle strategy; dance: ballet contemporary hip hop salsa tango ballroom choreography
stage; plant flower: rose sunflower tulip daisy lily tree garden; symbol meaning represent: freedom hope
love strength courage unity peace pride faith; time date: yesterday today tomorrow week month year ago
weekend morning night monday tuesday wednesday thursday friday saturday sunday; cope deal handle stress:
therapy meditation exercise walk music friends journal; adventure: trip hike road travel explore camping;
game: poker; genre: fantasy mystery thriller romance horror comedy drama jazz rock pop classical; music:
jazz rock pop classical hip hop country blues song; author writer: book novel; toy: doll car bear puzzle;
bird: eagle parrot owl hawk robin; tree: oak pine maple palm; body: arm leg knee back ankle shoulder wrist
head heart; injury hurt: ankle knee back wrist broken sprain accident; treat therapy: medication exercise
surgery rest; meal: breakfast lunch dinner brunch; vegetable: carrot broccoli spinach tomato potato pepper
lettuce; pasta: spaghetti lasagna noodle; decor decoration: painting plant candle lamp photo rug; building:
house tower church museum library school hospital; room: kitchen bedroom office garage studio; shop store:
clothing boutique bakery bookstore market mall; software tech: app website code program; device: phone
laptop tablet camera console; vehicle: truck; transport travel: flight train bus drive plane; season: summer
winter spring fall autumn; day: monday tuesday wednesday thursday friday saturday sunday; month: january
february march april june july august september october november december; feeling: excited nervous proud
happy sad relieved; skill learn: language guitar code cook dance paint; language: english spanish french
german italian japanese chinese; fear afraid: height spider dark failure; relative: aunt uncle cousin
grandma grandpa; disaster: flood hurricane fire earthquake storm; school: teacher class student math; plan
future goal: hope want going next soon
"""
