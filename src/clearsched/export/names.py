"""Names of features in a language: one that is a word of it gets an underscore."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from clearsched.compiled.feature import Feature


def renamed(features: Iterable[Feature], reserved: Collection[str]) -> dict[str, str]:
    """The features that need another name, by their own."""
    return {feature.name: f"{feature.name}_" for feature in features if feature.name in reserved}
