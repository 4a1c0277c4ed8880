"""Hu et al.: the students beside the network and the heuristics, on loads they were made for and on others."""

from __future__ import annotations

from clearsched.figures import style
from clearsched.paper.material import Material
from clearsched.paper.panels import draw_panels


def draw(material: Material) -> style.Drawing:
    """A panel a load, the normal one first."""
    return draw_panels(material, material.experiments)
