"""Every test here may have a place: a home and a workspace of its own, checked when it leaves them."""

from tests.journeys.journey_kit import place

__all__ = ["place"]
