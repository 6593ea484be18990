"""Choose a graph and weights; see its spectrum, its mixing speed, and mixing step by step.

python dashboards/topology_lab.py [folder of run directories]
"""

import sys

from raydream.dashboard import serve

if __name__ == "__main__":
    serve(sys.argv[1] if len(sys.argv) > 1 else "runs", page="/lab")
