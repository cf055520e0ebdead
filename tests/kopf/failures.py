"""Handlers that fail in every way, and parts of a handler that are retried alone."""
import os

import kopf

TOYS = (os.environ['GROUP'], 'v1', 'toys')


@kopf.on.create(*TOYS)
async def hopeless(logger, **_):
    logger.info("call hopeless")
    raise kopf.PermanentError("wrong size")


@kopf.on.create(*TOYS, backoff=0.3, retries=3)
async def clumsy(retry, logger, **_):
    logger.info(f"call clumsy {retry}")
    raise ValueError("dropped it")


@kopf.on.create(*TOYS, backoff=0.3)
async def careless(retry, logger, **_):
    logger.info(f"call careless {retry}")
    if retry < 1:
        raise ValueError("found it again")
    return retry


@kopf.on.create(*TOYS, errors=kopf.ErrorsMode.IGNORED)
async def relaxed(logger, **_):
    logger.info("call relaxed")
    raise ValueError("never mind")


@kopf.on.create(*TOYS)
async def pack(spec, logger, **_):
    logger.info("call pack")
    for item in spec['items']:

        @kopf.subhandler(id=item)
        async def pack_item(retry, logger, item=item, **_):
            logger.info(f"call pack/{item} {retry}")
            if item == 'ball' and retry < 1:
                raise kopf.TemporaryError("it rolls away", delay=0.3)
            return f"{item} is in"
