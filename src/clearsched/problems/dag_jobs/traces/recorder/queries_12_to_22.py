"""TPC-H queries 12 to 22 in the DataFrame API, with the benchmark's default substitution parameters.

Source: TPC Benchmark H, standard specification, revision 3.0.1, section 2.4 (what each query asks; no text is
copied). Every function takes the tables and returns the lazy result.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from clearsched.problems.dag_jobs.traces.recorder.expressions import between_dates, nation_in, revenue

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from clearsched.problems.dag_jobs.traces.recorder.expressions import Tables


def query_12(t: Tables) -> DataFrame:
    """Shipping modes and order priority: late deliveries by mail and ship, urgent orders apart."""
    late = t.lineitem.where(
        F.col("l_shipmode").isin("MAIL", "SHIP")
        & (F.col("l_commitdate") < F.col("l_receiptdate"))
        & (F.col("l_shipdate") < F.col("l_commitdate"))
        & between_dates("l_receiptdate", "1994-01-01", "1995-01-01")
    )
    urgent = F.col("o_orderpriority").isin("1-URGENT", "2-HIGH")
    return (
        t.orders.join(late, F.col("o_orderkey") == F.col("l_orderkey"))
        .groupBy("l_shipmode")
        .agg(
            F.sum(F.when(urgent, 1).otherwise(0)).alias("high_line_count"),
            F.sum(F.when(urgent, 0).otherwise(1)).alias("low_line_count"),
        )
        .orderBy("l_shipmode")
    )


def query_13(t: Tables) -> DataFrame:
    """Customer distribution: how many customers have how many orders without special requests."""
    ordinary = t.orders.where(~F.col("o_comment").like("%special%requests%"))
    return (
        t.customer.join(ordinary, F.col("c_custkey") == F.col("o_custkey"), "left")
        .groupBy("c_custkey")
        .agg(F.count("o_orderkey").alias("c_count"))
        .groupBy("c_count")
        .agg(F.count("*").alias("custdist"))
        .orderBy(F.desc("custdist"), F.desc("c_count"))
    )


def query_14(t: Tables) -> DataFrame:
    """Promotion effect: the share of one month's revenue that promoted parts brought."""
    promoted = F.when(F.col("p_type").startswith("PROMO"), revenue()).otherwise(0)
    return (
        t.lineitem.where(between_dates("l_shipdate", "1995-09-01", "1995-10-01"))
        .join(t.part, F.col("l_partkey") == F.col("p_partkey"))
        .agg((100 * F.sum(promoted) / F.sum(revenue())).alias("promo_revenue"))
    )


def query_15(t: Tables) -> DataFrame:
    """Top supplier: who brought the most revenue in one quarter."""
    totals = (
        t.lineitem.where(between_dates("l_shipdate", "1996-01-01", "1996-04-01"))
        .groupBy(F.col("l_suppkey").alias("supplier_no"))
        .agg(F.sum(revenue()).alias("total_revenue"))
    )
    highest = totals.agg(F.max("total_revenue"))
    return (
        t.supplier.join(
            totals.where(F.col("total_revenue") == highest.scalar()),
            F.col("s_suppkey") == F.col("supplier_no"),
        )
        .select("s_suppkey", "s_name", "s_address", "s_phone", "total_revenue")
        .orderBy("s_suppkey")
    )


def query_16(t: Tables) -> DataFrame:
    """Parts and suppliers: how many suppliers without complaints offer parts of eight sizes."""
    complaints = t.supplier.where(F.col("s_comment").like("%Customer%Complaints%")).select("s_suppkey")
    parts = t.part.where(
        (F.col("p_brand") != "Brand#45")
        & ~F.col("p_type").startswith("MEDIUM POLISHED")
        & F.col("p_size").isin(49, 14, 23, 45, 19, 3, 36, 9)
    )
    return (
        t.partsupp.join(parts, F.col("ps_partkey") == F.col("p_partkey"))
        .join(complaints, F.col("ps_suppkey") == F.col("s_suppkey"), "left_anti")
        .groupBy("p_brand", "p_type", "p_size")
        .agg(F.countDistinct("ps_suppkey").alias("supplier_cnt"))
        .orderBy(F.desc("supplier_cnt"), "p_brand", "p_type", "p_size")
    )


def query_17(t: Tables) -> DataFrame:
    """Small-quantity orders: yearly revenue of one container of one brand sold in small quantities."""
    usual = t.lineitem.groupBy(F.col("l_partkey").alias("usual_partkey")).agg(
        (0.2 * F.avg("l_quantity")).alias("small_quantity")
    )
    parts = t.part.where((F.col("p_brand") == "Brand#23") & (F.col("p_container") == "MED BOX"))
    return (
        t.lineitem.join(parts, F.col("l_partkey") == F.col("p_partkey"))
        .join(usual, F.col("p_partkey") == F.col("usual_partkey"))
        .where(F.col("l_quantity") < F.col("small_quantity"))
        .agg((F.sum("l_extendedprice") / 7.0).alias("avg_yearly"))
    )


def query_18(t: Tables) -> DataFrame:
    """Large volume customers: the hundred most valuable orders of more than 300 pieces."""
    large = (
        t.lineitem.groupBy(F.col("l_orderkey").alias("large_orderkey"))
        .agg(F.sum("l_quantity").alias("pieces"))
        .where(F.col("pieces") > 300)
    )
    return (
        t.orders.join(large, F.col("o_orderkey") == F.col("large_orderkey"), "left_semi")
        .join(t.customer, F.col("o_custkey") == F.col("c_custkey"))
        .join(t.lineitem, F.col("o_orderkey") == F.col("l_orderkey"))
        .groupBy("c_name", "c_custkey", "o_orderkey", "o_orderdate", "o_totalprice")
        .agg(F.sum("l_quantity").alias("sum_quantity"))
        .orderBy(F.desc("o_totalprice"), "o_orderdate")
        .limit(100)
    )


def query_19(t: Tables) -> DataFrame:
    """Discounted revenue: air deliveries in person of three kinds of brand, container and quantity."""

    def kind(brand: str, containers: tuple[str, ...], least: int, largest_size: int) -> Column:
        return (
            (F.col("p_brand") == brand)
            & F.col("p_container").isin(*containers)
            & F.col("l_quantity").between(least, least + 10)
            & F.col("p_size").between(1, largest_size)
        )

    wanted = (
        kind("Brand#12", ("SM CASE", "SM BOX", "SM PACK", "SM PKG"), 1, 5)
        | kind("Brand#23", ("MED BAG", "MED BOX", "MED PKG", "MED PACK"), 10, 10)
        | kind("Brand#34", ("LG CASE", "LG BOX", "LG PACK", "LG PKG"), 20, 15)
    )
    delivered = t.lineitem.where(
        F.col("l_shipmode").isin("AIR", "AIR REG") & (F.col("l_shipinstruct") == "DELIVER IN PERSON")
    )
    return (
        delivered.join(t.part, F.col("l_partkey") == F.col("p_partkey"))
        .where(wanted)
        .agg(F.sum(revenue()).alias("revenue"))
    )


def query_20(t: Tables) -> DataFrame:
    """Potential part promotion: Canadian suppliers with an excess of forest parts."""
    forest = t.part.where(F.col("p_name").startswith("forest")).select("p_partkey")
    shipped = (
        t.lineitem.where(between_dates("l_shipdate", "1994-01-01", "1995-01-01"))
        .groupBy("l_partkey", "l_suppkey")
        .agg((0.5 * F.sum("l_quantity")).alias("half_shipped"))
    )
    excess = (
        t.partsupp.join(forest, F.col("ps_partkey") == F.col("p_partkey"), "left_semi")
        .join(
            shipped,
            (F.col("ps_partkey") == F.col("l_partkey")) & (F.col("ps_suppkey") == F.col("l_suppkey")),
        )
        .where(F.col("ps_availqty") > F.col("half_shipped"))
    )
    return (
        t.supplier.join(nation_in(t, "nation", "CANADA"), F.col("s_nationkey") == F.col("nation_key"))
        .join(excess, F.col("s_suppkey") == F.col("ps_suppkey"), "left_semi")
        .select("s_name", "s_address")
        .orderBy("s_name")
    )


def query_21(t: Tables) -> DataFrame:
    """Suppliers who kept orders waiting: the only late one among an order's several suppliers."""
    late = t.lineitem.where(F.col("l_receiptdate") > F.col("l_commitdate"))
    suspects = late.select(F.col("l_orderkey").alias("orderkey"), F.col("l_suppkey").alias("suppkey"))
    another = (F.col("orderkey") == F.col("l_orderkey")) & (F.col("suppkey") != F.col("l_suppkey"))
    return (
        t.supplier.join(nation_in(t, "nation", "SAUDI ARABIA"), F.col("s_nationkey") == F.col("nation_key"))
        .join(suspects, F.col("s_suppkey") == F.col("suppkey"))
        .join(t.orders.where(F.col("o_orderstatus") == "F"), F.col("orderkey") == F.col("o_orderkey"))
        .join(t.lineitem, another, "left_semi")
        .join(late, another, "left_anti")
        .groupBy("s_name")
        .agg(F.count("*").alias("numwait"))
        .orderBy(F.desc("numwait"), "s_name")
        .limit(100)
    )


def query_22(t: Tables) -> DataFrame:
    """Global sales opportunity: wealthy customers of seven country codes who never ordered."""
    customers = t.customer.withColumn("cntrycode", F.substring("c_phone", 1, 2)).where(
        F.col("cntrycode").isin("13", "31", "23", "29", "30", "18", "17")
    )
    average = customers.where(F.col("c_acctbal") > 0).agg(F.avg("c_acctbal"))
    return (
        customers.where(F.col("c_acctbal") > average.scalar())
        .join(t.orders, F.col("c_custkey") == F.col("o_custkey"), "left_anti")
        .groupBy("cntrycode")
        .agg(F.count("*").alias("numcust"), F.sum("c_acctbal").alias("totacctbal"))
        .orderBy("cntrycode")
    )
