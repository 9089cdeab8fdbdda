"""PFC and 802.3x pause frames: codec, arithmetic, and the generator `pfctest`, for which Python 3.8 and Linux do."""

VERSION = "2.0"
"""Of the command; the tool whose options it takes ended at 1.4."""
