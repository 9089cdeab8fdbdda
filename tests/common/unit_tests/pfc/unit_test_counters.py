"""How a counter is called that fell."""

import pytest

from tests.common.pfc.model.counters import fallen


@pytest.mark.parametrize(("early", "late", "said"), [
    (12, 0, "one that fell by 12"),
    (2**32 - 1000, 46680, "one that wrapped at 2^32: it fell by 4294919616"),
    (2**64 - 1, 0, "one that wrapped at 2^64: it fell by 18446744073709551615"),
    (2**31, 0, "one that fell by 2147483648"),
    (2**32, 0, "one that fell by 4294967296"),
    (5 * 10**9, 0, "one that fell by 5000000000"),
])
def test_a_counter_that_fell(early, late, said):
    """Only near all that its bits can count it wrapped; one that stood beyond was cleared."""
    assert fallen(early - late) == said, fallen(early - late)
