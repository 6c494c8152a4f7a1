"""Learns from who bought what which products to recommend, by alternating least squares.

Reads lines of ``customer,product`` from DATA and writes ``customer,product,product,…`` to RESULTS. A job that lost its
host goes on from JOB_CHECKPOINTS. It computes on the GPU where CuPy is installed, and with NumPy elsewhere.

A toy: it holds a number for each customer and product, bought or not, which suits some ten thousand of each.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import boto3

LIBRARY = "cupy" if find_spec("cupy") else "numpy"
DEFAULTS = {"epochs": 30, "factors": 2, "recommended": 1}
CHECKPOINT_EVERY = 10
np: Any = import_module(LIBRARY)
s3 = boto3.client("s3")


def place(variable: str, name: str = "") -> dict[str, str]:
    """A bucket and a key of ``s3://bucket/prefix/``, as the client of S3 takes them."""
    bucket, _, prefix = os.environ[variable].removeprefix("s3://").partition("/")
    return {"Bucket": bucket, "Key": f"{prefix}{name}"}


def purchases() -> Iterator[tuple[str, str]]:
    """The customer and the product of each line of each object of the data set, without blank lines."""
    data = place("DATA")
    pages = s3.get_paginator("list_objects_v2").paginate(Bucket=data["Bucket"], Prefix=data["Key"])
    for each in (each for page in pages for each in page.get("Contents", ())):
        body = s3.get_object(Bucket=data["Bucket"], Key=each["Key"])["Body"]
        for line in (text for read in body.iter_lines() if (text := read.decode().strip())):
            customer, comma, product = line.partition(",")
            if not comma or "," in product:
                sys.exit(f"s3://{data['Bucket']}/{each['Key']}: expects lines of customer,product, got {line!r}")
            yield customer, product


def solved(bought: Any, factors: Any) -> Any:
    """The factors of one side by those of the other: a least squares with a small penalty."""
    return bought @ factors @ np.linalg.inv(factors.T @ factors + 0.1 * np.eye(factors.shape[1]))


def main() -> None:
    """Trains, and writes what each customer may like."""
    asked = {**DEFAULTS, **json.loads(os.environ.get("JOB_INPUT", "{}"))}
    pairs = list(purchases())
    if not pairs:
        sys.exit(f"{os.environ['DATA']} has no lines of customer,product")
    customers, products = (sorted(set(column)) for column in zip(*pairs, strict=True))
    row, column = ({name: at for at, name in enumerate(names)} for names in (customers, products))
    bought = np.zeros((len(customers), len(products)))
    for customer, product in pairs:
        bought[row[customer], column[product]] = 1

    checkpoint, done = place("JOB_CHECKPOINTS", "factors.json"), 0
    factors = np.random.RandomState(0).rand(len(products), asked["factors"])
    try:
        kept = json.loads(s3.get_object(**checkpoint)["Body"].read())
        done, factors = kept["epochs"], np.asarray(kept["factors"])
    except s3.exceptions.NoSuchKey:
        pass
    print(f"{LIBRARY}: {len(pairs)} purchases, from epoch {done}", flush=True)

    for epoch in range(done + 1, asked["epochs"] + 1):
        factors = solved(bought.T, solved(bought, factors))
        if epoch % CHECKPOINT_EVERY == 0:
            s3.put_object(**checkpoint, Body=json.dumps({"epochs": epoch, "factors": factors.tolist()}))
            print(f"epoch {epoch}", flush=True)

    # What a customer has bought already comes last.
    scores = solved(bought, factors) @ factors.T - 10 * bought
    best = np.argsort(-scores, axis=1)[:, : asked["recommended"]].tolist()
    rows = [",".join([name, *(products[each] for each in liked)]) for name, liked in zip(customers, best, strict=True)]
    s3.put_object(**place("RESULTS", f"{os.environ['JOB_NAME']}.csv"), Body="\n".join(rows))
    # The next job of this name begins from the start.
    s3.delete_object(**checkpoint)


if __name__ == "__main__":
    main()
