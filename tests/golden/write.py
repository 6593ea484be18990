"""Write the golden numbers anew, or with the word `new` only those of cases that are not written down yet."""

import json
import sys

from golden import FILE, cases, machine, numbers, read, run

if __name__ == "__main__":
    written = read() if sys.argv[1:] == ["new"] else {"machine": machine(), "runs": {}}
    if written["machine"] != machine():
        raise SystemExit("the numbers were written on another kind of machine: new ones would not belong to them.")
    runs = {name: written["runs"].get(name) or numbers(run(*parts)) for name, parts in cases().items()}
    lines = ",\n".join(f"  {json.dumps(name)}: {json.dumps(found)}" for name, found in runs.items())
    FILE.write_text(f'{{"machine": {json.dumps(machine())}, "runs": {{\n{lines}\n}}}}\n')
