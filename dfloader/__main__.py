"""`python -m dfloader` is `dfloader`."""

from dfloader.cli import main

if __name__ == "__main__":
    main()
