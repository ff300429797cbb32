"""The error of a command that was called wrongly. Imports nothing."""


class WrongUseError(Exception):
    """A command got what it cannot use, or lacks an extra; the message says the fix."""
