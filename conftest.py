"""What holds for all of the project's own tests. (The suite runs from the folder tests/, and does without.)"""
pytest_plugins = ["scripts.tests.fork_guard"]
