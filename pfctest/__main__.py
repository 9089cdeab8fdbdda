"""`python -m pfctest`, and the zipapp."""
import os
import sys

if sys.version_info < (3, 8):
    sys.exit("error: Python %d.%d found: pfctest needs 3.8 or newer" % sys.version_info[:2])

try:
    from pfctest.cli import main
except KeyboardInterrupt:
    sys.stderr.write("error: interrupted by SIGINT\n")
    sys.stderr.flush()
    os._exit(130)  # Python may go on to end itself by that signal
sys.exit(main())
