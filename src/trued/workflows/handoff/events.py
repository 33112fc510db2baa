"""Events of the handoff workflow: the feature list, and what went wrong with a feature."""

from typing import Any

from trued.model.events import JournalEvent


class FeatureListWritten(JournalEvent, kind="features", omits=("feature", "attempt", "of")):
    """The feature list as the engine wrote it. While a coder works on a feature, the event also has the feature's id,
    the attempt's number, and how many attempts there may be (`of`)."""

    features: tuple[dict[str, Any], ...]
    feature: str = ""
    attempt: int = 0
    of: int = 0


class FeatureProposed(JournalEvent, kind="feature proposed"):
    """An agent proposes a feature; a person decides about it."""

    feature: str
    proposed: str


class PassUndone(JournalEvent, kind="passes undone", omits=("feature", "features")):
    """Features were marked as passed, but checks show otherwise."""

    feature: str = ""
    features: tuple[str, ...] = ()
    why: str


class FinishedFeatureBroken(JournalEvent, kind="finished feature broken"):
    """The work for one feature broke finished features, and was discarded."""

    feature: str  # the feature that was worked on
    broken: tuple[str, ...]  # which features it broke, and how


class SetUpFailed(JournalEvent, kind="set-up fails"):
    """init.sh fails, and a coder is about to fix it. Emitted again after a fix that failed."""

    said: str


class FailureMode(JournalEvent):
    """A known failure mode of coding agents occurred. Each failure mode has a class and a kind of its own."""

    feature: str
    evidence: str


class OneShotAttempt(FailureMode, kind="one-shot attempt"):
    """More than one feature was built at once."""


class PrematureVictory(FailureMode, kind="premature victory"):
    """The coder claims more about its feature than the commit shows."""


class Guesswork(FailureMode, kind="guesswork"):
    """An agent installed or started something that init.sh neither installs nor starts."""


class FeatureListMeddled(FailureMode, kind="meddling"):
    """An agent edited the feature list; the edit was undone."""


FAILURE_MODES = {mode.KIND: mode for mode in (OneShotAttempt, PrematureVictory, Guesswork, FeatureListMeddled)}
EVENTS = (FeatureListWritten, FeatureProposed, PassUndone, FinishedFeatureBroken, SetUpFailed, *FAILURE_MODES.values())
