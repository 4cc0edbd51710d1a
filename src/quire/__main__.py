"""`python -m quire` is the command `quire`; without arguments it plays the demonstration."""

import sys

from quire.cli.demo import main as play
from quire.cli.door import main as command

if __name__ == "__main__":
    if len(sys.argv) > 1:
        command()
    else:
        play()
