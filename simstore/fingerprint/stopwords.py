"""Built-in stop words: English function words."""

from __future__ import annotations

ENGLISH = frozenset(
    b"""
    a about above across after afterwards again against all almost alone along already also
    although always am among an and another any anyhow anyone anything anyway anywhere are
    around as at away be became because become been before behind being below beside besides
    between beyond both but by can cannot could did do does doing done down during each either
    else elsewhere enough etc even ever every everyone everything everywhere except few for from
    further had has have having he hence her here hers herself him himself his how however i if
    in indeed instead into is it its itself just last least less let like made many may me
    meanwhile might mine more moreover most mostly much must my myself namely neither never
    nevertheless next no nobody none nor not nothing now nowhere of off often on once one only
    onto or other others otherwise our ours ourselves out over own per perhaps please quite
    rather really s same seem seemed seems several shall she should since so some somehow
    someone something sometimes somewhere still such t than that the their theirs them
    themselves then there thereafter thereby therefore these they this those though through
    throughout thus to together too toward towards under unless until up upon us used using very
    via was we well were what whatever when whenever where whereas wherever whether which while
    who whoever whole whom whose why will with within without would yet you your yours yourself
    yourselves
    """.split()
)
