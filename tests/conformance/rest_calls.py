"""Requests to the models of the conformance tests, over REST."""

HALF = "/v1/models/half_plus_three"
ZOO = "/v1/models/zoo:predict"


def error_of(response, status):
    """Returns the message of an answer that must have this status."""
    assert response.status_code == status, response.text
    return response.json()["error"]


def zoo(server, name, **body):
    """Asks a signature of the model that has one for each dtype and oddity."""
    return server.post(ZOO, {"signature_name": name, **body})
