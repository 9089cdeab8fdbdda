"""Option: whether the cables of a case were sound while it ran. Frames that a cable spoils, and links that go down and
come up again, say nothing of the switch: what was measured then is ERROR, with the cable's port."""
