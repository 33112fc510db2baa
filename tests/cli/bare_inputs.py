"""The smallest possible inputs of a run, for runs that a test itself writes into the journal."""

from typing import Any

from trued.engine.inputs import Inputs
from trued.model import Goal, Settings

TEXTS = {"requirements_file": "", "instructions": "", "level": "bubblewrap", "version": "0"}
GIVEN: dict[str, Any] = {"goal": Goal(text="x"), "settings": Settings(), "roles": {}, "requirements": None, **TEXTS}
BARE_INPUTS = Inputs.model_validate(GIVEN).model_dump_json()
