"""As much of SONiC's Python package of this name as others look for: the folder of its field operation validators.

sonic-mgmt reads `gcu_field_operation_validators.conf.json` in it to know which patches a switch refuses; `config
apply-patch` of this switch reads the same file (`virtual_testbed.sonic.patch_rules`).
"""
