"""The ordinary programs of a SONiC image that a switch's shell finds beside SONiC's own, and the image's locale: links
to the host's.

A shell that had the host's folders in its PATH would start whatever the host has: its editors with its settings, its
Docker, its compilers. So there is a folder of links, to what an image has too and what needs nothing of the host but
the program itself.
"""
from __future__ import annotations

import shutil
from pathlib import Path

HOST_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
PROGRAMS = {
    "coreutils": """[ b2sum base32 base64 basename cat chgrp chmod chown cksum comm cp cut date dd df dirname du echo
        env expand expr factor false fmt fold groups head id install join link ln logname ls md5sum mkdir mkfifo mktemp
        mv nice nl nohup nproc numfmt od paste pathchk pr printenv printf pwd readlink realpath rm rmdir seq sha1sum
        sha224sum sha256sum sha384sum sha512sum shuf sleep sort split stat stdbuf stty sum sync tac tail tee test
        timeout touch tr true truncate tsort tty uname unexpand uniq unlink vdir wc who whoami yes""",
    "shells": "sh bash dash which clear tput",
    "text": "awk mawk gawk grep egrep fgrep sed diff cmp find xargs less more column hexdump file jq bc",
    "archives": "tar gzip gunzip zcat bzip2 xz unzip",
    "processes": "ps pgrep pkill kill top free uptime watch flock setsid getopt script logger sysctl",
    "network": "hostname ip ss ifconfig netstat arp route ping ping6 ssh scp sftp",
    "languages": "perl",
}
"""Group -> programs. Those of processes and of the network show the host's where a switch has no view of its own of
these (docs/sonic-switch.md)."""


LOCALES = Path("/usr/lib/locale")
LOCALE, LIKE = "en_US.utf8", "C.utf8"
"""The locale of an image (sonic-buildimage `build_debian.sh`), and the one that stands in for it."""


def link_locales(folder: Path) -> None:
    """Fill a folder with links to the host's locales. `en_US.UTF-8` is there by its encoding alone: Python takes
    `C.UTF-8` for it, and could not go back to what it says that it has.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for path in (*LOCALES.glob("*.utf8"), LOCALES / LIKE):
        for name in (path.name, LOCALE) if path.name == LIKE else (path.name,):
            link = folder / name
            link.unlink(missing_ok=True)
            if path.is_dir():
                link.symlink_to(path)


def link_programs(folder: Path) -> None:
    """Fill a folder with links to those of the programs that the host has."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in " ".join(PROGRAMS.values()).split():
        link = folder / name
        link.unlink(missing_ok=True)
        found = shutil.which(name, path=HOST_PATH)
        if found is not None:
            link.symlink_to(found)
