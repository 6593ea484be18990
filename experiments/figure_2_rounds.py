"""Figure 2 of the DREAM paper: P(x_bar) against rounds on a9a, w8a and ijcnn1, every method tuned by one rule."""

from figures import main
from figures import text_of as text_of

TITLE = "Figure 2: P against rounds"

if __name__ == "__main__":
    main("figure_2_rounds", __doc__, "rounds", ("figure_2_balanced", "figure_2_paper"), TITLE)
