"""TPC-H queries 1 to 11 in the DataFrame API, with the benchmark's default substitution parameters.

Source: TPC Benchmark H, standard specification, revision 3.0.1, section 2.4 (what each query asks; no text is
copied). Every function takes the tables and returns the lazy result.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from clearsched.problems.dag_jobs.traces.recorder.expressions import between_dates, date, nation_in, revenue, year_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from clearsched.problems.dag_jobs.traces.recorder.expressions import Tables


def query_1(t: Tables) -> DataFrame:
    """Pricing summary: totals and averages of shipped line items by return flag and status."""
    discounted = revenue()
    return (
        t.lineitem.where(F.col("l_shipdate") <= date("1998-09-02"))
        .groupBy("l_returnflag", "l_linestatus")
        .agg(
            F.sum("l_quantity").alias("sum_qty"),
            F.sum("l_extendedprice").alias("sum_base_price"),
            F.sum(discounted).alias("sum_disc_price"),
            F.sum(discounted * (1 + F.col("l_tax"))).alias("sum_charge"),
            F.avg("l_quantity").alias("avg_qty"),
            F.avg("l_extendedprice").alias("avg_price"),
            F.avg("l_discount").alias("avg_disc"),
            F.count("*").alias("count_order"),
        )
        .orderBy("l_returnflag", "l_linestatus")
    )


def query_2(t: Tables) -> DataFrame:
    """Minimum cost supplier: for parts of one size and type, the cheapest European suppliers."""
    offers = (
        t.partsupp.join(t.supplier, F.col("ps_suppkey") == F.col("s_suppkey"))
        .join(t.nation, F.col("s_nationkey") == F.col("n_nationkey"))
        .join(t.region.where(F.col("r_name") == "EUROPE"), F.col("n_regionkey") == F.col("r_regionkey"))
    )
    wanted = t.part.where((F.col("p_size") == 15) & F.col("p_type").endswith("BRASS"))
    cheapest = offers.groupBy(F.col("ps_partkey").alias("cheapest_partkey")).agg(
        F.min("ps_supplycost").alias("lowest_cost")
    )
    return (
        wanted.join(offers, F.col("p_partkey") == F.col("ps_partkey"))
        .join(
            cheapest,
            (F.col("p_partkey") == F.col("cheapest_partkey")) & (F.col("ps_supplycost") == F.col("lowest_cost")),
        )
        .select("s_acctbal", "s_name", "n_name", "p_partkey", "p_mfgr", "s_address", "s_phone", "s_comment")
        .orderBy(F.desc("s_acctbal"), "n_name", "s_name", "p_partkey")
        .limit(100)
    )


def query_3(t: Tables) -> DataFrame:
    """Shipping priority: the ten unshipped orders of one market segment with the largest revenue."""
    day = date("1995-03-15")
    return (
        t.customer.where(F.col("c_mktsegment") == "BUILDING")
        .join(t.orders.where(F.col("o_orderdate") < day), F.col("c_custkey") == F.col("o_custkey"))
        .join(t.lineitem.where(F.col("l_shipdate") > day), F.col("o_orderkey") == F.col("l_orderkey"))
        .groupBy("l_orderkey", "o_orderdate", "o_shippriority")
        .agg(F.sum(revenue()).alias("revenue"))
        .orderBy(F.desc("revenue"), "o_orderdate")
        .limit(10)
    )


def query_4(t: Tables) -> DataFrame:
    """Order priority checking: orders of one quarter with a line item received late, by priority."""
    late = t.lineitem.where(F.col("l_commitdate") < F.col("l_receiptdate"))
    return (
        t.orders.where(between_dates("o_orderdate", "1993-07-01", "1993-10-01"))
        .join(late, F.col("o_orderkey") == F.col("l_orderkey"), "left_semi")
        .groupBy("o_orderpriority")
        .agg(F.count("*").alias("order_count"))
        .orderBy("o_orderpriority")
    )


def query_5(t: Tables) -> DataFrame:
    """Local supplier volume: revenue in Asia where customer and supplier share the nation."""
    asian = t.nation.join(t.region.where(F.col("r_name") == "ASIA"), F.col("n_regionkey") == F.col("r_regionkey"))
    return (
        t.customer.join(
            t.orders.where(between_dates("o_orderdate", "1994-01-01", "1995-01-01")),
            F.col("c_custkey") == F.col("o_custkey"),
        )
        .join(t.lineitem, F.col("o_orderkey") == F.col("l_orderkey"))
        .join(
            t.supplier,
            (F.col("l_suppkey") == F.col("s_suppkey")) & (F.col("c_nationkey") == F.col("s_nationkey")),
        )
        .join(asian, F.col("s_nationkey") == F.col("n_nationkey"))
        .groupBy("n_name")
        .agg(F.sum(revenue()).alias("revenue"))
        .orderBy(F.desc("revenue"))
    )


def query_6(t: Tables) -> DataFrame:
    """Forecasting revenue change: what small discounts on small quantities cost in one year."""
    return t.lineitem.where(
        between_dates("l_shipdate", "1994-01-01", "1995-01-01")
        & F.col("l_discount").between(F.lit("0.05").cast("decimal(15,2)"), F.lit("0.07").cast("decimal(15,2)"))
        & (F.col("l_quantity") < 24)
    ).agg(F.sum(F.col("l_extendedprice") * F.col("l_discount")).alias("revenue"))


def query_7(t: Tables) -> DataFrame:
    """Volume shipping: trade between France and Germany by direction and year."""
    selling = nation_in(t, "supp_nation", "FRANCE", "GERMANY")
    buying = nation_in(t, "cust_nation", "FRANCE", "GERMANY")
    return (
        t.supplier.join(selling, F.col("s_nationkey") == F.col("supp_nation_key"))
        .join(
            t.lineitem.where(F.col("l_shipdate").between(date("1995-01-01"), date("1996-12-31"))),
            F.col("s_suppkey") == F.col("l_suppkey"),
        )
        .join(t.orders, F.col("l_orderkey") == F.col("o_orderkey"))
        .join(t.customer, F.col("o_custkey") == F.col("c_custkey"))
        .join(buying, F.col("c_nationkey") == F.col("cust_nation_key"))
        .where(F.col("supp_nation") != F.col("cust_nation"))
        .groupBy("supp_nation", "cust_nation", year_of("l_shipdate").alias("l_year"))
        .agg(F.sum(revenue()).alias("revenue"))
        .orderBy("supp_nation", "cust_nation", "l_year")
    )


def query_8(t: Tables) -> DataFrame:
    """National market share: Brazil's share of one part type's sales in America by year."""
    american = t.nation.join(
        t.region.where(F.col("r_name") == "AMERICA"), F.col("n_regionkey") == F.col("r_regionkey")
    ).select("n_nationkey")
    selling = nation_in(t, "supp_nation")
    brazilian = F.when(F.col("supp_nation") == "BRAZIL", revenue()).otherwise(0)
    return (
        t.part.where(F.col("p_type") == "ECONOMY ANODIZED STEEL")
        .join(t.lineitem, F.col("p_partkey") == F.col("l_partkey"))
        .join(
            t.orders.where(F.col("o_orderdate").between(date("1995-01-01"), date("1996-12-31"))),
            F.col("l_orderkey") == F.col("o_orderkey"),
        )
        .join(t.customer, F.col("o_custkey") == F.col("c_custkey"))
        .join(american, F.col("c_nationkey") == F.col("n_nationkey"))
        .join(t.supplier, F.col("l_suppkey") == F.col("s_suppkey"))
        .join(selling, F.col("s_nationkey") == F.col("supp_nation_key"))
        .groupBy(year_of("o_orderdate").alias("o_year"))
        .agg((F.sum(brazilian) / F.sum(revenue())).alias("mkt_share"))
        .orderBy("o_year")
    )


def query_9(t: Tables) -> DataFrame:
    """Product type profit: profit on green parts by supplier nation and year."""
    profit = revenue() - F.col("ps_supplycost") * F.col("l_quantity")
    return (
        t.part.where(F.col("p_name").contains("green"))
        .join(t.lineitem, F.col("p_partkey") == F.col("l_partkey"))
        .join(
            t.partsupp,
            (F.col("l_partkey") == F.col("ps_partkey")) & (F.col("l_suppkey") == F.col("ps_suppkey")),
        )
        .join(t.supplier, F.col("l_suppkey") == F.col("s_suppkey"))
        .join(t.orders, F.col("l_orderkey") == F.col("o_orderkey"))
        .join(nation_in(t, "nation"), F.col("s_nationkey") == F.col("nation_key"))
        .groupBy("nation", year_of("o_orderdate").alias("o_year"))
        .agg(F.sum(profit).alias("sum_profit"))
        .orderBy("nation", F.desc("o_year"))
    )


def query_10(t: Tables) -> DataFrame:
    """Returned items: the twenty customers whose returns of one quarter lost the most revenue."""
    who = ["c_custkey", "c_name", "c_acctbal", "c_phone", "n_name", "c_address", "c_comment"]
    return (
        t.customer.join(
            t.orders.where(between_dates("o_orderdate", "1993-10-01", "1994-01-01")),
            F.col("c_custkey") == F.col("o_custkey"),
        )
        .join(t.lineitem.where(F.col("l_returnflag") == "R"), F.col("o_orderkey") == F.col("l_orderkey"))
        .join(t.nation, F.col("c_nationkey") == F.col("n_nationkey"))
        .groupBy(*who)
        .agg(F.sum(revenue()).alias("revenue"))
        .orderBy(F.desc("revenue"))
        .limit(20)
    )


def query_11(t: Tables) -> DataFrame:
    """Important stock: German parts whose stock is worth more than a set share of the total.

    The share is 0.0001 divided by the scale factor.
    """
    stock = (
        t.partsupp.join(t.supplier, F.col("ps_suppkey") == F.col("s_suppkey"))
        .join(nation_in(t, "nation", "GERMANY"), F.col("s_nationkey") == F.col("nation_key"))
        .withColumn("stock_value", F.col("ps_supplycost") * F.col("ps_availqty"))
    )
    threshold = stock.agg(F.sum("stock_value") * 0.0001 / t.scale_factor)
    return (
        stock.groupBy("ps_partkey")
        .agg(F.sum("stock_value").alias("value"))
        .where(F.col("value") > threshold.scalar())
        .orderBy(F.desc("value"))
    )
