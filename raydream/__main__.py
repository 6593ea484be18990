"""`python -m raydream ...` is the same as `raydream ...`."""

from raydream.cli.app import main

if __name__ == "__main__":
    main()
