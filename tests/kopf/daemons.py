"""Daemons of toys that are switched on."""
import asyncio
import os

import kopf

TOYS = (os.environ['GROUP'], 'v1', 'toys')
REASONS = [
    kopf.DaemonStoppingReason.FILTERS_MISMATCH,
    kopf.DaemonStoppingReason.RESOURCE_DELETED,
    kopf.DaemonStoppingReason.OPERATOR_EXITING,
]


@kopf.on.startup()
async def configure(settings, **_):
    # The daemons leave when they are asked to, but not at once.
    settings.background.instant_exit_timeout = 5


@kopf.daemon(*TOYS, field='spec.on', value=True)
async def drive(stopped, logger, **_):
    logger.info("call drive begins")
    while not stopped:
        await stopped.wait(0.1)
    reason = next(reason for reason in REASONS if reason in stopped.reason)
    logger.info(f"call drive ends {reason.name}")


@kopf.daemon(*TOYS, field='spec.on', value=True)
def blink(stopped, logger, **_):
    logger.info("call blink begins")
    stopped.wait()
    logger.info("call blink ends")


@kopf.daemon(*TOYS, cancellation_timeout=0.5)
async def sleep(logger, **_):
    logger.info("call sleep begins")
    try:
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        logger.info("call sleep is cancelled")
        raise


@kopf.daemon(*TOYS)
async def count(retry, logger, **_):
    logger.info(f"call count {retry}")
    if retry < 1:
        raise kopf.TemporaryError("lost count", delay=0.3)
    return 3
