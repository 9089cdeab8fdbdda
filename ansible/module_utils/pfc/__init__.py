"""What this project's Ansible modules share: pure functions, and the few calls that reach a switch or a file.

Modules that run on a switch use `config_db` and `watchdog` (standard library only, Python 3.9); the others run where
Ansible runs.
"""
