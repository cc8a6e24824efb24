"""Compares what a store says with its model."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from simstore import Store
from simstore.errors import DocumentNotFound
from simstore.model import Match, QueryOptions, SampleResult
from simstore.model.query import PlanName
from simstore.services.clusters.cluster import ClusterOptions

from .history_model import Model, digest_of
from .history_store import Living
from .plain_texts import Texts, containment, feature_count, resemblance


def same(found: Any, expected: Any, what: str) -> None:
    """Raise unless two values are equal; say where they begin to differ."""
    if found == expected:
        return
    if isinstance(found, list) and isinstance(expected, list):
        for at, (one, other) in enumerate(zip(found, expected, strict=False)):
            if one != other:
                raise AssertionError(f"{what}, row {at}: {one!r}\nnot {other!r}")
        raise AssertionError(f"{what}: {len(found)} rows, not {len(expected)}: {found!r}"[:2_000])
    raise AssertionError(f"{what}: {found!r}\nnot {expected!r}"[:3_000])


def holds_what_was_put_in(living: Living) -> None:
    """Compare documents, duplicates and counts."""
    store, model = living.asked, living.model
    first_of: dict[str, str] = {}
    for key, held in model.docs.items():
        first_of.setdefault(digest_of(key, held.record.text), key)
    rows = list(store.list(with_text=True))
    same([row.key for row in rows], list(model.docs), "keys in order of ingest")
    found, expected = [], []
    for row in rows:
        held = model.docs[row.key]
        first = first_of[digest_of(row.key, held.record.text)]
        found.append(
            (
                row.key, row.text, row.digest, row.title, row.collection, dict(row.metadata),
                row.byte_count, row.first_seen, row.last_seen, row.revision, row.duplicate_of,
            )
        )  # fmt: skip
        record = held.record
        expected.append(
            (
                row.key, record.text if living.kind.text else None, digest_of(row.key, record.text),
                record.title, record.collection, dict(record.metadata),
                len(record.text.encode("utf-8", "surrogateescape")), held.first_seen,
                held.last_seen, held.revision, first if first != row.key else None,
            )
        )  # fmt: skip
    same(found, expected, "documents")
    _duplicates_are(store, model)
    numbers = store.stats()
    same(
        (numbers.document_count, numbers.distinct_contents, numbers.reject_count, len(store)),
        (len(model.docs), len(first_of), model.rejected, len(model.docs)),
        "documents, distinct contents, rejects, len",
    )


def _duplicates_are(store: Store, model: Model) -> None:
    found = [(one.key, one.state, one.original, one.digest) for one in store.duplicates.list()]
    expected = [
        (key, noted.state, noted.original, digest_of(key, noted.text))
        for key, noted in sorted(model.noted.items(), key=lambda one: _bytes(one[0]))
    ]
    same(found, expected, "duplicates")
    orphans = [key for key, state, *_ in expected if state == "orphaned"]
    same([one.key for one in store.duplicates.list(state="orphaned")], orphans, "orphans")


def _bytes(key: str) -> bytes:
    return key.encode("utf-8", "surrogateescape")


def seen_as_told(living: Living, keys: list[str]) -> None:
    """Compare what ``seen``, ``show`` and ``story`` tell of keys, stored or not."""
    store, model = living.asked, living.model
    for key, seen in zip(keys, store.seen(keys), strict=True):
        held, noted = model.docs.get(key), model.noted.get(key)
        assert (key in store) == (held is not None), key
        if held is None and noted is None:
            assert seen is None, f"{key!r} was never seen: {seen}"
            continue
        assert seen is not None, f"{key!r} is not known"
        if held is not None:
            expected: tuple[Any, ...] = (
                "flagged" if noted else "stored", noted.original if noted else None,
                digest_of(key, held.record.text), held.first_seen, held.last_seen,
            )  # fmt: skip
        else:
            assert noted is not None
            expected = (
                noted.state, noted.original, digest_of(key, noted.text), noted.first_seen,
                noted.last_seen,
            )  # fmt: skip
        found = (seen.state, seen.original, seen.digest, seen.first_seen, seen.last_seen)
        same(found, expected, f"seen {key!r}")
        story = store.duplicates.story(key)
        if held is None:
            same(len(story.versions), 0, f"versions of {key!r}")
            continue
        same(story.first_seen_basis, held.basis, f"who says when {key!r} was first seen")
        same(story.versions[-1].digest, digest_of(key, held.record.text), f"version of {key!r}")
        older = [one.digest for one in story.versions[:-1]]
        same(older, held.versions[len(held.versions) - len(older) :], f"versions of {key!r}")
        same(store.get(key, with_text=True).key, key, "show")
    for text in {held.record.text for held in list(model.docs.values())[:3]}:
        if not text.strip():
            same(store.seen(text=text), [], "seen under an empty text")
            continue
        keys_of = {key for key, held in model.docs.items() if held.record.text == text}
        keys_of |= {key for key, noted in model.noted.items() if noted.text == text}
        same({one.key for one in store.seen(text=text)}, keys_of, f"seen under {text[:40]!r}")


def missing_is_said(living: Living, key: str) -> None:
    """Compare what is said of a key that is not there."""
    try:
        living.store.get(key)
    except DocumentNotFound:
        return
    raise AssertionError(f"{key!r} is shown, and is not there")


def answers(living: Living, texts: Texts) -> None:
    """Ask the store for what is near some texts, in some way, and compare."""
    chance, model, kind = living.chance, living.model, living.kind
    if not living.has_generation:
        return
    samples = [texts.text() for _ in range(chance.randint(1, 3))]
    samples += [held.record.text for held in list(model.docs.values())[-2:]]
    radius = chance.choice((None, 0, 1, 3, 6, kind.bits // 2, kind.bits))
    radius = None if radius is not None and radius > kind.bits else radius
    options = QueryOptions(radius=radius)
    if chance.random() < 0.5:
        options = replace(options, channels=(chance.choice(kind.channels),))
    if chance.random() < 0.3:
        options = replace(options, min_features=chance.choice((0, 3, 8)))
    options = replace(options, plan=_plan(living, radius))
    asked = living.asked
    plain = asked.query_many(_named(samples), options)
    for sample, result in zip(samples, plain, strict=True):
        _is_answer(living, sample, result, options)
    living.bench.count("answers")
    _filtered(living, asked, samples, options)


def _plan(living: Living, radius: int | None) -> PlanName:
    if "simhash" not in living.kind.channels:
        return "auto"
    bits, radius = living.kind.bits, min(3, living.kind.bits) if radius is None else radius
    plans: list[PlanName] = ["auto", "scan"]
    # Each value within a large radius would be millions of them.
    if radius <= 4:
        plans.append("segments")
    if bits == 64 and radius <= 3:
        plans += ["tables4", "tables10", "tables16", "tables20"]
    if radius <= 1:
        plans += ["probe", "expanded"]
        plans += ["interpolation"] if bits <= 64 else []
    return living.chance.choice(plans)


def _named(samples: list[str]) -> list[tuple[str, str]]:
    return [(f"sample {at}", text) for at, text in enumerate(samples)]


def _is_answer(living: Living, text: str, result: SampleResult, options: QueryOptions) -> None:
    """Raise unless the matches of a sample are those that a plain scan finds."""
    model, kind = living.model, living.kind
    recipe = model.recipe
    channels = options.channels or (("simhash",) if kind.is_simtool else kind.channels)
    if kind.is_simtool and options.channels == () and "simhash" not in kind.channels:
        channels = kind.channels
    radius = min(3, kind.bits) if options.radius is None else options.radius
    least = recipe.least_features if options.min_features is None else options.min_features
    own = model.fingerprint(text)
    if own is not None:
        same(int(result.fingerprint, 16), own, f"fingerprint of {text[:60]!r}")
    found = {match.key: match for match in result.matches}
    assert len(found) == len(result.matches), "a document is there twice"
    # Which edited sentences are found, the model does not know; only what has one of these.
    for key in [key for key, match in found.items() if match.channels == ("sentences",)]:
        _has_sentence(living, text, found.pop(key), options)
    matches = list(found.values())
    short = feature_count(text, recipe) < least
    same(result.too_short, short, f"whether {text[:60]!r} is too short")
    for key, held in model.docs.items():
        stored = held.record.text
        distance = model.distance(text, stored)
        near = "simhash" in channels and distance is not None and distance <= radius
        agrees = model.sketches_agree(text, stored) if "minhash" in channels else False
        if distance is None and "simhash" in kind.channels:
            agrees = False
        is_same = text == stored and bool(text.strip())
        if not is_same and (short or feature_count(stored, recipe) < least):
            if not kind.text:
                # Without the texts, whether one contains the other is estimated.
                found.pop(key, None)
                continue
            one, other = containment(text, stored, recipe), containment(stored, text, recipe)
            if 1.0 not in (one, other):
                if key in found and "sentences" in found[key].channels:
                    # Too short to be judged as a whole; a sentence is judged by itself.
                    _has_sentence(living, text, found.pop(key), options)
                    continue
                near = agrees = False
        match = found.pop(key, None)
        where = f"{text[:80]!r} and {key!r} {stored[:80]!r}, distance {distance}, {options}"
        if match is None:
            assert not near, f"missed by its fingerprint: {where}"
            assert agrees is not True, f"missed by its sketch: {where}"
            continue
        assert near or agrees is not False, f"found, and is not near: {where}: {match}"
        assert ("simhash" in match.channels) == near, f"{where}: {match}"
        assert agrees is None or ("minhash" in match.channels) == agrees, f"{where}: {match}"
        _is_match(living, text, stored, match, where)
    assert not found, f"{found} is not stored"
    places = {key: at for at, key in enumerate(model.docs)}
    if own is None:
        return
    order = [(match.distance, places[match.key]) for match in matches]
    same(order, sorted(order, key=lambda one: (one[0] or 0, one[1])), "order of matches")


def _has_sentence(living: Living, text: str, match: Match, options: QueryOptions) -> None:
    """Raise unless a document may be found by an edited sentence alone."""
    where = f"{text[:80]!r} by a sentence: {match}"
    stored = living.model.docs[match.key].record.text
    assert not options.channels, f"another channel was asked: {where}"
    assert living.store.passages.status() is not None, f"there is no index of passages: {where}"
    start, end = match.passage_start, match.passage_end
    assert start is not None, where
    assert end is not None, where
    assert 0 <= start < end <= len(stored), where
    assert (match.passage_similarity or 0) >= 0.7, where


def _is_match(living: Living, text: str, stored: str, match: Match, where: str) -> None:
    recipe = living.model.recipe
    same(match.distance, living.model.distance(text, stored), f"distance of {where}")
    if not living.kind.text:
        return
    shares = (
        (1.0, 1.0, 1.0)
        if text == stored and text.strip()
        else (
            resemblance(text, stored, recipe), containment(text, stored, recipe),
            containment(stored, text, recipe),
        )
    )  # fmt: skip
    found = (match.resemblance, match.containment, match.containment_reverse)
    same(found, shares, f"shares of {where}")
    same(match.basis, "text", "basis")


def _filtered(living: Living, asked: Store, samples: list[str], options: QueryOptions) -> None:
    """Ask again with filters, of all kinds at once: the answer is the part that passes them."""
    chance, kind, docs = living.chance, living.kind, living.model.docs
    options = replace(
        options,
        channels=options.channels or kind.channels,
        plan="auto",
    )
    own = chance.choice(list(docs)) if docs else "none"
    named = [(own if chance.random() < 0.5 else "sample", text) for text in samples]
    every = asked.query_many(named, options)
    told = dict(docs)
    changes: dict[str, Any] = {}
    if chance.random() < 0.25:
        changes["collection"] = collection = chance.choice(("north", "south", "", "none"))
        told = {key: one for key, one in told.items() if one.record.collection == collection}
    if chance.random() < 0.25 and docs:
        changes["since"] = since = chance.choice([held.first_seen for held in docs.values()])
        told = {key: one for key, one in told.items() if one.first_seen >= since}
    if chance.random() < 0.25:
        changes["where"] = (("kind", "b"),)
        told = {key: one for key, one in told.items() if one.record.metadata.get("kind") == "b"}
    shares = ["min_resemblance", "min_containment"] if living.is_verifiable else []
    least = {name: chance.choice((0.0, 0.3, 0.6, 1.0)) for name in shares if chance.random() < 0.3}
    changes |= least
    if chance.random() < 0.3:
        changes["exclude_self"] = True
    cut = chance.choice((None, None, "limit", "first"))
    limit = chance.choice((1, 2, 5)) if cut == "limit" else None
    changes |= {"limit": limit, "first": cut == "first", "plan": _plan(living, options.radius)}
    if chance.random() < 0.2 and "simhash" in kind.channels:
        changes["verify"] = False
    again = asked.query_many(named, replace(options, **changes))
    for (key, text), result, before in zip(named, again, every, strict=True):
        passing = [
            (one.key, one.distance)
            for one in before.matches
            if one.key in told
            and not (changes.get("exclude_self") and one.key == key)
            and all((getattr(one, name[4:]) or 0.0) >= share for name, share in least.items())
        ]
        found = [(one.key, one.distance) for one in result.matches]
        what = f"matches of {text[:60]!r} ({key!r}) that pass {changes} of {options}"
        if cut == "first":
            same(len(found), min(len(passing), 1), what)
            assert set(found) <= set(passing), f"{found} is none of {passing}: {what}"
        else:
            same(found, passing[:limit], what)


def listings(living: Living) -> None:
    """Compare lists that begin, end or choose somewhere with the whole ones."""
    chance, store, model = living.chance, living.asked, living.model
    rows = list(store.list())
    after = chance.choice([0, *(row.document_id for row in rows)])
    limit = chance.choice((None, 0, 1, 3))
    collection = chance.choice((None, "north", ""))
    wanted = [
        row for row in rows if row.document_id > after and collection in (None, row.collection)
    ][:limit]
    found = list(store.list(after=after, limit=limit, collection=collection))
    same(found, wanted, f"documents {after=} {limit=} {collection=}")
    every = list(store.duplicates.list())
    state = chance.choice((None, "flagged", "skipped", "uncovered", "orphaned"))
    original = chance.choice([None, *model.docs])
    behind = chance.choice([None, *(one.key for one in every)])
    some = [
        one
        for one in every
        if state in (None, one.state)
        and original in (None, one.original)
        and (behind is None or _bytes(one.key) > _bytes(behind))
    ]
    same(
        list(store.duplicates.list(state=state, original=original, after=behind)),
        some,
        f"duplicates {state=} {original=} {behind=}",
    )
    rejected = store.rejects.list()
    number = chance.choice([0, *(one.reject_id for one in rejected)])
    same(
        store.rejects.list(after=number, limit=limit),
        [one for one in rejected if one.reject_id > number][:limit],
        f"rejections {number=} {limit=}",
    )
    if store.clusters.status() is not None:
        kept = list(store.clusters.list(1))
        size, number = chance.choice((1, 2, 3)), chance.choice([0, *(c.cluster_id for c in kept)])
        same(
            list(store.clusters.list(size, after=number)),
            [one for one in kept if len(one.members) >= size and one.cluster_id > number],
            f"kept clusters {size=} {number=}",
        )
        for one in kept[:4]:
            same(store.clusters.members(one.cluster_id), one, "cluster by its name")


def clusters(living: Living) -> None:
    """Compare clusters of the moment with the rule."""
    chance, model, kind = living.chance, living.model, living.kind
    if not living.has_generation or not kind.text:
        return
    least, policy = chance.choice((0.3, 0.5, 0.7, 0.9)), chance.choice(("first", "longest"))
    is_exact = chance.random() < 0.4
    radius = None if is_exact else chance.choice((None, 0, 3, kind.bits))
    if "simhash" not in kind.channels or (radius is not None and radius > kind.bits):
        radius = None
    collection = chance.choice((None, None, "north"))
    among = {key for key, one in model.docs.items() if one.record.collection == collection}
    options = ClusterOptions(
        min_resemblance=least,
        policy=policy,
        min_size=1,
        exact_join=is_exact,
        radius=radius,
        collection=collection,
    )
    found = living.asked.clusters.once(options).clusters
    stars = [(one.key, [(m.key, m.resemblance) for m in one.members]) for one in found]
    model.check_stars(
        stars, least, policy, radius, is_exact=is_exact, among=None if collection is None else among
    )
    held = list(model.docs.items())
    pairs = [
        (one, other, share)
        for at, (one, first) in enumerate(held)
        for other, second in held[at + 1 :]
        if (share := resemblance(first.record.text, second.record.text, model.recipe)) >= least
    ]
    exact = [
        (one.first, one.second, one.resemblance) for one in living.asked.evaluate.exact_pairs(least)
    ]
    same(sorted(exact), sorted(pairs), f"pairs of a resemblance of {least}")
    living.bench.count("clusterings")


def kept_clusters(living: Living, least: float, policy: str) -> None:
    """Compare the clusters that are kept, brought up to date, with the rule."""
    living.asked.clusters.build()
    found = list(living.asked.clusters.list(1))
    stars = [(one.key, [(m.key, m.resemblance) for m in one.members]) for one in found]
    if living.kind.text:
        living.model.check_stars(stars, least, policy)
    assert len({one.cluster_id for one in found}) == len(found), "a name is there twice"
    moment = living.asked.clusters.once(
        ClusterOptions(min_resemblance=least, policy=policy, min_size=1)
    ).clusters
    same(
        sorted((one.key, one.members) for one in found),
        sorted((one.key, one.members) for one in moment),
        "kept clusters, and those of the moment",
    )
