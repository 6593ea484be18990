"""What the DREAM theorem prescribes and predicts, beside the other methods' orders of growth.

python dashboards/theory.py [folder of run directories]
"""

import sys

from raydream.dashboard import serve

if __name__ == "__main__":
    serve(sys.argv[1] if len(sys.argv) > 1 else "runs", page="/theory")
