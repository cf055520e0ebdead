"""Toys that more than one operator wants to have."""
import os

import kopf

TOYS = (os.environ['GROUP'], 'v1', 'toys')


@kopf.on.startup()
async def configure(settings, **_):
    settings.peering.lifetime = 3
    settings.peering.clusterwide = 'CLUSTERWIDE' in os.environ


@kopf.on.create(*TOYS)
async def take(name, logger, **_):
    logger.info(f"call take {name}")


@kopf.on.update(*TOYS)
async def keep(name, new, logger, **_):
    logger.info(f"call keep {name} {new['spec']['size']}")
