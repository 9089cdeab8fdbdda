"""How the test cases of the plan are carried out, a module for each family of them."""
