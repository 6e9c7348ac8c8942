"""`probewright show FUNCTION|TYPE`: a signature with its fields, or a type with its offsets."""

from __future__ import annotations

import argparse
import sys

from btf import render
from btf.kinds import Kind
from btf.search import Search
from btf.uses import functions_using
from kernel.connection import Connection
from probes.facts import TargetFacts
from probes.fields import Node, tree
from probes.probe import When
from tui.cli.main import DONE, REFUSED
from tui.cli.output import connect, emit, plain

_TYPE_KINDS = (Kind.STRUCT, Kind.UNION, Kind.ENUM, Kind.ENUM64, Kind.TYPEDEF, Kind.INT)


def run(arguments: argparse.Namespace) -> int:
    connection = connect(arguments.target)
    try:
        if arguments.name in connection.catalog:
            return _function(connection, arguments.name, as_json=arguments.json)
        name = arguments.name.removeprefix("struct ").removeprefix("union ").removeprefix("enum ")
        if connection.btf is not None:
            for kind in _TYPE_KINDS:
                found = connection.btf.find(name, kind)
                if found is not None:
                    return _type(connection, name, found, as_json=arguments.json)
        return _nothing(connection, arguments.name)
    finally:
        connection.close()
