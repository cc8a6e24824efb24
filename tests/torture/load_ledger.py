"""What senders were told, and what a store may hold by that.

Each sender has keys of its own, so the history of a key is one line. A request that was answered
is done, one that was refused is not, and of one whose answer was lost all is done or nothing. The
sender leaves the keys of such a request alone from then on.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple


class Held(NamedTuple):
    """A document as a store holds it."""

    text: str
    revision: int


# None: the store has no such document.
State = Held | None


@dataclass(frozen=True)
class Found:
    """What a store holds in the end.

    Attributes:
        documents: By key.
        duplicates: What became of each duplicate: ``flagged`` or ``skipped``.
    """

    documents: Mapping[str, Held]
    duplicates: Mapping[str, str]


@dataclass(frozen=True)
class Unsure:
    """A request whose answer was lost: each key's state before and after it."""

    what: str
    before: dict[str, State]
    after: dict[str, State]
    # Documents that were looked for: they may be skipped, too.
    checked: bool = False


@dataclass
class Ledger:
    """What one sender has sent, and was told.

    Attributes:
        states: State of each key by all that was answered.
        checked: Outcome of each key that was sent to be looked for first.
        unsure: Requests whose answer was lost.
        acknowledged: Documents that were acknowledged, and removals.
        left: Keys that are left alone.
        faults: What was told that cannot be.
    """

    name: str
    states: dict[str, State] = field(default_factory=dict)
    checked: dict[str, str] = field(default_factory=dict)
    unsure: list[Unsure] = field(default_factory=list)
    acknowledged: int = 0
    left: set[str] = field(default_factory=set)
    faults: list[str] = field(default_factory=list)

    def keys(self) -> list[str]:
        """Return the keys whose documents are stored for sure, and may be sent again."""
        return [
            key
            for key, state in self.states.items()
            if state is not None and key not in self.left and key not in self.checked
        ]

    def after(self, texts: Mapping[str, str]) -> dict[str, State]:
        """Return the states of keys after these texts are stored under them."""
        return {key: _stored(self.states.get(key), text) for key, text in texts.items()}

    def expected(self, texts: Mapping[str, str]) -> dict[str, str]:
        """Return the outcome that each key is to have."""
        told = {}
        for key, text in texts.items():
            before = self.states.get(key)
            if before is None:
                told[key] = "added"
            else:
                told[key] = "unchanged" if before.text == text else "updated"
        return told

    def added(
        self,
        what: str,
        texts: Mapping[str, str],
        outcomes: Mapping[str, str],
        *,
        again: bool = False,
    ) -> None:
        """Note a reply to documents that were sent.

        Args:
            what: What was sent.
            texts: The documents.
            outcomes: What became of them.
            again: They may have been stored by an attempt whose answer was lost.
        """
        expected = self.expected(texts)
        is_repeated = again and dict(outcomes) == dict.fromkeys(texts, "unchanged")
        if dict(outcomes) != expected and not is_repeated:
            odd = {
                key: (outcomes.get(key), expected.get(key))
                for key in {*outcomes, *expected}
                if outcomes.get(key) != expected.get(key)
            }
            self.faults.append(f"{what}: told, expected: {odd}")
        self.states |= self.after(texts)
        self.acknowledged += len(texts)

    def added_if_new(self, texts: Mapping[str, str], outcomes: Mapping[str, str]) -> None:
        """Note a reply to documents that were looked for first."""
        if outcomes.keys() != texts.keys():
            self.faults.append(f"{self.name}: told of {set(outcomes) ^ set(texts)}")
        for key, outcome in outcomes.items():
            if outcome not in ("added", "flagged", "skipped"):
                self.faults.append(f"{self.name}: {key}, which is new, is {outcome}")
            self.checked[key] = outcome
            self.states[key] = None if outcome == "skipped" else Held(texts[key], 1)
        self.acknowledged += len(texts)

    def removed(self, what: str, keys: Iterable[str], told: int) -> None:
        """Note a reply to a removal."""
        keys = list(keys)
        there = sum(self.states.get(key) is not None for key in keys)
        if told != there:
            self.faults.append(f"{what}: removed {told}, and there were {there}")
        self.states |= dict.fromkeys(keys)
        self.acknowledged += len(keys)

    def lost(self, what: str, after: Mapping[str, State], *, checked: bool = False) -> None:
        """Note a request whose answer was lost.

        Args:
            what: What it was.
            after: States of its keys where it was done.
            checked: Its documents were looked for first.
        """
        before = {key: self.states.get(key) for key in after}
        self.unsure.append(Unsure(what, before, dict(after), checked))
        self.left |= after.keys()

    def judge(self, found: Found) -> list[str]:
        """Return what a store holds that it cannot hold by what was told."""
        faults = list(self.faults)
        for key, state in self.states.items():
            if key in self.left:
                continue
            if key in self.checked:
                faults += _judge_checked(key, self.checked[key], state, found)
            elif found.documents.get(key) != state:
                now = found.documents.get(key)
                faults.append(f"{key}: acknowledged as {_short(state)}, and is {_short(now)}")
        for one in self.unsure:
            faults += _judge_unsure(one, found)
        return [fault if self.name in fault else f"{self.name}: {fault}" for fault in faults]


def judge(ledgers: Iterable[Ledger], found: Found) -> list[str]:
    """Return all that is wrong with a store by what its senders were told."""
    ledgers = list(ledgers)
    faults = [fault for ledger in ledgers for fault in ledger.judge(found)]
    sent: set[str] = set()
    for ledger in ledgers:
        sent |= ledger.states.keys() | ledger.left
    strange = (found.documents.keys() | found.duplicates.keys()) - sent
    if strange:
        faults.append(f"nobody sent {sorted(strange)[:5]}, {len(strange)} in all")
    return faults


def _stored(before: State, text: str) -> State:
    if before is None:
        return Held(text, 1)
    return before if before.text == text else Held(text, before.revision + 1)


def _judge_checked(key: str, outcome: str, state: State, found: Found) -> list[str]:
    now = found.documents.get(key), found.duplicates.get(key)
    told = state, None if outcome == "added" else outcome
    if now == told:
        return []
    return [f"{key}: told {outcome}, and is {_short(now[0])}, {now[1]}"]


def _judge_unsure(one: Unsure, found: Found) -> list[str]:
    now = {key: found.documents.get(key) for key in one.after}
    if one.checked:
        held = {key in found.duplicates or now[key] is not None for key in now}
        wrong = [key for key in now if now[key] not in (None, one.after[key])]
        if len(held) > 1 or wrong:
            return [f"{one.what}: done in part: {_shown(now)}"]
        return []
    if now in (one.before, one.after):
        return []
    return [
        f"{one.what}: neither done nor not done: {_shown(now)}; before: {_shown(one.before)}; "
        f"after: {_shown(one.after)}"
    ]


def _short(state: State) -> str:
    return "absent" if state is None else f"revision {state.revision} {state.text[:30]!r}"


def _shown(states: Mapping[str, State]) -> str:
    return ", ".join(f"{key}: {_short(state)}" for key, state in list(states.items())[:6])
