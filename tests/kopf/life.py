"""Toys are assembled, rebuilt, repainted, inspected after a restart, and recycled."""
import os

import kopf

TOYS = (os.environ['GROUP'], 'v1', 'toys')


@kopf.on.startup()
async def configure(settings, **_):
    settings.watching.initial_streaming = 'STREAMING' in os.environ


@kopf.on.create(*TOYS)
async def assemble(spec, retry, body, logger, **_):
    logger.info(f"call assemble {retry}")
    if retry < spec.get('failures', 0):
        raise kopf.TemporaryError("a screw is missing", delay=0.5)
    kopf.info(body, reason="Assembled", message=f"Took {retry + 1} attempts.")
    return {'parts': spec['size'] * 2}


@kopf.on.create(*TOYS)
async def wrap(patch, logger, **_):
    logger.info("call wrap")
    patch.metadata.labels['wrapped'] = 'yes'
    patch.status['paper'] = 'red'


@kopf.on.update(*TOYS)
async def rebuild(diff, logger, **_):
    changes = ' '.join(f"{op} {'.'.join(field)} {old}->{new}" for op, field, old, new in diff)
    logger.info(f"call rebuild {changes}")
    return len(diff)


@kopf.on.field(*TOYS, field='spec.colour')
async def repaint(old, new, logger, **_):
    logger.info(f"call repaint {old}->{new}")


@kopf.on.resume(*TOYS)
async def inspect(spec, logger, **_):
    logger.info(f"call inspect {spec['size']}")
    return spec['size']


@kopf.on.delete(*TOYS)
async def recycle(retry, body, logger, **_):
    logger.info(f"call recycle {retry}")
    if retry < 1:
        raise kopf.TemporaryError("the bin is full", delay=0.5)
    kopf.warn(body, reason="Recycled", message="Nothing is left.")
