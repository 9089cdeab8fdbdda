"""The PFC watchdog: what its test cases measure and judge. `watchdog_cases` beside this folder lists them."""
