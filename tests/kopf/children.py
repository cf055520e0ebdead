"""Toys that own config maps, and handlers of a built-in kind chosen by labels, annotations, values and a function."""
import json
import os
import ssl
import urllib.request

import kopf

TOYS = (os.environ['GROUP'], 'v1', 'toys')
MAPS = ('', 'v1', 'configmaps')
OPERATOR = {}


@kopf.on.startup()
async def configure(settings, **_):
    OPERATOR['settings'] = settings


def post(path, body):
    access = kopf.login_with_kubeconfig(settings=OPERATOR['settings'])
    headers = {'Content-Type': 'application/json'}
    if access.token:
        headers['Authorization'] = f'Bearer {access.token}'
    context = ssl.create_default_context(cafile=access.ca_path) if access.ca_path else None
    request = urllib.request.Request(access.server + path, json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request, context=context) as response:
        return json.load(response)


@kopf.on.create(*TOYS)
def manual(name, namespace, spec, logger, **_):
    child = {'apiVersion': 'v1', 'kind': 'ConfigMap', 'data': {'pages': str(spec['size'])}}
    kopf.adopt(child)
    kopf.label(child, {'manual': name})
    logger.info(f"call manual {child['metadata']['generateName']}")
    child = post(f'/api/v1/namespaces/{namespace}/configmaps', child)
    return child['metadata']['name']


@kopf.on.event(*MAPS, labels={'manual': kopf.PRESENT})
async def seen(type, labels, logger, **_):
    logger.info(f"call seen {type} {labels['manual']}")


@kopf.on.create(*MAPS, labels={'manual': 'rocket'}, annotations={'draft': kopf.ABSENT})
async def printed(logger, **_):
    logger.info("call printed")
    return 'config maps have no status'


@kopf.on.update(*MAPS, labels={'manual': 'rocket'}, field='data.pages',
                when=lambda body, **_: int(body['data']['pages']) > 5)
async def thick(old, new, logger, **_):
    logger.info(f"call thick {old}->{new}")
