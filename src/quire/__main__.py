"""`python -m quire` plays the demonstration."""

from quire.cli.demo import main

if __name__ == "__main__":
    main()
