"""Creates the notifier of a command from the user's own settings, never from a repository's settings."""

import os
from typing import TYPE_CHECKING

from trued.errors import BadInput
from trued.reporting.notifications.notifier import Notifier

if TYPE_CHECKING:
    from trued.engine.run_store import RunStore
    from trued.model.settings import NotifySettings


def users_notifier(store: "RunStore", wanted: bool | None = None) -> Notifier:
    """The notifier for this store's runs, with the user's settings. `wanted`: True adds bell and desktop, False turns
    everything off."""
    from trued.model.settings import NotifySettings

    settings = NotifySettings(kinds=()) if wanted is False else users_settings()
    if wanted:
        settings = settings.model_copy(update={"bell": True, "desktop": True})
    return Notifier(settings, store, os.environ)


def users_settings() -> "NotifySettings":
    """The user's current notification settings; a project cannot set any. If the settings file has a mistake, this
    returns the defaults and raises nothing: `trued run` reports the mistake."""
    from trued.inputs.settings.folders import user_config
    from trued.inputs.settings.loader import load_settings
    from trued.model.settings import NotifySettings

    try:
        return load_settings({}, os.environ, None, user_config(os.environ)).notify
    except BadInput:
        return NotifySettings()
