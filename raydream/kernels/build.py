"""Compiles kernels.c while raydream is built or installed. Where that fails, NumPy does the work, which takes longer.

Run by hatchling (pyproject.toml); it can be run by hand too: python raydream/kernels/build.py
"""

import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
SOURCE, RESULT = HERE / "kernels.c", HERE / "compiled.so"
# No contraction of a product and a sum into one rounding: NumPy has two.
FLAGS = ["-O3", "-ffp-contract=off", "-fno-math-errno", "-shared", "-fPIC"]


def build() -> str | None:
    """Compile; None if it went well, else why not. The result appears whole or not at all."""
    if sys.platform == "win32":
        return "kernels are not built on Windows"
    compiler = next(
        (found for name in (os.environ.get("CC"), "cc", "gcc", "clang") if name and (found := shutil.which(name))), None
    )
    if compiler is None:
        return "no C compiler was found"
    with tempfile.TemporaryDirectory(dir=HERE) as folder:
        made = Path(folder) / RESULT.name
        try:
            done = subprocess.run(
                [compiler, *FLAGS, "-o", str(made), str(SOURCE), "-lm"], capture_output=True, text=True, timeout=300
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            return f"{compiler} failed ({error})"
        if done.returncode:
            return f"{compiler} failed ({done.stderr.strip()[-500:]})"
        os.replace(made, RESULT)
    return None


try:
    from hatchling.builders.hooks.plugin.interface import BuildHookInterface
except ImportError:  # by hand, or imported by a test
    pass
else:

    class KernelsHook(BuildHookInterface):  # type: ignore[misc]
        """What hatchling calls before it packs."""

        def initialize(self, version: str, build_data: dict[str, Any]) -> None:
            """Compile, and say what the wheel is for."""
            if self.target_name != "wheel":
                return
            wrong = build()
            if wrong is not None:
                RESULT.unlink(missing_ok=True)
                self.app.display_warning(f"raydream: {wrong}; its loops will run in NumPy")
                return
            build_data["artifacts"].append(f"raydream/kernels/{RESULT.name}")
            build_data["pure_python"] = False
            platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
            build_data["tag"] = f"py3-none-{platform}"


if __name__ == "__main__":
    print(build() or f"built {RESULT}")
