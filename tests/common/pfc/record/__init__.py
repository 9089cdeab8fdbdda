"""The record library: verdicts, the lines that keep them, which of them count, what an earlier part of a run left.

It imports the standard library alone. The qualification makes records with it, and `test_reporting/pfc` reads them.
"""
