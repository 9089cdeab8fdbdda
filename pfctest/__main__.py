"""`python -m pfctest`, and the zipapp."""
import sys

if sys.version_info < (3, 8):
    sys.exit("error: Python %d.%d found: pfctest needs 3.8 or newer" % sys.version_info[:2])

from pfctest.cli import main  # noqa: E402

sys.exit(main())
