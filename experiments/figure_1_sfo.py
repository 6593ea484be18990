"""Figure 1 of the DREAM paper: P(x_bar) against SFO calls on a9a, w8a and ijcnn1, every method tuned by one rule."""

from figures import main
from figures import text_of as text_of

TITLE = "Figure 1: P against SFO calls"

if __name__ == "__main__":
    main("figure_1_sfo", __doc__, "sfo", ("figure_1_balanced", "figure_1_paper"), TITLE)
