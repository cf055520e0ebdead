"""An index over config maps, and toys that look things up in it."""
import os

import kopf

TOYS = (os.environ['GROUP'], 'v1', 'toys')


@kopf.on.startup()
async def configure(settings, **_):
    settings.watching.chunk_size = 2
    # Streams are taken up again where they ended.
    settings.watching.server_timeout = 1
    settings.watching.initial_streaming = 'STREAMING' in os.environ


@kopf.index('', 'v1', 'configmaps', labels={'shelf': kopf.PRESENT})
async def shelves(labels, name, body, **_):
    if 'broken' in name:
        raise ValueError("cannot be indexed")
    return {labels['shelf']: (name, body['data']['pages'])}


def content(shelves, shelf):
    return ' '.join(f'{name}:{pages}' for name, pages in sorted(shelves.get(shelf, [])))


@kopf.on.create(*TOYS)
async def choose(spec, shelves, logger, **_):
    logger.info(f"call choose {content(shelves, spec['shelf'])}")
    return content(shelves, spec['shelf'])


@kopf.timer(*TOYS, interval=0.2)
async def look(spec, shelves, **_):
    return {'content': content(shelves, spec['shelf']), 'shelves': len(shelves)}
