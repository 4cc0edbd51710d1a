"""Forms of one word that have to meet, and words that have to stay apart, as English has them."""

_MEETING = """
went go|gone go|goes go|going go|bought buy|buying buy|buys buy|children child|kids child|kid children
men man|women woman|people person|feet foot|teeth tooth|mice mouse|wives wife|knives knife|shelves shelf
ran run|running run|runs run|ate eat|eaten eat|eating eat|wrote write|written write|writing write
writes write|made make|making make|makes make|took take|taken take|taking take|saw see|seen see
seeing see|gave give|given give|giving give|found find|finding find|thought think|thinking think
told tell|telling tell|said say|says say|knew know|known know|felt feel|feeling feel|left leave
leaving leave|leaves leave|kept keep|held hold|brought bring|taught teach|teaches teach|caught catch
met meet|meeting meet|lost lose|losing lose|paid pay|sent send|spent spend|built build|sold sell
stood stand|understood understand|won win|winning win|sat sit|spoke speak|spoken speak|broke break
broken break|chose choose|chosen choose|drove drive|driven drive|driving drive|flew fly|flies fly
flying fly|grew grow|grown grow|swam swim|swimming swim|sang sing|drew draw|drawn draw|wore wear
began begin|beginning begin|forgot forget|slept sleep|led lead|fell fall|hid hide|cats cat|houses house
buses bus|boxes box|churches church|dishes dish|glasses glass|classes class|cities city|parties party
stories story|families family|babies baby|countries country|days day|toys toy|ids id|errors error
responses response|processes process|caches cache|queries query|indices index|planned plan|planning plan
plans plan|stopped stop|stopping stop|hoped hope|hoping hope|hopped hop|danced dance|dancing dance
dances dance|moved move|moving move|used use|using use|uses use|raised raise|raising raise|painted paint
painting paint|paintings paint|visited visit|visiting visit|opened open|opening open|helped help
helping help|carried carry|carries carry|carrying carry|studied study|studies study|studying study
tried try|tries try|trying try|played play|playing play|enjoyed enjoy|agreed agree|agreeing agree
created create|creating create|creates create|decided decide|deciding decide|baked bake|baking bake
camped camp|camping camp|hiked hike|hiking hike|fetched fetch|fetching fetch|failed fail|failing fail
bigger big|biggest big|older old|oldest old|happier happy|happiest happy|happily happy|happiness happy
easier easy|easily easy|better good|best good|worse bad|worst bad|quickly quick|slowly slow
seriously serious|deeply deep|finally final|kindness kind|darkness dark|helpful help|careful care
beautiful beauty|connection connect|connections connect|adoption adopt|collection collect
promotion promote|organization organize|education educate|celebration celebrate|invited invite
married marry|worried worry|died die|dying die|lying lie|tying tie|photos photo|photograph photo
mom mother|dad father|two 2|twelve 12|8th 8|businesses business
cancelled cancel|cancelling cancel|canceled cancel|cancels cancel|cancellation cancel|cancelations cancel
travelled travel|travelling traveled|labelled label|modelled model|modelling modeling|fuelled fuel
dialled dial|refuelling refuel|enrolled enrol|enroll enrol|fulfill fulfil|fulfilled fulfil|controlled control
compelled compel|signalling signal|installed install|installing install|installation install
recalled recall|called call|calling call|filled fill|spelled spell|spelling spell|selling sell|rolled roll
yelled yell|quelled quell|smaller small|finally final|totally total|footballs football
"""
MEETING = [tuple(pair.split()) for pair in _MEETING.strip().replace("\n", "|").split("|")]

_APART = """
new news|business busy|hope hop|plan plane|evening even|thing think|university universe|king kid
early ear|international internal|march arch|red read|bus busy|need knee|wedding weed|status state
care car|cut cute|process processor|string strong|policy police|rating rat|table tab|note not
danielle daniel|gabrielle gabriel|michelle michel|isabelles isabel|bell be|quill quilt|relation rel
"""
APART = [tuple(pair.split()) for pair in _APART.strip().replace("\n", "|").split("|")]
