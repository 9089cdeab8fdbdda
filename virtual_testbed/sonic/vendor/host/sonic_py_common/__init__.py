"""As much of SONiC's Python package of this name as says what a switch is: its platform, image and ASICs.

Python programs on a switch import it, sonic-mgmt's Ansible modules for facts among them. Written for a switch with one
ASIC, no chassis and no DPU. A function that is not here is not there: AttributeError or ImportError name it.
"""
