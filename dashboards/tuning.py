"""Look at a tuning, also while it is under way: what was tried, what leads, and what it cost.

python dashboards/tuning.py [folder of directories of tunings]
"""

import sys

from raydream.dashboard import serve

if __name__ == "__main__":
    serve(sys.argv[1] if len(sys.argv) > 1 else "runs", page="/tuning")
