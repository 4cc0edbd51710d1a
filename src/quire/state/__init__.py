"""What a session holds."""
from quire.state.transcript import Transcript
from quire.state.view import View

__all__ = ["Transcript", "View"]
