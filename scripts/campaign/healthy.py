"""Random healthy testbeds."""

from __future__ import annotations

from scripts.campaign.entries import CampaignEntry


def draw_healthy(seed: str, count: int) -> list[CampaignEntry]:
    """The first testbeds of a seed."""
    return []
