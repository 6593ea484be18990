"""Write the golden numbers anew."""

import json

from golden import FILE, cases, machine, numbers, run

if __name__ == "__main__":
    runs = {name: numbers(run(*parts)) for name, parts in cases().items()}
    lines = ",\n".join(f"  {json.dumps(name)}: {json.dumps(found)}" for name, found in runs.items())
    FILE.write_text(f'{{"machine": {json.dumps(machine())}, "runs": {{\n{lines}\n}}}}\n')
