"""SONiC switches and traffic generators, simulated behind the interfaces of real ones.

Who may import whom is drawn in docs/architecture.md. Outside of the rooms are `process`, which every process of a
testbed stands on, and `pytest_plugin`, which pytest finds by an entry point and which imports a room when it is used.
"""
