"""Figure 1 of the DREAM paper: P(x_bar) against SFO calls on a9a, w8a and ijcnn1. `--quick` takes under two minutes."""

from figures import main

if __name__ == "__main__":
    main("sfo", 1)
