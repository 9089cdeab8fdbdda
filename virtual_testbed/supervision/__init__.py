"""The command that brings a virtual testbed up and takes it down, its processes, and the files of a running one."""
