"""Every method still computes the numbers that were written down: the same bits on the same kind of machine."""

import numpy as np
import pytest
from golden import cases, machine, numbers, read, run

WRITTEN = read()
HERE = cases()


def test_every_case_is_written_down():
    """A case that is not in the file would be compared with nothing."""
    assert set(WRITTEN["runs"]) == set(HERE)


@pytest.mark.filterwarnings("ignore::raydream.errors.MixingWarning")
@pytest.mark.parametrize("name", sorted(HERE))
def test_the_numbers_stay(name):
    """To the last bit where the file was written, to rounding elsewhere."""
    found, wanted = numbers(run(*HERE[name])), WRITTEN["runs"][name]
    assert found["history"].keys() >= wanted["history"].keys()  # there may be more columns than there were
    pairs = {part: (found[part], wanted[part]) for part in wanted if part != "history"}
    pairs |= {column: (found["history"][column], wanted["history"][column]) for column in wanted["history"]}
    for part, (now, then) in pairs.items():
        now, then = np.array(now, dtype=np.float64), np.array(then, dtype=np.float64)
        if machine() == WRITTEN["machine"]:
            np.testing.assert_array_equal(now, then, err_msg=part)
        else:
            np.testing.assert_allclose(now, then, rtol=1e-7, atol=1e-9, err_msg=part)
