"""Stands in for SONiC's bindings to its databases (sonic-swss-common), which are C++: see `swsscommon`."""
