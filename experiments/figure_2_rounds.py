"""Figure 2 of the DREAM paper: P(x_bar) against communication rounds on a9a, w8a and ijcnn1. `--quick`: two minutes."""

from figures import main

if __name__ == "__main__":
    main("rounds", 2)
