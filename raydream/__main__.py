"""`python -m raydream ...` is the same as `raydream ...`."""

from raydream.cli import main

if __name__ == "__main__":
    main()
