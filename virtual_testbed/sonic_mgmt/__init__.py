"""sonic-mgmt's own tests on a virtual testbed: lab files for its checkout, and stand-ins for what only hardware has.

docs/other-suites.md says how they are used. Nothing of sonic-mgmt is changed.
"""
