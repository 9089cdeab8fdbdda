"""Unit tests of `tests/common`; they run without conftest: `python -m pytest --noconftest tests/common/unit_tests`."""
