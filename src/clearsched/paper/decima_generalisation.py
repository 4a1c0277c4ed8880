"""Decima, §7.4: policies as they are on other clusters, and where nothing is known of durations."""

from __future__ import annotations

from clearsched.figures import style
from clearsched.paper.material import Material
from clearsched.paper.panels import draw_panels


def draw(material: Material) -> style.Drawing:
    """A panel an experiment."""
    return draw_panels(material, material.experiments)
