"""A model that says what a script says: real agent programs talk to it on loopback, and no model is ever called."""

from .script import Edit, Fault, Read, Run, Say, Script, Step, Write
from .server import ModelServer, Seen

__all__ = ["Edit", "Fault", "ModelServer", "Read", "Run", "Say", "Script", "Seen", "Step", "Write"]
