"""Unit tests of `tests/snappi_tests/pfc/qualification`: outside that folder, so that its conftest is not theirs."""
