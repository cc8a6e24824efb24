"""Pinned fingerprints: a scheme's version promises these values for ever."""

from __future__ import annotations

import hashlib

import pytest

from simstore.fingerprint.scheme import KNOWN_TEXTS, Scheme
from simstore.fingerprint.simtool import SimtoolScheme
from simstore.fingerprint.web import WebScheme

# A value here changes only together with the version of its scheme.
KNOWN_ANSWERS: dict[str, tuple[Scheme, str, tuple[str, ...]]] = {
    "web/1, 64 bits": (
        WebScheme(64),
        "web/1",
        (
            "0000000000000000",
            "8318868398d2b0e7",
            "800a6bb412855471",
            "17d979200a7a0780",
            "331885959f909d91",
            "ed05717ec3ab898b",
            "d11945fca8b2bc7e",
        ),
    ),
    "web/1, 128 bits": (
        WebScheme(128),
        "web/1",
        (
            "00000000000000000000000000000000",
            "f8c1a0049bb52a61891a8fe31cbb90ff",
            "f0affe9a62e362a810134ba1f2dc526e",
            "a0cb9e51122101cb7e00095040c46b88",
            "5245efcc0a0cd5655a4c614ed86cc7c0",
            "35f5ea94986e57e9ac8d40bf49bb988b",
            "91f65c15147c83cc993945c820b29e3e",
        ),
    ),
    "web/1, counts as weights, ties to one": (
        WebScheme(64, weights="tf", tie="one"),
        "web/1",
        (
            "ffffffffffffffff",
            "831887c398d2b0f7",
            "800a6bb412855471",
            "17dff92a0a7e2793",
            "331885959f909d91",
            "ed05737ec3ab89ab",
            "d11945fca8b2bc7e",
        ),
    ),
    "web/1, uniform weights, a stop word": (
        WebScheme(64, weights="uniform", stopwords=frozenset([b"the"])),
        "web/1",
        (
            "0000000000000000",
            "800d86938952d2e7",
            "00026ba412845471",
            "17d9d92e0a7a07b0",
            "331885959f909d91",
            "8105212e832b8181",
            "d11945fca8b2bc7e",
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


@pytest.mark.parametrize("name", KNOWN_ANSWERS)
def test_scheme_gives_its_known_answers(name: str) -> None:
    scheme, label, answers = KNOWN_ANSWERS[name]
    assert scheme.label == label
    assert scheme.known_answers() == answers
    assert len(answers) == len(KNOWN_TEXTS)


def test_shorter_fingerprints_are_the_first_bits_of_longer_ones_of_the_same_hash() -> None:
    whole = WebScheme(128).known_answers()
    assert WebScheme(100).known_answers() == tuple(answer[:25] for answer in whole)
    whole = WebScheme(64).known_answers()
    assert WebScheme(48).known_answers() == tuple(answer[:12] for answer in whole)


def test_known_texts_are_the_texts_that_the_answers_were_made_of() -> None:
    together = "\x00".join(KNOWN_TEXTS).encode("utf-8", "surrogateescape")
    digest = hashlib.blake2b(together, digest_size=16).hexdigest()
    assert digest == "a519c5a46337f59efea82ddb68a6a8ea"
