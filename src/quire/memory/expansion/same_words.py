"""Other spellings and short forms of one word: what is said with the one is said with the other."""

SAME_WORDS = """
bike bicycle; fridge refrigerator; veggie vegetable; photo picture image pic; plane airplane aeroplane; exam
examination; gym gymnasium; lab laboratory; ad advert advertisement; info information; app application; doc
document; config configuration; repo repository; admin administrator; auth authentication; db database;
param parameter; env environment; msg message; id identifier; color colour; favorite favourite; neighbor
neighbour; flavor flavour; honor honour; humor humour; labor labour; harbor harbour; behavior behaviour;
center centre; theater theatre; meter metre; liter litre; fiber fibre; gray grey; tire tyre; organize
organise; realize realise; recognize recognise; apologize apologise; analyze analyse; traveler traveller;
jewelry jewellery; program programme; catalog catalogue; dialog dialogue; defense defence; license licence;
mom mama mommy; dad papa daddy; grandma granny nana; grandpa granddad; usa america; uk britain; tv telly;
bday birthday; xmas christmas; math maths mathematics; donut doughnut; pajamas pyjamas; mustache moustache;
check cheque; cozy cosy; artifact artefact; adviser advisor; percent percentage
"""
