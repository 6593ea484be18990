"""Compare runs that are finished or under way, in the figures of the report.

python dashboards/compare.py [folder of run directories]
"""

import sys

from raydream.dashboard import serve

if __name__ == "__main__":
    serve(sys.argv[1] if len(sys.argv) > 1 else "runs", page="/compare")
