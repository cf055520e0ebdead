"""Gadgets, whose kind and whose namespaces may come after the operator."""
import os

import kopf

GADGETS = (os.environ['GROUP'], 'v1', 'gadgets')


@kopf.on.create(*GADGETS)
async def find(namespace, name, logger, **_):
    logger.info(f"call find {namespace.split('-')[-1]} {name}")
