"""The record library: verdicts, the lines that keep them, what an earlier part of a run left."""
