"""Fixtures of several test modules."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(scope="session")
def nodes() -> Iterator[Any]:
    """Yields a Ray cluster of two nodes on this machine."""
    import ray
    from ray.cluster_utils import Cluster as Nodes

    # Workers import tasks and classes of the tests from here.
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (str(Path(__file__).parent), before)))
    made: Any = Nodes(
        initialize_head=True,
        head_node_args={"num_cpus": 3, "object_store_memory": 100 << 20, "include_dashboard": False},
    )
    made.add_node(num_cpus=3, object_store_memory=100 << 20)
    ray.init(address=made.address, logging_level=logging.ERROR, log_to_driver=False)
    try:
        yield made
    finally:
        ray.shutdown()
        made.shutdown()
        if before is None:
            del os.environ["PYTHONPATH"]
        else:
            os.environ["PYTHONPATH"] = before
