"""The qualification logic: scenario -> OTG configuration -> run -> measurement -> checks -> verdict -> record."""
