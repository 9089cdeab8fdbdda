"""Unit tests of `tests/common/pfc`: a fake switch, a fake traffic generator and recorded command output."""
