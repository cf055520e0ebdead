"""Timers of toys that are wound up."""
import os

import kopf

TOYS = (os.environ['GROUP'], 'v1', 'toys')


@kopf.timer(*TOYS, interval=0.2, when=lambda spec, **_: spec.get('wound'))
async def tick(spec, status, patch, logger, **_):
    count = status.get('tick', 0) + 1
    logger.info(f"call tick {count} {spec['size']}")
    return count


@kopf.timer(*TOYS, interval=0.2, backoff=0.2, retries=2, labels={'broken': 'yes'})
async def tock(retry, logger, **_):
    logger.info(f"call tock {retry}")
    raise ValueError("the spring is broken")


@kopf.timer(*TOYS, idle=0.5, interval=60)
async def rest(spec, logger, **_):
    logger.info(f"call rest {spec['size']}")
