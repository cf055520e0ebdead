"""Toys are reviewed before they are stored."""
import os

import kopf

TOYS = (os.environ['GROUP'], 'v1', 'toys')


@kopf.on.startup()
async def configure(settings, **_):
    settings.admission.managed = os.environ['GROUP']
    settings.admission.server = kopf.WebhookServer(
        addr='127.0.0.1',
        certfile=os.environ['CERTIFICATE'],
        pkeyfile=os.environ['KEY'],
    )


@kopf.on.mutate(*TOYS, operations=['CREATE', 'UPDATE'])
async def complete(name, spec, patch, operation, dryrun, userinfo, logger, **_):
    who = 'master' if 'system:masters' in userinfo['groups'] else userinfo['username']
    how = 'dry' if dryrun else 'real'
    logger.info(f"call complete {operation} {name} {spec['size']} {spec.get('colour')} {how} {who}")
    if 'colour' not in spec:
        patch.spec['colour'] = 'grey'


@kopf.on.validate(*TOYS, operations=['CREATE', 'UPDATE'])
async def check(name, spec, old, operation, warnings, logger, **_):
    before = old['spec']['size'] if old else None
    logger.info(f"call check {operation} {name} {before}->{spec['size']} {spec['colour']}")
    if spec['size'] > 10:
        raise kopf.AdmissionError("too big", code=451)
    if spec['size'] > 5:
        warnings.append("rather big")


@kopf.on.validate(*TOYS, operations=['DELETE'], labels={'precious': 'yes'}, id='keep')
async def keep_precious(name, logger, **_):
    logger.info(f"call keep {name}")
    raise kopf.PermanentError("it is dear to somebody")
