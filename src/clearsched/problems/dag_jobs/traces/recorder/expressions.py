"""Expressions that several of the TPC-H queries share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


@dataclass(frozen=True)
class Tables:
    """The eight TPC-H tables and the scale factor that they were generated at."""

    customer: DataFrame
    lineitem: DataFrame
    nation: DataFrame
    orders: DataFrame
    part: DataFrame
    partsupp: DataFrame
    region: DataFrame
    supplier: DataFrame
    scale_factor: float


def date(day: str) -> Column:
    """A date literal, written year-month-day."""
    return F.to_date(F.lit(day))


def between_dates(column: str, first: str, end: str) -> Column:
    """Whether the date in `column` is `first` or later and before `end`."""
    return (F.col(column) >= date(first)) & (F.col(column) < date(end))


def year_of(column: str) -> Column:
    """The year of a date column."""
    return F.year(F.col(column))


def revenue() -> Column:
    """A line item's price after its discount."""
    return F.col("l_extendedprice") * (1 - F.col("l_discount"))


def nation_in(tables: Tables, name: str, *allowed: str) -> DataFrame:
    """All nations, or those `allowed`, with their name in column `name` and their key in `<name>_key`."""
    nations = tables.nation.where(F.col("n_name").isin(*allowed)) if allowed else tables.nation
    return nations.select(F.col("n_name").alias(name), F.col("n_nationkey").alias(f"{name}_key"))
