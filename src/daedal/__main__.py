"""`python -m daedal` is `daedal`."""

from daedal.cli import main

if __name__ == "__main__":
    main()
