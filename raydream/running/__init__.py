"""One run: put together, looped, recorded, stopped, and gone on with."""
