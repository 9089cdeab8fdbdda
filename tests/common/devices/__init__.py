"""Host objects: switches and the controller, driven through Ansible."""
