"""What measures: the switch through its command line, the traffic generator through OTG, and what a run puts back."""
