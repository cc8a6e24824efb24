"""The documents of a store whose pairs are judged, with all that scoring a pair needs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simstore.errors import NotFound
from simstore.fingerprint.channels import unpack_sketches
from simstore.fingerprint.features import FeatureCounts
from simstore.fingerprint.minhash import VALUES, band_values, estimates_of_pairs
from simstore.fingerprint.shingle_sets import ShingleSets, from_rows
from simstore.fingerprint.simhash import to_words
from simstore.search.agreement import pair_codes
from simstore.search.all_pairs import SimilarPairs, all_pairs, resemblances
from simstore.search.bands import colliding_pairs
from simstore.search.likeness import TermVectors, likenesses, plain_vectors, term_vectors
from simstore.search.scored_pairs import NO_DISTANCE, ScoredPairs
from simstore.services import counting
from simstore.services.opened import OpenStore, State
from simstore.storage import documents, fingerprints, sketches
from simstore.storage.engine import Connection
