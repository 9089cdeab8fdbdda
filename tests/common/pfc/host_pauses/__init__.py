"""Option: pause storms that a Linux host sends with `pfctest` instead of the traffic generator."""
