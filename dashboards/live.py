"""Follow the latest run, or the one whose name is chosen on the page.

python dashboards/live.py [folder of run directories]
"""

import sys

from raydream.dashboard import serve

if __name__ == "__main__":
    serve(sys.argv[1] if len(sys.argv) > 1 else "runs", page="/run")
