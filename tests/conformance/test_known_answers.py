"""Pinned fingerprints: a scheme's version promises these values for ever."""

from __future__ import annotations

import hashlib

from simstore.fingerprint.passage_recipe import PassageRecipe
from simstore.fingerprint.scheme import KNOWN_TEXTS, Scheme
from simstore.fingerprint.simtool import SimtoolScheme
from simstore.fingerprint.sketching import Sketching
from simstore.fingerprint.web import WebScheme
from simstore.text.disguises import KNOWN_DISGUISES
from simstore.text.normalization import DEFAULT, FOLDED, Normalization
from simstore.text.recipes import FeatureRecipe

# A value here changes only together with the version of its scheme.
KNOWN_ANSWERS: dict[str, tuple[Scheme, str, tuple[str, ...]]] = {
    "web/1, 64 bits": (
        WebScheme(64),
        "web/1",
        (
            "0000000000000000",
            "8318868398d2b0e7",
            "800a6bb412855471",
            "07d17928087a0691",
            "331885959f909d91",
            "ed05717ec3ab898b",
            "d11945fca8b2bc7e",
            "c6c681e35d79843d",
            "f9145ef78f1b577d",
            "c2da46f8ae801c1d",
            "e994a463044de1aa",
            "d0de638954dca8d1",
        ),
    ),
    "web/1, 128 bits": (
        WebScheme(128),
        "web/1",
        (
            "00000000000000000000000000000000",
            "f8c1a0049bb52a61891a8fe31cbb90ff",
            "f0affe9a62e362a810134ba1f2dc526e",
            "a1cb9e511321014b6e000d4440e55b8c",
            "5245efcc0a0cd5655a4c614ed86cc7c0",
            "35f5ea94986e57e9ac8d40bf49bb988b",
            "91f65c15147c83cc993945c820b29e3e",
            "39ad0b88ded1f9955624a562d9752538",
            "18f2af3296f9eeb194cc46d7ba09515e",
            "0d0e74529230eaa18291026482a6141d",
            "6bb54975c23264c50e57b010922a5a87",
            "08ac4eff2825ce3357c4b15c9d65426b",
        ),
    ),
    "web/1, scripts of Chinese apart": (
        WebScheme(64, recipe=FeatureRecipe(Normalization(disguises="fold"))),
        "web/1",
        (
            "0000000000000000",
            "8318868398d2b0e7",
            "800a6bb412855471",
            "17d979200a7a0780",
            "331885959f909d91",
            "ed05717ec3ab898b",
            "d11945fca8b2bc7e",
            "c6c681e35d79843d",
            "f9145ef78f1b577d",
            "c2da46f8ae801c1d",
            "a0d9a006d0ddfbdf",
            "d0de638954dca8d1",
        ),
    ),
    "web/1, counts as weights, ties to one": (
        WebScheme(64, weights="tf", tie="one"),
        "web/1",
        (
            "ffffffffffffffff",
            "831887c398d2b0f7",
            "800a6bb412855471",
            "57db792a9a7a2791",
            "331885959f909d91",
            "ed05737ec3ab89ab",
            "d11945fca8b2bc7e",
            "c6c681e35d79843d",
            "f9145ef78f1b577d",
            "f3ff66fbaeb65f5d",
            "e994bc6b146de5eb",
            "d0de638954dca8d1",
        ),
    ),
    "web/1, uniform weights, a stop word": (
        WebScheme(64, weights="uniform", stopwords=frozenset([b"the"])),
        "web/1",
        (
            "0000000000000000",
            "800d86938952d2e7",
            "00026ba412845471",
            "06c9592c0a7a0610",
            "331885959f909d91",
            "8105212e832b8181",
            "d11945fca8b2bc7e",
            "c6c681e351088014",
            "f9145ef78f1b577d",
            "f2ff66f8ae845e1d",
            "e9948443142d65aa",
            "508843095e4488f1",
        ),
    ),
    "simtool/1, 64 bits": (
        SimtoolScheme(1000, 64),
        "simtool/1",
        (
            "0000000000000000",
            "385328c10f1e0330",
            "70302e64d56e04c4",
            "0000000000000000",
            "0000000000000000",
            "64bdc520d1e246e3",
            "2208000941b14082",
        ),
    ),
    "simtool/1, 128 bits": (
        SimtoolScheme(50, 128),
        "simtool/1",
        (
            "00000000000000000000000000000000",
            "385328c10f1e0330e6898ad870284a3c",
            "70302e64d56e04c464a26d9e534661bd",
            "00000000000000000000000000000000",
            "00000000000000000000000000000000",
            "64bdc520d1e246e395a704fa4d6c55bf",
            "2208000941b140820174030740900801",
        ),
    ),
}


def test_scheme_gives_its_known_answers() -> None:
    for name in KNOWN_ANSWERS:
        scheme, label, answers = KNOWN_ANSWERS[name]
        assert scheme.label == label, name
        assert scheme.known_answers() == answers, name
        assert len(answers) == len(scheme.known_documents()) >= len(KNOWN_TEXTS), name


def test_shorter_fingerprints_are_the_first_bits_of_longer_ones_of_the_same_hash() -> None:
    whole = WebScheme(128).known_answers()
    assert WebScheme(100).known_answers() == tuple(answer[:25] for answer in whole)
    whole = WebScheme(64).known_answers()
    assert WebScheme(48).known_answers() == tuple(answer[:12] for answer in whole)


def test_known_texts_are_the_texts_that_the_answers_were_made_of() -> None:
    together = "\x00".join(KNOWN_TEXTS).encode("utf-8", "surrogateescape")
    digest = hashlib.blake2b(together, digest_size=16).hexdigest()
    assert digest == "a519c5a46337f59efea82ddb68a6a8ea"


def test_known_disguises_are_the_texts_that_the_answers_were_made_of() -> None:
    together = "\x00".join(KNOWN_DISGUISES).encode()
    digest = hashlib.blake2b(together, digest_size=16).hexdigest()
    assert digest == "43a74062dac83becdebb82d297d647b3"


SKETCHES = {
    DEFAULT: (
        "a68dfbb1d75c6e8d", "8bf804683d522442", "fe93e35a627b6cd5", "3d2368090c02ce62",
        "2d3ca628a6878218", "8e4c93f4df3b10ee", "8f46c90121423ba1", "4a60215ee104440a",
        "62a880131771d7b8", "7a0ce717148a97dd", "3468ab53896ae48c",
    ),
    FOLDED: (
        "a68dfbb1d75c6e8d", "8bf804683d522442", "fe93e35a627b6cd5", "98fc4ed601442dd9",
        "2d3ca628a6878218", "8e4c93f4df3b10ee", "8f46c90121423ba1", "800b8c6b3dac9f8e",
        "e9589f482fe1838b", "8acff4cc0897595c", "f41c5917bc5d657d",
    ),
}  # fmt: skip


def test_sketches_are_their_known_answers() -> None:
    for normalization, answers in SKETCHES.items():
        assert tuple(Sketching(normalization).known_answers()) == answers, normalization


def test_passages_are_their_known_answers() -> None:
    for normalization, sentences, neighbours, answer in (
        (DEFAULT, False, False, "c46d8cbd150b0d0d"),
        (DEFAULT, True, False, "7a23137836ff78e7"),
        (FOLDED, True, False, "cf51c38f54995305"),
        (FOLDED, True, True, "1c186eeeb0f6f938"),
    ):
        recipe = PassageRecipe(
            normalization=normalization, sentences=sentences, neighbours=neighbours
        )
        record = recipe.record()
        assert (record["version"], record["known_answer"]) == (1, answer), recipe
        assert PassageRecipe.from_record(record) == recipe, recipe
